"""Blocks of rows as files that are mapped into memory: CSR or dense, labels beside them.

One file a block: values, then (CSR) column numbers and row starts, then a label number for every
row. What the file holds is written in the manifest of its folder, with a checksum.
"""

from __future__ import annotations

import mmap
import os
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from separatrix._sparse import sparse
from separatrix._write_aside import write_whole
from separatrix.errors import DataError

__all__ = ["StoredBlock", "open_block", "verify_block", "write_block"]


@dataclass(frozen=True)
class StoredBlock:
    """What one block file holds; `labels` are the distinct labels that its numbers stand for."""

    file: str
    rows: int
    entries: int
    columns: int
    sparse: bool
    labels: tuple[Any, ...]
    crc: int

    @property
    def size(self) -> int:
        """The length of the file in bytes."""
        return _places(self)[-1]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON."""
        return {**asdict(self), "labels": list(self.labels)}

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> StoredBlock:
        """Return the block that plain data describe."""
        return cls(**{**plain, "labels": tuple(plain["labels"])})


def _places(block: StoredBlock) -> list[int]:
    """Return where values, column numbers, row starts and labels begin, and where all ends."""
    sizes = [8 * block.entries]
    if block.sparse:
        sizes += [4 * block.entries + 4 * (block.entries % 2), 8 * (block.rows + 1)]
    else:
        sizes += [0, 0]
    sizes.append(4 * block.rows)
    return [0, *np.cumsum(sizes).tolist()]


def write_block(folder: Path, number: int, X: Any, y: np.ndarray) -> StoredBlock:
    """Write rows under their number, whole or not at all."""
    labels, codes = np.unique(y, return_inverse=True)
    is_sparse = sparse.issparse(X)
    if is_sparse:
        pieces = [
            np.ascontiguousarray(X.data, dtype="<f8"),
            np.ascontiguousarray(X.indices, dtype="<i4"),
            np.zeros(X.nnz % 2, dtype="<i4"),
            np.ascontiguousarray(X.indptr, dtype="<i8"),
        ]
    else:
        pieces = [np.ascontiguousarray(X, dtype="<f8")]
    pieces.append(codes.astype("<i4"))
    octets = [piece.tobytes() for piece in pieces]
    crc = 0
    for piece in octets:
        crc = zlib.crc32(piece, crc)
    name = f"block-{number:05d}.bin"
    write_whole(folder / name, octets)
    return StoredBlock(
        name,
        X.shape[0],
        int(X.nnz if is_sparse else X.size),
        X.shape[1],
        is_sparse,
        tuple(labels.tolist()),
        crc,
    )


def open_block(folder: Path, block: StoredBlock, n_features: int) -> tuple[Any, np.ndarray]:
    """Map a block into memory; return its rows and their label numbers.

    The map lives as long as the arrays do.
    """
    octets = np.frombuffer(_mapped(folder / block.file, block.size), dtype=np.uint8)
    values_at, columns_at, starts_at, labels_at, end = _places(block)
    values = octets[values_at : values_at + 8 * block.entries].view("<f8")
    codes = octets[labels_at:end].view("<i4")
    if not block.sparse:
        return values.reshape(block.rows, block.columns), codes
    columns = octets[columns_at : columns_at + 4 * block.entries].view("<i4")
    starts = octets[starts_at:labels_at].view("<i8")
    # int32 starts as everywhere else, so that each loop is compiled once; entries fit them.
    X = sparse.csr_array((values, columns, starts.astype(np.int32)), shape=(block.rows, n_features))
    return X, codes


def _mapped(path: Path, size: int) -> Any:
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size != size:
                raise DataError(
                    "the block is not as long as its manifest says; delete its folder, and it is "
                    "made again from the source",
                    file=str(path),
                )
            return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ) if size else b""
    except FileNotFoundError:
        raise DataError(
            "the block is missing; delete its folder, and it is made again from the source",
            file=str(path),
        ) from None


def verify_block(folder: Path, block: StoredBlock) -> None:
    """Raise, naming the file, if a block is missing or is not what was written."""
    mapped = _mapped(folder / block.file, block.size)
    if zlib.crc32(mapped) != block.crc:
        raise DataError(
            "the block was altered since it was written; delete its folder, and it is made again "
            "from the source",
            file=str(folder / block.file),
        )


def labels_in_common(blocks: Sequence[StoredBlock]) -> np.ndarray:
    """Return the distinct labels of all blocks in order, numbers as numbers if all are."""
    found: set[Any] = set()
    for block in blocks:
        found |= set(block.labels)
    if any(isinstance(label, str) for label in found):
        return np.array(sorted({str(label) for label in found}))
    return np.array(sorted(found))
