"""One error bound for all rows encloses what exact sums find, in whatever units columns are."""

import math

import numpy as np
import pytest
from tests.amounts import cases
from tests.problems import as_sparse

from separatrix.certificates.column_sizes import Sized
from separatrix.certificates.duality_gap import Model, terms_of
from separatrix.certificates.sparse_gap import rough_terms


def drawn_point(seed):
    """Return rows, signs, costs, a dual point, weights, a bias and a share."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 30)), int(rng.integers(1, 8))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-6, 7, size=d)
    X[rng.random((n, d)) < 0.3] = 0.0
    costs = 10.0 ** rng.uniform(-3, 3) * rng.integers(0, 3, size=n).astype(float)
    costs[0] = 1.0
    w = rng.normal(size=d) * 10.0 ** rng.uniform(-8, 3) / (1e-6 + abs(X).max(axis=0))
    p = rng.random(n) ** rng.integers(1, 9)
    p[rng.random(n) < 0.2] = rng.integers(0, 2)
    signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    share = float(rng.choice([1.0, 0.999, 0.3]))
    return X, signs, costs, p * costs, w, float(rng.normal()), share


def holds(rough, exact):
    """Whether an enclosure has another one within it."""
    return bool((rough.low <= exact.low).all() and (rough.high >= exact.high).all())


@pytest.mark.parametrize("wide", [1.0, 3.0])
def test_exact_sums_lie_within(wide):
    for seed in cases(150):
        X, signs, costs, alpha, w, b, share = drawn_point(seed)
        points = signs, costs, alpha
        for data in (X, as_sparse(X)):
            model, share_of = Model("logistic", w, b), lambda _, share=share: share
            rough, margins = rough_terms(model, Sized(data), *points, wide, share_of)
            tight, _ = terms_of(model, data, *points, "exact", share_of=share_of)
            assert holds(rough.loss, tight.loss), seed
            assert holds(rough.gain, tight.gain), seed
            assert holds(rough.total, tight.total), seed
            assert math.fsum(rough.balance) == math.fsum(tight.balance)
            assert np.allclose(margins(), signs * (X @ w + b))


def test_the_bounds_are_narrow_where_nothing_is_huge():
    rng = np.random.default_rng(0)
    X, signs = rng.normal(size=(500, 20)), np.where(rng.random(500) < 0.5, 1.0, -1.0)
    model, points = Model("logistic", rng.normal(size=20), 0.5), (np.ones(500), rng.random(500))
    found, _ = rough_terms(model, Sized(X), signs, *points, 1.0, lambda _: 1.0)
    for sums in (found.loss, found.gain):
        assert 0.0 < sums.high - sums.low < 1e-11 * sums.low


def test_what_overflows_is_bounded_by_nothing():
    X, w = np.array([[1e200], [-1e200]]), np.array([1e200])
    points = np.array([1.0, -1.0]), np.ones(2), np.array([0.5, 0.5])
    found, _ = rough_terms(Model("logistic", w, 0.0), Sized(X), *points, 1.0, lambda _: 1.0)
    assert found.loss.high == math.inf
    assert found.gain.high < 2.0


def test_scores_whose_terms_cancel_are_bounded_by_the_terms():
    rng = np.random.default_rng(0)
    near = rng.normal(size=20)
    X, w = np.column_stack([near, -near * (1.0 + 1e-9 * rng.random(20))]), np.full(2, 1e9 / 3.0)
    points = np.ones(20), np.ones(20), np.full(20, 0.5)
    found = [
        rough_terms(Model("logistic", w, 0.1), Sized(X), *points, 1.0, lambda _: 1.0)[0].loss,
        terms_of(Model("logistic", w, 0.1), X, *points, "exact")[0].loss,
    ]
    assert holds(*found)
    assert found[0].high - found[0].low > 1e-7


def test_dual_variables_next_to_their_bound_have_few_digits_left():
    costs = np.random.default_rng(0).random(9)
    alpha = costs * (1.0 - np.arange(1, 10) * 2.0**-52)
    points = np.ones(9), costs, alpha
    for share in (1.0, 1.0 - 2.0**-51):
        rough, _ = rough_terms(
            Model("logistic", np.zeros(1), None), Sized(np.ones((9, 1))), *points, 1.0,
            lambda _, share=share: share,
        )  # fmt: skip
        tight, _ = terms_of(
            Model("logistic", np.zeros(1), None), np.ones((9, 1)), *points, "exact",
            share_of=lambda _, share=share: share,
        )  # fmt: skip
        assert holds(rough.gain, tight.gain)
