"""Frozen dataclasses as plain data and back, by their field types: what JSON can hold, and no more.

A field is a str, bool, int, float, another dataclass, a tuple of one of these (``tuple[T, ...]``),
or one of these or None. Floats that are not finite become texts, for JSON has no word for them.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

__all__ = ["from_plain", "to_plain"]

_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def to_plain(value: Any) -> Any:
    """Return dicts, lists, texts and numbers that say the same.

    >>> to_plain((1, float("inf"), "a"))
    [1, 'inf', 'a']
    """
    if is_dataclass(value) and not isinstance(value, type):
        return {part.name: to_plain(getattr(value, part.name)) for part in fields(value)}
    if isinstance(value, tuple | list):
        return [to_plain(part) for part in value]
    if value is None or isinstance(value, str | bool):
        return value
    number = value.item() if hasattr(value, "item") else value
    if isinstance(number, float) and not math.isfinite(number):
        return str(number)
    return number


def from_plain(kind: Any, value: Any, where: str) -> Any:
    """Return `value` as `kind`; an error names the place."""
    if is_dataclass(kind):
        return _dataclass(kind, value, where)
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        if value is None and NoneType in get_args(kind):
            return None
        return from_plain(next(a for a in get_args(kind) if a is not NoneType), value, where)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{where} must be a list. Got {_shown(value)} instead.")
        inner = get_args(kind)[0]
        return tuple(from_plain(inner, part, f"{where}[{k}]") for k, part in enumerate(value))
    return _number_or_text(kind, value, where)


_KINDS = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}


def _number_or_text(kind: Any, value: Any, where: str) -> Any:
    if kind is float and isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    right = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not right or (isinstance(value, bool) and kind is not bool):
        what = _KINDS.get(kind, kind.__name__)
        raise ValueError(f"{where} must be {what}. Got {_shown(value)} instead.")
    return kind(value)


def _dataclass(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{where} must be an object. Got {_shown(value)} instead.")
    types = _types(kind)
    unknown = sorted(set(value) - set(types))
    if unknown:
        raise ValueError(f"{where} has no field {unknown[0]!r}. It has {', '.join(types)}.")
    for part in fields(kind):
        if part.default is MISSING and part.name not in value:
            raise ValueError(f"{where} must have a field {part.name!r}.")
    return kind(
        **{key: from_plain(types[key], part, f"{where}.{key}") for key, part in value.items()}
    )


@cache
def _types(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
