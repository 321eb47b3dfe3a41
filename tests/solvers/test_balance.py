"""Multipliers stay in their bounds and sum to exactly zero, however they came."""

from fractions import Fraction

import numpy as np
from tests.amounts import cases

from separatrix.solvers.linear.claims import balanced, hinge_bias_interval


def drawn(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    signs = rng.choice([-1.0, 1.0], size=n)
    upper = [
        np.full(n, np.inf),
        np.full(n, 10.0 ** rng.integers(-3, 4)),
        np.exp(rng.normal(size=n) * rng.choice([1, 10])),
        rng.choice([np.inf, 1.0, 0.1, 10.0], size=n),
    ][seed % 4]
    upper = np.where(rng.random(n) < 0.2 * (seed % 5 == 0), 0.0, upper)
    alpha = np.exp(rng.normal(size=n) * rng.choice([0.1, 1, 10])) * (rng.random(n) < 0.7)
    at_bound = (rng.random(n) < 0.4) & np.isfinite(upper)
    return np.where(at_bound, upper, np.minimum(alpha, upper)), signs, upper


def test_the_sum_is_exactly_zero_within_the_bounds():
    for seed in cases(4000):
        alpha, signs, upper = drawn(seed)
        found = balanced(alpha, signs, upper)
        assert ((found >= 0.0) & (found <= upper)).all()
        terms = zip(signs.tolist(), found.tolist(), strict=True)
        assert sum(int(sign) * Fraction(value) for sign, value in terms) == 0


def test_what_is_balanced_stays_and_rows_at_a_bound_keep_it():
    signs = np.array([1.0, -1.0, 1.0, -1.0])
    even = np.array([0.5, 0.5, 0.25, 0.25])
    assert balanced(even, signs, np.ones(4)).tolist() == even.tolist()
    nearly = np.array([1.0, 1.0, 0.25, 0.25 + 1e-10])
    found = balanced(nearly, signs, np.ones(4))
    assert found[:2].tolist() == [1.0, 1.0]
    assert abs(found - nearly).max() < 1e-9


def test_a_bias_near_the_best_shortens_the_search_and_changes_no_end():
    rng = np.random.default_rng(0)
    for case in range(60):
        n = int(rng.integers(4097, 5000))
        scores = rng.normal(size=n) * 10.0 ** rng.uniform(-2.0, 2.0)
        scores = np.round(scores) if case % 5 == 0 else scores
        signs = np.where(rng.normal(size=n) + rng.normal() > 0.0, 1.0, -1.0)
        costs = np.where(rng.random(n) < 0.1, 0.0, 1.0 if case % 2 else rng.exponential(size=n))
        ends = hinge_bias_interval(scores, signs, costs)
        for near in (0.0, ends[0], ends[1] + 0.01, 1e5):
            assert hinge_bias_interval(scores, signs, costs, near) == ends
    one_class = scores, np.ones(n), costs
    assert hinge_bias_interval(*one_class, 0.0) == hinge_bias_interval(*one_class)
