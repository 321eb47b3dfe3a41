"""The first records of a CSV or TSV file: separator, comments above, header, names of columns."""

from __future__ import annotations

import csv
from collections import Counter
from functools import cached_property

from separatrix._compiled import compiled, for_work
from separatrix.data.encodings.columns import (
    MISSING_WORDS,
    is_comma_number,
    is_number,
    is_surely_comma_number,
)
from separatrix.data.encodings.numbers import Octets
from separatrix.data.sources.streams import Source
from separatrix.errors import DataError

SAMPLE_BYTES = 1 << 18
_SEPARATORS = ",\t;|"
_SAMPLE_RECORDS = 200
_QUOTE, _NEWLINE, _RETURN = 34, 10, 13
_ORANGE_KINDS = {"d", "c", "s", "string", "discrete", "continuous", "basket", "time", "meta", ""}
_ORANGE_ROLES = {"class", "meta", "ignore", "i", "m", "c", ""}


@compiled
def _find_record(
    text: Octets, delimiter: int, target: int, n_fields: int
) -> tuple[int, int, int, int]:
    at = 0
    end = text.shape[0]
    record = 0
    while at < end:
        if text[at] == _NEWLINE or text[at] == _RETURN:
            at += 1
            continue
        start = at
        fields = 1
        fresh = True  # a quote opens a quoted field only at its start
        quoted = False
        while at < end:
            octet = text[at]
            if quoted:
                if octet == _QUOTE:
                    if at + 1 < end and text[at + 1] == _QUOTE:
                        at += 1
                    else:
                        quoted = False
            elif octet == _QUOTE and fresh:
                quoted = True
            elif octet == delimiter:
                fields += 1
            elif octet in (_NEWLINE, _RETURN):
                break
            fresh = not quoted and octet == delimiter
            at += 1
        if record == target or (n_fields > 0 and fields != n_fields):
            return record, start, at, fields
        record += 1
    return -1, end, end, 0


def find_record(
    text: Octets, delimiter: str, target: int = -1, n_fields: int = 0
) -> tuple[int, int, int, int]:
    """Find the record number ``target``, or the first that has not ``n_fields`` fields.

    Returns its number, the bytes where it starts and ends, and its fields; number -1 if none.

    >>> import numpy as np
    >>> text = np.frombuffer(b"a,b\\n1,2\\n3\\n", dtype=np.uint8)
    >>> find_record(text, ",", n_fields=2)
    (2, 8, 9, 1)
    """
    found = for_work(_find_record, len(text))(text, ord(delimiter), target, n_fields)
    return int(found[0]), int(found[1]), int(found[2]), int(found[3])


class Sample:
    """The first records of a file from byte ``start`` on, split in a given way."""

    def __init__(
        self, source: Source, separator: str, start: int = 0, most: int = _SAMPLE_RECORDS
    ) -> None:
        self._source, self._separator, self._start, self._most = source, separator, start, most

    @cached_property
    def records(self) -> list[list[str]]:
        """The fields of each record."""
        part = self._source.octets[self._start : self._start + SAMPLE_BYTES]
        cut_short = self._start + len(part) < len(self._source.data)
        found: list[list[str]] = []
        start = 0
        while len(found) < self._most:
            number, begin, end, _ = find_record(part[start:], self._separator, target=0)
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


def find_separator(source: Source, start: int = 0) -> str:
    r"""Choose the separator that cuts the first records into the same number of fields, the most.

    One by which the first record has another number of fields than most gives way to the others:
    in a table with decimal commas the names show what separates.

    >>> find_separator(Source("x", b"a;b;class\n0,1;-0,2;no\n0,3;0,4;yes\n"))
    ';'
    """
    best, best_score = ",", (False, 0.0, 0)
    for separator in "\t,;|" if source.suffix in (".tsv", ".tab") else _SEPARATORS:
        counts = [len(record) for record in Sample(source, separator, start, most=50).records]
        if not counts:
            break
        width, times = Counter(counts).most_common(1)[0]
        score = (counts[0] == width, round(times / len(counts), 1), width)
        if width > 1 and score > best_score:
            best, best_score = separator, score
    return best


def looks_like_table(source: Source) -> bool:
    r"""Whether the records are cut alike, and the name says a table or a column holds numbers.

    >>> looks_like_table(Source("x", b"a;b\n1,5;x\n2;z\n"))
    True
    >>> looks_like_table(Source("x", b"dull, and long\nshort, but dull\n"))
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


def end_of_comments(source: Source, separator: str | None) -> int:
    r"""Return the byte behind the lines of comment (#) above a table; 0 if there are none.

    Lines with as many fields as the records are no comments: names may start with # as well.

    >>> end_of_comments(Source("x", b"# of 2019\na,b\n1,2\n"), ",")
    10
    >>> end_of_comments(Source("x", b"#a,b\n1,2\n"), ",")
    0
    """
    data = bytes(source.data[:SAMPLE_BYTES])
    at, found = 0, list[tuple[int, str]]()
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        line = data[at:end].strip()
        if line and not line.startswith(b"#"):
            break
        if line:
            found.append((at, line.decode("utf-8", "replace")))
        at = end
    if not found or at >= len(data):
        return 0
    separator = separator or find_separator(source, at)
    records = Sample(source, separator, at).records
    headed = looks_like_header(records, separator)
    for start, text in reversed(found):
        width = len(_split(text, separator))
        if width == 1 or width != len(records[0]) or (headed and text.startswith("# ")):
            return at
        at = start
    return 0


def uses_decimal_commas(records: list[list[str]]) -> bool:
    """Whether some column of the first records holds numbers with decimal commas, beyond doubt."""
    for column in zip(*records, strict=False):
        cells = [
            cell for cell in column if cell not in MISSING_WORDS and not cell.lstrip("+-").isdigit()
        ]
        if any(map(is_surely_comma_number, cells)) and all(map(is_comma_number, cells)):
            return True
    return False


def looks_like_header(records: list[list[str]], separator: str = ",") -> bool:
    """Decide whether the first record names the columns."""
    first, rest = records[0], records[1:]
    if separator != "," and any(map(is_comma_number, first)):
        return False
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


def names_of(source: Source, first: list[str], header: bool, line: int = 1) -> list[str]:
    """Return the names of the columns; those that are called the same are refused."""
    if not header:
        return [f"column{number}" for number in range(1, len(first) + 1)]
    names = [name or f"column{number}" for number, name in enumerate(first, 1)]
    numbers: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if name in numbers:
            raise DataError(
                f"columns {numbers[name]} and {number} are both called {name!r}; rename one of "
                "them (only if this line holds values, not names: --no-header)",
                file=source.name,
                line=line,
                column=number,
            )
        numbers[name] = number
    return names
