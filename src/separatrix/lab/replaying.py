"""A replay as columns of numbers: what `sx.replay` yields, to the last bit.

JSON writes a float64 with as many digits as are needed to read the same float64 again, so nothing
is lost on the way to the page. Columns are shorter than objects, and a kernel machine's
multipliers are sent as the two that change.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["columns_of"]

MOST_FRAMES = 5_001
MOST_NUMBERS = 250_000
SECONDS = 4.0
_MOST_MULTIPLIERS = 60_000


def columns_of(frames: Iterable[Any], n_rows: int, n_classes: int) -> dict[str, Any]:
    """Return the frames as columns, cut where they become too many to send."""
    deadline = time.perf_counter() + SECONDS
    columns: dict[str, list[Any]] = {}
    sent, is_cut, last = 0, False, None
    for number, frame in enumerate(frames):
        row = _entries(frame, n_rows, n_classes)
        sent += sum(len(value) if isinstance(value, list) else 1 for value in row.values())
        if number >= MOST_FRAMES or sent > MOST_NUMBERS or time.perf_counter() > deadline:
            is_cut = True
            break
        for name, value in row.items():
            columns.setdefault(name, []).append(value)
        last = frame
    status = None if last is None or last.status is None else str(last.status)
    return {"columns": columns, "is_cut": is_cut, "status": status}


def _entries(frame: Any, n_rows: int, n_classes: int) -> dict[str, Any]:
    row: dict[str, Any] = {"update": frame.update, "errors": frame.errors}
    for name in ("margin", "bound", "gap", "primal", "dual", "bias"):
        if hasattr(frame, name):
            row[name] = finite(getattr(frame, name))
    if hasattr(frame, "pair"):
        row["pair"], row["after"] = list(frame.pair), list(frame.after)
        return row
    row["weights"] = [finite(value) for value in np.ravel(frame.weights).tolist()]
    if hasattr(frame, "row"):
        # Of many classes each sample makes K - 1 signed rows.
        row["row"] = frame.row // max(1, n_classes - 1) if frame.row >= 0 else -1
    if hasattr(frame, "alpha") and n_rows * 60 <= _MOST_MULTIPLIERS:
        row["alpha"] = frame.alpha.tolist()
    return row


def finite(value: float) -> float | None:
    """Return the number, or None where JSON has no word for it."""
    return float(value) if math.isfinite(value) else None
