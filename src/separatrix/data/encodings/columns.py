"""A column of a table, before anything is decided: it can be read as numbers or as texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from separatrix.data.arrow import to_numpy
from separatrix.data.encodings.cells import (
    NUMBER,
    WORD,
    has_decimal_commas,
    read_cells,
    with_points,
)
from separatrix.errors import DataError

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

    codes: NDArray[np.int32]
    values: list[str]


def _coded(strings: Any) -> tuple[NDArray[np.int32], Any]:
    """Number the distinct strings of a chunked Arrow array; a null has the number after them."""
    import pyarrow as pa

    is_coded = pa.types.is_dictionary(strings.type)
    coded = (strings if is_coded else strings.dictionary_encode()).unify_dictionaries()
    coded = coded.combine_chunks() if coded.num_chunks != 1 else coded.chunk(0)
    codes = to_numpy(coded.indices)
    if coded.null_count:
        codes = np.where(np.isnan(codes), len(coded.dictionary), codes)
    return np.asarray(codes, dtype=np.int32), coded.dictionary


def _as_texts(codes: NDArray[np.int32], distinct: list[str], missing: frozenset[str]) -> Texts:
    """Give texts that differ only in blanks around them one code, and missing ones -1."""
    kept: dict[str, int] = {}
    places = [
        -1 if text in missing else kept.setdefault(text, len(kept))
        for text in (value.strip(_BLANKS) for value in distinct)
    ]
    return Texts(np.array([*places, -1], dtype=np.int32)[codes], list(kept))


@dataclass
class CellColumn:
    """A column of written cells, as a delimited file has them.

    ``parsed`` holds the numbers where every cell is known to be a number or empty. Otherwise the
    cells are numbered, and only the distinct ones are looked at. ``decimal`` is the sign before the
    fraction, point or comma; None is for what the cells show. ``is_plain``: every cell was read as
    a finite number.
    """

    name: str
    number: int
    load: Callable[[], Any] = field(repr=False)
    error_at: Callable[[str, int, int], DataError] = field(repr=False)
    parsed: NDArray[np.float64] | None = field(default=None, repr=False)
    decimal: str | None = "."
    is_plain: bool = field(default=False, kw_only=True)
    is_declared_category: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self._cells[0] if self.parsed is None else self.parsed)

    def error(self, message: str, row: int) -> DataError:
        """Return an error that points at a cell."""
        return self.error_at(message, row, self.number)

    @cached_property
    def _cells(self) -> tuple[NDArray[np.int32], Any]:
        return _coded(self.load())

    @cached_property
    def _distinct(self) -> list[str]:
        distinct: list[str] = self._cells[1].to_pylist()
        return distinct

    @cached_property
    def _values(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        """The value and the kind of each distinct cell."""
        cells = self._cells[1]
        return read_cells(with_points(cells) if self.decimal_commas else cells)

    @cached_property
    def decimal_commas(self) -> bool:
        """Whether numbers are written with decimal commas."""
        if self.decimal == "." or self.parsed is not None:
            return False
        return has_decimal_commas(self._cells[1], self.decimal == ",")

    def _words(self, missing: frozenset[str]) -> NDArray[np.bool_]:
        """Mark the distinct cells that are neither number nor missing."""
        words = self._values[1] == WORD
        for place in np.flatnonzero(words):
            words[place] = self._distinct[place].strip(_BLANKS) not in missing
        return words

    def numbers(self, missing: frozenset[str]) -> NDArray[np.float64] | None:
        """Return the cells as numbers, NaN where missing; None when some cell is no number."""
        if self.parsed is None:
            if self._words(missing).any():
                return None
            values = self._values[0][self._cells[0]]
        else:
            values = self.parsed
        if not self.is_plain and np.isinf(values).any():
            row = int(np.argmax(np.isinf(values)))
            raise self.error("the number is too large for a float64; rescale the column", row)
        return values

    def first_word(self, missing: frozenset[str]) -> tuple[int, str]:
        """Return the row and the text of the first cell that is neither number nor missing."""
        codes = self._cells[0]
        row = int(np.argmax(self._words(missing)[codes]))
        return row, self._distinct[codes[row]].strip(_BLANKS)

    def share_of_numbers(self, missing: frozenset[str]) -> float:
        """Return which share of the cells that are not missing are numbers."""
        if self.parsed is not None:
            return 1.0
        times = np.bincount(self._cells[0], minlength=len(self._distinct))
        numbers = int(times[self._values[1] == NUMBER].sum())
        return numbers / max(1, numbers + int(times[self._words(missing)].sum()))

    def texts(self, missing: frozenset[str]) -> Texts:
        """Return the cells as texts, without blanks around them."""
        return _as_texts(self._cells[0], self._distinct, missing)


@dataclass
class TypedColumn:
    """A column that already has a type, as Parquet files and frames have them."""

    name: str
    number: int
    array: Any
    file: str
    decimal_commas: bool = False

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
    def is_declared_category(self) -> bool:
        """Whether the type says that the values are categories."""
        import pyarrow as pa

        return bool(pa.types.is_dictionary(self.array.type))

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
        values = np.array(to_numpy(array.cast(pa.float64(), safe=False)))
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
        codes, distinct = _coded(array.cast(pa.string()))
        return _as_texts(codes, distinct.to_pylist(), missing)


Column = CellColumn | TypedColumn
