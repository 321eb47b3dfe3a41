"""What encodings share: reading raw data, names that are numbers, checks of plain data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, overload

from separatrix.errors import DataError


class Encoding:
    """How raw data become features: learned on the data of training, applied to later data."""

    kind_of_data: ClassVar[str]  # what it takes, in words
    read_as: ClassVar[Any]  # set by `data.table`, whose readers make encodings

    @property
    def column_groups(self) -> list[list[int]]:
        """The features that one column became, where there are several: none here."""
        return []

    def transform(self, source: Any, **options: Any) -> Any:
        """Read raw data, a path or a frame, and encode them as the data of training were."""
        return type(self).read_as(source, self, **options)


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


@dataclass(frozen=True)
class Numbered(Sequence[str]):
    """The names ``prefix1``, ``prefix2``, ... as a sequence.

    >>> names = Numbered("", 1, 3)
    >>> list(names), names[-1]
    (['1', '2', '3'], '3')
    """

    prefix: str
    first: int
    size: int

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        numbers = range(self.first, self.first + self.size)[at]
        if isinstance(numbers, range):
            return [f"{self.prefix}{number}" for number in numbers]
        return f"{self.prefix}{numbers}"
