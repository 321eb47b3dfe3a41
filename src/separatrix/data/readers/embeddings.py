"""Rows of numbers that come as arrays: embeddings, with their labels in the file or beside it.

    .npy            one array of two dimensions
    .npz            one, or two called X and y (embeddings and labels, ...)
    .safetensors    the same, float16 and bfloat16 too
    Parquet, Arrow  a column of lists of one length

float32 and float64 stay as they are, and where the file is mapped into memory so does the array;
half precision, bfloat16 and small whole numbers become float32, which holds them exactly.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.encodings.columns import TypedColumn
from separatrix.data.encodings.labels import check_codes, tidy_labels
from separatrix.data.options import ReadOptions
from separatrix.data.readers.array_files import (
    StoredArray,
    array_kind,
    arrays_in,
    is_idx,
    parse_idx,
)
from separatrix.data.sources.streams import Source, open_source
from separatrix.errors import DataError

_ROW_NAMES = ("x", "embeddings", "embedding", "features", "vectors", "data", "arr_0")
_LABEL_NAMES = ("y", "labels", "label", "targets", "target", "classes", "class", "arr_1")
_HEADINGS = frozenset({"label", "labels", "class", "target", "y"})
_SPARSE = {"data", "indices", "indptr", "shape"}
_AT_ONCE = 1 << 22  # numbers looked at together
_MOST_LABEL = 1 << 16


def arrays_of(source: Source, options: ReadOptions) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Return the rows of an array file, and its labels where it holds them."""
    stored = arrays_in(source, options.max_bytes)
    if {each.name for each in stored} >= _SPARSE:
        raise source.error(
            "this is a sparse matrix as SciPy saves it; write it as LIBSVM text with "
            "separatrix.data.readers.libsvm.write_libsvm, or open it with sx.open_partitions"
        )
    rows = _chosen(source, stored, 2, _ROW_NAMES, "rows")
    if rows is None:
        raise source.error(_no_rows(stored))
    labels = _chosen(
        source, [each for each in stored if each is not rows], 1, _LABEL_NAMES, "label"
    )
    X = _numbers(rows.take(), source, rows.name)
    if not X.size:
        raise source.error(f"the array has the shape {rows.shape}: there are no numbers in it")
    if labels is None or options.labels is not None:
        return X, None
    y = _labels(labels.take(), source)
    _check_length(y, len(X), source.name)
    return X, y


def _no_rows(stored: Sequence[StoredArray]) -> str:
    shapes = ", ".join(f"{each.name[:40] or 'the array'} {each.shape}" for each in stored[:6])
    if len(stored) == 1 and len(stored[0].shape) == 1:
        return "this is one column of values, as labels are; give the file of rows, of 2 dimensions"
    if len(stored) == 1:
        return (
            f"the array has {len(stored[0].shape)} dimensions, {stored[0].shape}, and rows have 2: "
            "save X.reshape(len(X), -1), or the mean over the middle one"
        )
    return f"there is no array of 2 dimensions called X or embeddings, but {shapes or 'nothing'}"


def _chosen(
    source: Source, stored: Sequence[StoredArray], rank: int, names: Sequence[str], what: str
) -> StoredArray | None:
    """Return the array of a usual name, or else the only one of so many dimensions."""
    fitting = [each for each in stored if len(each.shape) == rank]
    if rank == 1:
        fitting += [each for each in stored if len(each.shape) == 2 and each.shape[1] == 1]
    for usual in names:
        for each in fitting:
            if each.name.casefold() == usual:
                return each
    if len(fitting) > 1 and rank == 2:
        shown = ", ".join(repr(each.name[:40]) for each in fitting[:6])
        raise source.error(
            f"several arrays may hold the {what}: {shown}; call one X or embeddings, or save it "
            "by itself"
        )
    return fitting[0] if len(fitting) == 1 else None


def _numbers(values: NDArray[Any], source: Source, name: str = "") -> NDArray[Any]:
    """Return numbers as float32 or float64, not copied where they are that already."""
    kind = values.dtype
    if kind.kind not in "fiub" or kind.itemsize > 8:
        said = f"the array {name[:40]!r}" if name else "the array"
        raise source.error(f"{said} holds {kind}, not numbers; save float32")
    single = kind.itemsize <= 2 or kind == np.dtype(kind.byteorder + "f4")
    target = np.dtype(np.float32 if single else np.float64)
    with np.errstate(invalid="ignore"):
        return values if kind == target and kind.isnative else values.astype(target)


def check_finite(X: NDArray[Any], file: str, before: int = 0) -> None:
    """Refuse NaN and infinities, naming the first; a stretch of rows is looked at at a time."""
    step = max(1, _AT_ONCE // max(1, X.shape[1]))
    for begin in range(0, len(X), step):
        part = X[begin : begin + step]
        good = np.isfinite(part)
        if not good.all():
            row, column = (int(k) for k in np.argwhere(~good)[0])
            raise DataError(
                f"row {before + begin + row}, column {column} (counted from 0) is "
                f"{part[row, column]}; remove the row, or fill it in",
                file=file,
                line=before + begin + row + 1,
                column=column + 1,
            )


# ---- labels


def _labels(values: NDArray[Any], source: Source) -> NDArray[Any]:
    values = values.reshape(-1)
    kind = values.dtype
    if kind.kind == "f" and not np.isfinite(values).all():
        at = int(np.argmin(np.isfinite(values)))
        raise source.error(f"label {at} (counted from 0) is {values[at]}; remove the row")
    if kind.kind in "iu" and (len(values) == 0 or int(values.max()) < 2**63):
        return values.astype(np.int64)
    if kind.kind == "u":
        return np.array([str(number) for number in values.tolist()])
    if kind.kind in "fb":
        return tidy_labels(values.astype(np.float64))
    if kind.kind == "S":
        values = _decoded(values)
    if kind.kind not in "SU":
        raise source.error(f"the labels are of type {kind}; save whole numbers or texts")
    return tidy_labels([str(text).strip() for text in values.tolist()])


def _decoded(values: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.char.decode(values, "utf-8")
    except UnicodeDecodeError:
        return np.char.decode(values, "latin-1")


def labels_of_rows(
    y: NDArray[Any] | None, n_rows: int, source: Source, options: ReadOptions, needed: bool
) -> NDArray[Any]:
    """Return the labels found in a file, or those beside it; none where none need be.

    Where they are needed they name classes, and amounts are refused.
    """
    if options.labels is not None:
        y = read_labels(options.labels, n_rows, options.max_bytes)
    if y is not None:
        if needed:
            check_codes(y, os.fspath(options.labels or source.name))
        return y
    if not needed:
        return np.empty(0, dtype=np.int64)
    beside = _beside(source.name)
    hint = f"; '{beside}' is beside it" if beside else ""
    raise source.error(
        f"there are {n_rows:,} rows and no labels; give their file: labels=... (--labels FILE)"
        f"{hint}"
    )


def _beside(path: str) -> str | None:
    """Return the name of a file of labels that stands beside one of rows, if its name says so."""
    here = Path(path)
    if not here.is_file():
        return None
    usual = [f"{name}{ending}" for name in ("labels", "y") for ending in (".npy", ".txt", ".csv")]
    own = [f"{here.stem}{mark}{name}" for mark in ("_", "-", ".") for name in usual]
    turned = here.name.replace("embeddings", "labels").replace("X", "y")
    found = [name for name in (turned, *own, *usual) if name != here.name]
    return next((name for name in found if here.with_name(name).is_file()), None)


def read_labels(path: Any, n_rows: int, max_bytes: int | None = None) -> NDArray[Any]:
    """Read a file of labels: an array of one dimension, or a line of text for each row."""
    source = open_source(path, max_bytes)
    start = bytes(source.data[:16])
    if array_kind(start):
        stored = arrays_in(source, max_bytes)
        chosen = _chosen(source, stored, 1, _LABEL_NAMES, "labels")
        if chosen is None:
            raise source.error("there is no array of labels, of 1 dimension, in it")
        y = _labels(chosen.take(), source)
    elif is_idx(start):
        y = _labels(parse_idx(source), source)
    else:
        y = _lines(source, n_rows)
    _check_length(y, n_rows, os.fspath(path))
    return y


def _lines(source: Source, n_rows: int) -> NDArray[Any]:
    try:
        text = source.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = source.data.decode("latin-1")
    lines = [line.strip() for line in text.removesuffix("\n").split("\n")]
    if len(lines) == n_rows + 1 and lines[0].strip("\"'").casefold() in _HEADINGS:
        lines = lines[1:]
    for number, line in enumerate(lines, 1):
        if not line or len(line) > _MOST_LABEL:
            raise DataError(
                "a line is a label, and this one is empty or longer than any",
                source.name,
                number,
                1,
            )
    return tidy_labels(lines)


def _check_length(y: NDArray[Any], n_rows: int, file: str) -> None:
    if len(y) != n_rows:
        raise DataError(f"there are {n_rows:,} rows, but {len(y):,} labels", file=file)


# ---- columns of lists


def is_vector(column: TypedColumn) -> bool:
    """Whether a column of an Arrow table holds lists of floats."""
    import pyarrow as pa

    types, kind = pa.types, column.array.type
    if not (types.is_fixed_size_list(kind) or types.is_list(kind) or types.is_large_list(kind)):
        return False
    return bool(types.is_floating(kind.value_type))


def vectors_of(column: TypedColumn, source: Source) -> NDArray[Any]:
    """Return a column of lists as rows; without a copy where it is in one piece."""
    import pyarrow as pa

    fixed = pa.types.is_fixed_size_list(column.array.type)
    pieces, before, width = [], 0, 0
    for chunk in column.array.chunks if hasattr(column.array, "chunks") else [column.array]:
        if not len(chunk):
            continue
        if chunk.null_count:
            at = int(np.argmin(np.asarray(chunk.is_valid())))
            raise column.error(f"column {column.name!r} has no list here", before + at)
        here = _lengths(chunk, fixed)
        width = width or int(here[0])
        if not width:
            raise column.error(f"the list of column {column.name!r} is empty", before)
        if (here != width).any():
            at = int(np.argmax(here != width))
            raise column.error(
                f"the lists of column {column.name!r} differ in length: {width} before, and "
                f"{int(here[at])} here; embeddings have one length", before + at,
            )  # fmt: skip
        values = chunk.flatten().to_numpy(zero_copy_only=False)
        pieces.append(_numbers(values, source, column.name).reshape(len(chunk), width))
        before += len(chunk)
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _lengths(chunk: Any, fixed: bool) -> NDArray[Any]:
    if fixed:
        return np.array([chunk.type.list_size])
    return np.diff(np.asarray(chunk.offsets))
