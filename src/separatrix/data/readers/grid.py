"""Delimited numbers straight to float64: files without quotes need no splitting into cells first.

Each chunk of lines is read by a compiled loop into its rows of the final array; NaN is an empty
cell. Columns in which some cell is neither number nor empty are marked, to be read as cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from separatrix._compiled import compiled, for_work
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
from separatrix.data.sources.progress import close_gaps, in_chunks, line_chunks
from separatrix.data.sources.streams import Source

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

    Digits are read in place, here and in `libsvm_rows`: a call, even inlined, takes half the time
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
