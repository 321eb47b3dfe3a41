"""Gordan's alternative by the simplex method in integers: the last resort for near-ties.

    find  lambda >= 0,  sum_i lambda_i = 1,  sum_i lambda_i q_i = 0      (a witness)
    or    u  with  q_i.u > 0  for all i                                  (a separator)

Phase one on a full tableau of Python integers over one common denominator (Edmonds 1967), so no
pivot is ever rounded. The steepest column enters; after a run of pivots that move nothing, Bland's
rule takes over until one does, so that it cannot cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from separatrix.solvers.separability.witness import primitive

__all__ = ["Alternative", "alternative"]


@dataclass(frozen=True)
class Alternative:
    """Exactly one of the two: multipliers (one a row, some 0) or a separating direction."""

    multipliers: list[int] | None
    direction: list[int] | None


def alternative(rows: list[list[int]], seconds: float = 2.0) -> Alternative | None:
    """Decide which holds for integer rows; None when the time ends first.

    >>> alternative([[1], [-2]]).multipliers
    [2, 1]
    >>> alternative([[1, 5], [-1, 1]]).direction is not None
    True
    """
    count, width = len(rows), len(rows[0])
    height = width + 1
    table = np.zeros((height + 1, count + height + 1), dtype=object)
    for i, row in enumerate(rows):
        table[:width, i] = row
        table[width, i] = 1
    for i in range(height):
        table[i, count + i] = 1
    table[width, -1] = 1
    table[-1, :count] = -table[:height, :count].sum(axis=0)
    table[-1, -1] = -1
    basis = list(range(count, count + height))
    scale, still, end = 1, 0, perf_counter() + seconds
    while perf_counter() < end:
        if table[-1, -1] == 0:
            return Alternative(_read_multipliers(table, basis, count), None)
        entering = _entering(table[-1, :count], steepest=still < 20 * height)
        if entering is None:
            direction = [int(table[-1, count + i]) - scale for i in range(width)]
            return Alternative(None, primitive(direction))
        leaving = _leaving_row(table, basis, entering)
        still = still + 1 if table[leaving, -1] == 0 else 0
        scale = _pivot(table, leaving, entering, scale)
        basis[leaving] = entering
    return None


def _entering(costs: np.ndarray, steepest: bool) -> int | None:
    if steepest:
        best = int(np.argmin(costs))
        return best if costs[best] < 0 else None
    return next((j for j, cost in enumerate(costs) if cost < 0), None)


def _leaving_row(table: np.ndarray, basis: list[int], entering: int) -> int:
    """Return the row with the least ratio; among equals, the one whose variable comes first."""
    best = -1
    for i in range(len(basis)):
        if table[i, entering] <= 0:
            continue
        if best < 0:
            best = i
            continue
        left = table[i, -1] * table[best, entering]
        right = table[best, -1] * table[i, entering]
        if left < right or (left == right and basis[i] < basis[best]):
            best = i
    return best


def _pivot(table: np.ndarray, at: int, entering: int, scale: int) -> int:
    """Pivot in integers: every entry stays a determinant, so the divisions are exact."""
    pivot = table[at, entering]
    row = table[at].copy()
    column = table[:, entering].copy()
    table *= pivot
    table -= np.outer(column, row)
    table //= scale
    table[at] = row
    return int(pivot)


def _read_multipliers(table: np.ndarray, basis: list[int], count: int) -> list[int]:
    multipliers = [0] * count
    for i, variable in enumerate(basis):
        if variable < count:
            multipliers[variable] = int(table[i, -1])
    return primitive(multipliers)
