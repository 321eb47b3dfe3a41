"""Decimal commas: ``0,125`` for 0.125, in tables whose fields are not separated by commas.

``1,234`` may also be one thousand and more. It is read with a decimal comma where the table has
others that can be nothing else, such as ``0,5`` and ``12,75``, or where ``decimal`` is ",".
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["has_decimal_commas", "is_comma_number", "is_surely_comma_number", "with_points"]

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
