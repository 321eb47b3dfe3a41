"""One pass over the data: how far rows fall short, and the sum of rows that multipliers make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.device_pass import sums_on_device
from separatrix.certificates.enclosed_sums import sums_both_ways
from separatrix.certificates.enclosure import LEAST, UNIT, Enclosure
from separatrix.problem.device_rows import on_device

__all__ = ["LEAST", "UNIT", "Pass", "Total", "blocks", "gamma", "one_pass"]


@dataclass(frozen=True, eq=False)
class Pass:
    """What one pass over the data tells.

    A row's shortfall is the sum start - y (b + w.x), enclosed as one sum: a margin formed first and
    taken from 1 afterwards loses the digits that a slack is made of.
    """

    start: float
    short: Enclosure  # start - y_i (w.x_i + b)
    total: Enclosure  # u = sum_i a_i y_i x_i

    @property
    def margins(self) -> np.ndarray:
        """About the margins, for those who look at them: no claim rests on them."""
        return np.asarray(self.start - self.short.middle)


def one_pass(
    X: Any,
    signs: np.ndarray,
    w: np.ndarray,
    bias: float,
    alpha: np.ndarray,
    start: float,
    way: str = "plain",
    wide: float = 1.0,
) -> Pass:
    """Enclose shortfalls of (w, bias) from a margin of `start`, and the sum that alpha makes."""
    sums = sums_on_device if on_device(X) else sums_both_ways
    starts = (start * signs, -bias)
    short, total = sums(X, -w, starts, signs * alpha, way, wide)
    return Pass(start, short.times_sign(signs), total)


class Total:
    """A sum of vectors whose rounding errors are carried along (Knuth)."""

    def __init__(self, shape: int | tuple[int, ...]) -> None:
        self.value, self.carried, self.terms = np.zeros(shape), np.zeros(shape), 0

    def add(self, vector: np.ndarray) -> None:
        """Add one more vector."""
        self.terms += 1
        if self.terms == 1:
            self.value = self.value + vector  # exact: it was zero
            return
        moved = self.value + vector
        before = moved - vector
        self.carried += (self.value - before) + (vector - (moved - before))
        self.value = moved

    @property
    def share(self) -> float:
        """What the carried errors, themselves rounded, miss of the sum of absolute terms."""
        return (1.1 * self.terms * UNIT) ** 2


def blocks(X: Any, entries: int) -> Iterator[tuple[slice, Any, float]]:
    """Yield blocks of rows in float64 and how many entries their fullest row has."""
    n, d = X.shape
    if not sp.issparse(X):
        step = max(1, entries // max(d, 1))
        for begin in range(0, n, step):
            rows = slice(begin, min(n, begin + step))
            block = np.asarray(X[rows], dtype=np.float64)
            fullest = d
            if np.count_nonzero(block) < 0.9 * block.size:
                # Zeros round nothing: the same rows stored sparsely have the same bound.
                fullest = int(np.count_nonzero(block, axis=1).max(initial=0))
            yield rows, block, float(fullest)
        return
    entries = max(entries, 4 * d)
    if X.nnz <= entries and X.dtype == np.float64:
        yield slice(0, n), X, float(np.diff(X.indptr).max(initial=0))
        return
    begin = 0
    while begin < n:
        # At least one row, and as many more as the entries allow.
        end = int(np.searchsorted(X.indptr, int(X.indptr[begin]) + entries, side="right")) - 1
        rows = slice(begin, min(n, max(end, begin + 1)))
        first, last = int(X.indptr[rows.start]), int(X.indptr[rows.stop])
        starts = X.indptr[rows.start : rows.stop + 1] - first
        values = np.asarray(X.data[first:last], dtype=np.float64)
        block = sp.csr_array(
            (values, X.indices[first:last], starts), shape=(rows.stop - rows.start, d)
        )
        yield rows, block, float(np.diff(starts).max(initial=0))
        begin = rows.stop


def gamma(terms: float) -> float:
    """Return what a sum of so many products may err by, as a share of its absolute terms."""
    return 1.01 * terms * UNIT / (1.0 - terms * UNIT)
