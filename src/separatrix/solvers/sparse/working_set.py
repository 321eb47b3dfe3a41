"""Newton's method on a working set of columns, for weights that are mostly zero.

    minimise over w, b    l |w|_1 + r/2 |w|^2 + sum_i c_i loss(y_i (w.x_i + b))

loss: squared hinge or logistic; b is free. One update looks at all columns, takes those that are
nonzero or nearest to being so, and makes Newton steps on them until their own gap is small. The
dual point of all columns then bounds the optimum, and the sphere around it proves columns zero
(gap-safe rules: Ndiaye, Fercoq, Gramfort, Salmon 2017): these are not looked at again.

Nothing depends on the scale of a column but the penalty, which is that of the columns as given.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.problem.sparse_penalty import SparseProblem
from separatrix.solvers.linear.claims import is_solved_at_once
from separatrix.solvers.running.drive import Status
from separatrix.solvers.running.threads import one_thread
from separatrix.solvers.sparse.columns import Columns
from separatrix.solvers.sparse.course import advanced, chosen
from separatrix.solvers.sparse.newton_steps import work
from separatrix.solvers.sparse.point import (
    Memory,
    Point,
    SparseState,
    balanced_shares,
    centre_bias,
    dual_of,
    penalty_of,
    radius,
)

__all__ = ["advance", "start", "without_dust"]

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
