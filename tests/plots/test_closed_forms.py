import numpy as np
import pytest
from matplotlib.image import imread

import separatrix as sx
from separatrix.plots.regions import save_linear_rules, save_projections


def clouds():
    rng = np.random.default_rng(0)
    y = np.repeat(["circle", "square"], 60)
    X = rng.normal(size=(120, 2)) @ [[1.6, 1.3], [0.0, 0.5]]
    return X + np.where(y == "square", 1.0, 0.0)[:, None] * [1.5, -0.6], y


def with_outliers(X, y):
    rng = np.random.default_rng(1)
    far = rng.normal(size=(12, 2)) * 0.5 + [9.0, -9.0]
    return np.vstack([X, far]), np.concatenate([y, np.repeat("square", 12)])


def machines(X, y):
    return {
        "least squares": sx.LeastSquares().fit(X, y),
        "logistic": sx.LogisticRegression(C=100.0).fit(X, y),
    }


def test_outliers_move_least_squares_and_leave_the_logistic_machine(tmp_path):
    X, y = clouds()
    far_X, far_y = with_outliers(X, y)
    before, after = machines(X, y), machines(far_X, far_y)

    def lost(name):
        return before[name].score(X, y) - after[name].score(X, y)

    assert lost("least squares") > 0.03
    assert abs(lost("logistic")) < 0.02
    panels = [("as it was", X, y, before), ("12 rows far away", far_X, far_y, after)]
    save_linear_rules(panels, tmp_path / "rules.png")
    picture = imread(tmp_path / "rules.png")
    assert picture.shape[1] > 1.5 * picture.shape[0]
    assert picture[0, 0, :3].min() == 1.0  # white
    assert 0.01 < (picture[..., :3].min(axis=2) < 0.9).mean() < 0.5
    save_linear_rules(panels[:1], tmp_path / "one.svg")
    assert "<svg" in (tmp_path / "one.svg").read_text()


def test_projections_are_drawn(tmp_path):
    rng = np.random.default_rng(2)
    y = np.repeat(["circle", "square"], 80)
    X = rng.normal(size=(160, 2)) @ [[2.0, 1.5], [0.0, 0.5]]
    X[80:] += [2.2, 0.4]
    both = {
        "Fisher's direction": sx.Fisher().fit(X, y),
        "between the means": sx.Fisher(direction="means").fit(X, y),
    }
    save_projections(both, X, y, tmp_path / "fisher.png", names=["a $", "b"])
    picture = imread(tmp_path / "fisher.png")
    assert 0.01 < (picture[..., :3].min(axis=2) < 0.9).mean() < 0.5
    assert list(tmp_path.iterdir()) == [tmp_path / "fisher.png"]


def test_what_cannot_be_drawn_is_refused(tmp_path):
    X, y = clouds()
    for draw in (
        lambda: save_linear_rules([("", X[:, :1], y, {})], tmp_path / "a.png"),
        lambda: save_projections({}, X, np.arange(120) % 3, tmp_path / "a.png"),
    ):
        with pytest.raises(ValueError, match="two features and two classes"):
            draw()
    with pytest.raises(ValueError, match="at most 4 models"):
        save_linear_rules([("", X, y, dict.fromkeys("abcde"))], tmp_path / "a.png")
