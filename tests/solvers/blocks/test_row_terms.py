"""What rows add, against the slow version."""

from __future__ import annotations

import numpy as np
import pytest
from tests.naive import partitioned as naive

from separatrix.problem.losses import CODES
from separatrix.solvers.linear.blocks import passes as terms


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_sums_are_those_of_the_slow_version(loss):
    rng = np.random.default_rng(0)
    margins, signs = rng.normal(1.0, 1.0, 40), np.where(rng.random(40) < 0.5, 1.0, -1.0)
    costs, q, width = rng.random(40) + 0.1, rng.random(40), 0.3
    shares, bends = np.empty(40), np.empty(40)
    told = CODES[loss], width, width, q, margins, signs, costs, shares, bends
    sums = terms.row_terms(*told)
    pairs = [naive.smoothed(loss, m, width, c) for m, c in zip(margins, q, strict=True)]
    values, p = np.array(pairs).T
    np.testing.assert_allclose(shares, signs * costs * p, atol=1e-4)
    assert sums[terms.SMOOTHED] == pytest.approx(costs @ values, rel=1e-6)
    assert sums[terms.ALPHA] == pytest.approx((costs * p)[signs > 0].sum(), abs=1e-3)
    step = 1e-6
    ahead = terms.values_along(
        CODES[loss], width, q, margins, np.ones(40), costs, np.array([-step, 0.0, step])
    )
    assert (ahead[2] - ahead[0]) / (2 * step) == pytest.approx(-abs(shares).sum(), rel=1e-5)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_the_gain_of_scaled_classes_is_known_near_one(loss):
    rng = np.random.default_rng(1)
    margins, signs = rng.normal(0.5, 1.0, 30), np.where(np.arange(30) % 2 == 0, 1.0, -1.0)
    costs = rng.random(30) + 0.1
    shares, bends = np.empty(30), np.empty(30)
    middle = np.array([0.5])
    sums = terms.row_terms(CODES[loss], 0.3, 0.3, middle, margins, signs, costs, shares, bends)
    for side, own in enumerate([signs > 0, signs < 0]):
        for factor in (1.0, 0.99):
            alphas = factor * abs(shares[own])
            exact = sum(
                naive.gain(loss, a, c) for a, c in zip(alphas, costs[own], strict=True) if a > 0
            )
            off = factor - 1.0
            told = sums[terms.GAIN + side] + off * sums[terms.GAIN_SLOPE + side]
            told -= 0.5 * off * off * sums[terms.GAIN_BEND + side]
            assert told == pytest.approx(exact, rel=1e-5)
