"""Parts of a chunk of lines, as bytes with their place in the file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from separatrix.data.sources.line_feed import Chunk
    from separatrix.data.stream_rows import Batch, Parser


def readable(parser: Parser, chunk: Chunk) -> Batch | None:
    """Return the rows of the lines that can be read; those that cannot are dealt with later."""
    from separatrix.errors import DataError

    while True:
        try:
            return parser.parse(chunk)
        except DataError as error:
            begin, end = span_of(chunk, error.line or 0)
            if begin < 0 or end - begin == len(chunk.data):
                raise
            chunk = replace(chunk, data=chunk.data[:begin] + chunk.data[end:])


def part(chunk: Chunk, begin: int, end: int) -> Chunk:
    """Return the lines between two bytes of the chunk."""
    return replace(
        chunk,
        offset=chunk.offset + begin,
        line=chunk.line + chunk.data.count(b"\n", 0, begin),
        data=chunk.data[begin:end],
    )


def without(chunk: Chunk, header: int) -> Chunk:
    """Return the chunk without so many bytes at its beginning."""
    return part(chunk, header, len(chunk.data)) if header else chunk


def first_lines(chunk: Chunk, count: int) -> Chunk:
    """Return the first so many lines."""
    end = 0
    for _ in range(count):
        after = chunk.data.find(b"\n", end)
        if after < 0:
            return chunk
        end = after + 1
    return part(chunk, 0, end)


def span_of(chunk: Chunk, line: int) -> tuple[int, int]:
    """Return the bytes of a line of the chunk; -1 where it is not there."""
    begin = 0
    for _ in range(line - chunk.line):
        after = chunk.data.find(b"\n", begin)
        if after < 0:
            return -1, -1
        begin = after + 1
    if line < chunk.line or begin >= len(chunk.data):
        return -1, -1
    after = chunk.data.find(b"\n", begin)
    return begin, len(chunk.data) if after < 0 else after + 1
