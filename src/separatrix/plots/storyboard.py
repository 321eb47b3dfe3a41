"""A run as a row of small pictures, one numbered panel an update; over one feature or two.

Each panel has the boundary of its weights, the one before (dashed), and the row that moved it
(ringed). With a lift the boundary is a curve. Over one feature the panel has the score w.x + b
against x, which crosses 0 at the boundary, and the rows on the axis of x.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

from separatrix.plots._drawing import (
    ACCENT,
    CLASS_COLOURS,
    CLASS_MARKERS,
    FAINT,
    INK,
    SOFT,
    picture,
    plain,
    thinned,
)

__all__ = ["draw_step", "draw_storyboard", "save_storyboard", "storyboard_size"]

_MOST_PANELS, _COLUMNS = 24, 4
_GRID, _CURVE = 161, 401
Score = Callable[[np.ndarray, np.ndarray], np.ndarray]


def linear_score(weights: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return b + w.x of every point.

    >>> linear_score(np.array([1.0, 2.0]), np.array([[3.0]])).tolist()
    [7.0]
    """
    return np.asarray(points @ weights[1:] + weights[0])


def lifted_score(lift: Any) -> Score:
    """Return the score of points after a lift."""
    return lambda weights, points: linear_score(weights, np.asarray(lift.transform(points)))


def save_storyboard(
    frames: Sequence[Any],
    X: np.ndarray,
    codes: np.ndarray,
    class_names: Sequence[str],
    feature_names: Sequence[str],
    title: str,
    path: str | os.PathLike[str],
    score: Score = linear_score,
) -> None:
    """Draw one panel for each update into a file (.svg, .png, .pdf); long runs are thinned."""
    if X.shape[1] not in (1, 2) or len(class_names) != 2:
        raise ValueError(
            f"a storyboard needs one or two features and two classes. Got {X.shape[1]} features "
            f"and {len(class_names)} classes; choose with --features."
        )
    dated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    metadata = dated.get(Path(path).suffix.lower())
    with picture(Path(path), *storyboard_size(len(frames)), metadata=metadata) as figure:
        draw_storyboard(figure, frames, X, codes, class_names, feature_names, title, score)


def _grid(count: int) -> tuple[list[int], int, int]:
    """Return which frames are shown, in how many lines and columns."""
    numbers = thinned(count, _MOST_PANELS)
    columns = min(_COLUMNS, len(numbers))
    return numbers, ceil(len(numbers) / columns), columns


def storyboard_size(count: int) -> tuple[float, float]:
    """Return how wide and tall the picture of so many frames is, in inches."""
    _, rows, columns = _grid(count)
    return 2.9 * columns + 0.3, 2.75 * rows + 0.9


def draw_storyboard(
    figure: Any,
    frames: Sequence[Any],
    X: np.ndarray,
    codes: np.ndarray,
    class_names: Sequence[str],
    feature_names: Sequence[str],
    title: str,
    score: Score = linear_score,
) -> None:
    """Draw the panels on an empty figure."""
    numbers, rows, columns = _grid(len(frames))
    panels = figure.subplots(rows, columns, squeeze=False)
    for place, axes in enumerate(panels.ravel()):
        if place >= len(numbers):
            axes.set_axis_off()
            continue
        number = numbers[place]
        before = frames[number - 1] if number else None
        draw_step(axes, frames[number], before, X, codes, class_names, score)
        if place // columns == rows - 1 or place + columns >= len(numbers):
            axes.set_xlabel(plain(feature_names[0]), fontsize=9)
        if place % columns == 0:
            heights = plain(feature_names[1]) if X.shape[1] == 2 else "score"
            axes.set_ylabel(heights, fontsize=9)
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), frameon=False)
    figure.suptitle(plain(title), x=0.01, ha="left", fontweight="bold", fontsize=12)


def draw_step(
    axes: Any,
    frame: Any,
    before: Any,
    X: np.ndarray,
    codes: np.ndarray,
    class_names: Sequence[str],
    score: Score = linear_score,
) -> None:
    """Draw the points and the boundary of one frame, and that of the frame before."""
    draw = _draw_line if X.shape[1] == 1 else _draw_plane
    draw(axes, frame, before, X, codes, class_names, score)
    used = f", row {frame.row}" if frame.update and frame.row >= 0 else ""
    errors = f"{frame.errors} error{'s' * (frame.errors != 1)}"
    axes.set_title(f"{frame.update}{used}: {errors}", fontsize=9.5)
    axes.tick_params(labelsize=8)


def _limits(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = 0.12 * (high - low or 1.0)
    return low - room, high + room


def _ring(axes: Any, place: np.ndarray) -> None:
    axes.plot(*place, "o", markersize=11, markeredgewidth=1.6, zorder=5, markerfacecolor="none",
              markeredgecolor=ACCENT)  # fmt: skip


def _scatter(axes: Any, X: np.ndarray, codes: np.ndarray, names: Sequence[str]) -> None:
    for code, name in enumerate(names):
        axes.scatter(*X[codes == code].T, marker=CLASS_MARKERS[code], s=26, zorder=4,
                     facecolor=CLASS_COLOURS[code], edgecolor="white", linewidth=0.5,
                     label=plain(str(name)))  # fmt: skip


def _draw_plane(
    axes: Any, frame: Any, before: Any, X: Any, codes: Any, names: Any, score: Score
) -> None:
    across, up = _limits(X[:, 0]), _limits(X[:, 1])
    u, v = np.linspace(*across, _GRID), np.linspace(*up, _GRID)
    grid = np.stack(np.meshgrid(u, v), axis=-1).reshape(-1, 2)
    styles = ((before, FAINT, "--", 1.1), (frame, INK, "-", 1.8))
    for shown, colour, dashes, width in styles:
        if shown is None or not np.isfinite(shown.weights).all():
            continue
        heights = score(shown.weights, grid).reshape(_GRID, _GRID)
        if heights.min() < 0.0 < heights.max():
            axes.contour(u, v, heights, [0.0], colors=colour, linestyles=dashes, linewidths=width)
        if shown is frame and heights.max() > 0.0:
            axes.contourf(u, v, heights, [0.0, np.inf], colors=[CLASS_COLOURS[1]], alpha=0.07)
    _scatter(axes, X, codes, names)
    if frame.update and frame.row >= 0:
        _ring(axes, X[[frame.row]].T)
    axes.set(xlim=across, ylim=up)


def _draw_line(
    axes: Any, frame: Any, before: Any, X: Any, codes: Any, names: Any, score: Score
) -> None:
    across = _limits(X[:, 0])
    u = np.linspace(*across, _CURVE)
    axes.axhline(0.0, color=FAINT, linewidth=0.8, zorder=1)
    styles = ((before, FAINT, "--", 1.1), (frame, INK, "-", 1.8))
    for shown, colour, dashes, width in styles:
        if shown is not None and np.isfinite(shown.weights).all():
            axes.plot(u, score(shown.weights, u[:, None]), color=colour, linestyle=dashes,
                      linewidth=width, zorder=2)  # fmt: skip
    heights = score(frame.weights, u[:, None])
    for place in u[:-1][np.signbit(heights[:-1]) != np.signbit(heights[1:])]:
        axes.axvline(place, color=SOFT, linewidth=1.0, linestyle=":", zorder=1)
    on_axis = np.column_stack([X[:, 0], np.zeros(len(X))])
    _scatter(axes, on_axis, codes, names)
    if frame.update and frame.row >= 0:
        _ring(axes, on_axis[[frame.row]].T)
    axes.set(xlim=across)
