"""Newton's method on a working set of columns, for multinomial models with columns at zero.

    minimise over W, b    l sum_g sqrt(K p_g) |W_g| + r/2 |W|^2
                          + sum_i c_i (log sum_k exp z_ik - z_iy)

g runs over the columns, or groups of p_g columns; the biases are free. One update looks at all
columns, takes those that are nonzero or nearest to being so, and makes Newton steps on them until
their own gap is small. The dual point of all columns then bounds the optimum, and the sphere around
it proves columns zero (gap-safe rules: Ndiaye, Fercoq, Gramfort, Salmon 2017).
"""

from __future__ import annotations

import numpy as np

from separatrix.problem.sparse_penalty import SparseSoftmaxProblem
from separatrix.solvers.running.drive import Status
from separatrix.solvers.running.threads import one_thread
from separatrix.solvers.sparse.class_point import (
    ClassMemory,
    ClassPoint,
    SparseClassState,
    centre_biases,
    dual_of,
    pulls_of,
)
from separatrix.solvers.sparse.class_steps import work
from separatrix.solvers.sparse.columns import Columns
from separatrix.solvers.sparse.course import advanced, chosen

__all__ = ["advance", "start", "without_dust"]

_DUST = 1e-12


def start(
    problem: SparseSoftmaxProblem,
    *,
    tol: float,
    first: np.ndarray | None = None,
    seed: int = 0,
    max_passes: float = np.inf,
) -> SparseClassState:
    """Lay out a run from weights, a row [b, w] a class. Nothing is random: `seed` is ignored."""
    (n, d), K = problem.X.shape, problem.n_classes
    W, bias = np.zeros((d, K)), np.zeros(K)
    if first is not None and np.isfinite(first).all():
        W[:], bias[:] = first[:, 1:].T, first[:, 0]
        W -= W.mean(axis=1)[:, None]  # which changes no probability, and costs least
    if not problem.fit_intercept:
        bias[:] = 0.0
    columns = Columns(problem)
    point = ClassPoint(np.zeros((n, K)), np.zeros((n, K)), np.full(K, np.nan))
    with np.errstate(over="ignore", invalid="ignore"):
        spreads = columns.spreads(problem.costs, problem.has_free_bias) ** 2
        if W.any():
            point.scores = np.asarray(problem.X @ W, dtype=np.float64)
    memory = ClassMemory(columns, point, spreads, problem, max_passes=max_passes)
    state = SparseClassState(problem, tol, W, bias, memory, passes=2.0)
    with one_thread(), np.errstate(over="ignore", under="ignore", invalid="ignore"):
        _look(state)
    return state


def advance(state: SparseClassState, budget: int) -> Status | None:
    """Make at most `budget` updates."""
    return advanced(state, budget, _work, _look)


def _work(state: SparseClassState, problem: SparseSoftmaxProblem) -> None:
    """Take Newton steps on the columns that are nonzero, beyond their bound or nearest to it."""
    memory = state.memory
    room = problem.l1 - problem.sizes(memory.u)
    nonzero = problem.sizes(state.W[memory.columns.numbers]) != 0.0
    spreads = np.sqrt(problem.means(memory.spreads))
    work(state, chosen(room, spreads, nonzero, memory.stalls, problem.groups), problem)


def without_dust(state: SparseClassState) -> np.ndarray:
    """Return one row [b, w] a class, weights at zero that move no score by more than rounding."""
    weights, memory = state.weights, state.memory
    places = memory.columns.numbers
    lengths = np.sqrt(memory.open.means(memory.spreads))
    with np.errstate(over="ignore", invalid="ignore"):  # a length may have overflowed
        moved = memory.open.sizes(state.W[places]) * lengths
    weights[:, 1 + places[moved <= _DUST * float(moved.max(initial=0.0))]] = 0.0
    return weights


# ---- the point as all columns see it


def _look(state: SparseClassState) -> None:
    """Bound the optimum from both sides, and leave out the columns that are proved zero."""
    problem, memory = state.problem, state.memory
    centre_biases(state)
    point = memory.point
    state.primal = point.loss + problem.penalty(state.W)
    U = memory.columns.combination(pulls_of(problem, point))
    state.passes += memory.columns.entries_now / max(memory.columns.entries, 1.0)
    state.share, dual = dual_of(memory.open, point, U)
    memory.u, state.dual = U, max(dual, 0.0)
    _screen(state, state.share * U, state.primal - dual)


def _screen(state: SparseClassState, U: np.ndarray, gap: float) -> None:
    """Leave out columns that the sphere around the dual point proves zero, if they are many."""
    memory, problem = state.memory, state.problem
    # sum_i c_i |q_i - q_i*|^2 is at most the gap; a size is a root mean square over K classes.
    spreads = memory.open.means(memory.spreads) / problem.n_classes
    reach = memory.open.sizes(U) + np.sqrt(max(gap, 0.0) * spreads)
    open_ = reach >= problem.l1 * (1.0 - 1e-9)
    open_ |= memory.open.sizes(state.W[memory.columns.numbers]) != 0.0
    if 2 * np.count_nonzero(open_) > len(open_):
        return
    kept = np.flatnonzero(open_)
    memory.columns.keep(kept)
    memory.open = memory.open.of_columns(kept)
    memory.spreads, memory.u = memory.spreads[kept], memory.u[kept]
