"""Weighted rows with their mean taken away, dense or sparse: the matrix A of the closed forms.

    A_i = sqrt(s_i) (x_i - m) / 2^e,   m = sum s_i x_i / sum s_i   (m = 0 without an intercept)

Columns are divided by powers of two, which rounds nothing, so that no square overflows. Columns
that do not vary are left out: they belong to the intercept. Sparse rows stay sparse: the mean is
taken away from products, never from the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.problem.equilibrate import column_exponents, divided_columns
from separatrix.problem.signed import FloatArray, Matrix

__all__ = ["CentredRows", "centred_rows", "column_slice", "constant_columns", "mean_of_rows"]

_LEAST_TOP = -400


@dataclass(frozen=True, eq=False)
class CentredRows:
    """A as above: `rows` is A itself where dense, and X / 2^e where sparse.

    `mean` is in the units of `rows`; `kept` numbers the columns that vary; `roots` are sqrt(s_i)
    for weights divided by their power of two, 4^weight_exponent.
    """

    rows: Matrix
    mean: FloatArray
    roots: FloatArray
    exponents: np.ndarray
    kept: np.ndarray
    n_columns: int
    weight_exponent: int
    fit_intercept: bool

    @property
    def is_sparse(self) -> bool:
        """Whether the mean is still in the rows."""
        return bool(sp.issparse(self.rows))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns that vary."""
        return int(self.rows.shape[0]), int(self.rows.shape[1])

    @property
    def mass(self) -> float:
        """The sum of the (divided) weights."""
        return float(self.roots @ self.roots)

    @property
    def top(self) -> int:
        """A power of two that no column exceeds, large enough for any ridge divided by 4^top."""
        return int(self.exponents.max(initial=_LEAST_TOP))

    def times(self, V: FloatArray) -> FloatArray:
        """Return A V."""
        product = self.rows @ V
        if not self.is_sparse:
            return np.asarray(product)
        roots = self.roots if V.ndim == 1 else self.roots[:, None]
        return np.asarray(roots * (product - self.mean @ V))

    def transposed_times(self, U: FloatArray) -> FloatArray:
        """Return A' U."""
        if not self.is_sparse:
            return np.asarray(self.rows.T @ U)
        weighted = (self.roots if U.ndim == 1 else self.roots[:, None]) * U
        total = weighted.sum(axis=0)
        correction = np.multiply.outer(self.mean, total) if U.ndim > 1 else self.mean * total
        return np.asarray(self.rows.T @ weighted - correction)

    def gram(self) -> FloatArray:
        """Return A'A."""
        if not self.is_sparse:
            return np.asarray(self.rows.T @ self.rows)
        weighted = self.rows.multiply(self.roots[:, None]).tocsr()
        raw = (weighted.T @ weighted).toarray()
        return np.asarray(raw - self.mass * np.outer(self.mean, self.mean))

    def outer_gram(self) -> FloatArray:
        """Return A A'."""
        if not self.is_sparse:
            return np.asarray(self.rows @ self.rows.T)
        raw = (self.rows @ self.rows.T).toarray()
        along = self.rows @ self.mean
        raw += self.mean @ self.mean - along[:, None] - along[None, :]
        return np.asarray(self.roots[:, None] * raw * self.roots)

    def square_norms(self) -> FloatArray:
        """Return the squared length of every column."""
        if not self.is_sparse:
            return np.asarray(np.einsum("ij,ij->j", self.rows, self.rows))
        weights = self.roots**2
        squares = np.asarray(self.rows.multiply(self.rows).T @ weights)
        return np.maximum(squares - self.mass * self.mean**2, 0.0)

    def scatter(self, V: FloatArray) -> FloatArray:
        """Give weights of all the columns as given, those of columns left out being zero."""
        out = np.zeros((self.n_columns, *V.shape[1:]))
        shift = self.exponents if V.ndim == 1 else self.exponents[:, None]
        with np.errstate(over="ignore"):
            out[self.kept] = np.ldexp(V, -shift)
        return out


def constant_columns(X: Matrix) -> np.ndarray:
    """Say which columns hold one value only.

    >>> constant_columns(np.array([[1.0, 2.0, 0.0], [1.0, 3.0, 0.0]])).tolist()
    [True, False, True]
    """
    if not sp.issparse(X):
        return np.asarray((X[:1] == X).all(axis=0))
    low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    return np.asarray(low == high)


def column_slice(X: Matrix, kept: np.ndarray) -> Matrix:
    """Return the columns numbered, or X itself where they are all of them."""
    return X if len(kept) == X.shape[1] else X[:, kept]


def mean_of_rows(X: Matrix, weights: FloatArray) -> FloatArray:
    """Return the weighted mean of the rows, each term divided first so that no sum overflows."""
    return np.asarray(X.T @ (weights / weights.sum())).ravel()


def centred_rows(X: Any, weights: FloatArray, fit_intercept: bool) -> CentredRows:
    """Lay out A; dense rows are copied once, sparse ones share their structure."""
    weight_exponent = int(np.frexp(weights.max())[1]) // 2
    weights = np.ldexp(weights, -2 * weight_exponent)
    constant = constant_columns(X)
    if not fit_intercept:
        zero = abs(X[:1]).toarray().ravel() == 0.0 if sp.issparse(X) else X[0] == 0.0
        constant &= zero
    kept = np.flatnonzero(~constant)
    part = column_slice(X, kept)
    exponents = column_exponents(part) if len(kept) else np.zeros(0, dtype=np.int64)
    rows = divided_columns(part, exponents)
    mean = mean_of_rows(rows, weights) if fit_intercept else np.zeros(len(kept))
    roots = np.sqrt(weights)
    if not sp.issparse(rows):
        if fit_intercept:
            rows -= mean
            # The first mean is rounded; what is left of it is small, and its own rounding smaller.
            rest = mean_of_rows(rows, weights)
            rows -= rest
            mean = mean + rest
        rows *= roots[:, None]
    return CentredRows(
        rows, mean, roots, exponents, kept, int(X.shape[1]), weight_exponent, fit_intercept
    )
