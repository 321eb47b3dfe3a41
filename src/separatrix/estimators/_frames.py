"""Frames of a replay: of an estimator's run, and of one machine among several."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from separatrix.estimators._run import Run
from separatrix.solvers.running import drive
from separatrix.solvers.running.drive import Frame

__all__ = ["frames_of", "numbered"]


def frames_of(estimator: Any, X: Any, y: Any) -> Iterator[Any]:
    """Return the frames of the fit that the estimator would make; it is used up by that."""
    if hasattr(estimator, "_replay"):
        frames: Iterator[Any] = estimator._replay(X, y)
        return frames
    if not hasattr(estimator, "_run"):
        raise TypeError(f"{type(estimator).__name__} has no updates to replay.")
    return _as_given(estimator._run(X, y))


def _as_given(run: Run) -> Iterator[Frame]:
    frames = drive.replay(run.method, run.problem, run.budget, **run.settings)
    as_given = run.problem is run.given and run.order is None and run.exponents is None
    if as_given and run.given.fit_intercept:
        yield from frames  # the weights are those of the columns as they were given already
        return
    for frame in frames:
        yield dataclasses.replace(frame, weights=run.as_given(frame.weights))


def numbered(
    frames: Iterator[Any], machine: int, rows: np.ndarray | None, n_rows: int
) -> Iterator[Any]:
    """Say of which machine the frames are, and of which rows in the whole data (None: all)."""
    for frame in frames:
        changes: dict[str, Any] = {"machine": machine}
        if rows is not None:
            if hasattr(frame, "row"):
                changes["row"] = _row(rows, frame.row)
            if hasattr(frame, "pair"):
                changes["pair"] = tuple(_row(rows, row) for row in frame.pair)
            if hasattr(frame, "alpha"):
                changes["alpha"] = np.zeros(n_rows)
                changes["alpha"][rows] = frame.alpha
        yield dataclasses.replace(frame, **changes)


def _row(rows: np.ndarray, row: int) -> int:
    return int(rows[row]) if row >= 0 else -1
