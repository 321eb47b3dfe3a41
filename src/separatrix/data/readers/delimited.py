"""CSV and TSV: bytes to named columns of cells, with separator, header and faults found.

Arrow splits the cells; what is a header and what is broken is decided here, with its line.

Delimited numbers straight to float64: files without quotes need no splitting into cells first.

Each chunk of lines is read by a compiled loop into its rows of the final array; NaN is an empty
cell. Columns in which some cell is neither number nor empty are marked, to be read as cells.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix._compiled import compiled, for_work
from separatrix.data.arrow import opened
from separatrix.data.encodings.columns import CellColumn
from separatrix.data.encodings.numbers import (
    EXACT,
    NOT_A_NUMBER,
    PARKED,
    UNFINISHED,
    Octets,
    scan_number,
    settled,
    to_float,
)
from separatrix.data.readers.delimited_head import (
    SAMPLE_BYTES,
    Sample,
    end_of_comments,
    find_record,
    find_separator,
    looks_like_header,
    names_of,
    orange_target,
    uses_decimal_commas,
)
from separatrix.data.sources.progress import close_gaps, in_chunks, line_chunks
from separatrix.data.sources.streams import Source
from separatrix.errors import DataError

_BLOCK = 8 << 20
_MOST_TEXT_COLUMNS = 5000  # each is one-hot encoded; more would take minutes and gigabytes


@dataclass(frozen=True)
class Delimited:
    """A delimited file whose records all have the same number of fields.

    ``before`` is the byte where records start; what is above are comments.
    """

    source: Source
    separator: str
    columns: list[CellColumn]
    header: bool
    first_record: int
    target: str | None = None
    before: int = 0

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]

    def place(self, row: int) -> tuple[int, int]:
        """Return the line of a data row and the byte where it starts."""
        record, below = self.first_record + row, self.source.octets[self.before :]
        start = self.before + find_record(below, self.separator, target=record)[1]
        return self.source.data.count(b"\n", 0, start) + 1, start

    @property
    def notes(self) -> list[str]:
        """What had to be said."""
        lines = sum(1 for line in self.source.data[: self.before].split(b"\n") if line.strip())
        said = f"{lines} lines of comment" if lines > 1 else "a line of comment"
        return [f"{said} (#) above the table left out"] if lines else []

    def error(self, message: str, row: int, column: int) -> DataError:
        """Return an error that points at a cell, the column counted from 1."""
        line, _ = self.place(row)
        return DataError(message, file=self.source.name, line=line, column=column)


def as_utf8(source: Source, encoding: str | None) -> Source:
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
    if b"\0" in data[:SAMPLE_BYTES]:
        at = data.index(b"\0")
        raise source.error("there is a zero byte: this is not a text file", at)
    return replace(source, data=data)


class _Cells:
    """The cells of a file as columns of strings, split by Arrow only when some are needed."""

    def __init__(self, source: Source, separator: str, start: int, needed: list[bool]) -> None:
        self._source, self._separator, self._start = source, separator, start
        self._needed, self._columns, self._split_before = needed, dict[int, Any](), False

    def column(self, place: int) -> Any:
        """Hand over a column; the first call brings in all that are known to be needed."""
        if place not in self._columns:
            known = [at for at, needed in enumerate(self._needed) if needed]
            places = [place] if self._split_before else sorted({place, *known})
            self._split_before = True
            grid = self._split(places)
            self._columns.update(zip(places, grid.columns, strict=True))
        return self._columns.pop(place)

    def _split(self, places: list[int]) -> Any:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        source = self._source
        names = [str(place) for place in range(len(self._needed))]
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
            data = opened(memoryview(source.data)[self._start :])
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


def _columns(
    found: Delimited, names: list[str], start: int, decimal: str | None
) -> list[CellColumn]:
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
    plain: Any = np.zeros(width, dtype=bool)
    if values is not None:
        plain = np.isfinite(values).all(axis=0) & ~np.array(words)
    columns = []
    for place, name in enumerate(names):
        numbers = None if values is None or words[place] else values[:, place]
        what = name, place + 1, partial(cells.column, place), found.error, numbers, decimal
        columns.append(CellColumn(*what, is_plain=bool(plain[place])))
    return columns


def parse_delimited(
    source: Source,
    separator: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    before: int | None = None,
) -> Delimited:
    r"""Split a CSV or TSV file into columns.

    ``before``: the byte where records start, where it is known; comments are looked for otherwise.

    >>> parse_delimited(Source("x.csv", b"age;job\n39;clerk\n50;none\n")).names
    ['age', 'job']
    """
    source = as_utf8(source, encoding)
    if before is None:
        before = end_of_comments(source, separator)
    separator = separator or find_separator(source, before)
    records = Sample(source, separator, before).records
    if not records:
        raise source.error("the file is empty", 0)
    orange, target = orange_target(records)
    if header is None:
        header = orange or looks_like_header(records, separator)
    line = source.data.count(b"\n", 0, before) + 1
    names = names_of(source, records[0], header, line)
    first_record = (3 if orange else 1) if header else 0
    found = Delimited(source, separator, [], header, first_record, target, before)
    _, start = found.place(0)
    if start >= len(source.data):
        raise source.error("there is a header, but no rows", 0)
    if decimal is None and separator == ",":
        decimal = "."
    elif decimal is None and uses_decimal_commas(records[first_record:]):
        decimal = ","
    found.columns.extend(_columns(found, names, start, decimal))
    return found


# ---- delimited numbers straight to float64: files without quotes are not split into cells first


CHUNK = 2 << 20
_DONE, _RAGGED = 0, 1


@compiled
def _parse_rows(
    text: Octets,
    begin: int,
    end: int,
    separator: int,
    values: NDArray[np.float64],
    bits: NDArray[np.int64],
    words: NDArray[np.bool_],
) -> tuple[int, int, int]:
    """Read lines; return rows, status and the place of the fault.

    Digits are read in place, here and in `libsvm`: a call, even inlined, takes half the time
    of the number itself.
    """
    width = values.shape[1]
    blank = 32 if separator == 9 else 9  # a tab is a blank unless it separates
    at = begin
    row = 0
    while True:
        while at < end and (text[at] == 10 or text[at] == 13):
            at += 1
        if at >= end:
            return row, _DONE, at
        line = at
        field = 0
        while True:
            if field == width:
                return row, _RAGGED, line
            while at < end and (text[at] == 32 or text[at] == blank):
                at += 1
            start = at
            negative = at < end and text[at] == 45
            if negative:
                at += 1
            first = at
            mantissa = 0
            while at < end and 48 <= text[at] <= 57:
                mantissa = mantissa * 10 + int(text[at]) - 48
                at += 1
            digits = at - first
            power = 0
            if at < end and text[at] == 46:
                at += 1
                power = at
                while at < end and 48 <= text[at] <= 57:
                    mantissa = mantissa * 10 + int(text[at]) - 48
                    at += 1
                power -= at
                digits -= power
            few = digits <= 18 or (digits == 19 and text[first] == 48)
            ends = at == end or text[at] == separator or text[at] == 10 or text[at] == 13
            status = EXACT
            if digits > 0 and few and ends:
                value = to_float(mantissa, power)
                value = -value if negative else value
            else:
                value, at, status = scan_number(text, start, end)
                if status == NOT_A_NUMBER:
                    at = start
            after = at
            while at < end and (text[at] == 32 or text[at] == blank):
                at += 1
            if at < end and text[at] != separator and text[at] != 10 and text[at] != 13:
                words[field] = True
                while at < end and text[at] != separator and text[at] != 10 and text[at] != 13:
                    at += 1
                values[row, field] = np.nan
            elif after == start:
                values[row, field] = np.nan
            else:
                values[row, field] = value
                if status == UNFINISHED:
                    bits[row, field] = PARKED + 1 + start
            field += 1
            if at >= end or text[at] != separator:
                break
            at += 1
        if field != width:
            return row, _RAGGED, line
        row += 1


def _most_rows(source: Source, begin: int, end: int) -> int:
    """Return how many lines there are at the most: as many as line ends, and an open one."""
    text = source.octets[begin:end]
    ends = np.count_nonzero(text == 10)
    if source.data.find(b"\r", begin, end) >= 0:
        ends += np.count_nonzero(text == 13)
    return int(ends + (text[-1] != 10))


def read_grid(
    source: Source, separator: str, width: int, start: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_], int]:
    r"""Read every cell from byte ``start`` on as a number.

    Returns the values, which columns hold words, and the place of the first line that has not
    ``width`` fields (-1 if none).

    >>> values, words, _ = read_grid(Source("x", b"1,a\n,2.5\n"), ",", 2, 0)
    >>> values.tolist(), words.tolist()
    ([[1.0, nan], [nan, 2.5]], [False, True])
    """
    text, chunks = source.octets, line_chunks(source.data, start, CHUNK)
    parse_rows = for_work(_parse_rows, len(text))

    counts = in_chunks(lambda number: _most_rows(source, *chunks[number]), chunks)
    starts = [0, *np.cumsum(counts).tolist()]
    values = np.empty((starts[-1], width))
    bits = values.view(np.int64)
    words = np.zeros((len(chunks), width), dtype=bool)

    def parse(number: int) -> tuple[int, int, int]:
        part, (begin, end) = slice(starts[number], starts[number + 1]), chunks[number]
        into = values[part], bits[part], words[number]
        return parse_rows(text, begin, end, ord(separator), *into)

    results = in_chunks(parse, chunks, source.name)
    fault = next((place for _, status, place in results if status != _DONE), -1)
    values = close_gaps(values, starts[:-1], [rows for rows, _, _ in results])
    if fault < 0 and width:
        bits = values.view(np.int64)
        for slot in zip(*np.nonzero(np.isnan(values) & (bits > PARKED)), strict=True):
            values[slot] = settled(source.data, int(bits[slot]) - PARKED - 1)
    return values, np.logical_or.reduce(words, axis=0), fault
