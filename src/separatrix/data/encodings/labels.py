"""Labels as people write them (+1/-1, whole numbers, numbers, words), and the target column.

What encodings share: reading raw data, names that are numbers, checks of plain data.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from separatrix.data.encodings.columns import MISSING_WORDS, Column
from separatrix.errors import DataError


def _as_numbers(labels: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the labels as numbers if every one is a finite number, and none is a name for it."""
    spelled = dict.fromkeys(labels)
    values: dict[str, float] = {}
    for label in spelled:
        try:
            values[label] = float(label)
        except ValueError:
            return None
        if "_" in label or not label.isascii() or not np.isfinite(values[label]):
            return None
    return np.array([values[label] for label in labels], dtype=float)


def tidy_labels(labels: Sequence[str] | NDArray[np.float64]) -> NDArray[Any]:
    """Return labels as whole numbers, numbers or text, whichever holds them all.

    >>> tidy_labels(["+1", "-1", "1"]).tolist()
    [1, -1, 1]
    >>> tidy_labels(["spam", "1"]).tolist()
    ['spam', '1']
    """
    numbers = labels if isinstance(labels, np.ndarray) else _as_numbers(labels)
    if numbers is None or _are_merged(labels, numbers):
        return np.array(labels, dtype=str)
    whole = np.abs(numbers) < 2**53
    whole &= numbers == np.rint(numbers)
    return numbers.astype(np.int64) if whole.all() else numbers


def _are_merged(labels: Sequence[str] | NDArray[np.float64], numbers: NDArray[np.float64]) -> bool:
    """Whether different whole numbers, too long for a float, would become one class."""
    long = np.flatnonzero(np.abs(numbers) >= 2**53).tolist()
    if isinstance(labels, np.ndarray) or not long:
        return False
    return len({labels[at] for at in long}) > len(np.unique(numbers[long]))


def classes_of(y: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct labels in order; the last of two is the positive class."""
    return np.unique(y)


# ---- the target of a table


_MOST_CODES = 20  # numbers of so many values are taken as classes without a further look
_MOST_FRACTIONS = 100
_MOST_NAMES = 1000
_ROWS_OF_A_CLASS = 3
_USUAL_NAMES = ("target", "class", "label", "labels", "y", "outcome", "category", "income", "type")


def known_column(name: str | int, columns: Sequence[Column], file: str) -> Column:
    """Return the column of a name or, failing that, of a number counted from 1 (-1: the last)."""
    for column in columns:
        if column.name == name:
            return column
    try:
        number = int(name)
    except ValueError:
        number = 0
    if 1 <= number <= len(columns):
        return columns[number - 1]
    if -len(columns) <= number < 0:
        return columns[number]
    names = [column.name for column in columns]
    folded = {each.casefold(): each for each in names}
    close = get_close_matches(str(name).casefold(), list(folded), n=1)
    hint = f"did you mean {folded[close[0]]!r}?" if close else f"there are: {_few(names)}"
    if not close and names[0] == "column1":  # numbered by us
        hint += "; the file has no header: give the number of the column, -1 for the last"
    raise DataError(f"there is no column {str(name)!r}; {hint}", file=file)


def known_columns(given: str | Sequence[str], columns: Sequence[Column], file: str) -> list[str]:
    """Return the names of several columns; ``a,b`` names two, unless one column is named so."""
    names = {column.name for column in columns}
    found: list[str] = []
    for each in [given] if isinstance(given, str) else given:
        words = [str(each)] if each in names else str(each).split(",")
        while words:
            sizes = range(len(words), 0, -1)
            size = next((n for n in sizes if ",".join(words[:n]) in names), 1)
            name, words = ",".join(words[:size]).strip(), words[size:]
            if name or not found:  # a comma at the end names nothing
                found.append(known_column(name, columns, file).name)
    return found


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:10])
    return shown + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def choose_target(columns: Sequence[Column], file: str) -> tuple[Column, str]:
    """Guess the target, and say why: a column of a usual name, or the last.

    Neither holds amounts, or texts of which none repeats. Where the last column does, the target is
    the last column of texts, or of two values, that looks like classes.
    """
    for usual in _USUAL_NAMES:
        named = [column for column in columns if column.name.casefold() == usual]
        if len(named) == 1 and _repeats(named[0]) and not _are_amounts(named[0]):
            return named[0], f"the target is {named[0].name!r}, by its name"
    last = columns[-1]
    if not _repeats(last) or _are_amounts(last):
        for column in reversed(columns[:-1]):
            if _names_classes(column):
                return column, (
                    f"the target is {column.name!r}, the last column that looks like classes; "
                    "another is named with target=... (--target)"
                )
    return last, f"the target is {last.name!r}, the last column"


def _are_amounts(column: Column) -> bool:
    """Whether a column holds numbers of too many values to be guessed to be classes."""
    try:
        numbers = column.numbers(MISSING_WORDS)
    except DataError:  # beyond float64
        return False
    if numbers is None:
        return False
    values = np.unique(numbers[~np.isnan(numbers)])
    whole = bool((values == np.rint(values)).all())
    return len(values) > (_MOST_FRACTIONS if whole else _MOST_CODES)


def _repeats(column: Column) -> bool:
    """Whether some value stands in several rows, or in none: a column of lists does not count."""
    try:
        if column.numbers(MISSING_WORDS) is not None:
            return True
        texts = column.texts(MISSING_WORDS)
    except DataError:
        return False
    held = int((texts.codes >= 0).sum())
    return len(texts.values) <= 2 or len(texts.values) < held


def _names_classes(column: Column) -> bool:
    """Whether a column holds two values, or texts of which each stands in several rows."""
    try:
        numbers = column.numbers(MISSING_WORDS)
        if numbers is not None:
            return len(np.unique(numbers[~np.isnan(numbers)])) == 2
        texts = column.texts(MISSING_WORDS)
    except DataError:
        return False
    held, few = int((texts.codes >= 0).sum()), len(texts.values)
    return few == 2 or 2 < few <= min(_MOST_NAMES, held // _ROWS_OF_A_CLASS)


def target_labels(
    column: Column, missing: frozenset[str], notes: list[str], classes: Sequence[Any] = ()
) -> NDArray[Any]:
    """Return the labels of the target; with ``classes``, spelled as these are where they match."""
    numbers = column.numbers(missing)
    if numbers is not None and not np.isnan(numbers).any():
        return tidy_labels(numbers)
    texts = column.texts(missing)
    absent = np.flatnonzero(texts.codes < 0)
    if len(absent):
        raise column.error(
            f"the target {column.name!r} is missing here (and in {len(absent) - 1} more rows); "
            "remove the rows or fill them in",
            int(absent[0]),
        )
    return _spelled(column, texts.values, notes, classes)[texts.codes]


def labels_there(
    column: Column, missing: frozenset[str], notes: list[str], classes: Sequence[Any] = ()
) -> NDArray[Any]:
    """Return the labels of later rows, as texts with "" for each that is absent; none if all are.

    Whichever rows of a file come together, those that have a label have it.
    """
    texts = column.texts(missing)
    absent = texts.codes < 0
    if not absent.any():
        return target_labels(column, missing, notes, classes)
    if absent.all():
        return np.empty(0, dtype=np.int64)
    notes.append(f"{column.name}: rows without a label are not counted")
    distinct = _spelled(column, texts.values, notes, classes).astype(str)
    return np.append(distinct, "")[texts.codes]


def _spelled(
    column: Column, spelled: Sequence[str], notes: list[str], classes: Sequence[Any]
) -> NDArray[Any]:
    """Return the distinct labels, without the dots that end all of them."""
    dotted = [value for value in spelled if value.endswith(".")]
    if dotted and len(dotted) == len(spelled) and not any(_is_number(value) for value in spelled):
        notes.append(
            f"{column.name}: every label ends in a dot, which was removed ({dotted[0]!r} is "
            f"{dotted[0][:-1]!r})"
        )
        spelled = [value[:-1] for value in spelled]
    distinct = tidy_labels(spelled)
    if classes and not isinstance(classes[0], str) and distinct.dtype.kind == "U":
        unknown = next(value for value in distinct.tolist() if not _is_number(value))
        notes.append(f"{column.name}: the label {unknown!r} is none of the classes in training")
    return distinct


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_classes(column: Column, y: NDArray[Any], file: str) -> NDArray[Any]:
    """Return the distinct labels; refuse a target that cannot be one."""
    classes = classes_of(y)
    if len(classes) == 1:
        raise DataError(
            f"the target {column.name!r} has one value only, {classes[0].item()!r}; there is "
            "nothing to tell apart. Choose another target",
            file=file,
            column=column.number,
        )
    if len(classes) > 2 and len(classes) == len(y):
        raise DataError(
            f"the target {column.name!r} has {len(classes)} values in as many rows, so it names "
            "no classes; choose another with target=... (--target)",
            file=file,
            column=column.number,
        )
    refuse_amounts(column.name, y, file, column.number)
    return classes


def refuse_amounts(
    target: str,
    y: NDArray[Any],
    file: str,
    number: int = 1,
    rows_of_a_class: float = 3.0,
    remedy: str = "choose another target (--target)",
) -> None:
    """Refuse a target of numbers that name no classes: too many values for the rows there are."""
    values = len(classes_of(y)) if y.dtype.kind in "if" else 0
    scattered = len(y) < rows_of_a_class * values
    fractions = y.dtype.kind == "f" and values > _MOST_FRACTIONS
    if values > _MOST_CODES and (scattered or fractions):
        raise DataError(
            f"the target {target!r} holds numbers, {values:,} different ones in {len(y):,} "
            f"rows, which are amounts and name no classes; {remedy}, or make classes of it (say, "
            "below and above a limit)",
            file=file,
            column=number,
        )


def check_codes(y: NDArray[Any], file: str) -> None:
    """Refuse amounts among labels that have no column; few rows of a class are no reason to."""
    rows_of_a_class = 3.0 if y.dtype.kind == "f" else 1.1
    refuse_amounts("labels", y, file, 1, rows_of_a_class, "give other labels")


# ---- what encodings share: reading raw data, names that are numbers, checks of plain data


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
