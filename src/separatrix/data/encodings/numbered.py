"""Names that are only numbers, made when needed: a million features need no million strings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

__all__ = ["Numbered"]


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
