"""Newton's method on a working set of columns, for weights that are mostly zero.

    minimise over w, b    l |w|_1 + r/2 |w|^2 + sum_i c_i loss(y_i (w.x_i + b))

loss: squared hinge or logistic; b is free. One update looks at all columns, takes those that are
nonzero or nearest to being so, and makes Newton steps on them until their own gap is small. The
dual point of all columns then bounds the optimum, and the sphere around it proves columns zero
(gap-safe rules: Ndiaye, Fercoq, Gramfort, Salmon 2017): these are not looked at again.

Nothing depends on the scale of a column but the penalty, which is that of the columns as given.

Newton's steps on a working set: the model minimised, then as far towards it as it holds.

The objective falls in every step (Armijo's rule), but for the last ones, whose fall is below the
rounding of the objective. Where the model promises too much, the curvature of rows gets a floor.

Newton's model of the objective on a small working set, with its matrix.

    min over v    1/2 (v - w)' H (v - w) + g' (v - w) + l |v|_1 + r/2 |v|^2

H has the bias eliminated from it. After a few rounds of coordinates the signs are right more often
than not, and a direct solve on the nonzero weights finishes. `by_columns` is for large sets.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.losses import LOGISTIC
from separatrix.problem.sparse_penalty import SparseProblem
from separatrix.solvers.linear.claims import is_solved_at_once
from separatrix.solvers.running.drive import Status, one_thread
from separatrix.solvers.sparse import group_quadratic
from separatrix.solvers.sparse.by_columns import minimised, shrunk
from separatrix.solvers.sparse.columns import Columns, WorkingSet, advanced, chosen, steps
from separatrix.solvers.sparse.point import (
    Memory,
    Point,
    SparseState,
    balanced_shares,
    centre_bias,
    differentiate,
    dual_of,
    penalty_of,
    radius,
)

__all__ = [
    "advance",
    "descended",
    "start",
    "without_dust",
    "work",
]


_DUST = 1e-12


def start(
    problem: SparseProblem,
    *,
    tol: float,
    first: Any = None,
    seed: int = 0,
    max_passes: float = np.inf,
) -> SparseState:
    """Lay out a run. Nothing is random here: `seed` is ignored."""
    n, d = problem.X.shape
    w = np.zeros(d + 1)
    if first is not None and first[0] is not None and np.isfinite(first[0]).all():
        w[:] = first[0]
    if not problem.rows.fit_intercept:
        w[0] = 0.0
    columns = Columns(problem.rows)
    point = Point(np.zeros(n), np.zeros(n), np.zeros(n))
    with np.errstate(over="ignore", invalid="ignore"):
        spreads = columns.spreads(problem.costs, problem.has_free_bias)
        if w[1:].any():
            point.scores = np.asarray(problem.X @ w[1:], dtype=np.float64)
    memory = Memory(columns, point, spreads, problem, max_passes=max_passes)
    state = SparseState(problem, tol, w, np.zeros(n), passes=2.0, memory=memory)
    if is_solved_at_once(state):
        state.w[1:] = 0.0
        state.memory.solved = True
        return state
    with one_thread(), np.errstate(over="ignore", under="ignore", invalid="ignore"):
        _look(state)
    return state


def advance(state: SparseState, budget: int) -> Status | None:
    """Make at most `budget` updates."""
    return advanced(state, budget, _work, _look)


def _work(state: SparseState, problem: SparseProblem) -> None:
    """Take Newton steps on the columns that are nonzero, beyond their bound or nearest to it."""
    memory = state.memory
    room = problem.l1 - problem.sizes(memory.u)
    nonzero = problem.sizes(state.w[1 + memory.columns.numbers]) != 0.0
    spreads = problem.sizes(memory.spreads)
    work(state, chosen(room, spreads, nonzero, memory.stalls, problem.groups), problem)


def without_dust(state: SparseState) -> np.ndarray:
    """Return the weights, those at zero that move no score by more than rounding does."""
    w, memory = state.w.copy(), state.memory
    if memory.solved:
        return w
    places = 1 + memory.columns.numbers
    with np.errstate(over="ignore", invalid="ignore"):
        moved = memory.open.sizes(w[places]) * memory.open.sizes(memory.spreads)
    w[places[moved <= _DUST * float(moved.max(initial=0.0))]] = 0.0
    return w


# ---- the point as all columns see it


def _look(state: SparseState) -> None:
    """Bound the optimum from both sides, and leave out the columns that are proved zero."""
    problem, memory = state.problem, state.memory
    centre_bias(state)
    point = memory.point
    state.primal = point.loss + penalty_of(problem, state.w[1:])
    shares = balanced_shares(problem, point)
    u = memory.columns.combination(shares)
    state.passes += memory.columns.entries_now / max(memory.columns.entries, 1.0)
    share, dual = dual_of(memory.open, shares, u)
    memory.u = u
    if dual > state.dual or not state.alpha.any():
        state.dual, state.alpha = max(dual, 0.0), share * abs(shares)
    _screen(state, share * u, state.primal - dual)


def _screen(state: SparseState, u: np.ndarray, gap: float) -> None:
    """Leave out columns that the sphere around the dual point proves zero, if they are many."""
    memory, problem = state.memory, state.problem
    spreads = memory.open.sizes(memory.spreads)
    reach = memory.open.sizes(u) + radius(problem.loss, gap) * spreads
    open_ = reach >= problem.l1 * (1.0 - 1e-9)
    open_ |= memory.open.sizes(state.w[1 + memory.columns.numbers]) != 0.0
    if 2 * np.count_nonzero(open_) > len(open_):
        return
    kept = np.flatnonzero(open_)
    memory.columns.keep(kept)
    memory.open = memory.open.of_columns(kept)
    memory.spreads, memory.u = memory.spreads[kept], memory.u[kept]


# ---- Newton's steps on a working set: the model minimised, then as far towards it as it holds


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
            v = descended(H, slopes, w, penalties, 1e-4)
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


# ---- Newton's model of the objective on a small working set, with its matrix


_ROUNDS = 40
_INNER_EPOCHS = 5
_MOST_PIVOTS, _PRODUCTS = 50, 5_000_000
_JITTER = 1e-13
_AT_ZERO = 1e-12  # of a weight: what is left of it by rounding


def descended(
    H: np.ndarray, g: np.ndarray, w: np.ndarray, penalties: tuple[float, float], share: float
) -> np.ndarray:
    """Return v; stop where a round lowers the model by less than a share of the first round's."""
    l1, ridge = penalties
    v, slopes = w.copy(), g.copy()
    diagonal = np.ascontiguousarray(np.diag(H)) + ridge
    least = max(float(diagonal.max(initial=0.0)) * 1e-14, 1e-300)
    np.maximum(diagonal, least, out=diagonal)
    first = 0.0
    for _ in range(_ROUNDS):
        # About as long as the direct solve takes, so that neither is waited for.
        epochs = max(_INNER_EPOCHS, np.count_nonzero(v) // 12)
        fall, is_settled = _descend(H, slopes, v, diagonal, l1, ridge, epochs, share * first, share)
        first = max(first, fall)
        if is_settled or not first > 0.0:
            break
        support = max(int(np.count_nonzero(v)), 1)
        for _ in range(min(_MOST_PIVOTS, max(1, _PRODUCTS // support**3))):
            if not _solve_directly(H, slopes, v, diagonal, l1, ridge):
                break
    return v


def _solve_directly(
    H: np.ndarray,
    slopes: np.ndarray,
    v: np.ndarray,
    diagonal: np.ndarray,
    l1: float,
    ridge: float,
) -> bool:
    """Go to the minimum for the signs of v; return whether a weight came to zero before."""
    support = np.flatnonzero(v)
    if not len(support):
        return False
    scale = 1.0 / np.sqrt(diagonal[support])
    matrix = H[np.ix_(support, support)] * np.outer(scale, scale)
    place = np.arange(len(support))
    matrix[place, place] = 1.0 + _JITTER
    kept = v[support]
    slope = slopes[support] + ridge * kept + l1 * np.sign(kept)
    try:
        step = -scale * np.linalg.solve(matrix, scale * slope)
    except np.linalg.LinAlgError:
        return False
    along = float(slope @ step)
    curved = H[:, support] @ step
    bend = float(step @ curved[support]) + ridge * float(step @ step)
    if not (np.isfinite(step).all() and along < 0.0 and bend > 0.0):
        return False
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = np.where(step * kept < 0.0, -kept / step, np.inf)
    nearest = float(crossings.min())
    size = min(-along / bend, nearest)
    v[support] = kept + size * step
    v[support[crossings <= size * (1.0 + _AT_ZERO)]] = 0.0
    slopes += size * curved
    return size == nearest


@compiled
def _descend(H, slopes, v, diagonal, l1, ridge, epochs, enough, share):  # type: ignore[no-untyped-def]
    """Minimise over one weight after another; return how far the model fell, and if to the end."""
    total, first = 0.0, 0.0
    is_full = True
    for _ in range(epochs):
        fall = 0.0
        for j in range(v.shape[0]):
            old, bend = v[j], diagonal[j]
            if not is_full and old == 0.0:
                continue
            target = old - (slopes[j] + ridge * old) / bend
            new = shrunk(target, l1 / bend)
            step = new - old
            if step != 0.0:
                row = H[j]
                for k in range(v.shape[0]):
                    slopes[k] += step * row[k]
                v[j] = new
                fall += 0.5 * bend * step * step
        total += fall
        first = max(first, fall)
        if is_full and fall <= max(enough, share * first):
            return total, True
        is_full = not is_full and fall <= 0.3 * max(enough, share * first)
    return total, False
