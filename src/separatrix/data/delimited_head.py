"""The first records of a CSV or TSV file: separator, comments above, header, names of columns."""

from __future__ import annotations

import csv
from collections import Counter
from functools import cached_property

from separatrix.data.cells import find_record
from separatrix.data.columns import is_number
from separatrix.data.streams import Source
from separatrix.errors import DataError

__all__ = [
    "SAMPLE_BYTES",
    "Sample",
    "find_separator",
    "is_orange_kinds",
    "looks_like_header",
    "looks_like_table",
    "names_of",
    "orange_target",
]

SAMPLE_BYTES = 1 << 18
_SEPARATORS = ",\t;|"
_SAMPLE_RECORDS = 200
_ORANGE_KINDS = {"d", "c", "s", "string", "discrete", "continuous", "basket", "time", "meta", ""}
_ORANGE_ROLES = {"class", "meta", "ignore", "i", "m", "c", ""}


class Sample:
    """The first records of a file, split in a given way."""

    def __init__(self, source: Source, separator: str) -> None:
        self._source, self._separator = source, separator

    @cached_property
    def records(self) -> list[list[str]]:
        """The fields of each record."""
        part = self._source.octets[:SAMPLE_BYTES]
        cut_short = len(part) < len(self._source.data)
        found: list[list[str]] = []
        start = 0
        while len(found) < _SAMPLE_RECORDS:
            number, begin, end, _ = find_record(part[start:], self._separator, wanted=0)
            if number < 0 or (cut_short and found and start + end == len(part)):
                break
            text = bytes(part[start + begin : start + end]).decode("utf-8", "replace")
            found.append(_split(text, self._separator))
            start += end
        return found


def _split(record: str, separator: str) -> list[str]:
    """Split one record into its fields, without their quotes."""
    if '"' not in record:
        return [field.strip(" \t") for field in record.split(separator)]
    try:
        fields = next(csv.reader([record], delimiter=separator), [])
    except csv.Error:
        fields = record.split(separator)
    return [field.strip(" \t") for field in fields]


def find_separator(source: Source) -> str:
    """Choose the separator that cuts the first records into the same number of fields, the most."""
    best, best_score = ",", (0.0, 0)
    for separator in "\t,;|" if source.suffix in (".tsv", ".tab") else _SEPARATORS:
        counts = [len(record) for record in Sample(source, separator).records[:50]]
        if not counts:
            break
        width, times = Counter(counts).most_common(1)[0]
        score = (round(times / len(counts), 1), width)
        if width > 1 and score > best_score:
            best, best_score = separator, score
    return best


def looks_like_table(source: Source) -> bool:
    r"""Whether the records are cut alike, and the name says a table or a column holds numbers.

    >>> looks_like_table(Source("x", b"a;b\n1,5;x\n2;z\n", "", "", ""))
    True
    >>> looks_like_table(Source("x", b"dull, and long\nshort, but dull\n", "", "", ""))
    False
    """
    records = Sample(source, find_separator(source)).records
    if not records:
        return False
    width, times = Counter(map(len, records)).most_common(1)[0]
    if width > 1 and source.suffix in (".csv", ".tsv", ".tab"):
        return times >= 0.9 * len(records)
    if times < len(records) or len(records) < 2:
        return False
    columns = zip(*records[1:], strict=True)
    return any(all(is_number(cell.replace(",", ".")) for cell in column) for column in columns)


def looks_like_header(records: list[list[str]]) -> bool:
    """Decide whether the first record names the columns."""
    first, rest = records[0], records[1:]
    if not rest:
        return not any(is_number(name) for name in first)
    numbered = [name for name in first if is_number(name)]
    if numbered:
        # A frame without names is written with 0, 1, 2... as its header.
        counting = [str(number) for number in range(len(first) + 1)]
        return numbered in (counting[: len(numbered)], counting[1 : len(numbered) + 1]) and (
            len(numbered) >= max(3, len(first) - 1)
        )
    if any(name == "?" for name in first):
        return False
    columns = [[record[at] for record in rest if at < len(record)] for at in range(len(first))]
    recurring = sum(name in cells for name, cells in zip(first, columns, strict=True))
    return recurring * 2 <= len(first) and (recurring == 0 or len(set(first)) == len(first))


def is_orange_kinds(fields: list[str]) -> bool:
    """Whether a line is the second of the three with which Orange starts its tables."""
    return any(fields) and all(field.strip().lower() in _ORANGE_KINDS for field in fields)


def orange_target(records: list[list[str]]) -> tuple[bool, str | None]:
    """Recognise Orange's three header lines; return whether they are there, and the class."""
    if len(records) < 3:
        return False, None
    kinds, roles = records[1], records[2]
    if not is_orange_kinds(kinds):
        return False, None
    if not all(role.split("=")[0] in _ORANGE_ROLES for role in roles):
        return False, None
    named = [name for name, role in zip(records[0], roles, strict=False) if role in ("class", "c")]
    return True, named[0] if named else None


def names_of(source: Source, first: list[str], header: bool) -> list[str]:
    """Return the names of the columns; those that are called the same are refused."""
    if not header:
        return [f"column{number}" for number in range(1, len(first) + 1)]
    names = [name or f"column{number}" for number, name in enumerate(first, 1)]
    seen: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if name in seen:
            raise DataError(
                f"columns {seen[name]} and {number} are both called {name!r}; rename one, "
                "or say that there is no header (--no-header)",
                file=source.name,
                line=1,
                column=number,
            )
        seen[name] = number
    return names
