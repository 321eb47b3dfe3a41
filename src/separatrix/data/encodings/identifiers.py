"""Columns that number or name the rows: they separate the training rows and tell of no others.

They are not left out unasked: a note says so.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from separatrix.data.encodings.columns import Column, Texts

__all__ = ["say_names", "say_numbering"]

_FEWEST_ROWS = 10  # in fewer, values differ by chance
_NEARLY_ALL = 0.95
_WORDS_OF_A_NAME = 3
_SAMPLE = 200
_USUAL = re.compile(r"(.*[_. ])?(id|uuid|guid|index|rowid|row)|unnamed: ?0|__index_level_0__", re.I)


def say_names(column: Column, texts: Texts, notes: list[str]) -> None:
    """Add a note where texts, short ones, differ in nearly every row."""
    values, n_rows = texts.values, len(texts.codes)
    if n_rows < _FEWEST_ROWS or 2 * len(values) < n_rows:
        return
    held = int((texts.codes >= 0).sum())
    words = sum(len(value.split()) for value in values[:_SAMPLE])
    if len(values) < _NEARLY_ALL * held or words > _WORDS_OF_A_NAME * min(len(values), _SAMPLE):
        return
    nearly = "" if len(values) == held else "nearly "
    _say(column, f"a different value in {nearly}every row", notes)


def say_numbering(column: Column, values: NDArray[np.float64], notes: list[str]) -> None:
    """Add a note where a first column counts the rows, or numbers called id differ in each."""
    usual = _USUAL.fullmatch(column.name) is not None
    counting = column.number == 1 and values[0] in (0, 1)
    if len(values) < _FEWEST_ROWS or not (usual or counting):
        return
    if (values == np.arange(len(values)) + values[0]).all():
        _say(column, "counts the rows", notes)
    elif usual and (values == np.rint(values)).all() and len(np.unique(values)) == len(values):
        _say(column, "a different value in every row", notes)


def _say(column: Column, what: str, notes: list[str]) -> None:
    notes.append(
        f"{column.name}: {what}, looks like an identifier; leave it out with "
        f"drop=[{column.name!r}] (--drop {column.name!r})"
    )
