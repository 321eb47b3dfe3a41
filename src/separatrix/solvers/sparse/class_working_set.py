"""Newton's method on a working set of columns, for multinomial models with columns at zero.

    minimise over W, b    l sum_g sqrt(K p_g) |W_g| + r/2 |W|^2
                          + sum_i c_i (log sum_k exp z_ik - z_iy)

g runs over the columns, or groups of p_g columns; the biases are free. One update looks at all
columns, takes those that are nonzero or nearest to being so, and makes Newton steps on them until
their own gap is small. The dual point of all columns then bounds the optimum, and the sphere around
it proves columns zero (gap-safe rules: Ndiaye, Fercoq, Gramfort, Salmon 2017).

Newton's steps of the sparse multinomial model on a working set of columns.

    min over V, v    1/2 D' H D + G' D + l sum_g sqrt(K p_g) |V_g| + r/2 |V|^2,    D = V - W

H is the curvature of the losses, sum_i c_i (diag p_i - p_i p_i') (x) x_i x_i', with the biases
eliminated. Few weights form its matrix; more weights are taken column after column
(`class_by_columns`). The objective falls in every step (Armijo's rule), but for the last ones,
whose fall is below the rounding of the objective.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.problem.sparse_penalty import SparseSoftmaxProblem
from separatrix.solvers.running.drive import Status, one_thread
from separatrix.solvers.sparse import group_quadratic
from separatrix.solvers.sparse.class_by_columns import minimised
from separatrix.solvers.sparse.class_point import (
    ClassMemory,
    ClassPoint,
    SparseClassState,
    bias_curvature,
    centre_biases,
    differentiate,
    dual_of,
    pulls_of,
)
from separatrix.solvers.sparse.columns import Columns, WorkingSet, advanced, chosen, steps

__all__ = [
    "advance",
    "start",
    "without_dust",
    "work",
]


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
    if first is not None and not state.primal <= np.log(K) * problem.costs.sum():
        return start(problem, tol=tol, max_passes=max_passes)  # no weights at all cost less
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


# ---- Newton's steps of the sparse multinomial model on a working set of columns


_HALVINGS, _ARMIJO = 30, 1e-4
_MOST_UNKNOWN, _MOST_WORK = 600, 1e9
_TRUSTED = 1e-12
_LOOSE, _LEAST, _LITTLE = 0.05, 1e-4, 0.01


class _Model(NamedTuple):
    """The minimum of the model: the weights there, the change of the biases, and the passes."""

    V: np.ndarray
    rise: np.ndarray
    passes: float


def work(state: SparseClassState, places: np.ndarray, problem: SparseSoftmaxProblem) -> None:
    """Take Newton steps on these columns, until their own gap is small beside that of all.

    `problem` may have a larger penalty than that of the state: a stop on the way.
    """
    memory = state.memory
    if not len(places):
        return
    at = memory.columns.numbers[places]
    on_the_way, problem = problem.l1 > state.problem.l1, problem.of_columns(places)
    part = memory.columns.working_set(places)
    (n, m), K = part.shape, problem.n_classes
    by_matrix = m * K <= _MOST_UNKNOWN and n * float(m * K) ** 2 <= _MOST_WORK

    def step(off: float, enough: float) -> tuple[float, float]:
        return _newton_step(state, problem, part, at, by_matrix, (off, _LITTLE * enough))

    steps(state, part, step, lambda: _gap_of(state, problem, part, at), on_the_way, by_matrix)


def _gap_of(
    state: SparseClassState, problem: SparseSoftmaxProblem, part: WorkingSet, at: np.ndarray
) -> tuple[float, float]:
    """Return the gap of the problem that has these columns alone, and its objective."""
    point = state.memory.point
    _, dual = dual_of(problem, point, part.combination(pulls_of(problem, point)))
    value = point.loss + problem.penalty(state.W[at])
    return value - max(dual, 0.0), value


def _newton_step(
    state: SparseClassState,
    problem: SparseSoftmaxProblem,
    part: WorkingSet,
    at: np.ndarray,
    by_matrix: bool,
    precision: tuple[float, float],
) -> tuple[float, float]:
    """Minimise Newton's model and step there; return the share of the promise kept, the passes."""
    point, W = state.memory.point, state.W[at]
    pulls = pulls_of(problem, point)
    slopes, lacking = -part.combination(pulls), -pulls.sum(axis=0)
    if not problem.has_free_bias:
        lacking = np.zeros_like(lacking)
    even = state.memory.floor
    p = (1.0 - even) * point.p + even / problem.n_classes
    if by_matrix:
        found = _by_matrix(problem, part, p, (slopes, lacking), W)
    else:
        off, little = precision
        share = min(_LOOSE, max(_LEAST, off))
        found = _Model(*minimised(problem, part, p, (slopes, lacking), W, share, little))
    step = found.V - W
    gains = part.scores(step)
    # What the smooth part falls by, and the penalty with it, to first order.
    before = problem.penalty(W)
    promised = float(np.vdot(slopes, step) + lacking @ found.rise)
    promised += problem.penalty(found.V) - before
    rounding = _TRUSTED * (point.loss + before)
    if not promised < rounding or not step.any() or not np.isfinite(gains).all():
        return 0.0, found.passes
    return _stepped(state, problem, at, (W, found.V), gains, found.rise, promised), found.passes


def _by_matrix(
    problem: SparseSoftmaxProblem,
    part: WorkingSet,
    p: np.ndarray,
    gradient: tuple[np.ndarray, np.ndarray],
    W: np.ndarray,
) -> _Model:
    """Minimise the model with its matrix."""
    (slopes, lacking), (m, K), costs = gradient, W.shape, problem.costs
    has_bias, mean = problem.has_free_bias, np.zeros(m)
    bends = costs * (1.0 - np.einsum("ik,ik->i", p, p))
    if has_bias and bends.any():
        mean = part.combination(bends) / bends.sum()
    # Centred before it is squared: raw columns far from zero keep their digits.
    block = part.dense() - mean
    H, G = _curvature(block, p, costs), (slopes - np.outer(mean, lacking)).ravel()
    if has_bias:
        inverse = np.linalg.inv(bias_curvature(p, costs))
        beside = _beside_biases(block, p, costs)
        H -= beside @ inverse @ beside.T
        G -= beside @ (inverse @ lacking)
    groups = np.repeat(np.arange(m) if problem.groups is None else problem.groups, K)
    penalties = (problem.l1, problem.ridge)
    H = 0.5 * (H + H.T)
    V = group_quadratic.by_matrix(H, G, W.ravel(), groups, penalties, 1e-6).reshape(m, K)
    if not has_bias:
        return _Model(V, np.zeros(K), 3.0)
    step = V - W
    rise = -inverse @ (lacking + beside.T @ step.ravel())
    return _Model(V, rise - rise.mean() - mean @ step, 3.0)


def _curvature(block: np.ndarray, p: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Return the curvature of the losses in the weights, column after column."""
    m, K = block.shape[1], p.shape[1]
    H = np.empty((m, K, m, K))
    for k in range(K):
        for other in range(k + 1):
            curves = costs * p[:, k] * (float(other == k) - p[:, other])
            H[:, k, :, other] = (block * curves[:, None]).T @ block
            H[:, other, :, k] = H[:, k, :, other].T
    return H.reshape(m * K, m * K)


def _beside_biases(block: np.ndarray, p: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Return the curvature of the losses in a weight and a bias, a column a bias."""
    m, K = block.shape[1], p.shape[1]
    found, weighted = np.empty((m, K, K)), p * costs[:, None]
    for k in range(K):
        found[:, k] = -block.T @ (weighted[:, [k]] * p)
        found[:, k, k] += block.T @ weighted[:, k]
    return found.reshape(m * K, K)


def _stepped(
    state: SparseClassState,
    problem: SparseSoftmaxProblem,
    at: np.ndarray,
    ends: tuple[np.ndarray, np.ndarray],
    gains: np.ndarray,
    rise: np.ndarray,
    promised: float,
) -> float:
    """Take the whole step, or a half, or a quarter; return the share of the fall that was promised.

    An exact model would keep half of it, since the promise is to first order.
    """
    point = state.memory.point
    scores, bias, loss, before = point.scores, state.bias, point.loss, problem.penalty(ends[0])
    # So small a fall is lost in the rounding of the objective: the model knows better.
    trusted = abs(promised) <= _TRUSTED * (loss + before)
    size = 1.0
    for _ in range(_HALVINGS):
        there = ends[1] if size == 1.0 else ends[0] + size * (ends[1] - ends[0])
        point.scores = scores + size * gains
        differentiate(problem, point, bias + size * rise)
        fall = loss - point.loss + before - problem.penalty(there)
        if trusted or fall >= -_ARMIJO * size * promised:
            state.W[at], state.bias = there, bias + size * rise
            return 1.0 if trusted else fall / -promised
        size *= 0.5
    point.scores = scores
    differentiate(problem, point, bias)
    return 0.0
