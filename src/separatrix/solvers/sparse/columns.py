"""The columns of X laid out for the sparse solvers, and a working set of them.

Scores need the columns of the working set alone; a look at all columns costs one pass over X.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix._compiled import compiled
from separatrix.problem.signed import Matrix, SignedProblem

__all__ = ["Columns", "WorkingSet"]


class Columns:
    """The columns that may be nonzero: `numbers` name them among all columns of X."""

    def __init__(self, rows: SignedProblem) -> None:
        X = rows.X
        self._X: Any = rows.once("columns", lambda: _by_columns(X))
        self._squares: Any = rows.once("squares", lambda: _squares(self._X))
        self.numbers = np.arange(X.shape[1])
        self.entries = float(X.nnz) if sp.issparse(X) else float(X.size)
        self.entries_now = self.entries

    def combination(self, shares: np.ndarray) -> np.ndarray:
        """Return sum_i s_i x_i, of these columns."""
        return np.asarray(self._X.T @ shares)

    def spreads(self, costs: np.ndarray, has_bias: bool) -> np.ndarray:
        """Return the length of every column, weighted by the costs; about its mean, with a bias."""
        X = self._X
        squares = self._squares.T @ costs if sp.issparse(X) else _dense_squares(X, costs)
        if has_bias:
            sums = X.T @ costs
            squares = squares - sums * sums / costs.sum()
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def keep(self, places: np.ndarray) -> None:
        """Leave out all columns but those at these places."""
        self._X, self.numbers = self._X[:, places], self.numbers[places]
        self.entries_now = float(self._X.nnz if sp.issparse(self._X) else self._X.size)

    def working_set(self, places: np.ndarray) -> WorkingSet:
        """Return the columns at these places."""
        part = self._X[:, places]
        if not sp.issparse(part):
            return WorkingSet(np.ascontiguousarray(part), None)
        return WorkingSet(part.tocsr(), part.tocsc())


class WorkingSet(NamedTuple):
    """A few columns: dense, or by rows and by columns."""

    by_rows: Any
    by_columns: Any  # None where dense

    @property
    def entries(self) -> float:
        """How many entries there are."""
        return float(self.by_rows.size if self.by_columns is None else self.by_rows.nnz)

    @property
    def products(self) -> float:
        """How many products the matrix of all pairs of columns takes."""
        n, m = self.by_rows.shape
        if self.by_columns is None:
            return 0.125 * n * m * m  # by vector instructions
        lengths = np.diff(self.by_rows.indptr).astype(np.float64)
        return float(lengths @ lengths)

    def combination(self, shares: np.ndarray) -> np.ndarray:
        """Return sum_i s_i x_i."""
        return np.asarray(self.by_rows.T @ shares)

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return w.x_i of every row."""
        return np.asarray(self.by_rows @ w)

    def curvature(self, bends: np.ndarray, has_bias: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return X' D X, D the curvatures, the bias eliminated from it; and the mean of columns."""
        total = float(bends.sum())
        mean = np.zeros(self.by_rows.shape[1])
        if has_bias and total > 0.0:
            mean = self.combination(bends) / total
        if self.by_columns is None:
            # Centred before it is squared: raw columns far from zero keep their digits.
            half = (self.by_rows - mean) * np.sqrt(bends)[:, None]
            return half.T @ half, mean
        rows = self.by_rows
        matrix = np.zeros((len(mean), len(mean)))
        _add_pairs(rows.indptr, rows.indices, rows.data, bends, matrix)
        matrix += np.triu(matrix, 1).T
        return matrix - total * np.outer(mean, mean), mean


def _by_columns(X: Matrix) -> Any:
    found = X.tocsc() if sp.issparse(X) else X
    return found if found.dtype == np.float64 else found.astype(np.float64)


def _squares(X: Any) -> Any:
    """Return the squares of sparse columns; dense ones are squared as they are summed."""
    return X.multiply(X).tocsc() if sp.issparse(X) else None


def _dense_squares(X: np.ndarray, costs: np.ndarray) -> np.ndarray:
    return np.asarray(np.einsum("ij,ij,i->j", X, X, costs))


@compiled
def _add_pairs(starts, indices, values, bends, matrix):  # type: ignore[no-untyped-def]
    """Add the products of all pairs of entries of a row, times its curvature; indices ascend."""
    for i in range(bends.shape[0]):
        bend = bends[i]
        if bend > 0.0:
            for k in range(starts[i], starts[i + 1]):
                part = bend * values[k]
                row = matrix[indices[k]]
                for other in range(k, starts[i + 1]):
                    row[indices[other]] += part * values[other]
