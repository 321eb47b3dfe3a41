"""Excel (.xlsx): the rows of a sheet, read as a CSV of the same values would be.

The first sheet that holds rows is read, or the one that ``sheet`` names. Values of formulas are
those that were saved; a formula without one is refused. Errors such as #DIV/0! are missing values.
openpyxl reads the file (the extra `excel`), a row at a time.
"""

from __future__ import annotations

import datetime
import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from separatrix.data.options import ReadOptions
from separatrix.data.readers.delimited_head import looks_like_header, names_of
from separatrix.data.readers.records import Records, read_records, spelled
from separatrix.data.sources.streams import LARGEST_EXPANSION, SMALL_ENOUGH, Source
from separatrix.errors import DataError

_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 1 << 14  # of a sheet, as Excel has it
_SAMPLE_ROWS = 200
_ERRORS = {"#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#N/A", "#GETTING_DATA"}
_MARKUP = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.I)
_FORMULA = re.compile(rb"<(?:\w+:)?f[ />]")
Row = tuple[int, list[Any]]  # the number of a row in the sheet, and its values


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise DataError(
            "Excel files are read with openpyxl, which is not installed: "
            "pip install openpyxl, or save the table as CSV"
        ) from None
    return openpyxl


@dataclass
class Sheet:
    """The rows of one sheet below its names; `notes` say what was decided."""

    name: str
    names: list[str]
    rows: Iterator[Row]
    notes: list[str] = field(default_factory=list)


@contextmanager
def opened_sheet(source: Source, options: ReadOptions) -> Iterator[Sheet]:
    """Open the sheet to read; a damaged file is refused in one sentence."""
    _openpyxl()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of charts, validations and styles, which are not read
        try:
            yield _sheet(source, options)
        except (DataError, MemoryError):
            raise
        except _DAMAGES as error:
            raise _damaged(source, error) from None


# What a damaged file makes zipfile, the parser of XML and openpyxl raise.
_DAMAGES = (
    zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, TypeError, LookupError,
    AttributeError, ArithmeticError, SyntaxError, NotImplementedError, AssertionError,
    RecursionError, RuntimeError,
)  # fmt: skip


def _damaged(source: Source, error: Exception) -> DataError:
    words = " ".join(str(error).split())[:100]
    return DataError(
        f"the Excel file is damaged ({words or type(error).__name__}); save it again, or as CSV",
        source.name,
        1,
        1,
    )


def _sheet(source: Source, options: ReadOptions) -> Sheet:
    data = bytes(source.data)
    has_formulas = _looked_through(source, data, options.max_bytes)
    book = _book(data, values=True)
    sheets = [each for each in book.worksheets if hasattr(each, "iter_rows")]
    titles = [str(each.title) for each in sheets]
    if options.sheet is not None:
        if options.sheet not in titles:
            known = ", ".join(repr(title) for title in titles[:8])
            raise source.error(f"the Excel file has no sheet {options.sheet!r}, only {known}", 0)
        sheets = [sheets[titles.index(options.sheet)]]
    for each in sheets:
        rows = _rows(each, source)
        first = next(rows, None)
        if first is None:
            continue
        if has_formulas:
            rows = _with_formulas(data, str(each.title), source)
        else:
            rows = _chained([first], rows)
        notes = []
        if len(titles) > 1 and options.sheet is None:
            others = ", ".join(repr(title) for title in titles if title != each.title)[:80]
            notes.append(f"of {len(titles)} sheets, {str(each.title)!r} was read, not {others}")
        return _headed(str(each.title), rows, source, options, notes)
    raise source.error("the Excel file holds no rows", 0)


def _book(data: bytes, values: bool) -> Any:
    return _openpyxl().load_workbook(
        io.BytesIO(data), read_only=True, data_only=values, keep_links=False
    )


def _looked_through(source: Source, data: bytes, max_bytes: int | None) -> bool:
    """Refuse what would fill memory, or defines entities; return whether there are formulas."""
    limit = max_bytes or max(SMALL_ENOUGH, LARGEST_EXPANSION * len(data))
    has_formulas = False
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(each.file_size for each in archive.infolist())
        if size > limit:
            raise source.error(
                f"the Excel file holds {size:,} bytes, more than the {limit:,} allowed; allow "
                "more with max_bytes (--max-bytes)",
                0,
            )
        for each in archive.infolist():
            if each.filename.endswith((".xml", ".rels")):
                contents = archive.read(each)
                if _MARKUP.search(contents):
                    raise source.error("the Excel file defines XML entities, and is refused", 0)
                is_sheet = each.filename.startswith("xl/worksheets/")
                has_formulas = has_formulas or (is_sheet and bool(_FORMULA.search(contents)))
    return has_formulas


def _rows(sheet: Any, source: Source) -> Iterator[Row]:
    """Yield the rows that hold something."""
    sheet.reset_dimensions()  # what the file says of them may be wrong
    for number, cells in enumerate(sheet.iter_rows(values_only=True), 1):
        filled = any(cell is not None and cell != "" for cell in cells)
        if filled:
            yield number, list(cells)
        if number > _MOST_ROWS or len(cells) > _MOST_COLUMNS:
            raise DataError("an Excel sheet cannot be so large", source.name, number, 1)


def _chained(first: list[Row], rows: Iterator[Row]) -> Iterator[Row]:
    yield from first
    yield from rows


def _with_formulas(data: bytes, title: str, source: Source) -> Iterator[Row]:
    """Yield the rows; refuse a formula whose value was never saved."""
    values, written = _book(data, values=True)[title], _book(data, values=False)[title]
    values.reset_dimensions()
    written.reset_dimensions()
    formulas = iter(written.iter_rows(values_only=True))
    line = 0
    for number, cells in _rows(values, source):
        while line < number:
            line, raw = line + 1, next(formulas, ())
        for column, (cell, text) in enumerate(zip(cells, raw, strict=False), 1):
            if cell is None and text is not None and text != "":
                raise _uncomputed(source, number, column)
        yield number, cells
    if line == 0 or any(any(cell is not None for cell in raw) for raw in _few(formulas)):
        raise _uncomputed(source, line + 1, 1)


def _few(rows: Iterator[Any]) -> Iterator[Any]:
    for _, row in zip(range(_SAMPLE_ROWS), rows, strict=False):
        yield row


def _uncomputed(source: Source, line: int, column: int) -> DataError:
    return DataError(
        "the Excel file holds a formula here whose value was never saved; open it in a "
        "spreadsheet and save it again",
        source.name,
        line,
        column,
    )


# ---- names of columns


def _headed(
    title: str, rows: Iterator[Row], source: Source, options: ReadOptions, notes: list[str]
) -> Sheet:
    """Settle the names on the first rows; the rule is that of a CSV."""
    sample = [row for _, row in zip(range(_SAMPLE_ROWS), rows, strict=False)]
    above = 0
    widths = [sum(cell not in (None, "") for cell in cells) for _, cells in sample]
    while above + 1 < len(sample) and widths[above] == 1 and max(widths[above:]) > 1:
        above += 1
    if above:
        lines = "a line" if above == 1 else f"{above} lines"
        notes.append(f"{lines} of one cell above the table left out")
        sample = sample[above:]
    held = [[_text(cell) for cell in cells] for _, cells in sample]
    width = max((len(_trimmed(cells)) for cells in held), default=0)
    records = [(cells + [""] * width)[:width] for cells in held]
    header = options.header
    if header is None:
        header = looks_like_header(_filled(records))
    names = names_of(source, [name.strip() for name in records[0]], header, sample[0][0])
    return Sheet(title, names, _chained(sample[1:] if header else sample, rows), notes)


def _filled(records: list[list[str]]) -> list[list[str]]:
    """Return the records without columns that have no name."""
    kept = [at for at, name in enumerate(records[0]) if name.strip()]
    return [[record[at] for at in kept] for record in records] if kept else records


def _trimmed(cells: list[str]) -> list[str]:
    while cells and not cells[-1]:
        cells = cells[:-1]
    return cells


def _text(cell: Any) -> str:
    return spelled(_value(cell))


def _value(cell: Any) -> Any:
    """Return a cell as a number, a truth value or a text; None where there is none."""
    if cell is None or isinstance(cell, bool | int | float):
        return cell
    if isinstance(cell, str):
        return None if cell in _ERRORS else cell
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        cell = cell.date()
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    return str(cell)


# ---- rows


def excel_blocks(source: Source, options: ReadOptions, size: int) -> Iterator[tuple[Records, Any]]:
    """Yield so many rows at a time, with the notes of the sheet."""
    with opened_sheet(source, options) as sheet:
        held = Records(source.name, sheet.names)
        for line, cells in sheet.rows:
            values = [_value(cell) for cell in cells]
            if len(values) > len(sheet.names):
                _refuse_beyond(source, values, sheet.names, line)
            held.add(dict(zip(sheet.names, values, strict=False)), line)
            if len(held) == size:
                yield held, sheet.notes
                held = Records(source.name, sheet.names)
        if len(held):
            yield held, sheet.notes


def _refuse_beyond(source: Source, values: list[Any], names: list[str], line: int) -> None:
    for column, value in enumerate(values[len(names) :], len(names) + 1):
        if value not in (None, ""):
            raise DataError(
                f"the row of the Excel sheet has a value beyond the {len(names)} columns that "
                "have names",
                source.name,
                line,
                column,
            )


def read_excel(source: Source, options: ReadOptions, encoding: Any) -> dict[str, Any]:
    """Read a whole sheet."""
    for records, notes in excel_blocks(source, options, _MOST_ROWS + 1):
        _drop_empty(records)
        fields = read_records(records, source, options, encoding)
        return fields | {"notes": [*notes, *fields["notes"]]}
    raise source.error("the Excel sheet has names, but no rows", 0)


def _drop_empty(records: Records) -> None:
    """Leave out columns without a name and without a value: gaps beside a table."""
    for number, (name, values) in enumerate(list(records.values.items()), 1):
        if name == f"column{number}" and all(value in (None, "") for value in values):
            del records.values[name]


def as_json_lines(source: Source, options: ReadOptions) -> bytes:
    """Return the rows as lines of JSON, each on the line that its row has in the sheet."""
    import json

    written, at = list[str](), 1
    for records, _ in excel_blocks(source, options, _MOST_ROWS + 1):
        names = list(records.values)
        columns = [
            values + [None] * (len(records) - len(values)) for values in records.values.values()
        ]
        for line, values in zip(records.lines, zip(*columns, strict=True), strict=True):
            written += ["\n"] * (line - at)
            written.append(json.dumps(dict(zip(names, values, strict=True))) + "\n")
            at = line + 1
    return "".join(written).encode()
