"""Columns scaled, or scaled and ranked: learned from rows of training, kept with the model.

    standard   (x_j - mean_j) / deviation_j
    ranks      the same, joined with the standardised rank of x_j among the rows of training
    products   the same, joined with the product of every two, and with squares
    cosines    the same, joined with random cosines (`cosines.py`); fine-cosines turn twice as fast

Columns of 0 and 1 stay as they are, and a column of one value is divided by one. Sparse columns
keep their zeros: nothing is subtracted there, which a free bias makes up for. A rank is read off a
piecewise linear curve through at most 256 quantiles; a column of two values has none, since its
rank would say the same again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix._sparse import sparse
from separatrix.data.encodings.base import Encoding, numbers, required
from separatrix.data.encodings.cosines import MOST_COLUMNS, Cosines
from separatrix.data.scaling import deviations
from separatrix.errors import DataError

__all__ = [
    "COLUMN_FEATURES",
    "GAMMAS",
    "MOST_MULTIPLIED",
    "ColumnFeatures",
    "FeatureEncoding",
    "learn_columns",
    "of_zero_and_one",
]

GAMMAS = {"cosines": 0.25, "fine-cosines": 1.0}  # in units of 1 / the sum of variances
COLUMN_FEATURES = ("raw", "standard", "ranks", "products", *GAMMAS)
_COSINES = 256
MOST_MULTIPLIED = 100  # columns
_KNOTS = 256


@dataclass(frozen=True, eq=False)
class Rank:
    """The rank of one column: a piecewise linear curve, 0 at 0 where the column is sparse."""

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


@dataclass(frozen=True, eq=False)
class ColumnFeatures:
    """What was learned of the columns of training."""

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    ranks: tuple[Rank, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()  # of columns that are multiplied
    cosines: Cosines | None = None

    def apply(self, X: Any) -> Any:
        """Return the features of encoded rows, dense or CSR as they are; curves are dense."""
        if X.shape[1] != len(self.scale):
            raise DataError(f"X has {X.shape[1]} columns, and training had {len(self.scale)}")
        if self.cosines is not None:
            scaled = replace(self, cosines=None).apply(X)
            Z = scaled.toarray() if sparse.issparse(scaled) else scaled
            return np.hstack([Z, self.cosines.apply(Z)])
        if self.pairs:
            scaled = replace(self, pairs=()).apply(X)
            Z = scaled.toarray() if sparse.issparse(scaled) else scaled
            left, right = np.array(self.pairs).T
            with np.errstate(over="ignore"):
                products = Z[:, left] * Z[:, right]
            if not np.isfinite(products).all():
                row, pair = np.argwhere(~np.isfinite(products))[0].tolist()
                raise DataError(
                    f"row {row}: the product of columns {left[pair]} and {right[pair]} is too "
                    "large for a float64; rescale them"
                )
            return np.hstack([Z, products])
        if not sparse.issparse(X):
            X = np.asarray(X, dtype=np.float64)
            ranked = [rank(X[:, rank.column])[:, None] for rank in self.ranks]
            return np.hstack([(X - self.shift) / self.scale, *ranked])
        scaled = sparse.csr_matrix(X, dtype=np.float64, copy=True)
        scaled.data = scaled.data / self.scale[scaled.indices]
        if not self.ranks:
            return scaled
        columns = sparse.csc_matrix(X, dtype=np.float64, copy=True)[
            :, [r.column for r in self.ranks]
        ]
        for number, rank in enumerate(self.ranks):
            part = slice(columns.indptr[number], columns.indptr[number + 1])
            columns.data[part] = rank(columns.data[part])
        return sparse.hstack([scaled, columns], format="csr")

    def names(self, columns: Sequence[str]) -> list[str]:
        """Return the names of the features."""
        products = (
            f"{columns[i]} squared" if i == j else f"{columns[i]} × {columns[j]}"
            for i, j in self.pairs
        )
        ranks = (f"rank of {columns[r.column]}" for r in self.ranks)
        return [*columns, *ranks, *products, *(self.cosines.names if self.cosines else ())]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON, that say the same."""
        ranks = [[r.column, r.knots.tolist(), r.heights.tolist()] for r in self.ranks]
        plain = {"shift": self.shift.tolist(), "scale": self.scale.tolist(), "ranks": ranks}
        plain |= {"pairs": [list(pair) for pair in self.pairs]} if self.pairs else {}
        return plain | ({"cosines": self.cosines.to_list()} if self.cosines is not None else {})

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> ColumnFeatures:
        """Return what plain data describe."""
        shift = np.array(numbers(plain["shift"], "shifts must be numbers"), dtype=np.float64)
        scale = np.array(numbers(plain["scale"], "scales must be numbers"), dtype=np.float64)
        required(len(shift) == len(scale) and bool((scale > 0.0).all()), "scales must be above 0")
        required(isinstance(plain["ranks"], list), "ranks must be a list")
        ranks = tuple(_rank_from(each, len(scale)) for each in plain["ranks"])
        pairs = plain.get("pairs", [])
        required(
            isinstance(pairs, list) and all(_is_pair(pair, len(scale)) for pair in pairs),
            "pairs must be those of columns",
        )
        waves = plain.get("cosines")
        cosines = None if waves is None else Cosines.from_list(waves, len(scale))
        return cls(shift, scale, ranks, tuple((i, j) for i, j in pairs), cosines)


def _is_pair(plain: Any, width: int) -> bool:
    return (
        isinstance(plain, list)
        and len(plain) == 2
        and all(type(at) is int and 0 <= at < width for at in plain)
    )


def _rank_from(plain: Any, width: int) -> Rank:
    required(isinstance(plain, list) and len(plain) == 3, "a rank must be a curve of a column")
    column, *curve = plain
    required(type(column) is int and 0 <= column < width, "a rank must be that of a column")
    knots, heights = (np.array(numbers(each, "curves must be numbers")) for each in curve)
    required(
        len(knots) == len(heights) >= 2 and bool((np.diff(knots) > 0.0).all()), "knots must ascend"
    )
    return Rank(column, knots, heights)


def learn_columns(
    X: Any, features: str, kept: NDArray[np.bool_] | None = None
) -> ColumnFeatures | None:
    """Learn the features of these rows; None where the columns stay as they are.

    Columns that are `kept`, such as weighted words, stay as they are too.

    >>> X = np.array([[0.0, 1.0], [2.0, 0.0], [4.0, 1.0]])
    >>> learn_columns(X, "standard").apply(X).round(3).tolist()
    [[-1.225, 1.0], [0.0, 0.0], [1.225, 1.0]]
    """
    if features == "raw":
        return None
    if features not in COLUMN_FEATURES:
        raise DataError(f"features must be one of {', '.join(COLUMN_FEATURES)}; got {features!r}")
    is_sparse = sparse.issparse(X)
    scale = deviations(X)
    mean = np.zeros(X.shape[1]) if is_sparse else X.mean(axis=0, dtype=np.float64)
    noise = 4 * np.finfo(float).eps * np.abs(mean)
    plain = of_zero_and_one(X) | ~(scale > np.maximum(noise, np.finfo(float).tiny))
    plain = plain if kept is None else plain | kept
    shift, scale = np.where(plain, 0.0, mean), np.where(plain, 1.0, scale)
    if features == "standard":
        return ColumnFeatures(shift, scale)
    if features == "products":
        return ColumnFeatures(shift, scale, pairs=_pairs(X, kept))
    if features in GAMMAS:
        return ColumnFeatures(shift, scale, cosines=_cosines(X, kept, GAMMAS[features]))
    by_column = sparse.csc_matrix(X, dtype=np.float64) if is_sparse else np.asarray(X, np.float64)
    found = (_learn_rank(by_column, j, X.shape[0]) for j in np.flatnonzero(~plain).tolist())
    return ColumnFeatures(shift, scale, tuple(rank for rank in found if rank is not None))


def _pairs(X: Any, kept: NDArray[np.bool_] | None) -> tuple[tuple[int, int], ...]:
    """Return the columns to multiply: all pairs, and squares but of columns of 0 and 1."""
    used = np.arange(X.shape[1]) if kept is None else np.flatnonzero(~kept)
    if len(used) > MOST_MULTIPLIED:
        raise DataError(
            f"products are for at most {MOST_MULTIPLIED} columns, and there are {len(used)}"
        )
    whole = X.toarray() if sparse.issparse(X) else np.asarray(X)
    binary = of_zero_and_one(X)
    return tuple(
        (i, j)
        for at, i in enumerate(used.tolist())
        for j in used[at:].tolist()
        # The product of two columns of 0 and 1 that never meet is 0.
        if not (binary[i] and (i == j or (binary[j] and not (whole[:, i] * whole[:, j]).any())))
    )


def _cosines(X: Any, kept: NDArray[np.bool_] | None, gamma: float) -> Cosines:
    used = np.arange(X.shape[1]) if kept is None else np.flatnonzero(~kept)
    if not 0 < len(used) <= MOST_COLUMNS:
        raise DataError(
            f"random cosines are for 1 to {MOST_COLUMNS} columns, and there are {len(used)}"
        )
    binary = int(of_zero_and_one(X)[used].sum())
    return Cosines(tuple(used.tolist()), _COSINES, gamma, max(1.0, len(used) - 0.75 * binary))


def of_zero_and_one(X: Any) -> NDArray[np.bool_]:
    """Return which columns hold 0 and 1 alone."""
    if sparse.issparse(X):
        other = np.zeros(X.shape[1], dtype=bool)
        other[X.indices[X.data != 1.0]] = True
        return ~other
    return np.asarray(((X == 0.0) | (X == 1.0)).all(axis=0))


def _learn_rank(X: Any, column: int, n: int) -> Rank | None:
    """Return the curve of mid-ranks at the quantiles of a column, standardised."""
    if isinstance(X, np.ndarray):
        stored, zeros = X[:, column], 0
    else:
        stored = X.data[X.indptr[column] : X.indptr[column + 1]]
        zeros = n - len(stored)
    values, counts = _counted(stored)
    if zeros:
        at = int(np.searchsorted(values, 0.0))
        if at < len(values) and values[at] == 0.0:
            counts[at] += zeros
        else:
            values, counts = np.insert(values, at, 0.0), np.insert(counts, at, zeros)
    if len(values) < 3:
        return None
    ranks = (np.cumsum(counts) - 0.5 * counts) / n
    mean = float(ranks @ counts) / n
    deviation = float(np.sqrt((ranks - mean) ** 2 @ counts / n))
    if len(values) > _KNOTS:
        chosen = np.searchsorted(ranks, np.linspace(ranks[0], ranks[-1], _KNOTS))
        chosen = np.unique(np.clip(chosen, 0, len(values) - 1))
        values, ranks = values[chosen], ranks[chosen]
    curve = Rank(column, values, ranks)
    middle = mean if isinstance(X, np.ndarray) else float(curve(np.zeros(1))[0])
    return Rank(column, values, (ranks - middle) / deviation)


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


@dataclass(frozen=True, eq=False)
class FeatureEncoding(Encoding):
    """An encoding, and what was learned of the columns that it gives."""

    inner: Any
    columns: ColumnFeatures

    @property
    def target(self) -> str | None:
        """The name of the column of classes."""
        return self.inner.target

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes of training."""
        return self.inner.classes

    @property
    def kind_of_data(self) -> str:  # type: ignore[override]  # that of the inner one
        """What it takes, in words."""
        return str(self.inner.kind_of_data)

    @property
    def feature_names(self) -> list[str]:
        """The names of the features, in the order of the columns of X."""
        return self.columns.names(self.inner.feature_names)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON, that say the same."""
        return {"kind": "features", "inner": self.inner.to_dict(), **self.columns.to_dict()}
