"""Texts for a CSV that a spreadsheet will open: none of them may be run as a formula."""

from __future__ import annotations

__all__ = ["defused"]

_STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def defused(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would take for a formula; numbers stay.

    >>> [defused(text) for text in ("age", "=1+1", "-0.5", "@SUM(A1)", "+1")]
    ['age', "'=1+1", '-0.5', "'@SUM(A1)", '+1']
    """
    if not text.lstrip(" ").startswith(_STARTS_A_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return "'" + text
    return text
