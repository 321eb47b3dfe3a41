"""``sx.replay(..., exact=True)``: which runs are followed in fractions, and from what numbers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.estimators.kozinec import Kozinec
from separatrix.estimators.perceptron import Perceptron
from separatrix.solvers.running.drive import Frame
from separatrix.solvers.updates.in_fractions import kozinec_frames, perceptron_frames

__all__ = ["exact_frames"]

_MOST_ENTRIES = 10_000


def exact_frames(model: Any, X: Any, y: Any) -> Iterator[Frame]:
    """Return the frames of a run in fractions; refuse what is not a small example."""
    plain = (
        isinstance(model, Perceptron)
        and (model.update, model.order, model.decay) == ("single", "cyclic", 0.0)
        and not (model.scale or model.average)
    ) or (isinstance(model, Kozinec) and model.order == "cyclic" and model.epsilon is None)
    if not plain:
        raise ValueError(
            "exact=True follows Perceptron(update='single', order='cyclic') with a fixed rate, and "
            f"Kozinec(order='cyclic') without epsilon. Got {model!r} instead."
        )
    run = model._run(X, y)
    if len(model.classes_) != 2:
        raise ValueError(f"exact=True is for two classes. Got {len(model.classes_)} instead.")
    rows = run.given.signed_rows()
    if rows.size > _MOST_ENTRIES:
        raise ValueError(
            f"exact=True is for small examples, of up to {_MOST_ENTRIES:,} entries. Got "
            f"{rows.size:,} instead."
        )
    exact = [_as_written(row) for row in rows]
    if isinstance(model, Kozinec):
        frames: Iterator[Frame] = kozinec_frames(exact, run.budget)
        return frames
    first = _as_written(run.as_given(run.settings["first"]))
    rate = Fraction(repr(float(model.learning_rate)))
    followed: Iterator[Frame] = perceptron_frames(exact, first, rate, run.budget)
    return followed


def _as_written(values: np.ndarray) -> tuple[Fraction, ...]:
    """Return the decimals that name these floats, as fractions."""
    return tuple(Fraction(repr(float(v))) for v in values)
