"""Kozinec's algorithm in the space of a kernel.

    w = sum_i a_i z_i,   a >= 0,   sum_i a_i = 1:   a point of the hull of the signed rows
    find w with  w.z_i > 0 for every row;  with epsilon:  |w| - min_i w.z_i / |w| <= epsilon

where z_i.z_j = y_i y_j (K(x_i, x_j) + 1). A row with w.z too small: w moves to the point of the
segment [w, z] nearest the origin. Only products are needed, w.z_i and |w|^2, and both are kept up
to date from rows of the kernel matrix. Always the worst row: it is known at no cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.solvers._drive import Status

__all__ = ["State", "advance", "start"]

_NO_MARGIN = 1e-12


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
    spans: list[tuple[int, int, int]] = field(default_factory=list, repr=False)

    @property
    def w(self) -> np.ndarray:
        """The coefficients: `_drive` looks whether they are finite."""
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
    state = State(
        signs,
        kernel_rows,
        np.inf if epsilon is None else float(epsilon),
        np.zeros(n),
        np.zeros(n),
        spans=[(0, n, 0)],
    )
    state.alpha[0] = 1.0
    _add(state, 0, 1.0)
    state.square = float(state.margins[0])
    return state


def advance(state: State, budget: int) -> Status | None:
    """Make at most `budget` updates."""
    diagonal = state.kernel_rows.diagonal
    while True:
        margins = state.margins
        row = int(np.argmin(margins))
        product, length = float(margins[row]), math.sqrt(max(state.square, 0.0))
        if product > 0.0 and length - product / length <= state.epsilon:
            return Status.SEPARATED if np.isinf(state.epsilon) else Status.EPSILON
        if state.square <= _NO_MARGIN * (float(diagonal.max(initial=0.0)) + 1.0):
            return Status.ORIGIN
        if budget == 0:
            return None
        own = float(diagonal[row]) + 1.0
        distance = state.square - 2.0 * product + own
        if not distance > 0.0:
            return Status.ORIGIN
        step = min(1.0, (state.square - product) / distance)
        state.alpha *= 1.0 - step
        state.alpha[row] += step
        state.products *= 1.0 - step
        _add(state, row, step)
        state.square = float(state.alpha @ state.margins)
        state.updates, state.row = state.updates + 1, row
        budget -= 1


def _add(state: State, row: int, step: float) -> None:
    steps = np.array([state.signs[row] * step])
    state.kernel_rows.add(np.array([row]), steps, state.spans, state.products)
    state.products += steps[0]
