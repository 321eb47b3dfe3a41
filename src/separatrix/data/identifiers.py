"""Columns that number or name the rows: they separate the training rows and tell of no others.

They are not left out unasked: a note says so.
"""

from __future__ import annotations

import re

import numpy as np

from separatrix.data.columns import Column

__all__ = ["say_identifiers"]

_FEWEST_ROWS = 10  # in fewer, values differ by chance
_NEARLY_ALL = 0.95
_WORDS_OF_A_NAME = 3
_SAMPLE = 200
_USUAL = re.compile(r"(.*[_. ])?(id|uuid|guid|index|rowid|row)|unnamed: ?0|__index_level_0__", re.I)


def say_identifiers(columns: list[Column], missing: frozenset[str], notes: list[str]) -> None:
    """Add a note for each column of features that looks like an identifier."""
    for column in columns:
        if len(column) >= _FEWEST_ROWS and (found := _as_identifier(column, missing)):
            notes.append(
                f"{column.name}: {found}, looks like an identifier; leave it out with "
                f"drop=[{column.name!r}] (--drop {column.name!r})"
            )


def _as_identifier(column: Column, missing: frozenset[str]) -> str:
    """Return what makes a column look like an identifier; nothing if it does not."""
    usual = _USUAL.fullmatch(column.name) is not None
    if column.share_of_numbers(missing) == 1:
        return _numbering(column, missing, usual) if usual or column.number == 1 else ""
    texts = column.texts(missing)
    held, values = int((texts.codes >= 0).sum()), texts.values
    words = sum(len(value.split()) for value in values[:_SAMPLE])
    if held < _FEWEST_ROWS or words > _WORDS_OF_A_NAME * min(len(values), _SAMPLE):
        return ""
    if len(values) == held:
        return "a different value in every row"
    return "a different value in nearly every row" if len(values) >= _NEARLY_ALL * held else ""


def _numbering(column: Column, missing: frozenset[str], usual: bool) -> str:
    values = column.numbers(missing)
    if values is None or not (usual or values[0] in (0, 1)):
        return ""
    if (values == np.arange(len(values)) + values[0]).all():
        return "counts the rows"
    whole = (values == np.rint(values)).all()
    every = usual and whole and len(np.unique(values)) == len(values)
    return "a different value in every row" if every else ""
