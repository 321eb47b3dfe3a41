"""Files that are there whole or not at all: written aside, brought to the disk, then renamed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

__all__ = ["create_whole", "write_whole"]


def write_whole(path: str | os.PathLike[str], contents: bytes | Iterable[bytes]) -> None:
    """Put the contents under this name; whoever looks sees the old file or the new one.

    "-" is standard output.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_whole(folder / "a.txt", [b"one ", b"two"])
    >>> (folder / "a.txt").read_bytes(), len(list(folder.iterdir()))
    (b'one two', 1)
    """
    pieces = [contents] if isinstance(contents, bytes) else contents
    if os.fspath(path) == "-":
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
        return
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(path.name + ".part")
    handle = _open_alone(aside)
    try:
        with os.fdopen(handle, "wb", closefd=False) as file:
            file.truncate()  # a killed writer may have left its half
            file.writelines(pieces)
            file.flush()
            os.fsync(handle)
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
    _settle(path.parent)


def _open_alone(aside: Path) -> int:
    """Open the file aside for one writer at a time; a killed writer's lock goes with it.

    Whoever waited may find that the file was renamed meanwhile, and makes a new one.
    """
    while True:
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            _lock(handle)
            try:
                if os.path.samestat(os.fstat(handle), os.stat(aside)):
                    return handle
            except FileNotFoundError:
                pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _lock(handle: int) -> None:
    """Wait until no other writer has the file, where the system knows such locks."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        return


def create_whole(path: str | os.PathLike[str], contents: bytes) -> None:
    """As `write_whole`, but refuse with FileExistsError where the name is taken, even just now."""
    path = Path(path)
    aside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        _write(aside, [contents])
        os.link(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    _settle(path.parent)


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())


def _settle(folder: Path) -> None:
    """Bring the new name itself to the disk, where the system lets a folder be opened."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
