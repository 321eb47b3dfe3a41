"""Files that are there whole or not at all: written aside, brought to the disk, then renamed.

And the folder (`cache_home`) for what is kept between processes.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from separatrix._terminal import print_pieces

__all__ = ["cache_home", "create_whole", "new_file_beside", "write_whole"]

_OLD = os.O_WRONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NEW = _OLD | os.O_CREAT | os.O_EXCL


def write_whole(
    path: str | os.PathLike[str], contents: bytes | Iterable[bytes], *, to_disk: bool = True
) -> None:
    """Put the contents under this name; whoever looks sees the old file or the new one.

    "-" is standard output. Without `to_disk` nobody waits for the disk: a killed writer loses
    nothing, but a power cut may leave a file that is not whole.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_whole(folder / "a.txt", [b"one ", b"two"])
    >>> (folder / "a.txt").read_bytes(), len(list(folder.iterdir()))
    (b'one two', 1)
    """
    pieces = [contents] if isinstance(contents, bytes) else contents
    if os.fspath(path) == "-":
        print_pieces(pieces)
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
            if to_disk:
                os.fsync(handle)
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
    if to_disk:
        _settle(path.parent)


def _open_alone(aside: Path) -> int:
    """Open the file aside for one writer at a time; a killed writer's lock goes with it.

    The name can be guessed, so whatever stands there that no writer of ours has left is removed,
    never written through: a link would lead to a file of someone else's choice. Whoever waited
    may find that the file was renamed meanwhile, and makes a new one.
    """
    while True:
        try:
            handle = os.open(aside, _NEW, 0o666)
        except FileExistsError:
            found = _left_by_a_writer(aside)
            if found is None:
                continue
            handle = found
        try:
            _lock(handle)
            try:
                if os.path.samestat(os.fstat(handle), os.lstat(aside)):
                    return handle
            except FileNotFoundError:
                pass
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _left_by_a_writer(aside: Path) -> int | None:
    """Open the half file of another writer; None where the name is free now."""
    try:
        before = os.lstat(aside)
        if not _is_half_file(before):
            os.unlink(aside)
            return None
        handle = os.open(aside, _OLD)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:  # it became a link just now
            return None
        raise
    if os.path.samestat(before, os.fstat(handle)):
        return handle
    os.close(handle)
    return None


def _is_half_file(found: os.stat_result) -> bool:
    """Whether it is a plain file of this user that has no other name."""
    mine = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and mine


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
    path.parent.mkdir(parents=True, exist_ok=True)
    with new_file_beside(path) as aside:
        with open(aside, "wb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        os.link(aside, path)
    _settle(path.parent)


@contextmanager
def new_file_beside(path: Path) -> Iterator[Path]:
    """Give an empty file in the same folder, made now under a name that nobody can guess."""
    aside = path.with_name(f".{path.name}.{secrets.token_hex(16)}.part{path.suffix}")
    try:
        os.close(os.open(aside, _NEW, 0o666))
    except OSError as error:  # with the name that the user knows
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None
    try:
        yield aside
    finally:
        aside.unlink(missing_ok=True)


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


def cache_home() -> Path:
    """Return the folder under which all versions keep what takes long to make."""
    chosen = os.environ.get("SEPARATRIX_CACHE_DIR")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "separatrix"
