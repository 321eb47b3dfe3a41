"""Cells of a delimited file: which are numbers, and which are written with a decimal comma.

``0,125`` is 0.125 in tables whose fields are not separated by commas. ``1,234`` may also be one
thousand and more. It is read with a decimal comma where the table has others that can be nothing
else, such as ``0,5`` and ``12,75``, or where ``decimal`` is ",".
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from separatrix._compiled import compiled, for_work
from separatrix.data.arrow import to_numpy
from separatrix.data.encodings.numbers import EXACT, NOT_A_NUMBER, UNFINISHED, Octets, scan_number

NUMBER, WORD, EMPTY = EXACT, NOT_A_NUMBER, 3


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


# ---- decimal commas

_EXPONENT = r"([eE][-+]?[0-9]+)"
_COMMA = rf"[-+]?[0-9]+,[0-9]+{_EXPONENT}?"
_SURE = (
    rf"[-+]?(0[0-9]*,[0-9]+{_EXPONENT}?|[0-9]+,([0-9]{{1,2}}|[0-9]{{4,}}){_EXPONENT}?"
    rf"|[0-9]{{4,}},[0-9]+{_EXPONENT}?|[0-9]+,[0-9]+{_EXPONENT})"
)
_POINT = r"[-+]?[0-9]*\.[0-9].*"

_is_comma, _is_sure = re.compile(_COMMA), re.compile(_SURE)


def is_comma_number(text: str) -> bool:
    """Whether a cell is written as a number with a decimal comma, or perhaps one of thousands."""
    return "," in text and _is_comma.fullmatch(text) is not None


def is_surely_comma_number(text: str) -> bool:
    """Whether the comma can stand for nothing but a decimal point.

    >>> is_surely_comma_number("0,125"), is_surely_comma_number("1,5")
    (True, True)
    >>> is_surely_comma_number("1,234")
    False
    """
    return "," in text and _is_sure.fullmatch(text) is not None


def has_decimal_commas(cells: Any, declared: bool) -> bool:
    """Whether commas in distinct cells, an Arrow array, are decimal ones; points speak against."""
    octets = cells.buffers()[2]
    if octets is None or re.search(b",", octets) is None:
        return False
    from pyarrow import compute

    def some(pattern: str) -> bool:
        whole = rf"^[ \t]*({pattern})[ \t]*$"
        return bool(compute.any(compute.match_substring_regex(cells, whole)).as_py())

    return some(_COMMA if declared else _SURE) and not some(_POINT)


def with_points(cells: Any) -> Any:
    """Return cells with a point for the decimal comma.

    >>> import pyarrow as pa
    >>> with_points(pa.array(["1,5", "-0,25", "a,b", "1,2,3"])).to_pylist()
    ['1.5', '-0.25', 'a,b', '1,2,3']
    """
    from pyarrow import compute

    pattern = rf"^([ \t]*[-+]?[0-9]+),([0-9]+{_EXPONENT}?[ \t]*)$"
    return compute.replace_substring_regex(cells, pattern, r"\1.\2")
