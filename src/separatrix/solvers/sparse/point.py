"""The run of a sparse solver, and a point (w, b) as its rows and its dual point see it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from separatrix.problem.losses import LOGISTIC, SQUARED_HINGE
from separatrix.problem.sparse_penalty import SparseProblem
from separatrix.solvers.linear.claims import MachineState
from separatrix.solvers.linear.row_terms import best_step, derivatives, gain_of, scale_shares
from separatrix.solvers.sparse.columns import LEAST_FLOOR, Columns

__all__ = [
    "Memory", "Point", "SparseState", "balanced_shares", "centre_bias",
    "differentiate", "dual_of", "penalty_of", "radius",
]  # fmt: skip

_ENOUGH_BIAS, _OF_THE_TOLERANCE = 1e-13, 1e-4  # of all dual variables together


@dataclass
class Point:
    """A point (w, b) as its rows see it."""

    scores: np.ndarray  # w.x_i, without b
    shares: np.ndarray  # y_i alpha_i
    bends: np.ndarray  # c_i loss''
    bias: float = np.nan  # at which the three below, and the two above, were found
    loss: float = np.inf
    plus: float = 0.0  # the sum of alpha over the positive rows, and over the negative ones
    minus: float = 0.0


@dataclass
class Memory:
    """What a run keeps beside its claims."""

    columns: Columns
    point: Point
    spreads: np.ndarray
    open: SparseProblem  # the problem, its penalty that of the columns that may be nonzero
    u: np.ndarray = field(default_factory=lambda: np.zeros(0))  # of the dual point, its columns
    floor: float = LEAST_FLOOR  # of the curvature of a row, as a share of its largest
    stalls: int = 0
    gap: float = np.inf  # the least so far
    primal: float = np.inf  # the least so far
    solved: bool = False
    max_passes: float = np.inf


@dataclass
class SparseState(MachineState):
    """The best claims so far, of a problem with sparse weights."""

    problem: SparseProblem
    memory: Memory = field(repr=False, kw_only=True)


def differentiate(problem: SparseProblem, point: Point, bias: float) -> None:
    """Find the loss, the dual variables and the curvatures at the point's scores and this b."""
    margins = problem.signs * (point.scores + bias)
    point.bias = bias
    point.loss, point.plus, point.minus = derivatives(
        problem.loss, margins, problem.signs, problem.costs, point.shares, point.bends
    )


def centre_bias(state: SparseState) -> None:
    """Take the best b for these weights."""
    problem, point = state.problem, state.memory.point
    bias = float(state.w[0]) if problem.has_free_bias else 0.0
    if point.bias != bias:
        differentiate(problem, point, bias)
    total = point.plus + point.minus
    enough = total * max(_ENOUGH_BIAS, _OF_THE_TOLERANCE * state.tol)
    if not problem.has_free_bias or abs(point.plus - point.minus) <= enough:
        return
    margins = problem.signs * (point.scores + bias)
    step, _ = best_step(problem.loss, margins, problem.signs, problem.costs, 0.0, 0.0, 0.0, enough)
    state.w[0] += step
    differentiate(problem, point, float(state.w[0]))


def penalty_of(problem: SparseProblem, w: np.ndarray) -> float:
    """Return what the weights cost."""
    return float(problem.l1 * problem.sizes(w).sum() + 0.5 * problem.ridge * (w @ w))


def balanced_shares(problem: SparseProblem, point: Point) -> np.ndarray:
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
        largest = float(problem.sizes(u).max(initial=0.0))
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
