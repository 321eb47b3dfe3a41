"""Rows with the mean of their class taken away: the matrix of the within-class scatter.

    A_i = sqrt(s_i) (x_i - m_k(i)) / scale,      S_W = A'A  (in columns divided by `scale`)

Columns are scaled to the same spread, so that nothing depends on their units. Columns that hold
one value are left out: they tell no class from another. Sparse rows stay sparse: means are taken
away from products, never from the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.errors import DataError
from separatrix.problem.centred import column_slice, constant_columns, mean_of_rows
from separatrix.problem.equilibrate import column_exponents, divided_columns
from separatrix.problem.signed import FloatArray, Matrix

__all__ = ["NO_SPREAD", "WithinRows", "within_rows"]

NO_SPREAD = 2.0**-45
_LEAST_SPREAD = 2.0**-480  # of values near 1: divided by less, their squares overflow


@dataclass(frozen=True, eq=False)
class WithinRows:
    """A as above: `rows` is A itself where dense, and X / scale where sparse.

    `means` (a row for each class) and `mean` (of all rows) are in the units of `rows`. A weight
    vector v in these units is ``v * 2^-exponents / spreads`` in the units of X. `weights` are
    divided by the largest of them; `n_copies` is the sum of those given.
    """

    rows: Matrix
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
    def is_sparse(self) -> bool:
        """Whether the means are still in the rows."""
        return bool(sp.issparse(self.rows))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns that vary."""
        return int(self.rows.shape[0]), int(self.rows.shape[1])

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
        rows,
        means / spreads,
        mean / spreads,
        codes,
        weights,
        exponents,
        spreads,
        kept,
        int(X.shape[1]),
        n_copies,
    )


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
