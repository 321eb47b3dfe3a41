"""Scaling of features, as the lectures give it (SVM lecture, 13.1), kept with the model.

    standardisation    x' = (x - mean) / deviation
    min-max            x' = (x - min) / (max - min)

Sparse X must keep its zeros, so nothing is subtracted there: standardisation divides by the
deviation, min-max by the largest absolute value. A constant feature is divided by one. Weights
found on scaled features are brought back to the original units by ``original_weights``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix._sparse import sparse
from separatrix.errors import DataError

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
