"""What a study has finished, kept on disk, so that a study that was ended goes on where it was.

The folder of a study holds `.work` while it runs: one file for every finished step and every
finished fold, each written aside, brought to the disk and renamed, so that it is whole or not
there. Folds of a few milliseconds wait in memory until they come to two seconds of work: most small
studies end before. An interrupted study writes them, a killed one loses them. The name of the files
is a hash of the data and the settings: other settings start afresh. A file that is damaged all the
same is made again. `.work/seals` stays: it keeps which test rows were opened.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from separatrix import __version__
from separatrix._write_aside import write_whole
from separatrix.errors import ModelFileError
from separatrix.storage.model_file import seal, unseal

__all__ = ["Busy", "Journal", "alone_in", "key_of"]

_CELL = b"SXCELL_1"
_STEP = b"SXSTEP_1"
_KEY_LENGTH = 16
_LASTING = 0.05  # seconds that a fold took
_WORTH_WRITING = 2.0  # seconds that the folds in memory took together


class Busy(ValueError):
    """Another study works in the folder."""


def key_of(parts: dict[str, Any]) -> str:
    """Return the name of the work on these data with these settings.

    >>> key_of({"C": 1}) == key_of({"C": 1}), key_of({"C": 1}) == key_of({"C": 2})
    (True, False)
    """
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_KEY_LENGTH]


class Journal:
    """Finished steps and folds of one study; also the `store` of its path over C."""

    def __init__(self, folder: Path, key: str) -> None:
        self.folder, self.key = folder, key
        self.work = folder / ".work"
        # Another version may round otherwise: its finished folds are not mixed with these.
        self.mine = self.work / f"{key}_{__version__}"
        self.mine.mkdir(parents=True, exist_ok=True)
        self.waiting: dict[tuple[str, int], tuple[dict[str, Any], dict[str, np.ndarray]]] = {}
        self.seconds = 0.0  # that they took
        self.before = self.kept  # folds that an earlier run had finished
        for place in (folder, self.mine, self.seals):
            for half in place.glob("*.part"):
                half.unlink(missing_ok=True)

    @property
    def seals(self) -> Path:
        """Where the openings of test sets are kept."""
        return self.work / "seals"

    # ---- folds

    def _cell(self, key: tuple[str, int]) -> Path:
        return self.mine / f"cell_{key[0]}_{key[1]}"

    def get(self, key: tuple[str, int]) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return a finished fold, or None."""
        if key in self.waiting:
            return self.waiting[key]
        found = _read(self._cell(key), _CELL)
        if found is None:
            return None
        return _restored(found[0]), found[1]

    def put(
        self, key: tuple[str, int], facts: dict[str, Any], arrays: dict[str, np.ndarray]
    ) -> None:
        """Keep a finished fold: on the disk, or in memory where it is soon made again."""
        taken = facts.get("seconds", _LASTING)
        if taken >= _LASTING:
            self._write(key, facts, arrays, to_disk=True)
            return
        self.waiting[key] = facts, arrays
        self.seconds += taken
        if self.seconds >= _WORTH_WRITING:
            self.settle()

    def settle(self) -> None:
        """Write the folds that are in memory; after a power cut some may not be whole."""
        for key, (facts, arrays) in self.waiting.items():
            self._write(key, facts, arrays, to_disk=False)
        self.waiting, self.seconds = {}, 0.0

    def _write(
        self,
        key: tuple[str, int],
        facts: dict[str, Any],
        arrays: dict[str, np.ndarray],
        to_disk: bool,
    ) -> None:
        self.mine.mkdir(parents=True, exist_ok=True)
        whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        write_whole(self._cell(key), seal(_CELL, _plain(facts), whole), to_disk=to_disk)

    @property
    def kept(self) -> int:
        """How many finished folds there are."""
        written = sum(path.suffix != ".part" for path in self.mine.glob("cell_*"))
        return written + len(self.waiting)

    # ---- steps

    def step(
        self, name: str, work: Callable[[], tuple[dict[str, Any], dict[str, np.ndarray]]]
    ) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what a step gave before, or do it now and keep it."""
        found = self.kept_step(name)
        if found is None:
            found = work()
            write_whole(self.mine / f"step_{name}", seal(_STEP, *found))
        return found

    def kept_step(self, name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return what a step gave before, or None."""
        return _read(self.mine / f"step_{name}", _STEP)

    def close(self) -> None:
        """The study is finished: only the openings of test sets stay."""
        for place in self.work.iterdir():
            if place != self.seals and place.is_dir():
                shutil.rmtree(place, ignore_errors=True)


def _read(path: Path, name: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    try:
        header, arrays = unseal(name, path.read_bytes())
    except (OSError, ModelFileError):
        return None
    return header, {key: np.asarray(array) for key, array in arrays.items()}


def _plain(facts: dict[str, Any]) -> dict[str, Any]:
    """Return facts that JSON can hold: a float that is not finite is written by its name."""
    plain: dict[str, Any] = {}
    for key, value in facts.items():
        value = value.item() if hasattr(value, "item") else value
        endless = isinstance(value, float) and not math.isfinite(value)
        plain[key] = {"float": repr(value)} if endless else value
    return plain


def _restored(plain: dict[str, Any]) -> dict[str, Any]:
    return {
        key: float(value["float"]) if isinstance(value, dict) and "float" in value else value
        for key, value in plain.items()
    }


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other studies out of the folder; the lock goes with the process, however it ends."""
    work = folder / ".work"
    work.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl
    except ImportError:  # a system without such locks
        yield
        return
    handle = os.open(work / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Busy(
                f"another study is at work in {folder}. Wait for it, or choose another folder."
            ) from None
        yield
        (work / "lock").unlink(missing_ok=True)
    finally:
        os.close(handle)
