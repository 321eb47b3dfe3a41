"""A column of a table, before anything is decided: it can be read as numbers or as texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from separatrix.data.cells import WORD, read_cells
from separatrix.errors import DataError

__all__ = ["MISSING_WORDS", "CellColumn", "Column", "Texts", "TypedColumn", "is_number"]

MISSING_WORDS = frozenset(
    {"", "?", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "null", "NULL", "<NA>", "#N/A"}
)

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BLANKS = " \t"


def is_number(text: str) -> bool:
    """Whether a cell is written as a finite number.

    >>> is_number("+1"), is_number("1e3"), is_number("NaN"), is_number("1,5")
    (True, True, False, False)
    """
    return _NUMBER.fullmatch(text) is not None


@dataclass(frozen=True)
class Texts:
    """Texts as codes into the distinct ones; -1 is missing."""

    codes: NDArray[np.int64]
    values: list[str]


class Column(Protocol):
    """What every kind of column can do."""

    name: str
    number: int

    def __len__(self) -> int: ...
    def error(self, message: str, row: int) -> DataError:
        """Return an error that points at a cell."""

    def numbers(self, missing: frozenset[str]) -> NDArray[np.float64] | None:
        """Return the cells as numbers, NaN where missing; None when some cell is no number."""

    def first_word(self, missing: frozenset[str]) -> tuple[int, str]:
        """Return the row and the text of the first cell that is neither number nor missing."""

    def share_of_numbers(self, missing: frozenset[str]) -> float:
        """Return which share of the cells that are not missing are numbers."""

    def texts(self, missing: frozenset[str]) -> Texts:
        """Return the cells as texts."""


def _coded(strings: Any, missing: Iterable[str]) -> Texts:
    """Number the distinct strings of an Arrow array, with missing ones as -1."""
    import pyarrow as pa

    if isinstance(strings, pa.ChunkedArray):
        strings = strings.combine_chunks() if strings.num_chunks != 1 else strings.chunk(0)
    coded = strings.dictionary_encode()
    found = coded.dictionary.to_pylist()
    absent = set(missing)
    kept = [value for value in found if value is not None and value not in absent]
    places = {value: place for place, value in enumerate(kept)}
    renumber = np.array([places.get(value, -1) for value in found] + [-1], dtype=np.int64)
    codes = np.asarray(coded.indices.fill_null(len(found)), dtype=np.int64)
    return Texts(renumber[codes], kept)


@dataclass
class CellColumn:
    """A column of written cells, as a delimited file has them."""

    name: str
    number: int
    load: Callable[[], Any] = field(repr=False)
    error_at: Callable[[str, int, int], DataError] = field(repr=False)
    parsed: NDArray[np.float64] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.cells if self.parsed is None else self.parsed)

    @cached_property
    def cells(self) -> Any:
        """The cells as an Arrow array of strings."""
        return self.load()

    def error(self, message: str, row: int) -> DataError:
        """Return an error that points at a cell."""
        return self.error_at(message, row, self.number)

    @cached_property
    def _read(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        if self.parsed is not None:
            return self.parsed, np.empty(0, dtype=np.uint8)
        parts = [read_cells(chunk) for chunk in self.cells.chunks]
        values = np.concatenate([values for values, _ in parts] or [np.empty(0)])
        kinds = np.concatenate([kinds for _, kinds in parts] or [np.empty(0, dtype=np.uint8)])
        return values, kinds

    def _words(self, missing: frozenset[str]) -> NDArray[np.bool_]:
        """Mark the cells that are neither number nor missing."""
        _, kinds = self._read
        rows = np.flatnonzero(kinds == WORD)
        words = np.zeros(len(kinds), dtype=bool)
        if len(rows):
            texts = self.texts(missing)
            words[rows] = texts.codes[rows] >= 0
        return words

    def numbers(self, missing: frozenset[str]) -> NDArray[np.float64] | None:
        """Return the cells as numbers, NaN where missing; None when some cell is no number."""
        values, _ = self._read
        if self._words(missing).any():
            return None
        if np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            raise self.error("the number is too large for a float64; rescale the column", row)
        return values

    def first_word(self, missing: frozenset[str]) -> tuple[int, str]:
        """Return the row and the text of the first cell that is neither number nor missing."""
        row = int(np.argmax(self._words(missing)))
        return row, str(self.cells[row].as_py()).strip(_BLANKS)

    def share_of_numbers(self, missing: frozenset[str]) -> float:
        """Return which share of the cells that are not missing are numbers."""
        values, _ = self._read
        numbers = int(np.count_nonzero(~np.isnan(values)))
        return numbers / max(1, numbers + int(np.count_nonzero(self._words(missing))))

    def texts(self, missing: frozenset[str]) -> Texts:
        """Return the cells as texts, without blanks around them."""
        import pyarrow.compute as pc

        return _coded(pc.utf8_trim(self.cells, characters=_BLANKS), missing)


@dataclass
class TypedColumn:
    """A column that already has a type, as Parquet files and frames have them."""

    name: str
    number: int
    array: Any
    file: str

    def __len__(self) -> int:
        return len(self.array)

    def error(self, message: str, row: int) -> DataError:
        """Return an error that points at a cell, the line being the row."""
        return DataError(message, file=self.file, line=row + 1, column=self.number)

    @property
    def is_float32(self) -> bool:
        """Whether the numbers are stored in single precision."""
        import pyarrow as pa

        return bool(pa.types.is_float32(self.array.type))

    @property
    def _is_numeric(self) -> bool:
        import pyarrow as pa

        kind = self.array.type
        return bool(
            pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_boolean(kind)
            or pa.types.is_decimal(kind)
            or pa.types.is_null(kind)
        )

    def numbers(self, missing: frozenset[str]) -> NDArray[np.float64] | None:
        """Return the cells as numbers, NaN where missing; None when they are texts."""
        import pyarrow as pa

        if not self._is_numeric:
            return None
        array = self.array.cast(pa.int8()) if pa.types.is_boolean(self.array.type) else self.array
        values = np.array(array.cast(pa.float64(), safe=False).to_numpy(), dtype=np.float64)
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            raise self.error(
                f"column {self.name!r} holds an infinite value; replace it", int(infinite[0])
            )
        return values

    def first_word(self, missing: frozenset[str]) -> tuple[int, str]:
        """Return the first text."""
        return 0, str(self.array[0].as_py())

    def share_of_numbers(self, missing: frozenset[str]) -> float:
        """Return 1 for numbers and 0 for texts: here the type decides."""
        return 1.0 if self._is_numeric else 0.0

    def texts(self, missing: frozenset[str]) -> Texts:
        """Return the cells as texts, without blanks around them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        array = self.array
        if pa.types.is_dictionary(array.type):
            array = array.cast(array.type.value_type)
        kind = array.type
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_nested(kind):
            raise self.error(
                f"column {self.name!r} holds {kind}, which cannot be a feature; convert it or "
                f"leave it out: drop=[{self.name!r}] (--drop {self.name})",
                0,
            )
        return _coded(pc.utf8_trim(array.cast(pa.string()), characters=_BLANKS), missing)
