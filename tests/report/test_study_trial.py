"""What a trial of the study found: names, thresholds, folds, words and refusals."""

import dataclasses
import datetime
import json

import numpy as np
import pandas as pd
import pytest
from fuzz.model_files import joined, parts

import separatrix as sx
from separatrix.report.facts import Facts
from separatrix.report.page import render_report
from separatrix.report.study import Settings, study
from separatrix.report.study_rows import beside
from separatrix.selection.scores import Measure
from tests.cli.command import separatrix as run

QUICK = Settings(features="standard", loss="logistic", folds=3, Cs=(0.1, 1.0), times=False)


pytestmark = pytest.mark.usefixtures("plain_page")


@pytest.fixture(scope="module")
def rare_file(tmp_path_factory):
    """One row in eight is "bad"; every ninth x is missing."""
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("trial") / "rare.csv"
    lines = ["id,x,y,class,extra"]
    for k in range(240):
        bad = k % 8 == 0
        x, y = rng.normal(size=2) + 1.2 * bad
        gap = "" if k % 9 == 0 else f"{x:.4f}"
        lines.append(f"{k},{gap},{y:.4f},{'bad' if bad else 'good'},{k % 7}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def table(rare_file):
    return sx.read(rare_file, "class", drop=("id", "extra"))


def test_of_two_classes_the_other_keeps_its_name(table, tmp_path):
    facts = study(table, tmp_path, dataclasses.replace(QUICK, positive="bad"))
    assert [each.name for each in facts.data.classes] == ["bad", "good"]
    three = dataclasses.replace(table, y=np.where(np.arange(240) % 3, table.y, "odd"))
    facts = study(three, tmp_path / "three", dataclasses.replace(QUICK, positive="bad"))
    assert [each.name for each in facts.data.classes] == ["bad", "not bad"]


# ---- errors at the threshold


def held_out_scores(folder, facts, table):
    """The scores of every training row by a model of the other folds, as a naive study has them."""
    from separatrix.data.raw_rows import RawRows
    from separatrix.selection.folds import folds_of

    certificate = json.loads((folder / "certificate.json").read_text())
    train = np.array(certificate["training_rows"])
    classes, codes = np.unique(table.y, return_inverse=True)
    scores = np.zeros(len(train))
    folds = folds_of(3, np.zeros((len(train), 1)), codes[train], classes, seed=0)
    for fold in folds:
        fit, held = fold.train > 0.0, fold.validation > 0.0
        X = RawRows(table).learn("standard", train[fit], codes).X
        model = sx.LogisticRegression(facts.path.chosen, tol=1e-8).fit(
            X[train[fit]], codes[train[fit]]
        )
        scores[held] = model.decision_function(X[train[held]])
    return scores, codes[train], folds


@pytest.mark.parametrize(
    "change",
    [{"costs": "7:1"}, {"minimax": True}, {"at_most_false_alarms": 0.1}, {"scoring": "auc"}],
)
def test_held_out_errors_are_those_at_the_threshold(change, table, tmp_path):
    facts = study(table, tmp_path, dataclasses.replace(QUICK, positive="bad", **change))
    scores, codes, folds = held_out_scores(tmp_path, facts, table)
    threshold = sx.load(tmp_path / "model.sx").threshold_
    assert (threshold != 0.0) == (change != {"scoring": "auc"})
    wrong = (scores > threshold) != codes
    each = [wrong[fold.validation > 0.0].mean() for fold in folds]
    row = next(row for row in facts.path.rows if facts.path.chosen == row.C)
    assert row.validation_error == pytest.approx(np.mean(each), abs=0.01)
    assert facts.candidates[0].error == row.validation_error
    assert f"{100 * row.validation_error:.2f} % on held-out rows" in facts.path.reason
    if threshold:
        assert (np.mean((scores > 0.0) != codes)) != pytest.approx(np.mean(each), abs=0.01)
        assert "at its threshold" in facts.path.reason
        assert "sign" not in facts.reading.sentence
        # The training error is moved along: it is near, and not that of the sign.
        assert row.training_error == pytest.approx(row.validation_error, abs=0.05)


def test_what_chose_is_said(rare_file, tmp_path):
    done = run("study", rare_file, "-t", "class", "--drop", "id,extra", "--Cs", "1,10",
               "--folds", "3", "-o", tmp_path)  # fmt: skip
    assert "chosen by: the least error on held-out rows; a lead of at most a quarter" in done.stdout
    facts = Facts.from_json((tmp_path / "study.json").read_text())
    assert "simpler candidate" in facts.chosen_by
    board = sx.Study(sx.read(rare_file, "class", drop=("id", "extra")), folds=3, Cs=(1.0,)).run()
    assert board.leaderboard_.chosen_by in repr(board)


def test_a_hard_table_says_that_the_log_loss_chose(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] + 2.0 * rng.normal(size=400) > 0.0, "up", "down")
    file, out = tmp_path / "hard.csv", tmp_path / "out"
    rows = [",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    file.write_text("a,b,c,class\n" + "\n".join(rows) + "\n")
    done = run("study", file, "--folds", "3", "-o", out)
    assert "chosen by: the least log loss on held-out rows, since all features" in done.stdout
    facts = Facts.from_json((out / "study.json").read_text())
    assert facts.scoring is None  # nobody gave it: the headline is the error
    assert facts.chosen_measure == facts.path.measure == "log loss"
    assert "so many errors that their number says little; a lead of at" in facts.chosen_by
    least = min(facts.candidates, key=lambda each: each.score)
    assert f"candidates, log loss on held-out rows: {least.features} " in done.stdout
    assert f"{100 * facts.test.rate:.2f} %" in done.stdout
    board = sx.Study(sx.read(file, "class"), folds=3).run().leaderboard_
    assert {row["measure"] for row in board} == {"log loss"}
    assert board[0]["score"] == min(row["score"] for row in board)
    page = render_report(facts)
    assert "Log loss</th>" in page
    assert facts.chosen_by in page
    assert "more characters)" not in page
    settings = Settings(folds=3, times=False)
    study(sx.read(file, "class"), tmp_path / "once", settings)
    whole = (tmp_path / "once" / "study.json").read_bytes()
    for stop in ("logistic", "test"):  # within the path, and after it

        def progress(what, done, total, stop=stop):
            if stop in what and (done or stop == "test"):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            study(sx.read(file, "class"), tmp_path / stop, settings, progress=progress)
        study(sx.read(file, "class"), tmp_path / stop, settings)
        assert (tmp_path / stop / "study.json").read_bytes() == whole
    done = run("study", file, "--folds", "3", "--scoring", "error", "-o", tmp_path / "errors")
    assert "candidates, error on held-out rows" in done.stdout


def test_the_label_is_no_guarantee(rare_file, tmp_path):
    line = ["study", rare_file, "-t", "class", "--drop", "id,extra", "--features", "standard"]
    line += ["--loss", "logistic", "--Cs", "1,10", "--folds", "3", "--minimax", "-o", tmp_path]
    done = run(*line)
    assert (
        "no guarantee: The threshold was chosen on the scores of the folds' models" in done.stdout
    )
    assert "\nguarantee:" not in done.stdout
    assert "the target is" not in done.stdout


def test_the_learning_curve_is_that_of_the_measure(table, tmp_path):
    facts = study(table, tmp_path, dataclasses.replace(QUICK, scoring="balanced"))
    assert facts.learning.measure == "balanced accuracy"
    assert "the balanced accuracy" in facts.learning.sentence
    assert facts.learning.points[-1].score == pytest.approx(facts.scoring.value)
    assert all(point.error is None for point in facts.learning.points)


# ---- folds that lack a class


def in_time(early):
    """Rows in order of time; a class is seen at the beginning and at the end alone."""
    rng = np.random.default_rng(0)
    y = np.where((np.arange(120) < early) & (np.arange(120) % 2 == 0), "rare", "usual")
    y[-40::3] = "rare"
    return pd.DataFrame({"a": rng.normal(size=120) + 2.0 * (y == "rare"), "b": np.arange(120)}), y


def test_folds_without_a_class_are_left_out_of_the_area():
    frame, y = in_time(45)
    facts = (
        sx.Study(frame[["a"]], y, by_time=True, scoring="auc", features="raw", Cs=(1.0,), folds=4)
        .run()
        .facts_
    )
    assert "mean over 3 of 4 folds" in facts.path.reason
    assert facts.scoring.value > 0.85  # one fold of 0.5 would lower it
    parts = [(np.array([[1.0], [2.0]]), np.array([0, 1])), (np.array([[1.0]]), np.array([0]))]
    losses = Measure("auc").losses(parts)
    assert losses[0] == 0.0
    assert np.isnan(losses[1])


def test_no_fold_with_two_classes_is_an_error():
    lone = [(np.array([[1.0]]), np.array([0])), (np.array([[2.0]]), np.array([1]))]
    with pytest.raises(sx.DataError, match="none of the 2 folds"):
        Measure("auc").losses(lone)
    assert np.isfinite(Measure("cost").losses(lone)).all()


# ---- the command line


@pytest.mark.parametrize("written", ["1000", "1e5", "0.5", "201"])
@pytest.mark.parametrize("command", ["study", "path"])
def test_a_lone_number_is_a_count_or_a_value(command, written, rare_file):
    done = run(command, rare_file, "--Cs", written)
    assert done.returncode == 2
    said = " ".join(done.stderr.replace("│", " ").split())
    assert "--Cs 20 tries 20 values" in said
    assert f"--Cs {written}, with a comma" in said


def test_one_value_of_C(rare_file):
    done = run("path", rare_file, "-t", "class", "--Cs", "1000,", "--json")
    assert [row["C"] for row in json.loads(done.stdout)["rows"]] == [1000.0]


def test_the_target_is_not_dropped_in_silence(rare_file):
    done = run("fit", rare_file, "--target", "class", "--drop", "class")
    assert done.returncode == 3
    assert "'class' is the target, and drop leaves it out" in done.stderr


def test_a_guessed_target_is_said(rare_file, tmp_path):
    for line in (["fit", rare_file], ["separable", rare_file]):
        assert "note: the target is 'y', by its name" not in run(*line).stdout
    other = tmp_path / "named.csv"
    other.write_text(rare_file.read_text().replace(",y,", ",z,"))
    assert "note: the target is 'class', by its name\n" in run("fit", other).stderr
    line = ["study", other, "--features", "raw", "--Cs", "1,10", "--folds", "3"]
    assert "note: the target is 'class', by its name\n" in run(*line, "-o", tmp_path / "s").stdout


def test_folds_are_called_folds(rare_file, tmp_path):
    done = run("study", rare_file, "-t", "class", "--folds", "40", "--features", "raw",
               "--Cs", "1,10", "-o", tmp_path)  # fmt: skip
    assert "cv=" not in done.stdout + done.stderr
    assert "40 folds are more than these classes have rows" in done.stdout


def test_scale_fixes_the_features(rare_file, tmp_path):
    line = ["study", rare_file, "-t", "class", "--drop", "id,extra", "--Cs", "1,10", "--folds", "3"]
    done = run(*line, "--scale", "standard", "--json", "-o", tmp_path)
    assert {each["features"] for each in json.loads(done.stdout)["candidates"]} == {"standard"}
    assert run(*line, "--scale", "min-max", "-o", tmp_path).returncode == 2
    done = run(*line, "--scale", "standard", "--features", "ranks", "-o", tmp_path)
    assert done.returncode == 2
    assert "give one" in done.stderr
    by_scale = run("path", *line[1:], "--scale", "standard", "--json")
    by_name = run("path", *line[1:], "--features", "standard", "--json")
    rows = [[row["validation_error"] for row in json.loads(done.stdout)["rows"]]
            for done in (by_scale, by_name)]  # fmt: skip
    assert rows[0] == rows[1]


# ---- what the certificate names


@pytest.fixture(scope="module")
def studied(rare_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("studied")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("separatrix.report.page.render_report", Facts.to_json)
        table = sx.read(rare_file, "class", drop=("id", "extra"))
        facts = study(table, folder, dataclasses.replace(QUICK, scoring="f1"))
    return folder, facts


def test_verify_takes_target_and_columns_from_the_certificate(studied, rare_file, tmp_path):
    folder, _ = studied
    done = run("verify", folder / "certificate.json", rare_file)
    assert done.returncode == 0, done.stdout
    assert "read: target 'class' (as the certificate names it); 2 columns: x, y" in done.stdout
    proof = tmp_path / "proof.json"
    line = ["fit", rare_file, "-t", "class", "--drop", "id,extra", "--certificate", proof]
    assert run(*line).returncode == 0
    found = json.loads(run("verify", proof, rare_file, "--json").stdout)
    assert (found["proved"], found["target"], found["columns"]) == (True, "class", ["x", "y"])
    done = run("verify", proof, rare_file, "--target", "extra")
    assert done.returncode == 1
    assert "names the target 'class', and it is 'extra' here" in done.stdout


def altered(folder, tmp_path, **changes):
    whole = json.loads((folder / "certificate.json").read_text()) | changes
    (tmp_path / "altered.json").write_text(json.dumps(whole))
    return tmp_path / "altered.json"


@pytest.mark.parametrize("rows", ["x", ["x"], [1.5], [0, 0], None, [-1], [10**30]])
def test_rows_that_are_none_are_refused_in_a_sentence(rows, studied, rare_file, tmp_path):
    file = altered(studied[0], tmp_path, training_rows=rows)
    done = run("verify", file, rare_file)
    assert done.returncode == 1
    assert done.stdout.startswith("refused: not a well-formed certificate: training_rows must be")


@pytest.mark.parametrize(
    "data", [{"target": 5}, {"columns": "x"}, {"columns": ["x"]}, {"target": "extra"}]
)
def test_other_columns_than_those_proved_are_refused(data, studied, rare_file, tmp_path):
    done = run("verify", altered(studied[0], tmp_path, data=data), rare_file)
    assert done.returncode == 1, done.stdout
    assert done.stdout.startswith("refused: ")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"data": "x"}, "data must be a JSON object"),
        ({"proved": True}, "must not hold 'proved'"),
        ({"encoding": {"kind": "features", "shift": [10**400]}}, "the encoding"),
    ],
)
def test_fields_of_a_study_that_do_not_fit_are_refused(
    change, reason, studied, rare_file, tmp_path
):
    done = run("verify", altered(studied[0], tmp_path, **change), rare_file)
    assert done.returncode == 1, done.stdout
    assert done.stdout.startswith("refused: ")
    assert reason in done.stdout


@pytest.mark.parametrize("name", ["shift", "scale"])
def test_a_number_beyond_floats_in_an_encoding_is_refused(name, studied, rare_file, tmp_path):
    encoding = json.loads((studied[0] / "certificate.json").read_text())["encoding"]
    encoding[name][0] = 10**400
    done = run("verify", altered(studied[0], tmp_path, encoding=encoding), rare_file)
    assert done.returncode == 1, done.stdout
    assert "refused: not a well-formed certificate: the encoding" in done.stdout


@pytest.mark.parametrize("claim", [7, {"rule": "best"}, {"rule": "f1", "level": 0.1}, {}])
def test_a_threshold_of_unknown_form_is_refused(claim, studied, rare_file, tmp_path):
    header, arrays = parts((studied[0] / "model.sx").read_bytes())
    header["about"]["threshold"] = claim
    (tmp_path / "model.sx").write_bytes(joined(header, arrays))
    done = run("verify", tmp_path / "model.sx", rare_file)
    assert done.returncode == 1, done.stdout
    assert "refused: the claim about the threshold is not well-formed" in done.stdout
    assert run("verify", studied[0] / "model.sx", rare_file).returncode == 0


def test_medians_are_those_of_the_training_rows(studied, rare_file):
    folder, facts = studied
    train = json.loads((folder / "certificate.json").read_text())["training_rows"]
    median = pd.read_csv(rare_file)["x"].iloc[train].median()
    note = next(note for note in facts.data.notes if "median" in note)
    assert f"the median {median:g} of the training rows" in note


# ---- in Python

MANY = {"features": "raw", "Cs": (1.0,), "folds": 3}


@pytest.mark.parametrize(
    "times",
    [
        pd.date_range("2024-01-01", periods=90),
        pd.Series(pd.date_range("2024-01-01", periods=90, tz="Europe/Paris")),
        pd.period_range("2024-01-01", periods=90, freq="D"),
        [datetime.date(2024, 1, 1) + datetime.timedelta(days=k) for k in range(90)],
    ],
)
def test_dates_beside_the_rows(times):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), np.arange(90) % 2
    found = sx.Study(X, y, time=times, **MANY).table.aside["time"]
    assert (np.diff(found) > 0).all()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"time": pd.Series([pd.NaT] * 90)}, "time has rows without a value"),
        ({"time": [datetime.date(2024, 1, 1), 3] * 45}, "time must hold numbers, dates"),
        ({"group": [None, "a"] * 45}, "group has rows without a value"),
        ({"time": 3}, "time must be the name of a column"),
    ],
)
def test_what_stands_beside_the_rows_is_refused_in_words(given, said):
    X, y = np.zeros((90, 2)), np.arange(90) % 2
    with pytest.raises(sx.DataError, match=said):
        sx.Study(X, y, **given, **MANY)


def test_zones_are_not_mixed():
    utc = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
    with pytest.raises(sx.DataError, match="time zone"):
        beside("time", [utc, datetime.datetime(2024, 1, 1)])
    paris = datetime.timezone(datetime.timedelta(hours=1))
    assert beside("time", [utc, utc.astimezone(paris)]).tolist() == [1704067200000000] * 2


def test_labels_as_target_and_columns_of_one_name():
    frame, y = pd.DataFrame({"a": [1.0, 2.0] * 10}), pd.Series(["n", "m"] * 10)
    with pytest.raises(sx.DataError, match=r"labels go second, Study\(X, y\)"):
        sx.Study(frame, target=y)
    twins = pd.DataFrame(np.zeros((20, 2)), columns=["a", "a"])
    for use in (
        lambda: sx.Study(twins, y),
        lambda: sx.read(twins),
        lambda: sx.Encoder().fit(twins),
    ):
        with pytest.raises(sx.DataError, match="2 columns of the frame are named 'a'"):
            use()


# ---- costs of several classes


def test_costs_of_three_classes_choose(tmp_path):
    rng = np.random.default_rng(1)
    y = np.repeat(["a", "b", "c"], 60)
    X = rng.normal(size=(180, 2)) + 1.2 * np.column_stack([y == "a", y == "b"])
    file = tmp_path / "three.csv"
    frame = pd.DataFrame(X, columns=["p", "q"])
    frame.assign(kind=y).to_csv(file, index=False)
    line = ["study", file, "-t", "kind", "--features", "standard", "--Cs", "0.01,1", "--folds", "3"]
    done = run(*line, "--costs", "a>b = 5, a>c = 2", "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "predict names the class of least expected cost" in done.stdout
    facts = Facts.from_json((tmp_path / "out" / "study.json").read_text())
    price = np.array([[0, 5, 2], [1, 0, 1], [1, 1, 0]])
    confusion = np.array(facts.test.confusion)
    assert facts.scoring.test == pytest.approx((confusion * price).sum() / confusion.sum())
    assert facts.scoring.low <= facts.scoring.test <= facts.scoring.high
    model = tmp_path / "out" / "model.sx"
    assert run("verify", model, file).returncode == 0
    lines = run("predict", "-m", model, file, "--proba").stdout.splitlines()[1:]
    rows = [line.split(",") for line in lines]
    shares = np.array([row[-3:] for row in rows], dtype=float)
    called = np.array([row[0] for row in rows])
    assert called.tolist() == np.array(list("abc"))[(shares @ price).argmin(axis=1)].tolist()
    assert (called == "a").sum() > 1.2 * (shares.argmax(axis=1) == 0).sum()
    chosen = min(facts.path.rows, key=lambda row: row.score)
    assert chosen.score == facts.scoring.value
    done = run(*line, "--costs", "a>z = 5", "-o", tmp_path / "none")
    assert done.returncode == 3
    assert "costs name 'z'" in done.stderr
    done = run(*line, "--costs", "5:1", "-o", tmp_path / "none")
    assert '--costs "a>b = 5, a>c = 2"' in done.stderr
