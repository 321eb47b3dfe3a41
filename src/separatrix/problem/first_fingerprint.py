"""The fingerprint that certificates of version 0.1 have; they are checked as before.

It is the SHA-256 of class numbers, row starts, columns and values of the canonical form, 16 bytes
an entry, so blocks are gone over four times.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from separatrix.problem.canonical import canonical_pieces, canonical_rows

_ROWS_AT_A_TIME = 65536


def first_of_blocks(
    blocks: Callable[[], Iterable[tuple[Any, np.ndarray]]], shape: tuple[int, int], n_classes: int
) -> str:
    """Return the first fingerprint of all rows; `blocks` yields (X, class numbers)."""

    def pieces() -> Iterator[Any]:
        return (piece for X, _ in blocks() for piece in canonical_pieces(X))

    digest = hashlib.sha256(b"separatrix-data-1\n")
    digest.update(np.array([*shape, n_classes], dtype="<i8").tobytes())
    for _, codes in blocks():
        digest.update(codes.astype("<i8").tobytes())
    counts = [np.diff(piece.indptr) for piece in pieces()]
    digest.update(np.cumsum(np.concatenate([[0], *counts]), dtype="<i8").data)
    for name, kind in (("indices", "<i8"), ("data", "<f8")):
        for piece in pieces():
            digest.update(np.ascontiguousarray(getattr(piece, name), dtype=kind).data)
    return digest.hexdigest()


def first_of_squares(X: Any, T: np.ndarray, s: np.ndarray) -> str:
    """Return the first fingerprint of rows, targets and weights."""
    digest = hashlib.sha256(b"separatrix-least-squares-1\n")
    digest.update(np.array([*X.shape, T.shape[1]], dtype="<i8").tobytes())
    for begin in range(0, X.shape[0], _ROWS_AT_A_TIME):
        piece = canonical_rows(X[begin : begin + _ROWS_AT_A_TIME])
        parts = (piece.indptr, "<i8"), (piece.indices, "<i8"), (piece.data, "<f8")
        for part, kind in parts:
            digest.update(np.ascontiguousarray(part, dtype=kind).data)
    for part in (T, s):
        digest.update(part.astype("<f8").tobytes())
    return digest.hexdigest()
