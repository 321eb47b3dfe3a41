"""Decimal commas in tables that have types: a column of texts that all are numbers so written.

The rule is that of text tables: ``1,234`` may be thousands, and counts as 1.234 only where another
column can be nothing else, or where ``decimal`` is ",". A column with another word stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from separatrix.data.encodings.columns import MISSING_WORDS, CellColumn, Column, TypedColumn
from separatrix.data.options import ReadOptions
from separatrix.errors import DataError

__all__ = ["with_decimal_commas"]


def with_decimal_commas(
    columns: Sequence[TypedColumn], options: ReadOptions, encoding: Any
) -> list[Column]:
    """Return the columns, those of numbers with decimal commas as written cells."""
    found: list[Column] = list(columns)
    trained = getattr(encoding, "decimal", None)
    decimal = options.decimal or trained
    if decimal == ".":
        return found
    texts = [at for at, each in enumerate(columns) if _holds_texts(each, decimal == ",")]
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
