"""Measures against scikit-learn's, and thresholds against all thresholds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import separatrix as sx
from separatrix.selection.scores import Costs, best_threshold, loss_of, parse_costs

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


@pytest.mark.parametrize("text", ["", "5", "5:0", "5:x", "a:b = 1:2", "1:2:3", "-1:1", "inf:1"])
def test_costs_that_are_none(text):
    with pytest.raises(sx.DataError, match="costs must be two numbers"):
        parse_costs(text)


def test_costs_by_name_in_either_order():
    assert parse_costs("5:1") == Costs(5.0, 1.0)
    assert parse_costs("false_alarm:missed=1:5") == Costs(5.0, 1.0)
