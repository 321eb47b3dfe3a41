"""Data with the sizes of their columns, found once for all points that are proved of the same data.

    sizes       max_i |x_ij| and sum_i |x_ij|
    lengths     sum_i s_i x_ij^2, about the weighted mean where there is a bias

The sizes bound the rounding of every sum over rows or columns: no second pass is needed. The
lengths for other weights of rows are bounded by those found first, times the largest quotient.

The rows that least squares are proved on, block by block: moved by a mean, ones added.

    a_i = [x_i / 2^e - m, 1]         the ones where there is an intercept, which takes m up

A division by a power of two, where columns are large or small, rounds nothing; an entry x - m is
rounded once. Dense rows are made again whenever they are needed, in blocks that stay in the cache:
that takes less time than to read them from memory. Sparse rows are not moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosed_sums import dot_error, products, with_data
from separatrix.certificates.enclosure import LEAST_NORMAL, Enclosure, above, safely
from separatrix.problem.device_rows import blocks
from separatrix.problem.equilibrate import (
    MODERATE,
    divided_columns,
    divided_exactly,
    needed_exponents,
)
from separatrix.problem.signed import on_device

_DENSE_BLOCK, _SPARSE_BLOCK = 1 << 17, 1 << 20


class Sized:
    """Data, and the sizes of their columns."""

    def __init__(self, X: Any) -> None:
        self.X, self.shape = X, X.shape
        self._lengths: dict[tuple[bool, float], tuple[np.ndarray, Enclosure]] = {}

    @classmethod
    def of(cls, X: Any) -> Sized:
        """Return data with their sizes as they are, and others with sizes to be found."""
        return X if isinstance(X, Sized) else cls(X)

    @cached_property
    def is_summed_whole(self) -> bool:
        """Whether products with the data are made in one piece, without a copy.

        No entry of a sparse row may be stored in parts: `sizes` would be those of the parts. The
        flag of SciPy is not trusted: anybody can set it.
        """
        if on_device(self.X) or self.X.dtype != np.float64:
            return False
        if not sp.issparse(self.X):
            return True
        if self.X.format != "csr":
            return False
        rises = np.diff(self.X.indices) > 0
        ends = self.X.indptr[1:-1]
        rises[ends[(ends > 0) & (ends < len(self.X.indices))] - 1] = True  # from row to row
        return bool(rises.all())

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield the rows in float64, some at a time."""
        return blocks(self.X, _SPARSE_BLOCK if sp.issparse(self.X) else _DENSE_BLOCK)

    @cached_property
    def longest_row(self) -> float:
        """The most entries of a row."""
        if sp.issparse(self.X):
            return float(np.diff(self.X.indptr).max(initial=0))
        return float(self.shape[1])

    @cached_property
    def has_ones_alone(self) -> bool:
        """Whether all entries that are stored are 1."""
        return sp.issparse(self.X) and bool((self.X.data == 1.0).all())

    @cached_property
    def sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """The largest size of an entry, and not below the sum of all sizes, in every column."""
        d = self.shape[1]
        largest, sums = np.zeros(d), np.zeros(d)
        with np.errstate(over="ignore"):
            for _, block in self.blocks():
                if sp.issparse(block):
                    sizes = abs(block.data)
                    np.maximum.at(largest, block.indices, sizes)
                    sums += np.bincount(block.indices, sizes, minlength=d)
                else:
                    sizes = abs(block)
                    np.maximum(largest, sizes.max(axis=0, initial=0.0), out=largest)
                    sums += sizes.sum(axis=0)
        return largest, np.asarray(safely(sums))

    def lengths(self, weights: np.ndarray, has_bias: bool, wide: float) -> Enclosure:
        """Enclose from above the lengths of columns, by those for the weights that came first."""
        key = (has_bias, wide)
        if key not in self._lengths:
            found = column_lengths(self, weights, has_bias, wide)
            self._lengths[key] = np.array(weights), found
        first, found = self._lengths[key]
        if (weights == first).all():
            return found
        with np.errstate(all="ignore"):
            times = above(np.where(weights > 0.0, weights / first, 0.0)).max(initial=0.0)
        return Enclosure.exact(found.high) * float(times)


def group_means(values: Enclosure, numbers: np.ndarray) -> Enclosure:
    """Enclose the mean over the group of every column, of numbers that are not below zero."""
    if not len(numbers):
        return values
    counts = np.bincount(numbers)
    starts = np.append(0, np.cumsum(counts))
    members = np.argsort(numbers, kind="stable")
    table = sp.csr_array((np.ones(len(numbers)), members, starts))
    low, high = products(table, values.low).low, products(table, values.high).high
    return (Enclosure(low, high).at_least(0.0) / counts.astype(np.float64))[numbers]


def column_lengths(
    data: Sized, weights: np.ndarray, has_bias: bool, wide: float, places: np.ndarray | None = None
) -> Enclosure:
    """Enclose from above sum_i s_i x_ij^2, about the weighted mean where b is free.

    `places` are the columns that are meant, or None for all.
    """
    squares = sums = np.zeros(data.shape[1] if places is None else len(places))
    with np.errstate(all="ignore"):
        for rows, block in data.blocks():
            block = block if places is None else block[:, places]
            squared = block if data.has_ones_alone else _squares(block)
            added = squared.T @ weights[rows]
            squares = squares + added
            if has_bias:
                sums = sums + (added if squared is block else block.T @ weights[rows])
        # One more product than in a sum, of which the square may have vanished.
        terms, largest = float(len(weights)) + 1.0, float(weights.max(initial=0.0))
        error = dot_error(terms, squares) + safely(terms * LEAST_NORMAL * largest)
        found = Enclosure.around(squares, wide * error)
        most = Enclosure(np.zeros(len(squares)), found.high)
        if not has_bias:
            return most
        sizes = data.sizes[1] if places is None else data.sizes[1][places]
        around_zero = Enclosure.around(sums, wide * dot_error(terms, safely(sizes * largest)))
        total = Enclosure.exact(weights).sum()
        centred = (found - around_zero.square() / total).high
        high = np.where(centred < most.high, np.maximum(centred, 0.0), most.high)
        return Enclosure(most.low, high)


def _squares(block: Any) -> Any:
    """Return the squares of all entries."""
    return with_data(block, block.data * block.data) if sp.issparse(block) else block * block


# ---- the rows that least squares are proved on, block by block: moved by a mean, ones added


_ENTRIES_AT_A_TIME = 1 << 17
_SPARSE_ENTRIES = 1 << 22
# No entry is as large: those divided are below 1, those left as they are below this power of two,
# and so is their mean, but for rounding.
LARGEST = 4.0 * 2.0**MODERATE


@dataclass(frozen=True, eq=False)
class MovedRows:
    """`mean` is in divided units, and 0 for sparse rows; `varied` are the columns not all zero."""

    X: Any
    exponents: np.ndarray
    mean: np.ndarray
    has_ones: bool
    varied: np.ndarray
    columns: Any = ...  # of X: all, or their numbers

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are sparse."""
        return bool(sp.issparse(self.X))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns with the ones."""
        return int(self.X.shape[0]), len(self.mean) + self.has_ones

    def of(self, real: np.ndarray) -> MovedRows:
        """Return the rows of some columns alone."""
        X = self.X[:, real] if self.is_sparse else self.X
        columns = self.columns if self.is_sparse else np.flatnonzero(real)
        return replace(
            self, X=X, exponents=self.exponents[real], mean=self.mean[real], columns=columns
        )

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """Yield numbers of rows, and those rows."""
        if self.is_sparse:
            for rows, block in blocks(self.X, _SPARSE_ENTRIES):
                ones = np.ones((block.shape[0], 1))
                yield rows, sp.csr_array(sp.hstack([block, ones])) if self.has_ones else block
            return
        d, n_columns = self.X.shape[1], self.shape[1]
        for rows, block in blocks(self.X, _ENTRIES_AT_A_TIME * d // max(d, n_columns)):
            part = block[:, self.columns]
            moved = np.empty((len(part), n_columns))
            inside = moved[:, : len(self.mean)]
            if self.exponents.any():
                part = divided_columns(part, self.exponents)
            np.subtract(part, self.mean, out=inside)
            moved[:, len(self.mean) :] = 1.0
            yield rows, moved

    def whole(self) -> Any:
        """Return all rows at once."""
        found = [block for _, block in self.blocks()]
        return sp.csr_array(sp.vstack(found)) if self.is_sparse else np.vstack(found)


def moved_rows(X: Any, s: np.ndarray, intercept: bool) -> MovedRows | None:
    """Lay the rows out; None where a division by a power of two rounds a number."""
    exponents, d = needed_exponents(X), X.shape[1]
    if sp.issparse(X):
        divided = divided_exactly(X, exponents)
        if divided is None:
            return None
        varied = np.asarray((abs(divided) > 0.0).sum(axis=0)).ravel() > 0
        return MovedRows(divided, exponents, np.zeros(d), intercept, varied)
    mean, varied, shares = np.zeros(d), np.zeros(d, dtype=bool), s / s.sum()
    first = divided_columns(X[:1], exponents)[0] if intercept else np.zeros(d)
    for rows, block in blocks(X, _ENTRIES_AT_A_TIME):
        divided = divided_exactly(block, exponents) if exponents.any() else block
        if divided is None:
            return None
        if not varied.all():
            varied |= (divided != first).any(axis=0)
        if intercept:
            mean += shares[rows] @ divided
    # Columns of one value are taken up by the intercept without rounding.
    mean = np.where(varied, mean, first) if intercept else mean
    return MovedRows(X, exponents, mean, intercept, varied)
