"""Columns scaled, alone or joined with functions of them: learned from training rows, and kept.

    standard   (x_j - mean_j) / deviation_j
    ranks      the same, joined with the standardised rank of x_j among the rows of training
    splines    the same, joined with linear splines of x_j: additive models
    products   the same, joined with the product of every two, and with squares
    cosines    the same, joined with random cosines; fine-cosines turn twice as fast

Columns of 0 and 1 stay as they are, and a column of one value is divided by one. Sparse columns
keep their zeros: nothing is subtracted there, which a free bias makes up for. Ranks, splines
and cosines stand in `column_functions.py`. A column of two values has none: they would say the
same again.

Scaling of features, as the lectures give it (SVM lecture, 13.1), kept with the model.

    standardisation    x' = (x - mean) / deviation
    min-max            x' = (x - min) / (max - min)

Sparse X must keep its zeros, so nothing is subtracted there: standardisation divides by the
deviation, min-max by the largest absolute value. A constant feature is divided by one. Weights
found on scaled features are brought back to the original units by ``original_weights``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix._sparse import sparse
from separatrix.data.encodings.column_functions import (
    MOST_COLUMNS,
    Cosines,
    PiecewiseLinear,
    intervals,
    learn_rank,
    learn_spline,
    piecewise_linear_from,
    spline_features,
)
from separatrix.data.encodings.labels import Encoding, numbers, required
from separatrix.errors import DataError

__all__ = [
    "COLUMN_FEATURES",
    "ColumnFeatures",
    "FeatureEncoding",
    "GAMMAS",
    "MOST_MULTIPLIED",
    "learn_columns",
    "of_zero_and_one",
]


GAMMAS = {"cosines": 0.25, "fine-cosines": 1.0}  # in units of 1 / the sum of variances
COLUMN_FEATURES = ("raw", "standard", "ranks", "splines", "products", *GAMMAS)
_COSINES = 256
MOST_MULTIPLIED = 100  # columns


@dataclass(frozen=True, eq=False)
class ColumnFeatures:
    """What was learned of the columns of training."""

    shift: NDArray[np.float64]
    scale: NDArray[np.float64]
    ranks: tuple[PiecewiseLinear, ...] = ()
    splines: tuple[PiecewiseLinear, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()  # of columns that are multiplied
    cosines: Cosines | None = None

    @property
    def of_one_column(self) -> tuple[PiecewiseLinear, ...]:
        """The functions of single columns that are added."""
        return self.ranks + self.splines

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
            added = [rank(X[:, rank.column])[:, None] for rank in self.ranks]
            added += [spline_features(self.splines, X)] if self.splines else []
            return np.hstack([(X - self.shift) / self.scale, *added])
        scaled = sparse.csr_matrix(X, dtype=np.float64, copy=True)
        scaled.data = scaled.data / self.scale[scaled.indices]
        if not self.of_one_column:
            return scaled
        columns = sparse.csc_matrix(X, dtype=np.float64, copy=True)[
            :, [each.column for each in self.of_one_column]
        ]
        for number, each in enumerate(self.of_one_column):
            part = slice(columns.indptr[number], columns.indptr[number + 1])
            columns.data[part] = each(columns.data[part])
        return sparse.hstack([scaled, columns], format="csr")

    def names(self, columns: Sequence[str]) -> list[str]:
        """Return the names of the features."""
        products = (
            f"{columns[i]} squared" if i == j else f"{columns[i]} × {columns[j]}"
            for i, j in self.pairs
        )
        ranks = (f"rank of {columns[r.column]}" for r in self.ranks)
        parts = (f"{columns[part.column]} {words}" for part, words in intervals(self.splines))
        return [*columns, *ranks, *parts, *products, *(self.cosines.names if self.cosines else ())]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON, that say the same."""
        ranks = [rank.to_list() for rank in self.ranks]
        plain = {"shift": self.shift.tolist(), "scale": self.scale.tolist(), "ranks": ranks}
        plain |= {"splines": [part.to_list() for part in self.splines]} if self.splines else {}
        plain |= {"pairs": [list(pair) for pair in self.pairs]} if self.pairs else {}
        return plain | ({"cosines": self.cosines.to_list()} if self.cosines is not None else {})

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> ColumnFeatures:
        """Return what plain data describe."""
        shift = np.array(numbers(plain["shift"], "shifts must be numbers"), dtype=np.float64)
        scale = np.array(numbers(plain["scale"], "scales must be numbers"), dtype=np.float64)
        required(len(shift) == len(scale) and bool((scale > 0.0).all()), "scales must be above 0")
        ranks = _functions(plain["ranks"], len(scale), "ranks")
        splines = _functions(plain.get("splines", []), len(scale), "splines")
        required(all(len(each.knots) == 2 for each in splines), "splines must have two knots each")
        pairs = plain.get("pairs", [])
        required(
            isinstance(pairs, list) and all(_is_pair(pair, len(scale)) for pair in pairs),
            "pairs must be those of columns",
        )
        waves = plain.get("cosines")
        cosines = None if waves is None else Cosines.from_list(waves, len(scale))
        return cls(shift, scale, ranks, splines, tuple((i, j) for i, j in pairs), cosines)


def _functions(plain: Any, width: int, kind: str) -> tuple[PiecewiseLinear, ...]:
    required(isinstance(plain, list), f"{kind} must be a list")
    return tuple(piecewise_linear_from(each, width, kind) for each in plain)


def _is_pair(plain: Any, width: int) -> bool:
    return (
        isinstance(plain, list)
        and len(plain) == 2
        and all(type(at) is int and 0 <= at < width for at in plain)
    )


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
    several = np.flatnonzero(~plain).tolist()
    if features == "splines":
        parts = (part for j in several for part in learn_spline(by_column, j, X.shape[0]))
        return ColumnFeatures(shift, scale, splines=tuple(parts))
    found = (learn_rank(by_column, j, X.shape[0]) for j in several)
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


# ---- scaling of features, as the lectures give it (SVM lecture, 13.1), kept with the model


METHODS = ("standard", "min-max")
_AT_ONCE = 1 << 24  # entries: of more, deviations are added up stretch by stretch


@dataclass(frozen=True)
class Scaling:
    """x' = (x - shift) / scale, feature by feature; ``shift`` is zero for sparse data."""

    method: str
    shift: NDArray[np.float64]
    scale: NDArray[np.float64]

    def transform(self, X: Any) -> Any:
        """Return X scaled; the original is left as it is."""
        if X.shape[1] != len(self.scale):
            raise DataError(
                f"X has {X.shape[1]} features, but the scaling was fitted on {len(self.scale)}"
            )
        if not sparse.issparse(X):
            return (np.asarray(X) - self.shift) / self.scale
        if self.shift.any():
            raise DataError(
                "the scaling was fitted on dense data and shifts features, which would fill "
                "sparse X; fit it on sparse data"
            )
        scaled = sparse.csr_matrix(X, dtype=np.float64, copy=True)
        scaled.data /= self.scale[scaled.indices]
        return scaled

    def original_weights(
        self, weights: NDArray[np.float64], intercept: Any = 0.0
    ) -> tuple[NDArray[np.float64], Any]:
        """Return weights and intercept that give on X what these give on scaled X.

        >>> X = np.array([[1.0, 10.0], [3.0, 30.0]])
        >>> scaling = fit_scaling(X)
        >>> w, b = scaling.original_weights(np.array([1.0, 2.0]), 0.5)
        >>> bool(np.allclose(X @ w + b, scaling.transform(X) @ [1.0, 2.0] + 0.5))
        True
        """
        original = np.asarray(weights, dtype=np.float64) / self.scale
        return original, intercept - original @ self.shift

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON, that say the same."""
        return {
            "method": self.method,
            "shift": self.shift.tolist(),
            "scale": self.scale.tolist(),
        }

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> Scaling:
        """Return the scaling that plain data describe."""
        return cls(plain["method"], np.array(plain["shift"]), np.array(plain["scale"]))


def _dense(X: NDArray[Any], method: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if method == "standard":
        return X.mean(axis=0, dtype=np.float64), _dense_deviations(X)
    low, high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
    return low, high - low


def _dense_deviations(X: NDArray[Any]) -> NDArray[np.float64]:
    """Return standard deviations without a float64 copy of large single-precision data."""
    if X.size <= _AT_ONCE:
        return np.asarray(X.std(axis=0, dtype=np.float64))
    mean = X.mean(axis=0, dtype=np.float64)
    squares = np.zeros(X.shape[1])
    step = max(1, _AT_ONCE // X.shape[1])
    for begin in range(0, X.shape[0], step):
        away = X[begin : begin + step] - mean
        squares += np.einsum("ij,ij->j", away, away)
    return np.sqrt(squares / X.shape[0])


def _sparse(X: Any, method: str) -> NDArray[np.float64]:
    n_rows, width = X.shape
    X = sparse.csr_matrix(X, dtype=np.float64)
    if method == "min-max":
        largest = np.zeros(width)
        np.maximum.at(largest, X.indices, np.abs(X.data))
        return largest
    mean = np.bincount(X.indices, weights=X.data, minlength=width) / n_rows
    stored = np.bincount(X.indices, minlength=width)
    from_mean = (X.data - mean[X.indices]) ** 2
    squares = np.bincount(X.indices, weights=from_mean, minlength=width)
    return np.sqrt((squares + (n_rows - stored) * mean**2) / n_rows)


def fit_scaling(X: Any, method: str = "standard") -> Scaling:
    """Learn the scaling of each feature.

    >>> fit_scaling(np.array([[0.0, 5.0], [4.0, 5.0]]), "min-max").transform(np.array([[1.0, 5.0]]))
    array([[0.25, 0.  ]])
    """
    if method not in METHODS:
        raise DataError(f"the scaling must be one of {', '.join(METHODS)}; got {method!r}")
    if X.shape[0] == 0:
        raise DataError("there are no rows to learn a scaling from")
    if sparse.issparse(X):
        shift, scale = np.zeros(X.shape[1]), _sparse(X, method)
    else:
        shift, scale = _dense(np.asarray(X), method)
    tiny = np.finfo(float).tiny
    noise = 4 * np.finfo(float).eps * np.abs(shift)  # the deviation that rounding alone can give
    return Scaling(method, shift, np.where(scale > np.maximum(noise, tiny), scale, 1.0))


def deviations(X: Any) -> NDArray[np.float64]:
    """Return the standard deviation of each feature.

    >>> deviations(np.array([[0.0, 5.0], [4.0, 5.0]])).tolist()
    [2.0, 0.0]
    """
    if sparse.issparse(X):
        return _sparse(X, "standard")
    return _dense_deviations(np.asarray(X))
