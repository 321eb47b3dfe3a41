"""Kozinec's algorithm in the space of a kernel.

    w = sum_i a_i z_i,   a >= 0,   sum_i a_i = 1:   a point of the hull of the signed rows
    find w with  w.z_i > 0 for every row;  with epsilon:  |w| - min_i w.z_i / |w| <= epsilon

where z_i.z_j = y_i y_j (K(x_i, x_j) + 1). A row with w.z too small: w moves to the point of the
segment [w, z] nearest the origin. Only products are needed, w.z_i and |w|^2, and both are kept up
to date from rows of the kernel matrix. Always the worst row: it is known at no cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._compiled import compiled
from separatrix.solvers.running.drive import Status

__all__ = ["State", "advance", "start"]

_NO_MARGIN = 1e-12
_SEPARATED, _ORIGIN, _SPENT, _MISSING = range(4)  # why the loop ended


@dataclass
class State:
    """A run in progress: convex coefficients, and every row's product with w."""

    signs: np.ndarray
    kernel_rows: Any
    epsilon: float
    alpha: np.ndarray
    products: np.ndarray  # sum_j a_j y_j (K_ij + 1): y_i times it is w.z_i
    square: float = 0.0
    updates: int = 0
    row: int = -1

    @property
    def w(self) -> np.ndarray:
        """The coefficients: `drive` looks whether they are finite."""
        return self.alpha

    @property
    def passes(self) -> float:
        """Every update looks at all rows."""
        return float(self.updates)

    @property
    def margins(self) -> np.ndarray:
        """Every w.z_i."""
        return self.signs * self.products

    @property
    def bounds(self) -> tuple[float, float]:
        """The largest margin of any hyperplane lies between these, up to rounding."""
        length = math.sqrt(max(self.square, 0.0))
        return (float(self.margins.min()) / length if length > 0.0 else 0.0), length


def start(signs: np.ndarray, *, kernel_rows: Any, epsilon: float | None = None) -> State:
    """Begin at the first row."""
    n = len(signs)
    epsilon = np.inf if epsilon is None else float(epsilon)
    state = State(signs, kernel_rows, epsilon, np.zeros(n), np.zeros(n))
    state.alpha[0] = 1.0
    (slot,) = kernel_rows.fetch(np.array([0]))
    state.products += signs[0] * kernel_rows.store[slot] + signs[0]
    state.square = float(state.margins[0])
    return state


def advance(state: State, budget: int) -> Status | None:
    """Make at most `budget` updates."""
    rows = state.kernel_rows
    least = _NO_MARGIN * (float(rows.diagonal.max(initial=0.0)) + 1.0)
    while True:
        end, made, used, row, state.square = advance_loop(
            rows.store, rows.slots, rows.diagonal, state.signs, state.alpha, state.products,
            state.square, state.epsilon, least, budget,
        )  # fmt: skip
        state.updates, budget = state.updates + made, budget - made
        state.row = int(used) if made else state.row
        if end == _SEPARATED:
            return Status.SEPARATED if np.isinf(state.epsilon) else Status.EPSILON
        if end == _ORIGIN:
            return Status.ORIGIN
        if end == _SPENT:
            return None
        rows.fetch(np.array([row]))


@compiled
def advance_loop(  # type: ignore[no-untyped-def]
    store, slots, diagonal, signs, alpha, products, square, epsilon, least, budget
):
    """Make updates to an end, or to a row of the kernel matrix that is not there.

    Returns why it ended, how many updates it made, the row of the last, the row looked at, and
    |w|^2.
    """
    made, used = 0, -1
    while True:
        row = np.argmin(signs * products)
        product, length = signs[row] * products[row], np.sqrt(max(square, 0.0))
        if product > 0.0 and length - product / length <= epsilon:
            return _SEPARATED, made, used, row, square
        distance = square - 2.0 * product + diagonal[row] + 1.0
        if square <= least:
            return _ORIGIN, made, used, row, square
        if made == budget:
            return _SPENT, made, used, row, square
        if not distance > 0.0:
            return _ORIGIN, made, used, row, square
        if slots[row] < 0:
            return _MISSING, made, used, row, square
        step = min(1.0, (square - product) / distance)
        alpha *= 1.0 - step
        alpha[row] += step
        products *= 1.0 - step
        moved = step * signs[row]
        products += moved * store[slots[row]] + moved
        square = np.sum(alpha * signs * products)
        made, used = made + 1, row
