"""Tail and quantile of the chi-squared distribution with one degree of freedom, enclosed.

The tail above s is erfc(sqrt(s/2)) = 1 - 2/sqrt(pi) e^-x sum_n t (2x)^n / (2n + 1)!!, with x = s/2
and t = sqrt(x). All terms are positive. They are summed in decimal numbers so long that 1 - erf
keeps twenty digits. `decimal` rounds exp, sqrt and the four operations correctly, to half a unit.

>>> low, high = tail(3.841458820694124)
>>> low < 0.05 < high or abs(low - 0.05) < 1e-15
True
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

from separatrix.certificates.enclosure import rounded

_FARTHEST = 1400.0  # beyond, the tail is below 2^-996
_KEPT = 24
_WIDER = math.ldexp(1.0, -46)  # of a quantile, to either side


@lru_cache(maxsize=8)
def _pi(digits: int) -> Decimal:
    """Return pi by Machin's formula, to within 10^-digits."""
    unit = 10 ** (digits + 10)

    def inverse_tangent(k: int) -> int:
        term, total, n, sign = unit // k, 0, 1, 1
        while term:
            total += sign * (term // n)
            term, n, sign = term // (k * k), n + 2, -sign
        return total

    scaled = 4 * (4 * inverse_tangent(5) - inverse_tangent(239))
    return Decimal(scaled).scaleb(-(digits + 10), Context(prec=digits + 20))


@lru_cache(maxsize=4096)
def tail(value: float) -> tuple[float, float]:
    """Return floats below and above the probability of more than `value`."""
    if not value > 0.0:
        return (1.0, 1.0) if value <= 0.0 else (0.0, 1.0)
    if value > _FARTHEST:
        return 0.0, math.ldexp(1.0, -996)
    digits = _KEPT + 16 + int(0.2172 * value)
    to = Context(prec=digits, rounding=ROUND_HALF_EVEN)
    x = to.divide(Decimal(value), Decimal(2))
    twice = to.multiply(x, Decimal(2))
    term = total = to.sqrt(x)
    n = 0
    # From 2n + 3 > 4x each term is less than half the one before: the rest is below the last.
    while 2 * n + 3 <= 2 * twice or term > total.scaleb(-digits, to):
        n += 1
        term = to.divide(to.multiply(term, twice), Decimal(2 * n + 1))
        total = to.add(total, term)
    factor = to.divide(to.exp(to.minus(x)), to.sqrt(_pi(digits)))
    inner = to.multiply(to.multiply(Decimal(2), factor), total)
    # Every operation errs by half a unit of its last digit at most: 2 n in the terms, n in the sum.
    doubt = Fraction(Decimal(6 * n + 40).scaleb(-digits + 1))
    left = 1 - Fraction(inner)
    low, high = rounded(max(left - doubt, Fraction(0)))[0], rounded(left + doubt)[1]
    return max(low, 0.0), min(high, 1.0)


def quantile(level: float, guess: float) -> tuple[float, float]:
    """Return floats around the value that is exceeded with probability 1 - level.

    The guess is anyone's; two tails prove that the value lies next to it.
    """
    beyond = 1 - Fraction(level)
    low, high = guess * (1.0 - _WIDER), guess * (1.0 + _WIDER)
    if not Fraction(tail(low)[0]) > beyond > Fraction(tail(high)[1]) or not math.isfinite(high):
        raise ArithmeticError(f"{guess} is not the quantile of {level}")
    return low, high


def tails(low: float, high: float) -> tuple[float, float]:
    """Return floats around the tails of all values between two."""
    return tail(high)[0] if math.isfinite(high) else 0.0, tail(max(low, 0.0))[1]
