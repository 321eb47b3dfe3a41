"""Intervals of measures: exact ones hold as often as they say, and none is a point."""

import numpy as np
import pytest

import separatrix as sx
from separatrix.selection.opening import EXACT, RESAMPLED, interval_of
from separatrix.selection.scores import Costs, Measure


def drawn(rng, n=60):
    y = np.arange(n) % 3 // 2
    return rng.normal(size=(n, 1)) + 1.5 * y[:, None] - 0.7, y


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("scoring", ["balanced", "cost", "minimax", "misses"])
def test_the_true_figure_lies_inside_nearly_always(scoring, positive):
    from scipy.stats import norm

    rates = {1: norm.cdf(0.0, 0.8), 0: norm.sf(0.0, -0.7)}  # of each class, the share in error
    missed, alarms = rates[positive], rates[1 - positive]
    shares = {1: 1 / 3, 0: 2 / 3}
    truth = {
        "balanced": 1.0 - 0.5 * (missed + alarms),
        "minimax": max(missed, alarms),
        "misses": missed,
        "cost": 5.0 * shares[positive] * missed + shares[1 - positive] * alarms,
    }[scoring]
    measure, rng, inside = Measure(scoring, Costs(5.0, 1.0), positive), np.random.default_rng(0), 0
    for _ in range(200):
        low, high, how = interval_of(measure, *drawn(rng), 0.0)
        inside += low <= truth <= high
        assert how == EXACT
    assert inside >= 188  # at least 95 %, but for four standard deviations of the draw


def test_the_error_has_the_binomial_interval():
    scores, y = drawn(np.random.default_rng(1))
    wrong = int(((scores[:, 0] > 0.2) != y).sum())
    low, high, how = interval_of(Measure("error"), scores, y, 0.2)
    expected = sx.bounds.binomial(wrong, len(y))
    assert (low, high, how) == (expected.lower, expected.upper, EXACT)


@pytest.mark.parametrize("scoring", ["f1", "mcc", "auc", "log_loss"])
def test_resampled_intervals_hold_the_figure_and_are_repeated_exactly(scoring):
    scores, y = drawn(np.random.default_rng(2))
    chances = 1.0 / (1.0 + np.exp(-scores))
    shares = np.hstack([1.0 - chances, chances])
    measure = Measure(scoring)
    value = measure.shown(measure.loss(scores, y, 0.1, shares))
    low, high, how = interval_of(measure, scores, y, 0.1, shares)
    assert low < value < high
    assert how == RESAMPLED
    assert interval_of(measure, scores, y, 0.1, shares) == (low, high, how)


def test_several_classes():
    rng = np.random.default_rng(3)
    y = np.arange(90) % 3
    scores = rng.normal(size=(90, 3)) + np.eye(3)[y]
    measure = Measure("balanced")
    low, high, how = interval_of(measure, scores, y, 0.0)
    assert low < 1.0 - measure.loss(scores, y) < high
    assert how == RESAMPLED
