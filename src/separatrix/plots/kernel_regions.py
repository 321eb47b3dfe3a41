"""Machines on two features: the region of every class, the boundary, the margin, the support."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from separatrix.plots._plane import draw_limits, draw_points
from separatrix.plots._save import written_aside
from separatrix.plots._style import CLASS_COLOURS, INK, RC, SOFT, plain

__all__ = ["save_kernel_regions"]

_POINTS_ACROSS = 240
_COLUMNS = 2


def save_kernel_regions(
    panels: Sequence[tuple[str, Any, Any, Any]], path: Path | str, names: Sequence[str] = ("", "")
) -> None:
    """Draw panels of (title, X, y, fitted machine on two features) into a file."""
    for _, X, _, _ in panels:
        if np.shape(X)[1] != 2:
            raise ValueError(f"regions need two features. Got {np.shape(X)[1]}.")
    rows = -(-len(panels) // _COLUMNS)
    columns = min(_COLUMNS, len(panels))
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(4.7 * columns, 3.9 * rows), layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.subplots(rows, columns, squeeze=False).ravel()
        for axes, (title, X, y, machine) in zip(grid, panels, strict=False):
            _draw(axes, title, np.asarray(X, dtype=float), np.asarray(y), machine)
            axes.set(xlabel=plain(names[0]), ylabel=plain(names[1]))
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
        with written_aside(path) as aside:
            figure.savefig(aside, dpi=150)


def _draw(axes: Any, title: str, X: np.ndarray, y: np.ndarray, machine: Any) -> None:
    classes = machine.classes_
    codes = np.searchsorted(classes, y)
    limits = draw_limits(X)
    across = np.linspace(*limits[0], _POINTS_ACROSS)
    up = np.linspace(*limits[1], _POINTS_ACROSS)
    mesh = np.stack(np.meshgrid(across, up), axis=-1)
    scores = machine.decision_function(mesh.reshape(-1, 2))
    if scores.ndim == 1:
        regions = (scores > 0).astype(int)
        height = scores.reshape(mesh.shape[:2])
        axes.contour(across, up, height, levels=[0.0], colors=INK, linewidths=1.5)
        axes.contour(
            across, up, height, levels=[-1.0, 1.0], colors=SOFT, linewidths=0.8, linestyles="--"
        )
    else:
        regions = scores.argmax(axis=1)
        for k in range(len(classes)):
            inside = (regions == k).astype(float).reshape(mesh.shape[:2])
            axes.contour(across, up, inside, levels=[0.5], colors=INK, linewidths=1.2)
    axes.imshow(
        regions.reshape(mesh.shape[:2]),
        extent=(*limits[0], *limits[1]),
        origin="lower",
        interpolation="none",
        aspect="auto",
        cmap=ListedColormap(CLASS_COLOURS[: len(classes)]),
        vmin=-0.5,
        vmax=len(classes) - 0.5,
        alpha=0.13,
    )
    draw_points(axes, X, codes, classes)
    support = X[machine.support_]
    axes.scatter(*support.T, s=62, facecolor="none", edgecolor=INK, linewidth=0.8, zorder=5)
    axes.set(xlim=limits[0], ylim=limits[1])
    axes.set_title(f"{plain(title)}: {len(support)} support vectors")
    axes.legend(frameon=True, framealpha=0.85, edgecolor="none", fontsize=8)
