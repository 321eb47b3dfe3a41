"""A column of a table, before anything is decided: it can be read as numbers or as texts.

Cells of a delimited file: which are numbers, and which are written with a decimal comma.

``0,125`` is 0.125 in tables whose fields are not separated by commas. ``1,234`` may also be one
thousand and more. It is read with a decimal comma where the table has others that can be nothing
else, such as ``0,5`` and ``12,75``, or where ``decimal`` is ",".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from separatrix._compiled import compiled, for_work
from separatrix.data.arrow import to_numpy
from separatrix.data.encodings.numbers import EXACT, NOT_A_NUMBER, UNFINISHED, Octets, scan_number
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


# ---- cells of a delimited file: which are numbers, and which are written with a decimal comma


NUMBER, WORD, EMPTY = EXACT, NOT_A_NUMBER, 3


@compiled
def _scan_cells(
    text: Octets,
    offsets: NDArray[np.int64],
    values: NDArray[np.float64],
    kinds: NDArray[np.uint8],
) -> None:
    for cell in range(values.shape[0]):
        at = offsets[cell]
        end = offsets[cell + 1]
        while at < end and (text[at] == 32 or text[at] == 9):
            at += 1
        while at < end and (text[end - 1] == 32 or text[end - 1] == 9):
            end -= 1
        kind = EMPTY
        value = np.nan
        if at < end:
            value, after, kind = scan_number(text, at, end)
            if after != end or kind == NOT_A_NUMBER:
                value = np.nan
                kind = WORD
        values[cell] = value
        kinds[cell] = kind


def read_cells(cells: Any) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Return the value (NaN if no number) and the kind of each cell of an Arrow array of strings.

    >>> import pyarrow as pa
    >>> values, kinds = read_cells(pa.array(["+1", " 2.5 ", "", "?"]))
    >>> values.tolist(), (kinds == NUMBER).tolist()
    ([1.0, 2.5, nan, nan], [True, True, False, False])
    """
    import pyarrow as pa

    values, kinds = np.empty(len(cells)), np.empty(len(cells), dtype=np.uint8)
    _, where, octets = cells.buffers()
    if where is None or octets is None:
        values.fill(np.nan)
        kinds.fill(EMPTY)
        return values, kinds
    kind = np.int64 if pa.types.is_large_string(cells.type) else np.int32
    offsets = np.frombuffer(where, dtype=kind)[cells.offset : cells.offset + len(cells) + 1]
    text = np.frombuffer(octets, dtype=np.uint8)
    text.flags.writeable = False
    for_work(_scan_cells, len(text))(text, offsets.astype(np.int64), values, kinds)
    if cells.null_count:
        absent = to_numpy(cells.is_null())
        values[absent], kinds[absent] = np.nan, EMPTY
    for cell in np.flatnonzero(kinds == UNFINISHED):
        values[cell] = float(text[offsets[cell] : offsets[cell + 1]].tobytes())
        kinds[cell] = NUMBER
    return values, kinds


# ---- decimal commas

_EXPONENT = r"([eE][-+]?[0-9]+)"
_COMMA = rf"[-+]?[0-9]+,[0-9]+{_EXPONENT}?"
_SURE = (
    rf"[-+]?(0[0-9]*,[0-9]+{_EXPONENT}?|[0-9]+,([0-9]{{1,2}}|[0-9]{{4,}}){_EXPONENT}?"
    rf"|[0-9]{{4,}},[0-9]+{_EXPONENT}?|[0-9]+,[0-9]+{_EXPONENT})"
)
_POINT = r"[-+]?[0-9]*\.[0-9].*"

_is_comma, _is_sure = re.compile(_COMMA), re.compile(_SURE)


def is_comma_number(text: str) -> bool:
    """Whether a cell is written as a number with a decimal comma, or perhaps one of thousands."""
    return "," in text and _is_comma.fullmatch(text) is not None


def is_surely_comma_number(text: str) -> bool:
    """Whether the comma can stand for nothing but a decimal point.

    >>> is_surely_comma_number("0,125"), is_surely_comma_number("1,5")
    (True, True)
    >>> is_surely_comma_number("1,234")
    False
    """
    return "," in text and _is_sure.fullmatch(text) is not None


def has_decimal_commas(cells: Any, declared: bool) -> bool:
    """Whether commas in distinct cells, an Arrow array, are decimal ones; points speak against."""
    octets = cells.buffers()[2]
    if octets is None or re.search(b",", octets) is None:
        return False
    from pyarrow import compute

    def some(pattern: str) -> bool:
        whole = rf"^[ \t]*({pattern})[ \t]*$"
        return bool(compute.any(compute.match_substring_regex(cells, whole)).as_py())

    return some(_COMMA if declared else _SURE) and not some(_POINT)


def with_points(cells: Any) -> Any:
    """Return cells with a point for the decimal comma.

    >>> import pyarrow as pa
    >>> with_points(pa.array(["1,5", "-0,25", "a,b", "1,2,3"])).to_pylist()
    ['1.5', '-0.25', 'a,b', '1,2,3']
    """
    from pyarrow import compute

    pattern = rf"^([ \t]*[-+]?[0-9]+),([0-9]+{_EXPONENT}?[ \t]*)$"
    return compute.replace_substring_regex(cells, pattern, r"\1.\2")
