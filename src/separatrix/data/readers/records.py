"""Rows of named values (JSON, Excel) as columns, read as a CSV of the same values would be.

A name that a row lacks is a missing value there. A column of lists of numbers is an embedding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.data.arrow import from_texts
from separatrix.data.encodings.columns import CellColumn, Column, TypedColumn
from separatrix.data.encodings.prepared import encode_columns
from separatrix.data.options import ReadOptions
from separatrix.data.readers.typed_tables import read_typed_columns, with_labels
from separatrix.data.sources.streams import Source
from separatrix.errors import DataError

_NUMBERS = {int, float, type(None)}


def spelled(value: Any) -> str:
    """Return a value as a CSV would write it; nothing where there is none.

    >>> [spelled(value) for value in (None, True, 3, 2.0, 0.1, "a b")]
    ['', 'true', '3', '2', '0.1', 'a b']
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


class Records:
    """Values gathered column by column, with the line of every row."""

    def __init__(self, file: str, names: Sequence[str] = ()) -> None:
        self.file, self.lines = file, list[int]()
        self.values: dict[str, list[Any]] = {name: [] for name in names}

    def __len__(self) -> int:
        return len(self.lines)

    def add(self, record: dict[str, Any], line: int) -> None:
        """Add a row; a new name is a new column, missing in the rows before."""
        before = len(self.lines)
        self.lines.append(line)
        values = self.values
        for name, value in record.items():
            column = values.get(name)
            if column is None:
                column = values[name] = []
            if len(column) < before:
                column.extend([None] * (before - len(column)))
            column.append(value)

    def columns(self, decimal: str | None = None) -> list[Column]:
        """Return the columns, in the order in which their names came."""
        rows, found = len(self.lines), list[Column]()
        for number, (name, values) in enumerate(self.values.items(), 1):
            values.extend([None] * (rows - len(values)))
            found.append(self._column(name, number, values, decimal))
        return found

    def _column(self, name: str, number: int, values: list[Any], decimal: str | None) -> Column:
        kinds = set(map(type, values))
        if list in kinds and kinds <= {list}:
            vectors = _vectors(values)
            if vectors is not None:
                return TypedColumn(name, number, vectors, self.file)

        def load() -> Any:
            import pyarrow as pa

            self._refuse_nested(name, number, values)
            texts = [spelled(value) for value in values]
            try:
                return pa.chunked_array([from_texts(texts)])
            except UnicodeEncodeError:
                row = next(row for row, text in enumerate(texts) if not _is_text(text))
                raise self._error("half of a surrogate pair is no character", row, number) from None

        parsed = _numbers(values) if kinds <= _NUMBERS else None
        return RecordColumn(name, number, load, self._error, parsed, decimal, rows=len(values))

    def _refuse_nested(self, name: str, number: int, values: list[Any]) -> None:
        row = next((k for k, value in enumerate(values) if isinstance(value, list | dict)), None)
        if row is not None:
            what = "a list" if isinstance(values[row], list) else "an object"
            raise self._error(
                f"column {name!r} holds {what} here, which cannot be a feature; flatten it, or "
                f"leave the column out: drop=[{name!r}] (--drop {name})",
                row,
                number,
            )

    def _error(self, message: str, row: int, column: int) -> DataError:
        return DataError(message, self.file, self.lines[row], column)


@dataclass
class RecordColumn(CellColumn):
    """A column that knows its length before its cells are looked at."""

    rows: int = 0

    def __len__(self) -> int:
        return self.rows


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _numbers(values: list[Any]) -> np.ndarray:
    """Return numbers, NaN where there is none; one beyond float64 is infinite, refused later."""
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        return np.array([_as_float(value) for value in values])


def _as_float(value: Any) -> float:
    try:
        return float("nan") if value is None else float(value)
    except OverflowError:
        return float("inf")


def _vectors(values: list[Any]) -> Any:
    """Return lists of numbers as an Arrow array; None where they hold anything else."""
    import pyarrow as pa

    if not all(type(part) in (int, float) for value in values for part in value):
        return None
    try:
        return pa.chunked_array([pa.array(values, type=pa.list_(pa.float64()))])
    except (pa.ArrowException, OverflowError):
        return None


def read_records(
    records: Records, source: Source, options: ReadOptions, encoding: Any
) -> dict[str, Any]:
    """Return the fields of a table."""
    columns = records.columns(options.decimal or getattr(encoding, "decimal", None))
    if not columns or not len(records):
        raise source.error("the table has no rows", 0)
    if any(isinstance(column, TypedColumn) for column in columns):
        return read_typed_columns(columns, source, options, encoding)
    return encode_columns(*with_labels(columns, source, options), encoding)
