"""Where kernel values come from: dense rows, sparse rows, or a function; a block at a time.

A source fills ``store[slots[r], begin:end]`` with the values of given rows against the rows begin
to end of the data, and makes small matrices of values between given rows.

The values that a solver looks at, and no proof rests on, are float32, tile by tile. Dense rows: one
matrix product a tile. Sparse rows with few columns: each row adds up columns of a dense transpose;
with many columns, of a sparse one. A tile stays in the cache until it is finished.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._compiled import compiled, inlined
from separatrix.problem.kernels import Kernel

__all__ = ["BlockSource", "DenseSource", "SparseSource", "source_of"]

# Beyond these, float32 cannot tell what it should.
LARGEST_EXPONENT, LARGEST, LEAST = 2e3, 1e15, 1e-15
_MOST_DENSE_BYTES = 1 << 28
_WORTH_DENSE = 0.02
LINEAR, POLY, RBF, SIGMOID = range(4)
_CODES = {"linear": LINEAR, "poly": POLY, "rbf": RBF, "sigmoid": SIGMOID}
ROWS, COLUMNS = 128, 1024

_LEAST_EXPONENT = np.float32(-87.0)
_ZERO, _HALF, _ONE, _TWO = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0)
_LOG2_E, _LN_2 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)
_C2, _C3, _C4 = np.float32(1 / 2), np.float32(1 / 6), np.float32(1 / 24)
_C5, _C6 = np.float32(1 / 120), np.float32(1 / 720)
_EXPONENT_BIAS, _ONE_EXPONENT = np.int32(127), np.int32(1 << 23)


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
        fill_dense(*self._shape, left, squares[rows], self._rows, squares, begin, end, slots, store)

    def values(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the values of rows `left` with rows `right`."""
        store = np.empty((len(left), len(right)), dtype=np.float32)
        slots, squares = np.arange(len(left)), self._squares
        fill_dense(
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
        for begin in range(0, X.shape[0], COLUMNS):
            part = X[begin : begin + COLUMNS].tocsc()
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
        loop: Any = fill_narrow if self._is_narrow else fill_wide
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


# ---- kernel values in float32, tile by tile: what the solver looks at, and no proof rests on


@compiled
def fill_dense(  # type: ignore[no-untyped-def]
    kind, gamma, coef0, degree, left, left_squares, right, right_squares, begin, end, slots, store
):
    """Fill by matrix products of tiles."""
    tile = np.empty(ROWS * COLUMNS, dtype=np.float32)
    powers = np.empty(COLUMNS, dtype=np.int32)
    for column in range(begin, end, COLUMNS):
        width = min(COLUMNS, end - column)
        squares = right_squares[column : column + width]
        for row in range(0, left.shape[0], ROWS):
            height = min(ROWS, left.shape[0] - row)
            products = tile[: height * width].reshape((height, width))
            np.dot(left[row : row + height], right[column : column + width].T, products)
            for r in range(height):
                out = store[slots[row + r], column : column + width]
                finish(
                    kind,
                    gamma,
                    coef0,
                    degree,
                    products[r],
                    left_squares[row + r],
                    squares,
                    out,
                    powers,
                )


@compiled
def fill_narrow(  # type: ignore[no-untyped-def]
    kind,
    gamma,
    coef0,
    degree,
    values,
    indices,
    starts,
    rows,
    left_squares,
    across,
    right_squares,
    begin,
    end,
    slots,
    store,
):
    """Fill from CSR rows and the dense transpose `across` of the right-hand rows."""
    products = np.empty(COLUMNS, dtype=np.float32)
    powers = np.empty(COLUMNS, dtype=np.int32)
    for column in range(begin, end, COLUMNS):
        width = min(COLUMNS, end - column)
        squares = right_squares[column : column + width]
        for r in range(rows.shape[0]):
            part = products[:width]
            part[:] = _ZERO
            k, stop = starts[rows[r]], starts[rows[r] + 1]
            while k + 4 <= stop:
                # As locals, since the loop below might otherwise write over them.
                u, v, w, z = values[k], values[k + 1], values[k + 2], values[k + 3]
                a = across[indices[k], column : column + width]
                b = across[indices[k + 1], column : column + width]
                c = across[indices[k + 2], column : column + width]
                d = across[indices[k + 3], column : column + width]
                for j in range(width):
                    part[j] += u * a[j] + v * b[j] + w * c[j] + z * d[j]
                k += 4
            while k < stop:
                u = values[k]
                a = across[indices[k], column : column + width]
                for j in range(width):
                    part[j] += u * a[j]
                k += 1
            out = store[slots[r], column : column + width]
            finish(kind, gamma, coef0, degree, part, left_squares[r], squares, out, powers)


@compiled
def fill_wide(  # type: ignore[no-untyped-def]
    kind,
    gamma,
    coef0,
    degree,
    values,
    indices,
    starts,
    rows,
    left_squares,
    turned_values,
    turned_indices,
    turned_starts,
    right_squares,
    begin,
    end,
    slots,
    store,
):
    """Fill from CSR rows and sparse transposes of every COLUMNS right-hand rows."""
    products = np.empty(COLUMNS, dtype=np.float32)
    powers = np.empty(COLUMNS, dtype=np.int32)
    for column in range(begin, end, COLUMNS):
        width = min(COLUMNS, end - column)
        squares = right_squares[column : column + width]
        beginnings = turned_starts[column // COLUMNS]
        for r in range(rows.shape[0]):
            part = products[:width]
            part[:] = _ZERO
            for k in range(starts[rows[r]], starts[rows[r] + 1]):
                feature, value = indices[k], values[k]
                for q in range(beginnings[feature], beginnings[feature + 1]):
                    part[turned_indices[q]] += value * turned_values[q]
            out = store[slots[r], column : column + width]
            finish(kind, gamma, coef0, degree, part, left_squares[r], squares, out, powers)


@compiled
def finish(kind, gamma, coef0, degree, products, square, squares, out, powers):  # type: ignore[no-untyped-def]
    """Turn products x.z into kernel values."""
    if kind == RBF:
        exponentials(products, square, squares, gamma, out, powers)
    elif kind == POLY:
        for j in range(products.shape[0]):
            base = gamma * products[j] + coef0
            value = _ONE
            for _ in range(degree):
                value *= base
            out[j] = value
    elif kind == SIGMOID:
        for j in range(products.shape[0]):
            out[j] = np.tanh(gamma * products[j] + coef0)
    else:
        for j in range(products.shape[0]):
            out[j] = products[j]


@inlined
def exponentials(products, square, squares, gamma, out, powers):  # type: ignore[no-untyped-def]
    """Write exp(-gamma |x - z|^2), to about 2e-7 of itself (and of the exponent).

    exp(t) = 2^k exp(r) with |r| <= ln 2 / 2: a short polynomial, and k put into the exponent bits.
    Written as plain loops, which become vector instructions; the library's exp would not.
    """
    for j in range(products.shape[0]):
        t = gamma * (_TWO * products[j] - square - squares[j])
        out[j] = max(min(t, _ZERO), _LEAST_EXPONENT)
    for j in range(products.shape[0]):
        powers[j] = np.int32(out[j] * _LOG2_E - _HALF)
    for j in range(products.shape[0]):
        r = out[j] - np.float32(powers[j]) * _LN_2
        out[j] = _ONE + r * (_ONE + r * (_C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * _C6)))))
    for j in range(products.shape[0]):
        powers[j] = np.int32((powers[j] + _EXPONENT_BIAS) * _ONE_EXPONENT)
    scales = powers.view(np.float32)
    for j in range(products.shape[0]):
        out[j] *= scales[j]
