"""A bound on Fisher's ratio rests on the least of all weights, not of some weights only."""

from __future__ import annotations

import numpy as np

import separatrix as sx
from separatrix.certificates.fisher import FisherDirection, _codes, _ratios, check_fisher
from separatrix.certificates.nonnegative_squares import check_nonnegative_squares


def test_labels_of_three_classes_have_no_direction():
    """The ratio of the last class against the others was proved of all three."""
    rng = np.random.default_rng(0)
    y, s = np.repeat([0, 1, 2], 20), np.full(60, 2.0)
    X = rng.normal(size=(60, 2)) + y[:, None]
    proof = check_fisher(X, (y == 2).astype(int), np.array([1.0, 1.0]), s)
    assert proof.check(X, (y == 2).astype(int), s)
    assert not proof.check(X, y, s)
    assert not proof.check(X, np.zeros(60), s)


def test_bounds_of_weights_not_below_zero_prove_no_direction():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 2)) + y[:, None] * [1.0, -1.0]
    s, targets = np.ones(60), _codes(y, np.ones(60))
    best = check_fisher(X, y, np.linalg.solve(np.cov(X.T), [1.0, -1.0]))
    assert best.check(X, y)
    fitted = sx.LeastSquares(task="regression", positive=True).fit(X, targets)
    W, b = np.ravel(fitted.coef_), np.ravel(fitted.intercept_)
    squares = check_nonnegative_squares(X, targets, W[None], b, sample_weight=s, task="regression")
    assert squares.holds
    assert squares.check(X, targets, s)
    ratio, bound = _ratios(X, targets, s, W, squares, 3.0)
    forged = FisherDirection(tuple(W.tolist()), ratio, bound, squares)
    assert bound < best.ratio  # so the claim is false
    assert not forged.check(X, y)
