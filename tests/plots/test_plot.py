"""sx.plot: every picture shows what it says; what no picture can show is refused in words."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris, make_moons

import separatrix as sx
from separatrix.plots.tables import word_counts


@pytest.fixture(scope="module")
def moons():
    return make_moons(60, noise=0.2, random_state=0)


def texts(axes):
    return [text.get_text() for text in axes.texts]


def written(figure, tmp_path):
    assert isinstance(figure, Figure)
    figure.savefig(tmp_path / "picture.svg")
    assert figure._repr_png_()[:4] == b"\x89PNG"
    return (tmp_path / "picture.svg").read_text()


def test_regions_of_models_and_frames(moons, tmp_path):
    X, y = moons
    frame = pd.DataFrame(X, columns=["length", "cost in $"])
    models = {"line": sx.LinearSVM().fit(frame, y), "curve": sx.KernelSVM().fit(frame, y)}
    figure = sx.plot.regions(models, frame, y)
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["line", "curve"]
    assert figure.axes[0].get_xlabel() == "length"
    written(figure, tmp_path)
    one = sx.plot.regions(sx.GaussianPlugIn().fit(X, y), X, y, names=["a", "b"])
    assert (len(one.axes), one.axes[0].get_ylabel()) == (1, "b")


def test_margins_of_linear_and_kernel_models(moons, tmp_path):
    X, y = moons
    for C in (np.inf, 1.0):
        points, labels = sx.lectures.iris_pair()
        model = sx.LinearSVM(C).fit(points, labels)
        for faded in (False, True):
            figure = sx.plot.margins(model, points, labels, faded=faded)
            legend = [t.get_text() for t in figure.legends[0].get_texts()]
            assert f"{len(model.support_)} support vectors" in legend
            written(figure, tmp_path)
    kernel = sx.KernelSVM(C=10.0).fit(X, y)
    title = sx.plot.margins(kernel, X, y).axes[0].get_title(loc="left")
    assert title == f"KernelSVM: {len(kernel.support_)} support vectors"
    with pytest.raises(ValueError, match="Fisher has no margin"):
        sx.plot.margins(sx.Fisher().fit(X, y), X, y)
    with pytest.raises(ValueError, match="two features"):
        sx.plot.margins(kernel, np.ones((5, 3)), [0, 1, 0, 1, 0])


def test_boundaries_of_several_models_go_where_their_scores_are_zero(moons):
    X, y = moons
    models = {f"C = {C:g}": sx.LinearSVM(C).fit(X, y) for C in (0.1, 100.0)}
    figure = sx.plot.boundaries(models, X, y, margins=True)
    lines = figure.axes[0].get_lines()
    assert len(lines) == 6
    for model, edges in zip(models.values(), (lines[:3], lines[3:]), strict=True):
        levels = [model.decision_function(line.get_xydata()) for line in edges]
        assert np.allclose(levels, [[0, 0], [1, 1], [-1, -1]]) or np.allclose(
            levels, [[0, 0], [-1, -1], [1, 1]]
        )
    with pytest.raises(ValueError, match="1 to 4 models"):
        sx.plot.boundaries({}, X, y)


def test_overfitting_states_both_errors(moons):
    X, y = moons
    figure = sx.plot.overfitting(X, y)
    said = [axes.get_title(loc="left") for axes in figure.axes]
    assert said[2].startswith("overfit\ntraining error 0 %, on new rows")
    line = sx.LinearSVM().fit(X[::2], y[::2])
    wrong = 100 * np.mean(line.predict(X[1::2]) != y[1::2])
    assert said[0].endswith(f"on new rows {wrong:.0f} %")
    own = sx.plot.overfitting(X, y, models={"one": sx.Fisher()}, test=(X, y))
    assert len(own.axes) == 1
    first, second = own.axes[0].get_title(loc="left").split("\n")[1].split(", on new rows ")
    assert first == f"training error {second}"


def test_replays_as_a_storyboard_and_as_a_run(tmp_path):
    X, y = sx.lectures.parabola()
    written(sx.plot.replay(sx.Perceptron(max_updates=3), X, y), tmp_path)
    run = sx.plot.replay(sx.Perceptron(), X, y, storyboard=False)
    assert "Perceptron: 47 updates" in [text.get_text() for text in run.texts]
    assert "0 of 20 rows misclassified, 159 visits" in [text.get_text() for text in run.texts]
    one = sx.plot.replay(sx.Perceptron(), *sx.lectures.two_points())
    assert len([axes for axes in one.axes if axes.get_title(loc="left")]) == 3
    with pytest.raises(ValueError, match="one or two features"):
        sx.plot.replay(sx.Perceptron(), *load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="needs two features"):
        sx.plot.replay(sx.Perceptron(), *sx.lectures.two_points(), storyboard=False)
    with pytest.raises(ValueError, match="change no weights"):
        sx.plot.replay(sx.KernelPerceptron(), X, y)


def test_paths(moons, tmp_path):
    X, y = moons
    chosen = sx.LinearSVMCV([0.1, 1.0, 10.0], cv=3).fit(X, y)
    for found in (chosen, chosen.path_):
        figure = sx.plot.path(found)
        assert f"C = {chosen.C_:.3g}" in figure.axes[0].get_title(loc="left")
    sparse = sx.plot.path(sx.LogisticRegressionPath(Cs=5).fit(X, y))
    assert "Sparse weights" in sparse.axes[0].get_title(loc="left")
    with pytest.raises(ValueError, match="no path over C"):
        sx.plot.path(sx.LinearSVM())


def test_error_curves_ring_the_least_of_the_last(tmp_path):
    C, test = [0.1, 1.0, 10.0], [0.3, 0.1, 0.2]
    figure = sx.plot.error_curves(C, {"training error": [0.2, 0.05, 0.0], "test error": test},
                                  n_support=[30, 20, 10])  # fmt: skip
    ring = figure.axes[0].collections[-1].get_offsets()
    assert ring.tolist() == [[1.0, 0.1]]
    assert len(figure.axes) == 2
    with pytest.raises(ValueError, match="a value for each C"):
        sx.plot.error_curves(C, {"test": [0.1]})
    with pytest.raises(ValueError, match="1 to 6"):
        sx.plot.error_curves(C, {})


def test_folds_hold_every_row_out_once(moons):
    X, y = moons
    figure = sx.plot.folds(X, y, cv=4, model=sx.LinearSVM())
    axes = figure.axes[0]
    held = np.zeros(len(X))
    for bars in axes.collections[1:8:2]:  # of each fold the rows that train, then those held out
        for bar in bars.get_paths():
            low, high = bar.vertices[:, 0].min(), bar.vertices[:, 0].max()
            held[round(low) : round(high)] += 1
    assert (held == 1).all()
    shares = [float(text.rstrip(" %")) for text in texts(axes) if text.endswith("%")]
    assert len(shares) == 4
    assert f"{np.mean(shares):.1f} %" in axes.get_title(loc="left")
    rows = np.arange(len(X))
    pairs = sx.plot.folds(X, y, cv=[(rows[20:], rows[:20]), (rows[:20], rows[20:])])
    assert "2-fold" in pairs.axes[0].get_title(loc="left")


def test_bags_of_words_count_as_the_lectures_do(tmp_path):
    sentences = ["Good, not good: $5!", "It was not worth it"]
    figure = sx.plot.bag_of_words(sentences)
    known = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert known == ["good", "not", "was", "worth"]
    assert texts(figure.axes[0])[:8] == ["2", "1", "0", "0", "0", "1", "1", "1"]
    written(figure, tmp_path)
    given = sx.plot.bag_of_words("Will order again", ["again", "never"])
    assert texts(given.axes[0])[:2] == ["1", "0"]
    file = tmp_path / "sentences.txt"
    file.write_text("".join(f"{text}\t{k}\n" for k, text in enumerate(sentences)))
    X, _ = sx.lectures.sentences(file, values="counts")
    words, counts = word_counts([["good", "not", "good"], ["was", "not", "worth"]])
    assert words == known
    assert sorted(map(sorted, counts.tolist())) == sorted(map(sorted, X.toarray().tolist()))
    with pytest.raises(ValueError, match="no words"):
        sx.plot.bag_of_words("5!")


def test_losses_are_those_of_sx_losses():
    figure = sx.plot.losses(["hinge", "zero_one"])
    lines = {line.get_label(): line for line in figure.axes[0].get_lines()}
    m, loss = lines["hinge"].get_data()
    assert np.array_equal(loss, sx.losses.hinge(m))
    with pytest.raises(ValueError, match="names must be some of"):
        sx.plot.losses(["huber"])
