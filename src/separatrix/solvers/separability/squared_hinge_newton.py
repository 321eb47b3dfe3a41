"""The squared hinge without a penalty: the engine that proposes separators and witnesses.

    minimise over w    1/2 sum_i max(0, 1 - z_i.w)^2

The minimum is always attained (a convex piecewise quadratic; the logistic one is not). There,
``lambda_i = max(0, 1 - z_i.w)`` satisfies ``sum_i lambda_i z_i = 0``: if lambda is 0 the rows are
separated, otherwise it is a Gordan witness, and it vanishes on every row that some direction can
put strictly off the boundary. (Mangasarian 2002, finite Newton.) Floats only: proposals, no proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["minimise"]

DAMPING = 1e-12
SEPARATED_BY = 1e-10
LARGE = 100_000  # entries


@dataclass(frozen=True)
class Minimum:
    """Where the engine stopped: weights, margins and multipliers of the rows it was given."""

    w: np.ndarray
    margins: np.ndarray
    multipliers: np.ndarray
    separated: bool
    iterations: int


class _Gram:
    """The Gram matrix of the active rows, kept up to date where few of many rows change."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows
        self.active = np.zeros(len(rows), dtype=bool)
        self.matrix = np.zeros((0, 0))

    def of(self, active: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return ``chosen.T @ chosen``, where chosen are the active rows."""
        if self.rows.size < LARGE:
            return chosen.T @ chosen
        changed = np.flatnonzero(active != self.active)
        if not self.matrix.size or 2 * len(changed) > len(chosen):
            self.matrix = chosen.T @ chosen
        else:
            came, left = (self.rows[changed[active[changed] == now]] for now in (True, False))
            self.matrix += came.T @ came - left.T @ left
        self.active = active
        return self.matrix.copy()


def _direction(gram: _Gram, mask: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Return the Newton step; through the smaller of the two Gram matrices."""
    active, slack = gram.rows[mask], slack[mask]
    many, width = active.shape
    if many >= width:
        matrix = gram.of(mask, active)
        right = active.T @ slack
    else:
        matrix = active @ active.T
        right = slack
    diagonal = np.einsum("ii->i", matrix)
    floor = np.finfo(float).tiny if not diagonal.size else diagonal.max() * 1e-300
    diagonal += DAMPING * diagonal + floor
    try:
        step = _cholesky_solve(matrix, right)
    except np.linalg.LinAlgError:
        step = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return step if many >= width else active.T @ step


def _cholesky_solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    from scipy.linalg.lapack import dposv

    _, solution, failed = dposv(matrix, right)
    if failed:
        raise np.linalg.LinAlgError("not positive definite")
    return np.asarray(solution)


def _best_step(slack: np.ndarray, gain: np.ndarray) -> float:
    """Minimise sum max(0, slack - t gain)^2 over t >= 0: the slope is piecewise linear in t."""
    moving = gain != 0.0
    slack, gain = slack[moving], gain[moving]
    active = (slack > 0.0) | ((slack == 0.0) & (gain < 0.0))
    turn = slack / gain
    leaving = active & (gain > 0.0)
    entering = ~active & (gain < 0.0)
    changing = leaving | entering
    order = np.flatnonzero(changing)
    order = order[np.argsort(turn[order], kind="stable")]
    change = np.where(leaving[order], -1.0, 1.0)
    # slope(t) = t * curvature - pull
    pull = np.cumsum(np.append((gain * slack)[active].sum(), change * (gain * slack)[order]))
    curvature = np.cumsum(np.append((gain * gain)[active].sum(), change * (gain * gain)[order]))
    ends = turn[order]
    reached = ends * curvature[:-1] - pull[:-1] >= 0.0
    at = int(np.argmax(reached)) if reached.any() else len(ends)
    if curvature[at] <= 0.0:
        return float(ends[at - 1]) if at else 1.0
    step = pull[at] / curvature[at]
    low = float(ends[at - 1]) if at else 0.0
    return float(max(low, step if at == len(ends) else min(step, ends[at])))


def minimise(rows: np.ndarray, w: np.ndarray | None = None, iterations: int = 100) -> Minimum:
    """Minimise the squared hinge over the rows; stop as soon as w separates them.

    >>> minimise(np.array([[1.0, 2.0], [-1.0, 1.0]])).separated
    True
    >>> found = minimise(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]))
    >>> (found.multipliers > 0).tolist()
    [True, True, False]
    """
    w = np.zeros(rows.shape[1]) if w is None else w.copy()
    margins = rows @ w
    with np.errstate(all="ignore"):  # whatever overflows is no proposal
        return _newton(rows, w, margins, iterations)


def _newton(rows: np.ndarray, w: np.ndarray, margins: np.ndarray, iterations: int) -> Minimum:
    best, stalled, gram = np.inf, 0, _Gram(rows)
    for done in range(iterations):
        if _is_separated(w, margins):
            return Minimum(w, margins, np.zeros(len(rows)), True, done)
        slack = 1.0 - margins
        active = slack > 0.0
        value = float(slack[active] @ slack[active])
        stalled = stalled + 1 if value >= best * (1.0 - 1e-13) else 0
        best = min(best, value)
        if stalled >= 2:
            break
        direction = _direction(gram, active, slack)
        gain = rows @ direction
        step = _best_step(slack, gain)
        if not np.isfinite(step) or not np.isfinite(gain).all():
            break
        w = w + step * direction
        margins = rows @ w
    return Minimum(w, margins, np.maximum(0.0, 1.0 - margins), False, done + 1)


def _is_separated(w: np.ndarray, margins: np.ndarray) -> bool:
    low = margins.min()
    return bool(low > 0.0 and low > SEPARATED_BY * min(1.0, np.abs(w).max()))
