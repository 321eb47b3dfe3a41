"""How much to shrink the covariances of Gaussian classes, and towards what, by held-out rows.

    C_k = (1 - a) S_k + a ((1 - p) D_k + p P)

S_k is the covariance of class k, D_k its diagonal and P the covariance within all classes. So a = 0
is the covariance as it is, a = 1 with p = 0 the diagonal model and a = 1 with p = 1 the shared one.
Friedman (1989) chooses such a pair by the errors on rows left out, and so does this: five folds,
the fewest errors, and of equally many the least mean of -log p(class | row).

Rows are dealt to the folds in the order of their values: how the rows stand, and the units and zero
points of columns, change nothing, and the copies of a row stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import log_softmax

from separatrix._sparse import sparse as sp
from separatrix.problem.signed import FloatArray, Matrix

__all__ = ["Shrinkage", "held_out_choice"]

SHARES = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)
POOLED = (0.0, 0.5, 1.0)
_FOLDS = 5
_MOST_WORK = 4e10  # multiplications: about ten seconds
_MOST_ENTRIES = 1 << 26


class Shrinkage(NamedTuple):
    """The share `a` that is shrunk, and the part `p` of it that goes to the pooled covariance."""

    share: float
    pooled: float = 0.0


# Rows, class numbers and weights to a function that estimates densities for each shrinkage.
Prepare = Callable[[Matrix, np.ndarray, FloatArray], Callable[[Shrinkage], Any]]


def candidates() -> list[Shrinkage]:
    """Return every pair that is tried, the least shrunk first."""
    pairs = (Shrinkage(a, p) for a, p in product(SHARES, POOLED))
    return [pair for pair in pairs if pair.share > 0.0 or pair.pooled == 0.0]


def held_out_choice(
    prepare: Prepare, X: Matrix, codes: np.ndarray, weights: FloatArray, n_classes: int
) -> Shrinkage | None:
    """Return the pair of fewest errors on rows left out; None where there are too few rows for it.

    A pair whose covariance is singular in any fold is not taken. None is returned too where the
    choice would take very long.
    """
    d, pairs = X.shape[1], candidates()
    work = _FOLDS * len(pairs) * n_classes * d * d * (d + X.shape[0] / _FOLDS)
    if work > _MOST_WORK or X.shape[0] * d > _MOST_ENTRIES:
        return None
    errors, losses = np.zeros(len(pairs)), np.zeros(len(pairs))
    for held in _folds(X, codes, n_classes):
        if (np.bincount(codes[~held], minlength=n_classes) < 2).any():
            return None
        estimate = prepare(X[~held], codes[~held], weights[~held])
        masses = np.bincount(codes[~held], weights[~held], minlength=n_classes)
        priors = np.log(masses / masses.sum())
        for number, pair in enumerate(pairs):
            found = estimate(pair) if np.isfinite(errors[number]) else None
            if found is None:
                errors[number] = np.inf
                continue
            logs = log_softmax(found.log_densities(X[held]) + priors, axis=1)
            truth = codes[held]
            errors[number] += weights[held] @ (logs.argmax(axis=1) != truth)
            losses[number] -= weights[held] @ logs[np.arange(len(truth)), truth]
    best = min(range(len(pairs)), key=lambda number: (errors[number], losses[number]))
    return pairs[best] if np.isfinite(errors[best]) else None


def _folds(X: Matrix, codes: np.ndarray, n_classes: int) -> Iterator[np.ndarray]:
    """Yield which rows are held out: each row once, every class in each fold if it can be."""
    fold = np.empty(len(codes), dtype=np.int64)
    for k in range(n_classes):
        own = np.flatnonzero(codes == k)
        rows = X[own].toarray() if sp.issparse(X) else X[own]
        _, ranks = np.unique(rows, axis=0, return_inverse=True)
        fold[own] = ranks.ravel() % _FOLDS
    for number in range(_FOLDS):
        if (fold == number).any():
            yield fold == number
