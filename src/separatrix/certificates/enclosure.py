"""The one arithmetic of all bounds: numbers known to lie between two float64 arrays.

An `Enclosure` is a pair (low, high). Every operation rounds outwards, so that the exact result for
any numbers within the operands lies within the result. What overflows becomes infinite on the safe
side, what is not a number widens to everything, and zero times an unbounded number is zero.

Trusted: float64 addition, subtraction, multiplication, division and square root round to nearest
as IEEE 754 says, denormals included (tested when this module is imported). exp, log and what is
built on them are made of those operations in `enclosed_functions`.

>>> third = Enclosure.exact(1.0) / 3.0
>>> bool(third.low < third.high), bool((3.0 * third - 1.0).contains(0.0))
(True, True)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

UNIT = 2.0**-53  # half the distance from 1 to the next float64
LEAST = 2.0**-1074  # the least positive float64
LEAST_NORMAL = LEAST / UNIT  # twice the least float64 of full precision
# |c| times this, and the least number, reach the next float64 (Rump, Zimmermann, Boldo, Melquiond
# 2009): c - e is not above the one before c, and c + e not below the one after.
_NEXT = UNIT * (1.0 + 2.0 * UNIT)
_SUMMANDS = 256
AT_A_TIME = 1 << 13
_FLOAT64 = np.dtype(np.float64)


# In a list, so that the product is made when it is needed.
_TINY = [2.0**-1022]


def require_denormals() -> None:
    """Refuse to go on where denormals are flushed to zero, as some compiled libraries make them."""
    half = _TINY[0] * 0.5
    if not half > 0.0 or half + half != _TINY[0]:
        raise ArithmeticError(
            "This process flushes denormal numbers to zero, and no bound can be proved without "
            "them. A library compiled with -ffast-math does that: do not load it here."
        )


require_denormals()


def below(values: Any) -> Any:
    """Return numbers below the given ones; NaN becomes -inf."""
    moved = _away(values)
    if isinstance(moved, np.ndarray):
        # In place: a large array costs more to lay out than to compute.
        np.subtract(values, moved, out=moved)
        return np.fmax(moved, -math.inf, out=moved)
    lower = values - moved
    return lower if lower == lower else np.float64(-math.inf)


def above(values: Any) -> Any:
    """Return numbers above the given ones; NaN becomes inf."""
    moved = _away(values)
    if isinstance(moved, np.ndarray):
        moved += values
        return np.fmin(moved, math.inf, out=moved)
    upper = values + moved
    return upper if upper == upper else np.float64(math.inf)


def safely(values: Any) -> Any:
    """Return numbers not below those that were computed, without their rounding.

    For what sums, products and quotients make of numbers that are not below zero, fewer than 2^40
    of them one after another: each errs by a share of 2^-53, or by the least number. A root of what
    vanished errs by more: see `lengths_above`.

    >>> bool(safely(0.1 * 0.3) > 0.03)
    True
    """
    return values * 1.001 + 1e-290


def lengths_above(stack: np.ndarray) -> np.ndarray:
    """Bound the length of each vector or matrix of a stack, also where its squares vanish.

    >>> bool(lengths_above(np.array([[1e-170]]))[0] > 1e-170)
    True
    """
    flat = stack.reshape(len(stack), -1)
    return np.asarray(safely(np.sqrt(safely(np.einsum("ka,ka->k", flat, flat)))))


def _away(values: Any) -> Any:
    """Return how far the numbers next to these may be."""
    away = abs(values)
    away *= _NEXT
    away += LEAST
    return away


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
    return Enclosure(below(least), above(most))


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
        if given.dtype is _FLOAT64 and not np.isnan(given).any():
            return cls(given, given)
        floats = np.asarray(given, dtype=np.float64)
        if given.dtype.kind in "iu":
            if ((given > 2**53) | (given < -(2**53))).any():
                raise ValueError("whole numbers beyond 2^53 must not be rounded to float64")
        elif given.dtype not in (np.float16, np.float32, np.float64, np.bool_):
            raise ValueError(f"numbers of type {given.dtype} must not be rounded to float64")
        if np.isnan(floats).any():
            return cls(np.fmax(floats, -math.inf), np.fmin(floats, math.inf))
        return cls(floats, floats)

    @classmethod
    def stacked(cls, parts: Sequence[Enclosure]) -> Enclosure:
        """Make one enclosure of several, along a new first axis."""
        return cls(np.array([part.low for part in parts]), np.array([part.high for part in parts]))

    @classmethod
    def joined(cls, parts: Sequence[Enclosure]) -> Enclosure:
        """Make one enclosure of several, one after another along the first axis."""
        ends = ([part.low for part in parts], [part.high for part in parts])
        return cls(*map(np.concatenate, ends))

    @classmethod
    def around(cls, values: Any, errors: Any) -> Enclosure:
        """Enclose numbers that differ from the given ones by no more than `errors`."""
        with np.errstate(all="ignore"):
            return cls(below(values - errors), above(values + errors))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of both arrays."""
        return np.shape(self.low)

    @property
    def T(self) -> Enclosure:
        """The transpose."""
        return self._each(np.transpose)

    def diagonal(self) -> Enclosure:
        """Return the diagonal of a matrix, or the matrix that has these numbers there."""
        return self._each(np.diag)

    @property
    def middle(self) -> np.ndarray:
        """About the numbers themselves: without their `radius` no claim may rest on these."""
        if self.low is self.high:
            return np.asarray(self.low)
        with np.errstate(invalid="ignore"):
            between = 0.5 * self.low + 0.5 * self.high
            return np.asarray(np.where(self.low == self.high, self.low, between))

    @property
    def radius(self) -> np.ndarray:
        """No number is further from `middle` than this."""
        middle = self.middle
        with np.errstate(all="ignore"):
            away = np.maximum(above(self.high - middle), above(middle - self.low))
            return np.asarray(np.where(self.low == self.high, 0.0, away))

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
        other = enclosed(other)
        with np.errstate(all="ignore"):
            return Enclosure(below(self.low + other.low), above(self.high + other.high))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Enclosure:
        return self + (-enclosed(other))

    def __rsub__(self, other: Any) -> Enclosure:
        return (-self) + other

    def __mul__(self, other: Any) -> Enclosure:
        other = enclosed(other)
        with np.errstate(all="ignore"):
            return _outwards([_times(a, b) for a, b in _ends(self, other)])

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Enclosure:
        other = enclosed(other)
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
        return enclosed(other) / self

    def times_sign(self, signs: np.ndarray) -> Enclosure:
        """Multiply by -1, 0 or 1, which rounds nothing."""
        turned = signs < 0.0
        low = np.where(turned, -self.high, self.low)
        high = np.where(turned, -self.low, self.high)
        if (signs == 0.0).any():
            low, high = np.where(signs == 0.0, 0.0, low), np.where(signs == 0.0, 0.0, high)
        return Enclosure(low, high)

    def scaled(self, powers: Any) -> Enclosure:
        """Multiply by powers of two, which rounds what leaves the range alone."""
        with np.errstate(all="ignore"):
            low, high = np.ldexp(self.low, powers), np.ldexp(self.high, powers)
            opposite = np.negative(powers)
            return Enclosure(
                np.where(np.ldexp(low, opposite) == self.low, low, below(low)),
                np.where(np.ldexp(high, opposite) == self.high, high, above(high)),
            )

    def halved(self) -> Enclosure:
        """Divide by two."""
        if isinstance(self.low, float) and isinstance(self.high, float):
            low, high = 0.5 * self.low, 0.5 * self.high
            return Enclosure(
                low if 2.0 * low == self.low else below(low),
                high if 2.0 * high == self.high else above(high),
            )
        return self.scaled(-1)

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
        ceiling = enclosed(ceiling)
        return Enclosure(np.minimum(self.low, ceiling.low), np.minimum(self.high, ceiling.high))

    def square(self) -> Enclosure:
        """Return the squares: never below zero."""
        size = self.size()
        with np.errstate(all="ignore"):
            low = below(size.low * size.low)
            return Enclosure(np.maximum(low, 0.0), above(size.high * size.high))

    def root(self) -> Enclosure:
        """Return the square roots of what is not below zero in either bound."""
        with np.errstate(all="ignore"):
            low = below(np.sqrt(np.maximum(self.low, 0.0)))
            return Enclosure(np.maximum(low, 0.0), above(np.sqrt(self.high)))

    def sum(self) -> Enclosure:
        """Return the sum of all the numbers."""
        with np.errstate(all="ignore"):
            low, off = high, more = _sum(self.low)
            if self.low is not self.high:
                high, more = _sum(self.high)
            return Enclosure(below(np.float64(low - off)), above(np.float64(high + more)))

    def column_sums(self) -> Enclosure:
        """Return the sum of every column of a matrix."""
        return Enclosure.stacked([self[:, k].sum() for k in range(self.shape[1])])

    def column_max(self) -> Enclosure:
        """Return the largest number of every row of a matrix."""
        return Enclosure(self.low.max(axis=1), self.high.max(axis=1))


def enclosed(values: Any) -> Enclosure:
    """Return enclosures as they are, and numbers as exact ones."""
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
    first = rows[0].low if isinstance(rows[0], Enclosure) else rows[0]
    step = max(1, 8 * AT_A_TIME * len(first) // max(1, first.size))
    if 0 < len(first) <= step:
        return terms(*rows).sum()
    stretches = (slice(begin, begin + step) for begin in range(0, len(first), step))
    return Enclosure.stacked([terms(*(each[s] for each in rows)).sum() for s in stretches]).sum()


def rounded(value: Fraction) -> tuple[float, float]:
    """Return the float64 numbers next to an exact one, below and above; the same where it is one.

    >>> rounded(Fraction(1, 4)), rounded(Fraction(1, 3)) == (1 / 3, math.nextafter(1 / 3, 1.0))
    ((0.25, 0.25), True)
    """
    try:
        near = float(value)
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    low = near if near <= value else math.nextafter(near, -math.inf)
    return low, near if near >= value else math.nextafter(near, math.inf)
