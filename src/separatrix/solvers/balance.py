"""Multipliers whose signed sum is exactly zero.

    given  a,   find  a'  near it with   0 <= a'_i <= upper_i   and   sum_i y_i a'_i = 0, exactly

A free bias demands this balance of the dual, and floating point leaves a residual. It is spread
over the rows that are free to move; then every multiplier is put on one grid, on which sums are
exact, and what is left is taken from a few rows. Rows are gone through in blocks, so that nothing
of their number is made but the answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

__all__ = ["balanced"]

_BLOCK = 1 << 16
_HALF = 2.0**26  # sums of a block's high and low halves stay far below 2^53


def balanced(alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return multipliers within their bounds whose signed sum is exactly zero.

    >>> a = balanced(np.array([0.1, 0.2, 0.3]), np.array([1.0, 1.0, -1.0]), np.full(3, 0.3))
    >>> math.fsum([a[0], a[1], -a[2]])
    0.0
    """
    alpha = np.maximum(alpha, 0.0)
    np.minimum(alpha, upper, out=alpha)
    # First rows strictly between their bounds, so that those at a bound stay there; then all.
    _shift(alpha, signs, upper, inside_only=True)
    _shift(alpha, signs, upper, inside_only=False)
    return _exact(alpha, signs, upper) if alpha.any() else alpha


def _blocks(n: int) -> Iterator[slice]:
    for begin in range(0, n, _BLOCK):
        yield slice(begin, min(begin + _BLOCK, n))


def _residual(alpha: np.ndarray, signs: np.ndarray) -> float:
    """Return sum_i y_i alpha_i; where all are on the grid of the largest, 0 only if the sum is."""
    largest = float(alpha.max(initial=0.0))
    if largest == 0.0:
        return 0.0
    grid, high, low = math.ulp(largest), 0, 0.0
    for rows in _blocks(len(alpha)):
        units = alpha[rows] / grid
        halves = np.floor(units / _HALF)
        high += int(signs[rows] @ halves)
        low += float(signs[rows] @ (units - halves * _HALF))
    # Off the grid the low halves round, which the grid puts right; on it all of this is exact.
    whole = math.floor(low)
    return float(high * int(_HALF) + whole) * grid + (low - whole) * grid


def _shift(alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray, inside_only: bool) -> None:
    """Move rows, each in proportion to its room, as far as the balance asks."""
    residual = _residual(alpha, signs)
    if residual == 0.0:
        return

    def room(rows: slice) -> np.ndarray:
        part = _room(alpha[rows], signs[rows], upper[rows], residual)
        return _inside(part, alpha[rows], upper[rows]) if inside_only else part

    total = sum(float(room(rows).sum()) for rows in _blocks(len(alpha)))
    if total == 0.0:
        return
    share = min(1.0, abs(residual) / total) * math.copysign(1.0, residual)
    for rows in _blocks(len(alpha)):
        moved = alpha[rows] - signs[rows] * room(rows) * share
        alpha[rows] = np.minimum(np.maximum(moved, 0.0), upper[rows])


def _inside(room: np.ndarray, alpha: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Leave no room to rows at a bound."""
    return np.where((alpha > 0.0) & (alpha < upper), room, 0.0)


def _room(alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray, residual: float) -> np.ndarray:
    """Return how far each row can move against the residual; where nothing bounds it, its size."""
    falls = signs * residual > 0.0
    above = np.where(np.isinf(upper), np.maximum(alpha, abs(residual)), upper - alpha)
    return np.where(falls, alpha, above)


def _exact(alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray) -> np.ndarray:
    grid = math.ulp(float(alpha.max()))
    for rows in _blocks(len(alpha)):
        alpha[rows] = np.floor(alpha[rows] / grid) * grid
    while True:
        residual = _residual(alpha, signs)
        if residual == 0.0:
            return alpha
        row, room = _roomiest(alpha, signs, upper, residual, grid)
        if room == 0.0:
            return np.zeros_like(alpha)
        step = min(room, abs(residual))
        alpha[row] -= signs[row] * math.copysign(step, residual)


def _roomiest(
    alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray, residual: float, grid: float
) -> tuple[int, float]:
    """Return the row that can move furthest on the grid; one at a bound only if no other can."""
    best = (False, 0.0, 0)
    for rows in _blocks(len(alpha)):
        a, y = alpha[rows], signs[rows]
        room = np.floor(_room(a, y, upper[rows], residual) / grid) * grid
        # Beyond the binade of the largest, the grid is too fine for a float.
        room = np.where(y * residual > 0.0, room, np.minimum(room, grid * 2.0**53 - a))
        inside = _inside(room, a, upper[rows])
        free = bool(inside.any())
        place = int(np.argmax(inside if free else room))
        best = max(best, (free, float(room[place]), -(rows.start + place)))
    return -best[2], best[1]
