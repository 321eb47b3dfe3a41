"""The run of the sparse multinomial solver, and a point (W, b) as its rows see it.

The dual point is the softmax of the weights, whose sums over the rows the best biases make zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.sparse_penalty import SparseSoftmaxProblem
from separatrix.solvers.running.drive import relative_gap
from separatrix.solvers.sparse.columns import Columns

__all__ = [
    "ClassMemory", "ClassPoint", "SparseClassState", "bias_curvature", "centre_biases",
    "differentiate", "dual_of", "pulls_of",
]  # fmt: skip

_ENOUGH_BIAS, _OF_THE_TOLERANCE = 1e-14, 1e-5  # of all costs together
_BIAS_STEPS, _HALVINGS, _LONGEST = 60, 30, 8.0
_HELD = 1e-12  # of the trace, where nothing else holds the biases


@dataclass
class ClassPoint:
    """A point (W, b) as its rows see it."""

    scores: np.ndarray  # x_i.w_k, without b: n x K
    p: np.ndarray  # softmax of the scores with b: n x K
    bias: np.ndarray  # at which p and the loss were found
    loss: float = np.inf


@dataclass
class ClassMemory:
    """What a run keeps beside its claims."""

    columns: Columns
    point: ClassPoint
    spreads: np.ndarray  # of columns that may be nonzero, about their means, squared
    open: SparseSoftmaxProblem  # the problem, its penalty that of the columns that may be nonzero
    u: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # of its columns, by class
    floor: float = 0.0  # the share of even probabilities in the curvature of a row
    stalls: int = 0
    gap: float = np.inf  # the least so far
    primal: float = np.inf  # the least so far
    solved: bool = False
    max_passes: float = np.inf


@dataclass
class SparseClassState:
    """The point of a run, and the two objectives that bracket the optimum."""

    problem: SparseSoftmaxProblem
    tol: float
    W: np.ndarray  # d x K
    bias: np.ndarray
    memory: ClassMemory = field(repr=False)
    primal: float = np.inf
    dual: float = 0.0
    share: float = 1.0  # of the dual point, which makes it feasible, or better
    updates: int = 0
    passes: float = 0.0
    row: int = -1
    rows: None = None
    bound: float = np.inf

    @property
    def weights(self) -> np.ndarray:
        """One row [b, w] a class; the biases, where free, have the mean 0."""
        bias = self.bias - self.bias.mean() if self.problem.has_free_bias else self.bias
        return np.column_stack([bias, self.W.T])

    @property
    def w(self) -> np.ndarray:
        """The weights, class after class, each with its bias first."""
        return self.weights.ravel()

    @property
    def gap(self) -> float:
        """(primal - dual) / primal: 1 at the start, 0 at the optimum."""
        return relative_gap(self.primal, self.dual)


def differentiate(problem: SparseSoftmaxProblem, point: ClassPoint, bias: np.ndarray) -> None:
    """Find loss and probabilities at the scores of the point and this bias."""
    point.bias, point.p = bias.copy(), np.empty_like(point.scores)
    point.loss = _softmax(point.scores, bias, problem.codes, problem.costs, point.p)


@compiled
def _softmax(scores, bias, codes, costs, p):  # type: ignore[no-untyped-def]
    """Write the probabilities; return the loss of all rows."""
    n, K = scores.shape
    total = 0.0
    for i in range(n):
        own, top = scores[i, codes[i]] + bias[codes[i]], -np.inf
        for k in range(K):
            top = max(top, scores[i, k] + bias[k])
        parts, others = 0.0, 0.0
        for k in range(K):
            part = np.exp(scores[i, k] + bias[k] - top)
            p[i, k] = part
            parts += part
            if k != codes[i]:
                others += part
        for k in range(K):
            p[i, k] /= parts
        if costs[i] > 0.0:
            total += costs[i] * (np.log1p(others) if own == top else top - own + np.log(parts))
    return total


def pulls_of(problem: SparseSoftmaxProblem, point: ClassPoint) -> np.ndarray:
    """Return a_ik = c_i (1[k = y_i] - p_ik); those of a row have the sum 0."""
    pulls: np.ndarray = _pulls(point.p, problem.codes, problem.costs)
    return pulls


@compiled
def _pulls(p, codes, costs):  # type: ignore[no-untyped-def]
    n, K = p.shape
    found = np.empty((n, K))
    for i in range(n):
        others = 0.0
        for k in range(K):
            if k != codes[i]:
                found[i, k] = -costs[i] * p[i, k]
                others += costs[i] * p[i, k]
        found[i, codes[i]] = others
    return found


def bias_curvature(p: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Return sum_i c_i (diag p_i - p_i p_i'), with the direction that changes nothing filled in.

    Where every row is sure of a few classes, more directions change nothing: they get a little.
    """
    weighted = p * costs[:, None]
    found = np.diag(weighted.sum(axis=0)) - weighted.T @ p
    trace = max(float(np.trace(found)), 1e-300)
    found += trace / len(found) ** 2
    try:
        np.linalg.inv(found)
    except np.linalg.LinAlgError:
        found += _HELD * trace * np.eye(len(found))
    return np.asarray(found)


def centre_biases(state: SparseClassState) -> None:
    """Take the best b for these weights, by Newton's steps."""
    problem, point = state.problem, state.memory.point
    if not np.array_equal(point.bias, state.bias):
        differentiate(problem, point, state.bias)
    if not problem.has_free_bias:
        return
    total = float(problem.costs.sum())
    enough = total * max(_ENOUGH_BIAS, min(1e-10, _OF_THE_TOLERANCE * state.tol))
    for _ in range(_BIAS_STEPS):
        pull = pulls_of(problem, point).sum(axis=0)
        if not float(abs(pull).max()) > enough or not _bias_step(state, pull):
            return


def _bias_step(state: SparseClassState, pull: np.ndarray) -> bool:
    """Take one step towards the best b; return whether the loss fell, or could not show it."""
    problem, point = state.problem, state.memory.point
    step = np.linalg.solve(bias_curvature(point.p, problem.costs), pull)
    if not np.isfinite(step).all():
        return False
    step *= min(1.0, _LONGEST / max(float(abs(step).max()), 1e-300))
    before, old = point.loss, state.bias
    for _ in range(_HALVINGS):
        differentiate(problem, point, old + step)
        if point.loss <= before * (1.0 + 1e-15):
            state.bias = old + step
            return bool((state.bias != old).any())
        step = 0.5 * step
    differentiate(problem, point, old)
    return False


def dual_of(problem: SparseSoftmaxProblem, point: ClassPoint, U: np.ndarray) -> tuple[float, float]:
    """Return by what share the dual point is made feasible, or better; and the bound it gives."""
    share = problem.feasible_share(U)
    best = float(_gain(point.p, problem.codes, problem.costs, share))
    if problem.ridge > 0.0:
        whole = float(_gain(point.p, problem.codes, problem.costs, 1.0)) - problem.excess(U)
        if whole > best:
            return 1.0, whole
    return share, best


@compiled
def _gain(p, codes, costs, share):  # type: ignore[no-untyped-def]
    """Return sum_i c_i H(t p_i + (1 - t) 1[k = y_i])."""
    n, K = p.shape
    total = 0.0
    for i in range(n):
        if costs[i] > 0.0:
            others, entropy = 0.0, 0.0
            for k in range(K):
                part = share * p[i, k]
                if k != codes[i] and part > 0.0:
                    others += part
                    entropy -= part * np.log(part)
            if others < 1.0:
                entropy -= (1.0 - others) * np.log1p(-others)
            total += costs[i] * entropy
    return total
