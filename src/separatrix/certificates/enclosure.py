"""The one arithmetic of all bounds: numbers known to lie between two float64 arrays.

An `Enclosure` is a pair (low, high). Every operation rounds outwards, so that the exact result for
any numbers within the operands lies within the result. What overflows becomes infinite on the safe
side, what is not a number widens to everything, and zero times an unbounded number is zero.

Trusted: float64 addition, subtraction, multiplication, division and square root round to nearest
as IEEE 754 says, denormals included (tested when this module is imported). Nothing of libm is
trusted: `exp`, `log` and what is built on them is made of those operations, its error stated.

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

__all__ = [
    "LEAST",
    "UNIT",
    "Enclosure",
    "entropy",
    "exp",
    "log",
    "log1p",
    "require_denormals",
    "rounded",
    "softplus",
    "sum_of",
]

UNIT = 2.0**-53  # half the distance from 1 to the next float64
LEAST = 2.0**-1074  # the least positive float64
# |c| times this, and the least number, reach the next float64 (Rump, Zimmermann, Boldo, Melquiond
# 2009): c - e is not above the one before c, and c + e not below the one after.
_NEXT = UNIT * (1.0 + 2.0 * UNIT)
_SUMMANDS = 256
_AT_A_TIME = 1 << 13

# exp(x) = 2^k exp(r), |r| <= 0.35. The first constant has 33 bits: times k it is exact.
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_PER_LN2 = 1.4426950408889634  # only chooses k
_LEAST_EXPONENT, _MOST_EXPONENT = -746.0, 709.0
_TAYLOR = tuple(1.0 / math.factorial(n) for n in range(13, -1, -1))
_ATANH = tuple(1.0 / n for n in range(31, 0, -2))
# Relative errors: 4 u seen against balls of 300 bits; counted by hand 16 u for exp and log, and
# 34 u for `softplus` and `entropy`, which take two of them.
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


def _ends(one: Enclosure, other: Enclosure) -> list[tuple[Any, Any]]:
    """Pair the ends of two enclosures; what is exact has one end."""
    ends = [(one.low, other.low)]
    if one.low is not one.high:
        ends.append((one.high, other.low))
    if other.low is not other.high:
        ends += [(end, other.high) for end, _ in ends]
    return ends


def _outwards(ends: list[Any]) -> Enclosure:
    """Enclose what lies between the least and the largest end; NaN widens."""
    least = most = ends[0]
    for end in ends[1:]:
        least, most = np.minimum(least, end), np.maximum(most, end)
    return Enclosure(_below(least), _above(most))


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

    def _each(self, function: Callable[[Any], Any]) -> Enclosure:
        """Apply a growing function that rounds nothing; what is exact stays one array."""
        low = function(self.low)
        return Enclosure(low, low if self.low is self.high else function(self.high))

    def __getitem__(self, at: Any) -> Enclosure:
        return self._each(lambda ends: ends[at])

    def __neg__(self) -> Enclosure:
        return Enclosure(self.high, self.low)._each(np.negative)

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
            return _outwards([_times(a, b) for a, b in _ends(self, other)])

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Enclosure:
        other = _enclosed(other)
        with np.errstate(all="ignore"):
            found = _outwards([a / b for a, b in _ends(self, other)])
            around_zero = (other.low <= 0.0) & (other.high >= 0.0)
            if not around_zero.any():
                return found
            return Enclosure(
                np.where(around_zero, -math.inf, found.low),
                np.where(around_zero, math.inf, found.high),
            )

    def __rtruediv__(self, other: Any) -> Enclosure:
        return _enclosed(other) / self

    def times_sign(self, signs: np.ndarray) -> Enclosure:
        """Multiply by -1, 0 or 1, which rounds nothing."""
        turned = signs < 0.0
        low = np.where(turned, -self.high, self.low)
        high = np.where(turned, -self.low, self.high)
        if (signs == 0.0).any():
            low, high = np.where(signs == 0.0, 0.0, low), np.where(signs == 0.0, 0.0, high)
        return Enclosure(low, high)

    def halved(self) -> Enclosure:
        """Divide by two, which rounds denormals alone."""
        low, high = 0.5 * self.low, 0.5 * self.high
        return Enclosure(
            np.where(2.0 * low == self.low, low, low - LEAST),
            np.where(2.0 * high == self.high, high, high + LEAST),
        )

    def size(self) -> Enclosure:
        """Return the absolute values."""
        if self.low is self.high:
            return self._each(np.abs)
        far, near = np.maximum(-self.low, self.high), np.maximum(self.low, -self.high)
        return Enclosure(np.maximum(near, 0.0), far)

    def at_least(self, floor: float) -> Enclosure:
        """Return the larger of each number and the floor, without rounding."""
        return self._each(lambda ends: np.maximum(ends, floor))

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


def sum_of(terms: Callable[..., Enclosure], *rows: Any) -> Enclosure:
    """Enclose the sum over rows of what `terms` makes of each, a stretch of rows at a time.

    >>> two = Enclosure.exact(np.array([1.0, 2.0]))
    >>> bool(sum_of(lambda a, b: a * b, two, np.ones(2)).contains(3.0))
    True
    """
    count, found = len(rows[0].low if isinstance(rows[0], Enclosure) else rows[0]), []
    for begin in range(0, count, _AT_A_TIME):
        found.append(terms(*(each[begin : begin + _AT_A_TIME] for each in rows)).sum())
    return Enclosure(
        np.array([each.low for each in found]), np.array([each.high for each in found])
    ).sum()


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
            low = high = _in_pieces(function, values.low)
            off = above = _FUNCTION_ERROR * abs(low) + 2.0 * LEAST
            if values.low is not values.high:
                high = _in_pieces(function, values.high)
                above = _FUNCTION_ERROR * abs(high) + 2.0 * LEAST
            return Enclosure(np.fmax(low - off, -math.inf), np.fmin(high + above, math.inf))

    return enclosed


def _in_pieces(function: Callable[[np.ndarray], np.ndarray], values: Any) -> np.ndarray:
    """Apply a function to stretches that stay in the processor's cache."""
    values = np.asarray(values)
    if 0 < values.size <= _AT_A_TIME and values.ndim == 1:
        return function(values)
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


_exp_enclosed, log, log1p = map(_monotone, (_exp, _log, _log1p))


def exp(values: Any) -> Enclosure:
    """Enclose e to the power of the numbers: never below zero, and above 709 without a bound."""
    values = _enclosed(values)
    found = _exp_enclosed(values)
    low, high = np.maximum(found.low, 0.0), found.high
    if not (values.low >= _LEAST_EXPONENT).all():
        low = np.where(values.low >= _LEAST_EXPONENT, low, 0.0)
    if not (values.high <= _MOST_EXPONENT).all():
        high = np.where(values.high > _MOST_EXPONENT, math.inf, high)
    return Enclosure(low, high)


def _softplus(z: np.ndarray) -> np.ndarray:
    """Return log(1 + e^z), for large and small z alike: the sum has no terms that cancel."""
    value = _log1p(_exp(-abs(z)))
    value += np.maximum(z, 0.0)
    return value


def softplus(values: Any) -> Enclosure:
    """Enclose log(1 + e^z), which grows with z, and by no more than z does: one look is enough."""
    values = _enclosed(values)
    with np.errstate(all="ignore"):
        value = _in_pieces(_softplus, values.high)
        off = _FUNCTION_ERROR * value + 2.0 * LEAST
        low = _below(value - off)
        if values.low is not values.high:
            low = _below(low - _above(values.high - values.low))
        return Enclosure(np.maximum(low, 0.0), np.fmin(value + off, math.inf))


def _entropy(p: np.ndarray) -> np.ndarray:
    """Return -p log p - (1 - p) log(1 - p) for p within (0, 1/2]: neither term is negative."""
    value = _log1p(-p)
    value *= p - 1.0
    value -= p * _log(p)
    return value


def entropy(values: Any) -> Enclosure:
    """Enclose the entropy of p and 1 - p for p within [0, 1/2].

    It grows with p, and over p it falls: the value at the upper end bounds both.
    """
    values = _enclosed(values).at_least(0.0).at_most(0.5)
    with np.errstate(all="ignore"):
        p = np.maximum(values.high, LEAST)
        value = _in_pieces(_entropy, p)
        off = _FUNCTION_ERROR * value + 2.0 * LEAST
        low = _below(value - off)
        if values.low is not values.high:
            low = _below(low * _below(values.low / p))
        low = np.where(values.low > 0.0, np.maximum(low, 0.0), 0.0)
        return Enclosure(low, np.where(values.high > 0.0, value + off, 0.0))
