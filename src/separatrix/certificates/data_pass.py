"""One pass over the data: margins, and the sum of rows that multipliers make, with their errors.

A sum of k products in any order errs by at most k u / (1 - k u) times the sum of the absolute
products (Higham, section 3.1). Rows are taken in blocks, and block sums added with their errors
carried along, so that k is the length of a block and not of the data.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["LEAST", "UNIT", "Pass", "Total", "blocks", "gamma", "one_pass"]

UNIT = 2.0**-53
LEAST = 2.0**-1074
_ENTRIES_AT_A_TIME = 1 << 17
_SPARSE_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False)
class Pass:
    """What one pass over the data tells: margins and the weighted sum of rows, each +- an error.

    `spread` bounds the length of the error of `total` as a vector, beyond `total_errors`.
    """

    margins: np.ndarray
    margin_errors: np.ndarray
    total: np.ndarray  # u = sum_i a_i y_i x_i
    total_errors: np.ndarray
    spread: float
    sizes: np.ndarray  # at least sum_i a_i |x_i|, column by column; empty where it was not needed


def one_pass(
    X: Any, signs: np.ndarray, w: np.ndarray, bias: float, alpha: np.ndarray, by_column: bool
) -> Pass:
    """Return margins of (w, bias) and the sum of rows that alpha makes, with their errors."""
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X) and not by_column:
            return _sparse_pass(X, signs, w, bias, alpha)
        return _column_pass(X, signs, w, bias, alpha)


class Total:
    """A sum of vectors whose rounding errors are carried along (Knuth)."""

    def __init__(self, shape: int | tuple[int, ...]) -> None:
        self.value, self.carried, self.terms = np.zeros(shape), np.zeros(shape), 0

    def add(self, vector: np.ndarray) -> None:
        """Add one more vector."""
        moved = self.value + vector
        before = moved - vector
        self.carried += (self.value - before) + (vector - (moved - before))
        self.value, self.terms = moved, self.terms + 1

    @property
    def share(self) -> float:
        """What the carried errors, themselves rounded, miss of the sum of absolute terms."""
        return (1.1 * self.terms * UNIT) ** 2


def _column_pass(X: Any, signs: np.ndarray, w: np.ndarray, bias: float, alpha: np.ndarray) -> Pass:
    """Bound every column's error by its own absolute sum: for columns of very different sizes."""
    n, d = X.shape
    margins, margin_errors = np.empty(n), np.empty(n)
    sizes, errors, total = np.zeros(d), np.zeros(d), Total(d)
    share, size_w = signs * alpha, abs(w)
    for rows, block, entries in blocks(X, _ENTRIES_AT_A_TIME):
        size = abs(block)
        margins[rows] = signs[rows] * (block @ w + bias)
        margin_errors[rows] = gamma(entries + 4.0) * (size @ size_w + abs(bias))
        if (part := share[rows]).any():
            total.add(block.T @ part)
            absolute = size.T @ abs(part)
            sizes += absolute
            errors += gamma(float(rows.stop - rows.start) + 2.0) * absolute
    u = total.value + total.carried
    errors = 1.01 * (errors + total.share * sizes + 2.0 * UNIT * abs(u)) + 8.0 * (n + 2.0) * LEAST
    return Pass(margins, margin_errors + 8.0 * (d + 2.0) * LEAST, u, errors, 0.0, sizes)


def _sparse_pass(X: Any, signs: np.ndarray, w: np.ndarray, bias: float, alpha: np.ndarray) -> Pass:
    """Bound errors by the lengths of rows: |x|.|w| by Cauchy, sum a |x| by the triangle."""
    n, d = X.shape
    margins, lengths, counts = np.empty(n), np.empty(n), np.diff(X.indptr)
    most, total = 0.0, Total(d)
    share = signs * alpha
    for rows, block, _ in blocks(X, _SPARSE_ENTRIES):
        margins[rows] = signs[rows] * (block @ w + bias)
        squares = np.add.reduceat(np.append(block.data * block.data, 0.0), block.indptr[:-1])
        lengths[rows] = np.where(counts[rows] > 0, np.sqrt(squares), 0.0)
        if (part := share[rows]).any():
            total.add(block.T @ part)
            most = max(most, float(rows.stop - rows.start))
    lengths *= 1.0 + gamma(float(counts.max(initial=0)) + 4.0)
    lengths += math.sqrt(LEAST) * (d + 2.0)  # squares that vanished
    length_w = math.sqrt(float(w @ w)) * (1.0 + gamma(d + 4.0)) + math.sqrt(LEAST) * (d + 2.0)
    margin_errors = gamma(1.0) * (counts + 4.0) * 1.01 * (lengths * length_w + abs(bias))
    u = total.value + total.carried
    reach = float(alpha @ lengths)
    spread = 1.01 * (gamma(most + 2.0) + total.share) * reach + 8.0 * (n + 2.0) * (d + 2.0) * LEAST
    errors = 2.0 * UNIT * abs(u) + 8.0 * (n + 2.0) * LEAST
    margin_errors += 8.0 * (d + 2.0) * LEAST
    return Pass(margins, margin_errors, u, errors, spread, np.zeros(0))


def blocks(X: Any, entries: int) -> Iterator[tuple[slice, Any, float]]:
    """Yield blocks of rows in float64 and how many entries their fullest row has."""
    n, d = X.shape
    if not sp.issparse(X):
        step = max(1, entries // max(d, 1))
        for begin in range(0, n, step):
            rows = slice(begin, min(n, begin + step))
            yield rows, np.asarray(X[rows], dtype=np.float64), float(d)
        return
    entries = max(entries, 4 * d)
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
