"""The LIBSVM line, as compiled loops: ``label [qid:number] index:value ... [# comment]``.

The text is cut into chunks at line ends. A first pass counts what a chunk can hold at most, so that
all chunks write into the final arrays; the second pass reads. Chunks run side by side in threads.

A value that only ``float()`` can settle is parked (`numbers.PARKED`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from separatrix._compiled import compiled
from separatrix.data.encodings.numbers import (
    EXACT,
    NOT_A_NUMBER,
    PARKED,
    UNFINISHED,
    Octets,
    scan_number,
    to_float,
)

DONE, NO_LABEL, BAD_INDEX, INDEX_TOO_LARGE, BAD_VALUE, NOT_FINITE, BAD_QUERY = range(7)
REPEATED_INDEX, NOT_ASCENDING = 7, 8
LARGEST_INDEX = 2**31 - 2
SOME_PARKED = 1  # an oddity of a chunk that the caller must see to

_NEWLINE, _TAB, _RETURN, _BLANK, _HASH, _COLON = 10, 9, 13, 32, 35, 58


class Rows(NamedTuple):
    """Where a chunk writes: one entry per line, then one per pair ``index:value``."""

    labels: NDArray[np.float64]  # NaN where the label is no plain number
    label_starts: NDArray[np.int64]
    label_ends: NDArray[np.int64]
    queries: NDArray[np.int64]  # -1 where none is given
    counts: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float64]
    bits: NDArray[np.int64]  # the same memory as values


def count_at_most(text: Octets, begin: int, end: int) -> tuple[int, int]:
    """Count lines and colons: no chunk has more rows or pairs."""
    part = text[begin:end]
    return int(np.count_nonzero(part == _NEWLINE)) + 1, int(np.count_nonzero(part == _COLON))


@compiled
def _is_blank(octet: np.uint8) -> bool:
    return octet in (_BLANK, _TAB, _RETURN)


@compiled
def _ends_token(octet: np.uint8) -> bool:
    return octet in (_BLANK, _NEWLINE, _HASH, _TAB, _RETURN)


@compiled
def _skip_to_newline(text: Octets, at: int, end: int) -> int:
    while at < end and text[at] != _NEWLINE:
        at += 1
    return at


@compiled
def _scan_label(text: Octets, at: int, end: int) -> tuple[float, int]:
    """Read the label: return its value, NaN if no plain number, and the place after, -1 if none."""
    value, after, status = scan_number(text, at, end)
    if status == EXACT and (after == end or _ends_token(text[after])):
        return value, after
    while at < end and not _ends_token(text[at]):
        if text[at] == _COLON:
            return np.nan, -1
        at += 1
    return np.nan, at


@compiled
def _scan_query(text: Octets, at: int, end: int) -> tuple[int, int, int]:
    """Read ``qid:12`` at ``at``; return the number, the place after it, and a status."""
    if end - at < 5 or text[at + 1] != 105 or text[at + 2] != 100 or text[at + 3] != _COLON:
        return -1, at, BAD_INDEX
    after = at + 4
    query = 0
    while after < end and 48 <= text[after] <= 57 and after - at < 23:
        query = query * 10 + int(text[after]) - 48
        after += 1
    if after == at + 4 or after == at + 23 or (after < end and not _ends_token(text[after])):
        return -1, at, BAD_QUERY
    return query, after, DONE


@compiled
def _significant(text: Octets, first: int, after: int) -> int:
    """Count the digits from the first that is not zero."""
    while first < after and (text[first] == 48 or text[first] == 46):
        first += 1
    return after - first


@compiled
def _parse_pairs(
    text: Octets,
    at: int,
    end: int,
    pair: int,
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    bits: NDArray[np.int64],
) -> tuple[int, int, int, int]:
    """Read ``index:value`` to the line's end; return pairs so far, the place, status, oddities.

    Digits are read in place: a call, even inlined, takes half the time of the number itself.
    """
    previous = -1
    oddities = 0
    while True:
        while at < end and _is_blank(text[at]):
            at += 1
        if at >= end or text[at] == _NEWLINE or text[at] == _HASH:
            return pair, at, DONE, oddities

        first = at
        index = 0
        while at < end and 48 <= text[at] <= 57 and index <= LARGEST_INDEX:
            index = index * 10 + int(text[at]) - 48
            at += 1
        if index > LARGEST_INDEX:
            return pair, first, INDEX_TOO_LARGE, oddities
        if at in (first, end) or text[at] != _COLON:
            return pair, first, BAD_INDEX, oddities
        if index == previous:
            return pair, first, REPEATED_INDEX, oddities
        if index < previous:
            return pair, first, NOT_ASCENDING, oddities
        previous = index

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
        if (
            digits > 0
            and (at == end or _ends_token(text[at]))
            and (digits <= 18 or _significant(text, first, at) <= 18)
        ):
            value = to_float(mantissa, power)
            values[pair] = -value if negative else value
        else:
            value, at, status = scan_number(text, start, end)
            if status == NOT_A_NUMBER or (at < end and not _ends_token(text[at])):
                return pair, start, BAD_VALUE, oddities
            if not -np.inf < value < np.inf:
                return pair, start, NOT_FINITE, oddities
            values[pair] = value
            if status == UNFINISHED:
                bits[pair] = PARKED + start
                oddities |= SOME_PARKED
        indices[pair] = index
        pair += 1


@compiled
def parse_rows(text: Octets, begin: int, end: int, rows: Rows) -> tuple[int, int, int, int, int]:
    """Read the lines of a chunk; return rows, pairs, status, place of the fault, oddities."""
    labels, starts, ends, queries = rows.labels, rows.label_starts, rows.label_ends, rows.queries
    counts, indices, values, bits = rows.counts, rows.indices, rows.values, rows.bits
    at = begin
    row = 0
    pair = 0
    oddities = 0
    while True:
        while at < end and (text[at] == _NEWLINE or _is_blank(text[at])):
            at += 1
        if at >= end:
            return row, pair, DONE, at, oddities
        if text[at] == _HASH:
            at = _skip_to_newline(text, at, end)
            continue
        starts[row] = at
        labels[row], at = _scan_label(text, at, end)
        ends[row] = at
        if at < 0:
            return row, pair, NO_LABEL, starts[row], oddities
        while at < end and _is_blank(text[at]):
            at += 1
        queries[row] = -1
        if at < end and text[at] == 113:
            queries[row], at, status = _scan_query(text, at, end)
            if status != DONE:
                return row, pair, status, at, oddities
        first_pair = pair
        pair, at, status, found = _parse_pairs(text, at, end, pair, indices, values, bits)
        if status != DONE:
            return row, pair, status, at, oddities
        if at < end and text[at] == _HASH:
            at = _skip_to_newline(text, at, end)
        oddities |= found
        counts[row] = pair - first_pair
        row += 1
