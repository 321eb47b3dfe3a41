"""Numbers as spreadsheets write them: ``$4.50``, ``12.3%``, ``1,234.50``.

All cells of a column carry the same sign: that of a currency, or per cent. A comma is taken to
divide thousands where some cell leaves no doubt, by a second comma or a decimal point: ``1,234``
alone may be 1.234.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from separatrix.data.encodings.columns import Texts

THOUSANDS = ","
_CURRENCIES = "$€£¥"
_NUMBER = re.compile(
    rf"(?P<minus>[-+]?)(?P<before>[{_CURRENCIES}]?) ?"
    r"(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?P<rest>(?:\.[0-9]+)?)"
    rf" ?(?P<after>[%{_CURRENCIES}]?)"
)
_DOUBTLESS = re.compile(r"[^,]*,[^,]*[,.].*")


def sign_of(values: Iterable[str]) -> str | None:
    """Return what the numbers are written with: a sign, thousands, or both; None if not all are.

    >>> sign_of(["$4.50", "$ 3"]), sign_of(["1,234.5", "7"]), sign_of(["-€1,234.50"])
    ('$', ',', '€,')
    >>> sign_of(["4%", "4"]), sign_of(["1,234", "5,678"]), sign_of(["about $4"])
    (None, None, None)
    """
    signs, grouped, doubtless = set[str](), False, False
    for value in values:
        found = _NUMBER.fullmatch(value)
        if found is None or (found["before"] and found["after"]):
            return None
        signs.add(found["before"] or found["after"])
        if len(signs) > 1:
            return None
        grouped = grouped or THOUSANDS in found["digits"]
        doubtless = doubtless or _DOUBTLESS.fullmatch(value) is not None
    if not signs or (grouped and not doubtless):
        return None
    return (signs.pop() + (THOUSANDS if grouped else "")) or None


def numbers_with(sign: str, texts: Texts) -> NDArray[np.float64] | int:
    """Return the numbers, NaN where missing, or the row of the first that is not written so.

    >>> numbers_with("$,", Texts(np.array([1, 0, -1], dtype=np.int32), ["$1,250", "-$3.5"]))
    array([  -3.5, 1250. ,    nan])
    """
    values = np.full(len(texts.values) + 1, np.nan)
    for at, text in enumerate(texts.values):
        values[at] = _value(sign, text)
    found, is_there = values[texts.codes], texts.codes >= 0
    odd = np.isnan(found) & is_there
    return int(np.argmax(odd)) if odd.any() else found


def _value(sign: str, text: str) -> float:
    """Return the number, NaN if the text is none with this sign, or too large for a float64."""
    found = _NUMBER.fullmatch(text)
    if found is None or found["before"] + found["after"] != sign.removesuffix(THOUSANDS):
        return math.nan
    if THOUSANDS in found["digits"] and THOUSANDS not in sign:
        return math.nan
    value = float(found["minus"] + found["digits"].replace(THOUSANDS, "") + found["rest"])
    return value if math.isfinite(value) else math.nan
