"""The shattering sheet: every labeling of a few points of the plane as one small picture.

A possible labeling shows a line that makes it. An impossible one shows the lecture's reason: the
diagonals that cross, the triangle around a point, or the segment that holds one.
"""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from separatrix.plots._save import written_aside
from separatrix.plots._style import ACCENT, CLASS_COLOURS, CLASS_MARKERS, INK, RC, SOFT, plain

__all__ = ["save_shattering"]

_MOST_PANELS = 64
_TINT, _WARNING_TINT = "#e7f0f8", "#fbeef3"


def save_shattering(result: Any, path: Path | str) -> None:
    """Draw all labelings of points in the plane into a file (.svg, .png, .pdf)."""
    width, count = result.points.shape[1], len(result.labelings)
    if width != 2:
        raise ValueError(f"a sheet needs points in the plane, and these have {width} coordinates.")
    if count > _MOST_PANELS:
        raise ValueError(f"a sheet holds {_MOST_PANELS} labelings (6 points): here are {count}.")
    columns = min(8, count) if count != 16 else 4
    rows = ceil(count / columns)
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(1.75 * columns, 1.95 * rows + 0.75), layout="constrained")
        FigureCanvasAgg(figure)
        panels = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
        limits = _limits(result.points)
        for panel, labeling in zip(panels, result.labelings, strict=False):
            _panel(panel, result, labeling, limits)
        for panel in panels[count:]:
            panel.set_axis_off()
        figure.suptitle(_title(result), x=0.01, ha="left", fontweight="bold", fontsize=11)
        with written_aside(path) as aside:
            figure.savefig(aside, dpi=150)


def _title(result: Any) -> str:
    word = "Shattered" if result.shattered else "Not shattered"
    found = f"{word}: {result.count} of {len(result.labelings)} labelings"
    return f"{found}\n(Cover's count in general position: {result.cover})"


def _limits(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the middle and half the side of a square that holds all points with room."""
    low, high = points.min(axis=0), points.max(axis=0)
    half = 0.5 * float((high - low).max())
    return (low + high) / 2, 1.45 * half if half > 0.0 else 1.0


def _panel(axes: Any, result: Any, labeling: Any, limits: tuple[np.ndarray, float]) -> None:
    middle, half = limits
    labels, points = np.array(labeling.labels), result.points
    if labeling.possible:
        _line(axes, labeling, middle, half)
    else:
        _reason(axes, labeling, points, labels)
        axes.set_facecolor(_WARNING_TINT)
    for label in (0, 1):
        part = points[labels == label]
        axes.scatter(
            *part.T,
            s=34,
            marker=CLASS_MARKERS[label],
            facecolor=CLASS_COLOURS[label],
            edgecolor="white",
            linewidth=0.6,
            zorder=4,
        )
    for name, point in zip(result.names, points, strict=True):
        axes.annotate(
            plain(name),
            point,
            xytext=(4, 4),
            textcoords="offset points",
            fontsize=7.5,
            color=SOFT,
            zorder=5,
            path_effects=[withStroke(linewidth=2, foreground="white")],
        )
    axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
    axes.set(xticks=[], yticks=[], aspect="equal")
    for spine in axes.spines.values():
        spine.set_visible(True)
    colour = INK if labeling.possible else ACCENT
    axes.set_title(labeling.text, fontsize=9, color=colour, pad=2)
    axes.set_xlabel("" if labeling.possible else labeling.case, fontsize=7.5, color=ACCENT)


def _line(axes: Any, labeling: Any, middle: np.ndarray, half: float) -> None:
    """Draw w.x + b = 0 and tint the side of label 1; one label alone may need no line."""
    w, b = np.asarray(labeling.weights, dtype=float), float(labeling.intercept)
    length, here = float(np.hypot(*w)), float(w @ middle + b)
    if length == 0.0 or abs(here) > 2 * half * length:
        if here > 0.0:
            axes.set_facecolor(_TINT)
        return
    w = w / length
    along = np.array([-w[1], w[0]])
    foot = middle - here / length * w
    ends = np.array([foot - 9 * half * along, foot + 9 * half * along])
    side = np.vstack([ends, (ends + 20 * half * w)[::-1]])
    axes.fill(*side.T, color=_TINT, linewidth=0.0, zorder=1)
    axes.plot(*ends.T, color=INK, linewidth=1.3, zorder=3)


def _reason(axes: Any, labeling: Any, points: np.ndarray, labels: np.ndarray) -> None:
    """Draw the hull of each side's witness rows."""
    rows = np.array(labeling.witness.rows)
    for label in (0, 1):
        corners = points[rows[labels[rows] == label]]
        if len(corners) == 0:
            continue
        centred = corners - corners.mean(axis=0)
        order = np.argsort(np.arctan2(centred[:, 1], centred[:, 0]), kind="stable")
        closed = np.vstack([corners[order], corners[order][:1]])
        axes.fill(*closed.T, color=CLASS_COLOURS[label], alpha=0.15, linewidth=0.0, zorder=2)
        axes.plot(*closed.T, color=CLASS_COLOURS[label], linewidth=1.6, zorder=3)
