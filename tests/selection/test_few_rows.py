"""Intervals where a class has few rows: they hold, and say where there is none."""

import numpy as np
import pytest

from separatrix.report.measures import class_measures, measures_of
from separatrix.selection.opening import EXACT, TOO_FEW, interval_of
from separatrix.selection.scores import Measure, loss_of_counts


def truth(scoring, ones, others, found, alarms):
    counts = ones * found, others * alarms, others * (1.0 - alarms), ones * (1.0 - found)
    return 1.0 - float(loss_of_counts(*counts, scoring))


@pytest.mark.parametrize("scoring", ["mcc", "f1"])
@pytest.mark.parametrize(("ones", "others"), [(1, 60), (4, 60), (50, 3)])
def test_the_interval_holds_the_truth(scoring, ones, others):
    rng, found, alarms = np.random.default_rng(0), 0.6, 0.1
    true, held, by_draws = truth(scoring, ones, others, found, alarms), 0, 0
    codes = np.repeat([1, 0], [ones, others])
    for _ in range(60):
        called = rng.random(len(codes)) < np.where(codes == 1, found, alarms)
        scores = np.where(called, 1.0, -1.0)[:, None]
        low, high, how = interval_of(Measure(scoring), scores, codes, 0.0)
        assert how == EXACT
        held += low <= true <= high
        table = np.zeros((2, 2), dtype=int)
        np.add.at(table, (codes, called.astype(int)), 1)
        shares = np.full((len(codes), 2), 0.5)
        part = (
            next(each for each in measures_of(table, scores, shares, codes) if each.name == "mcc")
            if scoring == "mcc"
            else class_measures(table, ["no", "yes"])[1].f1
        )
        assert (part.low, part.high) == pytest.approx((low, high), abs=1e-12)
        by_draws += part.low <= true <= part.high
    assert held == by_draws >= 57


def test_a_measure_without_shares_says_that_rows_are_too_few():
    codes, scores = np.repeat([1, 0], [1, 40]), np.linspace(1.0, -1.0, 41)[:, None]
    assert interval_of(Measure("auc"), scores, codes, 0.0) == (0.0, 1.0, TOO_FEW)
    three = np.arange(41) % 3
    assert interval_of(Measure("mcc"), np.eye(3)[three], three[:41], 0.0)[2] != TOO_FEW
    few = np.minimum(np.arange(41), 2)
    assert interval_of(Measure("mcc"), np.eye(3)[few], few, 0.0) == (-1.0, 1.0, TOO_FEW)
