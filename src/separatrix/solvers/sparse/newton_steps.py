"""Newton's steps on a working set: the model minimised, then as far towards it as it holds.

The objective falls in every step (Armijo's rule), but for the last ones, whose fall is below the
rounding of the objective. Where the model promises too much, the curvature of rows gets a floor.
"""

from __future__ import annotations

import numpy as np

from separatrix.problem.losses import LOGISTIC
from separatrix.solvers.sparse import quadratic
from separatrix.solvers.sparse.columns import WorkingSet
from separatrix.solvers.sparse.point import (
    LEAST_FLOOR,
    SparseState,
    balanced_shares,
    differentiate,
    dual_of,
    penalty_of,
)

__all__ = ["work"]

_NEWTON_STEPS = 20
_HALVINGS = 30
_ARMIJO = 1e-4
LARGEST_MATRIX = 1500
# One product of two entries in a matrix costs this share of one in a pass of coordinates.
_PRODUCT = 0.15
_EPOCHS = 30
_TRUSTED = 1e-12
_SHORT = 0.1  # of a whole step
_SLOW = 3


def work(state: SparseState, places: np.ndarray) -> None:
    """Take Newton steps on these columns, until their own gap is small beside that of all."""
    memory = state.memory
    if not len(places):
        return
    at = 1 + memory.columns.numbers[places]
    part = memory.columns.working_set(places)
    outer = max(state.primal - state.dual, 0.0)
    cost = part.entries / max(memory.columns.entries, 1.0)
    enough = max(0.1 * outer, 0.2 * state.tol * state.primal)
    passes = 0.0
    by_matrix = (
        len(places) <= LARGEST_MATRIX and _PRODUCT * part.products <= _EPOCHS * 2 * part.entries
    )
    last, slow = np.inf, 0
    for _ in range(_NEWTON_STEPS):
        size = _newton_step(state, part, at, by_matrix)
        passes += cost * (3.0 if by_matrix else 10.0)
        if size < _SHORT and memory.floor < 1.0:
            memory.floor = min(1.0, 100.0 * memory.floor)
            if not size:
                continue
        elif not size:
            break
        elif size == 1.0:
            memory.floor = max(LEAST_FLOOR, 0.1 * memory.floor)
        gap = _gap_of(state, part, at)
        if gap <= enough or state.passes + passes >= memory.max_passes:
            break
        slow = slow + 1 if gap > 0.9 * last else 0
        last = min(gap, last)
        if slow == _SLOW:
            break
    state.passes += passes


def _gap_of(state: SparseState, part: WorkingSet, at: np.ndarray) -> float:
    """Return the gap of the problem that has these columns alone."""
    problem, point = state.problem, state.memory.point
    shares = balanced_shares(problem, point)
    _, dual = dual_of(problem, shares, part.combination(shares))
    return point.loss + penalty_of(problem, state.w[at]) - max(dual, 0.0)


def _newton_step(state: SparseState, part: WorkingSet, at: np.ndarray, by_matrix: bool) -> float:
    """Minimise Newton's model, then step towards its minimum; return the share of the way gone."""
    problem, point = state.problem, state.memory.point
    has_bias, w = problem.has_free_bias, state.w[at].copy()
    penalties = (problem.l1, problem.ridge)
    # Far from the boundary a row has no curvature left, and the model would know no bounds.
    most = 0.25 if problem.loss == LOGISTIC else 2.0
    bends = np.maximum(point.bends, (state.memory.floor * most) * problem.costs)
    total = float(bends.sum())
    lacking = (point.minus - point.plus) if has_bias else 0.0  # the slope in b
    lift = -lacking / total if has_bias and total > 0.0 else 0.0
    slopes = -part.combination(point.shares)
    if by_matrix:
        H, mean = part.curvature(bends, has_bias)
        slopes -= mean * lacking
        v = quadratic.by_matrix(H, slopes, w, penalties, 1e-4)
    else:
        if has_bias and total > 0.0:
            slopes -= part.combination(bends) * (lacking / total)
        columns = _as_columns(part)
        v = quadratic.by_columns(columns, bends, slopes, w, penalties, has_bias, 0.02, _EPOCHS)
    step = v - w
    gains = part.scores(step)
    rise = lift - float(bends @ gains) / total if has_bias and total > 0.0 else 0.0
    # What the smooth part falls by, and the penalty with it, to first order.
    before = penalty_of(problem, w)
    raw = -part.combination(point.shares)
    promised = float(raw @ step) + lacking * rise + penalty_of(problem, v) - before
    rounding = _TRUSTED * (point.loss + before)
    if not promised < rounding or not step.any() or not np.isfinite(gains).all():
        return 0.0
    return _stepped(state, at, (w, v), gains, rise, before, promised)


def _stepped(
    state: SparseState,
    at: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    gains: np.ndarray,
    rise: float,
    before: float,
    promised: float,
) -> float:
    """Take the whole step, or a half, or a quarter, until the objective falls as promised."""
    problem, point = state.problem, state.memory.point
    scores, bias, loss = point.scores, float(state.w[0]), point.loss
    # So small a fall is lost in the rounding of the objective: the model knows better.
    trusted = abs(promised) <= _TRUSTED * (loss + before)
    size = 1.0
    for _ in range(_HALVINGS):
        there = ends[1] if size == 1.0 else ends[0] + size * (ends[1] - ends[0])
        point.scores = scores + size * gains
        differentiate(problem, point, bias + size * rise)
        fall = loss - point.loss + before - penalty_of(problem, there)
        if trusted or fall >= -_ARMIJO * size * promised:
            state.w[at], state.w[0] = there, bias + size * rise
            return size
        size *= 0.5
    point.scores = scores
    differentiate(problem, point, bias)
    return 0.0


def _as_columns(part: WorkingSet) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns as CSC arrays."""
    if part.by_columns is not None:
        return part.by_columns.indptr, part.by_columns.indices, part.by_columns.data
    n, m = part.by_rows.shape
    starts = np.arange(0, n * m + 1, n, dtype=np.int32)
    indices = np.tile(np.arange(n, dtype=np.int32), m)
    return starts, indices, np.ascontiguousarray(part.by_rows.T).ravel()
