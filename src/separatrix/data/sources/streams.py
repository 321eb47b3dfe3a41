"""Bytes in: plain and compressed files and standard input, whole with a digest, or piece by piece.

A compressed file may say in a few bytes that it holds terabytes. Reading one whole stops, with an
error that says how to allow more, when the contents are over 200 times the size of the file (and
over 16 MB), or over ``max_bytes`` where that is given. Arrays as NumPy and safetensors store them
are mapped into memory, not read: only what is looked at is then brought in. By pieces (`Pieces`,
as UTF-8) no more than a piece is in memory, whatever the size of the file.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import mmap
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from separatrix.data.sources.progress import Progress
from separatrix.errors import DataError

STDIN = "-"
LARGEST_EXPANSION = 200
SMALL_ENOUGH = 16 << 20  # contents up to this size are never refused for their expansion
LONGEST_LINE = 1 << 28
_STEP = 1 << 20
_HASHED_AT_ONCE = 1 << 20
XZ_MEMORY = 100 << 20  # what `xz -9` needs to decompress, and half as much again

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/{1,2}[^/\s]")
_DAMAGES = (EOFError, OSError, ValueError, lzma.LZMAError, zlib.error)
_MAGIC = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\x00": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
}


@dataclass(frozen=True)
class Source:
    """The contents of one file, decompressed.

    The data of a file that is mapped into memory are no bytes, but can be cut like bytes.
    """

    name: str
    data: Any
    digest: Future[str] | None = None
    suffix: str = ""
    compression: str = ""

    @property
    def sha256(self) -> str:
        """The SHA-256 of the file as stored; it is made while the contents are read."""
        return "" if self.digest is None else self.digest.result()

    @property
    def octets(self) -> NDArray[np.uint8]:
        """The contents as an array of bytes, without a copy."""
        return np.frombuffer(self.data, dtype=np.uint8)

    def error(self, message: str, at: int | None = None) -> DataError:
        """Return an error that points at the byte ``at`` of the contents."""
        if at is None:
            return DataError(message, file=self.name)
        line, column = line_and_column(self.data, at)
        return DataError(message, file=self.name, line=line, column=column)


def line_and_column(data: bytes, at: int) -> tuple[int, int]:
    r"""Return the line and the column, both counted from 1, of a byte.

    >>> line_and_column(b"one\ntwo", 5)
    (2, 2)
    """
    return data.count(b"\n", 0, at) + 1, at - data.rfind(b"\n", 0, at)


class _XzStream:
    """An xz stream read with a bound on the memory its headers may ask for."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = lzma.LZMADecompressor(memlimit=XZ_MEMORY)

    def read(self, size: int) -> bytes:
        while True:
            taken = b""
            if self._decoder.eof:
                taken = self._decoder.unused_data.lstrip(b"\0")
                while not taken:  # zeros may stand between two streams, and after the last
                    more = self._stream.read(_STEP)
                    if not more:
                        return b""
                    taken = more.lstrip(b"\0")
                self._decoder = lzma.LZMADecompressor(memlimit=XZ_MEMORY)
            elif self._decoder.needs_input:
                taken = self._stream.read(_STEP)
                if not taken:
                    raise EOFError("the compressed data are cut short")
            piece = self._decoder.decompress(taken, size)
            if piece:
                return piece


class _ZstdStream:
    """A zstd stream by pyarrow, whose own ``read`` leaks its buffer where data are damaged."""

    def __init__(self, stream: BinaryIO) -> None:
        import pyarrow as pa

        self._stream = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), "zstd")

    def read(self, size: int) -> bytes:
        contents: bytes = self._stream.read_buffer(size).to_pybytes()
        return contents


_OPENERS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda stream: gzip.GzipFile(fileobj=stream),
    ".bz2": bz2.BZ2File,
    ".xz": _XzStream,
    ".zst": _ZstdStream,
}


def compression_of(start: bytes) -> str:
    """Return the ending of files compressed like one that starts so; nothing for a plain one."""
    return next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), "")


def _suffix_of(path: str, compression: str) -> str:
    """Return the last ending of a name, but that of its compression."""
    suffixes = [part.lower() for part in Path(path).suffixes]
    if compression and suffixes and suffixes[-1] in (*_OPENERS, ".zstd"):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _expand(stored: bytes, compression: str, name: str, max_bytes: int | None) -> bytes:
    """Decompress, a step at a time, and refuse what grows out of proportion."""
    limit = max_bytes or max(SMALL_ENOUGH, LARGEST_EXPANSION * len(stored))
    contents = io.BytesIO()
    with Progress(f"Decompressing {name}") as progress:
        try:
            stream = _OPENERS[compression](io.BytesIO(stored))
            while piece := stream.read(_STEP):
                contents.write(piece)
                progress.advance(len(piece))
                if contents.tell() > limit:
                    raise DataError(
                        f"the contents grow to more than {limit:,} bytes from {len(stored):,}; "
                        "if you trust the file, allow more with max_bytes (--max-bytes)",
                        file=name,
                        line=1,
                        column=1,
                    )
        except DataError:
            raise
        except _DAMAGES as error:
            raise DataError(
                f"the {compression} file is damaged or cut short ({error}); get it again",
                file=name,
                line=1,
                column=1,
            ) from None
    return contents.getvalue()


def _too_large(name: str, max_bytes: int) -> DataError:
    return DataError(
        f"there are more than the {max_bytes:,} bytes allowed; "
        "allow more with max_bytes (--max-bytes)",
        file=name,
    )


def refuse_device(stream: Any, name: str) -> None:
    """Refuse a device such as /dev/zero, which may have no end; a terminal and a pipe may be read.

    A stream that is none of the system's is let pass.
    """
    try:
        mode = os.fstat(stream.fileno()).st_mode
        device = (stat.S_ISCHR(mode) or stat.S_ISBLK(mode)) and not stream.isatty()
    except (OSError, ValueError, AttributeError):
        return
    if device:
        raise DataError("this is a device, which may have no end; give a file or a pipe", name)


def endless(name: str) -> DataError:
    """Return the error for contents without any end of a line."""
    return DataError(
        f"there is no end of a line in {LONGEST_LINE >> 20:,} MB; this is no table, and no text",
        file=name,
    )


def _memory() -> int:
    """Return the bytes of memory there are, where the system says so."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return sys.maxsize


def _read_stream(stream: BinaryIO, name: str, max_bytes: int | None) -> bytes:
    refuse_device(stream, name)
    max_bytes = max_bytes or _memory() // 2  # a pipe may have no end
    buffer, lines = bytearray(), False
    with Progress(f"Reading {name}") as progress:
        while piece := stream.read(_STEP):
            progress.advance(len(piece))
            buffer += piece
            lines = lines or b"\n" in piece
            if len(buffer) > LONGEST_LINE and not lines:
                raise endless(name)
            if len(buffer) > max_bytes:
                raise _too_large(name, max_bytes)
    return bytes(buffer)


def _read_stored(path: str, name: str, max_bytes: int | None) -> Any:
    if path == STDIN:
        return _read_stream(sys.stdin.buffer, name, max_bytes)
    try:
        # Without a buffer: what has been read of it would be joined to the rest, a copy of all.
        with open(path, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return _read_stream(file, name, max_bytes)
            if max_bytes is not None and os.fstat(file.fileno()).st_size > max_bytes:
                raise _too_large(name, max_bytes)
            start = file.read(16)
            file.seek(0)
            if start.startswith(b"\x93NUMPY") or start[4:9] == b"\0\0\0\0{":
                return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return file.read()
    except FileNotFoundError:
        raise no_such_file(path) from None
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror}", file=name) from None


def no_such_file(path: str) -> DataError:
    """Return the error for a file that is not there, with a guess at the one that was meant."""
    if _ADDRESS.match(path):
        return DataError(
            "this is an address (URL), and nothing is fetched from the network; download the "
            "file and give its path",
            file=path,
        )
    return DataError(f"there is no such file; {_nearby(path)}", file=path)


def _nearby(path: str) -> str:
    """Suggest a file of a similar name in the same folder."""
    from difflib import get_close_matches

    folder = Path(path).parent
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    close = get_close_matches(Path(path).name, names, n=1)
    return f"did you mean '{folder / close[0]}'?" if close else "check the path"


def open_source(path: str | os.PathLike[str], max_bytes: int | None = None) -> Source:
    """Read a file whole, decompressing by its first bytes; ``"-"`` is standard input."""
    path = os.fspath(path)
    name = "standard input" if path == STDIN else path
    data = _read_stored(path, name, max_bytes)
    digest = _begun_digest(data)
    compression = compression_of(bytes(data[:8]))
    if compression:
        data = _expand(data, compression, name, max_bytes)
    return Source(name, data, digest, _suffix_of(path, compression), compression)


def _begun_digest(data: Any) -> Future[str]:
    """Begin to hash what a file stores: large data in a thread beside the parser."""
    found: Future[str] = Future()

    def work() -> None:
        try:
            found.set_result(hashlib.sha256(data).hexdigest())
        except BaseException as error:  # whoever asks for the digest gets it, and does not wait
            found.set_exception(error)

    if len(data) < _HASHED_AT_ONCE:
        work()
    else:  # a daemon: an error in the contents does not wait for it
        Thread(target=work, daemon=True).start()
    return found


# ---- a piece at a time


class Pieces:
    """Pieces of a stream of bytes that end where the caller says."""

    def __init__(self, name: str, suffix: str, stream: Any, encoding: str | None) -> None:
        self.name, self.suffix, self.compression = name, suffix, ""
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

    @property
    def is_compressed(self) -> bool:
        """Whether the bytes are decompressed on the way."""
        return bool(self.compression)

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
        except _DAMAGES as error:
            raise DataError(f"the file cannot be read: {error}", self.name) from None
        return read

    def peek(self, size: int) -> bytes:
        """Return the next bytes without taking them."""
        self._fill(size)
        return bytes(self._held[:size])

    def peek_all(self) -> bytes:
        """Return everything without taking it."""
        while not self._ended:
            self._fill(len(self._held) + _STEP)
        return bytes(self._held)

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
    compression = compression_of(buffered.peek(8))
    opened = _OPENERS[compression](buffered) if compression else buffered
    pieces = Pieces(name, _suffix_of(path, compression), opened, encoding)
    pieces.compression = compression
    return pieces
