"""Every kind of advice is a command: it runs, and what it says is true."""

import dataclasses
import shlex
import types
from functools import partial

import numpy as np
import pytest

import separatrix as sx
from separatrix.data.lectures import breast_cancer, iris
from separatrix.report import verdict as bounded
from separatrix.report.advice import _advice, changed_line, next_steps
from separatrix.report.facts import Bin, Calibration, Facts, Step
from separatrix.report.study import Settings
from separatrix.selection.path import _notes as left_out
from tests.cli.command import separatrix as run
from tests.report.examples import facts_of

AGAIN = partial(changed_line, "separatrix study a.csv -o out")
KINDS = {"dedupe", "rare", "features", "lift", "ends", "time", "verdict", "probabilities", "again"}


pytestmark = pytest.mark.usefixtures("plain_page")


def written(path, table, rows=None):
    """Write an embedded set as a file."""
    X, y = (table.X, table.y) if rows is None else (table.X[rows], table.y[rows])
    names = [name.replace(",", "") for name in table.feature_names]
    lines = [",".join([*map(repr, row), label]) for row, label in zip(X.tolist(), y, strict=True)]
    path.write_text("\n".join([",".join([*names, "class"]), *lines]) + "\n")
    return path


def imbalanced(path, n=1200):
    """Write credit-like rows: one in ten defaults, and most of these look like the others."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    late = X @ [1.2, -0.8, 0.4] + 0.8 * rng.normal(size=n) > 2.15
    lines = [
        ",".join([*map(repr, x), "yes" if y else "no"])
        for x, y in zip(X.tolist(), late, strict=True)
    ]
    path.write_text("\n".join(["late,limit,bill,default", *lines]) + "\n")
    return path


def facts_in(folder):
    return Facts.from_json((folder / "study.json").read_text())


def studied(folder, *words):
    """Run a study in a folder, and return its facts."""
    done = run("study", *words, "-o", "out", "--no-times", "--folds", "3", cwd=folder)
    assert done.returncode == 0, done.stderr
    return facts_in(folder / "out"), done.stdout


def followed(folder, facts, kind):
    """Run the command of one kind of advice, and return the facts that it leaves."""
    step = next(step for step in facts.next_steps if step.kind == kind)
    words = shlex.split(step.line)
    assert words[0] == "separatrix"
    done = run(*words[1:], cwd=folder)
    assert done.returncode == 0, done.stderr
    return facts_in(folder / f"out-{kind}")


def measured(facts, name):
    return next(part.value for part in facts.measures if part.name == name)


def test_a_rare_class_is_found_more_often(tmp_path):
    imbalanced(tmp_path / "credit.csv")
    quick = ["--features", "standard", "--loss", "squared_hinge"]
    facts, told = studied(tmp_path, "credit.csv", "-t", "default", *quick)
    assert facts.next_steps[0].kind == "rare"
    assert f"    {facts.next_steps[0].line}" in told.splitlines()
    after = followed(tmp_path, facts, "rare")
    assert measured(after, "balanced_accuracy") > measured(facts, "balanced_accuracy") + 0.05
    assert "rare" not in {step.kind for step in after.next_steps}


def test_several_features_are_compared(tmp_path):
    written(tmp_path / "bc.csv", breast_cancer())
    facts, _ = studied(tmp_path, "bc.csv", "--features", "raw", "--Cs", "0.01,1")
    after = followed(tmp_path, facts, "features")
    assert len(facts.candidates) == 1
    assert len(after.candidates) > 2
    assert min(each.error for each in after.candidates) < facts.candidates[0].error
    assert "features" not in {step.kind for step in after.next_steps}


def test_a_curve_does_better(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 2))
    inside = (X * X).sum(axis=1) < 1.4
    lines = [
        f"{a!r},{b!r},{'in' if k else 'out'}" for (a, b), k in zip(X.tolist(), inside, strict=True)
    ]
    (tmp_path / "ring.csv").write_text("\n".join(["a,b,class", *lines]) + "\n")
    facts, _ = studied(tmp_path, "ring.csv", "--features", "standard", "--loss", "squared_hinge")
    after = followed(tmp_path, facts, "lift")
    chosen = next(each for each in after.candidates if each.chosen)
    assert chosen.features in ("products", "cosines", "fine-cosines")
    assert after.test.rate < 0.5 * facts.test.rate


def test_the_end_of_the_path_is_passed(tmp_path):
    written(tmp_path / "bc.csv", breast_cancer())
    facts, _ = studied(tmp_path, "bc.csv", "--features=raw", "--Cs=1e-8,1e-7", "--loss", "hinge")
    assert facts.reading.kind == "underfitting"
    after = followed(tmp_path, facts, "ends")
    assert after.path.chosen > facts.path.chosen
    assert after.candidates[0].error < facts.candidates[0].error


def test_probabilities_are_fitted(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    y = rng.random(800) < np.where(X[:, 0] > 0.0, 0.8, 0.2)  # a step, and no slope fits it
    lines = [
        f"{a!r},{b!r},{'yes' if one else 'no'}" for (a, b), one in zip(X.tolist(), y, strict=True)
    ]
    (tmp_path / "step.csv").write_text("\n".join(["a,b,class", *lines]) + "\n")
    words = ["step.csv", "--features", "standard", "--loss", "hinge", "--test-share", "0.4"]
    facts, _ = studied(tmp_path, *words)
    after = followed(tmp_path, facts, "probabilities")
    assert after.machine.name == "LogisticRegression"
    assert after.calibration[0].how == "Probabilities are those of the model itself."
    assert "probabilities" not in {step.kind for step in after.next_steps}


def test_repeated_rows_leave(tmp_path):
    written(tmp_path / "iris.csv", iris(), np.repeat(np.arange(50, 150), 2))
    facts, _ = studied(tmp_path, "iris.csv", "--features", "standard")
    assert facts.test.duplicates > 10
    assert facts.next_steps[0].kind == "dedupe"
    after = followed(tmp_path, facts, "dedupe")
    assert after.test.duplicates == 0
    assert after.split.train + after.split.test <= 100


def test_another_split_has_other_test_rows(tmp_path):
    written(tmp_path / "iris.csv", iris(), np.arange(50, 150))
    facts, _ = studied(tmp_path, "iris.csv", "--features", "standard")
    after = followed(tmp_path, facts, "again")
    assert (facts.split.seed, after.split.seed) == (0, 1)
    assert after.test.n == facts.test.n == 20


def test_a_verdict_is_given_longer(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded, "_QUICK_ENTRIES", 10)
    written(tmp_path / "iris.csv", iris(), np.arange(50, 150))
    quick = ["--features", "raw", "--Cs", "0.1,1", "--verdict-seconds", "0"]
    facts, _ = studied(tmp_path, "iris.csv", *quick)
    assert facts.verdict.kind == "undecided"
    assert followed(tmp_path, facts, "verdict").verdict.kind in ("separable", "overlapping")


def test_a_fit_is_given_longer(tmp_path):
    written(tmp_path / "iris.csv", iris(), np.arange(50, 150))
    facts, _ = studied(tmp_path, "iris.csv", "--features", "raw", "--max-seconds", "1e-6")
    assert facts.machine.status == "budget"
    assert "--max-seconds 1e-05" in next(s for s in facts.next_steps if s.kind == "time").line
    assert followed(tmp_path, facts, "time").machine.gap <= facts.machine.gap + 1e-6


def test_without_data_the_command_is_that_of_the_embedded_sets():
    line = changed_line("separatrix study", "again", {"--seed": "1"})
    assert line == "separatrix study --seed 1 -o study-again"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("separatrix study a.csv -oout --seed=4", "separatrix study a.csv --seed 5 -o out-k"),
        ("separatrix study 'a b.csv' --out o/ ", "separatrix study 'a b.csv' --seed 5 -o o-k"),
        ("separatrix study --balanced a", "separatrix study --balanced a --seed 5 -o study-k"),
        ("separatrix study -t y -- -a.csv", "separatrix study -t y --seed 5 -o study-k -- -a.csv"),
    ],
)
def test_what_was_typed_is_kept(line, expected):
    assert changed_line(line, "k", {"--seed": "5", "--Cs": None}) == expected


def test_an_option_is_replaced_or_left_out():
    line = "separatrix study a --features raw --Cs 1,2 --rule best --by-time"
    changed = changed_line(line, "k", {"--features": "auto", "--Cs": None, "--rule": None})
    assert changed == "separatrix study a --by-time --features auto -o study-k"
    flag = changed_line("separatrix study --balanced a", "k", {"--balanced": ""})
    assert flag == "separatrix study a --balanced -o study-k"


def kinds_of(facts, **settings):
    return [kind for kind, *_ in _advice(facts, Settings(**settings))]


@pytest.mark.parametrize(
    ("twins", "words"), [(1, "1 of 20 test rows is also a"), (2, "2 of 20 test rows are also")]
)
def test_one_repeated_row_is_singular(twins, words):
    facts = facts_of()
    facts = dataclasses.replace(facts, test=dataclasses.replace(facts.test, duplicates=twins))
    said = {kind: sentence for kind, sentence, _ in _advice(facts, Settings(features="auto"))}
    assert said["dedupe"].startswith(words)


def test_every_kind_and_when_it_is_not_given():
    facts = facts_of()
    data = dataclasses.replace(
        facts.data,
        classes=tuple(
            dataclasses.replace(part, count=count)
            for part, count in zip(facts.data.classes, (95, 5), strict=True)
        ),
    )
    hard = dataclasses.replace(
        facts,
        data=data,
        verdict=dataclasses.replace(facts.verdict, kind="undecided"),
        reading=dataclasses.replace(facts.reading, kind="overfitting"),
        machine=dataclasses.replace(facts.machine, status="budget"),
        calibration=(Calibration("yes", (Bin(0.9, 0.1, 9, 0.0, 0.4),) * 2, error=0.2),),
    )
    assert set(kinds_of(hard, features="raw", max_seconds=1.0)) == KINDS - {"again", "lift"}
    assert "again" in kinds_of(facts, features="raw")
    assert len(next_steps(hard, Settings(features="raw", max_seconds=1.0), AGAIN)) == 4
    # Nothing is left to try, or it was tried.
    calm = dataclasses.replace(facts, test=dataclasses.replace(facts.test, low=0.14, high=0.16))
    calm = dataclasses.replace(calm, test=dataclasses.replace(calm.test, duplicates=0))
    assert kinds_of(calm, features="auto") == []
    assert "dedupe" not in kinds_of(facts, features="auto", dedupe=True)
    assert "rare" not in kinds_of(hard, features="auto", scoring="f1")
    assert "again" not in kinds_of(facts, features="auto", by_time=True)
    assert "ends" not in kinds_of(hard, features="auto")
    # Products of columns: not of texts, not where they outnumber rows, not where nothing is left.
    stiff = dataclasses.replace(facts.path.rows[2], training_error=0.1, validation_error=0.1)
    close = dataclasses.replace(facts, path=dataclasses.replace(facts.path, rows=(stiff,)))
    assert "lift" in kinds_of(close, features="auto")
    assert "lift" not in kinds_of(close, features="auto", lift="auto")
    assert "lift" not in kinds_of(facts, features="auto")
    wide = dataclasses.replace(close, data=dataclasses.replace(close.data, n_features=90))
    assert "lift" not in kinds_of(wide, features="auto")
    words = tuple(dataclasses.replace(each, features="words") for each in close.candidates)
    assert "lift" not in kinds_of(dataclasses.replace(close, candidates=words), features="auto")
    fitted = dataclasses.replace(hard, machine=types.SimpleNamespace(loss="logistic", status=""))
    assert "probabilities" not in kinds_of(fitted, features="auto")
    assert next_steps(Facts("t"), Settings(), AGAIN) == ()


def test_the_options_of_C_are_kept_and_the_features_tried_are_named():
    facts = facts_of()
    line = "separatrix study a.csv --features ranks --Cs 1,2 --rule best --max-seconds 9 -o out"
    facts = dataclasses.replace(facts, candidates=facts.candidates[:1])
    typed = partial(changed_line, line)
    steps = {step.kind: step for step in next_steps(facts, Settings(features="ranks"), typed)}
    assert "--Cs 1,2 --rule best --max-seconds 9" in steps["features"].line
    assert steps["features"].sentence.startswith("One kind of features was tried:")
    bent = dataclasses.replace(facts.candidates[0], features="products")
    both = dataclasses.replace(facts, candidates=(*facts.candidates, bent))
    settings = Settings(features="ranks", lift="auto")
    steps = {step.kind: step for step in next_steps(both, settings, typed)}
    name = facts.candidates[0].features
    assert steps["features"].sentence.startswith(f"Only {name} and products were tried")


def test_another_C_is_dismissed_only_where_it_was_tried():
    facts = facts_of()
    rows = [dataclasses.replace(row, training_error=0.1, validation_error=0.1)
            for row in facts.path.rows]  # fmt: skip

    def said(**changes):
        path = dataclasses.replace(facts.path, rows=tuple(rows), **changes)
        steps = _advice(dataclasses.replace(facts, path=path), Settings(features="auto"))
        return next(sentence for kind, sentence, _ in steps if kind == "lift")

    claim = "another C would help little"
    middle, last = rows[1].C, rows[-1].C
    assert claim in said(chosen=middle, best=middle)
    assert claim not in said(chosen=last, best=last)
    assert claim not in said(chosen=middle, best=last)
    left = " ".join(left_out({1: [1.0, 10.0]}, [1.0], True))
    assert claim not in said(chosen=middle, best=middle, reason=left)
    hopeless = " ".join(left_out({1: [1.0, 10.0]}, [1.0], False))
    assert claim in said(chosen=middle, best=middle, reason=hopeless)


def test_what_was_typed_is_needed_for_a_line():
    steps = next_steps(facts_of(), Settings(features="raw"), None)
    assert steps
    assert all(isinstance(step, Step) and step.sentence and not step.line for step in steps)


def test_advice_of_a_study_in_python_is_a_call_that_runs():
    table = breast_cancer()
    X, y = table.X[::2], table.y[::2]
    quick = {"features": "standard", "loss": "squared_hinge", "Cs": (0.01, 0.1), "folds": 3}
    study = sx.Study(X, y, **quick).run()
    steps = {step.kind: step.line for step in study.facts_.next_steps}
    assert {"features", "again"} <= set(steps)
    for kind, line in steps.items():
        again = eval(line, {"sx": sx, "X": X, "y": y})
        expected = {**quick, "seed": 1} | ({"features": "auto"} if kind == "features" else {})
        assert {name: getattr(again.settings, name) for name in expected} == expected
        assert again.facts_.test.n == study.facts_.test.n


def test_a_call_names_what_is_too_long_to_be_typed(tmp_path):
    path = imbalanced(tmp_path / "credit.csv", 60)
    days = np.arange(60)
    study = sx.Study(path, target="default", time=days, drop=["late"], folds=3)
    line = study._again("rare", {"--scoring": "balanced", "--scale": None})
    assert line == (
        f"sx.Study({str(path)!r}, target='default', time=time, drop=['late'], folds=3, "
        "scoring='balanced').run()"
    )


def test_rows_in_order_of_time_keep_their_seed():
    facts = facts_of()
    steps = next_steps(facts, Settings(features="raw", by_time=True), AGAIN)
    assert steps
    assert all("--seed" not in step.line for step in steps)
