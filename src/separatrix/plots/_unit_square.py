"""Curves between 0 and 1 on both axes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from separatrix.plots._style import CLASS_COLOURS, SOFT
from separatrix.plots._svg import class_colour, panel

__all__ = ["plot_curves", "thinned", "unit_square"]

_POINTS_SHOWN = 300


@contextmanager
def unit_square(x_label: str, y_label: str, size: float = 380.0) -> Iterator[tuple[Any, Any]]:
    """Give a square of axes from 0 to 100 %, with room for lines that run along an edge."""
    with panel(size, size) as (figure, axes):
        ticks = (0.0, 0.25, 0.5, 0.75, 1.0)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel=x_label, ylabel=y_label)
        axes.set_xticks(ticks, ["0", "25", "50", "75", "100 %"])
        axes.set_yticks(ticks, ["0", "25", "50", "75", "100 %"])
        axes.grid(visible=True, axis="both")
        axes.tick_params(length=0)
        for side in axes.spines.values():
            side.set_visible(False)
        yield figure, axes


def plot_curves(
    axes: Any,
    curves: Sequence[tuple[np.ndarray, np.ndarray]],
    first_colour: int,
    steps: bool = False,
) -> None:
    """Draw each curve in its class's colour, or all in one where there are more than colours."""
    many = len(curves) > len(CLASS_COLOURS)
    for number, (x, y) in enumerate(curves):
        axes.plot(
            x,
            y,
            color=SOFT if many else class_colour(number + first_colour),
            alpha=0.45 if many else 1.0,
            linewidth=1.2 if many else 2.2,
            linestyle=("-", "--", "-.")[number % 3] if not many else "-",
            drawstyle="steps-pre" if steps else "default",
            solid_joinstyle="round",
            clip_on=False,
        )


def thinned(x: Sequence[float], y: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return at most some 300 points of a curve that never leaves it by a visible distance.

    Corners stay; points on a straight run between its ends go; then, of too many, evenly many.
    """
    points = np.column_stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)])
    if len(points) > 2:
        before, after = np.diff(points[:-1], axis=0), np.diff(points[1:], axis=0)
        turn = np.abs(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0])
        points = points[np.concatenate([[True], turn > 1e-12, [True]])]
    if len(points) > _POINTS_SHOWN:
        along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(points, axis=0)).sum(axis=1))])
        places = np.searchsorted(along, np.linspace(0.0, along[-1], _POINTS_SHOWN))
        points = points[np.unique(np.minimum(places, len(points) - 1))]
    return points[:, 0], points[:, 1]
