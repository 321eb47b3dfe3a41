"""Groups and times given beside the rows of a study, as values that can be compared."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from separatrix.errors import DataError

__all__ = ["beside"]

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
        return _moments(name, listed)
    if name == "time" and not all(isinstance(value, str) for value in listed):
        kind = type(next(value for value in listed if not isinstance(value, str))).__name__
        raise DataError(
            f"time must hold numbers, dates, or texts such as 2024-01-31. Got a {kind}."
        )
    return np.array([str(value) for value in listed])


def _missing(name: str) -> str:
    return f"{name} has rows without a value. Fill them in, or leave the rows out."


def _moments(name: str, dates: list[Any]) -> np.ndarray:
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
