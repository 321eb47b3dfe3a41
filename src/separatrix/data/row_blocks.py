"""Raw data as blocks of encoded rows, whatever their size: for predicting, with bounded memory.

    for block in row_blocks("new.csv", encoding): model.predict(block.X)

Files are cut where a row ends, each piece is read as the whole would be, and errors name the line
of the file. Parquet is read by stretches of its row groups, and arrays are mapped into memory.
JSON is read record by record, and Excel row by row. Arrow files, images, folders, several files,
and what is compressed or comes from standard input though it is no text, are read whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix.data.encodings.column_features import FeatureEncoding
from separatrix.data.encodings.encoding import IndexEncoding, indexed
from separatrix.data.encodings.labels import tidy_labels
from separatrix.data.encodings.prepared import encode_columns, expected_columns, missing_columns
from separatrix.data.encodings.words import TextEncoder, TextEncoding
from separatrix.data.options import ReadOptions
from separatrix.data.readers.arff import DATA_LINE, arff_columns, arff_head, looks_like_arff
from separatrix.data.readers.array_files import ARRAYS
from separatrix.data.readers.delimited import as_utf8, parse_delimited
from separatrix.data.readers.embeddings import arrays_of, check_finite, labels_of_rows
from separatrix.data.readers.excel import excel_blocks
from separatrix.data.readers.json_records import json_blocks
from separatrix.data.readers.kinds import TITLES, kind_or_refusal, naming
from separatrix.data.readers.records import Records, read_records
from separatrix.data.readers.text import split_at_label
from separatrix.data.readers.typed_tables import parquet_batches, read_typed
from separatrix.data.sources.streams import STDIN, Pieces, Source, open_pieces, open_source
from separatrix.data.table import BY_KIND, read_as
from separatrix.errors import DataError

BLOCK = 4 << 20
_SAMPLE = 1 << 18
_SAMPLE_LINES = 200
_BYTES_OF_A_ROW = 256  # of JSON and Excel, about
_LINES_IN_PIECES = ("libsvm", "csv", "text")


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows, in the features of training; `y` is empty where no row of the block has a label.

    Where some have, the labels are texts, "" for a row without one.
    """

    X: Any
    y: NDArray[Any]
    notes: list[str]


def row_blocks(
    source: Any,
    encoding: Any,
    *,
    kind: str | None = None,
    characters: str | None = None,
    header: bool | None = None,
    labels: str | os.PathLike[str] | None = None,
    sheet: str | None = None,
    allow_missing: bool = False,
    size: int = BLOCK,
) -> Iterator[Block]:
    """Yield the rows of a file, or of standard input ("-"), a block at a time."""
    if isinstance(encoding, FeatureEncoding):
        given: dict[str, Any] = {"kind": kind, "characters": characters, "header": header}
        given |= {"sheet": sheet, "allow_missing": allow_missing}
        for block in row_blocks(source, encoding.inner, labels=labels, size=size, **given):
            yield replace(block, X=encoding.columns.apply(block.X))
        return
    options = ReadOptions(
        target=encoding.target, kind=kind, encoding=characters, header=header, labels=labels,
        sheet=sheet, allow_missing=allow_missing, some_labels=True,
    )  # fmt: skip
    if not isinstance(source, str | os.PathLike) or os.path.isdir(source):
        table = read_as(
            source, encoding, kind=kind, encoding=characters, header=header,
            allow_missing=allow_missing,
        )  # fmt: skip
        yield _of_fields(vars(table))
        return
    _require_arrays(labels, kind)
    with open_pieces(source, characters) as pieces:
        found = kind or _kind_of(pieces, encoding)
        _require_arrays(labels, found)
        if found in ARRAYS:
            yield from _array_blocks(_stored(source, pieces), options, encoding, size)
        elif found == "parquet" and _is_stored_plainly(source, pieces):
            yield from _parquet_blocks(os.fspath(source), options, encoding, size)
        elif found in TITLES:
            try:
                yield from _RECORD_BLOCKS[found](pieces, options, encoding, size)
            except DataError as error:
                raise naming(error, found, pieces.name) from None
        elif found not in _LINES_IN_PIECES:
            whole = Source(pieces.name, pieces.rest(), suffix=pieces.suffix)
            yield _of_fields(BY_KIND[found](whole, options, encoding))
        elif found == "libsvm":
            yield from _libsvm_blocks(pieces, options, encoding, size)
        elif found == "csv":
            yield from _csv_blocks(pieces, replace(options, encoding=None), encoding, size)
        else:
            yield from _text_blocks(pieces, encoding, size)


def _require_arrays(labels: Any, kind: str | None) -> None:
    if labels is not None and kind not in (*ARRAYS, None):
        raise DataError("labels (--labels) belong to .npy, .npz and .safetensors files of rows")


def _of_fields(fields: dict[str, Any]) -> Block:
    return Block(fields["X"], fields["y"], fields["notes"])


def _kind_of(pieces: Pieces, encoding: Any) -> str:
    start = pieces.peek(_SAMPLE)
    if not start or start.isspace():
        raise DataError("the file is empty", pieces.name, 1, 1)
    source = Source(pieces.name, start, suffix=pieces.suffix, compression=pieces.compression)
    # A zip file says what it holds at its end.
    source = replace(source, data=pieces.peek_all()) if start.startswith(b"PK\x03\x04") else source
    kind = kind_or_refusal(source)
    # Texts without labels look like anything; what the model takes is known.
    if isinstance(encoding, TextEncoding) and encoding.column is None:
        return kind if kind in ("parquet", "arrow", "idx", "excel", *ARRAYS) else "text"
    return kind


# ---- tables and arrays that can be entered anywhere


def _is_stored_plainly(source: Any, pieces: Pieces) -> bool:
    """Whether a file can be read at any place: it is no stream, and nothing is compressed."""
    return os.fspath(source) != STDIN and os.path.isfile(source) and not pieces.is_compressed


def _stored(source: Any, pieces: Pieces) -> Source:
    if _is_stored_plainly(source, pieces):
        return open_source(source)
    return Source(pieces.name, pieces.rest(), suffix=pieces.suffix)


def _parquet_blocks(path: str, options: ReadOptions, encoding: Any, size: int) -> Iterator[Block]:
    """Yield stretches of the row groups; no more than one group is in memory."""
    whole = Source(path, b"")
    before = 0
    for table in parquet_batches(path, size):
        try:
            yield _of_fields(read_typed(table, whole, options, encoding))
        except DataError as error:
            line = before + error.line if error.line and error.line > 1 else error.line
            raise DataError(error.message, path, line, error.column) from None
        before += table.num_rows
    if not before:
        raise DataError("the table has no rows", path, 1, 1)


def _array_blocks(
    source: Source, options: ReadOptions, encoding: Any, size: int
) -> Iterator[Block]:
    """Yield stretches of an array, which stays on disk where it can be mapped."""
    X, held = arrays_of(source, options)
    y = labels_of_rows(held, len(X), source, options, False)
    step = max(1, size // (X.itemsize * X.shape[1]))
    for begin in range(0, len(X), step):
        part = X[begin : begin + step]
        check_finite(part, source.name, begin)
        yield _of_fields(indexed(part, y[begin : begin + step], 0, "x", encoding))


# ---- lines


def _last_line_end(piece: bytes) -> int:
    return piece.rfind(b"\n") + 1


def _last_record_end(piece: bytes) -> int:
    """Return where the last whole record ends: a line end outside quotes."""
    if b'"' not in piece:
        return _last_line_end(piece)
    octets = np.frombuffer(piece, dtype=np.uint8)
    ends = np.flatnonzero(octets == 10)
    inside = np.cumsum(octets == 34)[ends] % 2
    closed = ends[inside == 0]
    return int(closed[-1]) + 1 if len(closed) else 0


def _numbered(pieces: Pieces, size: int, cut: Any) -> Iterator[tuple[int, bytes]]:
    """Yield pieces and the number of lines before each; blank ones are left out."""
    before = 0
    while piece := pieces.take(size, cut):
        if not piece.isspace():
            yield before, piece
        before += piece.count(b"\n")


def _moved(error: DataError, pieces: Pieces, lines: int) -> DataError:
    """Return an error of a piece as one of the file."""
    line = lines + error.line if error.line else None
    return DataError(error.message, pieces.name, line, error.column)


def _libsvm_blocks(
    pieces: Pieces, options: ReadOptions, encoding: Any, size: int
) -> Iterator[Block]:
    for before, piece in _numbered(pieces, size, _last_line_end):
        source = Source(pieces.name, piece, suffix=pieces.suffix)
        try:
            yield _of_fields(BY_KIND["libsvm"](source, options, encoding))
        except DataError as error:
            if error.message == "the file holds no rows" and before:
                continue  # a piece of comments
            raise _moved(error, pieces, before) from None


def _csv_blocks(pieces: Pieces, options: ReadOptions, encoding: Any, size: int) -> Iterator[Block]:
    options, head, above = _taken_head(pieces, options)
    decimal = getattr(encoding, "decimal", None)
    for before, piece in _numbered(pieces, size, _last_record_end):
        source = Source(pieces.name, head + piece, suffix=pieces.suffix)
        try:
            found = parse_delimited(
                source, options.separator, options.header, decimal=decimal, before=0
            )
            yield _of_fields(encode_columns(found.columns, pieces.name, options, encoding))
        except DataError as error:
            raise _moved(error, pieces, above + before) from None


def _taken_head(pieces: Pieces, options: ReadOptions) -> tuple[ReadOptions, bytes, int]:
    """Take comments and the lines of names off; what the first records show holds for all.

    Also returns how many lines of comment stand above the names.
    """
    sample = pieces.peek(_SAMPLE)
    sample = sample[: _last_record_end(sample) or None] if len(sample) == _SAMPLE else sample
    found = parse_delimited(
        Source(pieces.name, sample, suffix=pieces.suffix), options.separator, options.header
    )
    start = found.place(0)[1] if found.header else found.before
    head = found.source.data[found.before : start]
    pieces.skip(start)
    above = found.source.data.count(b"\n", 0, found.before)
    return replace(options, separator=found.separator, header=found.header), head, above


# ---- JSON, ARFF, Excel


def _json_blocks(pieces: Pieces, options: ReadOptions, encoding: Any, size: int) -> Iterator[Block]:
    whole = Source(pieces.name, b"")

    def take() -> bytes:
        return pieces.take(size, len)

    blocks = json_blocks(take, pieces.name, max(1, size // _BYTES_OF_A_ROW))
    records, after = next(blocks), next(blocks, None)
    expected, seen = expected_columns(encoding) if after is not None else [], set[str]()
    embedding = _embedding_in(records, encoding)
    while True:
        if embedding is not None and seen:  # the other keys are none of the model's
            known = seen | {embedding}.union(records.values)
            kept = [name for name in (embedding, encoding.target) if name in known]
            records.values = {name: records.values.get(name, []) for name in kept}
        elif encoding.target in seen:
            records.values.setdefault(encoding.target, [])
        seen.update(records.values)
        for name in expected:  # a key may be absent from a whole block
            records.values.setdefault(name, [])
        yield _of_fields(read_records(records, whole, options, encoding))
        if after is None:
            break
        records, after = after, next(blocks, None)
    absent = [name for name in expected if name not in seen]
    if absent and not options.allow_missing:
        raise missing_columns(absent, list(seen), pieces.name)


def _embedding_in(records: Records, encoding: Any) -> str | None:
    """Return the key whose lists are the rows of a model of embeddings: one for the whole file."""
    if not isinstance(encoding, IndexEncoding):
        return None
    lists = [
        name
        for name, values in records.values.items()
        if len(values) == len(records) and all(isinstance(value, list) for value in values)
    ]
    return encoding.prefix if encoding.prefix in lists else next(iter(lists), None)


def _excel_blocks(
    pieces: Pieces, options: ReadOptions, encoding: Any, size: int
) -> Iterator[Block]:
    whole = Source(pieces.name, pieces.rest(), suffix=pieces.suffix)
    some = False
    for records, notes in excel_blocks(whole, options, max(1, size // _BYTES_OF_A_ROW)):
        some = True
        fields = read_records(records, whole, options, encoding)
        yield Block(fields["X"], fields["y"], [*notes, *fields["notes"]])
    if not some:
        raise whole.error("the Excel sheet has names, but no rows", 0)


def _arff_blocks(pieces: Pieces, options: ReadOptions, encoding: Any, size: int) -> Iterator[Block]:
    sample = pieces.peek(max(size, _SAMPLE))
    while looks_like_arff(sample) and not DATA_LINE.search(sample):
        longer = pieces.peek(2 * len(sample))
        if len(longer) == len(sample):
            break
        sample = longer
    head = arff_head(Source(pieces.name, sample))
    as_utf8(Source(pieces.name, sample[: head.start]), None)
    if not head.attributes:  # the first records show whether there are names
        whole = Source(pieces.name, pieces.rest(), suffix=pieces.suffix)
        yield _of_fields(BY_KIND["arff"](whole, replace(options, encoding=None), encoding))
        return
    pieces.skip(head.start)
    decimal = getattr(encoding, "decimal", None)
    some = False
    for before, piece in _numbered(pieces, size, _last_line_end):
        try:
            columns = arff_columns(piece, head, pieces.name, options, decimal)
            if not columns:
                continue
            some = True
            yield _of_fields(encode_columns(columns, pieces.name, options, encoding))
        except DataError as error:
            raise _moved(error, pieces, head.lines + before) from None
    if not some:
        raise DataError("the ARFF file has no rows below @data", pieces.name, head.lines, 1)


_RECORD_BLOCKS = {"json": _json_blocks, "arff": _arff_blocks, "excel": _excel_blocks}


# ---- texts


def _text_blocks(pieces: Pieces, encoding: Any, size: int) -> Iterator[Block]:
    side: int | None = None
    known = {str(name) for name in encoding.classes}
    encoder = TextEncoder(encoding)
    for before, piece in _numbered(pieces, size, _last_line_end):
        notes: list[str] = []
        lines = [line.removesuffix("\r") for line in _decoded(piece, notes).split("\n")]
        lines = [line for line in lines if line.strip()]
        if not before:
            side = _label_side(lines, known)
        labels, texts = list[str](), lines
        if side is not None:
            if not before and len(lines) > 1:
                first = lines[0].split("\t", 1) if side == 0 else lines[0].rsplit("\t", 1)
                lines = lines[first[side].strip() not in known :]  # names of columns
            at = next((k for k, line in enumerate(lines) if "\t" not in line), None)
            if at is not None:
                raise DataError(
                    "the lines before have a label and a text with a tab between; this has no tab",
                    pieces.name, before + at + 1, 1,
                )  # fmt: skip
            labels, texts = split_at_label(lines, side)
            labels = [label.strip() for label in labels]
        yield Block(encoder.encode(texts), tidy_labels(labels) if labels else np.empty(0), notes)


def _decoded(piece: bytes, notes: list[str]) -> str:
    try:
        return piece.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        notes.append("some lines are not UTF-8 and were read as latin-1")
        return piece.decode("latin-1")


def _label_side(lines: list[str], known: set[str]) -> int | None:
    """Return 0 or -1 for the side of the tab that holds labels of training, None for neither."""
    sample = [line for line in lines[:_SAMPLE_LINES] if "\t" in line]
    if 2 * len(sample) <= min(len(lines), _SAMPLE_LINES):
        return None
    for side in (-1, 0):
        if 2 * sum(label.strip() in known for label in split_at_label(sample, side)[0]) > len(
            sample
        ):
            return side
    return None
