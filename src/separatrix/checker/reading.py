"""The data file, read as the command line and the file say, never as a certificate says.

A CSV or TSV file has a header with different names, and numbers in every column but the target:
the column named on the command line, or the one of a usual name, or the last. LIBSVM text counts
columns from 1, or from 0 where an index 0 is there. Labels that are all numbers are ordered by
value, others as text; of two classes the second is the positive one.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import math
import re
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from .codec import VERIFY, Claim, Refused, as_number, in_order, same_label
from .exact import Data, Row

USUAL_NAMES = ("target", "class", "label", "labels", "y", "outcome", "category", "income", "type")
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_LONGEST_LINE, _LARGEST_INDEX = 1 << 26, 2**31
_EXPANSION, _SMALL = 200, 1 << 22  # characters read for each byte of a file, and those besides
_ODD_BLANK = re.compile(r"[^\S \t]")
_PLAIN = frozenset("0123456789+-.eE")
Cells = list[tuple[int, str]]  # column number and text
Read = tuple[list[str], list[Cells], int, list[str]]


class Unreadable(Refused):
    """The data file is not what it must be; the message says where."""


def require_file(path: Path, most: float = math.inf) -> int:
    """Return the size of a file; refuse a device or a pipe, which may have no end."""
    size = path.stat().st_size
    if not path.is_file() or size > most:
        raise OSError(f"{path} is no regular file, or is too long")
    return size


def read_data(options: Namespace, about: Claim) -> tuple[Data, list[str]]:
    """Return the data of a file, and how it was read, in lines."""
    path = Path(options.data)
    room = _SMALL + _EXPANSION * require_file(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes.pop() if suffixes[-1:] and suffixes[-1] in OPENERS else ""
    kind = options.kind or (suffixes[-1][1:] if suffixes[-1:] in ([".csv"], [".tsv"]) else "libsvm")
    with OPENERS.get(packed, open)(path, "rt", encoding="utf-8-sig", newline="") as file:
        read = _libsvm if kind == "libsvm" else partial(_table, "\t" if kind == "tsv" else ",")
        labels, rows, d, said = read(_lines(file, room), options, about)
    if not rows:
        raise Unreadable("there is no row")
    codes = in_order(labels)
    spelled = {codes[name]: name for name in reversed(codes)}  # as each occurs first
    names = tuple(spelled[code] for code in sorted(spelled))
    if options.positive is not None:
        chosen = {name for name in codes if same_label(name, options.positive)}
        if not chosen:
            raise Unreadable(f"there is no class {options.positive!r}")
        codes, names = {name: int(name in chosen) for name in codes}, ("0", "1")
        positive = f"classes: 1 (the sign +1) is {options.positive!r}"
        said.append(f"{positive}, 0 (-1) is every other label")
    elif len(names) == 2:
        said.append(f"classes: {names[0]!r} has the sign -1, {names[1]!r} has +1")
    else:
        said.append(f"classes: {', '.join(f'{k} is {name!r}' for k, name in enumerate(names))}")
    decimals = about.decimals
    if decimals is not None and len(decimals) != d:
        raise Refused(f"decimals must be one number a column, and there are {d} columns")
    said.insert(-1, f"rows: all {len(rows)}")
    exact = [_values(cells, decimals, at) for at, cells in enumerate(rows)]
    return Data(exact, [codes[label] for label in labels], d, len(names), names), said


def _lines(file: Any, room: int) -> Iterator[str]:
    while line := file.readline(_LONGEST_LINE):
        room -= len(line)
        if len(line) == _LONGEST_LINE:
            raise Unreadable("a line has more than 67 million characters")
        if room < 0:
            raise Unreadable(f"its contents are over {_EXPANSION} times its size: unpack it first")
        yield line


def _refuse_more(found: int, claimed: int, what: str) -> None:
    """Refuse more than the certificate speaks of, before the rest is read."""
    if found > claimed:
        raise Refused(f"the certificate speaks of {claimed} {what}, and there are more")


def _values(cells: Cells, decimals: Sequence[int] | None, at: int) -> Row:
    texts = [text for _, text in cells]
    if decimals is None and _PLAIN.issuperset("".join(texts)):  # the quick way
        with suppress(ValueError):
            values = list(map(float, texts))
            if max(map(abs, values), default=0.0) < math.inf:
                return _entries((j, value) for (j, _), value in zip(cells, values, strict=True))
    found = {}
    for j, text in cells:
        try:
            found[j] = number(text, None if decimals is None else decimals[j])
        except Refused as reason:
            raise Unreadable(f"row {at}, column {j}: {reason}") from None
    return _entries(found.items())


def _entries(values: Iterable[tuple[int, float]]) -> Row:
    kept = [(j, value) for j, value in values if value]
    return [j for j, _ in kept], [value for _, value in kept]


def number(text: str, places: int | None) -> float:
    """Return the nearest float64; or a decimal times 10**places, an integer that a float holds.

    >>> number("0.125", None), number("0.125", 3)
    (0.125, 125.0)
    """
    if (exact := as_number(text)) is None:
        raise Refused(f"{text[:40]!r} is not a number, or too long a one; {VERIFY}")
    value = float(text)
    if not math.isfinite(value):
        raise Refused(f"{text[:40]!r} is too large for a float64")
    if places is None:
        return value
    exact *= 10**places
    if exact.denominator != 1 or abs(exact) > 2**53:
        raise Refused(f"{text[:40]} times 10**{places} is not an integer below 2**53")
    return float(exact)


def _libsvm(lines: Iterable[str], options: Namespace, about: Claim) -> Read:
    """Read lines ``label [qid:n] index:value ... [# comment]``."""
    if about.columns is not None or about.target is not None:
        raise Refused("the certificate names columns and a target, which LIBSVM text does not have")
    labels, rows = list[str](), list[Cells]()
    for at, line in enumerate(lines):
        kept = line.split("#", 1)[0].rstrip("\r\n")
        if _ODD_BLANK.search(kept):
            raise Unreadable(f"line {at + 1} has a blank that is no space and no tab")
        words = kept.split(maxsplit=about.features + 2)
        if not words:
            continue
        _refuse_more(len(rows) + 1, about.rows, "rows")
        cells = []
        for word in words[1:]:
            index, colon, text = word.partition(":")
            if index == "qid":
                continue
            if not (colon and index.isascii() and index.isdigit() and int(index) <= _LARGEST_INDEX):
                raise Unreadable(f"line {at + 1}: expected index:value, got {word[:40]!r}")
            cells.append((int(index), text))
        if any(left >= right for (left, _), (right, _) in pairwise(cells)):
            raise Unreadable(f"line {at + 1}: the indices do not ascend")
        _refuse_more(len(cells), about.features, "columns")
        labels.append(words[0])
        rows.append(cells)
    zero_based = options.zero_based or any(cells and cells[0][0] == 0 for cells in rows)
    if (about.zero_based or False) != zero_based:
        raise Refused("zero_based: the certificate and the file count columns differently")
    first = 0 if zero_based else 1
    d = max((cells[-1][0] for cells in rows if cells), default=first - 1) + 1 - first
    d = max(d, options.features or 0)
    rows = [[(j - first, text) for j, text in cells] for cells in rows]
    said = [f"target: the first word of each line; columns: {d}, counted from {first}"]
    return labels, rows, d, said


def _table(delimiter: str, lines: Iterable[str], options: Namespace, about: Claim) -> Read:
    """Read a header and records of as many fields."""
    if about.zero_based is not None:
        raise Refused("zero_based is for LIBSVM text")
    records = _records(csv.reader(lines, delimiter=delimiter, strict=True))
    header = [name.strip() for name in next(records, (1, []))[1]]
    if len(set(header)) != len(header) or len(header) < 2:
        raise Unreadable(f"the header must name two columns or more, each once; {VERIFY}")
    target, why = _target(header, options.target)
    dropped = set(options.drop)
    columns = [name for name in header if name != target and name not in dropped]
    if missing := dropped - set(header):
        raise Unreadable(f"there is no column {sorted(missing)[0]!r}")
    if about.target not in (None, target) or about.columns not in (None, columns):
        raise Refused(
            f"the certificate names the target {about.target!r} and the columns {about.columns}; "
            f"the target is {target!r} ({why}), the columns are {columns}; "
            f"{VERIFY}"
        )
    _refuse_more(len(columns), about.features, "columns")
    at_target = header.index(target)
    places = [at for at, name in enumerate(header) if at != at_target and name not in dropped]
    labels, rows = list[str](), list[Cells]()
    for line, record in records:
        if not record:
            continue
        _refuse_more(len(rows) + 1, about.rows, "rows")
        if len(record) != len(header):
            raise Unreadable(f"line {line} has {len(record)} fields of {len(header)}")
        labels.append(record[at_target].strip())
        rows.append([(j, record[at].strip()) for j, at in enumerate(places)])
    said = [f"target: {target!r} ({why}); columns: {len(columns)}, {', '.join(columns[:20])}"]
    said[0] += " ..." if len(columns) > 20 else ""
    return labels, rows, len(columns), said


def _records(reader: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of a table, each with the number of its last line."""
    try:
        for record in reader:
            yield reader.line_num, record
    except csv.Error as error:
        raise Unreadable(f"line {reader.line_num}: {error}") from None


def _target(header: list[str], given: str | None) -> tuple[str, str]:
    """Return the target's name, and why it is the target."""
    if given is not None:
        if given not in header:
            raise Unreadable(f"there is no column {given!r} to be the target")
        return given, "by --target"
    for usual in USUAL_NAMES:
        named = [name for name in header if name.casefold() == usual]
        if len(named) == 1:
            return named[0], "by its name; --target chooses another"
    return header[-1], "the last column; --target chooses another"
