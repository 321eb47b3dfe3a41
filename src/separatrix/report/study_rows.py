"""Which rows a study trains on, which it is tested on, and how its folds are cut.

By default rows are drawn by class. A column of groups keeps every group on one side of the test and
of each fold. A column of times, or the order of the rows, puts the latest rows into the test, and
each fold is judged by models of earlier rows. Repeated rows can be dropped first.

Groups and times given beside the rows of a study, as values that can be compared.
"""

from __future__ import annotations

import datetime
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.data.table import Table
from separatrix.errors import DataError
from separatrix.selection.folds import Folding
from separatrix.selection.sealed_test import row_contents
from separatrix.selection.split import Parts, split

if TYPE_CHECKING:
    from separatrix.report.study import Settings

__all__ = [
    "StudyRows",
    "beside",
    "rows_of",
]


_NAMED = 10  # rows that a note lists
_ISO = re.compile(r"\d{4}([-/.]?)\d{2}\1\d{2}([T ]\d{2}:?\d{2}(:?\d{2}(\.\d+)?)?(Z|\+00:?00)?)?")


@dataclass(frozen=True, eq=False)
class StudyRows:
    """The parts, how the training rows are folded, and what is to be said of it."""

    parts: Parts
    folding: Folding
    notes: tuple[str, ...] = ()


def rows_of(table: Table, y: np.ndarray, settings: Settings) -> StudyRows:
    """Return the rows of training and of the test, by their numbers in the table."""
    if settings.group is not None and (settings.by_time or settings.time is not None):
        raise DataError("the test holds whole groups (group) or the latest rows (time): give one")
    if settings.by_time and settings.time is not None:
        raise DataError("by_time is the order of the rows, time a column: give one of them")
    notes: list[str] = []
    kept = without_repeated(table, y, notes) if settings.dedupe else np.arange(len(y))
    groups = None if settings.group is None else _aside(table, settings.group)
    times: Any = None
    if settings.time is not None:
        times = _moments(_aside(table, settings.time), settings.time)
    elif settings.by_time:
        times = np.arange(len(y))
    found = split(
        y[kept],
        test=settings.test_share,
        groups=None if groups is None else groups[kept],
        times="order" if settings.by_time else None if times is None else times[kept],
        seed=settings.seed,
    )
    parts = replace(found, train=kept[found.train], test=kept[found.test])
    if groups is not None:
        _require_groups(groups[parts.train], settings)
        said = f"{found.how}; no group of {settings.group} is on both sides, nor in the folds"
        parts = replace(parts, how=said)
    if times is not None:
        said = f"{found.how}; folds train on earlier rows and validate on later ones"
        parts = replace(parts, how=said)
    return StudyRows(parts, Folding(settings.folds, groups, times), tuple(notes))


def without_repeated(table: Table, y: np.ndarray, notes: list[str]) -> np.ndarray:
    """Return the first of each set of rows that are equal, label included; say what was found."""
    contents: Any = table.texts if table.texts is not None else row_contents(table.X)
    first: dict[Any, int] = {}
    labels: dict[Any, set[Any]] = defaultdict(set)
    keys = []
    for row, (features, label) in enumerate(zip(contents, y.tolist(), strict=True)):
        first.setdefault((features, label), row)
        labels[features].add(label)
        keys.append(features)
    kept = np.array(sorted(first.values()), dtype=np.int64)
    dropped = len(y) - len(kept)
    rows = "1 repeated row" if dropped == 1 else f"{dropped:,} repeated rows"
    notes.append(f"{rows if dropped else 'no repeated row'} dropped before the split")
    opposed = [row for row in kept.tolist() if len(labels[keys[row]]) > 1]
    if opposed:
        shown = ", ".join(str(row) for row in opposed[:_NAMED])
        more = f" and {len(opposed) - _NAMED} more" if len(opposed) > _NAMED else ""
        notes.append(
            f"{len(opposed):,} rows have the features of a row of another class and were kept: "
            f"rows {shown}{more}"
        )
    return kept


def _aside(table: Table, name: str) -> np.ndarray:
    if name not in table.aside:
        raise DataError(
            f"the column {name!r} was not kept beside the features; read the data with "
            f"aside=[{name!r}]"
        )
    return table.aside[name]


def _moments(values: np.ndarray, name: str) -> np.ndarray:
    """Return numbers as they are, and dates as texts in the order of time."""
    if values.dtype.kind in "iuf":
        return values
    signs = set()
    for value in values.tolist():
        found = _ISO.fullmatch(value)
        if found is None:
            raise DataError(
                f"the column {name!r} holds {value!r}, whose place in time is not plain; write "
                "numbers, or dates as 2024-01-31 or 2024-01-31 13:45 (in one zone)"
            )
        signs.add((found[1], value[10:11] if found[1] else value[8:9]))
    if (
        len({sign for sign, _ in signs}) > 1
        or len({between for _, between in signs if between}) > 1
    ):
        raise DataError(f"the column {name!r} writes dates in several ways; write all in one")
    return values


def _require_groups(groups: np.ndarray, settings: Settings) -> None:
    count = len(np.unique(groups))
    if count < settings.folds:
        raise DataError(
            f"{settings.folds} folds need as many groups of {settings.group} among the training "
            f"rows, and there are {count}; use fewer folds (--folds) or other groups"
        )


# ---- groups and times given beside the rows of a study, as values that can be compared


_EPOCH = datetime.datetime(1970, 1, 1)
_MICROSECOND = datetime.timedelta(microseconds=1)


def beside(name: str, given: Any) -> np.ndarray:
    """Return groups or times as numbers or texts; dates become numbers in their order.

    >>> beside("time", [datetime.date(1970, 1, 2), datetime.date(1970, 1, 1)]).tolist()
    [86400000000, 0]
    >>> beside("group", ["a", 1]).tolist()
    ['a', '1']
    """
    values = np.asarray(given)
    if values.ndim == 0:
        raise DataError(
            f"{name} must be the name of a column, or hold a value for each row. Got {given!r}."
        )
    if values.dtype.kind in "mM":
        if np.isnat(values).any():
            raise DataError(_missing(name))
        return values.astype(np.int64)
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise DataError(_missing(name))
    if values.dtype.kind != "O":
        return values
    listed = [getattr(value, "start_time", value) for value in values.ravel().tolist()]
    if any(value is None or value != value for value in listed):
        raise DataError(_missing(name))
    if all(isinstance(value, datetime.date) for value in listed):
        return _moments_of_dates(name, listed)
    if name == "time" and not all(isinstance(value, str) for value in listed):
        kind = type(next(value for value in listed if not isinstance(value, str))).__name__
        raise DataError(
            f"time must hold numbers, dates, or texts such as 2024-01-31. Got a {kind}."
        )
    return np.array([str(value) for value in listed])


def _missing(name: str) -> str:
    return f"{name} has rows without a value. Fill them in, or leave the rows out."


def _moments_of_dates(name: str, dates: list[Any]) -> np.ndarray:
    """Return microseconds since 1970; dates with a zone are those of UTC."""
    with_zone = [getattr(date, "tzinfo", None) is not None for date in dates]
    if any(with_zone) and not all(with_zone):
        raise DataError(f"some dates of {name} have a time zone and others none; write all in one")
    found = []
    for date in dates:
        moment = date
        if not isinstance(date, datetime.datetime):
            moment = datetime.datetime(date.year, date.month, date.day)
        if moment.tzinfo is not None:
            moment = moment.astimezone(datetime.UTC).replace(tzinfo=None)
        found.append((moment - _EPOCH) // _MICROSECOND)
    return np.array(found, dtype=np.int64)
