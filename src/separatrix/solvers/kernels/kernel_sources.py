"""Where kernel values come from: dense rows, sparse rows, or a function; a block at a time.

A source fills ``store[slots[r], begin:end]`` with the values of given rows against the rows begin
to end of the data, and makes small matrices of values between given rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.problem.kernels import Kernel
from separatrix.solvers.kernels import kernel_tiles as tiles

__all__ = ["BlockSource", "DenseSource", "SparseSource", "source_of"]

_CODES = {
    "linear": tiles.LINEAR,
    "poly": tiles.POLY,
    "rbf": tiles.RBF,
    "sigmoid": tiles.SIGMOID,
}
# Beyond these, float32 cannot tell what it should.
LARGEST_EXPONENT, LARGEST, LEAST = 2e3, 1e15, 1e-15
_MOST_DENSE_BYTES = 1 << 28
_WORTH_DENSE = 0.02


class BlockSource:
    """Float64 values by `Kernel.block`: for functions, and where float32 does not do."""

    dtype = np.dtype(np.float64)

    def __init__(self, kernel: Kernel, X: Any) -> None:
        self.kernel, self.X = kernel, X

    def fill(self, rows: np.ndarray, begin: int, end: int, slots: np.ndarray, store: Any) -> None:
        """Fill the columns begin to end of the store's rows `slots`."""
        store[slots, begin:end] = self.kernel.block(self.X[rows], self.X[begin:end])

    def values(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the values of rows `left` with rows `right`."""
        return self.kernel.block(self.X[left], self.X[right])


class _Float32Source:
    dtype = np.dtype(np.float32)

    def __init__(self, kernel: Kernel) -> None:
        self._shape = (
            _CODES[kernel.name],
            np.float32(kernel.gamma),
            np.float32(kernel.coef0),
            kernel.degree,
        )


class DenseSource(_Float32Source):
    """Dense rows: matrix products. Distances do not change when the rows are centred."""

    def __init__(self, kernel: Kernel, X: np.ndarray) -> None:
        super().__init__(kernel)
        centre = X.mean(axis=0, dtype=np.float64) if kernel.name == "rbf" else 0.0
        self._rows = np.ascontiguousarray(X - centre, dtype=np.float32)
        squares = np.einsum("ij,ij->i", self._rows, self._rows, dtype=np.float64)
        self._squares = squares.astype(np.float32)

    def fill(self, rows: np.ndarray, begin: int, end: int, slots: np.ndarray, store: Any) -> None:
        """Fill the columns begin to end of the store's rows `slots`."""
        left, squares = self._rows[rows], self._squares
        tiles.fill_dense(
            *self._shape, left, squares[rows], self._rows, squares, begin, end, slots, store
        )

    def values(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the values of rows `left` with rows `right`."""
        store = np.empty((len(left), len(right)), dtype=np.float32)
        slots, squares = np.arange(len(left)), self._squares
        tiles.fill_dense(
            *self._shape,
            self._rows[left],
            squares[left],
            self._rows[right],
            squares[right],
            0,
            len(right),
            slots,
            store,
        )
        return store


class SparseSource(_Float32Source):
    """Sparse rows against a transpose: dense where there are few columns, sparse otherwise."""

    def __init__(self, kernel: Kernel, X: Any) -> None:
        super().__init__(kernel)
        self._X = sp.csr_array(
            (X.data.astype(np.float32), X.indices.astype(np.int64), X.indptr.astype(np.int64)),
            shape=X.shape,
        )
        squares = self._X.astype(np.float64).power(2).sum(axis=1)
        self._squares = np.asarray(squares).ravel().astype(np.float32)
        size = X.shape[0] * X.shape[1]
        self._is_narrow = 4 * size <= _MOST_DENSE_BYTES and X.nnz > _WORTH_DENSE * size
        self._turned = self._transpose(self._X)

    def _transpose(self, X: Any) -> tuple[np.ndarray, ...]:
        """Lay rows out by columns: one dense matrix, or a sparse one for every COLUMNS rows."""
        if self._is_narrow:
            return (np.ascontiguousarray(X.toarray().T),)
        values, indices, starts, before = [], [], [], 0
        for begin in range(0, X.shape[0], tiles.COLUMNS):
            part = X[begin : begin + tiles.COLUMNS].tocsc()
            values.append(part.data)
            indices.append(part.indices.astype(np.int64))
            starts.append(part.indptr.astype(np.int64) + before)
            before += part.nnz
        return np.concatenate(values), np.concatenate(indices), np.array(starts)

    def fill(self, rows: np.ndarray, begin: int, end: int, slots: np.ndarray, store: Any) -> None:
        """Fill the columns begin to end of the store's rows `slots`."""
        self._fill(rows, self._turned, self._squares, begin, end, slots, store)

    def values(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the values of rows `left` with rows `right`."""
        store = np.empty((len(left), len(right)), dtype=np.float32)
        turned = self._transpose(self._X[right])
        slots = np.arange(len(left))
        self._fill(left, turned, self._squares[right], 0, len(right), slots, store)
        return store

    def _fill(
        self,
        rows: np.ndarray,
        turned: tuple[np.ndarray, ...],
        squares: np.ndarray,
        begin: int,
        end: int,
        slots: np.ndarray,
        store: np.ndarray,
    ) -> None:
        X = self._X
        loop: Any = tiles.fill_narrow if self._is_narrow else tiles.fill_wide
        loop(
            *self._shape,
            X.data,
            X.indices,
            X.indptr,
            rows,
            self._squares[rows],
            *turned,
            squares,
            begin,
            end,
            slots,
            store,
        )


def source_of(kernel: Kernel, X: Any, precise: bool) -> Any:
    """Return float32 tiles where they do, and float64 blocks where they do not."""
    if precise or kernel.name == "callable" or not _float32_does(kernel, X):
        return BlockSource(kernel, X)
    return SparseSource(kernel, X) if sp.issparse(X) else DenseSource(kernel, X)


def _float32_does(kernel: Kernel, X: Any) -> bool:
    with np.errstate(over="ignore", invalid="ignore"):
        if kernel.name == "rbf":
            if sp.issparse(X):
                squares = np.asarray(X.astype(np.float64).power(2).sum(axis=1))
            else:
                away = X - X.mean(axis=0, dtype=np.float64)
                squares = np.einsum("ij,ij->i", away, away)
            return bool(kernel.gamma * squares.max(initial=0.0) < LARGEST_EXPONENT)
        values = X.data if sp.issparse(X) else X
        size = float(abs(values).max(initial=0.0))
        largest = float(abs(kernel.diagonal(X)).max(initial=0.0))
    return size < LARGEST and LEAST < largest < LARGEST
