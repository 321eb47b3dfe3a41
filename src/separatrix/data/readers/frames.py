"""Tables that already have types: Parquet and Arrow files, and frames in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from separatrix.data.encodings.columns import TypedColumn
from separatrix.data.readers.arrow import opened
from separatrix.data.sources.streams import LARGEST_EXPANSION, Source
from separatrix.errors import DataError

__all__ = [
    "columns_of_arrow",
    "frame_to_arrow",
    "is_frame",
    "parquet_batches",
    "parse_arrow_file",
    "parse_parquet",
]

_LARGE = 1 << 30  # a table that needs less is never refused for its expansion


def is_frame(thing: Any) -> bool:
    """Whether something is a pandas, polars, pyarrow... frame."""
    import narwhals as nw

    native = nw.from_native(thing, pass_through=True)
    return isinstance(native, nw.DataFrame | nw.LazyFrame)


def frame_to_arrow(frame: Any) -> Any:
    """Return any frame as an Arrow table, without a copy where the memory allows."""
    import narwhals as nw

    native = nw.from_native(frame)
    if isinstance(native, nw.LazyFrame):
        native = native.collect()
    try:
        return native.to_arrow()
    except Exception as error:
        raise DataError(
            f"the frame cannot be read ({error}); give each column one type", file="frame"
        ) from None


def _load(source: Source, kind: str, load: Any) -> Any:
    import pyarrow as pa

    try:
        table = load(opened(source.data))
        table.validate(full=True)  # before anything follows an offset out of the file
        return table
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
        first_line = str(error).split("\n")[0]
        raise source.error(f"the {kind} file is damaged ({first_line}); get it again", 0) from None


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

    def damaged(error: Exception) -> DataError:
        first_line = str(error).split("\n")[0]
        return DataError(f"the Parquet file is damaged ({first_line}); get it again", path, 1, 1)

    known = (pa.ArrowException, OSError, ValueError, KeyError, MemoryError)
    try:
        file = parquet.ParquetFile(path, pre_buffer=False)  # which would keep what it has read
        width = _bytes_of(file.metadata) // max(1, file.metadata.num_rows)
        batches = file.iter_batches(batch_size=max(1, size // max(1, width)), use_threads=False)
    except known as error:
        raise damaged(error) from None
    with file:
        while True:
            try:
                batch = next(batches, None)
                if batch is None:
                    return
                table = pa.Table.from_batches([batch])
                table.validate(full=True)  # before anything follows an offset out of the file
            except known as error:
                raise damaged(error) from None
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
