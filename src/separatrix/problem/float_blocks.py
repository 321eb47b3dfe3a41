"""Rows in float64, block by block, however they are stored: dense, CSR, or on a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.problem.signed import on_device


def blocks(X: Any, entries: int, most_rows: int | None = None) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of so many entries; those on a device have the height that suits it."""
    n, d = X.shape
    if on_device(X):
        for start, stop, piece in X.pieces():
            yield slice(start, stop), piece.double()
        return
    most_rows = most_rows or max(n, 1)
    if not sp.issparse(X):
        step = min(most_rows, max(1, entries // max(d, 1)))
        for begin in range(0, n, step):
            rows = slice(begin, min(n, begin + step))
            yield rows, np.asarray(X[rows], dtype=np.float64)
        return
    entries = max(entries, 4 * d)
    if X.nnz <= entries and n <= most_rows and X.dtype == np.float64:
        yield slice(0, n), X
        return
    begin = 0
    while begin < n:
        # At least one row, and as many more as the entries allow.
        end = int(np.searchsorted(X.indptr, int(X.indptr[begin]) + entries, side="right")) - 1
        rows = slice(begin, min(n, begin + most_rows, max(end, begin + 1)))
        first, last = int(X.indptr[rows.start]), int(X.indptr[rows.stop])
        starts = X.indptr[rows.start : rows.stop + 1] - first
        values = np.asarray(X.data[first:last], dtype=np.float64)
        shape = (rows.stop - rows.start, d)
        yield rows, sp.csr_array((values, X.indices[first:last], starts), shape=shape)
        begin = rows.stop


def with_data(block: Any, data: np.ndarray) -> Any:
    """Return the sparse block with other entries."""
    return sp.csr_array((data, block.indices, block.indptr), shape=block.shape)
