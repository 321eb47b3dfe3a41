"""Delimited numbers straight to float64: files without quotes need no splitting into cells first.

Each chunk of lines is read by a compiled loop into its rows of the final array; NaN is an empty
cell. Columns in which some cell is neither number nor empty are marked, to be read as cells. A
number that only ``float()`` can settle is parked as a NaN whose low bits say where it stands.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from separatrix._compiled import compiled, for_work
from separatrix.data.readers.numbers import (
    EXACT,
    NOT_A_NUMBER,
    UNFINISHED,
    Octets,
    scan_number,
    to_float,
)
from separatrix.data.sources.progress import Progress
from separatrix.data.sources.streams import Source, line_chunks

__all__ = ["read_grid"]

CHUNK = 2 << 20
_PARKED = 0x7FF8 << 48
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

    Longer than most functions here: digits are read in place in the common case, since a call that
    hands over an array costs as much as the number itself.
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
                    bits[row, field] = _PARKED + 1 + start
            field += 1
            if at >= end or text[at] != separator:
                break
            at += 1
        if field != width:
            return row, _RAGGED, line
        row += 1


def _finish_parked(source: Source, values: NDArray[np.float64]) -> None:
    """Let ``float()`` settle the few numbers that were parked."""
    bits = values.view(np.int64)
    number = re.compile(rb"[-+.0-9eE]*")
    for slot in zip(*np.nonzero(np.isnan(values) & (bits > _PARKED)), strict=True):
        found = number.match(source.data, int(bits[slot]) - _PARKED - 1)
        values[slot] = float(found.group()) if found else np.nan


def read_grid(
    source: Source, separator: str, width: int, start: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_], int]:
    r"""Read every cell from byte ``start`` on as a number.

    Returns the values, which columns hold words, and the place of the first line that has not
    ``width`` fields (-1 if none).

    >>> values, words, _ = read_grid(Source("x", b"1,a\n,2.5\n", "", "", ""), ",", 2, 0)
    >>> values.tolist(), words.tolist()
    ([[1.0, nan], [nan, 2.5]], [False, True])
    """
    text, chunks = source.octets, line_chunks(source.data, start, CHUNK)
    parse_rows = for_work(_parse_rows, len(text))
    with (
        ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool,
        Progress(f"Parsing {source.name}", len(source.data)) as progress,
    ):

        def count(chunk: tuple[int, int]) -> int:
            part = text[chunk[0] : chunk[1]]
            return int(np.count_nonzero(part == 10) + np.count_nonzero(part == 13)) + 1

        most = list(pool.map(count, chunks))
        starts = [0, *np.cumsum(most).tolist()]
        values = np.empty((starts[-1], width))
        bits = values.view(np.int64)
        words = np.zeros((len(chunks), width), dtype=bool)

        def parse(number: int) -> tuple[int, int, int]:
            rows = slice(starts[number], starts[number + 1])
            begin, end = chunks[number]
            result = parse_rows(
                text, begin, end, ord(separator), values[rows], bits[rows], words[number]
            )
            progress.advance(end - begin)
            return result

        results = list(pool.map(parse, range(len(chunks))))
    fault = next((place for _, status, place in results if status != _DONE), -1)
    filled = 0
    for first, (rows, _, _) in zip(starts, results, strict=False):
        if first != filled:
            values[filled : filled + rows] = values[first : first + rows].copy()
        filled += rows
    values = values[:filled]
    if fault < 0 and width:
        _finish_parked(source, values)
    return values, np.logical_or.reduce(words, axis=0), fault
