"""The perceptron in the space of a kernel.

    find  a >= 0   with   y_i (sum_j a_j y_j K(x_j, x_i) + sum_j a_j y_j) > 0   for every row i

The perceptron's weights are a sum of the rows it stumbled on, so counting how often each was used
(a) is the same as adding the row up: w.z_i = y_i sum_j a_j y_j (K(x_j, x_i) + 1), the 1 being the
bias. Novikoff's bound on the number of mistakes holds in the kernel's space as anywhere.

One update: the next row, in the order of the data, that is not strictly on its own side.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._compiled import compiled
from separatrix.solvers.running.drive import Status, frames, one_thread

__all__ = ["KernelFrame", "State", "advance", "replay_rule", "start"]


@dataclass
class State:
    """A run in progress: counts of mistakes, and every row's score."""

    signs: np.ndarray
    kernel_rows: Any
    alpha: np.ndarray
    scores: np.ndarray
    updates: int = 0
    cursor: int = 0
    visits: int = 0
    row: int = -1

    @property
    def w(self) -> np.ndarray:
        """The counts: `drive` looks whether they are finite."""
        return self.alpha

    @property
    def margins(self) -> np.ndarray:
        """Every w.z_i."""
        return np.asarray(self.signs * self.scores)

    @property
    def passes(self) -> float:
        """How many times all rows were visited."""
        return self.visits / len(self.signs)


def start(signs: np.ndarray, *, kernel_rows: Any) -> State:
    """Begin with no mistakes."""
    n = len(signs)
    return State(signs, kernel_rows, np.zeros(n), np.zeros(n))


def advance(state: State, budget: int) -> Status | None:
    """Make at most `budget` updates."""
    rows = state.kernel_rows
    while True:
        row, made, used, state.cursor, visits = advance_loop(
            rows.store, rows.slots, state.signs, state.alpha, state.scores, state.cursor, budget
        )
        state.updates, state.visits = state.updates + made, state.visits + visits
        state.row, budget = int(used) if made else state.row, budget - made
        if row < 0:
            return Status.SEPARATED
        if budget == 0:
            return None
        rows.fetch(np.array([row]))


@compiled
def advance_loop(store, slots, signs, alpha, scores, cursor, budget):  # type: ignore[no-untyped-def]
    """Correct mistakes, as many as the budget allows or to a kernel row that is not there.

    Returns the next mistake (-1: none is left), how many were corrected, the last of them, the
    cursor, and the rows visited.
    """
    n = scores.shape[0]
    made, used, visits = 0, -1, 0
    while True:
        row = next_mistake(scores, signs, cursor)
        if row < 0 or made == budget or slots[row] < 0:
            return row, made, used, cursor, visits
        visits += (row - cursor) % n + 1
        alpha[row] += 1.0
        scores += signs[row] * store[slots[row]] + signs[row]
        made, used, cursor = made + 1, row, (row + 1) % n


@compiled
def next_mistake(scores, signs, cursor):  # type: ignore[no-untyped-def]
    """Return the first row from `cursor` on that is not strictly on its side, or -1."""
    n = scores.shape[0]
    for k in range(n):
        row = (cursor + k) % n
        if not signs[row] * scores[row] > 0.0:
            return row
    return -1


# ---- every update of a rule in a kernel's space, as frames: one row each


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

    def advance_once(state: Any, budget: int) -> Status | None:
        with one_thread():  # as `fit` does, so that the bits are the same
            status: Status | None = method.advance(state, budget)
        return status

    yield from frames(advance_once, state, budget, _frame)


def _frame(state: Any, status: Status | None) -> KernelFrame:
    return KernelFrame(
        update=state.updates,
        row=state.row,
        alpha=state.alpha.copy(),
        bias=float((state.signs * state.alpha).sum()),
        errors=int((state.margins <= 0.0).sum()),
        status=status,
    )
