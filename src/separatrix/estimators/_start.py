"""The first weights of an iterative method."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.errors import DataError

_SMALL = 0.01


def first_weights(init: Any, problem: Any, seed: int) -> np.ndarray:
    """Return zeros, small random numbers, or the weights given.

    Weights given are one row of [intercept, features] for two classes, one row for each class
    where there are more.
    """
    if isinstance(init, str):
        if init == "zeros":
            return np.zeros(problem.dimension)
        if init == "random":
            draws = np.random.default_rng(seed).normal(scale=_SMALL, size=problem.dimension)
            return np.asarray(problem.homogeneous(*problem.weights(draws)))
        raise ValueError(f"init must be 'zeros', 'random' or an array. Got {init!r} instead.")
    w = np.asarray(init, dtype=np.float64).ravel()
    if w.size != problem.dimension:
        raise ValueError(
            f"init must hold {problem.dimension} numbers, intercept first. Got {w.size} instead."
        )
    if not np.isfinite(w).all():
        raise DataError("init must hold finite numbers.")
    coef, intercept = problem.weights(w)
    kept = problem.homogeneous(coef, intercept)
    if not np.array_equal(kept, w):
        raise ValueError("init must begin with 0 where fit_intercept=False: there is no intercept.")
    return np.asarray(kept)
