"""Every pair step of a kernel machine, as frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.problem.machine import KernelMachine
from separatrix.solvers.kernels import chunking
from separatrix.solvers.running.drive import NO_LIMIT, Status

__all__ = ["PairFrame", "replay_pairs"]


@dataclass(frozen=True, eq=False)
class PairFrame:
    """One pair step: the rows, their multipliers before and after, and where the run then stands.

    `pair` is (-1, -1) before the first step. `alpha` are all multipliers, `errors` the rows on the
    wrong side, and `gap` the relative difference of the objectives, in floating point.
    """

    update: int
    pair: tuple[int, int]
    before: tuple[float, float]
    after: tuple[float, float]
    alpha: np.ndarray
    bias: float
    errors: int
    gap: float
    status: Status | None
    machine: int = 0


def replay_pairs(
    machine: KernelMachine, kernel_rows: Any, tol: float, budget: int = NO_LIMIT
) -> Iterator[PairFrame]:
    """Yield the start and then every step."""
    state = chunking.start(machine, kernel_rows=kernel_rows, tol=tol)
    status = chunking.advance(state, 0)
    yield _frame(state, status)
    while status is None and state.updates < budget:
        status = chunking.advance(state, 1) or chunking.advance(state, 0)
        if status is None and state.updates >= budget:
            status = Status.BUDGET
        yield _frame(state, status)


def _frame(state: chunking.State, status: Status | None) -> PairFrame:
    machine = state.machine
    alpha, f = chunking.current(state)
    low, high = chunking.violation(machine, alpha, f)
    bias = -0.5 * (low + high) if np.isfinite(low + high) else 0.0
    primal, dual = machine.primal(alpha, f, bias), machine.dual(alpha, f)
    first, second = pair = chunking.pair_of(state)
    moved = state.updates > 0
    wrong = machine.signs * (f + machine.signs + bias) <= 0.0
    return PairFrame(
        update=state.updates,
        pair=pair,
        before=(float(state.before[0]), float(state.before[1])),
        after=(float(alpha[first]), float(alpha[second])) if moved else (0.0, 0.0),
        alpha=alpha,
        bias=bias,
        errors=int((wrong & (machine.costs > 0.0)).sum()),
        gap=(primal - dual) / primal if 0.0 < primal < np.inf else float(primal > 0.0),
        status=status,
    )
