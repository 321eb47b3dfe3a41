"""Balls: a middle and a radius, integers in units of ``2**-P``, with every rounding counted.

The exact number is never farther from the middle than the radius.
"""

from __future__ import annotations

from fractions import Fraction

P = 448
ONE = 1 << P
Ball = tuple[int, int]
Matrix = list[list[Ball]]
ZERO: Ball = (0, 0)


class NotProved(ArithmeticError):
    """The balls are too wide here, or no root is near."""


def exact(value: Fraction) -> Ball:
    """Return the ball around a number that is known.

    >>> exact(Fraction(1, 2)) == (ONE // 2, 1)
    True
    """
    top, bottom = value.as_integer_ratio()
    return (top << P) // bottom, 1


def plus(a: Ball, b: Ball) -> Ball:
    """Return the sum."""
    return a[0] + b[0], a[1] + b[1]


def minus(a: Ball, b: Ball) -> Ball:
    """Return the difference."""
    return a[0] - b[0], a[1] + b[1]


def half(a: Ball) -> Ball:
    """Return half of a number."""
    return a[0] >> 1, (a[1] >> 1) + 1


def times(a: Ball, b: Ball) -> Ball:
    """Return the product.

    >>> times((ONE, 0), (3 * ONE, 0))[0] == 3 * ONE
    True
    """
    (m, r), (n, s) = a, b
    return m * n >> P, (abs(m) * s + r * (abs(n) + s) >> P) + 2


def over(a: Ball, b: Ball) -> Ball:
    """Return the quotient: |x/y - m/n| <= (r + |m/n| s) / (|n| - s)."""
    (m, r), (n, s) = a, b
    if abs(n) <= s:
        raise NotProved("a divisor may be zero")
    found = (m << P) // n
    return found, ((r << P) + (abs(found) + 1) * s) // (abs(n) - s) + 2


def dot(a: list[Ball], b: list[Ball]) -> Ball:
    """Return the sum of products."""
    m = r = 0
    for (x, e), (y, f) in zip(a, b, strict=True):
        m += x * y
        r += abs(x) * f + e * (abs(y) + f)
    return m >> P, (r >> P) + 2


def product(A: Matrix, B: Matrix) -> Matrix:
    """Return the product of two matrices."""
    columns = [list(column) for column in zip(*B, strict=True)]
    return [[dot(row, column) for column in columns] for row in A]


def size(a: Ball) -> int:
    """Return at least the absolute value."""
    return abs(a[0]) + a[1]


def ends(a: Ball) -> tuple[Fraction, Fraction]:
    """Return a number below and one above."""
    return Fraction(a[0] - a[1], ONE), Fraction(a[0] + a[1], ONE)


def positive_inverse(A: Matrix) -> tuple[Matrix, list[Ball]]:
    """Return the inverse of a symmetric matrix and its pivots; not all above zero: no proof.

    Where they are, every matrix within the balls is positive definite.
    """
    n = len(A)
    rows = [[*row, *((ONE if i == j else 0, 0) for j in range(n))] for i, row in enumerate(A)]
    pivots = []
    for k in range(n):
        pivot = rows[k][k]
        if pivot[0] <= pivot[1]:
            raise NotProved("the matrix is not proved to be positive definite")
        pivots.append(pivot)
        _eliminate(rows, k)
    return [row[n:] for row in rows], pivots


def _eliminate(rows: Matrix, k: int) -> None:
    """Divide row k by its pivot, and clear its column elsewhere."""
    pivot = rows[k][k]
    top = rows[k] = [over(x, pivot) if x != ZERO else x for x in rows[k]]
    for i, row in enumerate(rows):
        if i != k and row[k] != ZERO:
            factor = row[k]
            rows[i] = [
                minus(x, times(factor, y)) if y != ZERO else x
                for x, y in zip(row, top, strict=True)
            ]


def near_inverse(A: Matrix) -> Matrix:
    """Return about the inverse of the middles: any matrix serves where this is used."""
    n = len(A)
    rows = [
        [*((x, 0) for x, _ in row), *((ONE if i == j else 0, 0) for j in range(n))]
        for i, row in enumerate(A)
    ]
    for k in range(n):
        best = max(range(k, n), key=lambda i: abs(rows[i][k][0]))
        rows[k], rows[best] = rows[best], rows[k]
        if abs(rows[k][k][0]) <= rows[k][k][1]:
            raise NotProved("the equations have no single root here")
        _eliminate(rows, k)
    return [[(x, 0) for x, _ in row[n:]] for row in rows]
