"""When Firth's maximum is the highest of all.

At the maximum let H be the information, M >= |x_i| in H^-1, gamma >= |plain score| in H^-1.

**Far out.** v is at most 1/4, so that the penalty is nowhere above 1/2 log |X'X / 4|: by c more
than here. At a distance t (in H) the plain log-likelihood is lower by t^2 phi(M t) - gamma t at
least, phi(x) = (e^-x + x - 1) / x^2 (Bach 2010). It is concave: where that is above c, nothing
farther out is as high.

**Within.** Minus the second derivative is at least 1 - 1/2 max (1 - 6 v)+ q times the information,
and q grows by e^(M t) at most. Where that is positive there is one maximum.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from .balls import ONE, NotProved, P, dot, ends, half, minus, positive_inverse, size
from .enclosed import BITS, exp
from .likelihood import Look, Rows, log_of_pivots
from .roots import Root

_FIRST, _LARGER, _FARTHEST = Fraction(1, 4), Fraction(5, 4), 4


def _root_above(value: Fraction) -> Fraction:
    """Return at least the square root."""
    return Fraction(isqrt((value.numerator << 128) // value.denominator) + 1, 1 << 64)


def _e(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return bounds on e^-x for x >= 0."""
    low, high, s = exp(-((x.numerator << BITS) // x.denominator) - 1)
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
        if t * t * (_e(x)[0] + x - 1) / (x * x) - gamma * t > c:
            return _is_concave(rows, found, t)
        t *= _LARGER
    return False


def _plain_score(rows: Rows, look: Look) -> Fraction:
    """Bound the length of the score without the penalty."""
    plain = Look(Rows(rows.columns, rows.y, rows.ridge, False, rows.fine), look.theta, look.delta)
    turned = [dot(row, plain.score) for row in look.inverse]
    return _root_above(max(ends(dot(turned, plain.score))[1], Fraction(0)))


def _is_concave(rows: Rows, found: Root, t: Fraction) -> bool:
    """Whether the penalised value is concave within the distance."""
    look = found.look
    longest = _root_above(Fraction(max(map(size, look.q)), ONE))
    grown = 1 / _e(longest * t)[0]
    for eta, q in zip(look.etas, look.q, strict=True):
        squared = Fraction(size(q), ONE)
        # The variance is least where the predictor is farthest from zero.
        far = Fraction(abs(eta), 1 << P + rows.fine) + t * _root_above(squared)
        low = _e(far + Fraction(look.delta, ONE))[0]
        v = low / (1 + low) ** 2
        if max(1 - 6 * v, Fraction(0)) * squared * grown >= 2:
            return False
    return True
