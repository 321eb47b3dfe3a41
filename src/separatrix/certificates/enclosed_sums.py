"""Sums of products over the rows and columns of data, enclosed: plainly, compensated, or exactly.

    products      sum_j x_ij w_jk + start_i       one number a row (and column of W)
    row_sums      sum_i a_ik x_ij                 one number a column (and column of A)

`sum_ways` says what each way errs by. Factors may be enclosed: then the sums of their middles are
widened by what their radii come to. Data are dense or CSR without duplicates, float32 or float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosure import Enclosure, require_denormals
from separatrix.certificates.sum_ways import (
    MOST_COMPENSATED,
    Compensated,
    Each,
    Exact,
    Plain,
    dot_error,
    dot_error_32,
)

__all__ = [
    "ROOM",
    "WAYS",
    "blocks",
    "dot_error",
    "dot_error_32",
    "products",
    "row_sums",
    "sums_both_ways",
    "ways_for",
]

WAYS = ("plain", "compensated", "exact")
# A claim is this many times as wide as what was found, so that sums in another order find it too.
ROOM = 2.0
_ENTRIES_AT_A_TIME = 1 << 17
_SPARSE_ENTRIES = 1 << 22
_ROWS_COMPENSATED = 4096
_MOST_EXACT = 20_000


def ways_for(entries: int) -> tuple[str, ...]:
    """Return the ways to sum so many entries, each dearer and tighter than the last."""
    if entries <= _MOST_EXACT:
        return WAYS
    return WAYS[:2] if entries <= MOST_COMPENSATED else WAYS[:1]


def products(
    X: Any,
    W: Any,
    starts: tuple[Any, ...] = (),
    way: str = "plain",
    wide: float = 1.0,
    rounded: int = 0,
) -> Enclosure:
    """Enclose X W plus the starts, numbers or one a row, as one sum each."""
    return sums_both_ways(X, W, starts, None, way, wide, rounded)[0]


def row_sums(X: Any, A: Any, way: str = "plain", wide: float = 1.0, rounded: int = 0) -> Enclosure:
    """Enclose X' A: the sums of rows that the columns of A make."""
    return sums_both_ways(X, None, (), A, way, wide, rounded)[1]


def sums_both_ways(
    X: Any,
    W: Any,
    starts: tuple[Any, ...],
    A: Any,
    way: str = "plain",
    wide: float = 1.0,
    rounded: int = 0,
) -> tuple[Enclosure, Enclosure]:
    """Enclose X W plus the starts, and X' A, in one pass; either may be None.

    The error bound is made `wide` times as large: three times, and whoever adds up in another order
    finds an enclosure within this one. A may be sparse. In the plain ways the entries of X or those
    of A may have been `rounded` so many times, both together.
    """
    require_denormals()
    n, d = X.shape
    starts = tuple(np.broadcast_to(np.asarray(start, dtype=np.float64), n) for start in starts)
    (W, W_radius), (A, A_radius) = _apart(W), _apart(A)
    low, high = (np.empty((n, 0 if W is None else _tall(W).shape[1])) for _ in range(2))
    total: Enclosure | None = None
    size = _ENTRIES_AT_A_TIME if not sp.issparse(X) else _SPARSE_ENTRIES
    room = np.empty(0)
    by: Any = {"plain": Plain, "each": Each, "compensated": Compensated, "exact": Exact}[way]
    with np.errstate(all="ignore"):
        for rows, block in blocks(X, size, None if way in ("plain", "each") else _ROWS_COMPENSATED):
            if room.shape != block.shape and not sp.issparse(block):
                room = np.empty(block.shape)
            sums = by(block, wide, room, rounded)
            if W is not None:
                found = sums.products(_tall(W), tuple(start[rows] for start in starts))
                if W_radius is not None:
                    found = found + _doubt(abs(block), _tall(W_radius), rounded)
                low[rows], high[rows] = found.low, found.high
            if A is not None:
                part = _tall(A[rows].toarray() if sp.issparse(A) else A[rows])
                if total is None or part.any():
                    added = sums.row_sums(part)
                    total = added if total is None else total + added
                if A_radius is not None:
                    total = total + _doubt(abs(block).T, _tall(A_radius[rows]), rounded)
    one_w, one_a = W is not None and W.ndim == 1, A is not None and A.ndim == 1
    scores = Enclosure(low[:, 0], high[:, 0]) if one_w else Enclosure(low, high)
    if total is None:
        total = Enclosure.exact(np.zeros((d, 1 if A is None or one_a else A.shape[1])))
    return scores, total[:, 0] if one_a else total


def _apart(factors: Any) -> tuple[Any, Any]:
    """Return the middles of factors and their radii, None where all are exact."""
    if not isinstance(factors, Enclosure):
        return factors, None
    radius = factors.radius
    return factors.middle, radius if radius.any() else None


def _tall(factors: np.ndarray) -> np.ndarray:
    return factors[:, None] if factors.ndim == 1 else factors


def _doubt(sizes: Any, radius: np.ndarray, rounded: int) -> Enclosure:
    """Enclose what factors so far from their middles add: nothing, give or take."""
    far = np.asarray(sizes @ radius)
    most = Enclosure.around(far, dot_error(float(sizes.shape[1] + rounded), far)).high
    return Enclosure(-most, most)


def blocks(X: Any, entries: int, most_rows: int | None = None) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of rows in float64."""
    n, d = X.shape
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
