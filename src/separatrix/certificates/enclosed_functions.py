"""exp, log and what is built on them, enclosed: made of IEEE operations alone, nothing of libm.

    exp        never below zero, and above 709 without a bound
    log, log1p
    softplus   log(1 + e^z)
    entropy    -p log p - (1 - p) log(1 - p)

`softplus_values` and `entropies` are values as computed, for sums whose errors are bounded at once.

Where there are a hundred million values to compute, those of NumPy are trusted to eight units in
the last place. They are tried beside the enclosed ones before the first proof.

>>> bool(exp(1.0).contains(2.718281828459045)), bool(log(exp(2.0)).contains(2.0))
(True, True)

Tail and quantile of the chi-squared distribution with one degree of freedom, enclosed.

The tail above s is erfc(sqrt(s/2)) = 1 - 2/sqrt(pi) e^-x sum_n t (2x)^n / (2n + 1)!!, with x = s/2
and t = sqrt(x). All terms are positive. They are summed in decimal numbers so long that 1 - erf
keeps twenty digits. `decimal` rounds exp, sqrt and the four operations correctly, to half a unit.

>>> low, high = tail(3.841458820694124)
>>> low < 0.05 < high or abs(low - 0.05) < 1e-15
True
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from separatrix.certificates.enclosure import (
    AT_A_TIME,
    LEAST,
    LEAST_NORMAL,
    UNIT,
    Enclosure,
    above,
    below,
    enclosed,
    rounded,
)

TRUSTED_UNITS = 16.0  # eight units in the last place
TRUSTED = TRUSTED_UNITS * UNIT

# exp(x) = 2^k exp(r), |r| <= 0.35. The first constant has 33 bits: times k it is exact.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_PER_LN2 = 1.4426950408889634  # only chooses k
_LEAST_EXPONENT, _MOST_EXPONENT = -746.0, 709.0
_TAYLOR = tuple(1.0 / math.factorial(n) for n in range(13, -1, -1))
_ATANH = tuple(1.0 / n for n in range(31, 0, -2))
# Relative errors: 4 u seen against balls of 300 bits; counted by hand 16 u for exp and log, and
# 34 u for `softplus` and `entropy`, which take two of them.
FUNCTION_ERROR = 64.0 * UNIT
_SURE = 690.0


def exp(values: Any) -> Enclosure:
    """Enclose e to the power of the numbers."""
    values = enclosed(values)
    found = _growing(_exp, values)
    low = np.where(values.low >= _LEAST_EXPONENT, np.maximum(found.low, 0.0), 0.0)
    return Enclosure(low, np.where(values.high > _MOST_EXPONENT, math.inf, found.high))


def log(values: Any) -> Enclosure:
    """Enclose the logarithms; there is no bound below that of zero."""
    return _growing(_log, enclosed(values))


def log1p(values: Any) -> Enclosure:
    """Enclose log(1 + t)."""
    return _growing(_log1p, enclosed(values))


def softplus(values: Any) -> Enclosure:
    """Enclose log(1 + e^z): one look is enough, at the upper end.

    The function is convex. Its slope is below 1, and below its value: log(1 + t) >= t / (1 + t).
    """
    values = enclosed(values)
    with np.errstate(all="ignore"):
        value, off = _computed(_softplus, values.high)
        low, high = below(value - off), np.fmin(value + off, math.inf)
        if values.low is not values.high:
            away = above(values.high - values.low)
            low = below(low - above(np.minimum(high, 1.0) * away))
        return Enclosure(np.maximum(low, 0.0), high)


def entropy(values: Any) -> Enclosure:
    """Enclose the entropy of p and 1 - p for p within [0, 1/2].

    It grows with p, and over p it falls: the value at the upper end bounds both.
    """
    values = enclosed(values).at_least(0.0).at_most(0.5)
    with np.errstate(all="ignore"):
        p = np.maximum(values.high, LEAST)
        value, off = _computed(_entropy, p)
        low = below(value - off)
        if values.low is not values.high:
            low = below(low * below(values.low / p))
        low = np.where(values.low > 0.0, np.maximum(low, 0.0), 0.0)
        return Enclosure(low, np.where(values.high > 0.0, value + off, 0.0))


def softplus_values(values: np.ndarray) -> np.ndarray:
    """Return log(1 + e^z) as computed: off by a share of `FUNCTION_ERROR`, and by 2 LEAST."""
    return _by_stretches(_softplus, values)


def entropies(values: np.ndarray) -> np.ndarray:
    """Return the entropy of p within [0, 1/2] and 1 - p as computed, off by no more than that.

    Below the least normal number p is taken for it.
    """
    return _by_stretches(_entropy, np.maximum(values, LEAST_NORMAL))


def _growing(function: Callable[[np.ndarray], np.ndarray], values: Enclosure) -> Enclosure:
    """Enclose a growing function from its values at both ends."""
    with np.errstate(all="ignore"):
        low, off = high, more = _computed(function, values.low)
        if values.low is not values.high:
            high, more = _computed(function, values.high)
        return Enclosure(np.fmax(low - off, -math.inf), np.fmin(high + more, math.inf))


def _computed(
    function: Callable[[np.ndarray], np.ndarray], values: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return values and bounds on their errors, by stretches that stay in the cache."""
    found = _by_stretches(function, np.asarray(values))
    return found, FUNCTION_ERROR * abs(found) + 2.0 * LEAST


def _by_stretches(function: Callable[[np.ndarray], np.ndarray], values: np.ndarray) -> np.ndarray:
    if values.size <= 2 * AT_A_TIME:
        return function(np.atleast_1d(values)).reshape(values.shape)
    flat, out = values.reshape(-1), np.empty(values.size)
    for begin in range(0, values.size, AT_A_TIME):
        out[begin : begin + AT_A_TIME] = function(flat[begin : begin + AT_A_TIME])
    return out.reshape(values.shape)


class Chances(NamedTuple):
    """Probabilities as computed, and by which shares of them the exact ones may differ."""

    above: np.ndarray  # 1 / (1 + e^-|eta|)
    below: np.ndarray  # the rest
    losses: np.ndarray  # -log above
    share: np.ndarray  # of above, and of losses but for what eta is off
    below_share: np.ndarray


def chances(eta: np.ndarray, doubt: np.ndarray) -> Chances:
    """Return the probabilities of linear predictors that may be off by `doubt`, 1/1000 at most.

    Both change by a share of e^doubt - 1 at most. Beyond 690 the smaller one is some number from 0
    to twice e^-690.
    """
    far = abs(eta)
    e = _by_stretches(_exp, -np.minimum(far, _SURE))
    above = 1.0 / (1.0 + e)
    # Two functions, and fewer than ten roundings.
    share = 1.02 * doubt + 2.5 * FUNCTION_ERROR
    below_share = np.where(far < _SURE, share, 1.0)
    return Chances(above, e * above, _by_stretches(_log1p, e), share, below_share)


def _exp(x: np.ndarray) -> np.ndarray:
    """Return 2^k times the Taylor series of degree 13 at r = x - k ln 2 (Cody and Waite)."""
    held = np.fmin(np.fmax(x, _LEAST_EXPONENT), _MOST_EXPONENT)
    k = held * _PER_LN2
    np.rint(k, out=k)
    held -= k * _LN2_HIGH
    held -= k * _LN2_LOW
    value = np.full(held.shape, _TAYLOR[0])
    for coefficient in _TAYLOR[1:]:
        value *= held
        value += coefficient
    # Two powers of two that are normal numbers each: only the last product may round.
    power = k.astype(np.int64)
    half = power >> 1
    for part in (half, power - half):
        value *= ((part + 1023) << 52).view(np.float64)
    return value


def _log_of(s: np.ndarray) -> np.ndarray:
    """Return 2 atanh(s) = log((1 + s) / (1 - s)) for |s| <= 1/3 by 16 terms."""
    square = s * s
    value = np.full(s.shape, _ATANH[0])
    for coefficient in _ATANH[1:]:
        value *= square
        value += coefficient
    value *= s
    value *= 2.0
    return value


def _log(x: np.ndarray) -> np.ndarray:
    """Return log m + e ln 2 for x = m 2^e, m within a factor of root 2 of 1."""
    m, power = np.frexp(x)
    small = m < 0.7071
    m += np.where(small, m, 0.0)
    e = np.subtract(power, small, dtype=np.float64)
    value = _log_of((m - 1.0) / (m + 1.0)) + e * _LN2_LOW + e * _LN2_HIGH
    usual = (x > 0.0) & (x < math.inf)
    if usual.all():
        return value
    value = np.where(x == 0.0, -math.inf, np.where(x == math.inf, x, value))
    return np.where(x < 0.0, math.nan, value)


def _log1p(t: np.ndarray) -> np.ndarray:
    """Return log(1 + t): by the series near 0, else by the logarithm of 1 + t."""
    near = (t >= -0.5) & (t <= 1.0)
    if near.all():
        return _log_of(t / (2.0 + t))
    small = np.where(near, t, 0.0)
    return np.where(near, _log_of(small / (2.0 + small)), _log(1.0 + t))


def _softplus(z: np.ndarray) -> np.ndarray:
    """Return log(1 + e^z), for large and small z alike: the sum has no terms that cancel."""
    value = _log1p(_exp(-abs(z)))
    value += np.maximum(z, 0.0)
    return value


def _entropy(p: np.ndarray) -> np.ndarray:
    """Return -p log p - (1 - p) log(1 - p) for p within (0, 1/2]: neither term is negative."""
    value = _log1p(-p)
    value *= p - 1.0
    value -= p * _log(p)
    return value


@cache
def require_functions() -> None:
    """Try NumPy's functions beside the enclosed ones; refuse where they are not what is assumed."""
    tried = -np.concatenate([np.linspace(0.0, 45.0, 8192), np.geomspace(1e-18, 700.0, 8192)])
    powers, twice = np.exp(tried), exp(2.0 * tried)
    single = tried.astype(np.float32)
    small = np.exp(single).astype(np.float64)
    for true, computed, share, least in (
        (exp(tried), powers, TRUSTED, LEAST),
        (exp(single.astype(np.float64)), small, 8.0 * 2.0**-24, 2.0**-149),
        ((twice - 1.0) / (twice + 1.0), np.tanh(tried), 0.0, TRUSTED),
        (log(powers), np.log(powers), TRUSTED, LEAST),
        (log1p(powers), np.log1p(powers), TRUSTED, LEAST),
    ):
        found = Enclosure.around(computed, share * abs(computed) + least)
        if not ((true.low <= found.high) & (found.low <= true.high)).all():
            raise ArithmeticError(
                "NumPy's exp, log or tanh is off by more than eight units in the last place on "
                "this computer, and no bound that needs many of their values can be proved with it."
            )


# ---- tail and quantile of the chi-squared distribution with one degree of freedom, enclosed


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
def _tail(value: float) -> tuple[Fraction, Fraction]:
    """Return fractions below and above the probability of more than `value`."""
    if not 0.0 < value <= _FARTHEST:
        low, high = value <= 0.0, 2.0**-996 if value > 0.0 else 1.0
        return Fraction(low), Fraction(high)
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
    return max(left - doubt, Fraction(0)), min(left + doubt, Fraction(1))


def tail(value: float) -> tuple[float, float]:
    """Return floats below and above the probability of more than `value`."""
    low, high = _tail(value)
    return rounded(low)[0], rounded(high)[1]


def quantile(level: float, guess: float) -> tuple[float, float]:
    """Return floats around the value that is exceeded with probability 1 - level.

    The guess is anyone's; two tails prove that the value lies next to it.
    """
    beyond = 1 - Fraction(level)
    low, high = guess * (1.0 - _WIDER), guess * (1.0 + _WIDER)
    if not _tail(low)[0] > beyond > _tail(high)[1] or not math.isfinite(high):
        raise ArithmeticError(f"{guess} is not the quantile of {level}")
    return low, high


def tails(low: float, high: float) -> tuple[float, float]:
    """Return floats around the tails of all values between two."""
    return tail(high)[0], tail(low)[1]
