"""Newton's steps on a working set: the model minimised, then as far towards it as it holds.

The objective falls in every step (Armijo's rule), but for the last ones, whose fall is below the
rounding of the objective. Where the model promises too much, the curvature of rows gets a floor.
"""

from __future__ import annotations

import numpy as np

from separatrix.problem.losses import LOGISTIC
from separatrix.problem.sparse_penalty import SparseProblem
from separatrix.solvers.sparse import group_quadratic, quadratic
from separatrix.solvers.sparse.by_columns import minimised
from separatrix.solvers.sparse.columns import WorkingSet
from separatrix.solvers.sparse.course import steps
from separatrix.solvers.sparse.point import (
    SparseState,
    balanced_shares,
    differentiate,
    dual_of,
    penalty_of,
)

__all__ = ["work"]

_HALVINGS = 30
_ARMIJO = 1e-4
LARGEST_MATRIX = 1500
_MATRIX = 30.0  # passes over the columns that a matrix may cost
_LOOSE, _LEAST, _FAR, _NEAR = 0.05, 1e-5, 0.1, 0.003
_FEW_EPOCHS, _SOME_EPOCHS, _EPOCHS = 15, 60, 300
_TRUSTED = 1e-12


def work(state: SparseState, places: np.ndarray, problem: SparseProblem) -> None:
    """Take Newton steps on these columns, until their own gap is small beside that of all.

    `problem` may have a larger penalty than that of the state: a stop on the way.
    """
    memory = state.memory
    if not len(places):
        return
    at = 1 + memory.columns.numbers[places]
    on_the_way, problem = problem.l1 > state.problem.l1, problem.of_columns(places)
    part = memory.columns.working_set(places)
    by_matrix = len(places) <= LARGEST_MATRIX and part.matrix_cost <= _MATRIX
    by_matrix |= problem.groups is not None

    def step(off: float, _: float) -> tuple[float, float]:
        return _newton_step(state, problem, part, at, by_matrix, _precision(off))

    steps(state, part, step, lambda: _gap_of(state, problem, part, at), on_the_way, by_matrix)


def _precision(off: float) -> tuple[float, int]:
    """Return to what share of the first round the model is minimised, and the most rounds.

    Far from the optimum the model is not worth much, and its exact minimum is far too far.
    """
    if off > _FAR:
        return _LOOSE, _FEW_EPOCHS
    return max(_LEAST, off * off), _SOME_EPOCHS if off > _NEAR else _EPOCHS


def _gap_of(
    state: SparseState, problem: SparseProblem, part: WorkingSet, at: np.ndarray
) -> tuple[float, float]:
    """Return the gap of the problem that has these columns alone, and its objective."""
    point = state.memory.point
    shares = balanced_shares(problem, point)
    _, dual = dual_of(problem, shares, part.combination(shares))
    value = point.loss + penalty_of(problem, state.w[at])
    return value - max(dual, 0.0), value


def _newton_step(
    state: SparseState,
    problem: SparseProblem,
    part: WorkingSet,
    at: np.ndarray,
    by_matrix: bool,
    precision: tuple[float, int],
) -> tuple[float, float]:
    """Minimise Newton's model and step there; return the share of the promise kept, the passes."""
    point = state.memory.point
    has_bias, w = problem.has_free_bias, state.w[at].copy()
    penalties = (problem.l1, problem.ridge)
    # Far from the boundary a row has no curvature left, and the model would know no bounds.
    most = 0.25 if problem.loss == LOGISTIC else 2.0
    bends = np.maximum(point.bends, (state.memory.floor * most) * problem.costs)
    total = float(bends.sum())
    lacking = (point.minus - point.plus) if has_bias else 0.0  # the slope in b
    lift = -lacking / total if has_bias and total > 0.0 else 0.0
    epochs = 3.0
    if by_matrix:
        H, mean, raw = part.curvature(bends, point.shares, has_bias)
        raw = -raw
        slopes = raw - mean * lacking
        if problem.groups is None:
            v = quadratic.by_matrix(H, slopes, w, penalties, 1e-4)
        else:
            v = group_quadratic.by_matrix(H, slopes, w, problem.groups, penalties, 1e-6)
    else:
        raw = -part.combination(point.shares)
        slopes = raw.copy()
        if has_bias and total > 0.0:
            slopes -= part.combination(bends) * (lacking / total)
        v, epochs = minimised(
            *part.columns,
            bends,
            slopes,
            w,
            *penalties,
            total if has_bias else 0.0,
            *precision,
        )
    step = v - w
    gains = part.scores(step)
    rise = lift - float(bends @ gains) / total if has_bias and total > 0.0 else 0.0
    # What the smooth part falls by, and the penalty with it, to first order.
    before = penalty_of(problem, w)
    promised = float(raw @ step) + lacking * rise + penalty_of(problem, v) - before
    rounding = _TRUSTED * (point.loss + before)
    if not promised < rounding or not step.any() or not np.isfinite(gains).all():
        return 0.0, epochs
    return _stepped(state, problem, at, (w, v), gains, rise, before, promised), epochs


def _stepped(
    state: SparseState,
    problem: SparseProblem,
    at: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    gains: np.ndarray,
    rise: float,
    before: float,
    promised: float,
) -> float:
    """Take the whole step, or a half, or a quarter; return the share of the fall that was promised.

    An exact model would keep half of it, since the promise is to first order.
    """
    point = state.memory.point
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
            return 1.0 if trusted else fall / -promised
        size *= 0.5
    point.scores = scores
    differentiate(problem, point, bias)
    return 0.0
