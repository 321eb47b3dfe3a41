"""Rows that stand in two tables alike, whatever form the tables have.

Two rows are the same row if all their values are equal: dense or sparse, float32 or float64, and
-0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.certificates.canonical import canonical_pieces
from separatrix.errors import DataError
from separatrix.problem.signed import as_matrix

__all__ = ["matching_rows", "row_contents"]


def row_contents(X: Any) -> Iterator[bytes]:
    """Yield for each row bytes that are equal exactly where the values are."""
    for piece in canonical_pieces(as_matrix(X)):
        columns = piece.indices.astype("<i8", copy=False)
        values = piece.data.astype("<f8", copy=False)
        for a, b in pairwise(piece.indptr.tolist()):
            yield columns[a:b].tobytes() + values[a:b].tobytes()


def matching_rows(X: Any, others: Any) -> NDArray[np.int64]:
    """Return for each row of X the first row of `others` that equals it, or -1.

    >>> matching_rows(np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[2.0, -0.0]])).tolist()
    [-1, 0]
    """
    X, others = as_matrix(X), as_matrix(others)
    if X.shape[1] != others.shape[1]:
        raise DataError(f"rows of {X.shape[1]} and of {others.shape[1]} features never match.")
    first: dict[bytes, int] = {}
    for number, contents in enumerate(row_contents(others)):
        first.setdefault(contents, number)
    return np.array([first.get(contents, -1) for contents in row_contents(X)], dtype=np.int64)
