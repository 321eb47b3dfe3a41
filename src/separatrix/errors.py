"""The errors users meet; each is a ``ValueError`` whose sentence says what to do."""

from __future__ import annotations

from typing import Any


class DataError(ValueError):
    """The data cannot be used; says where and what to do.

    >>> str(DataError("expected a number, got 'abc'", file="x.csv", line=3, column=2))
    "x.csv, line 3, column 2: expected a number, got 'abc'"
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.message, self.file, self.line, self.column = message, file, line, column
        place = [str(file)] if file is not None else []
        place += [f"{word} {at}" for word, at in (("line", line), ("column", column)) if at]
        super().__init__(f"{', '.join(place)}: {message}" if place else message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message, self.file, self.line, self.column)


class NotSeparableError(ValueError):
    """No hyperplane separates the classes; ``witness`` holds the proof."""

    def __init__(self, message: str, witness: Any = None) -> None:
        self.witness = witness
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.witness)


class ContaminatedTestError(ValueError):
    """The sealed test set was opened before."""


class ModelFileError(ValueError):
    """The file is not a model file, or was altered."""
