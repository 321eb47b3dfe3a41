"""A root of the equations of a maximum or of an interval's end, proved next to a point.

Let F be a system, Y any matrix, a >= |Y F| at a point, and E >= |1 - Y J| for its Jacobian J all
over a box of radii r, number by number. If a + E r < r, the box holds exactly one root, and it is
within a + E r of the point (Krawczyk 1969, Moore 1977).

    maximum   score of the free coefficients = 0
    end       the same, and value = level

When Firth's maximum is the highest of all.

At the maximum let H be the information, M >= |x_i| in H^-1, gamma >= |plain score| in H^-1.

**Far out.** v is at most 1/4, so that the penalty is nowhere above 1/2 log |X'X / 4|: by c more
than here. At a distance t (in H) the plain log-likelihood is lower by t^2 phi(M t) - gamma t at
least, phi(x) = (e^-x + x - 1) / x^2 (Bach 2010). It is concave: where that is above c, nothing
farther out is as high.

**Within.** Minus the second derivative is at least 1 - 1/2 max (1 - 6 v)+ q times the information,
and q grows by e^(M t) at most. Where that is positive there is one maximum.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isqrt
from typing import NamedTuple

from .balls import (
    ONE,
    Ball,
    Matrix,
    NotProved,
    P,
    dot,
    ends,
    exact,
    half,
    minus,
    near_inverse,
    positive_inverse,
    size,
)
from .enclosed import DEEP, exp
from .likelihood import Look, Rows, log_of_pivots

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
    """Return the root next to a point; with a level, that of an end of the coefficient held.

    Without one it is a maximum.
    """
    at = None if level is None else held
    unknown = free if at is None else [*free, at]
    theta = list(start)
    look = Look(rows, theta)
    if not unknown:
        return Root(theta, [0] * rows.width, look.value, look, look.score)
    Y = near_inverse(_jacobian(look, look.score, free, at))
    theta, look = _closer(rows, theta, unknown, free, level, Y)
    Y = near_inverse(_jacobian(look, look.score, free, at))
    a = [size(dot(row, _equations(look, free, level))) for row in Y]
    r = [2 * each + 2 for each in a]
    delta = 1024 * sum(r)
    if delta.bit_length() > _LARGEST:
        raise NotProved("the point is not next to a root")
    box = Look(rows, theta, delta)
    J = _jacobian(box, box.score, free, at)
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
    if level is None and rows.firth:
        try:
            positive_inverse([[box.bend[k][c] for c in free] for k in free])
        except NotProved:
            raise NotProved("the score has a root here that is no maximum") from None
    m, s = look.value
    return Root(theta, off, (m, s + (change >> P) + len(free) + 1), box, box.score)


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


# ---- when Firth's maximum is the highest of all


_FIRST, _LARGER, _FARTHEST = Fraction(1, 4), Fraction(5, 4), 4


def _root_above(value: Fraction) -> Fraction:
    """Return at least the square root."""
    return Fraction(isqrt((value.numerator << 128) // value.denominator) + 1, 1 << 64)


def falling(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds on e^-x for x >= 0."""
    units = -((x.numerator << DEEP) // x.denominator) - 1  # -x lies in [units, units + 1]
    low, high, s = exp(units, DEEP)
    return Fraction(max(low, 0), 1 << s), Fraction(high, 1 << s)


def is_highest(rows: Rows, found: Root) -> bool:
    """Whether no point has a value as high as the maximum."""
    look = found.look
    try:
        n, d = len(rows.y), rows.width
        quarter = Look(rows, [0] * d)
        quarter.v = [(ONE // 4, 0)] * n
        whole = log_of_pivots(positive_inverse(quarter.plain)[1])
        c = ends(half(minus(whole, look.log_determinant)))[1]
        gamma = _plain_score(rows, look)
    except NotProved:
        return False
    longest = _root_above(Fraction(max(map(size, look.q)), ONE))
    t = _FIRST
    while longest * t < _FARTHEST:
        x = longest * t
        if t * t * (falling(x)[0] + x - 1) / (x * x) - gamma * t > c:
            return _is_concave(rows, look, longest, t)
        t *= _LARGER
    return False


def _plain_score(rows: Rows, look: Look) -> Fraction:
    """Bound the length of the score without the penalty."""
    plain = Look(Rows(rows.columns, rows.y, rows.ridge, False, rows.fine), look.theta, look.delta)
    turned = [dot(row, plain.score) for row in look.inverse]
    return _root_above(max(ends(dot(turned, plain.score))[1], Fraction(0)))


def _is_concave(rows: Rows, look: Look, longest: Fraction, t: Fraction) -> bool:
    """Whether the penalised value is concave within the distance."""
    grown = 1 / falling(longest * t)[0]
    for eta, q in zip(look.etas, look.q, strict=True):
        squared = Fraction(size(q), ONE)
        # The variance is least where the predictor is farthest from zero.
        far = Fraction(abs(eta), 1 << P + rows.fine) + t * _root_above(squared)
        low = falling(far + Fraction(look.delta, ONE))[0]
        v = low / (1 + low) ** 2
        if max(1 - 6 * v, Fraction(0)) * squared * grown >= 2:
            return False
    return True
