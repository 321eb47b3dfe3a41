"""Newton's method for the (penalised) log-likelihood, free or with one coefficient held.

Fisher scoring where all leverages are small; else the exact Hessian, made positive definite by the
absolute values of its eigenvalues. Steps are cut where the linear predictor would move far, and
halved until the value grows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from separatrix.infer import loops
from separatrix.infer.likelihood import Likelihood, Point
from separatrix.infer.loops import (
    FARTHEST,
    LEAST_CURVATURE,
    MOST_STEPS,
    NEARBY,
    NOISE,
    ROUGH,
    SMALL_LEVERAGE,
)

_CLOSE = 1e-10  # of a standard error
_SHRINKING = 0.03
_MOST_WORK = 2e9  # products for one exact Hessian


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the method ended, and how far the next step would go, in standard errors."""

    point: Point
    decrement: float
    steps: int
    longest: float = np.nan  # the largest squared length of a row, in standard errors, if known

    @property
    def converged(self) -> bool:
        """Whether the next step is negligible."""
        return self.decrement < 1e-6


def scaled_step(point: Point, held: np.ndarray | None) -> tuple[np.ndarray, float]:
    """Return Newton's step and its length in standard errors.

    `held` is a linear form that must not change.
    """
    L = point.factor
    g = solve_triangular(L, point.score, lower=True, check_finite=False)
    A, exact = metric(point)
    free = None
    if held is not None:
        c = solve_triangular(L, held, lower=True, check_finite=False)
        free = np.linalg.qr(c[:, None], mode="complete")[0][:, 1:]
        g = free.T @ g
    if exact:
        values, vectors = np.linalg.eigh(A if free is None else free.T @ A @ free)
        s = vectors @ ((vectors.T @ g) / np.maximum(abs(values), LEAST_CURVATURE))
    else:
        s = g
    s = s if free is None else free @ s
    step = solve_triangular(L.T, s, lower=False, check_finite=False)
    return step, float(np.linalg.norm(s))


def metric(point: Point) -> tuple[np.ndarray, bool]:
    """Return the negative Hessian in whitened coordinates, and whether it is exact."""
    like, d = point.like, len(point.theta)
    exact = like.firth and float(point.q.max()) > 1e-4 and len(like.y) * d**3 < _MOST_WORK
    if like.firth and not exact and float(point.q.max()) > SMALL_LEVERAGE:
        exact = True
    return point.newton_matrix(exact), exact


def maximise(
    like: Likelihood,
    theta: np.ndarray,
    held: np.ndarray | None = None,
    target: float | None = None,
    near: Point | None = None,
) -> Maximum:
    """Climb from a point to a maximum; the linear form `held` keeps its value, or the target.

    A maximum `near` says how the penalty bends.
    """
    if held is not None and not like.firth:
        return _maximise_free(like, theta, held)
    if like.is_narrow:
        usual = np.eye(len(theta)) if near is None else near.look.A
        return _compiled_climb(like, theta, held, target, usual)
    with np.errstate(all="ignore"):
        return _climb(like, theta, held)


def _compiled_climb(
    like: Likelihood,
    theta: np.ndarray,
    held: np.ndarray | None,
    target: float | None,
    usual: np.ndarray,
) -> Maximum:
    form = np.zeros(len(theta)) if held is None else np.ascontiguousarray(held)
    start, look = np.ascontiguousarray(theta, dtype=np.float64), like.new_look()
    goal = float(form @ start) if target is None else target
    found, value, size, steps = loops.climb(like.posed, start, form, goal, usual, _CLOSE, look)
    if np.isnan(value):
        raise np.linalg.LinAlgError("the information is singular at the start")
    return Maximum(like.at(found, float(value)), float(size), int(steps), float(look.facts[0]))


def _climb(like: Likelihood, theta: np.ndarray, held: np.ndarray | None) -> Maximum:
    point, size, last, steps, far = like.at(theta), np.inf, np.inf, 0, FARTHEST
    while steps < MOST_STEPS:
        step, size = scaled_step(point, held)
        if size < _CLOSE or not np.isfinite(step).all():
            break
        along = like.Z @ step
        moved = float(abs(along).max(initial=0.0))
        scale = min(1.0, far / moved) if moved > 0.0 else 1.0
        sure = moved < NEARBY and size < 0.5 * last
        if sure and like.firth:
            sure = float(point.q.max()) < SMALL_LEVERAGE
        # Next to the maximum steps shrink for certain, and the value is too flat to compare.
        better = _moved(point, step, along, 1.0) if sure else _climbed(point, step, along, scale)
        if better is None or (size < ROUGH and size > 0.5 * last):
            break  # rounding hides what is left
        share, point, last = size / last, better, size
        steps, far = steps + 1, 2.0 * far
        if sure and 0.0 < share < _SHRINKING and size * share < _CLOSE:
            return Maximum(point, size * share, steps)  # the next step would be as short as that
    return Maximum(point, size, steps)


def _maximise_free(like: Likelihood, theta: np.ndarray, held: np.ndarray) -> Maximum:
    """Climb in the directions that leave the form alone, which may be well posed on their own."""
    free = np.linalg.qr(held[:, None], mode="complete")[0][:, 1:]
    ridge = None if like.ridge is None else like.ridge @ free
    reduced = Likelihood(
        like.Z @ free, like.y, like.weights, like.offset + like.Z @ theta, ridge=ridge,
        pull=None if like.ridge is None else like.at(theta).pulled,
    )  # fmt: skip
    found = maximise(reduced, np.zeros(len(held) - 1))
    point = like.at(theta + free @ found.point.theta)
    return Maximum(point, found.decrement, found.steps)


def _moved(point: Point, step: np.ndarray, along: np.ndarray, scale: float) -> Point:
    """Return the point ahead; `along` is the change of the linear predictor."""
    return point.like.at(point.theta + scale * step, eta=point.eta + scale * along)


def _climbed(point: Point, step: np.ndarray, along: np.ndarray, scale: float) -> Point | None:
    """Return a point of a larger value along the step; None where rounding hides any."""
    noise = NOISE * (abs(point.plain) + float(np.sqrt(len(point.eta))))
    gain = float(point.score @ step)
    for _ in range(40):
        found = _moved(point, step, along, scale)
        try:
            if found.value >= point.value + 1e-4 * scale * gain - noise:
                return found
        except np.linalg.LinAlgError:
            pass
        scale *= 0.5 if scale < 0.1 else 0.25
    return None
