"""Two identical points with opposite labels: the smallest witness there is.

Rows are compared by a hash of their bits, in integers, so that equal rows have equal hashes
wherever they stand; a hit is compared entry by entry before it is believed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.problem.exact import SignedRows

__all__ = ["opposite_duplicates"]

MOST_ENTRIES = 2_500_000


def opposite_duplicates(rows: SignedRows) -> tuple[int, int] | None:
    """Return the first two equal rows of X of opposite signs; None if none, or if X is large.

    >>> X = np.array([[1.0, 2.0], [0.0, 2.0], [1.0, 2.0]])
    >>> opposite_duplicates(SignedRows(X, np.array([1.0, 1.0, -1.0])))
    (0, 2)
    """
    X = rows.X
    if (X.nnz if rows.is_sparse else X.size) > MOST_ENTRIES:
        return None
    hashes = _sparse_hashes(X) if rows.is_sparse else _dense_hashes(X)
    order = np.argsort(hashes, kind="stable")
    begins = np.flatnonzero(np.diff(hashes[order], prepend=hashes[order[:1]] ^ np.uint64(1)))
    signs = rows.signs[order]
    low = np.minimum.reduceat(signs, begins)
    high = np.maximum.reduceat(signs, begins)
    ends = np.append(begins[1:], len(order))
    for group in np.flatnonzero(low != high)[:100].tolist():
        members = np.sort(order[begins[group] : ends[group]])
        first = int(members[0])
        other = members[rows.signs[members] != rows.signs[first]]
        pair = np.array([first, int(other[0])])
        a, b = rows.take(pair).dense()
        if np.array_equal(a, -b):
            return first, int(other[0])
    return None


def _keys(count: int) -> np.ndarray:
    return np.random.default_rng(1).integers(1, 2**63, size=count, dtype=np.uint64) * np.uint64(
        2
    ) + np.uint64(1)


def _bits(values: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    return bits ^ (bits >> np.uint64(29))


def _dense_hashes(X: np.ndarray) -> np.ndarray:
    total = np.zeros(X.shape[0], dtype=np.uint64)
    for column, key in zip(X.T, _keys(X.shape[1]), strict=True):
        total += _bits(column) * key
    return total


def _sparse_hashes(X: Any) -> np.ndarray:
    """Sum over the stored entries; stored zeros have no bits and count for nothing."""
    terms = _bits(X.data) * _keys(X.shape[1])[X.indices]
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
