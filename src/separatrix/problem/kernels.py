"""Mercer kernels: products of rows in a space that is never built.

    linear       x.z
    poly         (gamma x.z + coef0)^degree
    rbf          exp(-gamma |x - z|^2)
    sigmoid      tanh(gamma x.z + coef0)         not positive: no space stands behind it
    precomputed  the n x n matrix is given
    callable     function(A, B) -> matrix of values

Blocks of values are made by one matrix product, in float64. A kernel is positive when every matrix
of its values is positive semidefinite; only then is the kernel SVM a convex problem.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.errors import DataError

KERNELS = ("linear", "poly", "rbf", "sigmoid", "precomputed")
MOST_DEGREE = 10_000  # read from a file: as many products a value
ASYMMETRY = 1e-6
_ENTRIES_AT_A_TIME = 1 << 15  # of float64: they stay in the cache


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters as numbers.

    >>> Kernel("poly", gamma=1.0, degree=2, coef0=1.0).block(np.array([[1.0]]), np.array([[2.0]]))
    array([[9.]])
    """

    name: str
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    function: Callable[[Any, Any], Any] | None = None

    @property
    def is_sound(self) -> bool:
        """Whether its parameters are numbers that a kernel can have."""
        whole = type(self.degree) is int and 0 <= self.degree <= MOST_DEGREE
        return whole and 0.0 < self.gamma < math.inf and math.isfinite(self.coef0)

    @property
    def is_positive(self) -> bool | None:
        """Whether theory says that the kernel is positive; None where it does not say."""
        if self.name in ("linear", "rbf"):
            return True
        if self.name == "poly":
            return True if self.coef0 >= 0.0 else None
        return False if self.name == "sigmoid" else None

    def block(self, A: Any, B: Any) -> np.ndarray:
        """Return the values of rows of A with rows of B; of a precomputed kernel, A itself."""
        if self.name == "precomputed":
            return np.asarray(A, dtype=np.float64)
        if self.name == "callable":
            return self._called(A, B)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            if self.name == "rbf" and not (sp.issparse(A) or sp.issparse(B)):
                # Distances stay as they are, and lose no digits to a common offset.
                centre = B.mean(axis=0, dtype=np.float64)
                A, B = A - centre, B - centre
            values = _products(A, B)
            if self.name == "rbf":
                values *= 2.0
                values -= _squares(A)[:, None]
                values -= _squares(B)[None, :]
                np.minimum(values, 0.0, out=values)
                values *= self.gamma
                np.exp(values, out=values)
            elif self.name in ("poly", "sigmoid"):
                values *= self.gamma
                values += self.coef0
                values = _power(values, self.degree) if self.name == "poly" else np.tanh(values)
        return values

    def diagonal(self, X: Any) -> np.ndarray:
        """Return K(x, x) of every row."""
        n = X.shape[0]
        if self.name == "rbf":
            return np.ones(n)
        if self.name == "precomputed":
            return np.asarray(X.diagonal(), dtype=np.float64).copy()
        if self.name == "callable":
            return np.array(
                [float(self._called(X[i : i + 1], X[i : i + 1])[0, 0]) for i in range(n)]
            )
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            squares = _squares(X)
            if self.name == "linear":
                return squares
            inside = self.gamma * squares + self.coef0
            return _power(inside, self.degree) if self.name == "poly" else np.tanh(inside)

    def _called(self, A: Any, B: Any) -> np.ndarray:
        assert self.function is not None
        found = self.function(A, B)
        found = found.toarray() if sp.issparse(found) else found
        values = np.asarray(found, dtype=np.float64)
        shape = (A.shape[0], B.shape[0])
        if values.shape != shape:
            raise DataError(
                f"The kernel function must return a matrix of shape {shape}, one value for each "
                f"pair of rows. Got {values.shape} instead."
            )
        if not np.isfinite(values).all():
            raise DataError(
                "The kernel function returned NaN or infinity. Check it on the rows of X, two at "
                "a time; negative bases and divisions by zero are the usual causes."
            )
        return values


def kernel_of(
    kernel: Any, X: Any, gamma: Any, degree: Any, coef0: Any, weights: np.ndarray | None = None
) -> Kernel:
    """Return the kernel that the parameters of an estimator describe, or say what is wrong.

    `gamma` may be "scale", 1 / (columns * variance of X), or "auto", 1 / columns, as in
    scikit-learn's SVC; with sample weights, the variance is that of so many copies.
    """
    if callable(kernel):
        return Kernel("callable", function=kernel)
    if not isinstance(kernel, str) or kernel not in KERNELS:
        names = ", ".join(repr(name) for name in KERNELS)
        raise ValueError(f"kernel must be one of {names} or a function. Got {kernel!r} instead.")
    if kernel in ("linear", "precomputed"):
        return Kernel(kernel)
    if kernel == "poly" and not (
        isinstance(degree, numbers.Integral) and not isinstance(degree, bool) and int(degree) >= 0
    ):
        raise ValueError(f"degree must be a whole number, at least 0. Got {degree!r} instead.")
    if not (isinstance(coef0, numbers.Real) and math.isfinite(float(coef0))):
        raise ValueError(f"coef0 must be a finite number. Got {coef0!r} instead.")
    return Kernel(
        kernel, gamma_of(gamma, X, weights), int(degree) if kernel == "poly" else 3, float(coef0)
    )


def gamma_of(gamma: Any, X: Any, weights: np.ndarray | None = None) -> float:
    """Return gamma as a number.

    >>> gamma_of("scale", np.array([[0.0, 2.0]])), gamma_of("auto", np.zeros((3, 4)))
    (0.5, 0.25)
    """
    d = X.shape[1]
    if isinstance(gamma, str) and gamma in ("scale", "auto"):
        if gamma == "auto":
            return 1.0 / d
        variance = _variance(X, weights)
        # A constant X has no scale; scikit-learn takes 1 then.
        found = 1.0 / (d * variance) if variance > 0.0 else 1.0
        if not 0.0 < found < math.inf:
            raise DataError(
                f"gamma='scale' is 1 / (columns * variance), and that of X is {variance:.3g}. "
                "Scale X, or give gamma as a number."
            )
        return found
    if not (
        isinstance(gamma, numbers.Real)
        and not isinstance(gamma, bool)
        and math.isfinite(float(gamma))
        and float(gamma) > 0.0
    ):
        raise ValueError(
            f"gamma must be 'scale', 'auto' or a number above 0. Got {gamma!r} instead. A gamma of "
            "0 would make all rows alike."
        )
    return float(gamma)


def check_square(X: Any, n_rows: int) -> None:
    """Refuse a precomputed matrix that is not square."""
    if X.shape != (n_rows, n_rows):
        raise ValueError(
            f"Precomputed matrix must be a square matrix: one row and one column for each training "
            f"row. Got {X.shape[0]} x {X.shape[1]} instead."
        )


def check_gram(X: Any, n_rows: int) -> float:
    """Refuse a precomputed matrix that is not square or not symmetric; return its asymmetry."""
    check_square(X, n_rows)
    most, largest = 0.0, float(abs(X).max(initial=0.0))
    for begin in range(0, n_rows, 512):
        part = slice(begin, begin + 512)
        most = max(most, float(abs(X[part] - X[:, part].T).max(initial=0.0)))
    if most > ASYMMETRY * largest:
        raise ValueError(
            f"Precomputed matrix must be symmetric: K[i, j] and K[j, i] differ by {most:.3g}. "
            "Use (K + K.T) / 2 if that is rounding; otherwise it is not a kernel."
        )
    return most


def _variance(X: Any, weights: np.ndarray | None) -> float:
    if weights is None and not sp.issparse(X):
        return float(X.var()) if X.dtype == np.float64 else _variance_of_narrow(X)
    n, d = X.shape
    weights = np.ones(n) if weights is None else weights / weights.max()
    size = d * float(weights.sum())
    X = X.astype(np.float64, copy=False)
    mean = float((weights @ X).sum()) / size
    if sp.issparse(X):
        counted = np.repeat(weights, np.diff(X.indptr))
        zeros = size - float(counted.sum())
        return (float(counted @ np.square(X.data - mean)) + zeros * mean * mean) / size
    return float((weights @ np.square(X - mean)).sum()) / size


def _variance_of_narrow(X: np.ndarray) -> float:
    """Return the variance of float32 numbers, summed in float64 in one pass without a copy of all.

    The numbers are taken from the mean m of the first block, whose share q of them bounds what the
    difference of the two sums loses: (mean - m)^2 is at most the variance over q.
    """
    step, first, total, squares = max(1, _ENTRIES_AT_A_TIME // max(1, X.shape[1])), 0.0, 0.0, 0.0
    for begin in range(0, len(X), step):
        off = X[begin : begin + step].astype(np.float64)
        first = first if begin else float(off.mean())
        off -= first
        total += float(off.sum())
        squares += float(np.vdot(off, off))
    return max(0.0, squares - total * (total / X.size)) / X.size


def _products(A: Any, B: Any) -> np.ndarray:
    if sp.issparse(A) or sp.issparse(B):
        product = A.astype(np.float64, copy=False) @ B.astype(np.float64, copy=False).T
        return np.asarray(product.toarray() if sp.issparse(product) else product)
    return np.asarray(A.astype(np.float64, copy=False) @ B.astype(np.float64, copy=False).T)


def _squares(A: Any) -> np.ndarray:
    if sp.issparse(A):
        squares = A.astype(np.float64, copy=False).power(2).sum(axis=1)
        return np.asarray(squares, dtype=np.float64).ravel()
    A = A.astype(np.float64, copy=False)
    return np.asarray(np.einsum("ij,ij->i", A, A))


def _power(values: np.ndarray, degree: int) -> np.ndarray:
    result = np.ones_like(values)
    for _ in range(degree):
        result *= values
    return result
