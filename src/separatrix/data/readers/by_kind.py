"""One reader for each kind of source: each returns the fields of a Table.

With an encoding the data are read as training data were, and labels may be absent.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.data.encodings.encoding import TableEncoding
from separatrix.data.encodings.grams import GramEncoding
from separatrix.data.encodings.index_encoding import IndexEncoding, indexed, of_kind
from separatrix.data.encodings.labels import classes_of, tidy_labels
from separatrix.data.encodings.prepared import encode_columns, text_options
from separatrix.data.encodings.words import TextEncoding, fit_text
from separatrix.data.options import ReadOptions
from separatrix.data.readers.class_files import read_classes
from separatrix.data.readers.delimited import parse_delimited
from separatrix.data.readers.embeddings import arrays_of, check_finite, labels_of_rows, read_labels
from separatrix.data.readers.frames import frame_to_arrow, parse_arrow_file, parse_parquet
from separatrix.data.readers.idx import parse_idx, read_labels_beside
from separatrix.data.readers.libsvm import parse_libsvm
from separatrix.data.readers.text import Documents, parse_labelled_lines
from separatrix.data.readers.typed_tables import read_typed, with_labels
from separatrix.data.sources.kinds import see_kind
from separatrix.data.sources.streams import Source, open_source
from separatrix.errors import DataError

__all__ = [
    "BY_KIND",
    "ENCODINGS",
    "IndexEncoding",
    "encode_columns",
    "read_file",
    "read_frame",
    "read_texts_by_class",
    "read_typed",
    "see_kind",
]

Fields = dict[str, Any]

_ARRAYS = ("npy", "npz", "safetensors")

ENCODINGS: dict[str, Any] = {
    "table": TableEncoding,
    "text": TextEncoding,
    "grams": GramEncoding,
    "index": IndexEncoding,
}


def read_file(path: Any, options: ReadOptions, encoding: Any) -> Fields:
    """Read one file of any kind."""
    source = open_source(path, options.max_bytes)
    if not source.data or (isinstance(source.data, bytes) and source.data.isspace()):
        raise source.error("the file is empty", 0)
    if source.suffix in (".pos", ".neg") and options.kind is None:
        raise source.error(
            "these look like the texts of one class; give the files of all classes, or the folder "
            "that holds them",
            0,
        )
    kind = options.kind or see_kind(source)
    if options.labels is not None and kind in ("libsvm", "text"):
        raise source.error("the labels stand in the file itself: leave labels (--labels) out", 0)
    if kind not in _ARRAYS and not isinstance(source.data, bytes):
        source = replace(source, data=bytes(source.data))  # `kind` says what it does not look like
    try:
        fields = BY_KIND[kind](source, options, encoding)
    except DataError as error:
        raise _placed(error, source.name) from None
    return {"kind": kind, "source": source.name, "sha256": source.sha256, **fields}


def _placed(error: DataError, file: str) -> DataError:
    """Return the error with a place: what concerns a whole file is said of its first line."""
    return DataError(error.message, error.file or file, error.line or 1, error.column or 1)


def _read_libsvm(source: Source, options: ReadOptions, encoding: Any) -> Fields:
    zero_based = options.zero_based
    if isinstance(encoding, IndexEncoding) and zero_based is None:
        zero_based = encoding.first == 0
    data = parse_libsvm(source, options.n_features, zero_based)
    first = 0 if data.zero_based else 1
    return indexed(data.X, data.y, first, "", encoding) | {"query_ids": data.query_ids}


def _read_idx(source: Source, options: ReadOptions, encoding: Any) -> Fields:
    images = parse_idx(source)
    if images.ndim < 2:
        raise source.error("this is a file of labels; give the file of images beside it")
    if options.labels is not None:
        y = read_labels(options.labels, len(images), options.max_bytes)
    else:
        y = read_labels_beside(source, len(images), options.max_bytes)
    X = images.reshape(len(images), -1).astype(np.float32)
    return indexed(X, y, 0, "pixel", encoding)


def _read_arrays(source: Source, options: ReadOptions, encoding: Any) -> Fields:
    X, held = arrays_of(source, options)
    check_finite(X, source.name)
    y = labels_of_rows(held, len(X), source, options, encoding is None)
    return indexed(X, y, 0, "x", encoding)


def _read_csv(source: Source, options: ReadOptions, encoding: Any) -> Fields:
    decimal = options.decimal or getattr(encoding, "decimal", None)
    table = parse_delimited(source, options.separator, options.header, options.encoding, decimal)
    if options.labels is not None:
        fields = encode_columns(*with_labels(table.columns, source, options), encoding)
    else:
        if options.target is None and table.target is not None:
            options = replace(options, target=table.target)
        fields = encode_columns(table.columns, source.name, options, encoding)
    return fields | {"notes": [*table.notes, *fields["notes"]]}


def _read_parquet(source: Source, options: ReadOptions, encoding: Any) -> Fields:
    return read_typed(parse_parquet(source, options.max_bytes), source, options, encoding)


def _read_arrow(source: Source, options: ReadOptions, encoding: Any) -> Fields:
    return read_typed(parse_arrow_file(source), source, options, encoding)


def read_frame(frame: Any, options: ReadOptions, encoding: Any) -> Fields:
    """Read a frame in memory; it has no digest."""
    whole = Source("frame", b"", "", "", "")
    fields = read_typed(frame_to_arrow(frame), whole, options, encoding)
    return {"kind": "frame", "source": "frame", "sha256": "", **fields}


def _read_labelled(source: Source, options: ReadOptions, encoding: Any) -> Fields:
    return _texts(parse_labelled_lines(source, options.encoding), options, encoding)


def read_texts_by_class(where: Any, options: ReadOptions, encoding: Any) -> Fields:
    """Read a folder, or several files, that hold the texts of one class each."""
    if options.labels is not None:
        raise DataError("the files say the labels of their texts: leave labels (--labels) out")
    documents = read_classes(where, options.encoding, options.max_bytes, options.kind)
    name = ", ".join(map(str, where)) if isinstance(where, list | tuple) else str(where)
    fields = _texts(documents, options, encoding)
    return {"kind": "text", "source": name, "sha256": documents.sha256, **fields}


def _texts(documents: Documents, options: ReadOptions, encoding: Any) -> Fields:
    y = tidy_labels(documents.labels)
    if encoding is None:
        encoding, X = fit_text(documents.texts, text_options(options), options.max_features)
        encoding = replace(encoding, classes=tuple(classes_of(y).tolist()))
    else:
        X = of_kind(encoding, TextEncoding).encode(documents.texts)
    return {"X": X, "y": y, "feature_names": encoding.feature_names, "classes": classes_of(y),
            "encoding": encoding, "notes": documents.notes,
            "texts": documents.texts}  # fmt: skip


BY_KIND = {
    "libsvm": _read_libsvm,
    "csv": _read_csv,
    "text": _read_labelled,
    "parquet": _read_parquet,
    "arrow": _read_arrow,
    "idx": _read_idx,
    "npy": _read_arrays,
    "npz": _read_arrays,
    "safetensors": _read_arrays,
}
