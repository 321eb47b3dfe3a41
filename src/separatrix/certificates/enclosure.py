"""The one arithmetic of all bounds: numbers known to lie between two float64 arrays.

An `Enclosure` is a pair (low, high). Every operation rounds outwards, so that the exact result for
any numbers within the operands lies within the result. What overflows becomes infinite on the safe
side, what is not a number widens to everything, and zero times an unbounded number is zero.

Trusted: float64 addition, subtraction, multiplication, division and square root round to nearest
as IEEE 754 says, denormals included (tested when this module is imported). Nothing of libm is
trusted: `exp`, `log` and `log1p` are made of those operations, with their error stated.

>>> third = Enclosure.exact(1.0) / 3.0
>>> bool(third.low < third.high), bool((3.0 * third - 1.0).contains(0.0))
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["LEAST", "UNIT", "Enclosure", "exp", "log", "log1p", "require_denormals", "rounded"]

UNIT = 2.0**-53  # half the distance from 1 to the next float64
LEAST = 2.0**-1074  # the least positive float64
# |c| times this, and the least number, reach the next float64 (Rump, Zimmermann, Boldo, Melquiond
# 2009): c - e is not above the one before c, and c + e not below the one after.
_NEXT = UNIT * (1.0 + 2.0 * UNIT)
_SUMMANDS = 256
_AT_A_TIME = 1 << 14

# exp(x) = 2^k exp(r), |r| <= 0.35. The first constant has 33 bits: times k it is exact.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_PER_LN2 = 1.4426950408889634  # only chooses k
_LEAST_EXPONENT, _MOST_EXPONENT = -746.0, 709.0
_TAYLOR = tuple(1.0 / math.factorial(n) for n in range(13, -1, -1))
_ATANH = tuple(1.0 / n for n in range(37, 0, -2))
# Relative errors: 4 u seen against balls of 300 bits, 16 u counted by hand.
_FUNCTION_ERROR = 64.0 * UNIT


def require_denormals() -> None:
    """Refuse to go on where denormals are flushed to zero, as some compiled libraries make them."""
    tiny = np.full(4, 2.0**-1022)
    if not (tiny * 0.5 > 0.0).all() or not (tiny * 0.5 + tiny * 0.5 == tiny).all():
        raise ArithmeticError(
            "This process flushes denormal numbers to zero, and no bound can be proved without "
            "them. A library compiled with -ffast-math does that: do not load it here."
        )


require_denormals()


def _below(values: Any) -> Any:
    """Return numbers below the given ones; NaN becomes -inf."""
    away = abs(values)
    away *= _NEXT
    away += LEAST
    return np.fmax(values - away, -math.inf)


def _above(values: Any) -> Any:
    """Return numbers above the given ones; NaN becomes inf."""
    away = abs(values)
    away *= _NEXT
    away += LEAST
    return np.fmin(values + away, math.inf)


def _times(a: Any, b: Any) -> Any:
    """Return products; zero times infinity is zero."""
    product = a * b
    if np.isnan(product).any():
        product = np.where((a == 0.0) | (b == 0.0), 0.0, product)
    return product


@dataclass(frozen=True, eq=False)
class Enclosure:
    """Numbers that are not below `low` and not above `high`."""

    low: Any  # arrays or numbers of float64, never NaN
    high: Any

    __array_ufunc__ = None  # array * Enclosure is ours to compute

    @classmethod
    def exact(cls, values: Any) -> Enclosure:
        """Enclose numbers that are known without error; refuse those that float64 does not hold."""
        given = np.asarray(values)
        floats = np.asarray(given, dtype=np.float64)
        if given.dtype.kind in "iu":
            if ((given > 2**53) | (given < -(2**53))).any():
                raise ValueError("whole numbers beyond 2^53 must not be rounded to float64")
        elif given.dtype not in (np.float16, np.float32, np.float64, np.bool_):
            raise ValueError(f"numbers of type {given.dtype} must not be rounded to float64")
        if np.isnan(floats).any():
            return cls(
                np.where(np.isnan(floats), -math.inf, floats),
                np.where(np.isnan(floats), math.inf, floats),
            )
        return cls(floats, floats)

    @classmethod
    def around(cls, values: Any, errors: Any) -> Enclosure:
        """Enclose numbers that differ from the given ones by no more than `errors`."""
        with np.errstate(all="ignore"):
            return cls(_below(values - errors), _above(values + errors))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of both arrays."""
        return np.shape(self.low)

    @property
    def middle(self) -> np.ndarray:
        """About the numbers themselves, for those who look at them: no claim may rest on these."""
        with np.errstate(invalid="ignore"):
            return np.asarray(0.5 * self.low + 0.5 * self.high)

    @property
    def is_finite(self) -> bool:
        """Whether no bound is infinite."""
        return bool(np.isfinite(self.low).all() and np.isfinite(self.high).all())

    def contains(self, values: Any) -> np.ndarray:
        """Whether the numbers lie within the bounds."""
        return np.asarray((self.low <= values) & (values <= self.high))

    def __getitem__(self, at: Any) -> Enclosure:
        return Enclosure(self.low[at], self.high[at])

    def __neg__(self) -> Enclosure:
        return Enclosure(-self.high, -self.low)

    def __add__(self, other: Any) -> Enclosure:
        other = _enclosed(other)
        with np.errstate(all="ignore"):
            return Enclosure(_below(self.low + other.low), _above(self.high + other.high))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Enclosure:
        return self + (-_enclosed(other))

    def __rsub__(self, other: Any) -> Enclosure:
        return (-self) + other

    def __mul__(self, other: Any) -> Enclosure:
        other = _enclosed(other)
        with np.errstate(all="ignore"):
            ends = [_times(self.low, other.low), _times(self.high, other.high)]
            if self.low is not self.high and other.low is not other.high:
                ends += [_times(self.low, other.high), _times(self.high, other.low)]
            least, most = ends[0], ends[0]
            for end in ends[1:]:  # NaN stays NaN, and widens
                least, most = np.minimum(least, end), np.maximum(most, end)
            return Enclosure(_below(least), _above(most))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Enclosure:
        other = _enclosed(other)
        with np.errstate(all="ignore"):
            ends = [self.low / other.low, self.high / other.high,
                    self.low / other.high, self.high / other.low]  # fmt: skip
            least, most = np.minimum.reduce(ends), np.maximum.reduce(ends)
            around_zero = (other.low <= 0.0) & (other.high >= 0.0)
            least = np.where(around_zero, -math.inf, least)
            return Enclosure(_below(least), _above(np.where(around_zero, math.inf, most)))

    def __rtruediv__(self, other: Any) -> Enclosure:
        return _enclosed(other) / self

    def times_sign(self, signs: np.ndarray) -> Enclosure:
        """Multiply by -1, 0 or 1, which rounds nothing."""
        with np.errstate(invalid="ignore"):
            ends = _times(signs, self.low), _times(signs, self.high)
        return Enclosure(np.minimum(*ends), np.maximum(*ends))

    def halved(self) -> Enclosure:
        """Divide by two, which rounds denormals alone."""
        low, high = 0.5 * self.low, 0.5 * self.high
        return Enclosure(
            np.where(2.0 * low == self.low, low, low - LEAST),
            np.where(2.0 * high == self.high, high, high + LEAST),
        )

    def size(self) -> Enclosure:
        """Return the absolute values."""
        far, near = np.maximum(-self.low, self.high), np.maximum(self.low, -self.high)
        return Enclosure(np.maximum(near, 0.0), far)

    def at_least(self, floor: float) -> Enclosure:
        """Return the larger of each number and the floor, without rounding."""
        return Enclosure(np.maximum(self.low, floor), np.maximum(self.high, floor))

    def at_most(self, ceiling: Any) -> Enclosure:
        """Return the smaller of each number and the ceiling, without rounding."""
        ceiling = _enclosed(ceiling)
        return Enclosure(np.minimum(self.low, ceiling.low), np.minimum(self.high, ceiling.high))

    def square(self) -> Enclosure:
        """Return the squares: never below zero."""
        size = self.size()
        with np.errstate(all="ignore"):
            low = _below(size.low * size.low)
            return Enclosure(np.maximum(low, 0.0), _above(size.high * size.high))

    def root(self) -> Enclosure:
        """Return the square roots of what is not below zero in either bound."""
        with np.errstate(all="ignore"):
            low = _below(np.sqrt(np.maximum(self.low, 0.0)))
            return Enclosure(np.maximum(low, 0.0), _above(np.sqrt(self.high)))

    def sum(self) -> Enclosure:
        """Return the sum of all the numbers."""
        with np.errstate(all="ignore"):
            low, off = _sum(self.low)
            below = _below(np.float64(low - off))
            if self.low is not self.high:
                low, off = _sum(self.high)
            return Enclosure(below, _above(np.float64(low + off)))

    def column_max(self) -> Enclosure:
        """Return the largest number of every row of a matrix."""
        return Enclosure(self.low.max(axis=1), self.high.max(axis=1))


def _enclosed(values: Any) -> Enclosure:
    return values if isinstance(values, Enclosure) else Enclosure.exact(values)


def _sum(values: np.ndarray) -> tuple[float, float]:
    """Return about the sum, and a bound on what short stretches lost.

    `fsum` rounds once more: without stretches the outward step of the caller covers that, with them
    the two units that the bound has to spare.
    """
    values, error = np.ravel(values), 0.0
    try:
        if len(values) > _SUMMANDS:
            starts = np.arange(0, len(values), _SUMMANDS)
            sizes = math.fsum(np.add.reduceat(abs(values), starts).tolist())
            values = np.add.reduceat(values, starts)
            error = 1.001 * (_SUMMANDS + 2.0) * UNIT * sizes
        total = math.fsum(values.tolist())
    except (OverflowError, ValueError):
        return math.nan, math.nan
    return total, error


def rounded(value: Fraction) -> tuple[float, float]:
    """Return the float64 numbers next to an exact one, below and above; the same where it is one.

    >>> rounded(Fraction(1, 4)), rounded(Fraction(1, 3)) == (1 / 3, math.nextafter(1 / 3, 1.0))
    ((0.25, 0.25), True)
    """
    try:
        near = float(value)
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    if math.isinf(near):
        most = math.nextafter(math.inf, 0.0)
        return (most, math.inf) if near > 0.0 else (-math.inf, -most)
    low = near if Fraction(near) <= value else math.nextafter(near, -math.inf)
    exact = math.isfinite(low) and Fraction(low) == value
    return low, low if exact else math.nextafter(low, math.inf)


def _monotone(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[Any], Enclosure]:
    """Enclose a growing function that is computed to `_FUNCTION_ERROR` and one least number."""

    def enclosed(values: Any) -> Enclosure:
        values = _enclosed(values)
        with np.errstate(all="ignore"):
            low = _in_pieces(function, values.low)
            high = low if values.low is values.high else _in_pieces(function, values.high)
            return Enclosure(
                np.fmax(low - (_FUNCTION_ERROR * abs(low) + 2.0 * LEAST), -math.inf),
                np.fmin(high + (_FUNCTION_ERROR * abs(high) + 2.0 * LEAST), math.inf),
            )

    return enclosed


def _in_pieces(function: Callable[[np.ndarray], np.ndarray], values: Any) -> np.ndarray:
    """Apply a function to stretches that stay in the processor's cache."""
    values = np.asarray(values)
    flat, out = values.reshape(-1), np.empty(values.size)
    for begin in range(0, values.size, _AT_A_TIME):
        out[begin : begin + _AT_A_TIME] = function(flat[begin : begin + _AT_A_TIME])
    return out.reshape(values.shape)


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
    """Return 2 atanh(s) = log((1 + s) / (1 - s)) for |s| <= 1/3 by 19 terms."""
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
    m, e = np.frexp(x)
    small = m < 0.7071
    m = np.where(small, 2.0 * m, m)
    e = (e - small).astype(np.float64)
    value = _log_of((m - 1.0) / (m + 1.0)) + e * _LN2_LOW + e * _LN2_HIGH
    value = np.where(x == 0.0, -math.inf, value)
    return np.where(x > 0.0, np.where(x == math.inf, x, value), np.where(x < 0.0, math.nan, value))


def _log1p(t: np.ndarray) -> np.ndarray:
    """Return log(1 + t): by the series near 0, else by the logarithm of 1 + t."""
    near = (t >= -0.5) & (t <= 1.0)
    value = _log_of(np.where(near, t, 0.0) / (2.0 + np.where(near, t, 0.0)))
    return value if near.all() else np.where(near, value, _log(1.0 + t))


_exp_enclosed, log, log1p = map(_monotone, (_exp, _log, _log1p))


def exp(values: Any) -> Enclosure:
    """Enclose e to the power of the numbers: never below zero, and above 709 without a bound."""
    values = _enclosed(values)
    found = _exp_enclosed(values)
    low = np.where(values.low >= _LEAST_EXPONENT, found.low, 0.0)
    high = np.where(values.high > _MOST_EXPONENT, math.inf, found.high)
    return Enclosure(np.maximum(low, 0.0), high)
