"""The fingerprint of data, defined in docs/certificates.md: a tree of SHA-256.

Certificates of version 0.1 have another one, without `2-` in front.
"""

from __future__ import annotations

import hashlib
import re
import sys
from array import array
from collections.abc import Iterable, Sequence

SECOND = "2-"  # the fingerprint of this version begins so
LEAF_ROWS = 4096
FEW_COLUMNS, MANY_COLUMNS = 1 << 16, 1 << 32  # column numbers of two and of four bytes

Row = tuple[Sequence[int], Sequence[float]]  # column numbers, ascending, and their non-zero values


def fingerprint(
    rows: Sequence[Row], codes: Sequence[int], n_features: int, n_classes: int, like: str = SECOND
) -> str:
    """Return the fingerprint of the same kind as `like`."""
    shape = _bytes("q", [len(rows), n_features, n_classes])
    if not like.startswith(SECOND):
        return _first(rows, codes, shape)
    digest = hashlib.sha256(b"separatrix-data-2\n" + shape)
    digest.update(hashlib.sha256(_bytes("I", codes)).digest())
    for begin in range(0, len(rows), LEAF_ROWS):
        digest.update(_leaf(rows[begin : begin + LEAF_ROWS], n_features))
    return SECOND + digest.hexdigest()


def is_fingerprint(name: object) -> bool:
    """Whether this could be a fingerprint of either kind.

    >>> is_fingerprint("2-" + "0" * 64), is_fingerprint("0" * 64), is_fingerprint("")
    (True, True, False)
    """
    return re.fullmatch("(2-)?[0-9a-f]{64}", str(name)) is not None


def _leaf(rows: Sequence[Row], d: int) -> bytes:
    """Return the hash of some rows, dense or sparse as suits them."""
    values = [x for _, entries in rows for x in entries]
    if all(0.0 <= x <= 255.0 and x == int(x) for x in values):
        kind, values = "B", [int(x) for x in values]
    else:
        kind = "f" if array("f", values).tolist() == values else "d"
    column = "H" if d <= FEW_COLUMNS else "I" if d <= MANY_COLUMNS else "Q"
    width, per_entry = (array(letter).itemsize for letter in (kind, column))
    sparse_bytes = 4 * len(rows) + len(values) * (per_entry + width)
    is_dense = len(rows) * d * width <= 2 * sparse_bytes
    digest = hashlib.sha256(bytes([is_dense, width]))
    if is_dense:
        full: list[float] = [0] * (len(rows) * d)
        places = (i * d + j for i, (columns, _) in enumerate(rows) for j in columns)
        for place, value in zip(places, values, strict=True):
            full[place] = value
        digest.update(_bytes(kind, full))
    else:
        digest.update(_bytes("I", [len(entries) for _, entries in rows]))
        digest.update(_bytes(column, [j for columns, _ in rows for j in columns]))
        digest.update(_bytes(kind, values))
    return digest.digest()


def _first(rows: Sequence[Row], codes: Sequence[int], shape: bytes) -> str:
    """Return the fingerprint that certificates of version 0.1 have."""
    starts, indices, values = array("q", [0]), array("q"), array("d")
    for columns, entries in rows:
        indices.extend(columns)
        values.extend(entries)
        starts.append(len(indices))
    digest = hashlib.sha256(b"separatrix-data-1\n" + shape + _bytes("q", codes))
    for part in (starts, indices, values):
        digest.update(_little(part))
    return digest.hexdigest()


def _bytes(kind: str, numbers: Iterable[float]) -> bytes:
    return _little(array(kind, numbers))


def _little(part: array[int] | array[float]) -> bytes:
    """Return numbers as little-endian bytes."""
    if sys.byteorder == "big":
        part.byteswap()
    return part.tobytes()
