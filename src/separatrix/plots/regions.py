"""Where classifiers on two features decide for which class: regions and their curved borders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap

from separatrix.plots._drawing import (
    CLASS_COLOURS,
    INK,
    SOFT,
    draw_limits,
    draw_points,
    picture,
    plain,
    plane_data,
    shared_legend,
)

__all__ = ["draw_kernel_regions", "draw_regions", "save_kernel_regions", "save_regions"]

_STEPS, _KERNEL_STEPS = 400, 240
_COLUMNS = 2


def save_regions(
    panels: Sequence[tuple[str, Any, Any, Any]],
    path: Path | str,
    names: Sequence[str] = ("x0", "x1"),
) -> None:
    """Draw panels of (title, X, y, fitted classifier) side by side into a file.

    Anything with ``predict`` will do: a lift and a model in a pipeline, or models of many classes.
    """
    for _, X, y, _ in panels:
        plane_data(X, y, len(CLASS_COLOURS))
    with picture(path, 0.8 + 3.9 * len(panels), 4.3) as figure:
        draw_regions(figure, panels, names)


def draw_regions(
    figure: Any,
    panels: Sequence[tuple[str, Any, Any, Any]],
    names: Sequence[str] = ("x0", "x1"),
) -> None:
    """Draw the panels on an empty figure."""
    shown = [plane_data(X, y, len(CLASS_COLOURS)) for _, X, y, _ in panels]
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for one, (title, _, _, model), (X, codes, classes) in zip(axes, panels, shown, strict=True):
        limits = draw_limits(X)
        _draw_regions(one, model, classes, limits)
        draw_points(one, X, codes, classes)
        one.set(xlim=limits[0], ylim=limits[1], title=plain(title), xlabel=plain(names[0]))
    axes[0].set_ylabel(plain(names[1]))
    shared_legend(figure, axes[0])


def _draw_regions(axes: Any, model: Any, classes: np.ndarray, limits: Any) -> None:
    """Tint each class's region and draw the border of each."""
    across, up, mesh = _mesh(limits, _STEPS)
    codes = np.searchsorted(classes, model.predict(mesh)).reshape(_STEPS, _STEPS)
    levels = np.arange(len(classes) + 1) - 0.5
    colours = ListedColormap(CLASS_COLOURS[: len(classes)])
    axes.contourf(across, up, codes, levels=levels, cmap=colours, alpha=0.16, zorder=1)
    for code in range(len(classes)):
        inside = (codes == code).astype(float)
        if 0.0 < inside.mean() < 1.0:
            axes.contour(across, up, inside, levels=[0.5], colors=INK, linewidths=1.2, zorder=2)


def _mesh(limits: Any, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    across, up = (np.linspace(low, high, steps) for low, high in limits)
    return across, up, np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)


def save_kernel_regions(
    panels: Sequence[tuple[str, Any, Any, Any]], path: Path | str, names: Sequence[str] = ("", "")
) -> None:
    """Draw panels of (title, X, y, fitted machine on two features) into a file.

    Beside the regions: the margin of two classes, and the support vectors.
    """
    for _, X, _, _ in panels:
        if np.shape(X)[1] != 2:
            raise ValueError(f"regions need two features. Got {np.shape(X)[1]}.")
    rows, columns = -(-len(panels) // _COLUMNS), min(_COLUMNS, len(panels))
    with picture(path, 4.7 * columns, 3.9 * rows) as figure:
        draw_kernel_regions(figure, panels, names)


def draw_kernel_regions(
    figure: Any, panels: Sequence[tuple[str, Any, Any, Any]], names: Sequence[str] = ("", "")
) -> None:
    """Draw the panels on an empty figure, two a line."""
    rows, columns = -(-len(panels) // _COLUMNS), min(_COLUMNS, len(panels))
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (title, X, y, machine) in zip(grid, panels, strict=False):
        _draw_machine(axes, title, np.asarray(X, dtype=float), np.asarray(y), machine)
        axes.set(xlabel=plain(names[0]), ylabel=plain(names[1]))
    for axes in grid[len(panels) :]:
        axes.set_axis_off()


def _draw_machine(axes: Any, title: str, X: np.ndarray, y: np.ndarray, machine: Any) -> None:
    classes = machine.classes_
    limits = draw_limits(X)
    across, up, mesh = _mesh(limits, _KERNEL_STEPS)
    scores, shape = machine.decision_function(mesh), (_KERNEL_STEPS, _KERNEL_STEPS)
    if scores.ndim == 1:
        regions, height = (scores > 0).astype(int), scores.reshape(shape)
        margins = {"levels": [-1.0, 1.0], "linewidths": 0.8, "linestyles": "--"}
        axes.contour(across, up, height, levels=[0.0], colors=INK, linewidths=1.5)
        axes.contour(across, up, height, colors=SOFT, **margins)
    else:
        regions = scores.argmax(axis=1)
        for k in range(len(classes)):
            inside = (regions == k).astype(float).reshape(shape)
            axes.contour(across, up, inside, levels=[0.5], colors=INK, linewidths=1.2)
    axes.imshow(
        regions.reshape(shape),
        extent=(*limits[0], *limits[1]),
        origin="lower",
        interpolation="none",
        aspect="auto",
        cmap=ListedColormap(CLASS_COLOURS[: len(classes)]),
        vmin=-0.5,
        vmax=len(classes) - 0.5,
        alpha=0.13,
    )
    draw_points(axes, X, np.searchsorted(classes, y), classes)
    support = X[machine.support_]
    axes.scatter(*support.T, s=62, facecolor="none", edgecolor=INK, linewidth=0.8, zorder=5)
    axes.set(xlim=limits[0], ylim=limits[1])
    axes.set_title(f"{plain(title)}: {len(support)} support vectors")
    axes.legend(frameon=True, framealpha=0.85, edgecolor="none", fontsize=8)
