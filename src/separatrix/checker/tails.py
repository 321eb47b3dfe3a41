"""Tail and quantile of the chi-squared distribution with one degree of freedom, in fractions.

    tail(s) = erfc(t),   t = sqrt(s / 2)
    up to t^2 = 40:  1 - 2/sqrt(pi) e^(-t^2) sum_n t (2 t^2)^n / (2n + 1)!!      (all terms above 0)
    beyond:          e^(-t^2) / (sqrt(pi) (t + (1/2)/(t + 1/(t + (3/2)/(t + ...)))))

Neighbours among the convergents of the fraction lie on either side of it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import isqrt

from .codec import Refused, require
from .enclosed import BITS, exp

_Q = 400  # bits of fractions that are rounded
_FAR = 40
_CLOSE = Fraction(1, 1 << 46)
_FINE = Fraction(1, 1 << 96)
Pair = tuple[Fraction, Fraction]


def _root(value: Fraction) -> Pair:
    """Return fractions below and above the square root."""
    low = isqrt((value.numerator << 2 * _Q) // value.denominator)
    return Fraction(low, 1 << _Q), Fraction(low + 1, 1 << _Q)


@cache
def _root_of_pi() -> Pair:
    """Return bounds on sqrt(pi); pi = 16 arctan(1/5) - 4 arctan(1/239), to 2**-390."""

    def arctan(k: int) -> int:
        term, total, n = (1 << _Q) // k, 0, 1
        while term:
            total += term // n if n % 4 == 1 else -(term // n)
            term, n = term // (k * k), n + 2
        return total

    near, off = 16 * arctan(5) - 4 * arctan(239), 1 << 14
    return _root(Fraction(near - off, 1 << _Q))[0], _root(Fraction(near + off, 1 << _Q))[1]


def _falling(x: Fraction) -> Pair:
    """Return bounds on e^-x for x >= 0."""
    units = -((x.numerator << BITS) // x.denominator) - 1  # -x lies in [units, units + 1]
    low, high, s = exp(units)
    return Fraction(max(low, 0), 1 << s), Fraction(high, 1 << s)


def tail(s: Fraction) -> Pair:
    """Return fractions below and above the probability of more than s.

    >>> low, high = tail(Fraction(3.841458820694124))
    >>> low < high, abs(float(low) - 0.05) < 1e-15
    (True, True)
    """
    if s <= 0:
        return Fraction(1), Fraction(1)
    x = s / 2
    roots = _root(x)
    # The tail falls with t: the lower bound is that of the larger root.
    low, high = (_near(x, t) if x <= _FAR else _far(x, t) for t in reversed(roots))
    return max(low[0], Fraction(0)), high[1]


def _near(x: Fraction, t: Fraction) -> Pair:
    """Return bounds by the series, rounded to integers."""
    unit, twice = 1 << _Q, 2 * x
    top, bottom = twice.as_integer_ratio()
    term, total, n = unit, unit, 0
    while term:
        n += 1
        term = term * top // (bottom * (2 * n + 1))
        total += term
    # Each term is rounded down, by a share of itself and one unit; what is left out is less than 2.
    high = total + total * n // (1 << 200) + 4 * n + 4
    sums = Fraction(total, unit) * t, Fraction(high, unit) * t
    fall, pi = _falling(x), _root_of_pi()
    return 1 - 2 * fall[1] * sums[1] / pi[0], 1 - 2 * fall[0] * sums[0] / pi[1]


def _far(x: Fraction, t: Fraction) -> Pair:
    """Return bounds by two convergents of the continued fraction."""
    values = []
    for depth in (120, 121):
        value = t
        for k in range(depth, 0, -1):
            value = t + Fraction(k, 2) / value
            value = Fraction(value.numerator * (1 << _Q) // value.denominator, 1 << _Q)
        values.append(value)
    # A step multiplies an error by k / (2 v^2) < 2, two steps together by less than 1.
    off = Fraction(242, 1 << _Q)
    fall, pi = _falling(x), _root_of_pi()
    return fall[0] / (pi[1] * (max(values) + off)), fall[1] / (pi[0] * (min(values) - off))


def quantile(level: float, guess: float) -> Pair:
    """Return bounds on what is exceeded with probability 1 - level; the guess must be close."""
    beyond = 1 - Fraction(level)
    require(0 < beyond < 1 and guess > 0.0, "the level must be between 0 and 1")
    q = Fraction(guess)
    for _ in range(4):
        low, high = tail(q)
        slope = _falling(q / 2)[0] / (2 * _root_of_pi()[0] * _root(q / 2)[0])
        require(slope > 0, "the quantile is too large")
        q += ((low + high) / 2 - beyond) / slope
        q = Fraction(round(q * (1 << 160)), 1 << 160)
        require(q > 0, "the quantile is not that of the level")
    found = q * (1 - _FINE), q * (1 + _FINE)
    if not tail(found[0])[0] > beyond > tail(found[1])[1]:
        raise Refused("the quantile of the level is not proved")
    if not found[1] * (1 - _CLOSE) <= Fraction(guess) <= found[0] * (1 + _CLOSE):
        raise Refused("the quantile is not that of the level")
    return found
