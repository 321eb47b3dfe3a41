"""One pass over the data: margins, and the sum of rows that multipliers make, with their errors.

A sum of k products in any order errs by at most k u / (1 - k u) times the sum of the absolute
products (Higham, section 3.1). Rows are taken in blocks, and block sums added with their errors
carried along, so that k is the length of a block and not of the data. Few entries are summed so
that each sum is rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["LEAST", "UNIT", "Pass", "Total", "blocks", "gamma", "one_pass", "ways"]

UNIT = 2.0**-53
LEAST = 2.0**-1074
_ENTRIES_AT_A_TIME = 1 << 17
_SPARSE_ENTRIES = 1 << 20
_FEW_ENTRIES, _FEW_EXACT = 1 << 14, 20_000
# Products and their last bits stay normal numbers between these.
_SAFE_LEAST, _SAFE_MOST = 1e-250, 1e250


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

    def widened(self) -> Pass:
        """Return errors that hold for every other order of summation, computed as these were.

        Another order lies within one error of the truth, as this one does, and claims one more.
        """
        return replace(
            self,
            margin_errors=3.0 * self.margin_errors,
            total_errors=3.0 * self.total_errors,
            spread=3.0 * self.spread,
        )


def ways(X: Any) -> tuple[str, ...]:
    """Return the ways to bound the rounding of a pass, each dearer and tighter than the last."""
    n, d = X.shape
    if n * d <= _FEW_EXACT:
        return ("columns", "exact")
    return ("lengths", "columns") if getattr(X, "nnz", 0) > _FEW_ENTRIES else ("columns",)


def one_pass(
    X: Any, signs: np.ndarray, w: np.ndarray, bias: float, alpha: np.ndarray, way: str
) -> Pass:
    """Return margins of (w, bias) and the sum of rows that alpha makes, with their errors."""
    with np.errstate(over="ignore", invalid="ignore"):
        if way == "lengths":
            return _sparse_pass(X, signs, w, bias, alpha)
        if way == "exact" and (seen := _exact_pass(X, signs, w, bias, alpha)) is not None:
            return seen
        return _column_pass(X, signs, w, bias, alpha)


def _exact_pass(
    X: Any, signs: np.ndarray, w: np.ndarray, bias: float, alpha: np.ndarray
) -> Pass | None:
    """Round every sum once; None where a product might lose bits for being too large or small."""
    rows = np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    share = signs * alpha
    for factor in (w, share):
        sizes = [abs(values[values != 0.0]) for values in (rows, factor)]
        least = [float(size.min(initial=1.0)) for size in sizes]
        most = [float(size.max(initial=1.0)) for size in sizes]
        if not (least[0] * least[1] > _SAFE_LEAST and max(*most, most[0] * most[1]) < _SAFE_MOST):
            return None
    biases = np.full((len(rows), 1), bias)
    scores, score_errors = _rounded_sums(*_products(rows, w), biases)
    total, total_errors = _rounded_sums(*(part.T for part in _products(rows, share[:, None])))
    sizes = (abs(rows).T @ alpha) * (1.0 + gamma(len(rows) + 4.0))
    return Pass(signs * scores, score_errors, total, total_errors, 0.0, sizes)


def _products(values: np.ndarray, factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return products and what their rounding left off: together they are exact (Dekker 1971)."""
    product = values * factor
    high, low = _halves(values)
    factor_high, factor_low = _halves(factor)
    left = high * factor_high - product
    left = ((left + high * factor_low) + low * factor_high) + low * factor_low
    return product, left


def _halves(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split into 26 bits and the rest (Veltkamp)."""
    spread = values * (2.0**27 + 1.0)
    high = spread - (spread - values)
    return high, values - high


def _rounded_sums(*parts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of rows, rounded once, and the size of that rounding (0 where exact)."""
    rows = np.hstack(parts).tolist()
    sums = np.array([math.fsum(row) for row in rows])
    left = np.array([math.fsum([*row, -total]) for row, total in zip(rows, sums, strict=True)])
    return sums, abs(left) * (1.0 + 4.0 * UNIT)


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
        lengths[rows] = _lengths(block)
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


def _lengths(block: Any) -> np.ndarray:
    """Return |x_i| of every row."""
    squares = np.empty(block.nnz + 1)  # one more: a row at the end may be empty
    np.multiply(block.data, block.data, out=squares[:-1])
    squares[-1] = 0.0
    lengths = np.sqrt(np.add.reduceat(squares, block.indptr[:-1]))
    lengths[np.diff(block.indptr) == 0] = 0.0
    return lengths


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
