"""Weighted rows with a mean taken away, dense or sparse: the matrix A of the closed forms.

    CentredRows   A_i = sqrt(s_i) (x_i - m) / 2^e,        m = sum s_i x_i / sum s_i, or 0
    WithinRows    A_i = sqrt(s_i) (x_i - m_k(i)) / scale,  m_k the mean of class k: S_W = A'A

Columns are divided by powers of two, which rounds nothing, so that no square overflows. Columns
that do not vary are left out. Sparse rows stay sparse: the mean is taken away from products, never
from the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.errors import DataError
from separatrix.problem.equilibrate import column_exponents, divided_columns, needed_exponents
from separatrix.problem.signed import FloatArray, Matrix

_LEAST_TOP = -400
_FIRST_ROWS = 256
_ENTRIES_AT_A_TIME = 1 << 15  # of dense rows, which stay in the nearest cache


@dataclass(frozen=True, eq=False)
class _Rows:
    """`rows` is A itself where dense, and X in the units of A where sparse."""

    rows: Matrix

    @property
    def is_sparse(self) -> bool:
        """Whether the mean is still in the rows."""
        return bool(sp.issparse(self.rows))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns that vary."""
        return int(self.rows.shape[0]), int(self.rows.shape[1])


@dataclass(frozen=True, eq=False)
class CentredRows(_Rows):
    """Rows less the mean of all; without an intercept, less nothing.

    `mean` is in the units of `rows`; `kept` numbers the columns that vary; `roots` are sqrt(s_i)
    for weights divided by their power of two, 4^weight_exponent.
    """

    mean: FloatArray
    roots: FloatArray
    exponents: np.ndarray
    kept: np.ndarray
    n_columns: int
    weight_exponent: int
    fit_intercept: bool

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
        # The first rows tell most columns apart.
        found = np.asarray((X[:1] == X[:_FIRST_ROWS]).all(axis=0))
        if found.any():
            found[found] = (X[:1, found] == X[:, found]).all(axis=0)
        return found
    low, high = X.min(axis=0).toarray().ravel(), X.max(axis=0).toarray().ravel()
    return np.asarray(low == high)


def column_slice(X: Matrix, kept: np.ndarray) -> Matrix:
    """Return the columns numbered, or X itself where they are all of them."""
    return X if len(kept) == X.shape[1] else X[:, kept]


def nearer_zero(X: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return dense rows less the heaviest of them in columns far from zero, and what was taken.

    There no value is more than twice another, and no difference is rounded (Sterbenz).

    >>> nearer_zero(np.array([[1e9, 1.0], [1e9 + 1.0, 3.0]]), np.ones(2))[0].tolist()
    [[0.0, 1.0], [1.0, 3.0]]
    """
    low, high = X.min(axis=0), X.max(axis=0)
    is_far = np.where(low > 0.0, 0.5 * high <= low, (high < 0.0) & (0.5 * low >= high))
    by = np.where(is_far, X[np.argmax(weights)], 0.0)
    return (np.subtract(X, by, dtype=np.float64) if by.any() else X), by


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
    roots = np.sqrt(weights)
    if not sp.issparse(part):
        exponents = needed_exponents(part)
        rows, mean = _centred(part, exponents, weights, roots, fit_intercept)
    else:
        exponents = column_exponents(part) if len(kept) else np.zeros(0, dtype=np.int64)
        rows = divided_columns(part, exponents)
        mean = mean_of_rows(rows, weights) if fit_intercept else np.zeros(len(kept))
    return CentredRows(
        rows, mean, roots, exponents, kept, int(X.shape[1]), weight_exponent, fit_intercept
    )


def _centred(
    X: FloatArray, exponents: np.ndarray, weights: FloatArray, roots: FloatArray, centre: bool
) -> tuple[FloatArray, FloatArray]:
    """Return dense A and its mean, a few rows at a time."""
    if exponents.any() or not centre:
        X = divided_columns(X, exponents)
    if not centre:
        return X * roots[:, None], np.zeros(X.shape[1])
    mean = mean_of_rows(X, weights)
    rows, shares, rest = np.empty(X.shape), weights / weights.sum(), np.zeros(X.shape[1])
    step = max(1, _ENTRIES_AT_A_TIME // max(X.shape[1], 1))
    pieces = [slice(begin, begin + step) for begin in range(0, len(X), step)]
    for piece in pieces:
        np.subtract(X[piece], mean, out=rows[piece])
        # The first mean is rounded; what is left of it is small, and its own rounding smaller.
        rest += shares[piece] @ rows[piece]
    is_level = bool((roots == 1.0).all())
    for piece in pieces:
        rows[piece] -= rest
        if not is_level:
            rows[piece] *= roots[piece, None]
    return rows, mean + rest


NO_SPREAD = 2.0**-45
_LEAST_SPREAD = 2.0**-480  # of values near 1: divided by less, their squares overflow


@dataclass(frozen=True, eq=False)
class WithinRows(_Rows):
    """Rows less the mean of their class, columns scaled to the same spread.

    `means` (a row for each class) and `mean` (of all rows) are in the units of `rows`. A weight
    vector v in these units is ``v * 2^-exponents / spreads`` in the units of X. `weights` are
    divided by the largest of them; `n_copies` is the sum of those given.
    """

    means: FloatArray
    mean: FloatArray
    codes: np.ndarray
    weights: FloatArray
    exponents: np.ndarray
    spreads: FloatArray
    kept: np.ndarray
    n_columns: int
    n_copies: float

    @property
    def mass(self) -> float:
        """The sum of the (divided) weights."""
        return float(self.weights.sum())

    @property
    def class_masses(self) -> FloatArray:
        """The sum of the weights in each class."""
        return np.asarray(
            np.bincount(self.codes, self.weights, minlength=len(self.means)), dtype=np.float64
        )

    def times(self, V: FloatArray) -> FloatArray:
        """Return A V for a matrix V."""
        if not self.is_sparse:
            return np.asarray(self.rows @ V)
        moved = self.rows @ V - (self.means @ V)[self.codes]
        return np.asarray(np.sqrt(self.weights)[:, None] * moved)

    def transposed_times(self, U: FloatArray) -> FloatArray:
        """Return A'U for a matrix U."""
        if not self.is_sparse:
            return np.asarray(self.rows.T @ U)
        weighted = np.sqrt(self.weights)[:, None] * U
        return np.asarray(self.rows.T @ weighted - self.means.T @ self._by_class(weighted))

    def _by_class(self, U: FloatArray) -> FloatArray:
        totals = np.zeros((len(self.means), U.shape[1]))
        np.add.at(totals, self.codes, U)
        return totals

    def gram(self) -> FloatArray:
        """Return S_W = A'A."""
        if not self.is_sparse:
            return np.asarray(self.rows.T @ self.rows)
        weighted = self.rows.multiply(np.sqrt(self.weights)[:, None]).tocsr()
        raw = (weighted.T @ weighted).toarray()
        return np.asarray(raw - (self.means.T * self.class_masses) @ self.means)

    def outer_gram(self, part: slice = slice(None)) -> FloatArray:
        """Return the rows `part` of A A'."""
        if not self.is_sparse:
            return np.asarray(self.rows[part] @ self.rows.T)
        along = np.asarray(self.rows @ self.means.T)  # x_i . m_k
        roots, codes = np.sqrt(self.weights), self.codes
        raw = (self.rows[part] @ self.rows.T).toarray()
        raw -= along[part][:, codes]
        raw -= along[:, codes[part]].T
        raw += (self.means @ self.means.T)[np.ix_(codes[part], codes)]
        return np.asarray(roots[part, None] * raw * roots)

    def row_squares(self) -> FloatArray:
        """Return |x_i - m|^2 in the scaled units, without the weights."""
        if not self.is_sparse:
            return np.asarray(np.einsum("ij,ij->i", self.rows, self.rows) / self.weights)
        squares = np.asarray(self.rows.multiply(self.rows).sum(axis=1)).ravel()
        along = np.asarray(self.rows @ self.means.T)[np.arange(len(squares)), self.codes]
        own = (self.means**2).sum(axis=1)[self.codes]
        return np.maximum(squares - 2.0 * along + own, 0.0)

    def given_weights(self, V: FloatArray) -> FloatArray:
        """Return weight vectors (columns of V) for the columns of X as given."""
        out = np.zeros((self.n_columns, V.shape[1]))
        with np.errstate(over="ignore", under="ignore"):
            out[self.kept] = np.ldexp(V / self.spreads[:, None], -self.exponents[:, None])
        return out


def within_rows(
    X: Matrix, codes: np.ndarray, weights: FloatArray, n_classes: int, unit_spread: bool = True
) -> WithinRows:
    """Lay out A. With `unit_spread`, columns have variance 1 within classes (or, if 0, in all)."""
    kept = np.flatnonzero(~constant_columns(X))
    part = column_slice(X, kept)
    exponents = column_exponents(part) if len(kept) else np.zeros(0, dtype=np.int64)
    rows = divided_columns(part, exponents)
    n_copies = float(weights.sum())
    weights = weights / weights.max()
    mean = mean_of_rows(rows, weights)
    means = np.zeros((n_classes, len(kept)))
    for k in range(n_classes):
        means[k] = mean_of_rows(rows[codes == k], weights[codes == k])
    within, total = _variances(rows, codes, weights, means, mean)
    spreads = np.ones(len(kept))
    if unit_spread:
        # A column that varies between classes alone is measured by its variance over all rows.
        spreads = np.sqrt(np.where(within > NO_SPREAD**2 * total, within, total))
        spreads[spreads == 0.0] = 1.0
        if (spreads < _LEAST_SPREAD).any():
            raise DataError(
                "A column varies in rows of next to no weight alone: the sample weights differ too "
                "much. Leave those rows out."
            )
    if sp.issparse(rows):
        data = rows.data / spreads[rows.indices]
        rows = sp.csr_array((data, rows.indices, rows.indptr), rows.shape)
    else:
        rows = np.sqrt(weights)[:, None] * ((rows - means[codes]) / spreads)
    return WithinRows(
        rows, means / spreads, mean / spreads, codes, weights, exponents, spreads, kept,
        int(X.shape[1]), n_copies,
    )  # fmt: skip


def _variances(
    rows: Matrix, codes: np.ndarray, weights: FloatArray, means: FloatArray, mean: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the variance of every column within classes, and over all rows."""
    shares = weights / weights.sum()
    masses = np.bincount(codes, shares, minlength=len(means))
    between = masses @ (means - mean) ** 2
    if sp.issparse(rows):
        squares = np.asarray(rows.multiply(rows).T @ shares).ravel()
        within = squares - masses @ means**2
        # What cancels to within rounding is nothing.
        within = np.where(within > 2.0**-40 * squares, within, 0.0)
    else:
        within = shares @ (rows - means[codes]) ** 2
    return within, within + between
