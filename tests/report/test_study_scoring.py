"""A study by the measure that matters: chosen, thresholded, proved, applied, resumed, refused."""

import dataclasses
import json
import shlex

import numpy as np
import pytest
from fuzz.model_files import joined, parts

import separatrix as sx
from separatrix.data.lectures import iris
from separatrix.report.facts import Facts
from separatrix.report.headings import headings
from separatrix.report.page import render_report
from separatrix.report.scoring import imbalance_facts
from separatrix.report.study import Settings, Study, study
from tests.cli.command import separatrix as run

QUICK = Settings(features="standard", loss="logistic", folds=3, times=False)


pytestmark = pytest.mark.usefixtures("plain_page")


@pytest.fixture(scope="module")
def rare_file(tmp_path_factory):
    """One row in eight is "bad", which is the first class by name."""
    rng = np.random.default_rng(3)
    path = tmp_path_factory.mktemp("data") / "rare.csv"
    lines = ["x,y,kind,class"]
    for k in range(400):
        bad = k % 8 == 0
        x, y = rng.normal(size=2) + 1.2 * bad
        lines.append(f"{x:.4f},{y:.4f},{'uv'[int(rng.integers(2))]},{'bad' if bad else 'good'}")
    path.write_text("\n".join(lines) + "\n")
    return path


def predicted(folder, file):
    done = run("predict", "-m", folder / "model.sx", file)
    assert done.returncode == 0, done.stderr
    return np.array([line.split(",")[0] for line in done.stdout.splitlines()[1:]])


@pytest.mark.parametrize(
    ("change", "features"),
    [
        ({"scoring": "balanced"}, "raw"),
        ({"scoring": "f1"}, "standard"),
        ({"scoring": "auc"}, "raw"),
        ({"scoring": "log_loss"}, "standard"),
        ({"costs": "missed:false_alarm = 7:1"}, "raw"),
        ({"minimax": True}, "standard"),
    ],
)
def test_facts_files_and_predictions_agree(change, features, rare_file, tmp_path):
    settings = dataclasses.replace(QUICK, features=features, positive="bad", **change)
    if features == "raw":
        settings = dataclasses.replace(settings, Cs=(0.01, 1.0), loss="auto")
    facts = study(sx.read(rare_file), tmp_path, settings)
    table = sx.read(rare_file)
    test = sx.split(table.y, test=0.2, seed=0).test
    y = table.y
    found = predicted(tmp_path, rare_file)
    assert (found != y)[test].sum() == facts.test.errors
    for name in ("model.sx", "certificate.json"):
        done = run("verify", tmp_path / name, rare_file)
        assert done.returncode == 0, done.stdout
    assert facts.scoring.low <= facts.scoring.test <= facts.scoring.high
    assert facts.imbalance.name == "bad"
    if change.get("scoring") in ("auc", "log_loss"):
        assert facts.threshold is None
        return
    model = sx.load(tmp_path / "model.sx")
    assert facts.threshold.value == model.threshold_
    assert model.threshold_ != 0.0
    missed = ((found != "bad") & (y == "bad"))[test].sum()
    alarms = ((found == "bad") & (y != "bad"))[test].sum()
    assert facts.threshold.positive == "bad"
    assert facts.threshold.test_missed.value == missed / (y[test] == "bad").sum()
    assert facts.threshold.test_false_alarms.value == alarms / (y[test] != "bad").sum()
    assert facts.scoring.positive == "bad"
    if "costs" in change:
        assert facts.scoring.test == pytest.approx((7 * missed + alarms) / len(test))
    assert {each.row for each in facts.mistakes} <= set(test[(found != y)[test]].tolist())


def test_held_out_balance_is_better_than_by_the_error(rare_file, tmp_path):
    plain = study(sx.read(rare_file), tmp_path / "a", QUICK)
    fair = study(sx.read(rare_file), tmp_path / "b", dataclasses.replace(QUICK, scoring="balanced"))
    assert plain.scoring is plain.threshold is None
    assert fair.imbalance.balanced_accuracy > plain.imbalance.balanced_accuracy + 0.1
    assert fair.test.errors > plain.test.errors  # which is its price


# ---- false alarms


BOUNDED = dataclasses.replace(QUICK, at_most_false_alarms=0.05, positive="bad")


@pytest.fixture(scope="module")
def bounded(rare_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bounded")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("separatrix.report.page.render_report", Facts.to_json)
        return study(sx.read(rare_file), folder, BOUNDED), folder


def test_the_threshold_is_that_of_rows_that_did_not_train(bounded, rare_file):
    facts, folder = bounded
    table = sx.read(rare_file)
    certificate = json.loads((folder / "certificate.json").read_text())
    apart, train = certificate["threshold"]["rows"], certificate["training_rows"]
    test = sx.split(table.y, test=0.2, seed=0).test.tolist()
    assert sorted([*apart, *train, *test]) == list(range(400))
    assert facts.split.validation == len(apart)
    assert sum(part.count for part in facts.data.classes) == 400
    found, good = predicted(folder, rare_file), table.y == "good"
    own = np.array(apart)[good[apart]]
    # Of so many scores the bound allows this many above it, and no more.
    from separatrix.core.thresholds import order_statistic

    assert (found[own] == "bad").sum() == len(own) - order_statistic(len(own), 0.05)
    assert facts.threshold.level == 0.05
    assert "With 95 % confidence at most 5 %" in facts.threshold.guarantee


def test_the_promise_is_proved_again(bounded, rare_file):
    _, folder = bounded
    for name in ("model.sx", "certificate.json"):
        done = run("verify", folder / name, rare_file)
        assert done.returncode == 0, done.stdout
        assert "if the" in done.stdout  # how rows were drawn, nothing can prove
        assert "drawn as later rows will be, with confidence 0.95 at most 5 %" in done.stdout
        assert "the threshold" not in done.stdout  # which would be named as not proved


@pytest.mark.parametrize("change", ["value", "rows", "level", "positive", "trained"])
def test_an_altered_promise_is_refused(change, bounded, rare_file, tmp_path):
    _, folder = bounded

    def altered(claim, train):
        again = dict(claim)
        if change == "rows":
            again["rows"] = claim["rows"][: len(claim["rows"]) // 2]
        elif change == "trained":
            again["rows"] = train[: len(claim["rows"])]
        elif change == "level":
            again["level"] = 0.04
        elif change == "positive":
            again["positive"] = "good"
        return again

    whole = json.loads((folder / "certificate.json").read_text())
    whole["threshold"] = altered(whole["threshold"], whole["training_rows"])
    header, arrays = parts((folder / "model.sx").read_bytes())
    header["about"]["threshold"] = altered(header["about"]["threshold"], whole["training_rows"])
    if change == "value":
        whole["threshold"]["value"] += 1e-3
        number = header["fitted"]["threshold_"]
        number["hex"] = (float.fromhex(number["hex"]) + 1e-3).hex()
    (tmp_path / "other.json").write_text(json.dumps(whole))
    (tmp_path / "other.sx").write_bytes(joined(header, arrays))
    for name in ("other.json", "other.sx"):
        done = run("verify", tmp_path / name, rare_file)
        assert done.returncode == 1, done.stdout
        assert done.stdout.startswith("refused")


def test_classes_keep_their_order_as_numbers(rare_file, tmp_path):
    """As texts, 10 comes before 2: the positive class must not change sides."""
    path = tmp_path / "numbers.csv"
    path.write_text(rare_file.read_text().replace("bad", "10").replace("good", "2"))
    settings = dataclasses.replace(BOUNDED, positive=None)
    facts = study(sx.read(path), tmp_path / "out", settings)
    assert facts.threshold.positive == "10"
    assert facts.threshold.false_alarms.value <= 0.05 < facts.threshold.missed.value < 0.9
    for name in ("model.sx", "certificate.json"):
        done = run("verify", tmp_path / "out" / name, path)
        assert done.returncode == 0, done.stdout


def test_ten_equal_classes_are_not_rare(tmp_path):
    whole = iris()
    X, y = np.tile(whole.X, (4, 1)), np.arange(600) % 10
    table = dataclasses.replace(whole, X=X, y=y, classes=np.unique(y))
    work = Study(table, tmp_path, dataclasses.replace(QUICK, features="raw"))
    assert imbalance_facts(work, np.zeros((len(work.codes_test), 10)), 0.0) is None
    y = np.where(np.arange(600) % 50 == 0, 1, np.arange(600) % 10 * 2)
    work = Study(dataclasses.replace(table, y=y), tmp_path, QUICK)
    assert imbalance_facts(work, np.zeros((len(work.codes_test), 11)), 0.0).name == "1"


def test_too_few_rows_for_the_promise(rare_file, tmp_path):
    with pytest.raises(sx.DataError, match="need 299 rows of class good"):
        study(sx.read(rare_file), tmp_path, dataclasses.replace(BOUNDED, at_most_false_alarms=0.01))


# ---- settings


def test_interrupted_anywhere_it_ends_with_the_same_bytes(bounded, rare_file, tmp_path):
    _, whole = bounded

    class Ended(Exception):
        pass

    def end_after(cells):
        seen = []

        def progress(what, done, total):
            seen.append(what)
            if len(seen) > cells:
                raise Ended

        return progress

    steps = []
    for cells in (6, 12, 17):
        with pytest.raises(Ended):
            Study(sx.read(rare_file), tmp_path, BOUNDED, (), end_after(cells)).run()
        steps.append(len(list(tmp_path.glob(".work/*/*"))))
    assert steps == sorted(steps)
    study(sx.read(rare_file), tmp_path, BOUNDED)
    for name in ("study.json", "model.sx", "certificate.json", "path.csv"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"minimax": True, "costs": "5:1"}, "give one of them"),
        ({"minimax": True, "at_most_false_alarms": 0.1}, "give one of them"),
        ({"scoring": "cost"}, "needs the costs"),
        ({"scoring": "f1", "costs": "5:1"}, "for no other scoring"),
        ({"scoring": "luck"}, "scoring must be one of error"),
        ({"costs": "5"}, "costs must be two numbers"),
        ({"at_most_false_alarms": 1.5}, "between 0 and 1"),
    ],
)
def test_settings_that_contradict_each_other(change, words, rare_file, tmp_path):
    with pytest.raises(sx.DataError, match=words):
        study(sx.read(rare_file), tmp_path, dataclasses.replace(QUICK, **change))


@pytest.mark.parametrize(
    "change", [{"costs": "5:1"}, {"minimax": True}, {"at_most_false_alarms": 0.1}]
)
def test_what_needs_two_classes(change, tmp_path):
    with pytest.raises(sx.DataError, match="two classes, and there are 3"):
        study(iris(), tmp_path, dataclasses.replace(QUICK, **change))


@pytest.mark.parametrize("scoring", ["balanced", "auc", "log_loss"])
def test_several_classes(scoring, tmp_path):
    facts = study(iris(), tmp_path, dataclasses.replace(QUICK, scoring=scoring))
    assert facts.threshold is None
    assert facts.scoring.name == scoring
    chosen = next(row for row in facts.path.rows if facts.path.chosen == row.C)
    assert facts.scoring.value == chosen.score
    best = max if facts.scoring.larger_is_better else min
    assert chosen.score == best(row.score for row in facts.path.rows)


def test_balanced_weights_choose_by_balanced_accuracy(rare_file, tmp_path):
    settings = Settings(features="raw", loss="logistic", balanced=True, Cs=(1e-6, 0.1), folds=3)
    assert study(sx.read(rare_file), tmp_path, settings).scoring.name == "balanced"
    plain = dataclasses.replace(settings, scoring="error")
    assert study(sx.read(rare_file), tmp_path / "b", plain).scoring is None


# ---- the command and the page


def test_the_command_says_it_and_its_advice_runs(rare_file, tmp_path):
    out = tmp_path / "out"
    quick = ["--features", "standard", "--folds", "3", "--no-times"]
    done = run("study", rare_file, "--target", "class", *quick, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "note: Only 12.5 % of the rows are of class bad" in done.stdout
    line = next(one for one in done.stdout.splitlines() if one.startswith("    separatrix study"))
    words = shlex.split(line)[1:]
    again = run(*words, "--json")
    assert again.returncode == 0, again.stderr
    before = Facts.from_json((out / "study.json").read_text())
    after = Facts.from_json(again.stdout)
    assert after.imbalance.balanced_accuracy > before.imbalance.balanced_accuracy
    assert after.scoring.name == "balanced"


def test_the_command_with_costs(rare_file, tmp_path):
    out = tmp_path / "out"
    costs = ["--costs", "missed:false_alarm = 5:1", "--positive", "bad"]
    quick = ["--features", "standard", "--folds", "3", "--no-times"]
    done = run("study", rare_file, "--target", "class", *quick, *costs, "-o", out)
    assert done.returncode == 0, done.stderr
    assert "threshold: bad is predicted where the score is at or below" in done.stdout
    assert (
        "no guarantee: The threshold was chosen on the scores of the folds' models" in done.stdout
    )
    assert "cost a row: " in done.stdout
    said = run("info", out / "model.sx").stdout
    assert "good where the score is above" in said
    bad = run("study", rare_file, "--target", "class", *quick, "--costs", "5", "-o", out)
    assert bad.returncode == 3
    assert "costs must be two numbers" in bad.stderr


def test_the_page_tells_the_promise(bounded):
    facts, _ = bounded
    page = render_report(facts)
    said = " ".join(headings(facts)["threshold"].split())
    assert said == "At most 5 % false alarms, with 95 % confidence"
    assert "With 95 % confidence at most 5 % of new rows of good are predicted as bad" in page
    assert "Held-out folds" not in page


def test_copies_among_the_rows_set_apart_are_named(tmp_path):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(150, 2)), 2, axis=0)
    y = np.repeat(rng.random(150) < 0.4, 2)
    file = tmp_path / "twice.csv"
    rows = [f"{a:.6f},{b:.6f},{'yes' if k else 'no'}" for (a, b), k in zip(X, y, strict=True)]
    file.write_text("\n".join(["a,b,class", *rows]) + "\n")
    settings = Settings(at_most_false_alarms=0.2, features="standard", folds=3)
    facts = study(sx.read(file), tmp_path / "out", settings)
    assert "are also training rows" in facts.threshold.guarantee
