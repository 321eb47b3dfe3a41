"""Rows of the kernel matrix, kept within a stated amount of memory.

`CachedRows` keeps as many float32 rows as `cache_bytes` hold and forgets the least recently used;
the rows that are missing are computed together, in stretches of columns over a pool of threads.
What a stretch holds does not depend on the number of threads, and so no bit does.

`WholeRows` stands on a matrix that is there already: a small one, or one that the user gave.

Memory in all: the cache, one float32 copy of the data, and one chunk of at most 1024 x 1024.

`CentredRows` are seen from the mean z of some of the rows: K_z(x, x') = (phi(x) - z).(phi(x') - z).
Where multipliers balance, both make the same model with other biases; visits to single rows then
converge faster, since what all rows have in common is gone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.kernels import Kernel
from separatrix.solvers.kernels.kernel_sources import source_of

__all__ = ["CachedRows", "CentredRows", "WholeRows", "centred_rows", "kernel_rows"]

_STRETCH = 1024
_WORTH_THREADS = 1 << 17
_SMALL, _SMALL_PRECISE = 600, 2048
_SAMPLE = 256


def kernel_rows(
    kernel: Kernel,
    X: Any,
    cache_bytes: int,
    pool: ThreadPoolExecutor | None,
    precise: bool = False,
    as_needed: bool = False,
) -> Any:
    """Return rows over all the data: the whole matrix if it is small, a cache otherwise.

    `as_needed` makes it a cache in any case, so that `computed` counts what a method uses.
    """
    n = X.shape[0]
    if kernel.name == "precomputed":
        return WholeRows(np.asarray(X), pool)
    small = n <= (_SMALL_PRECISE if precise else _SMALL)
    if as_needed:
        precise = precise or small
    elif small and 8 * n * n <= cache_bytes:
        return WholeRows(kernel.block(X, X), pool, computed=n * n)
    return CachedRows(source_of(kernel, X, precise), kernel.diagonal(X), cache_bytes, pool)


class WholeRows:
    """The whole kernel matrix in memory."""

    def __init__(
        self, matrix: np.ndarray, pool: ThreadPoolExecutor | None = None, computed: int = 0
    ) -> None:
        self.store = np.ascontiguousarray(matrix)
        self.slots = np.arange(len(matrix))  # where each row stands in `store`; -1: nowhere
        self.diagonal = np.diagonal(matrix).astype(np.float64)
        self.capacity = len(matrix)
        self.computed = computed
        self._pool = pool

    @property
    def is_float32(self) -> bool:
        """Whether values carry seven digits only."""
        return bool(self.store.dtype == np.float32)

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Return where the rows stand in `store`."""
        return rows

    def block(self, rows: np.ndarray) -> np.ndarray:
        """Return the values between the given rows."""
        values = np.empty((len(rows), len(rows)), dtype=self.store.dtype)
        gather(self.store, rows, rows, np.arange(len(rows)), values)
        return values

    def add(self, rows: np.ndarray, steps: np.ndarray, spans: list[Span], f: np.ndarray) -> None:
        """Add rows times steps to f, which holds the columns of the spans one after another."""
        slots = self.fetch(rows)
        self._each(
            lambda part: add_rows(self.store, slots, steps, part[0], part[1], f, part[2]),
            stretches(spans, 2 * _STRETCH),
            len(rows) * len(f),
        )

    def _each(self, work: Callable[[Any], Any], parts: list[Any], entries: int) -> None:
        """Do the work of all parts, in threads where it is worth it."""
        if self._pool is None or len(parts) < 2 or entries < _WORTH_THREADS:
            for part in parts:
                work(part)
        else:
            for _ in self._pool.map(work, parts):
                pass


class Recent:
    """Which rows a store of some capacity holds: those used last."""

    def __init__(self, n: int, capacity: int) -> None:
        self.slots = np.full(n, -1, dtype=np.int64)  # where each row stands; -1: nowhere
        self._row_in = np.full(capacity, -1, dtype=np.int64)
        self._used_at = np.zeros(capacity, dtype=np.int64)
        self._clock = self._taken = 0  # slots before `_taken` hold a row

    def fetch(self, rows: np.ndarray, fill: Callable[[np.ndarray, np.ndarray], None]) -> np.ndarray:
        """Return the slots of the rows, after `fill` has computed the missing ones in theirs."""
        assert len(rows) <= len(self._row_in)
        self._clock += 1
        known = self.slots[rows] >= 0
        self._used_at[self.slots[rows[known]]] = self._clock
        missing = rows[~known]
        if len(missing):
            slots = self._free_slots(len(missing))
            self._row_in[slots], self.slots[missing] = missing, slots
            self._used_at[slots] = self._clock
            fill(missing, slots)
        return self.slots[rows]

    def _free_slots(self, count: int) -> np.ndarray:
        """Return empty slots, else those least recently used, and forget what they hold."""
        capacity = len(self._row_in)
        if self._taken + count <= capacity:
            self._taken += count
            return np.arange(self._taken - count, self._taken)
        self._taken = capacity
        order = np.argpartition(self._used_at, count - 1) if count < capacity else None
        slots = np.arange(capacity) if order is None else np.sort(order[:count])
        held = self._row_in[slots]
        self.slots[held[held >= 0]] = -1
        return slots


class CachedRows(WholeRows):
    """The rows used last; others are computed when they are needed."""

    def __init__(
        self,
        source: Any,
        diagonal: np.ndarray,
        cache_bytes: int,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        n = len(diagonal)
        self.capacity = max(2, min(n, cache_bytes // (source.dtype.itemsize * n)))
        # Pages of it are taken from the system as they are first written.
        self.store = np.empty((self.capacity, n), dtype=source.dtype)
        self.diagonal = diagonal
        self.computed = 0
        self._source, self._pool = source, pool
        self._recent = Recent(n, self.capacity)
        self.slots = self._recent.slots

    def fetch(self, rows: np.ndarray) -> np.ndarray:
        """Return where the rows stand in `store`, after computing those that are missing."""
        return self._recent.fetch(rows, self._fill)

    def _fill(self, rows: np.ndarray, slots: np.ndarray) -> None:
        n = self.store.shape[1]
        self._each(
            lambda part: self._source.fill(rows, part[0], part[1], slots, self.store),
            stretches([(0, n, 0)], _STRETCH),
            len(rows) * n,
        )
        self.computed += len(rows) * n

    def block(self, rows: np.ndarray) -> np.ndarray:
        """Return the values between the given rows: from the cache where they are there."""
        m = len(rows)
        values = np.empty((m, m), dtype=self.store.dtype)
        slots = self.slots[rows]
        there, missing = np.flatnonzero(slots >= 0), np.flatnonzero(slots < 0)

        def work(part: tuple[bool, np.ndarray]) -> None:
            cached, places = part
            if cached:
                gather(self.store, slots[places], rows, places, values)
            else:
                values[places] = self._source.values(rows[places], rows)

        parts = [(True, there[k : k + 256]) for k in range(0, len(there), 256)]
        parts += [(False, missing[k : k + 128]) for k in range(0, len(missing), 128)]
        self._each(work, parts, m * m if len(there) else 8 * m * m)
        self.computed += len(missing) * m
        return values


Span = tuple[int, int, int]  # columns begin to end, and where they stand in f


def spans_of(members: np.ndarray) -> list[Span]:
    """Return ascending numbers as runs without gaps.

    >>> spans_of(np.array([0, 1, 2, 7, 8]))
    [(0, 3, 0), (7, 9, 3)]
    """
    breaks = np.flatnonzero(np.diff(members) != 1) + 1
    edges = [0, *breaks.tolist(), len(members)]
    return [(int(members[a]), int(members[b - 1]) + 1, a) for a, b in itertools.pairwise(edges)]


def stretches(spans: Iterable[Span], width: int) -> list[Span]:
    """Cut spans at multiples of `width`, so that threads share the work."""
    parts = []
    for begin, end, at in spans:
        start = begin
        while start < end:
            stop = min(end, (start // width + 1) * width)
            parts.append((start, stop, at + start - begin))
            start = stop
    return parts


@compiled
def gather(store, slots, columns, places, values):  # type: ignore[no-untyped-def]
    """Copy the given columns of rows of the store to rows `places`."""
    for r in range(slots.shape[0]):
        row, out = store[slots[r]], values[places[r]]
        for k in range(columns.shape[0]):
            out[k] = row[columns[k]]


@compiled
def add_rows(store, slots, steps, begin, end, f, at):  # type: ignore[no-untyped-def]
    """Add steps times rows to f, in float64, four rows at a time."""
    width = end - begin
    out = f[at : at + width]
    r, count = 0, slots.shape[0]
    while r + 4 <= count:
        a, b = store[slots[r], begin:end], store[slots[r + 1], begin:end]
        c, d = store[slots[r + 2], begin:end], store[slots[r + 3], begin:end]
        s, t, u, v = steps[r], steps[r + 1], steps[r + 2], steps[r + 3]
        for j in range(width):
            out[j] += s * a[j] + t * b[j] + u * c[j] + v * d[j]
        r += 4
    while r < count:
        a, s = store[slots[r], begin:end], steps[r]
        for j in range(width):
            out[j] += s * a[j]
        r += 1


# ---- rows of a kernel matrix as seen from a point in the middle of the kernel's space


def centred_rows(kernel_rows: Any, kernel: Kernel, X: Any) -> CentredRows:
    """Return the rows seen from the mean of up to 256 of them, spread over all."""
    n = X.shape[0]
    sample = np.unique(np.linspace(0, n - 1, _SAMPLE).astype(np.int64))
    if kernel.name == "precomputed":
        values = np.asarray(X[:, sample], dtype=np.float64)
    else:
        values = np.asarray(kernel.block(X, X[sample]), dtype=np.float64)
    products = values.mean(axis=1)
    return CentredRows(kernel_rows, products, float(products[sample].mean()))


class CentredRows:
    """`kernel_rows` less their products with z, plus |z|^2."""

    def __init__(self, kernel_rows: Any, products: np.ndarray, square: float) -> None:
        self.kernel_rows, self.products, self.square = kernel_rows, products, square
        self.diagonal = np.maximum(kernel_rows.diagonal - 2.0 * products + square, 0.0)
        self.capacity = kernel_rows.capacity

    @property
    def is_float32(self) -> bool:
        """Whether values carry seven digits only."""
        return bool(self.kernel_rows.is_float32)

    def block(self, rows: np.ndarray) -> np.ndarray:
        """Return the values between the given rows."""
        values = self.kernel_rows.block(rows)
        products = self.products[rows]
        off = (products - 0.5 * self.square).astype(values.dtype)
        values -= off
        values -= off[:, None]
        return np.asarray(values)

    def add(self, rows: np.ndarray, steps: np.ndarray, f: np.ndarray) -> None:
        """Add rows times steps to f."""
        n = len(self.products)
        self.kernel_rows.add(rows, steps, [(0, n, 0)], f)
        total = float(steps.sum())
        f -= total * self.products
        f -= float(steps @ self.products[rows]) - total * self.square
