"""Piecewise linear functions of one column: its rank, and the parts of a linear spline.

    rank     the share of training rows below x, standardised, through at most 256 quantiles
    spline   (min(max(x, low), high) - mean) / deviation, one for each interval between quantiles

A linear combination of x and the parts of its spline is any continuous function that is linear
between those quantiles: the model is additive in the columns. Beyond the training rows a part is
constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.encodings.base import numbers, required

__all__ = [
    "INTERVALS",
    "PiecewiseLinear",
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
