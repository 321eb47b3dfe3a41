"""Tables that have types: Parquet and Arrow files, and frames; with labels and embeddings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.data.arrow import opened
from separatrix.data.encodings.columns import MISSING_WORDS, CellColumn, Column, TypedColumn
from separatrix.data.encodings.encoding import IndexEncoding, indexed
from separatrix.data.encodings.labels import (
    check_classes,
    choose_target,
    known_column,
    known_columns,
    target_labels,
)
from separatrix.data.encodings.prepared import aside_values, encode_columns
from separatrix.data.options import ReadOptions
from separatrix.data.readers.embeddings import (
    check_finite,
    is_vector,
    labels_of_rows,
    read_labels,
    vectors_of,
)
from separatrix.data.sources.streams import LARGEST_EXPANSION, Source
from separatrix.errors import DataError


def read_typed(table: Any, source: Source, options: ReadOptions, encoding: Any) -> dict[str, Any]:
    """Read an Arrow table: a column of lists is an embedding, others are features."""
    return read_typed_columns(columns_of_arrow(table, source.name), source, options, encoding)


def read_typed_columns(
    columns: Sequence[Any], source: Source, options: ReadOptions, encoding: Any
) -> dict[str, Any]:
    """Read columns that have types, perhaps with some of written cells among them."""
    if encoding is None:
        options = replace(options, drop=known_columns(options.drop, columns, source.name))
        aside = {str(name): known_column(name, columns, source.name) for name in options.aside}
    vectors = [each for each in columns if _is_vector(each) and each.name not in options.drop]
    if isinstance(encoding, IndexEncoding):
        vectors = [each for each in vectors if each.name == encoding.prefix] or vectors
    elif encoding is not None:
        vectors = []
    if vectors:
        if encoding is not None or not aside:
            return _embedded(columns, vectors, source, options, encoding)
        left_out = [column.name for column in aside.values()]
        options = replace(options, drop=[*options.drop, *left_out])
        kept = {name: aside_values(column, MISSING_WORDS) for name, column in aside.items()}
        return _embedded(columns, vectors, source, options, encoding) | {"aside": kept}
    written = with_decimal_commas(columns, options, encoding)
    return encode_columns(*with_labels(written, source, options), encoding)


def _is_vector(column: Any) -> bool:
    return isinstance(column, TypedColumn) and is_vector(column)


def with_labels(
    columns: Sequence[Any], source: Source, options: ReadOptions
) -> tuple[Sequence[Any], str, ReadOptions]:
    """Add the labels of a file beside a table as its last column, where there is such a file."""
    if options.labels is None or not columns:
        return columns, source.name, options
    import pyarrow as pa

    y = read_labels(options.labels, len(columns[0]), options.max_bytes)
    name = "label" if "label" not in {each.name for each in columns} else f"label {len(columns)}"
    beside = TypedColumn(name, len(columns) + 1, pa.chunked_array([pa.array(y.tolist())]), "")
    return [*columns, beside], source.name, replace(options, target=name)


def _embedded(
    columns: Sequence[TypedColumn],
    vectors: Sequence[TypedColumn],
    source: Source,
    options: ReadOptions,
    encoding: Any,
) -> dict[str, Any]:
    """Read the embedding of a table, with the labels that stand in another column."""
    if len(vectors) > 1:
        names = ", ".join(repr(each.name) for each in vectors[:6])
        raise source.error(
            f"several columns hold embeddings: {names}; leave out all but one with drop=[...] "
            "(--drop)"
        )
    chosen = vectors[0]
    if not len(chosen):
        raise source.error("the table has no rows")
    X = vectors_of(chosen, source)
    check_finite(X, source.name)
    others = [each for each in columns if each is not chosen and each.name not in options.drop]
    notes: list[str] = []
    target, y = _labels_among(others, len(X), source, options, encoding, notes)
    left = [each.name for each in others if each.name != target]
    if left:
        notes.append(f"beside the embedding {chosen.name!r}, left out: {', '.join(left[:5])}")
    fields = indexed(X, y, 0, chosen.name if encoding is None else encoding.prefix, encoding)
    if encoding is None:
        fields["encoding"] = replace(fields["encoding"], target=target)
    return fields | {"target": target, "notes": [*notes, *fields["notes"]]}


def _labels_among(
    others: Sequence[TypedColumn],
    n_rows: int,
    source: Source,
    options: ReadOptions,
    encoding: Any,
    notes: list[str],
) -> tuple[str | None, Any]:
    """Return the name of the target and the labels; for later data they need not be there."""
    if options.labels is not None or (not others and encoding is None):
        return None, labels_of_rows(None, n_rows, source, options, encoding is None)
    if encoding is not None:
        named = [each for each in others if each.name == encoding.target]
        if not named:
            return None, np.empty(0, dtype=np.int64)
        return named[0].name, target_labels(named[0], frozenset(), notes, encoding.classes)
    if options.target is not None:
        column = known_column(options.target, others, source.name)
    else:
        column, reason = choose_target(others, source.name)
        notes.append(reason)
    y = target_labels(column, frozenset(options.missing), notes)
    check_classes(column, y, source.name)
    return column.name, y


# ---- files and frames

_DAMAGES = (OSError, ValueError, KeyError, MemoryError)
_LARGE = 1 << 30  # a table that needs less is never refused for its expansion


def is_frame(thing: Any) -> bool:
    """Whether something is a pandas, polars, pyarrow... frame."""
    import narwhals as nw

    try:
        native = nw.from_native(thing, pass_through=True)
    except nw.exceptions.DuplicateError:
        _refuse_twins(thing)
        raise
    return isinstance(native, nw.DataFrame | nw.LazyFrame)


def frame_to_arrow(frame: Any) -> Any:
    """Return any frame as an Arrow table, without a copy where the memory allows."""
    import narwhals as nw

    _refuse_twins(frame)
    native = nw.from_native(frame)
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    try:
        return native.to_arrow()
    except Exception as error:
        raise DataError(
            f"the frame cannot be read ({error}); give each column one type", file="frame"
        ) from None


def _refuse_twins(frame: Any) -> None:
    """Refuse a frame in which two columns have one name; a lazy one has none of these."""
    if hasattr(frame, "collect_schema"):
        return
    names = getattr(frame, "column_names", None)  # of Arrow
    names = list(getattr(frame, "columns", ()) if names is None else names)
    if all(isinstance(name, str | int) for name in names) and len(set(names)) < len(names):
        twin = next(name for name in names if names.count(name) > 1)
        raise DataError(
            f"{names.count(twin)} columns of the frame are named {twin!r}: give each column a "
            "name of its own",
            file="frame",
        )


def _load(source: Source, kind: str, load: Any) -> Any:
    import pyarrow as pa

    try:
        table = load(opened(source.data))
        table.validate(full=True)  # before anything follows an offset out of the file
        return table
    except DataError:
        raise
    except (pa.ArrowException, *_DAMAGES) as error:
        raise _damaged(error, kind, source.name) from None


def _damaged(error: Exception, kind: str, file: str) -> DataError:
    first_line = str(error).split("\n")[0]
    return DataError(f"the {kind} file is damaged ({first_line}); get it again", file, 1, 1)


def parse_parquet(source: Source, max_bytes: int | None = None) -> Any:
    """Return the Arrow table that a Parquet file holds, if its rows do not ask for too much."""
    from pyarrow import parquet

    limit = max_bytes or max(_LARGE, LARGEST_EXPANSION * len(source.data))

    def load(reader: Any) -> Any:
        file = parquet.ParquetFile(reader)
        needed = _bytes_of(file.metadata)
        if needed > limit:
            raise source.error(
                f"the table needs about {needed:,} bytes, more than the {limit:,} allowed; "
                "allow more with max_bytes (--max-bytes)",
                0,
            )
        return file.read()

    return _load(source, "Parquet", load)


def parquet_batches(path: str, size: int) -> Iterator[Any]:
    """Yield a Parquet file as tables of about `size` bytes, one row group after another."""
    import pyarrow as pa
    from pyarrow import parquet

    known = (pa.ArrowException, *_DAMAGES)
    try:
        file = parquet.ParquetFile(path, pre_buffer=False)  # which would keep what it has read
        width = _bytes_of(file.metadata) // max(1, file.metadata.num_rows)
        batches = file.iter_batches(batch_size=max(1, size // max(1, width)), use_threads=False)
    except known as error:
        raise _damaged(error, "Parquet", path) from None
    with file:
        while True:
            try:
                batch = next(batches, None)
                if batch is None:
                    return
                table = pa.Table.from_batches([batch])
                table.validate(full=True)  # before anything follows an offset out of the file
            except known as error:
                raise _damaged(error, "Parquet", path) from None
            yield table


def _bytes_of(metadata: Any) -> int:
    """Return about how many bytes the rows of a file need, as it says itself.

    What it says of single columns is not read: where that is damaged, Arrow ends the process.
    """
    groups = range(metadata.num_row_groups)
    stored = sum(metadata.row_group(group).total_byte_size for group in groups)
    return max(int(stored), 8 * int(metadata.num_rows * metadata.num_columns))


def parse_arrow_file(source: Source) -> Any:
    """Return the Arrow table that an Arrow (Feather) file holds."""
    from pyarrow import feather

    return _load(source, "Arrow", feather.read_table)


def columns_of_arrow(table: Any, file: str) -> list[TypedColumn]:
    """Return the columns of an Arrow table."""
    names = table.column_names
    columns: list[TypedColumn] = []
    for number, (name, array) in enumerate(zip(names, table.columns, strict=True), 1):
        if names.count(name) > 1:
            raise DataError(f"two columns are called {name!r}; rename one", file, 1, number)
        columns.append(TypedColumn(name, number, array, file))
    return columns


# ---- decimal commas in columns of texts


def with_decimal_commas(
    columns: Sequence[TypedColumn], options: ReadOptions, encoding: Any
) -> list[Column]:
    """Return the columns, those of numbers with decimal commas as written cells.

    The rule is that of text tables: ``1,234`` may be thousands, and counts as 1.234 only where
    another column can be nothing else, or where ``decimal`` is ",". A column with another word
    stays as it is.
    """
    found: list[Column] = list(columns)
    trained = getattr(encoding, "decimal", None)
    decimal = options.decimal or trained
    if decimal == ".":
        return found
    texts = [
        at
        for at, each in enumerate(columns)
        if isinstance(each, TypedColumn) and _holds_texts(each, decimal == ",")
    ]
    if trained != ",":
        texts = [at for at in texts if _has_comma(columns[at])]
    cells = {at: _written(columns[at], decimal) for at in texts}
    if trained != ",":
        missing = MISSING_WORDS | set(options.missing)
        if decimal is None and any(_all_numbers(column, missing) for column in cells.values()):
            cells = {at: _written(columns[at], ",") for at in texts}
        cells = {at: column for at, column in cells.items() if _all_numbers(column, missing)}
    for at, column in cells.items():
        found[at] = column
    return found


def _all_numbers(column: CellColumn, missing: frozenset[str]) -> bool:
    return column.decimal_commas and column.numbers(missing) is not None


def _holds_texts(column: TypedColumn, declared: bool) -> bool:
    """Whether cells are texts; categories count where decimal commas are declared."""
    import pyarrow as pa

    kind = column.array.type
    if declared and pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _has_comma(column: TypedColumn) -> bool:
    """Whether there is something to look for; most columns of texts are done with here."""
    import pyarrow as pa
    from pyarrow import compute

    array = column.array
    if pa.types.is_dictionary(array.type):
        array = array.cast(pa.string())
    return bool(compute.any(compute.match_substring(array, ",")).as_py())


def _written(column: TypedColumn, decimal: str | None) -> CellColumn:
    import pyarrow as pa

    def load() -> Any:
        return column.array.cast(pa.string()).fill_null("")

    def error_at(message: str, row: int, _: int) -> DataError:
        return column.error(message, row)

    return CellColumn(column.name, column.number, load, error_at, None, decimal)
