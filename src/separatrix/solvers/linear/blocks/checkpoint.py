"""Where a run stands, kept in a file: whole, or the one before."""

from __future__ import annotations

import io
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from separatrix._write_aside import write_whole
from separatrix.solvers.linear.blocks.newton import Point

__all__ = ["Checkpoint"]

# The share of the time of a run that may go into writing.
_SHARE = 0.05
_KEPT = ("w", "width", "updates", "centre", "settled", "pace")


class Checkpoint:
    """The last point of a run; `key` says of which problem, so that no other goes on from it."""

    def __init__(self, path: str | Path, key: str) -> None:
        self.path, self.key = Path(path), key
        self._written, self._cost, self._warned = 0.0, 0.0, False

    def load(self) -> Point | None:
        """Return the point to go on from, or None where there is none for this problem."""
        try:
            with np.load(self.path, allow_pickle=False) as held:
                if str(held["key"]) != self.key:
                    return None
                more = {name: held[name] for name in ("centre", "settled") if name in held.files}
                pace = float(held["pace"][0]), float(held["pace"][1])
                width, updates = float(held["width"]), int(held["updates"])
                return Point(held["w"], width, updates, pace=pace, **more)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def save(self, point: Point) -> None:
        """Keep a point, unless one was kept just now; a full disk leaves the one before."""
        now = time.perf_counter()
        if now - self._written < self._cost / _SHARE:
            return
        held = io.BytesIO()
        arrays: dict[str, Any] = {name: getattr(point, name) for name in _KEPT}
        arrays = {name: value for name, value in arrays.items() if value is not None}
        np.savez(held, key=self.key, **arrays)
        try:
            write_whole(self.path, held.getvalue())
        except OSError as error:
            if not self._warned:
                warnings.warn(
                    f"the checkpoint could not be written ({error}); the one before stands, and "
                    "the fit goes on. Free some space, or choose another place.",
                    RuntimeWarning,
                    stacklevel=2,
                )
                self._warned = True
        self._written = time.perf_counter()
        self._cost = self._written - now

    def clear(self) -> None:
        """Remove the file: the fit is done."""
        self.path.unlink(missing_ok=True)
