"""How one column becomes features: fitted on the training column, applied to any later one.

- a number stays a number, with the sign of a currency or without; a missing one becomes the median,
  with an indicator ``name=(missing)``;
- a text is one-hot encoded as ``name=value``; the rarest over the cap share ``name=(other)``,
  and a missing one has a category of its own, ``name=(missing)``;
- sentences become words and pairs of words (`grams.py`).

Numbers as spreadsheets write them: ``$4.50``, ``12.3%``, ``1,234.50``.

All cells of a column carry the same sign: that of a currency, or per cent. A comma is taken to
divide thousands where some cell leaves no doubt, by a second comma or a decimal point: ``1,234``
alone may be 1.234.
"""

from __future__ import annotations

import math
import re
from ast import literal_eval
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from separatrix.data.encodings.columns import CellColumn, Column, Texts, is_comma_number, is_number
from separatrix.data.encodings.grams import ProseCode, fit_prose, is_prose

MISSING, OTHER = "(missing)", "(other)"
_MOSTLY_NUMBERS = 0.9
_FEW_VALUES = 20
_MEDIAN_ROWS = 1 << 17  # more, in a column without gaps, are sampled evenly
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?"
    r"|\d{1,2}:\d{2}(:\d{2}.*)?|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{2,4}|[A-Za-z]{3,9} \d{1,2}, \d{4}"
)
_SIGNED_NUMBER = re.compile(r"[-+]?[$€£¥]?\s*[-+]?\d[\d.,' \u00a0]*([eE][-+]?\d+)?\s*[%‰$€£¥]?")

Slots = list[tuple[int | NDArray[np.int32], NDArray[np.float64]]]  # feature, value of each row


@dataclass(frozen=True)
class NumberCode:
    """A numeric feature and, where the training column had gaps, an indicator of a gap.

    A gap becomes the median of training, whether there were gaps in training or not. `sign` is what
    the numbers are written with, such as "%" or "$,", if anything.
    """

    dense: ClassVar[bool] = True  # most of the features are expected to differ from zero

    name: str
    median: float
    indicator: bool
    sign: str = ""

    @property
    def feature_names(self) -> list[str]:
        """The names of the features this column gives."""
        return [self.name, f"{self.name}={MISSING}"] if self.indicator else [self.name]

    def absent(self, n_rows: int) -> Slots:
        """Return the features of a column that is not there."""
        return self._slots(np.full(n_rows, np.nan))

    def _slots(self, values: NDArray[np.float64], gaps: NDArray[np.bool_] | None = None) -> Slots:
        gaps = np.isnan(values) if gaps is None else gaps
        slots: Slots = [(0, np.where(gaps, self.median, values) if gaps.any() else values)]
        if self.indicator:
            slots.append((1, gaps.astype(float)))
        return slots

    def apply(self, column: Column, missing: frozenset[str], notes: list[str]) -> Slots:
        """Return, for each slot, the feature and the value of every row."""
        values = self._values(column, missing)
        gaps = _gaps(column, values)
        if not self.indicator and gaps.any():
            notes.append(
                f"{self.name}: {gaps.sum()} missing, none in training; each became {self.median:g}"
            )
        return self._slots(values, gaps)

    def _values(self, column: Column, missing: frozenset[str]) -> NDArray[np.float64]:
        if self.sign:
            texts = column.texts(missing)
            found = numbers_with(self.sign, texts)
            if isinstance(found, np.ndarray):
                return found
            row, word = found, texts.values[texts.codes[found]]
        else:
            values = column.numbers(missing)
            if values is not None:
                return values
            row, word = column.first_word(missing)
        written = (
            f", written with {self.sign[0]!r}," if self.sign[:1] not in ("", THOUSANDS) else ""
        )
        raise column.error(
            f"column {self.name!r} held numbers{written} in training, but here is {word!r}; "
            "correct the cell or leave it empty",
            row,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that say the same."""
        return {"kind": "number", **{key: each for key, each in vars(self).items() if each != ""}}


@dataclass(frozen=True)
class CategoryCode:
    """One feature per kept value, and perhaps one for all others and one for missing."""

    dense: ClassVar[bool] = False

    name: str
    values: tuple[str, ...]
    other: bool
    missing: bool

    @property
    def feature_names(self) -> list[str]:
        """The names of the features this column gives."""
        extra = [OTHER] * self.other + [MISSING] * self.missing
        return [f"{self.name}={value}" for value in [*self.values, *extra]]

    def absent(self, n_rows: int) -> Slots:
        """Return the features of a column that is not there."""
        return self._slots(np.full(n_rows, self._missing_place, dtype=np.int32))

    @property
    def _missing_place(self) -> int:
        return len(self.values) + self.other if self.missing else -1

    def _slots(self, places: NDArray[np.int32]) -> Slots:
        return [(np.maximum(places, 0), (places >= 0).astype(float))]

    def apply(self, column: Column, missing: frozenset[str], notes: list[str]) -> Slots:
        """Return, for each slot, the feature and the value of every row."""
        texts = column.texts(missing)
        known = {value: place for place, value in enumerate(self.values)}
        unseen_place = len(self.values) if self.other else -1
        places = [known.get(value, unseen_place) for value in texts.values]
        unseen = [value for value in texts.values if value not in known]
        if unseen and not self.other:
            shown = ", ".join(repr(value) for value in unseen[:3])
            more = f" and {len(unseen) - 3} more" if len(unseen) > 3 else ""
            notes.append(f"{self.name}: never seen in training: {shown}{more}; taken as none")
        table = np.array([*places, self._missing_place], dtype=np.int32)
        if (texts.codes < 0).any() and not self.missing:
            notes.append(f"{self.name}: missing in some rows, never in training; taken as none")
        return self._slots(table[texts.codes])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that say the same."""
        return {"kind": "category", **self.__dict__, "values": list(self.values)}


Code = NumberCode | CategoryCode | ProseCode


def _median(values: NDArray[np.float64]) -> float:
    """Return the median of finite numbers; what NumPy adds is longer than the work."""
    low, high = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, (low, high))
    return float(0.5 * ordered[low] + 0.5 * ordered[high])


def _gaps(column: Column, values: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the numbers that are missing."""
    plain = isinstance(column, CellColumn) and column.is_plain
    return np.zeros(len(values), dtype=bool) if plain else np.isnan(values)


def _fit_number(
    column: Column, values: NDArray[np.float64], sign: str, notes: list[str]
) -> NumberCode:
    if column.decimal_commas:
        notes.append(f"{column.name}: decimal commas, read as numbers")
    if sign:
        parts = {THOUSANDS: "commas between thousands"}
        what = " and ".join(parts.get(each, repr(each)) for each in sign)
        notes.append(f"{column.name}: read as numbers, without {what}")
    say_numbering(column, values, notes)
    with np.errstate(invalid="ignore"):
        if (abs(values) >= 2.0**53).any():
            notes.append(
                f"{column.name}: numbers beyond 2^53 are read as the nearest float64; whole "
                "numbers that differ may become one"
            )
    gaps = _gaps(column, values)
    if not gaps.any():
        some = values[:: -(-len(values) // _MEDIAN_ROWS)]
        return NumberCode(column.name, _median(some), False, sign)
    median = _median(values[~gaps])
    notes.append(
        f"{column.name}: {int(gaps.sum())} missing, each replaced by the median {median:g} "
        f"and marked by {column.name}={MISSING}"
    )
    return NumberCode(column.name, median, True, sign)


def _refuse_dates(column: Column, values: list[str]) -> None:
    sample = values[:1000]
    if sample and all(_DATE.fullmatch(value) for value in sample):
        raise column.error(
            f"column {column.name!r} holds dates or times, such as {values[0]!r}, which have no "
            "one meaning as features; turn it into numbers (say, days since a start) or leave it "
            f"out: drop=[{column.name!r}] (--drop {column.name})",
            0,
        )


def _say_signs(column: Column, values: list[str], notes: list[str]) -> bool:
    """Say it, and that it was said, where categories look like numbers with a sign or in groups."""
    sample = values[:1000]
    alike = [value for value in sample if _SIGNED_NUMBER.fullmatch(value)]
    odd = [value for value in alike if not is_number(value)]
    signed = bool(odd) and len(alike) >= _MOSTLY_NUMBERS * len(sample)
    if signed:
        hint = " or say decimal=',' (-O decimal=,)" if is_comma_number(odd[0]) else ""
        notes.append(
            f"{column.name}: looks like numbers, such as {odd[0]!r}, but is taken as categories; "
            f"write them as plain numbers{hint}"
        )
    return signed


def _fit_category(
    column: Column, missing: frozenset[str], cap: int, declared: bool, notes: list[str]
) -> CategoryCode:
    texts = column.texts(missing)
    share = column.share_of_numbers(missing)
    if not declared and len(texts.values) > _FEW_VALUES and share >= _MOSTLY_NUMBERS:
        row, word = column.first_word(missing)
        raise column.error(
            f"{word!r} is not a number, but {share:.1%} of column {column.name!r} are; correct "
            f"it, or call it missing (missing=[{word!r}]), or take the column as categories "
            f"(categorical=[{column.name!r}])",
            row,
        )
    if not declared:
        _refuse_dates(column, texts.values)
    if declared or not _say_signs(column, texts.values, notes):
        say_names(column, texts, notes)
    counts = np.bincount(texts.codes[texts.codes >= 0], minlength=len(texts.values))
    gaps = int((texts.codes < 0).sum())
    order = sorted(range(len(texts.values)), key=lambda code: (-counts[code], texts.values[code]))
    kept = sorted(texts.values[code] for code in order[:cap])
    if gaps:
        notes.append(f"{column.name}: {gaps} missing, kept as a category {column.name}={MISSING}")
    if len(order) > cap:
        notes.append(
            f"{column.name}: {len(order)} distinct values; the {cap} most frequent kept, "
            f"the others pooled as {column.name}={OTHER}"
        )
    return CategoryCode(column.name, tuple(kept), len(order) > cap, gaps > 0)


def _numbers_of(column: Column, missing: frozenset[str]) -> tuple[NDArray[np.float64] | None, str]:
    """Return the numbers of a column, and the sign that they are written with, if there is one."""
    values = column.numbers(missing)
    if values is not None or column.is_declared_category:
        return values, ""
    texts = column.texts(missing)
    sign = sign_of(texts.values)
    found = numbers_with(sign, texts) if sign else None
    return (found, sign or "") if isinstance(found, np.ndarray) else (None, "")


def fit_code(
    column: Column, missing: frozenset[str], cap: int, categorical: bool, notes: list[str]
) -> Code | None:
    """Decide on the whole column how it becomes features; None when it holds nothing."""
    values, sign = (None, "") if categorical else _numbers_of(column, missing)
    if values is not None and np.isnan(values[0]) and np.isnan(values).all():
        notes.append(f"{column.name}: no value in any row; left out")
        return None
    if values is not None:
        return _fit_number(column, values, sign, notes)
    if not categorical and is_prose(texts := column.texts(missing)):
        prose = fit_prose(column.name, texts, notes)
        if prose is not None:
            return prose
    return _fit_category(column, missing, cap, categorical, notes)


# ---- columns that number or name the rows: they separate the training rows and tell of no others


_IDENTIFIER = "looks like an identifier"
_FEWEST_ROWS = 10  # in fewer, values differ by chance
_NEARLY_ALL = 0.95
_WORDS_OF_A_NAME = 3
_SAMPLE = 200
_USUAL = re.compile(r"(.*[_. ])?(id|uuid|guid|index|rowid|row)|unnamed: ?0|__index_level_0__", re.I)


def say_names(column: Column, texts: Texts, notes: list[str]) -> None:
    """Add a note where texts, short ones, differ in nearly every row."""
    values, n_rows = texts.values, len(texts.codes)
    if n_rows < _FEWEST_ROWS or 2 * len(values) < n_rows:
        return
    held = int((texts.codes >= 0).sum())
    words = sum(len(value.split()) for value in values[:_SAMPLE])
    if len(values) < _NEARLY_ALL * held or words > _WORDS_OF_A_NAME * min(len(values), _SAMPLE):
        return
    nearly = "" if len(values) == held else "nearly "
    _say(column, f"a different value in {nearly}every row", notes)


def say_numbering(column: Column, values: NDArray[np.float64], notes: list[str]) -> None:
    """Add a note where a first column counts the rows, or numbers called id differ in each."""
    usual = _USUAL.fullmatch(column.name) is not None
    counting = column.number == 1 and values[0] in (0, 1)
    if len(values) < _FEWEST_ROWS or not (usual or counting):
        return
    if (values == np.arange(len(values)) + values[0]).all():
        _say(column, "counts the rows", notes)
    elif usual and (values == np.rint(values)).all() and len(np.unique(values)) == len(values):
        _say(column, "a different value in every row", notes)


def advised_drop(note: str) -> str | None:
    """Return the column that a note advises to leave out.

    >>> advised_drop("id: counts the rows, looks like an identifier; ... (--drop 'id')")
    'id'
    """
    _, advised, rest = note.rpartition("(--drop ")
    return str(literal_eval(rest.removesuffix(")"))) if advised and _IDENTIFIER in note else None


def _say(column: Column, what: str, notes: list[str]) -> None:
    notes.append(
        f"{column.name}: {what}, {_IDENTIFIER}; leave it out with "
        f"drop=[{column.name!r}] (--drop {column.name!r})"
    )


# ---- numbers as spreadsheets write them: ``$4.50``, ``12.3%``, ``1,234.50``


THOUSANDS = ","
_CURRENCIES = "$€£¥"
_NUMBER = re.compile(
    rf"(?P<minus>[-+]?)(?P<before>[{_CURRENCIES}]?) ?"
    r"(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?P<rest>(?:\.[0-9]+)?)"
    rf" ?(?P<after>[%{_CURRENCIES}]?)"
)
_DOUBTLESS = re.compile(r"[^,]*,[^,]*[,.].*")


def sign_of(values: Iterable[str]) -> str | None:
    """Return what the numbers are written with: a sign, thousands, or both; None if not all are.

    >>> sign_of(["$4.50", "$ 3"]), sign_of(["1,234.5", "7"]), sign_of(["-€1,234.50"])
    ('$', ',', '€,')
    >>> sign_of(["4%", "4"]), sign_of(["1,234", "5,678"]), sign_of(["about $4"])
    (None, None, None)
    """
    signs, grouped, doubtless = set[str](), False, False
    for value in values:
        found = _NUMBER.fullmatch(value)
        if found is None or (found["before"] and found["after"]):
            return None
        signs.add(found["before"] or found["after"])
        if len(signs) > 1:
            return None
        grouped = grouped or THOUSANDS in found["digits"]
        doubtless = doubtless or _DOUBTLESS.fullmatch(value) is not None
    if not signs or (grouped and not doubtless):
        return None
    return (signs.pop() + (THOUSANDS if grouped else "")) or None


def numbers_with(sign: str, texts: Texts) -> NDArray[np.float64] | int:
    """Return the numbers, NaN where missing, or the row of the first that is not written so.

    >>> numbers_with("$,", Texts(np.array([1, 0, -1], dtype=np.int32), ["$1,250", "-$3.5"]))
    array([  -3.5, 1250. ,    nan])
    """
    values = np.full(len(texts.values) + 1, np.nan)
    for at, text in enumerate(texts.values):
        values[at] = _value(sign, text)
    found, is_there = values[texts.codes], texts.codes >= 0
    odd = np.isnan(found) & is_there
    return int(np.argmax(odd)) if odd.any() else found


def _value(sign: str, text: str) -> float:
    """Return the number, NaN if the text is none with this sign, or too large for a float64."""
    found = _NUMBER.fullmatch(text)
    if found is None or found["before"] + found["after"] != sign.removesuffix(THOUSANDS):
        return math.nan
    if THOUSANDS in found["digits"] and THOUSANDS not in sign:
        return math.nan
    value = float(found["minus"] + found["digits"].replace(THOUSANDS, "") + found["rest"])
    return value if math.isfinite(value) else math.nan
