"""What every picture of the gallery shares: its colours, shapes and fonts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from separatrix.plots._drawing import (
    ACCENT,
    CLASS_COLOURS,
    FAINT,
    INK,
    RC,
    SOFT,
    draw_limits,
    draw_line,
    draw_points,
)

__all__ = ["ACCENT", "CLASS_COLOURS", "FAINT", "INK", "SOFT", "boundary", "picture", "scatter"]


@contextmanager
def picture(path: str, columns: int = 1, height: float = 4.0) -> Iterator[Any]:
    """Give axes to draw on (a list, if there are several), and write the picture at the end."""
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(6.6 if columns == 1 else 9.6, height), layout="constrained")
        axes = figure.subplots(1, columns, squeeze=False)[0]
        yield axes[0] if columns == 1 else list(axes)
        dated = {"Date": None} if str(path).endswith(".svg") else None
        figure.savefig(path, dpi=150, metadata=dated)


def scatter(axes: Any, X: Any, y: Any) -> None:
    """Draw the rows of two features, every class with its colour and shape."""
    X, (classes, codes) = np.asarray(X, float), np.unique(y, return_inverse=True)
    draw_points(axes, X, codes, classes)
    limits = draw_limits(X)
    axes.set(xlim=limits[0], ylim=limits[1])


def boundary(axes: Any, machine: Any, X: Any, **style: Any) -> None:
    """Draw the line on which a machine of two classes scores 0."""
    style = {"color": INK, "linewidth": 1.6} | style
    limits = draw_limits(np.asarray(X, float))
    draw_line(axes, machine.coef_[0], float(machine.intercept_[0]), limits, **style)
