"""Plain data from a file, checked before an encoding is made of them."""

from __future__ import annotations

import math
from typing import Any

from separatrix.errors import DataError

__all__ = ["labels", "maybe_text", "numbers", "required", "texts"]


def required(good: bool, what: str) -> None:
    """Refuse an encoding, saying what is wrong with it."""
    if not good:
        raise DataError(f"the encoding is not well-formed: {what}")


def texts(values: Any, what: str) -> tuple[str, ...]:
    """Return a list of texts as a tuple.

    >>> texts(["a", "b"], "words")
    ('a', 'b')
    """
    required(isinstance(values, list) and all(type(each) is str for each in values), what)
    return tuple(values)


def numbers(values: Any, what: str) -> tuple[float, ...]:
    """Return a list of finite numbers as a tuple."""
    good = isinstance(values, list) and all(type(each) in (int, float) for each in values)
    required(good and all(math.isfinite(each) for each in values), what)
    return tuple(values)


def maybe_text(value: Any, what: str) -> str | None:
    """Return a text or None."""
    required(value is None or type(value) is str, what)
    return None if value is None else str(value)


def labels(values: Any) -> tuple[Any, ...]:
    """Return a list of class labels, numbers or texts, as a tuple."""
    good = isinstance(values, list) and all(
        type(each) in (int, float, str, bool) for each in values
    )
    required(good, "classes must be numbers or texts")
    return tuple(values)
