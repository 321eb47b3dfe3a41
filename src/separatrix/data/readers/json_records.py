"""JSON: lines of objects (JSON Lines, ndjson), or one array of objects; whole or as text comes.

    {"age": 39, "job": "clerk", "class": "no"}
    {"age": 50, "class": "yes"}

Objects may span lines. A key twice in an object, an array of anything but objects, and one object
that holds the table in another layout are refused.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from separatrix.data.options import ReadOptions
from separatrix.data.readers.delimited import as_utf8
from separatrix.data.readers.records import Records, read_records
from separatrix.data.sources.streams import LONGEST_LINE, Source
from separatrix.errors import DataError

NAMES = (".json", ".jsonl", ".ndjson", ".jsonlines", ".jl")
_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:\{\s*[\"}]|\[\s*[{\]])")
_BLANKS = re.compile(r"[ \t\r\n]*")
_LAYOUT = (
    "; JSON is read as a list of records, [{...}, {...}], or an object a line (pandas: "
    "to_json(orient='records', lines=True))"
)


class _Twice(Exception):
    """A key stands twice in an object."""


def looks_like_json(data: bytes) -> bool:
    """Whether contents begin as an object, or as an array of objects.

    >>> looks_like_json(b' [\\n {"a": 1}]'), looks_like_json(b"{1 X, 3 Y}")
    (True, False)
    """
    return _START.match(data) is not None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _Twice(next(key for at, key in enumerate(keys) if key in keys[:at]))
    return found


def _constant(name: str) -> float | None:
    return None if name == "NaN" else float(name)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


class JsonRecords:
    """The records of text that comes in pieces, each with its line; `more` gives "" at the end."""

    def __init__(self, more: Callable[[], str], name: str) -> None:
        self._more, self._name = more, name
        self._text, self._at, self._ended = "", 0, False
        self._line, self._counted = 1, 0
        self._column = 0  # characters of the present line that were let go of

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        first = self._next()
        if first != "[":
            while self._next():
                yield self._record("each line of JSON Lines is an object", _LAYOUT)
            return
        self._at += 1
        if self._next() != "]":
            while True:
                yield self._record("an array of JSON holds records, objects in braces", _LAYOUT)
                if self._next() != ",":
                    break
                self._at += 1
                self._next()
        if self._next() != "]":
            what = "is cut short" if not self._next() else "is broken here"
            raise self._error(f"the JSON {what}: expected ',' or ']' after a record")
        self._at += 1
        if self._next():
            raise self._error("the JSON goes on after the end of its array; give one array")

    def _next(self) -> str:
        """Return the next character that is no blank, without taking it; "" at the end."""
        while True:
            found = _BLANKS.match(self._text, self._at)
            assert found is not None
            self._at = found.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._extended():
                return ""

    def _extended(self) -> bool:
        """Let go of what was read and bring in as much again as there is; False at the end."""
        if self._ended:
            return False
        self._count(self._at)
        end = self._text.rfind("\n", 0, self._at)
        self._column = self._at - end - 1 if end >= 0 else self._column + self._at
        kept = [self._text[self._at :]]
        self._at = self._counted = 0
        needed = 2 * len(kept[0]) + 1
        while sum(map(len, kept)) < needed:
            piece = self._more()
            if not piece:
                self._ended = True
                break
            kept.append(piece)
        grown = len(kept) > 1
        self._text = "".join(kept)
        return grown

    def _count(self, at: int) -> int:
        """Return the line of a place at or behind the last one that was counted."""
        self._line += self._text.count("\n", self._counted, at)
        self._counted = at
        return self._line

    def _record(self, otherwise: str, layout: str) -> tuple[int, dict[str, Any]]:
        if self._text[self._at : self._at + 1] != "{":
            raise self._error(otherwise + layout)
        while True:
            try:
                record, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                begun, long = self._at, len(self._text) - self._at > LONGEST_LINE
                if not long and self._extended():
                    continue
                at = error.pos - begun + self._at
                raise self._error(f"the JSON is broken here ({_in_words(error)})", at) from None
            except _Twice as twice:
                raise self._error(
                    f"the key {str(twice)!r} stands twice in an object of the JSON; keep one"
                ) from None
            except RecursionError:
                raise self._error("the JSON is nested too deeply to be a table") from None
            except ValueError as error:
                raise self._error(f"a number of the JSON cannot be read ({error})") from None
            line = self._count(self._at)
            self._at = end
            return line, record

    def _error(self, message: str, at: int | None = None) -> DataError:
        at = self._at if at is None else at
        line = self._line + self._text.count("\n", self._counted, at)
        end = self._text.rfind("\n", 0, at)
        column = at - end if end >= 0 else at + 1 + self._column
        return DataError(message, self._name, line, column)


def _in_words(error: json.JSONDecodeError) -> str:
    return error.msg[:1].lower() + error.msg[1:]


def records_of(text: str, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line and the values of every record of a whole text.

    >>> list(records_of('[{"a": 1},\\n {"a": null}]', "x.json"))
    [(1, {'a': 1}), (2, {'a': None})]
    """
    pieces = iter([text])
    return iter(JsonRecords(lambda: next(pieces, ""), name))


def gathered(found: Iterator[tuple[int, dict[str, Any]]], name: str) -> Records:
    """Return records as columns; one object that holds a table in another layout is refused."""
    records, last = Records(name), dict[str, Any]()
    for line, record in found:
        if "" in record:
            record = {key or "(no name)": value for key, value in record.items()}
        records.add(record, line)
        last = record
    if len(records) == 1 and any(isinstance(value, dict) for value in last.values()):
        raise DataError("the JSON is one object of other objects" + _LAYOUT, name, 1, 1)
    if len(records) == 1 and _holds_tables(last):
        raise DataError("the JSON is one object of lists" + _LAYOUT, name, 1, 1)
    return records


def _holds_tables(record: dict[str, Any]) -> bool:
    lists = [value for value in record.values() if isinstance(value, list)]
    if any(isinstance(part, list | dict) for value in lists for part in value):
        return True
    return len(lists) > 1 and len(lists) == len(record)


def read_json(source: Source, options: ReadOptions, encoding: Any) -> dict[str, Any]:
    """Read a whole file."""
    source = as_utf8(source, options.encoding)
    records = gathered(records_of(source.data.decode(), source.name), source.name)
    return read_records(records, source, options, encoding)


def json_blocks(take: Callable[[], bytes], name: str, rows: int) -> Iterator[Records]:
    """Yield so many rows at a time of UTF-8 that comes in pieces."""
    decoder = codecs.getincrementaldecoder("utf-8")()

    def more() -> str:
        while octets := take():
            text = _decoded(decoder, octets, name)
            if text:
                return text
        return _decoded(decoder, b"", name)

    held = Records(name)
    some = False
    for line, record in JsonRecords(more, name):
        held.add({key or "(no name)": value for key, value in record.items()}, line)
        if len(held) == rows:
            yield held
            held, some = Records(name), True
    if len(held) or not some:
        yield held


def _decoded(decoder: Any, octets: bytes, name: str) -> str:
    try:
        text: str = decoder.decode(octets, final=not octets)
    except UnicodeDecodeError as error:
        raise DataError(
            f"the JSON is not UTF-8 text ({error.reason}); if it is in another encoding, say so "
            "(--encoding latin-1)",
            name,
            1,
            1,
        ) from None
    return text
