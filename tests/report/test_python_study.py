"""``sx.Study``: the main job for whatever form the data have."""

import dataclasses
import gc
import json

import numpy as np
import pandas as pd
import polars
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

import separatrix as sx
from separatrix.report.facts import Facts
from separatrix.report.python_study import Leaderboard
from separatrix.report.study import Settings, study

QUICK = {"features": "raw", "Cs": (0.1, 10.0), "folds": 3, "times": False, "loss": "hinge"}


@pytest.fixture(autouse=True)
def plain_page(request, monkeypatch):
    """Draw the page in one test; in all others its facts stand for it."""
    if "report" not in request.node.name:
        monkeypatch.setattr("separatrix.report.page.render_report", Facts.to_json)


@pytest.fixture
def frame():
    """Numbers with gaps, categories, and a patient each."""
    rng = np.random.default_rng(2)
    made = pd.DataFrame(
        {
            "age": rng.normal(40, 10, 90).round(1),
            "job": pd.Categorical(rng.choice(["clerk", "cook", "boss"], 90)),
            "patient": np.arange(90) % 15,
        }
    )
    made["ill"] = np.where(
        made.age / 10 + (made.job == "boss") + rng.normal(size=90) > 4.3, "y", "n"
    )
    made.loc[::11, "age"] = np.nan
    return made


def test_a_frame_is_studied_as_its_file_is(frame, tmp_path):
    path = tmp_path / "frame.csv"
    frame.to_csv(path, index=False)
    ours = sx.Study(frame, target="ill", group="patient", **QUICK).run(tmp_path / "frame")
    read = sx.read(path, target="ill", aside=["patient"])
    theirs = study(read, tmp_path / "file", Settings(**QUICK, group="patient"))
    assert ours.facts_.machine == theirs.machine
    assert ours.facts_.test == theirs.test
    written = (tmp_path / "frame" / "study.json").read_text()
    assert Facts.from_json(written) == ours.facts_
    assert ours.folder_ == tmp_path / "frame"


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("loss", "foo"), ("lift", "foo"), ("kernel", "rbf"), ("rule", "foo"), ("max_seconds", -1),
     ("max_seconds", 0), ("max_seconds", np.nan), ("test_share", 0),
     ("test_share", 0.0), ("Cs", 0), ("Cs", [])],
)  # fmt: skip
def test_wrong_settings_are_refused_by_name(frame, name, wrong):
    with pytest.raises(ValueError, match=f"^{name} must be"):
        sx.Study(frame, target="ill", **{name: wrong})


def test_a_lift_is_never_ignored_in_silence(frame):
    with pytest.raises(ValueError, match="lift makes products of columns, and features='raw'"):
        sx.Study(frame, target="ill", features="raw", lift="auto")
    quick = {"lift": "auto", "Cs": (0.1,), "folds": 2, "loss": "squared_hinge", "times": False}
    done = sx.Study(frame, target="ill", features="products", **quick).run()
    tried = {row["features"] for row in done.leaderboard_}
    assert tried == {"products", "cosines", "fine-cosines"}
    wide = np.eye(40, 300)
    many = sx.Study(wide, np.arange(40) % 2, features="standard", **quick).run()
    assert "No curve was tried (lift): there are too many columns" in many.facts_.path.reason
    texts = [f"{'sun' if k % 2 else 'rain'} {'day' * (k % 3)}" for k in range(40)]
    done = sx.Study(texts, np.arange(40) % 2, features="words", **quick).run()
    assert "No curve was tried (lift): texts" in done.facts_.path.reason
    with pytest.raises(ValueError, match="kernel compares with standardised columns"):
        sx.Study(frame, target="ill", features="raw", kernel="auto")
    quick |= {"lift": None, "kernel": "auto"}
    done = sx.Study(texts, np.arange(40) % 2, features="words", **quick).run()
    assert "No curve was tried (kernel): texts" in done.facts_.path.reason


def test_the_leaderboard_shows_the_measure_that_chose(frame):
    done = sx.Study(frame, target="ill", drop=["patient"], **QUICK, scoring="auc").run()
    (row,) = done.leaderboard_
    assert (row["measure"], row["score"]) == ("AUC", done.facts_.scoring.value)
    assert f"{row['score']:.4f}" in repr(done.leaderboard_)
    # By its error the first would be the best, by its AUC it is the worst.
    one = dataclasses.replace(done.facts_.candidates[0], chosen=False)
    some = [
        dataclasses.replace(one, features=name, error=error, score=score, score_error=0.01)
        for name, error, score in (("a", 0.1, 0.6), ("b", 0.2, 0.8), ("c", 0.3, 0.9))
    ]
    board = Leaderboard.of(dataclasses.replace(done.facts_, candidates=tuple(some)))
    assert [row["features"] for row in board] == ["c", "b", "a"]
    assert board._cells()[0][4:7] == ["AUC", "+-", "error %"]
    assert "<th>AUC</th>" in board._repr_html_()
    small = dataclasses.replace(done.facts_.scoring, title="log loss", larger_is_better=False)
    facts = dataclasses.replace(done.facts_, candidates=tuple(some), scoring=small)
    assert [row["features"] for row in Leaderboard.of(facts)] == ["a", "b", "c"]


def test_labels_beside_a_frame_keep_their_type(frame):
    X = frame.drop(columns=["ill", "patient"])
    for y in ((frame.ill == "y").to_numpy(), np.where(frame.ill == "y", "1", "0")):
        done = sx.Study(X, y, group=frame.patient, **QUICK).run()
        found = done.model_.predict(X)
        assert set(found.tolist()) <= set(np.asarray(y).tolist())
        assert done.model_.score(X, y) == pytest.approx(np.mean(found == np.asarray(y)))
        assert done.model_.score(X, y) > 0.5
    columns = polars.from_pandas(X)
    assert (done.model_.predict(columns) == found).all()
    shares = done.model_.predict_proba(X)
    assert np.allclose(shares.sum(axis=1), 1.0)


@pytest.mark.parametrize("features", ["raw", "standard"])
def test_the_model_takes_rows_as_they_were_given(frame, features):
    given = QUICK | {"features": features, "Cs": QUICK["Cs"] if features == "raw" else None}
    X, y = (part[::2] for part in load_iris(return_X_y=True))
    for rows in (X, sp.csr_array(X)):
        done = sx.Study(rows, y, **given).run()
        assert done.model_.score(rows, y) > 0.9
        assert done.model_.decision_function(rows[:5]).shape == (5, 3)
    done = sx.Study(frame, target="ill", drop=["patient"], **given).run()
    trained = done.facts_.split.train
    assert done.model_.score(frame, frame.ill) > 0.5
    assert done.model_.certificate_ is done.model_.model.certificate_
    assert trained + done.facts_.split.test == 90
    with pytest.raises(sx.DataError, match="the column 'job' of training cannot be found"):
        done.model_.predict(frame[["age"]])
    with pytest.raises(sx.DataError, match="give a frame with these columns"):
        done.model_.predict(X)


@pytest.mark.parametrize("features", ["raw", "words"])
def test_texts(features):
    texts = [f"{word} film {k}" for k in range(15) for word in ("a good", "a bad, dull")]
    y = ["good", "bad"] * 15
    given = QUICK | {"features": features, "Cs": QUICK["Cs"] if features == "raw" else None}
    done = sx.Study(texts, y, **given).run()
    assert done.model_.predict(["good indeed", "a dull one"]).tolist() == ["good", "bad"]
    assert sx.Study(np.array(texts), y, **given).table.texts == texts


def test_the_leaderboard_lists_the_candidates_and_shows_them(frame):
    X, y = (part[50:] for part in load_iris(return_X_y=True))
    done = sx.Study(X, y, features="auto", folds=3, times=False).run()
    board = done.leaderboard_
    assert [row["error"] for row in board] == sorted(row["error"] for row in board)
    assert sum(row["chosen"] for row in board) == 1
    assert len(board) == len(done.facts_.candidates) > 1
    assert json.loads(json.dumps(board)) == board
    lines = repr(board).splitlines()
    assert lines.pop() == f"* {done.facts_.chosen_by}"
    assert len(lines) == len(board) + 1
    assert [line[0] for line in lines].count("*") == 1
    assert len({len(line) for line in lines}) == 1
    assert board._repr_html_().count("<tr") == len(lines)
    assert done.facts_.answer in repr(done)


def test_the_report_and_the_folder(tmp_path):
    X, y = load_iris(return_X_y=True)
    begun = sx.Study(X, y, **QUICK, title="<script>")
    with pytest.raises(ValueError, match=r"call run\(\) first"):
        begun.report(tmp_path / "report.html")
    assert "run() begins it" in repr(begun)
    begun.run()
    begun.report(tmp_path / "report.html")
    assert "&lt;script&gt;" in (tmp_path / "report.html").read_text()
    assert (begun.folder_ / "model.sx").exists()
    folder = begun.folder_
    del begun
    gc.collect()
    assert not folder.exists()


def test_a_table_and_a_path_are_taken_as_they_are(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text(
        "a,b,kind\n" + "".join(f"{k % 7},{k % 5},{'xy'[k % 7 > k % 5]}\n" for k in range(40))
    )
    one = sx.Study(path, target="kind", **QUICK).run()
    two = sx.Study(sx.read(path, target="kind"), **QUICK).run()
    facts = [dataclasses.replace(each.facts_, next_steps=()) for each in (one, two)]
    assert facts[0] == facts[1]
    assert "sx.Study(X, " in two.facts_.next_steps[0].line
    assert one.model_.score(path, sx.read(path, target="kind").y) > 0.9


@pytest.mark.parametrize(
    ("given", "kind", "said"),
    [
        (([[1.0]], None), TypeError, "needs the labels y"),
        ((np.ones((3, 1)), [0, 1]), sx.DataError, "y has the shape"),
        ((np.ones((3, 1)), [[0], [1], [1]]), sx.DataError, "a column of labels"),
        ((np.ones(3), [0, 1, 0]), sx.DataError, "must be a table"),
        ((np.array([[1, "a"], [2, "b"]], dtype=object), [0, 1]), sx.DataError, r"sx\.Encoder"),
        ((np.array([[1, np.nan]]), [0]), sx.DataError, r"sx\.Encoder"),
        ((np.ones((3, 1)), [0, None, 1]), sx.DataError, "without a label"),
        (("data.csv", [0, 1]), TypeError, "name their column"),
    ],
)
def test_what_cannot_be_studied_says_why(given, kind, said):
    X, y = given
    with pytest.raises(kind, match=said):
        sx.Study(X, y)


def test_unknown_settings_are_refused(frame):
    with pytest.raises(TypeError, match=r"no setting 'fold'\. The settings are: .*folds"):
        sx.Study(frame, target="ill", fold=3)
    with pytest.raises(TypeError, match="takes no target"):
        sx.Study(frame, frame.ill, target="ill")
    with pytest.raises(sx.DataError, match="group has the shape"):
        sx.Study(frame, target="ill", group=[1, 2])
    names = {part.name for part in dataclasses.fields(Settings)}
    reading = {part.name for part in dataclasses.fields(sx.data.options.ReadOptions)}
    assert not names & reading, "a setting and an option of reading share a name"
