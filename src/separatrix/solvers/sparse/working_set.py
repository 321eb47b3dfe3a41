"""Newton's method on a working set of columns, for weights that are mostly zero.

    minimise over w, b    l |w|_1 + r/2 |w|^2 + sum_i c_i loss(y_i (w.x_i + b))

loss: squared hinge or logistic; b is free. One update looks at all columns, takes those that are
nonzero or nearest to being so, and makes Newton steps on them until their own gap is small. The
dual point of all columns then bounds the optimum, and the sphere around it proves columns zero
(gap-safe rules: Ndiaye, Fercoq, Gramfort, Salmon 2017): these are not looked at again.

Nothing depends on the scale of a column but the penalty, which is that of the columns as given.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.problem.losses import LOGISTIC, SQUARED_HINGE
from separatrix.problem.sparse_penalty import SparseProblem
from separatrix.solvers.linear.contract import MachineState, is_solved_at_once
from separatrix.solvers.linear.row_terms import (
    best_step,
    derivatives,
    gain_of,
    scale_shares,
)
from separatrix.solvers.running.drive import Status
from separatrix.solvers.running.threads import one_thread
from separatrix.solvers.sparse import quadratic
from separatrix.solvers.sparse.columns import Columns, WorkingSet

__all__ = ["advance", "radius", "start", "without_dust"]

_FIRST_SET = 20
_NEWTON_STEPS = 20
_HALVINGS = 30
_ARMIJO = 1e-4
_LARGEST_MATRIX = 1500
# One product of two entries in a matrix costs this share of one in a pass of coordinates.
_PRODUCT = 0.15
_EPOCHS = 30
_TRUSTED = 1e-12
_FLOOR, _SHORT = 1e-6, 0.1  # of the largest curvature; of a whole step
_DUST = 1e-12
_STALLS, _SLOW, _NEARER, _MARKEDLY = 6, 3, 0.95, 0.01
_ENOUGH_BIAS = 1e-13  # of all dual variables together


@dataclass
class Point:
    """A point (w, b) as its rows see it."""

    scores: np.ndarray  # w.x_i, without b
    shares: np.ndarray  # y_i alpha_i
    bends: np.ndarray  # c_i loss''
    loss: float = np.inf
    plus: float = 0.0  # the sum of alpha over the positive rows, and over the negative ones
    minus: float = 0.0


@dataclass
class Memory:
    """What a run keeps beside its claims."""

    columns: Columns
    point: Point
    spreads: np.ndarray
    u: np.ndarray = field(default_factory=lambda: np.zeros(0))  # of the dual point, its columns
    size: int = _FIRST_SET
    floor: float = _FLOOR  # of the curvature of a row, as a share of its largest
    stalls: int = 0
    gap: float = np.inf  # the least so far
    solved: bool = False
    max_passes: float = np.inf


def start(
    problem: SparseProblem,
    *,
    tol: float,
    first: Any = None,
    seed: int = 0,
    max_passes: float = np.inf,
) -> MachineState:
    """Lay out a run. Nothing is random here: `seed` is ignored."""
    n, d = problem.X.shape
    w = np.zeros(d + 1)
    if first is not None and first[0] is not None and np.isfinite(first[0]).all():
        w[:] = first[0]
    if not problem.rows.fit_intercept:
        w[0] = 0.0
    state = MachineState(problem, tol, w, np.zeros(n))
    columns = Columns(problem.rows)
    point = Point(np.zeros(n), np.zeros(n), np.zeros(n))
    with np.errstate(over="ignore", invalid="ignore"):
        spreads = columns.spreads(problem.costs, problem.has_free_bias)
        if w[1:].any():
            point.scores = np.asarray(problem.X @ w[1:], dtype=np.float64)
    state.memory = Memory(columns, point, spreads, max_passes=max_passes)
    state.passes = 2.0
    if is_solved_at_once(state):
        state.w[1:] = 0.0
        state.memory.solved = True
        return state
    support = int(np.count_nonzero(w[1:]))
    state.memory.size = max(_FIRST_SET, 2 * support)
    with one_thread():
        _look(state)
    return state


def advance(state: MachineState, budget: int) -> Status | None:
    """Make at most `budget` updates."""
    with one_thread(), np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for _ in range(budget):
            ended = _outcome(state)
            if ended is not None:
                return ended
            _update(state)
        return _outcome(state)


def _outcome(state: MachineState) -> Status | None:
    memory = state.memory
    if memory.solved or state.gap <= state.tol:
        return Status.OPTIMAL
    if memory.stalls >= _STALLS:
        return Status.UNPROVED
    return Status.BUDGET if state.passes >= memory.max_passes else None


def _update(state: MachineState) -> None:
    """Choose a working set, take Newton steps on it, and look at all columns again."""
    memory, before = state.memory, state.primal
    places = _chosen(state)
    _work(state, places)
    state.updates += 1
    _look(state)
    fallen = state.primal < before * (1.0 - _MARKEDLY * state.tol)
    memory.stalls = 0 if fallen or state.gap < _NEARER * memory.gap else memory.stalls + 1
    memory.gap = min(memory.gap, state.gap)
    memory.size = 2 * max(memory.size // 2, int(np.count_nonzero(state.w[1:]))) + (
        memory.size if memory.stalls else 0
    )


def without_dust(state: MachineState) -> np.ndarray:
    """Return the weights, those at zero that move no score by more than rounding does."""
    w, memory = state.w.copy(), state.memory
    if memory.solved:
        return w
    places = 1 + memory.columns.numbers
    moved = abs(w[places]) * memory.spreads
    w[places[moved <= _DUST * float(moved.max(initial=0.0))]] = 0.0
    return w


# ---- the point as all columns see it


def _differentiate(problem: SparseProblem, point: Point, bias: float) -> None:
    margins = problem.signs * (point.scores + bias)
    point.loss, point.plus, point.minus = derivatives(
        problem.loss, margins, problem.signs, problem.costs, point.shares, point.bends
    )


def _centre_bias(state: MachineState) -> None:
    """Take the best b for these weights."""
    problem, point = state.problem, state.memory.point
    if not problem.has_free_bias:
        _differentiate(problem, point, 0.0)
        return
    _differentiate(problem, point, float(state.w[0]))
    total = point.plus + point.minus
    if abs(point.plus - point.minus) <= _ENOUGH_BIAS * total:
        return
    margins = problem.signs * (point.scores + state.w[0])
    step, _ = best_step(
        problem.loss, margins, problem.signs, problem.costs, 0.0, 0.0, 0.0, _ENOUGH_BIAS * total
    )
    state.w[0] += step
    _differentiate(problem, point, float(state.w[0]))


def _look(state: MachineState) -> None:
    """Bound the optimum from both sides, and leave out the columns that are proved zero."""
    problem, memory = state.problem, state.memory
    _centre_bias(state)
    point = memory.point
    state.primal = point.loss + _penalty(problem, state.w[1:])
    shares = _balanced(problem, point)
    u = memory.columns.combination(shares)
    state.passes += memory.columns.entries_now / max(memory.columns.entries, 1.0)
    share, dual = dual_of(problem, shares, u)
    memory.u = u
    if dual > state.dual or not state.alpha.any():
        state.dual, state.alpha = max(dual, 0.0), share * abs(shares)
    _screen(state, share * u, state.primal - dual)


def _penalty(problem: SparseProblem, w: np.ndarray) -> float:
    return float(problem.l1 * abs(w).sum() + 0.5 * problem.ridge * (w @ w))


def _balanced(problem: SparseProblem, point: Point) -> np.ndarray:
    """Return y alpha, the heavier class lowered to the weight of the other."""
    shares = point.shares.copy()
    if problem.has_free_bias and min(point.plus, point.minus) > 0.0:
        least = min(point.plus, point.minus)
        scale_shares(shares, least / point.plus, least / point.minus)
    return shares


def dual_of(problem: SparseProblem, shares: np.ndarray, u: np.ndarray) -> tuple[float, float]:
    """Return by what share the dual point is made feasible, or better; and the bound it gives."""
    share = problem.feasible_share(u)
    loss, costs = problem.loss, problem.costs
    if loss == SQUARED_HINGE:
        # The gain is a parabola in the share: its peak may be below 1, or above.
        gain = gain_of(loss, shares, costs, 1.0, 1.0)
        total = float(abs(shares).sum())
        spent = total - gain
        largest = float(abs(u).max(initial=0.0))
        limit = problem.l1 / largest if largest > 0.0 else np.inf
        if spent > 0.0:
            share = min(limit, 0.5 * total / spent)
    best = gain_of(loss, shares, costs, share, share)
    if problem.ridge > 0.0:
        if loss == SQUARED_HINGE and share > 1.0:
            best -= problem.excess(share * u)
        whole = gain_of(loss, shares, costs, 1.0, 1.0) - problem.excess(u)
        if whole > best:
            return 1.0, whole
    return share, best


def radius(loss: int, gap: float) -> float:
    """Return how far from the best dual point one with this gap can be, rows weighted by 1/c."""
    return float(np.sqrt(max(gap, 0.0) * (0.5 if loss == LOGISTIC else 4.0)))


def _screen(state: MachineState, u: np.ndarray, gap: float) -> None:
    """Leave out columns that the sphere around the dual point proves zero, if they are many."""
    memory, problem = state.memory, state.problem
    reach = abs(u) + radius(problem.loss, gap) * memory.spreads
    open_ = reach >= problem.l1 * (1.0 - 1e-9)
    numbers = memory.columns.numbers
    open_ |= state.w[1 + numbers] != 0.0
    if 2 * np.count_nonzero(open_) > len(open_):
        return
    kept = np.flatnonzero(open_)
    memory.columns.keep(kept)
    memory.spreads, memory.u = memory.spreads[kept], memory.u[kept]


# ---- the working set


def _chosen(state: MachineState) -> np.ndarray:
    """Return the places of the columns that are nonzero or nearest to their bound."""
    memory, problem = state.memory, state.problem
    numbers = memory.columns.numbers
    with np.errstate(divide="ignore", invalid="ignore"):
        room = (problem.l1 - abs(memory.u)) / memory.spreads
    room[memory.spreads == 0.0] = np.inf
    nonzero = state.w[1 + numbers] != 0.0
    room[nonzero] = -np.inf
    size = min(max(memory.size, _FIRST_SET), len(numbers))
    if size >= len(numbers):
        return np.arange(len(numbers))
    chosen = np.argpartition(room, size - 1)[:size]
    chosen = chosen[room[chosen] < np.inf]
    return np.sort(chosen)


def _work(state: MachineState, places: np.ndarray) -> None:
    """Take Newton steps on these columns, until their own gap is small beside that of all."""
    memory, problem = state.memory, state.problem
    if not len(places):
        return
    at = 1 + memory.columns.numbers[places]
    part = memory.columns.working_set(places)
    outer = max(state.primal - state.dual, 0.0)
    cost = part.entries / max(memory.columns.entries, 1.0)
    enough = max(0.3 * outer, 0.3 * state.tol * state.primal)
    enough = min(enough, 0.1 * outer)
    enough = max(enough, 0.2 * state.tol * state.primal)
    passes = 0.0
    by_matrix = (
        len(places) <= _LARGEST_MATRIX and _PRODUCT * part.products <= _EPOCHS * 2 * part.entries
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
            memory.floor = max(_FLOOR, 0.1 * memory.floor)
        gap = _gap_of(state, part, at)
        if gap <= enough or state.passes + passes >= memory.max_passes:
            break
        slow = slow + 1 if gap > 0.9 * last else 0
        last = min(gap, last)
        if slow == _SLOW:
            break
    state.passes += passes


def _gap_of(state: MachineState, part: WorkingSet, at: np.ndarray) -> float:
    """Return the gap of the problem that has these columns alone."""
    problem, point = state.problem, state.memory.point
    shares = _balanced(problem, point)
    _, dual = dual_of(problem, shares, part.combination(shares))
    return point.loss + _penalty(problem, state.w[at]) - max(dual, 0.0)


def _newton_step(state: MachineState, part: WorkingSet, at: np.ndarray, by_matrix: bool) -> float:
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
        v = quadratic.by_columns(
            columns, bends, slopes, w, penalties, has_bias, 0.02, _EPOCHS
        )
    step = v - w
    gains = part.scores(step)
    rise = lift - float(bends @ gains) / total if has_bias and total > 0.0 else 0.0
    # What the smooth part falls by, and the penalty with it, to first order.
    before = _penalty(problem, w)
    raw = -part.combination(point.shares)
    promised = float(raw @ step) + lacking * rise + _penalty(problem, v) - before
    rounding = _TRUSTED * (point.loss + before)
    if not promised < rounding or not step.any() or not np.isfinite(gains).all():
        return 0.0
    return _stepped(state, at, (w, v), gains, rise, before, promised)


def _stepped(
    state: MachineState,
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
        _differentiate(problem, point, bias + size * rise)
        fall = loss - point.loss + before - _penalty(problem, there)
        if trusted or fall >= -_ARMIJO * size * promised:
            state.w[at], state.w[0] = there, bias + size * rise
            return size
        size *= 0.5
    point.scores = scores
    _differentiate(problem, point, bias)
    return 0.0


def _as_columns(part: WorkingSet) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the columns as CSC arrays."""
    if part.by_columns is not None:
        return part.by_columns.indptr, part.by_columns.indices, part.by_columns.data
    n, m = part.by_rows.shape
    starts = np.arange(0, n * m + 1, n, dtype=np.int32)
    indices = np.tile(np.arange(n, dtype=np.int32), m)
    return starts, indices, np.ascontiguousarray(part.by_rows.T).ravel()
