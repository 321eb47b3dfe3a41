"""One run of an iterative method, as both `fit` and `sx.replay` make it, and its first weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.checks import positive
from separatrix.errors import DataError
from separatrix.problem.equilibrate import (
    packed,
    packed_weights,
    packing_order,
    unpacked_weights,
    weights_of_undivided,
)
from separatrix.solvers.running.drive import NO_LIMIT

_SINGLE_UPDATES = 1_000_000
_WHOLE_PASSES = 10_000
_SMALL = 0.01


@dataclass(frozen=True)
class Run:
    """What to solve, how, and for how long.

    `problem` may be `given` with its columns scaled by the powers of two of `exponents`, and put in
    an `order` that is faster to visit.
    """

    method: Any
    problem: Any
    settings: dict[str, Any]
    budget: int
    seconds: float
    given: Any
    exponents: np.ndarray | None = None
    order: np.ndarray | None = None

    def as_given(self, w: np.ndarray) -> np.ndarray:
        """Return the weights for the columns as they were given."""
        coef, intercept = self.problem.weights(w)
        if self.order is not None:
            coef = unpacked_weights(coef, self.order)
        if self.exponents is not None:
            with np.errstate(over="ignore"):
                coef = weights_of_undivided(coef, self.exponents)
        return np.asarray(self.given.homogeneous(coef, intercept))

    @classmethod
    def of(
        cls,
        estimator: Any,
        method: Any,
        problem: Any,
        settings: dict[str, Any],
        whole_passes: bool,
        given: Any = None,
        exponents: np.ndarray | None = None,
    ) -> Run:
        """Read the budgets of an estimator; where an update costs a pass, allow fewer of them."""
        for name in ("max_updates", "max_passes", "max_seconds"):
            whole = name == "max_updates"
            positive(name, getattr(estimator, name), whole=whole, optional=True)
        updates = estimator.max_updates
        if updates is None:
            updates = _WHOLE_PASSES if whole_passes else _SINGLE_UPDATES
        if estimator.max_passes is not None:
            settings = {**settings, "max_passes": estimator.max_passes}
        seconds = np.inf if estimator.max_seconds is None else float(estimator.max_seconds)
        given = problem if given is None else given
        order = packing_order(problem)
        if order is not None:
            if settings.get("first") is not None:
                coef, intercept = problem.weights(settings["first"])
                first = problem.homogeneous(packed_weights(coef, order), intercept)
                settings = {**settings, "first": first}
            problem = packed(problem, order)
        budget = min(int(updates), NO_LIMIT)
        return cls(method, problem, settings, budget, seconds, given, exponents, order)


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


def given_weights(problem: Any, coef: Any, intercept: Any) -> np.ndarray:
    """Return first weights from `coef_init` and `intercept_init`, as scikit-learn shapes them.

    What is not given is zero.
    """
    zero, none = problem.weights(np.zeros(problem.dimension))
    parts = []
    for name, value, like in (("coef_init", coef, zero), ("intercept_init", intercept, none)):
        found = like if value is None else np.asarray(value, dtype=np.float64)
        if found.size != like.size or found.ndim > like.ndim:
            raise ValueError(
                f"{name} must be of the shape {like.shape}. Got {found.shape} instead."
            )
        parts.append(found.reshape(like.shape))
    if not problem.fit_intercept and parts[1].any():
        raise ValueError("intercept_init must be 0 where fit_intercept=False.")
    w = np.asarray(problem.homogeneous(*parts))
    if not np.isfinite(w).all():
        raise DataError("coef_init and intercept_init must hold finite numbers.")
    return w
