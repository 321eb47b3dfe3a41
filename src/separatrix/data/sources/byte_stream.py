"""Bytes of a file or of standard input, a piece at a time, decompressed and as UTF-8.

Whatever the size of the file, no more than a piece of it is in memory.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from separatrix.data.sources.streams import (
    LONGEST_LINE,
    MAGIC,
    STDIN,
    XZ_MEMORY,
    endless,
    no_such_file,
    refuse_device,
)
from separatrix.errors import DataError

__all__ = ["Pieces", "open_pieces"]

_STEP = 1 << 20


class Pieces:
    """Pieces of a stream of bytes that end where the caller says."""

    def __init__(self, name: str, suffix: str, stream: Any, encoding: str | None) -> None:
        self.name, self.suffix, self.is_compressed = name, suffix, False
        self._stream, self._ended = stream, False
        self._held = bytearray()
        self._decoder: Any = None
        self._fill(4)
        if encoding is None and bytes(self._held[:2]) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            encoding = "utf-16"
        if encoding is not None:
            self._decode_from_now(encoding)
            self._fill(4)
        if self._held.startswith(codecs.BOM_UTF8):
            self.skip(len(codecs.BOM_UTF8))

    def skip(self, size: int) -> None:
        """Leave the next bytes out."""
        self._fill(size)
        del self._held[:size]

    def _decode_from_now(self, encoding: str) -> None:
        try:
            self._decoder = codecs.getincrementaldecoder(encoding)()
        except LookupError:
            raise DataError(f"there is no encoding {encoding!r}; try 'latin-1'") from None
        begun = bytes(self._held)
        self._held = bytearray()
        self._keep(begun)

    def _keep(self, read: bytes) -> None:
        if self._decoder is None:
            self._held += read
            return
        try:
            self._held += self._decoder.decode(read, final=not read).encode("utf-8")
        except UnicodeError as error:
            raise DataError(f"the file is not in that encoding ({error})", self.name) from None

    def _fill(self, size: int) -> None:
        while len(self._held) < size and not self._ended:
            read = self._read(max(_STEP, size - len(self._held)))
            self._ended = not read
            self._keep(read)

    def _read(self, size: int) -> bytes:
        try:
            read: bytes = self._stream.read(size)
        except (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error) as error:
            raise DataError(f"the file cannot be read: {error}", self.name) from None
        return read

    def peek(self, size: int) -> bytes:
        """Return the next bytes without taking them."""
        self._fill(size)
        return bytes(self._held[:size])

    def take(self, size: int, cut: Any) -> bytes:
        """Take about so many bytes; `cut(bytes)` says where the piece may end, 0 for nowhere."""
        while True:
            self._fill(size)
            if self._ended and len(self._held) <= size:
                piece = bytes(self._held)
                self._held = bytearray()
                return piece
            end = cut(bytes(self._held[:size]))
            if end:
                piece = bytes(self._held[:end])
                del self._held[:end]
                return piece
            if size >= LONGEST_LINE:
                raise endless(self.name)
            size *= 2  # a line, or a quoted cell, longer than a piece

    def rest(self) -> bytes:
        """Take everything."""
        while not self._ended:
            self._fill(len(self._held) + _STEP)
        piece = bytes(self._held)
        self._held = bytearray()
        return piece


class _XzStream:
    """An xz stream read with a bound on the memory its headers may ask for."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = lzma.LZMADecompressor(memlimit=XZ_MEMORY)

    def read(self, size: int) -> bytes:
        while not self._decoder.eof:
            taken = self._stream.read(_STEP) if self._decoder.needs_input else b""
            if not taken and self._decoder.needs_input:
                raise EOFError("the compressed data are cut short")
            piece = self._decoder.decompress(taken, size)
            if piece:
                return piece
        return b""


class _ZstdStream:
    """A zstd stream by pyarrow."""

    def __init__(self, stream: BinaryIO) -> None:
        import pyarrow as pa

        self._stream = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")

    def read(self, size: int) -> bytes:
        contents: bytes = self._stream.read_buffer(size).to_pybytes()
        return contents


_OPENERS: dict[str, Any] = {
    ".gz": lambda stream: gzip.GzipFile(fileobj=stream),
    ".bz2": bz2.BZ2File,
    ".xz": _XzStream,
    ".zst": _ZstdStream,
}


@contextmanager
def open_pieces(path: str | os.PathLike[str], encoding: str | None = None) -> Iterator[Pieces]:
    """Open a file, or "-" for standard input; what compresses it is seen from its first bytes."""
    path = os.fspath(path)
    if path == STDIN:
        yield _pieces(sys.stdin.buffer, "standard input", "", encoding)
        return
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below, once it is open
    except FileNotFoundError:
        raise no_such_file(path) from None
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror}", file=path) from None
    with file:
        yield _pieces(file, path, path, encoding)


def _pieces(stream: Any, name: str, path: str, encoding: str | None) -> Pieces:
    refuse_device(stream, name)
    buffered = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
    start = buffered.peek(8)
    suffixes = [part.lower() for part in Path(path).suffixes]
    compression = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), None)
    if compression is not None:
        buffered = _OPENERS[compression](buffered)
        if suffixes and suffixes[-1] in (*_OPENERS, ".zstd"):
            suffixes.pop()
    pieces = Pieces(name, suffixes[-1] if suffixes else "", buffered, encoding)
    pieces.is_compressed = compression is not None
    return pieces
