"""Multipliers whose signed sum is exactly zero.

    given  a,   find  a'  near it with   0 <= a'_i <= upper_i   and   sum_i y_i a'_i = 0, exactly

A free bias demands this balance of the dual, and floating point leaves a residual. It is spread
over the rows that are free to move; then every multiplier is put on one grid, on which sums are
exact, and what is left is taken from a few rows. Of the rows' number only the answer is made.
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled, inlined

__all__ = ["balanced"]

_HALF = 2.0**26  # sums of the rows' high and low halves stay far below 2^53


def balanced(alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return multipliers within their bounds whose signed sum is exactly zero.

    >>> import math
    >>> a = balanced(np.array([0.1, 0.2, 0.3]), np.array([1.0, 1.0, -1.0]), np.full(3, 0.3))
    >>> math.fsum([a[0], a[1], -a[2]])
    0.0
    """
    alpha = np.maximum(alpha, 0.0)
    np.minimum(alpha, upper, out=alpha)
    # First rows strictly between their bounds, so that those at a bound stay there; then all.
    _shift(alpha, signs, upper, True)
    _shift(alpha, signs, upper, False)
    if alpha.any() and not _exact(alpha, signs, upper):
        alpha[:] = 0.0
    return alpha


@inlined
def _unit(largest):  # type: ignore[no-untyped-def]
    """Return the distance from a number to the next."""
    return np.nextafter(largest, np.inf) - largest


@compiled
def _residual(alpha, signs):  # type: ignore[no-untyped-def]
    """Return sum_i y_i alpha_i; where all are on the grid of the largest, 0 only if the sum is."""
    largest = 0.0
    for i in range(alpha.shape[0]):
        largest = max(largest, alpha[i])
    if largest == 0.0:
        return 0.0
    grid, high, low = _unit(largest), 0.0, 0.0
    for i in range(alpha.shape[0]):
        units = alpha[i] / grid
        halves = np.floor(units / _HALF)
        high += signs[i] * halves
        low += signs[i] * (units - halves * _HALF)
    # Off the grid the low halves round, which the grid puts right; on it all of this is exact.
    whole = np.floor(low)
    return (high * _HALF + whole) * grid + (low - whole) * grid


@inlined
def _room(a, sign, bound, residual, inside_only):  # type: ignore[no-untyped-def]
    """Return how far a row can move against the residual; where nothing bounds it, its size."""
    if inside_only and not (a > 0.0 and a < bound):
        return 0.0
    if sign * residual > 0.0:
        return a
    return max(a, abs(residual)) if bound == np.inf else bound - a


@compiled
def _shift(alpha, signs, upper, inside_only):  # type: ignore[no-untyped-def]
    """Move rows, each in proportion to its room, as far as the balance asks."""
    residual = _residual(alpha, signs)
    if residual == 0.0:
        return
    total = 0.0
    for i in range(alpha.shape[0]):
        total += _room(alpha[i], signs[i], upper[i], residual, inside_only)
    if total == 0.0:
        return
    share = min(1.0, abs(residual) / total)
    if residual < 0.0:
        share = -share
    for i in range(alpha.shape[0]):
        room = _room(alpha[i], signs[i], upper[i], residual, inside_only)
        alpha[i] = min(max(alpha[i] - signs[i] * (room * share), 0.0), upper[i])


@compiled
def _exact(alpha, signs, upper):  # type: ignore[no-untyped-def]
    """Put all on the grid of the largest, then take what is left from few rows; False: no room."""
    largest = 0.0
    for i in range(alpha.shape[0]):
        largest = max(largest, alpha[i])
    grid = _unit(largest)
    for i in range(alpha.shape[0]):
        alpha[i] = np.floor(alpha[i] / grid) * grid
    while True:
        residual = _residual(alpha, signs)
        if residual == 0.0:
            return True
        row, room = _roomiest(alpha, signs, upper, residual, grid)
        if room == 0.0:
            return False
        step = min(room, abs(residual))
        alpha[row] -= signs[row] * (step if residual > 0.0 else -step)


@compiled
def _roomiest(alpha, signs, upper, residual, grid):  # type: ignore[no-untyped-def]
    """Return the row that can move furthest on the grid; one at a bound only if no other can."""
    best, most, is_inside = 0, 0.0, False
    for i in range(alpha.shape[0]):
        room = np.floor(_room(alpha[i], signs[i], upper[i], residual, False) / grid) * grid
        if not signs[i] * residual > 0.0:
            # Beyond the binade of the largest, the grid is too fine for a float.
            room = min(room, grid * 2.0**53 - alpha[i])
        inside = room > 0.0 and alpha[i] > 0.0 and alpha[i] < upper[i]
        if room > 0.0 and ((inside and not is_inside) or (inside == is_inside and room > most)):
            best, most, is_inside = i, room, inside
    return best, most
