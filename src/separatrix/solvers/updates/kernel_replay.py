"""Every update of a rule in a kernel's space, as frames: one row each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.solvers.running.drive import Status
from separatrix.solvers.running.threads import one_thread

__all__ = ["KernelFrame", "replay_rule"]


@dataclass(frozen=True, eq=False)
class KernelFrame:
    """One update: the row used, all multipliers, the bias, and how many rows are wrong.

    The score of x is ``sum_i y_i alpha_i K(x_i, x) + bias``.
    """

    update: int
    row: int
    alpha: np.ndarray
    bias: float
    errors: int
    status: Status | None
    machine: int = 0


def replay_rule(method: Any, state: Any, budget: int) -> Iterator[KernelFrame]:
    """Yield the start and then every update of the run that `fit` makes."""
    status = _advanced(method, state, 0)
    yield _frame(state, status)
    while status is None and state.updates < budget:
        status = _advanced(method, state, 1) or _advanced(method, state, 0)
        if status is None and state.updates >= budget:
            status = Status.BUDGET
        yield _frame(state, status)


def _advanced(method: Any, state: Any, budget: int) -> Status | None:
    with one_thread():  # as `fit` does, so that the bits are the same
        status: Status | None = method.advance(state, budget)
    return status


def _frame(state: Any, status: Status | None) -> KernelFrame:
    return KernelFrame(
        update=state.updates,
        row=state.row,
        alpha=state.alpha.copy(),
        bias=float((state.signs * state.alpha).sum()),
        errors=int((state.margins <= 0.0).sum()),
        status=status,
    )
