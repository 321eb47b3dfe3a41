"""Whole lines, a chunk at a time, from standard input and from files that may still grow.

A place in a file is a byte, the number of lines before it, and two digests: of the file's beginning
and of what stands just before the place. Reading goes on from a place only where both still agree.
"""

from __future__ import annotations

import hashlib
import io
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.data.sources.streams import STDIN, compression_of, no_such_file, refuse_device
from separatrix.errors import DataError

_HEAD, _TAIL = 1 << 16, 1 << 12
_LONGEST_LINE = 64 << 20
_SIZE = 1 << 20
_NAP = 0.2
_NEWLINE = 10


@dataclass
class Place:
    """Where reading stands in a file."""

    path: str
    offset: int = 0
    lines: int = 0
    head: str = ""
    tail: str = ""

    def sealed(self) -> Place:
        """Return the place with the digests of what has been read."""
        if self.path == STDIN:
            return Place(self.path, self.offset, self.lines)
        return Place(self.path, self.offset, self.lines, *_digests(self.path, self.offset))

    def require_unchanged(self) -> None:
        """Refuse a file that is not the one that was read from, or that was cut short."""
        if self.path == STDIN or self.offset == 0:
            return
        size = _size(self.path)
        if size < self.offset:
            raise DataError(
                f"the file has {size:,} bytes, and {self.offset:,} of it were learned before: it "
                "was cut short or replaced. Start anew with --fresh, or give the right file",
                file=self.path,
            )
        if (self.head, self.tail) != _digests(self.path, self.offset):
            raise DataError(
                f"what was learned before, up to byte {self.offset:,}, now reads otherwise: the "
                "file was changed or replaced. Start anew with --fresh, or give the right file",
                file=self.path,
            )


def _size(path: str) -> int:
    """Return how many bytes the lines of a file take."""
    from separatrix.data.readers.kinds import open_lines

    with open_lines(path) as file:
        return file.seek(0, os.SEEK_END)


def _digests(path: str, offset: int) -> tuple[str, str]:
    from separatrix.data.readers.kinds import open_lines

    with open_lines(path) as file:
        head = file.read(min(_HEAD, offset))
        file.seek(max(0, offset - _TAIL))
        tail = file.read(min(_TAIL, offset))
    return hashlib.sha256(head).hexdigest(), hashlib.sha256(tail).hexdigest()


@dataclass(frozen=True)
class Chunk:
    """Whole lines: where they begin, and their bytes; none in an idle moment of a followed file."""

    place: Place
    offset: int
    line: int  # the number of the first line, from 1
    data: bytes

    @cached_property
    def newlines(self) -> int:
        """How many line ends there are: counted once, and faster than `bytes.count` does."""
        return int(np.count_nonzero(np.frombuffer(self.data, dtype=np.uint8) == _NEWLINE))

    @property
    def name(self) -> str:
        """What to call the file in a message."""
        return "standard input" if self.place.path == STDIN else self.place.path


@dataclass
class LineFeed:
    """Chunks of the files, one file after another; `follow` waits for more when all are read.

    The caller moves a place on, by `passed`, once a chunk is dealt with.
    """

    places: list[Place]
    follow: bool = False
    size: int = _SIZE

    def __iter__(self) -> Iterator[Chunk]:
        opened: list[_Opened] = []
        try:
            for place in self.places:
                opened.append(_Opened(place, self.follow))
            for file in opened:
                yield from self._chunks(file, at_end=not self.follow)
            while self.follow:
                found = False
                for file in opened:
                    for chunk in self._chunks(file, at_end=False):
                        found = True
                        yield chunk
                if not found:
                    place = opened[-1].place
                    yield Chunk(place, place.offset, place.lines + 1, b"")
                    time.sleep(_NAP)
        finally:
            for file in opened:
                file.close()

    def _chunks(self, file: _Opened, at_end: bool) -> Iterator[Chunk]:
        """Yield what is there now; with `at_end` a last line may do without its newline."""
        while True:
            piece = file.read(self.size)
            whole, file.rest = _cut(file.rest + piece if file.rest else piece)
            if not piece and at_end:
                whole, file.rest = whole + file.rest, b""
            if len(file.rest) > _LONGEST_LINE:
                raise DataError(
                    f"a line is longer than {_LONGEST_LINE:,} bytes: is this a file of lines?",
                    file=file.place.path,
                    line=file.line,
                    column=1,
                )
            if whole:
                chunk = Chunk(file.place, file.offset, file.line, whole)
                file.offset += len(whole)
                file.line += chunk.newlines
                yield chunk
            if not piece:
                return


def passed(chunk: Chunk, upto: int) -> None:
    """Move the place of the chunk's file behind its first `upto` bytes."""
    chunk.place.offset = chunk.offset + upto
    whole = upto == len(chunk.data)
    before = chunk.newlines if whole else chunk.data.count(b"\n", 0, upto)
    chunk.place.lines = chunk.line - 1 + before
    if whole and upto and not chunk.data.endswith(b"\n"):
        chunk.place.lines += 1


def _cut(data: bytes) -> tuple[bytes, bytes]:
    end = data.rfind(b"\n") + 1
    return data[:end], data[end:]


class _Opened:
    """One file being read, from its place on."""

    def __init__(self, place: Place, follow: bool = False) -> None:
        from separatrix.data.readers.kinds import open_lines

        self.place, self.rest = place, b""
        self.offset, self.line = place.offset, place.lines + 1
        if place.path == STDIN:
            # What was learned before is not sent again: the numbers go on.
            self._file: Any = sys.stdin.buffer
            return
        try:
            self._file = open_lines(place.path)
        except FileNotFoundError:
            raise no_such_file(place.path) from None
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", file=place.path) from None
        try:
            refuse_device(self._file, place.path)
        except DataError:
            self.close()
            raise
        self._rewritten = isinstance(self._file, io.BytesIO)
        if self._rewritten and follow:
            raise DataError(
                "a JSON array or an Excel file cannot be followed, since it does not grow by "
                "lines; write JSON Lines, an object a line",
                file=place.path,
            )
        start = self._file.read(8) or b""
        if place.offset == 0:
            self._refuse_compressed(start)
        self._file.seek(place.offset)

    def _refuse_compressed(self, start: bytes) -> None:
        kind = compression_of(start)
        if kind:
            self.close()
            raise DataError(
                f"the file is compressed ({kind}); decompress it on the way: "
                f"zcat {Path(self.place.path).name} | separatrix stream -m model.sx -",
                file=self.place.path,
            )

    def read(self, size: int) -> bytes:
        """Read what is there, at most `size` bytes; nothing at the end."""
        if self.place.path == STDIN:
            return bytes(self._file.read1(size))
        piece = self._file.read(size) or b""
        if not piece and not self._rewritten and os.stat(self.place.path).st_size < self.offset:
            raise DataError("the file was cut short while it was read", file=self.place.path)
        return bytes(piece)

    def close(self) -> None:
        if self.place.path != STDIN:
            self._file.close()
