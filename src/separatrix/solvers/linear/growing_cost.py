"""The hard margin on wide sparse data: soft margins of growing cost.

    min over w, b   1/2 |w|^2   subject to   y_i (w.x_i + b) >= 1

Once the cost of a row exceeds every multiplier of the hard margin, the soft margin is the hard
one. So the soft model is solved by dual coordinate descent for a cost, then for ten times that
cost from where it stood, until w, scaled to a least margin of 1, meets the dual bound.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear import dual_coordinate
from separatrix.solvers.linear.claims import MachineState, balanced, hard_claim
from separatrix.solvers.running.drive import Status

_GROWTH = 10.0
_LARGEST = 1e12
_FIRST = 1e-290, 1e290  # the first cost: the largest that follows is finite


@dataclass
class Memory:
    """The soft model being solved, its cost, and how it was started."""

    soft: MachineState
    cost: float
    first_cost: float
    seed: int
    max_passes: float
    earlier_updates: int = 0
    earlier_passes: float = 0.0


def start(
    problem: MachineProblem,
    *,
    tol: float,
    first: tuple[np.ndarray | None, np.ndarray | None] | None = None,
    seed: int = 0,
    max_passes: float = np.inf,
) -> MachineState:
    """Begin at the cost at which rows of the mean length reach the margin alone."""
    entries = problem.X.data if hasattr(problem.X, "indptr") else problem.X
    with np.errstate(over="ignore", divide="ignore"):
        mean_square = np.square(entries, dtype=np.float64).sum() / max(1, problem.X.shape[0])
        cost = float(np.clip(1.0 / mean_square, *_FIRST)) if mean_square > 0.0 else 1.0
    soft = dual_coordinate.start(
        _soft(problem, cost), tol=tol, first=first, seed=seed, max_passes=max_passes
    )
    n, d = problem.X.shape
    state = MachineState(problem, tol, np.zeros(d + 1), np.zeros(n))
    state.memory = Memory(soft, cost, cost, seed, max_passes)
    return state


def _soft(problem: MachineProblem, cost: float) -> MachineProblem:
    return replace(problem, costs=np.where(problem.costs > 0.0, cost, 0.0))


def advance(state: MachineState, budget: int) -> Status | None:
    """Make at most `budget` passes."""
    memory: Memory = state.memory
    while True:
        if state.gap <= state.tol:
            return Status.OPTIMAL
        soft = memory.soft
        soft.tol = min(soft.tol, state.tol)
        before = soft.updates
        status = dual_coordinate.advance(soft, min(budget, 1))
        budget -= soft.updates - before
        state.updates = memory.earlier_updates + soft.updates
        state.passes = memory.earlier_passes + soft.passes
        if status is Status.OPTIMAL:
            _look(state)
            if state.gap <= state.tol:
                return Status.OPTIMAL
            if not _grow(state):
                spent = state.passes >= memory.max_passes
                return Status.BUDGET if spent else Status.UNPROVED
        elif status is not None:
            return status
        if budget <= 0:
            return None


def _look(state: MachineState) -> None:
    """Keep what the soft model says of the hard one."""
    problem, soft = state.problem, state.memory.soft
    w = hard_claim(problem, soft.w, problem.X @ soft.w[1:])
    primal = problem.primal(w)
    if primal < state.primal:
        state.w, state.primal = w, primal
    alpha = soft.alpha
    if problem.has_free_bias:
        alpha = balanced(alpha, problem.signs, problem.upper)
    dual = problem.dual(alpha)
    if dual > state.dual:
        state.alpha, state.dual = alpha, dual


def _grow(state: MachineState) -> bool:
    """Raise the cost if a row stands at it, and ask for more accuracy if none does."""
    memory: Memory = state.memory
    soft = memory.soft
    memory.earlier_updates, memory.earlier_passes = state.updates, state.passes
    tol = soft.tol
    if (soft.alpha >= memory.cost).any():
        memory.cost *= _GROWTH
    else:
        tol *= 0.1
    if (
        memory.cost > _LARGEST * memory.first_cost
        or tol < 1e-14
        or state.passes >= memory.max_passes
    ):
        return False
    memory.soft = dual_coordinate.start(
        _soft(state.problem, memory.cost),
        tol=tol,
        first=(soft.w, soft.alpha),
        seed=memory.seed,
        max_passes=memory.max_passes - state.passes,
    )
    return True
