"""A file appears under its name whole or not at all: written aside, flushed, then renamed."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: str | os.PathLike[str], pieces: Iterable[bytes]) -> None:
    """Write the pieces to ``path``; on any failure what stood there before is left as it was.

    >>> folder = Path(tempfile.mkdtemp())
    >>> write_whole(folder / "a.txt", [b"one ", b"two"])
    >>> (folder / "a.txt").read_bytes(), len(list(folder.iterdir()))
    (b'one two', 1)
    """
    if os.fspath(path) == "-":
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    final = Path(path)
    handle, aside = tempfile.mkstemp(prefix=f".{final.name}.", dir=final.parent or ".")
    try:
        with os.fdopen(handle, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(aside, 0o666 & ~mask)
        os.replace(aside, final)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise
