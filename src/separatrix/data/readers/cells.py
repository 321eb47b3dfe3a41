"""Cells of a delimited file, as compiled loops: which are numbers, and where a record stands."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix._compiled import compiled, for_work
from separatrix.data.readers.arrow import to_numpy
from separatrix.data.readers.numbers import EXACT, NOT_A_NUMBER, UNFINISHED, Octets, scan_number

__all__ = ["EMPTY", "NUMBER", "WORD", "find_record", "read_cells"]

NUMBER, WORD, EMPTY = EXACT, NOT_A_NUMBER, 3

_QUOTE, _NEWLINE, _RETURN = 34, 10, 13


@compiled
def _scan_cells(
    text: Octets,
    offsets: NDArray[np.int64],
    values: NDArray[np.float64],
    kinds: NDArray[np.uint8],
) -> None:
    for cell in range(values.shape[0]):
        at = offsets[cell]
        end = offsets[cell + 1]
        while at < end and (text[at] == 32 or text[at] == 9):
            at += 1
        while at < end and (text[end - 1] == 32 or text[end - 1] == 9):
            end -= 1
        kind = EMPTY
        value = np.nan
        if at < end:
            value, after, kind = scan_number(text, at, end)
            if after != end or kind == NOT_A_NUMBER:
                value = np.nan
                kind = WORD
        values[cell] = value
        kinds[cell] = kind


def read_cells(cells: Any) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return the value (NaN if no number) and the kind of each cell of an Arrow array of strings.

    >>> import pyarrow as pa
    >>> values, kinds = read_cells(pa.array(["+1", " 2.5 ", "", "?"]))
    >>> values.tolist(), (kinds == NUMBER).tolist()
    ([1.0, 2.5, nan, nan], [True, True, False, False])
    """
    import pyarrow as pa

    values, kinds = np.empty(len(cells)), np.empty(len(cells), dtype=np.uint8)
    _, where, octets = cells.buffers()
    if where is None or octets is None:
        values.fill(np.nan)
        kinds.fill(EMPTY)
        return values, kinds
    kind = np.int64 if pa.types.is_large_string(cells.type) else np.int32
    offsets = np.frombuffer(where, dtype=kind)[cells.offset : cells.offset + len(cells) + 1]
    text = np.frombuffer(octets, dtype=np.uint8)
    text.flags.writeable = False
    for_work(_scan_cells, len(text))(text, offsets.astype(np.int64), values, kinds)
    if cells.null_count:
        absent = to_numpy(cells.is_null())
        values[absent], kinds[absent] = np.nan, EMPTY
    for cell in np.flatnonzero(kinds == UNFINISHED):
        values[cell] = float(text[offsets[cell] : offsets[cell + 1]].tobytes())
        kinds[cell] = NUMBER
    return values, kinds


@compiled
def _find_record(
    text: Octets, delimiter: int, target: int, n_fields: int
) -> tuple[int, int, int, int]:
    at = 0
    end = text.shape[0]
    record = 0
    while at < end:
        if text[at] == _NEWLINE or text[at] == _RETURN:
            at += 1
            continue
        start = at
        fields = 1
        fresh = True  # a quote opens a quoted field only at its start
        quoted = False
        while at < end:
            octet = text[at]
            if quoted:
                if octet == _QUOTE:
                    if at + 1 < end and text[at + 1] == _QUOTE:
                        at += 1
                    else:
                        quoted = False
            elif octet == _QUOTE and fresh:
                quoted = True
            elif octet == delimiter:
                fields += 1
            elif octet in (_NEWLINE, _RETURN):
                break
            fresh = not quoted and octet == delimiter
            at += 1
        if record == target or (n_fields > 0 and fields != n_fields):
            return record, start, at, fields
        record += 1
    return -1, end, end, 0


def find_record(
    text: Octets, delimiter: str, target: int = -1, n_fields: int = 0
) -> tuple[int, int, int, int]:
    """Find the record number ``target``, or the first that has not ``n_fields`` fields.

    Returns its number, the bytes where it starts and ends, and its fields; number -1 if none.

    >>> text = np.frombuffer(b"a,b\\n1,2\\n3\\n", dtype=np.uint8)
    >>> find_record(text, ",", n_fields=2)
    (2, 8, 9, 1)
    """
    found = for_work(_find_record, len(text))(text, ord(delimiter), target, n_fields)
    return int(found[0]), int(found[1]), int(found[2]), int(found[3])
