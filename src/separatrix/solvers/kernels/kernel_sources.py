"""Where kernel values come from: dense rows, sparse rows, or a function; a block at a time.

A source fills ``store[slots[r], begin:end]`` with the values of given rows against the rows begin
to end of the data, and makes small matrices of values between given rows.

The values that a solver looks at, and no proof rests on, are float32, tile by tile. Dense rows: one
matrix product a tile. Sparse rows with few columns: each row adds up columns of a dense transpose;
with many columns, of a sparse one. A tile stays in the cache until it is finished.

A small kernel model as a linear one: for kernels on which pairs of rows get nowhere.

    K = L L^T,   and the rows of L make the same problem:   w = L^T (a y)

Where kernel values are nearly of low rank and of very different sizes, thousands of pair steps a
row change little; an interior point on the rows of L takes thirty steps whatever the sizes. The
balance sum_i y_i a_i = 0 lets K be centred first, so that a common offset costs no digits.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh

from separatrix._compiled import by_kind, compiled, inlined
from separatrix.problem.kernels import Kernel
from separatrix.problem.losses import HINGE
from separatrix.problem.machine import KernelMachine, MachineProblem
from separatrix.problem.many_classes import DirectProblem, KernelDirect
from separatrix.problem.rows import SparseRows
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear.model_run import MachineRun
from separatrix.solvers.many_classes import crammer_singer, direct_interior_point
from separatrix.solvers.running.drive import go_on

__all__ = [
    "BlockSource",
    "DenseSource",
    "MOST_ROWS",
    "SparseSource",
    "solve_factored",
    "solve_factored_direct",
    "source_of",
]


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


class _Shape(NamedTuple):
    """The kernel as a function of a product."""

    kind: int
    gamma: np.float32
    coef0: np.float32
    degree: int


class _Place(NamedTuple):
    """Where values go: the columns begin to end of the rows `slots` of a store."""

    begin: int
    end: int
    slots: np.ndarray
    store: np.ndarray


class _Across(NamedTuple):
    """The transpose of the right-hand rows, dense."""

    values: np.ndarray


class _Turned(NamedTuple):
    """Sparse transposes of every COLUMNS right-hand rows."""

    values: np.ndarray
    indices: np.ndarray
    starts: np.ndarray


class _Float32Source:
    dtype = np.dtype(np.float32)

    def __init__(self, kernel: Kernel) -> None:
        numbers = np.float32(kernel.gamma), np.float32(kernel.coef0)
        self._shape = _Shape(_CODES[kernel.name], *numbers, kernel.degree)


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
        place = _Place(begin, end, slots, store)
        fill_dense(self._shape, left, squares[rows], self._rows, squares, place)

    def values(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the values of rows `left` with rows `right`."""
        rows, squares = self._rows, self._squares
        place = _new_store(len(left), len(right))
        fill_dense(self._shape, rows[left], squares[left], rows[right], squares[right], place)
        return place.store


def _new_store(height: int, width: int) -> _Place:
    store = np.empty((height, width), dtype=np.float32)
    return _Place(0, width, np.arange(height), store)


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

    def _transpose(self, X: Any) -> _Across | _Turned:
        """Lay rows out by columns: one dense matrix, or a sparse one for every COLUMNS rows."""
        if self._is_narrow:
            return _Across(np.ascontiguousarray(X.toarray().T))
        values, indices, starts, before = [], [], [], 0
        for begin in range(0, X.shape[0], COLUMNS):
            part = X[begin : begin + COLUMNS].tocsc()
            values.append(part.data)
            indices.append(part.indices.astype(np.int64))
            starts.append(part.indptr.astype(np.int64) + before)
            before += part.nnz
        return _Turned(np.concatenate(values), np.concatenate(indices), np.array(starts))

    def fill(self, rows: np.ndarray, begin: int, end: int, slots: np.ndarray, store: Any) -> None:
        """Fill the columns begin to end of the store's rows `slots`."""
        self._fill(rows, self._turned, self._squares, _Place(begin, end, slots, store))

    def values(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return the values of rows `left` with rows `right`."""
        place = _new_store(len(left), len(right))
        self._fill(left, self._transpose(self._X[right]), self._squares[right], place)
        return place.store

    def _fill(
        self, rows: np.ndarray, turned: _Across | _Turned, squares: np.ndarray, place: _Place
    ) -> None:
        left = SparseRows(self._X.data, self._X.indices, self._X.indptr)
        fill_sparse(self._shape, left, rows, self._squares[rows], turned, squares, place)


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
def fill_dense(shape, left, left_squares, right, right_squares, place):  # type: ignore[no-untyped-def]
    """Fill by matrix products of tiles."""
    tile = np.empty(ROWS * COLUMNS, dtype=np.float32)
    powers = np.empty(COLUMNS, dtype=np.int32)
    for column in range(place.begin, place.end, COLUMNS):
        width = min(COLUMNS, place.end - column)
        squares = right_squares[column : column + width]
        for row in range(0, left.shape[0], ROWS):
            height = min(ROWS, left.shape[0] - row)
            products = tile[: height * width].reshape((height, width))
            np.dot(left[row : row + height], right[column : column + width].T, products)
            for r in range(height):
                out = place.store[place.slots[row + r], column : column + width]
                finish(shape, products[r], left_squares[row + r], squares, out, powers)


def _narrow(across, left, i, column, part):  # type: ignore[no-untyped-def]
    values, indices, width = left.values, left.indices, part.shape[0]
    k, stop = left.starts[i], left.starts[i + 1]
    while k + 4 <= stop:
        # As locals, since the loop below might otherwise write over them.
        u, v, w, z = values[k], values[k + 1], values[k + 2], values[k + 3]
        a = across.values[indices[k], column : column + width]
        b = across.values[indices[k + 1], column : column + width]
        c = across.values[indices[k + 2], column : column + width]
        d = across.values[indices[k + 3], column : column + width]
        for j in range(width):
            part[j] += u * a[j] + v * b[j] + w * c[j] + z * d[j]
        k += 4
    while k < stop:
        u = values[k]
        a = across.values[indices[k], column : column + width]
        for j in range(width):
            part[j] += u * a[j]
        k += 1


def _wide(turned, left, i, column, part):  # type: ignore[no-untyped-def]
    beginnings = turned.starts[column // COLUMNS]
    for k in range(left.starts[i], left.starts[i + 1]):
        feature, value = left.indices[k], left.values[k]
        for q in range(beginnings[feature], beginnings[feature + 1]):
            part[turned.indices[q]] += value * turned.values[q]


add_products = by_kind({_Across: _narrow, _Turned: _wide})


@compiled
def fill_sparse(shape, left, chosen, left_squares, turned, right_squares, place):  # type: ignore[no-untyped-def]
    """Fill from CSR rows and the transpose of the right-hand rows."""
    products = np.empty(COLUMNS, dtype=np.float32)
    powers = np.empty(COLUMNS, dtype=np.int32)
    for column in range(place.begin, place.end, COLUMNS):
        width = min(COLUMNS, place.end - column)
        squares = right_squares[column : column + width]
        for r in range(chosen.shape[0]):
            part = products[:width]
            part[:] = _ZERO
            add_products(turned, left, chosen[r], column, part)
            out = place.store[place.slots[r], column : column + width]
            finish(shape, part, left_squares[r], squares, out, powers)


@compiled
def finish(shape, products, square, squares, out, powers):  # type: ignore[no-untyped-def]
    """Turn products x.z into kernel values."""
    kind, gamma, coef0, degree = shape
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


# ---- a small kernel model as a linear one: for kernels on which pairs of rows get nowhere


MOST_ROWS = 1500
_ROUNDING = 1e-15
_MOST_PASSES = 1_000


def rows_of_factor(K: np.ndarray) -> np.ndarray | None:
    """Return L with L L^T = K seen from the mean of the rows, or None where there is none."""
    with np.errstate(over="ignore", invalid="ignore"):
        K = K - K.mean(axis=0)
        K = K - K.mean(axis=1)[:, None]
    if not np.isfinite(K).all():
        return None
    sizes, directions = eigh(0.5 * (K + K.T), check_finite=False)
    kept = sizes > _ROUNDING * len(K) * float(sizes.max(initial=0.0))
    return np.asarray(directions[:, kept] * np.sqrt(sizes[kept])) if kept.any() else None


def solve_factored(
    machine: KernelMachine, K: np.ndarray, tol: float, deadline: float
) -> np.ndarray | None:
    """Return multipliers, or None where the factor is of no use."""
    used = np.flatnonzero(machine.costs > 0.0)
    rows = rows_of_factor(np.asarray(K, dtype=np.float64)[np.ix_(used, used)])
    if rows is None:
        return None
    problem = MachineProblem(SignedProblem(rows, machine.signs[used]), machine.costs[used], HINGE)
    run = MachineRun(problem, "interior_point", tol=tol)
    run.go_on(tol, deadline)
    alpha = np.zeros(len(machine.costs))
    alpha[used] = run.claims().alpha
    return alpha


# ---- a small direct model with a kernel as one without: for kernels on which visits get nowhere


def solve_factored_direct(
    machine: KernelDirect, K: np.ndarray, tol: float, deadline: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return masses and the biases for K as it is, or None where the factor is of no use."""
    used = np.flatnonzero(machine.costs > 0.0)
    K = np.asarray(K, dtype=np.float64)
    rows = rows_of_factor(K[np.ix_(used, used)])
    if rows is None:
        return None
    problem = DirectProblem(rows, machine.codes[used], machine.n_classes, machine.costs[used])
    method = direct_interior_point if direct_interior_point.suits(problem) else crammer_singer
    state = method.start(problem, tol=tol)
    seconds = max(0.0, deadline - time.perf_counter())
    go_on(method, state, _MOST_PASSES, seconds, slice_size=1)
    masses = np.zeros((len(machine.codes), machine.n_classes))
    masses[used] = state.masses
    offset = (K[used] @ machine.shares(masses)).mean(axis=0)
    return masses, np.asarray(state.bias - offset)
