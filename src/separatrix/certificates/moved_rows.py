"""The rows that least squares are proved on, block by block: moved by a mean, ones added.

    a_i = [x_i / 2^e - m, 1]         the ones where there is an intercept, which takes m up

A division by a power of two, where columns are large or small, rounds nothing; an entry x - m is
rounded once. Dense rows are made again whenever they are needed, in blocks that stay in the cache:
that takes less time than to read them from memory. Sparse rows are not moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.problem.device_rows import blocks
from separatrix.problem.equilibrate import (
    MODERATE,
    divided_columns,
    divided_exactly,
    needed_exponents,
)

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
    columns: np.ndarray | None = None  # of X, where not all of them are there

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
        columns = None if self.is_sparse else np.flatnonzero(real)
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
            part = block if self.columns is None else block[:, self.columns]
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
