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
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
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
