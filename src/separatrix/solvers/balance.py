"""Multipliers whose signed sum is exactly zero.

    given  a,   find  a'  near it with   0 <= a'_i <= upper_i   and   sum_i y_i a'_i = 0, exactly

A free bias demands this balance of the dual, and floating point leaves a residual. It is spread
over the rows that are free to move; then every multiplier is put on one grid, on which sums are
exact, and what is left is taken from a few rows.
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["balanced"]


def balanced(alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return multipliers within their bounds whose signed sum is exactly zero.

    >>> a = balanced(np.array([0.1, 0.2, 0.3]), np.array([1.0, 1.0, -1.0]), np.full(3, 0.3))
    >>> math.fsum([a[0], a[1], -a[2]])
    0.0
    """
    alpha = np.minimum(np.maximum(alpha, 0.0), upper)
    # First rows strictly between their bounds, so that those at a bound stay there; then all.
    alpha = _shifted(alpha, signs, upper, (alpha > 0.0) & (alpha < upper))
    alpha = _shifted(alpha, signs, upper, np.ones(len(alpha), dtype=bool))
    return _exact(alpha, signs, upper) if alpha.any() else alpha


def _shifted(
    alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """Move the given rows, each in proportion to its room, as far as the balance asks."""
    residual = math.fsum((signs * alpha).tolist())
    room = np.where(rows, _room(alpha, signs, upper, residual), 0.0)
    total = float(room.sum())
    if residual == 0.0 or total == 0.0:
        return alpha
    share = min(1.0, abs(residual) / total) * math.copysign(1.0, residual)
    return np.minimum(np.maximum(alpha - signs * room * share, 0.0), upper)


def _room(alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray, residual: float) -> np.ndarray:
    """Return how far each row can move against the residual; where nothing bounds it, its size."""
    falls = signs * residual > 0.0
    above = np.where(np.isinf(upper), np.maximum(alpha, abs(residual)), upper - alpha)
    return np.where(falls, alpha, above)


def _exact(alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray) -> np.ndarray:
    grid = math.ulp(float(alpha.max()))
    alpha = np.floor(alpha / grid) * grid
    while True:
        # Correctly rounded, so zero only if the sum is.
        residual = math.fsum((signs * alpha).tolist())
        if residual == 0.0:
            return alpha
        room = np.floor(_room(alpha, signs, upper, residual) / grid) * grid
        # Beyond the binade of the largest, the grid is too fine for a float.
        room = np.where(signs * residual > 0.0, room, np.minimum(room, grid * 2.0**53 - alpha))
        # Rows at a bound stay there if others can take it.
        inside = np.where((alpha > 0.0) & (alpha < upper), room, 0.0)
        row = int(np.argmax(inside if inside.any() else room))
        if room[row] == 0.0:
            return np.zeros_like(alpha)
        step = min(float(room[row]), abs(residual))
        alpha[row] -= signs[row] * math.copysign(step, residual)
