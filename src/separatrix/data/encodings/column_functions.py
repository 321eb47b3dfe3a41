"""Piecewise linear functions of one column: its rank, and the parts of a linear spline.

    rank     the share of training rows below x, standardised, through at most 256 quantiles
    spline   (min(max(x, low), high) - mean) / deviation, one for each interval between quantiles

A linear combination of x and the parts of its spline is any continuous function that is linear
between those quantiles: the model is additive in the columns. Beyond the training rows a part is
constant.

Random cosines of standardised columns, the same bits on every computer.

    cos 2 pi (u_k . z + t_k)    for k = 1 ... D,  z the standardised row

The mean over k of the product of two rows' cosines is about exp(-gamma |z - z'|^2) / 2 (Rahimi and
Recht, 2007): a hyperplane in these features is about an RBF kernel's curve in the columns. The part
that a coordinate has in a direction u_k is a sum of twelve uniform numbers less 6, which is nearly
normal, times sqrt(2 gamma) / (2 pi): gamma is that of the kernel.

No rounding depends on the computer:

- random numbers are 32-bit halves of PCG64's own stream, whose sums are exact;
- z is held within 256 and rounded to multiples of 2^-16, u_k and t_k to multiples of 2^-18, so that
  the products of at most 255 columns and all their partial sums fit 53 bits. They are exact in any
  order, fused or not, and so is the turn that is left after whole turns are taken off;
- the cosine of that turn is a polynomial in plain products and sums, one operation at a time. It is
  within 1e-15 of the cosine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.encodings.labels import numbers, required

__all__ = [
    "Cosines",
    "FARTHEST",
    "INTERVALS",
    "MOST_COLUMNS",
    "PER_UNIT",
    "PiecewiseLinear",
    "TERMS",
    "cosine_of_turns",
    "intervals",
    "learn_rank",
    "learn_spline",
    "piecewise_linear_from",
]


_QUANTILES = 256  # of a rank
INTERVALS = 6  # of a spline
_LEAST_VALUES = 6  # of a column that has a spline


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """A continuous function of one column, linear between its knots and constant beyond them."""

    column: int
    knots: NDArray[np.float64]
    heights: NDArray[np.float64]

    def __call__(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the heights over x; beyond the ends the curve is flat.

        One operation at a time, so that every computer finds the same bits.
        """
        at = np.clip(np.searchsorted(self.knots, x, side="right") - 1, 0, len(self.knots) - 2)
        left, right = 0.25 * self.knots[at], 0.25 * self.knots[at + 1]  # no overflow
        share = np.clip((0.25 * x - left) / (right - left), 0.0, 1.0)
        low, high = self.heights[at], self.heights[at + 1]
        return low + share * (high - low)

    def to_list(self) -> list[Any]:
        """Return plain data, ready for JSON, that say the same."""
        return [self.column, self.knots.tolist(), self.heights.tolist()]


def piecewise_linear_from(plain: Any, width: int, kind: str) -> PiecewiseLinear:
    """Return the function that plain data describe, of one of `width` columns."""
    required(isinstance(plain, list) and len(plain) == 3, f"{kind} must be curves of columns")
    column, *curve = plain
    required(type(column) is int and 0 <= column < width, f"{kind} must be those of columns")
    knots, heights = (np.array(numbers(each, "curves must be numbers")) for each in curve)
    required(len(knots) == len(heights) >= 2 and bool(_ascends(knots).all()), "knots must ascend")
    return PiecewiseLinear(column, knots, heights)


def learn_rank(X: Any, column: int, n: int) -> PiecewiseLinear | None:
    """Return the curve of mid-ranks at the quantiles of a column, standardised."""
    values, counts = _values(X, column, n)
    if len(values) < 3:
        return None
    ranks = (np.cumsum(counts) - 0.5 * counts) / n
    mean = float(ranks @ counts) / n
    deviation = float(np.sqrt((ranks - mean) ** 2 @ counts / n))
    if len(values) > _QUANTILES:
        chosen = np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], _QUANTILES))
        chosen = np.unique(np.clip(chosen, 0, len(values) - 1))
        values, ranks = values[chosen], ranks[chosen]
    apart = _ascends(values)
    values, ranks = values[apart], ranks[apart]
    curve = PiecewiseLinear(column, values, ranks)
    middle = mean if isinstance(X, np.ndarray) else float(curve(np.zeros(1))[0])
    return PiecewiseLinear(column, values, (ranks - middle) / deviation)


def learn_spline(X: Any, column: int, n: int) -> tuple[PiecewiseLinear, ...]:
    """Return the parts of a spline between quantiles of a column, each standardised.

    A value that fills more than an interval counts as one interval: where most rows are 0, the
    others have knots all the same. A column of few values has no spline.

    >>> X = np.arange(12.0)[:, None]
    >>> [part.knots.tolist() for part in learn_spline(X, 0, 12)]
    [[0.0, 1.0], [1.0, 3.0], [3.0, 5.0], [5.0, 7.0], [7.0, 9.0], [9.0, 11.0]]
    """
    values, counts = _values(X, column, n)
    if len(values) < _LEAST_VALUES:
        return ()
    below = np.cumsum(np.minimum(counts * INTERVALS, n))
    inner = np.searchsorted(below * INTERVALS, below[-1] * np.arange(1, INTERVALS))
    edges = values[np.concatenate([[0], inner, [len(values) - 1]])]
    edges = edges[_ascends(edges)]
    ends = np.array([edges[:-1], edges[1:]])
    heights, shares = _clipped(values[:, None], ends), counts / n
    means = shares @ heights
    deviations = np.sqrt(shares @ (heights - means) ** 2)
    middles = means if isinstance(X, np.ndarray) else _clipped(np.zeros((1, 1)), ends)[0]
    lows, highs = -middles / deviations, (1.0 - middles) / deviations
    return tuple(
        PiecewiseLinear(column, ends[:, k], np.array([lows[k], highs[k]]))
        for k in range(len(edges) - 1)
    )


def spline_features(parts: Sequence[PiecewiseLinear], X: Any) -> NDArray[np.float64]:
    """Return the parts of splines over dense rows, a column each: the bits of one by one.

    >>> X = np.arange(12.0)[:, None]
    >>> parts = learn_spline(X, 0, 12)
    >>> bool((spline_features(parts, X)[:, 2] == parts[2](X[:, 0])).all())
    True
    """
    low, high = np.array([part.heights for part in parts]).T
    ends = np.array([part.knots for part in parts]).T
    return low + _clipped(X[:, [part.column for part in parts]], ends) * (high - low)


def _clipped(x: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how far x lies between two ends: 0 at the first and before, 1 at the other."""
    left, right = 0.25 * ends  # no overflow
    return np.clip((0.25 * x - left) / (right - left), 0.0, 1.0)


def intervals(parts: Sequence[PiecewiseLinear]) -> list[tuple[PiecewiseLinear, str]]:
    """Return each part of splines with its interval in words, in digits that tell knots apart.

    >>> parts = learn_spline(np.arange(12.0)[:, None], 0, 12)
    >>> [words for _, words in intervals(parts)][:2]
    ['from 0 to 1', 'from 1 to 3']
    """
    found = []
    knots: dict[int, set[float]] = {}
    for part in parts:
        knots.setdefault(part.column, set()).update(part.knots.tolist())
    for part in parts:
        own = knots[part.column]
        digits = next(d for d in (4, 8, 17) if len({f"{x:.{d}g}" for x in own}) == len(own))
        low, high = (f"{knot:.{digits}g}" for knot in part.knots.tolist())
        found.append((part, f"from {low} to {high}"))
    return found


def _ascends(knots: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which knots lie above the one before them; a quarter of both must tell."""
    return np.diff(0.25 * knots, prepend=-np.inf) > 0.0


def _values(X: Any, column: int, n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distinct values of a column, dense or CSC, ascending, and their counts."""
    if isinstance(X, np.ndarray):
        return _counted(X[:, column])
    stored = X.data[X.indptr[column] : X.indptr[column + 1]]
    values, counts = _counted(stored)
    zeros = n - len(stored)
    if zeros:
        at = int(np.searchsorted(values, 0.0))
        if at < len(values) and values[at] == 0.0:
            counts[at] += zeros
        else:
            values, counts = np.insert(values, at, 0.0), np.insert(counts, at, zeros)
    return values, counts


def _counted(numbers: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return each number once, ascending, and how often it stands there.

    As `np.unique` does; what NumPy adds is longer than the work.

    >>> [part.tolist() for part in _counted(np.array([2.0, 1.0, 2.0]))]
    [[1.0, 2.0], [1, 2]]
    """
    ordered = np.sort(numbers)
    first = np.ones(len(ordered) + 1, dtype=bool)  # and one place beyond the end
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:-1])
    places = np.flatnonzero(first)
    return ordered[places[:-1]], np.diff(places)


# ---- random cosines of standardised columns, the same bits on every computer


MOST_COLUMNS = 255
FARTHEST, PER_UNIT = 256.0, 2.0**16  # of a standardised value
_PARTS = 2.0**18  # of a turn, and of a direction
_WIDEST = 1.0  # of a direction's deviation: twelve uniform numbers less 6 stay below 8 then
_MOST = 4096  # cosines
_AT_A_TIME = 1 << 22  # values


def _terms() -> tuple[float, ...]:
    """Return the coefficients of sin 2 pi q = c_1 q + c_3 q^3 + ..., the first one first."""
    turn = 2.0 * math.pi
    found = [turn]
    for power in range(3, 23, 2):
        found.append(-found[-1] * turn / power * turn / (power - 1))
    return tuple(found)


TERMS = _terms()


def cosine_of_turns(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cos(2 pi t), with an error below 1e-15; the array given is used up.

    >>> cosine_of_turns(np.array([0.0, 0.25, 0.5, -7.125])).round(12).tolist()
    [1.0, 0.0, -1.0, 0.707106781187]
    """
    turns -= np.rint(turns)  # exact
    np.abs(turns, out=turns)
    quarter = np.subtract(0.25, turns, out=turns)  # cos 2 pi t = sin 2 pi (1/4 - |t|)
    square = quarter * quarter
    sine = np.full_like(square, TERMS[-1])
    for term in TERMS[-2::-1]:
        sine *= square
        sine += term
    sine *= quarter
    return sine


@dataclass(frozen=True, eq=False)
class Cosines:
    """Cosines of some columns, for the kernel exp(-gamma |z - z'|^2 / variance).

    `variance` is about that of the columns together: 1 of a standardised one, and at most 1/4 of
    one that holds 0 and 1. Together the cosines are as large as the columns are.
    """

    columns: tuple[int, ...]
    count: int
    gamma: float
    variance: float

    @property
    def speed(self) -> float:
        """The deviation of a direction's parts, in turns."""
        return min(_WIDEST, math.sqrt(2.0 * self.gamma / self.variance) / (2.0 * math.pi))

    @property
    def size(self) -> float:
        """The largest value of a cosine."""
        return math.sqrt(2.0 * self.variance / self.count)

    @cached_property
    def drawn(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The directions, a column each, and the offsets, in turns."""
        width = len(self.columns)
        halves = np.random.PCG64(0).random_raw(6 * width * self.count).view(np.uint32)
        sums = halves.reshape(width, self.count, 12).sum(axis=2, dtype=np.uint64)
        normal = sums.astype(np.float64) / 2.0**32 - 6.0
        directions = np.rint(normal * self.speed * _PARTS) / _PARTS
        steps = np.random.PCG64(1).random_raw(self.count) >> np.uint64(46)
        return directions, steps.astype(np.float64) / _PARTS

    def apply(self, Z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cosines of standardised rows."""
        directions, offsets = self.drawn
        found = np.empty((len(Z), self.count))
        step = max(1, _AT_A_TIME // self.count)
        for at in range(0, len(Z), step):
            some = np.clip(Z[at : at + step, list(self.columns)], -FARTHEST, FARTHEST)
            turns = (np.rint(some * PER_UNIT) / PER_UNIT) @ directions
            turns += offsets
            found[at : at + step] = cosine_of_turns(turns)
        found *= self.size
        return found

    @property
    def names(self) -> list[str]:
        """The names of the features."""
        return [f"cosine {number + 1}" for number in range(self.count)]

    def to_list(self) -> list[Any]:
        """Return plain data, ready for JSON, that say the same."""
        return [list(self.columns), self.count, self.gamma, self.variance]

    @classmethod
    def from_list(cls, plain: Any, width: int) -> Cosines:
        """Return what plain data describe, of a table with so many columns."""
        required(isinstance(plain, list) and len(plain) == 4, "cosines must be four things")
        columns, count, gamma, variance = plain
        required(
            isinstance(columns, list)
            and 0 < len(columns) <= MOST_COLUMNS
            and all(type(at) is int and 0 <= at < width for at in columns),
            "cosines must be those of columns",
        )
        required(type(count) is int and 0 < count <= _MOST, "cosines must be counted")
        sound = all(type(each) is float and 1e-9 < each < 1e9 for each in (gamma, variance))
        required(sound, "cosines must have a gamma and a variance")
        return cls(tuple(columns), count, gamma, variance)
