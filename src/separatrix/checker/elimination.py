"""Symmetric matrices of integers, eliminated without a fraction (Bareiss 1968)."""

from __future__ import annotations

from fractions import Fraction

from .codec import Refused

Matrix = list[list[int]]
MOST_COLUMNS = 100  # numbers grow with every column that is eliminated


def refuse_wide(columns: int) -> None:
    """Refuse data whose matrix would take hours."""
    if columns > MOST_COLUMNS:
        raise Refused(f"elimination without rounding is done for {MOST_COLUMNS} columns at most")


def rest(matrix: Matrix, size: int) -> tuple[list[list[Fraction]], int]:
    """Return what is left of a matrix whose first `size` rows are eliminated, and their rank.

    [[A, B], [B', C]] leaves C - B' A^-1 B. A must be positive semidefinite and B in its range: a
    pivot of zero then has a row of zeros, which is passed over.

    >>> rest([[2, 1], [1, 1]], 1)
    ([[Fraction(1, 2)]], 1)
    """
    rows, before, rank = [row[:] for row in matrix], 1, 0
    for k in range(size):
        pivot = rows[k][k]
        if pivot < 0 or (pivot == 0 and any(rows[k][k:])):
            raise Refused("a scatter is not positive semidefinite, or leaves a target open")
        if pivot == 0:
            continue
        rank += 1
        top = rows[k]
        for i in range(k + 1, len(rows)):
            left = rows[i][k]
            rows[i] = [(pivot * x - left * y) // before for x, y in zip(rows[i], top, strict=True)]
        before = pivot
    left_over = range(size, len(rows))
    return [[Fraction(rows[i][j], before) for j in left_over] for i in left_over], rank


def positive_eigenvalues(matrix: Matrix) -> tuple[int, int]:
    """Return how many eigenvalues are above zero, and how many are zero (Sylvester's inertia).

    >>> positive_eigenvalues([[0, 1], [1, 0]]), positive_eigenvalues([[1, 1], [1, 1]])
    ((1, 0), (1, 1))
    """
    rows, before, above = [row[:] for row in matrix], 1, 0
    while rows:
        size = range(len(rows))
        at = next((k for k in size if rows[k][k]), None)
        if at is None:
            pair = next(((i, j) for i in size for j in size if rows[i][j]), None)
            if pair is None:
                return above, len(rows)
            at, other = pair
            # A row and its column are added to others: the signs of eigenvalues stay.
            rows[at] = [x + y for x, y in zip(rows[at], rows[other], strict=True)]
            for row in rows:
                row[at] += row[other]
        top = rows.pop(at)
        pivot = top.pop(at)
        above += (pivot > 0) == (before > 0)
        lefts = [row.pop(at) for row in rows]
        rows = [
            [(pivot * x - left * y) // before for x, y in zip(row, top, strict=True)]
            for row, left in zip(rows, lefts, strict=True)
        ]
        before = pivot
    return above, 0
