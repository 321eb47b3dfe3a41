"""Groups, times and repeated rows: what stands on which side of the test and of the folds."""

import dataclasses

import numpy as np
import pytest

import separatrix as sx
from separatrix.report.conclusions import answer, key_figures
from separatrix.report.page import render_report
from separatrix.report.study import Settings, Study, study
from separatrix.report.study_rows import rows_of
from separatrix.selection.folds import folds_of, forward
from separatrix.selection.split import split

QUICK = Settings(features="raw", Cs=(0.1, 10.0), folds=3, times=False, loss="hinge")


@pytest.fixture
def table(tmp_path):
    """Rows of 12 patients, whose class depends on two columns; days in no order; some repeated."""
    rng = np.random.default_rng(7)
    lines = []
    for row in range(96):
        a, b = rng.normal(size=2).round(1)
        kind = "ill" if a + b + 0.5 * rng.normal() > 0 else "well"
        lines.append(f"{a},{b},p{row % 12},2024-{1 + row % 12:02d}-{1 + row * 7 % 28:02d},{kind}")
    lines += lines[:24]
    order = rng.permutation(len(lines))
    path = tmp_path / "patients.csv"
    body = "\n".join(lines[k] for k in order)
    path.write_text("a,b,patient,day,class\n" + body + "\n")
    return sx.read(path, target="class", aside=["patient", "day"])


def test_columns_aside_are_kept_and_are_no_features(table):
    assert table.feature_names == ["a", "b"]
    assert set(table.aside) == {"patient", "day"}
    assert table.aside["patient"].dtype.kind == "U"
    assert len(table.aside["day"]) == len(table.y)
    later = table.encoding.transform(table.source)
    assert not [note for note in later.notes if "not used in training" in note]


@pytest.mark.parametrize("group", ["patient", "day"])
def test_no_group_is_on_both_sides(table, group):
    for seed in range(5):
        settings = dataclasses.replace(QUICK, group=group, seed=seed)
        rows = rows_of(table, table.y, settings)
        groups, train, test = table.aside[group], rows.parts.train, rows.parts.test
        assert not set(groups[train]) & set(groups[test])
        assert len(train) + len(test) == len(table.y)
        codes = np.unique(table.y[train], return_inverse=True)[1]
        cv, of_train = rows.folding.cv(train, codes), rows.folding.groups_of(train)
        zeros = np.zeros((len(train), 1))
        for fold in folds_of(cv, zeros, codes, np.arange(2), groups=of_train, seed=seed):
            held = set(of_train[fold.validation > 0])
            assert held
            assert not held & set(of_train[fold.train > 0])


def test_the_test_is_the_latest_and_folds_go_forward(table):
    rows = rows_of(table, table.y, dataclasses.replace(QUICK, time="day"))
    day, train = table.aside["day"], rows.parts.train
    assert max(day[train]) < min(day[rows.parts.test])
    codes = np.unique(table.y[train], return_inverse=True)[1]
    pairs = rows.folding.cv(train, codes)
    assert len(pairs) == QUICK.folds
    for early, late in pairs:
        assert max(day[train][early]) < min(day[train][late])
    judged = np.concatenate([late for _, late in pairs])
    assert len(judged) == len(set(judged.tolist()))
    assert set(pairs[-1][1]) >= {int(np.argmax(day[train]))}
    assert "folds train on earlier rows" in rows.parts.how


def test_forward_folds_begin_when_every_class_was_seen():
    codes = np.array([0] * 8 + [1] + [0, 1] * 6)
    pairs = forward(3, np.arange(21), codes)
    assert min(len(early) for early, _ in pairs) == 9
    with pytest.raises(sx.DataError, match="Use fewer folds"):
        forward(3, np.arange(10), np.array([0] * 8 + [1, 0]))
    with pytest.raises(sx.DataError, match="Use fewer folds"):
        forward(2, np.zeros(6), np.array([0, 1] * 3))


@pytest.mark.parametrize(
    ("values", "is_fine"),
    [
        ([3.0, 1.0, 2.0], True),
        (["2024-01-31", "2023-12-01", "2024-02-01"], True),
        (["2024-01-31 13:45", "2024-01-31 02:00", "2024-01-31"], True),
        (["20240131", "20231201", "20240201"], True),
        (["1/31/2024", "12/1/2023", "2/1/2024"], False),
        (["2024-01-31", "20231201", "2024-02-01"], False),
        (["2024-01-31T13:45+02:00", "2024-01-31T13:45", "2024-02-01"], False),
        (["first", "second", "third"], False),
    ],
)
def test_dates_whose_order_is_not_plain_are_refused(values, is_fine):
    from separatrix.report.study_rows import _moments

    if is_fine:
        moments = _moments(np.array(values), "when")
        assert sorted(range(3), key=lambda k: moments[k]) in ([1, 2, 0], [1, 0, 2], [2, 1, 0])
    else:
        with pytest.raises(sx.DataError, match="'when'"):
            _moments(np.array(values), "when")


def test_repeated_rows_are_dropped_and_opposed_ones_kept_and_named(table):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [2.0, 2.0]] * 2)
    y = np.array([0, 1, 0, 1, 1, 0] * 2)
    small = dataclasses.replace(table, X=X, y=y, texts=None)
    rows = rows_of(small, y, dataclasses.replace(QUICK, dedupe=True, test_share=2, folds=2))
    used = np.sort(np.concatenate([rows.parts.train, rows.parts.test]))
    # The naive version: the first of equal (features, label).
    first = [
        k for k in range(12) if not any((X[k] == X[j]).all() and y[k] == y[j] for j in range(k))
    ]
    assert used.tolist() == first == [0, 1, 3, 5]
    assert rows.notes[0] == "8 repeated rows dropped before the split"
    assert rows.notes[1].startswith("2 rows have the features of a row of another class")
    assert rows.notes[1].endswith("rows 0, 3")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"group": "patient", "time": "day"}, "give one"),
        ({"by_time": True, "time": "day"}, "give one"),
        ({"group": "ward"}, r"aside=\['ward'\]"),
        ({"group": "patient", "folds": 11}, "11 folds need as many groups of patient"),
        ({"time": "patient"}, "'patient' holds 'p"),
    ],
)
def test_what_cannot_be_split_is_refused(table, changed, said):
    with pytest.raises(sx.DataError, match=said):
        rows_of(table, table.y, dataclasses.replace(QUICK, **changed))


@pytest.mark.parametrize("changed", [{"group": "patient"}, {"time": "day"}])
@pytest.mark.parametrize("features", ["raw", "standard"])
def test_both_flows_judge_by_these_folds(table, tmp_path, changed, features):
    given = {**changed, "features": features}
    given |= {"Cs": None} if features == "standard" else {}
    settings = dataclasses.replace(QUICK, **given)
    work = Study(table, tmp_path, settings)
    facts = work.run()
    chosen = next(row for row in facts.path.rows if facts.path.chosen == row.C)
    errors = []
    for fold in work.folds():
        train, held = work.parts.train[fold.train > 0], work.parts.train[fold.validation > 0]
        X = table.X if features == "raw" else work.raw.learn(features, train, work.codes).X
        machine = sx.LinearSVM(chosen.C).fit(X[train], table.y[train])
        errors.append(np.mean(machine.predict(X[held]) != table.y[held]))
    assert chosen.validation_error == pytest.approx(np.mean(errors), abs=1e-12)
    assert facts.split.how.endswith("nor in the folds." if "group" in changed else "later ones.")


def test_other_groups_are_other_work(table, tmp_path):
    settings = dataclasses.replace(QUICK, group="patient")
    keys = [Study(table, tmp_path, settings).key, Study(table, tmp_path, QUICK).key]
    moved = {**table.aside, "patient": np.roll(table.aside["patient"], 1)}
    keys.append(Study(dataclasses.replace(table, aside=moved), tmp_path, settings).key)
    assert len(set(keys)) == 3
    again = dataclasses.replace(QUICK, group=None, time=None, dedupe=False)
    assert Study(table, tmp_path, again).key == keys[1]


def test_where_test_rows_stand_in_training_new_rows_are_the_headline(table, tmp_path):
    facts = study(table, tmp_path / "all", QUICK)
    parts = split(table.y, seed=0)
    seen = [any((table.X[t] == table.X[k]).all() for k in parts.train) for t in parts.test]
    assert sum(seen) > 0.05 * len(seen)
    model = sx.load(tmp_path / "all" / "model.sx")
    wrong = model.predict(table.X[parts.test]) != table.y[parts.test]
    new = facts.test.new_rows
    assert (new.n, new.errors) == (seen.count(False), int(wrong[~np.array(seen)].sum()))
    interval = sx.bounds.binomial(new.errors, new.n)
    assert (new.low, new.high) == (interval.lower, interval.upper)
    assert facts.answer == answer(dataclasses.replace(facts, answer=""))
    assert f"in {new.n} rows it had never seen; {sum(seen)} of the" in facts.answer
    assert key_figures(facts)[0].label == "Error on new rows"
    page = render_report(facts)
    assert f"On the other {new.n} rows" in page
    none = dataclasses.replace(facts.test, new_rows=type(new)(0, 0))
    said = answer(dataclasses.replace(facts, answer="", test=none))
    assert said.startswith("The test says nothing about new rows")
    assert render_report(dataclasses.replace(facts, test=none))
    clean = study(table, tmp_path / "clean", dataclasses.replace(QUICK, dedupe=True))
    opposed = int(clean.data.notes[1].split()[0])  # the same features, another label
    assert clean.test.duplicates <= opposed < facts.test.duplicates


@pytest.mark.parametrize("features", ["raw", "standard"])
@pytest.mark.parametrize("changed", [{"group": "patient"}, {"time": "day"}])
def test_thresholds_come_from_the_same_folds(table, tmp_path, changed, features):
    given = {"features": features, "scoring": "balanced", "Cs": None, **changed}
    work = Study(table, tmp_path, dataclasses.replace(QUICK, loss="logistic", **given))
    facts = work.run()
    held = sum(int((fold.validation > 0).sum()) for fold in work.folds())
    assert facts.threshold.rows == held
    assert (held < len(work.parts.train)) == ("time" in changed)


def test_rows_set_apart_for_false_alarms_are_the_latest_of_training(table):
    settings = dataclasses.replace(QUICK, time="day", at_most_false_alarms=0.2, positive="ill")
    rows, day = Study(table, "unused", settings).parts, table.aside["day"]
    assert max(day[rows.train]) <= min(day[rows.validation])
    assert max(day[rows.validation]) < min(day[rows.test])
    grouped = dataclasses.replace(settings, time=None, group="patient")
    with pytest.raises(sx.DataError, match="leave group or at_most_false_alarms out"):
        Study(table, "unused", grouped)
