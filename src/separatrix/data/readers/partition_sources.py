"""Partition files in pieces that fit memory: LIBSVM text, Parquet and npz.

Each reader yields (X, y, place to go on from); begun at such a place it yields what is left, so
that a conversion that was interrupted goes on where it stood.
"""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from separatrix._sparse import sparse
from separatrix.data.encodings.labels import tidy_labels
from separatrix.data.readers.libsvm import parse_libsvm
from separatrix.data.sources.streams import Source
from separatrix.errors import DataError

Piece = tuple[Any, np.ndarray, int]

_OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_TEXT_STEP = 1 << 20
_NO_PARTITIONS = (
    ".npy", ".safetensors", ".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".arff", ".xlsx",
)  # fmt: skip


def kind_of(path: Path) -> str:
    """Return what a partition file is, by its ending."""
    if path.suffix in _NO_PARTITIONS:
        raise DataError(
            "partitions are LIBSVM text, Parquet or npz with X and y; save so, with separatrix "
            "convert, or read it whole",
            file=str(path),
        )
    if path.suffix == ".npz":
        return "npz"
    return "parquet" if path.suffix in (".parquet", ".pq") else "libsvm"


def _opened(path: Path) -> BinaryIO:
    opener: Any = _OPENERS.get(path.suffix, open)
    stream: BinaryIO = opener(path, "rb")
    return stream


def looked_through(path: Path) -> tuple[str, bool]:
    """Return the SHA-256 of a file, and whether it is LIBSVM text with a feature 0."""
    digest, counts_from_zero, before = hashlib.sha256(), False, b""
    try:
        with open(path, "rb") as file:
            while piece := file.read(_TEXT_STEP):
                digest.update(piece)
        if kind_of(path) == "libsvm":
            with _opened(path) as file:
                while not counts_from_zero and (piece := file.read(_TEXT_STEP)):
                    window = before + piece
                    counts_from_zero = b" 0:" in window or b"\t0:" in window
                    before = piece[-2:]
    except FileNotFoundError:
        raise DataError("the partition is missing", file=str(path)) from None
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise DataError(f"the partition cannot be read: {error}", file=str(path)) from None
    return digest.hexdigest(), counts_from_zero


def pieces_of(
    path: Path, target: str | None, zero_based: bool, start: int, step: int
) -> Iterator[Piece]:
    """Yield the rows of a partition in pieces of about `step` bytes."""
    reader = {"libsvm": _libsvm, "npz": _npz, "parquet": _parquet}[kind_of(path)]
    return reader(path, target, zero_based, start, step)


def _libsvm(
    path: Path, target: str | None, zero_based: bool, start: int, step: int
) -> Iterator[Piece]:
    line, at = 0, 0
    with _opened(path) as file:
        while at < start:  # lines are counted, so that an error names the right one
            skipped = file.read(min(_TEXT_STEP, start - at))
            line, at = line + skipped.count(b"\n"), at + len(skipped)
            if not skipped:
                return
        while octets := file.read(step):
            octets += file.readline()
            at += len(octets)
            lines = octets.count(b"\n")
            if octets.isspace():
                line += lines
                continue
            try:
                found = parse_libsvm(Source(str(path), octets), None, zero_based)
            except DataError as error:
                if "no rows" in error.message:
                    line += lines
                    continue
                raise DataError(
                    error.message, str(path), line + (error.line or 1), error.column
                ) from None
            line += lines
            yield found.X, found.y, at


def _npz(
    path: Path, target: str | None, zero_based: bool, start: int, step: int
) -> Iterator[Piece]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            held = {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"the partition cannot be read: {error}", file=str(path)) from None
    if "y" not in held or not ({"data", "indices", "indptr", "shape"} <= set(held) or "X" in held):
        raise DataError(
            "an npz partition holds X and y, or data, indices, indptr, shape and y; this one holds "
            f"{', '.join(sorted(held))}",
            file=str(path),
        )
    X = held.get("X")
    if X is None:
        X = sparse.csr_array(
            (held["data"], held["indices"], held["indptr"]), shape=tuple(held["shape"])
        )
        X.check_format(full_check=True)
        X.sum_duplicates()
    y = held["y"]
    if len(y) != X.shape[0]:
        raise DataError(f"{len(y)} labels for {X.shape[0]} rows", file=str(path))
    width = 12 * X.nnz / max(1, X.shape[0]) if sparse.issparse(X) else 8 * X.shape[1]
    rows = max(1, int(step // max(1.0, width)))
    for begin in range(start, X.shape[0], rows):
        end = min(begin + rows, X.shape[0])
        yield _numbers(X[begin:end], path), tidy(y[begin:end]), end


def tidy(y: np.ndarray) -> np.ndarray:
    """Return labels as they are written everywhere else."""
    return tidy_labels(y.astype(float) if y.dtype.kind in "iufb" else y.astype(str).tolist())


def _numbers(X: Any, path: Path) -> Any:
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind not in "iufb" or not np.isfinite(values).all():
        raise DataError(
            "a partition holds finite numbers only; fill in or leave out the rest", file=str(path)
        )
    return X


def _parquet(
    path: Path, target: str | None, zero_based: bool, start: int, step: int
) -> Iterator[Piece]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if target is None:
        raise DataError("name the column of labels: target=...", file=str(path))
    try:
        file = pq.ParquetFile(path, memory_map=True)
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"the partition cannot be read: {error}", file=str(path)) from None
    names = file.schema_arrow.names
    if target not in names:
        raise DataError(f"there is no column {target!r}, only {names[:8]}", file=str(path))
    features = [name for name in names if name != target]
    rows, at = max(1, step // max(1, 8 * len(features))), 0
    try:
        for batch in file.iter_batches(batch_size=rows, use_threads=False):
            at += batch.num_rows
            if at <= start:
                continue
            yield (
                np.column_stack([_column(batch, name, path) for name in features]),
                tidy(np.asarray(batch.column(target).to_pylist())),
                at,
            )
    except (OSError, pa.ArrowException) as error:
        raise DataError(f"the partition cannot be read: {error}", file=str(path)) from None


def _column(batch: Any, name: str, path: Path) -> np.ndarray:
    import pyarrow as pa

    column = batch.column(name)
    kind = column.type
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
        raise DataError(
            f"column {name!r} holds {kind}, and partitions hold numbers; encode it first",
            file=str(path),
        )
    values = column.to_numpy(zero_copy_only=False).astype(np.float64)
    if not np.isfinite(values).all():
        raise DataError(f"column {name!r} has missing or infinite values", file=str(path))
    return np.asarray(values)
