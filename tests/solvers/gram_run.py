"""Any solver of the regularised models, through the narrow problem of `gram`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear import gram
from separatrix.solvers.linear.claims import MachineState, hard_claim
from separatrix.solvers.running.drive import Status


@dataclass
class Memory:
    """The narrow run, and who runs it."""

    solver: Any
    inner: MachineState
    span: gram.Span
    last_w: np.ndarray | None = None
    last_alpha: np.ndarray | None = None


def into(span: gram.Span, w: np.ndarray) -> np.ndarray:
    """Return [b, v] of the part of w in the span."""
    shift = float(span.mean @ w[1:]) if span.mean is not None else 0.0
    if span.reflections is None:
        v = span.shares.T @ (span.X @ w[1:])
    else:
        v = gram._reflected(span.reflections, w[1:], "T")[: len(span.reflections[1])]
    return np.concatenate([[w[0] + shift], v])


def start(
    problem: MachineProblem,
    *,
    tol: float,
    solver: Any,
    first: tuple[np.ndarray | None, np.ndarray | None] | None = None,
    seed: int = 0,
    max_passes: float = np.inf,
) -> MachineState:
    """Reduce the problem and lay out a run of `solver`, a solver of machines, on it."""
    narrow, span = gram.reduced(problem)
    if first is not None and first[0] is not None:
        first = (into(span, first[0]), first[1])
    # Half of the tolerance is left for the rounding of the way back.
    inner = solver.start(narrow, tol=0.5 * tol, first=first, seed=seed, max_passes=max_passes)
    n, d = problem.X.shape
    state = MachineState(problem, tol, np.zeros(d + 1), np.zeros(n))
    state.memory = Memory(solver, inner, span)
    _take_over(state)
    return state


def advance(state: MachineState, budget: int) -> Status | None:
    """Make at most `budget` updates of the narrow run."""
    memory: Memory = state.memory
    status: Status | None = memory.solver.advance(memory.inner, budget)
    _take_over(state)
    if state.gap <= state.tol:
        return Status.OPTIMAL
    return Status.BUDGET if status is Status.OPTIMAL else status


def _take_over(state: MachineState) -> None:
    """Bring the best claims of the narrow run back, and evaluate them on the data as given."""
    problem, memory = state.problem, state.memory
    inner = memory.inner
    state.updates, state.passes = inner.updates, inner.passes
    if inner.w is memory.last_w and inner.alpha is memory.last_alpha:
        return
    memory.last_w, memory.last_alpha = inner.w, inner.alpha
    with np.errstate(all="ignore"):
        w = memory.span(inner.w)
        if problem.is_hard:
            w = hard_claim(problem, w, problem.X @ w[1:])
        state.w, state.primal = w, problem.primal(w)
        state.alpha, state.dual = inner.alpha.copy(), problem.dual(inner.alpha)
