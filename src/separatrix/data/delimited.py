"""CSV and TSV: bytes to named columns of cells, with separator, header and faults found.

Arrow splits the cells; what is a header and what is broken is decided here, with its line.
"""

from __future__ import annotations

import codecs
import csv
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from separatrix.data.cells import find_record
from separatrix.data.columns import CellColumn, is_number
from separatrix.data.grid import read_grid
from separatrix.data.streams import Source
from separatrix.errors import DataError

__all__ = ["Delimited", "is_orange_kinds", "parse_delimited"]

_SEPARATORS = ",\t;|"
_SAMPLE_RECORDS = 200
_SAMPLE_BYTES = 1 << 18
_BLOCK = 8 << 20
_MOST_TEXT_COLUMNS = 5000  # each is one-hot encoded; more would take minutes and gigabytes
_ORANGE_KINDS = {"d", "c", "s", "string", "discrete", "continuous", "basket", "time", "meta", ""}
_ORANGE_ROLES = {"class", "meta", "ignore", "i", "m", "c", ""}


@dataclass(frozen=True)
class Delimited:
    """A delimited file whose records all have the same number of fields."""

    source: Source
    separator: str
    columns: list[CellColumn]
    header: bool
    first_record: int
    target: str | None = None

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def place(self, row: int) -> tuple[int, int]:
        """Return the line of a data row and the byte where it starts."""
        record = self.first_record + row
        _, start, _, _ = find_record(self.source.octets, self.separator, wanted=record)
        return self.source.data.count(b"\n", 0, start) + 1, start

    def error(self, message: str, row: int, column: int) -> DataError:
        """Return an error that points at a cell, the column counted from 1."""
        line, _ = self.place(row)
        return DataError(message, file=self.source.name, line=line, column=column)


class _Sample:
    """The first records of a file, split in a given way."""

    def __init__(self, source: Source, separator: str) -> None:
        self._source, self._separator = source, separator

    @cached_property
    def records(self) -> list[list[str]]:
        part = self._source.octets[:_SAMPLE_BYTES]
        cut_short = len(part) < len(self._source.data)
        found: list[list[str]] = []
        start = 0
        while len(found) < _SAMPLE_RECORDS:
            number, begin, end, _ = find_record(part[start:], self._separator, wanted=0)
            if number < 0 or (cut_short and found and start + end == len(part)):
                break
            text = bytes(part[start + begin : start + end]).decode("utf-8", "replace")
            found.append(_split(text, self._separator))
            start += end
        return found


def _split(record: str, separator: str) -> list[str]:
    """Split one record into its fields, without their quotes."""
    if '"' not in record:
        return [field.strip(" \t") for field in record.split(separator)]
    try:
        fields = next(csv.reader([record], delimiter=separator), [])
    except csv.Error:
        fields = record.split(separator)
    return [field.strip(" \t") for field in fields]


def _utf8(source: Source, encoding: str | None) -> Source:
    """Return the contents as UTF-8 without a byte-order mark."""
    data = source.data
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = encoding or "utf-16"
    if encoding is not None:
        try:
            data = data.decode(encoding).encode()
        except LookupError:
            raise DataError(f"there is no encoding {encoding!r}; try 'latin-1'") from None
        except UnicodeError as error:
            raise source.error(f"the file is not {encoding} text ({error})", 0) from None
    elif not data.isascii():
        try:
            data.decode()
        except UnicodeDecodeError as error:
            raise source.error(
                f"byte 0x{data[error.start]:02x} is not UTF-8 text; if the file is in another "
                "encoding, say so: encoding='latin-1' (--encoding latin-1)",
                error.start,
            ) from None
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in data[:_SAMPLE_BYTES]:
        at = data.index(b"\0")
        raise source.error("there is a zero byte: this is not a text file", at)
    return replace(source, data=data)


def _find_separator(source: Source) -> str:
    """Choose the separator that cuts the first records into the same number of fields, the most."""
    best, best_score = ",", (0.0, 0)
    for separator in "\t,;|" if source.suffix in (".tsv", ".tab") else _SEPARATORS:
        counts = [len(record) for record in _Sample(source, separator).records[:50]]
        if not counts:
            break
        width, times = Counter(counts).most_common(1)[0]
        score = (round(times / len(counts), 1), width)
        if width > 1 and score > best_score:
            best, best_score = separator, score
    return best


def _looks_like_header(records: list[list[str]]) -> bool:
    """Decide whether the first record names the columns."""
    first, rest = records[0], records[1:]
    if not rest:
        return not any(is_number(name) for name in first)
    numbered = [name for name in first if is_number(name)]
    if numbered:
        # A frame without names is written with 0, 1, 2... as its header.
        counting = [str(number) for number in range(len(first) + 1)]
        return numbered in (counting[: len(numbered)], counting[1 : len(numbered) + 1]) and (
            len(numbered) >= max(3, len(first) - 1)
        )
    if any(name == "?" for name in first):
        return False
    columns = [[record[at] for record in rest if at < len(record)] for at in range(len(first))]
    recurring = sum(name in cells for name, cells in zip(first, columns, strict=True))
    return recurring * 2 <= len(first) and (recurring == 0 or len(set(first)) == len(first))


def is_orange_kinds(fields: list[str]) -> bool:
    """Whether a line is the second of the three with which Orange starts its tables."""
    return any(fields) and all(field.strip().lower() in _ORANGE_KINDS for field in fields)


def _orange_target(records: list[list[str]]) -> tuple[bool, str | None]:
    """Recognise Orange's three header lines; return whether they are there, and the class."""
    if len(records) < 3:
        return False, None
    kinds, roles = records[1], records[2]
    if not is_orange_kinds(kinds):
        return False, None
    if not all(role.split("=")[0] in _ORANGE_ROLES for role in roles):
        return False, None
    named = [name for name, role in zip(records[0], roles, strict=False) if role in ("class", "c")]
    return True, named[0] if named else None


def _names(source: Source, first: list[str], header: bool) -> list[str]:
    if not header:
        return [f"column{number}" for number in range(1, len(first) + 1)]
    names = [name or f"column{number}" for number, name in enumerate(first, 1)]
    seen: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if name in seen:
            raise DataError(
                f"columns {seen[name]} and {number} are both called {name!r}; rename one, "
                "or say that there is no header (--no-header)",
                file=source.name,
                line=1,
                column=number,
            )
        seen[name] = number
    return names


class _Cells:
    """The cells of a file as columns of strings, split by Arrow only when some are asked for."""

    def __init__(self, source: Source, separator: str, start: int, wanted: list[bool]) -> None:
        self._source, self._separator, self._start = source, separator, start
        self._wanted, self._columns, self._split_before = wanted, dict[int, Any](), False

    def column(self, place: int) -> Any:
        """Hand over a column; the first call brings in all that are known to be needed."""
        if place not in self._columns:
            known = [at for at, needed in enumerate(self._wanted) if needed]
            places = [place] if self._split_before else sorted({place, *known})
            self._split_before = True
            grid = self._split(places)
            self._columns.update(zip(places, grid.columns, strict=True))
        return self._columns.pop(place)

    def _split(self, places: list[int]) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        source = self._source
        names = [str(place) for place in range(len(self._wanted))]
        parse = arrow_csv.ParseOptions(
            delimiter=self._separator, newlines_in_values=b'"' in source.data
        )
        convert = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.dictionary(pa.int32(), pa.string())),
            check_utf8=False,
            strings_can_be_null=False,
            include_columns=[names[place] for place in places],
        )
        for block in (_BLOCK, 2**31 - 2):
            read = arrow_csv.ReadOptions(column_names=names, block_size=block)
            data = pa.BufferReader(pa.py_buffer(source.data).slice(self._start))
            try:
                return arrow_csv.read_csv(data, read, parse, convert)
            except pa.ArrowInvalid as error:
                _refuse_ragged(source, self._separator, len(names), self._start)
                if "straddl" not in str(error):
                    raise source.error(
                        f"the table cannot be split into cells: {error}", 0
                    ) from None
        raise source.error("a line is too long to be a row of a table", 0)


def _refuse_ragged(source: Source, separator: str, width: int, start: int) -> None:
    number, begin, _, fields = find_record(source.octets[start:], separator, n_fields=width)
    if number >= 0:
        raise source.error(
            f"the line has {fields} fields, but the first has {width}; "
            "add or remove separators, or quote the field that holds one",
            start + begin,
        ) from None


def _columns(found: Delimited, names: list[str], start: int) -> list[CellColumn]:
    """Read numbers in one pass where no cell is quoted; leave the rest to be split into cells."""
    source, separator, width = found.source, found.separator, len(names)
    values = None
    words = [True] * width
    if source.data.find(b'"', start) < 0:
        values, marked, fault = read_grid(source, separator, width, start)
        if fault >= 0:
            _refuse_ragged(source, separator, width, start)
        words = marked.tolist()
    if sum(words) > _MOST_TEXT_COLUMNS:
        raise source.error(
            f"there are {sum(words):,} columns of text or quoted cells, more than the "
            f"{_MOST_TEXT_COLUMNS:,} a table may have; is {separator!r} the separator?",
            start,
        )
    cells = _Cells(source, separator, start, words)
    columns = []
    for place, name in enumerate(names):
        numbers = None if values is None or words[place] else values[:, place]
        load = partial(cells.column, place)
        columns.append(CellColumn(name, place + 1, load, found.error, numbers))
    return columns


def parse_delimited(
    source: Source,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
) -> Delimited:
    r"""Split a CSV or TSV file into columns.

    >>> parse_delimited(Source("x.csv", b"age;job\n39;clerk\n50;none\n", "", "", "")).names
    ['age', 'job']
    """
    source = _utf8(source, encoding)
    separator = separator or _find_separator(source)
    records = _Sample(source, separator).records
    if not records:
        raise source.error("the file is empty", 0)
    orange, target = _orange_target(records)
    if header is None:
        header = orange or _looks_like_header(records)
    names = _names(source, records[0], header)
    first_record = (3 if orange else 1) if header else 0
    _, start, _, _ = find_record(source.octets, separator, wanted=first_record)
    if start >= len(source.data):
        raise source.error("there is a header, but no rows", 0)
    found = Delimited(source, separator, [], header, first_record, target)
    found.columns.extend(_columns(found, names, start))
    return found
