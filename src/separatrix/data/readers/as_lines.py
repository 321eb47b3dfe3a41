"""Files that are no lines, opened as lines: JSON arrays and Excel sheets become JSON Lines.

A stream goes on from a place in its file; here that is a place among these lines.
"""

from __future__ import annotations

import io
import json
import os
from typing import BinaryIO

from separatrix.data.options import ReadOptions
from separatrix.data.readers.delimited import as_utf8
from separatrix.data.readers.excel import as_json_lines
from separatrix.data.readers.json_records import looks_like_json, records_of
from separatrix.data.readers.kinds import kind_or_refusal, naming
from separatrix.data.sources.streams import Source, open_source
from separatrix.errors import DataError

_START = 1 << 12
_kept: dict[tuple[str, int, int], bytes] = {}  # the last file that was rewritten


def open_lines(path: str) -> BinaryIO:
    """Open a file whose lines are rows, or what it is as such lines."""
    file = open(path, "rb", buffering=0)  # noqa: SIM115 - the caller closes it
    try:
        start = os.pread(file.fileno(), _START, 0)
    except OSError:  # a pipe
        return file
    if not are_rewritten(start):
        return file
    file.close()
    return io.BytesIO(_rewritten(path))


def are_rewritten(start: bytes) -> bool:
    """Whether contents that begin so are no lines: an array of JSON, or a zip file."""
    is_array = start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[") and looks_like_json(start)
    return is_array or start.startswith(b"PK\x03\x04")


def _rewritten(path: str) -> bytes:
    facts = os.stat(path)
    key = (os.path.abspath(path), facts.st_size, facts.st_mtime_ns)
    if key not in _kept:
        _kept.clear()
        _kept[key] = lines_of(open_source(path))
    return _kept[key]


def lines_of(source: Source) -> bytes:
    """Return the rows of a JSON array or an Excel sheet as lines, each where it stood if it can."""
    kind = kind_or_refusal(source)
    try:
        if kind == "excel":
            return as_json_lines(source, ReadOptions())
        if kind != "json":
            message = f"a stream is made of lines of rows, and this is {kind}; convert it first"
            raise DataError(message, source.name, 1, 1)
        source = as_utf8(source, None)
        written, at = list[str](), 1
        for line, record in records_of(source.data.decode(), source.name):
            written += ["\n"] * (line - at)
            written.append(json.dumps(record) + "\n")
            at = max(at, line) + 1
        return "".join(written).encode()
    except DataError as error:
        raise naming(error, kind, source.name) from None
