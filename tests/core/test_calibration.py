"""Slopes that turn scores into probabilities: those of least log loss."""

import numpy as np
import pytest
from scipy.special import log_expit, log_softmax
from tests.amounts import cases

from separatrix.core.linear_model import fitted_slopes


def loss_of_two(slope, signed, weights):
    return -weights @ log_expit(slope * signed)


def loss_of_many(slope, scores, codes, weights):
    return -weights @ log_softmax(slope * scores, axis=1)[np.arange(len(codes)), codes]


def others(slope):
    return np.clip(slope * np.array([0.5, 0.999, 1.001, 2.0]), 1e-6, 1e6)


@pytest.mark.parametrize("seed", cases(40))
def test_no_other_slope_has_less_log_loss(seed):
    rng = np.random.default_rng(seed)
    n, unit = int(rng.integers(5, 200)), 10.0 ** rng.uniform(-3, 3)
    codes, weights = rng.integers(0, 2, n), rng.random(n)
    scores = np.where(codes == 1, unit, -unit) * (rng.exponential(size=n) - rng.uniform(0.1, 0.6))
    found = fitted_slopes(scores[:, None], codes, weights)
    signed = np.where(codes == 1, scores, -scores)
    for side, slope in ((scores < 0.0, found.below), (scores > 0.0, found.above)):
        least = loss_of_two(slope, signed[side], weights[side])
        for other in others(slope):
            assert least <= loss_of_two(other, signed[side], weights[side]) + 1e-12 * n

    table = rng.normal(size=(n, 3))
    table[np.arange(n), codes] += 0.5
    slope = fitted_slopes(table, codes, weights).below
    least = loss_of_many(slope, table, codes, weights)
    for other in others(slope):
        assert least <= loss_of_many(other, table, codes, weights) + 1e-12 * n


def test_scores_that_nothing_contradicts_have_a_slope_that_any_order_of_rows_finds():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 50)
    scores = np.where(codes == 1, 1.0, -1.0) * (0.1 + rng.exponential(size=50))
    found = fitted_slopes(scores[:, None], codes, np.ones(50))
    turned = fitted_slopes(scores[::-1, None], codes[::-1], np.ones(50))
    assert (turned.below, turned.above) == (found.below, found.above)
    above = codes == 1
    assert loss_of_two(found.above, scores[above], np.ones(above.sum())) < 1e-300
