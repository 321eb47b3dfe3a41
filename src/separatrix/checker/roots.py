"""A root of the equations of a maximum or of an interval's end, proved next to a point.

Let F be a system, Y any matrix, a >= |Y F| at a point, and E >= |1 - Y J| for its Jacobian J all
over a box of radii r, number by number. If a + E r < r, the box holds exactly one root, and it is
within a + E r of the point (Krawczyk 1969, Moore 1977).

    maximum   score of the free coefficients = 0
    end       the same, and value = level
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from .balls import (
    Ball,
    Matrix,
    NotProved,
    P,
    dot,
    exact,
    minus,
    near_inverse,
    positive_inverse,
    size,
)
from .likelihood import Look, Rows

_STEPS = 60
_ROUNDS = 12
_LARGEST = P - 20  # the box is 2**20 times smaller than 1, or nothing is proved


class Root(NamedTuple):
    """A point, how far the root is from it in each coefficient, and bounds on the value there."""

    theta: list[int]
    off: list[int]
    value: Ball
    look: Look  # of all points of the box
    score: list[Ball]  # there as well


def _equations(look: Look, free: Sequence[int], level: Ball | None) -> list[Ball]:
    found = [look.score[k] for k in free]
    return found if level is None else [*found, minus(look.value, level)]


def _jacobian(look: Look, score: list[Ball], free: list[int], held: int | None) -> Matrix:
    """Return the derivatives of the equations; the held coefficient is the last unknown."""
    unknown = free if held is None else [*free, held]
    found = [[(-look.bend[k][c][0], look.bend[k][c][1]) for c in unknown] for k in free]
    return found if held is None else [*found, [score[c] for c in unknown]]


def root(
    rows: Rows, start: Sequence[int], free: list[int], level: Ball | None = None, held: int = -1
) -> Root:
    """Return the root next to a point; with a level, that of an end of the coefficient held."""
    at = None if level is None else held
    unknown = free if at is None else [*free, at]
    theta = list(start)
    look = Look(rows, theta)
    if not unknown:
        return Root(theta, [0] * rows.width, look.value, look, look.score)
    Y = near_inverse(_jacobian(look, look.score, free, at))
    theta, look = _closer(rows, theta, unknown, free, level, Y)
    F = _equations(look, free, level)
    a = [size(dot(row, F)) for row in Y]
    return _proved(rows, theta, unknown, free, at, Y, a, look)


def _closer(
    rows: Rows, theta: list[int], unknown: list[int], free: list[int], level: Ball | None, Y: Matrix
) -> tuple[list[int], Look]:
    """Take steps while they get shorter by a fourth at least; what they find is proved later."""
    look, last = Look(rows, theta), -1
    for _ in range(_STEPS):
        F = [(m, 0) for m, _ in _equations(look, free, level)]
        steps = [dot(row, F)[0] for row in Y]
        most = max(map(abs, steps))
        if 0 <= last <= most + (most >> 2):
            break
        theta = list(theta)
        for k, step in zip(unknown, steps, strict=True):
            theta[k] -= step
        if max(map(abs, theta)).bit_length() > 3 * P:
            raise NotProved("the point is not next to a root")
        look, last = Look(rows, theta), most
    return theta, look


def _proved(
    rows: Rows,
    theta: list[int],
    unknown: list[int],
    free: list[int],
    held: int | None,
    Y: Matrix,
    a: list[int],
    look: Look,
) -> Root:
    r = [2 * each + 2 for each in a]
    delta = 1024 * sum(r)
    if delta.bit_length() > _LARGEST:
        raise NotProved("the point is not next to a root")
    box = Look(rows, theta, delta)
    J = _jacobian(box, box.score, free, held)
    columns = [list(column) for column in zip(*J, strict=True)]
    E = [
        [size(minus(dot(row, column), exact(Fraction(i == j)))) for j, column in enumerate(columns)]
        for i, row in enumerate(Y)
    ]
    moved, r = _contracted(a, E, r, delta)
    off = [0] * rows.width
    for k, near in zip(unknown, moved, strict=True):
        off[k] = near
    # The free score is zero at the root, and nowhere in the box above |J| r.
    change = sum(
        near * sum(size(x) * b for x, b in zip(row, r, strict=True)) >> P
        for near, row in zip(moved, J[: len(free)], strict=False)
    )
    m, s = look.value
    return Root(theta, off, (m, s + (change >> P) + len(free) + 1), box, box.score)


def _contracted(
    a: list[int], E: list[list[int]], r: list[int], delta: int
) -> tuple[list[int], list[int]]:
    """Return a + E r and radii r that are above it, all within delta."""
    for _ in range(_ROUNDS):
        moved = [
            each + (sum(e * b for e, b in zip(row, r, strict=True)) >> P) + 1
            for each, row in zip(a, E, strict=True)
        ]
        if all(near < b for near, b in zip(moved, r, strict=True)):
            return moved, r
        r = [2 * near for near in moved]
        if sum(r) > delta:
            raise NotProved("the equations are too far from linear here")
    raise NotProved("no single root is proved next to the point")


def is_maximum(found: Root, free: Sequence[int]) -> bool:
    """Whether the value is concave in the free coefficients all over the box."""
    try:
        positive_inverse([[found.look.bend[a][b] for b in free] for a in free])
    except NotProved:
        return False
    return True
