"""The weights of a linear model by name, as a CSV: one line a feature, one column a score."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from separatrix._write_aside import write_whole
from separatrix.core.linear_form import LinearForm, linear_form

_LINES_AT_ONCE = 8192


def write_coefficients(
    model: Any, path: str | os.PathLike[str], feature_names: Sequence[str] | None = None
) -> None:
    """Write names and weights, the intercept first; names that look like formulas are defused.

    A line for the threshold follows the intercept where it is not 0.

    >>> import pathlib, tempfile, separatrix as sx
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "weights.csv"
    >>> write_coefficients(sx.Kozinec().fit([[0.0], [2.0]], [0, 1]), path, ["=cmd()"])
    >>> print(path.read_text().splitlines()[2].split(",")[0])
    '=cmd()
    """
    form = linear_form(model).decided_by_weights("a table of weights")
    names = feature_names
    if names is None:
        names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{k}" for k in range(form.weights.shape[1])]
    if len(names) != form.weights.shape[1]:
        raise ValueError(f"There are {form.weights.shape[1]} features, but {len(names)} names.")
    write_whole(path, _pieces(form, names))


def _pieces(form: LinearForm, names: Sequence[str]) -> Iterator[bytes]:
    yield _lines([["feature", *(f"weight for {title}" for title in form.titles)]])
    yield _lines([["(intercept)", *form.intercepts.tolist()]])
    if form.threshold:
        yield _lines([["(threshold)", form.threshold]])
    for begin in range(0, len(names), _LINES_AT_ONCE):
        part = slice(begin, begin + _LINES_AT_ONCE)
        weights = np.asarray(form.weights[:, part].T).tolist()
        rows = zip(names[part], weights, strict=True)
        yield _lines([[defused(str(name)), *numbers] for name, numbers in rows])


def _lines(rows: list[list[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "surrogatepass")


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
