"""Measures against scikit-learn's, and thresholds against all thresholds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import separatrix as sx
from separatrix.selection.scores import (
    WITH_THRESHOLD,
    Costs,
    Measure,
    best_threshold,
    loss_of,
    parse_costs,
)

rows = st.lists(
    st.tuples(st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.25, 1.0, 3.0]), st.booleans()),
    min_size=4,
    max_size=25,
).filter(lambda found: len({label for _, label in found}) == 2)
PEERS = {
    "error": lambda y, p: 1 - metrics.accuracy_score(y, p),
    "balanced": lambda y, p: 1 - metrics.balanced_accuracy_score(y, p),
    "f1": lambda y, p: 1 - metrics.f1_score(y, p, zero_division=0),
    "mcc": lambda y, p: 1 - metrics.matthews_corrcoef(y, p),
    "cost": lambda y, p: (5 * (y & ~p).sum() + (~y & p).sum()) / len(y),
    "minimax": lambda y, p: max((y & ~p).sum() / y.sum(), (~y & p).sum() / (~y).sum()),
}


@pytest.mark.parametrize("scoring", PEERS)
@given(rows)
def test_two_classes(scoring, found):
    scores, y = np.array([s for s, _ in found]), np.array([label for _, label in found])
    costs = Costs(5.0, 1.0)
    for threshold in (0.0, 0.3):
        ours = loss_of(scores[:, None], y.astype(int), scoring, threshold, costs)
        assert ours == pytest.approx(PEERS[scoring](y, scores > threshold), abs=1e-12)
    best = best_threshold(scores, y, scoring, costs)
    at_best = loss_of(scores[:, None], y.astype(int), scoring, best, costs)
    if scoring == "error":
        assert best == 0.0
        return
    for threshold in [-9.0, *(np.unique(scores) + 0.01)]:
        other = loss_of(scores[:, None], y.astype(int), scoring, threshold, costs)
        assert at_best <= other + 1e-12


@given(rows)
def test_area_under_the_curve(found):
    scores, y = np.array([s for s, _ in found]), np.array([label for _, label in found])
    ours = loss_of(scores[:, None], y.astype(int), "auc")
    assert ours == pytest.approx(1 - metrics.roc_auc_score(y, scores), abs=1e-12)


@pytest.mark.parametrize("scoring", ["error", "balanced", "f1", "mcc", "auc"])
def test_three_classes(scoring):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=60)
    scores = rng.normal(size=(60, 3)) + np.eye(3)[y]
    p = scores.argmax(axis=1)
    one = np.eye(3)[y].astype(bool)
    expected = {
        "error": (p != y).mean(),
        "balanced": 1 - metrics.balanced_accuracy_score(y, p),
        "f1": 1 - metrics.f1_score(y, p, average="macro"),
        "mcc": 1 - metrics.matthews_corrcoef(y, p),
        "auc": 1 - np.mean([metrics.roc_auc_score(one[:, k], scores[:, k]) for k in range(3)]),
    }
    assert loss_of(scores, y, scoring) == pytest.approx(expected[scoring], abs=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "5:0",
        "5:x",
        "a:b = 1:2",
        "1:2:3",
        "-1:1",
        "inf:1",
        "1e308:1e308",
        "1:1e-101",
        "1e101:1",
    ],
)
def test_costs_that_are_none(text):
    with pytest.raises(sx.DataError, match="costs must be two numbers"):
        parse_costs(text)


def test_costs_by_name_in_either_order():
    assert parse_costs("5:1") == Costs(5.0, 1.0)
    assert parse_costs("false_alarm:missed=1:5") == Costs(5.0, 1.0)


@given(rows, st.sampled_from([0.0, 0.1, 0.3, 0.6]))
def test_least_misses_within_the_false_alarms(found, level):
    scores, y = np.array([s for s, _ in found]), np.array([label for _, label in found])
    threshold = best_threshold(scores, y, "misses", None, level)

    def rates(at):
        called = scores > at
        return (y & ~called).sum() / y.sum(), (~y & called).sum() / (~y).sum()

    missed, alarms = rates(threshold)
    assert alarms <= level
    for other in [-9.0, *(np.unique(scores) + 0.01)]:
        assert missed <= rates(other)[0] or rates(other)[1] > level


@pytest.mark.parametrize("scoring", WITH_THRESHOLD)
@given(rows)
def test_either_class_may_be_the_positive_one(scoring, found):
    """Of mirrored scores and classes, the rule that the first class is positive is the same."""
    scores, codes = np.array([[s] for s, _ in found]), np.array([int(label) for _, label in found])
    second = Measure(scoring, Costs(5.0, 1.0), 1, 0.3)
    first = Measure(scoring, Costs(5.0, 1.0), 0, 0.3)
    high, low = second.threshold(scores, codes), first.threshold(-scores, 1 - codes)
    assert low == pytest.approx(-high, abs=1e-12)
    assert first.loss(-scores, 1 - codes, low) == second.loss(scores, codes, high)
    # The rows that a model calls are those that the measure counts.
    called = np.where(-scores[:, 0] > low, 1, 0) == 0
    assert (called == (scores[:, 0] > high)).all()


def test_a_threshold_fits_between_neighbouring_numbers():
    above = np.nextafter(1.0, 2.0)
    scores, y = np.array([0.0, 1.0, above, 2.0]), np.array([False, False, True, True])
    at = best_threshold(scores, y, "balanced")
    assert ((scores > at) == y).all()
    huge = np.array([1e300, 2e300])
    assert (huge > best_threshold(huge, np.array([True, True]), "f1")).all()


@pytest.mark.parametrize("kind", ["logistic", "hinge", "softmax"])
def test_log_loss_is_that_of_the_probabilities(kind):
    rng = np.random.default_rng(3)
    y = rng.integers(3 if kind == "softmax" else 2, size=80)
    columns = 3 if kind == "softmax" else 1
    scores = rng.normal(size=(80, columns)) + (np.eye(3)[y] if columns == 3 else y[:, None])
    losses = Measure("log_loss").losses([(scores[:40], y[:40]), (scores[40:], y[40:])], kind)
    chances = 1.0 / (1.0 + np.exp(-scores[:, 0]))
    if kind == "softmax":
        chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    if kind == "hinge":
        both = metrics.log_loss(y, chances)
        assert losses.mean() <= both + 1e-9  # slopes are fitted, and 1 is one of them
        return
    expected = [metrics.log_loss(y[p], chances[p], labels=np.unique(y)) for p in
                (slice(40), slice(40, 80))]  # fmt: skip
    assert losses == pytest.approx(expected, abs=1e-12)


def test_folds_share_one_threshold():
    """Each fold alone could be split without a mistake; together they cannot."""
    one = (np.array([[0.0], [1.0]]), np.array([0, 1]))
    two = (np.array([[2.0], [3.0]]), np.array([0, 1]))
    assert Measure("balanced").losses([one, two]).tolist() in ([0.0, 0.5], [0.5, 0.0])


def test_costs_of_several_classes_are_refused():
    with pytest.raises(sx.DataError, match="costs need two classes, and there are 3"):
        Measure("cost").check_classes(3)
    Measure("balanced").check_classes(3)


def test_costs_by_class_are_those_of_each_mistake():
    names = ["a", "b", "c"]
    costs = parse_costs("a>b = 5, c > a=0.5").of_classes(names)
    expected = [[0.0, 5.0, 1.0], [1.0, 0.0, 1.0], [0.5, 1.0, 0.0]]
    assert np.array(costs.matrix).tolist() == expected
    rng = np.random.default_rng(0)
    scores, y = rng.normal(size=(50, 3)), rng.integers(3, size=50)
    measure = Measure("cost", costs)
    measure.check_classes(3)
    slow = [expected[true][int(row.argmax())] for row, true in zip(scores, y, strict=True)]
    assert measure.loss(scores, y) == pytest.approx(np.mean(slow))
    two = parse_costs("bad>good = 7").of_classes(["bad", "good"], positive=0)
    assert (two.missed, two.false_alarm, two.matrix) == (7.0, 1.0, ())


@pytest.mark.parametrize(
    "text", ["a>b", "a>a=2", "a>b=0", "a>b=x", ">b=2", "a>b=1, a>b=2", "a>b=5,"]
)
def test_costs_by_class_that_are_none(text):
    with pytest.raises(sx.DataError, match="costs by class must be"):
        parse_costs(text)
    with pytest.raises(sx.DataError, match="costs name 'z'"):
        parse_costs("a>z=2").of_classes(["a", "b", "c"])
