"""A replay as columns of numbers: what `sx.replay` yields, to the last bit.

JSON writes a float64 with as many digits as are needed to read the same float64 again, so nothing
is lost on the way to the page. Columns are shorter than objects, and a kernel machine's
multipliers are sent as the two that change.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter
from typing import Any

import numpy as np

__all__ = ["columns_of", "finite", "parts_of"]

MOST_FRAMES = 5_001
MOST_FRAMES_OF_A_PART = 1_001
MOST_NUMBERS = 250_000
SECONDS = 4.0
_MOST_ROWS = 1_000


def columns_of(frames: Iterable[Any], n_rows: int, *, multipliers: bool = True) -> dict[str, Any]:
    """Return the frames as columns, cut where they become too many to send."""
    deadline = time.perf_counter() + SECONDS
    return _cut(frames, n_rows, MOST_FRAMES, MOST_NUMBERS, deadline, multipliers)


def parts_of(
    frames: Iterable[Any], n_rows: int, n_parts: int, *, multipliers: bool = True
) -> list[dict[str, Any]]:
    """Return the columns of every machine, where several follow one another."""
    deadline = time.perf_counter() + SECONDS
    most, room = min(MOST_FRAMES, MOST_FRAMES_OF_A_PART), MOST_NUMBERS // n_parts
    return [
        _cut(part, n_rows, most, room, deadline, multipliers)
        for _, part in groupby(frames, attrgetter("machine"))
    ]


def _cut(
    frames: Iterable[Any],
    n_rows: int,
    most: int,
    room: int,
    deadline: float,
    multipliers: bool,
) -> dict[str, Any]:
    kept: list[Any] = []
    is_cut = False
    for frame in frames:
        room -= _size(frame, n_rows, multipliers)
        if len(kept) >= most or room < 0 or time.perf_counter() > deadline:
            is_cut = True
            break
        kept.append(frame)
    status = kept[-1].status if kept else None
    return {
        "columns": _columns(kept, n_rows, multipliers) if kept else {},
        "is_cut": is_cut,
        "status": None if status is None else str(status),
    }


def _size(frame: Any, n_rows: int, multipliers: bool) -> int:
    numbers = 12 if not hasattr(frame, "weights") else 8 + frame.weights.size
    return numbers + (n_rows if multipliers and _sends_multipliers(frame, n_rows) else 0)


def _sends_multipliers(frame: Any, n_rows: int) -> bool:
    """All of them: of an interior point, or of a rule that may change every one at each step."""
    return hasattr(frame, "alpha") and not hasattr(frame, "pair") and n_rows <= _MOST_ROWS


def _columns(frames: list[Any], n_rows: int, multipliers: bool) -> dict[str, Any]:
    first = frames[0]
    columns: dict[str, Any] = {
        "update": [frame.update for frame in frames],
        "errors": [frame.errors for frame in frames],
    }
    for name in ("margin", "bound", "gap", "primal", "dual", "bias"):
        if hasattr(first, name):
            columns[name] = [finite(getattr(frame, name)) for frame in frames]
    if hasattr(first, "pair"):
        columns["pair"] = [list(frame.pair) for frame in frames]
        columns["after"] = [list(frame.after) for frame in frames]
        return columns
    if hasattr(first, "weights"):
        columns["weights"] = [_finite_list(frame.weights) for frame in frames]
    if hasattr(first, "row"):
        columns["row"] = [frame.row for frame in frames]
    if multipliers and _sends_multipliers(first, n_rows):
        columns["alpha"] = [_finite_list(frame.alpha) for frame in frames]
    return columns


def _finite_list(values: np.ndarray) -> list[float | None]:
    flat: list[float | None] = values.ravel().tolist()
    return flat if np.isfinite(values).all() else [finite(value) for value in values.ravel()]


def finite(value: float) -> float | None:
    """Return the number, or None where JSON has no word for it."""
    return float(value) if math.isfinite(value) else None
