"""Multipliers whose signed sum is exactly zero, without a loop over the rows.

    given  a,   find  a'  near it with   0 <= a'_i <= upper_i   and   sum_i y_i a'_i = 0, exactly

As `solvers.balance`: the residual is spread over rows that are free to move, every multiplier is
put on one grid, on which sums are whole numbers, and what is left is taken from a few rows. Here in
whole-array steps, for the millions of rows that a device hands back.
"""

from __future__ import annotations

import numpy as np

__all__ = ["balanced"]

_HALF = 26  # bits: sums of the high and the low halves of 2^36 rows stay below 2^63


def balanced(alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return multipliers within their bounds whose signed sum is exactly zero.

    >>> import math
    >>> a = balanced(np.array([0.1, 0.2, 0.3]), np.array([1.0, 1.0, -1.0]), np.full(3, 0.3))
    >>> math.fsum([a[0], a[1], -a[2]])
    0.0
    """
    alpha = np.minimum(np.maximum(alpha, 0.0), upper)
    for inside_only in (True, False):
        alpha = _shifted(alpha, signs, upper, inside_only)
    if not alpha.any():
        return alpha
    found = _exact(alpha, signs, upper)
    return np.zeros_like(alpha) if found is None else found


def _room(alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray, residual: float) -> np.ndarray:
    """Return how far each row can move against the residual; where nothing bounds it, its size."""
    falls = signs * residual > 0.0
    with np.errstate(invalid="ignore"):
        above = np.where(np.isinf(upper), np.maximum(alpha, abs(residual)), upper - alpha)
    return np.where(falls, alpha, above)


def _shifted(
    alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray, inside_only: bool
) -> np.ndarray:
    """Move rows, each in proportion to its room, as far as the balance asks."""
    residual = float(signs @ alpha)
    if residual == 0.0:
        return alpha
    room = _room(alpha, signs, upper, residual)
    if inside_only:
        room[~((alpha > 0.0) & (alpha < upper))] = 0.0
    total = float(room.sum())
    if total == 0.0:
        return alpha
    share = float(np.copysign(min(1.0, abs(residual) / total), residual))
    return np.minimum(np.maximum(alpha - signs * (room * share), 0.0), upper)


def _exact(alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray) -> np.ndarray | None:
    """Put all on the grid of the largest, then take what is left from few rows; None: no room."""
    largest = float(alpha.max())
    grid = float(np.nextafter(largest, np.inf) - largest)
    if grid < np.finfo(float).tiny:
        return None
    units = np.floor(alpha / grid).astype(np.int64)
    plus = signs > 0.0
    with np.errstate(over="ignore"):
        most = np.minimum(np.floor(np.minimum(upper / grid, 2.0**53)), 2.0**53).astype(np.int64)
    units = np.minimum(units, most)
    while (residual := _whole_sum(units[plus]) - _whole_sum(units[~plus])) != 0:
        falls = plus if residual > 0 else ~plus
        room = np.where(falls, units, most - units)
        # A row at a bound moves only if no other can.
        inside = (units > 0) & (units < most) & (room > 0)
        row = int(np.argmax(np.where(inside, room, 0) if inside.any() else room))
        step = min(int(room[row]), abs(residual))
        if step == 0:
            return None
        units[row] += -step if falls[row] else step
    return np.asarray(np.minimum(units * grid, upper))


def _whole_sum(units: np.ndarray) -> int:
    """Add whole numbers below 2^54 without overflow."""
    low = units & ((1 << _HALF) - 1)
    return (int((units >> _HALF).sum()) << _HALF) + int(low.sum())
