"""Where classifiers on two features decide for which class: regions and their curved borders.

Anything with ``predict`` will do: a lift and a machine in a pipeline, or machines of many classes.
"""

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
from separatrix.plots._style import CLASS_COLOURS, INK, RC, plain

__all__ = ["save_regions"]

_STEPS = 400


def save_regions(
    panels: Sequence[tuple[str, Any, Any, Any]],
    path: Path | str,
    names: Sequence[str] = ("x0", "x1"),
) -> None:
    """Draw panels of (title, X, y, fitted classifier) side by side into a file."""
    prepared = [_prepared(*panel) for panel in panels]
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(0.8 + 3.9 * len(prepared), 4.3), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, len(prepared), squeeze=False)[0]
        for one, (title, X, codes, classes, model) in zip(axes, prepared, strict=True):
            limits = draw_limits(X)
            _draw_regions(one, model, classes, limits)
            draw_points(one, X, codes, classes)
            one.set(xlim=limits[0], ylim=limits[1], title=plain(title), xlabel=plain(names[0]))
        axes[0].set_ylabel(plain(names[1]))
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), frameon=False)
        with written_aside(path) as aside:
            figure.savefig(aside, dpi=150)


def _prepared(title: str, X: Any, y: Any, model: Any) -> tuple[Any, ...]:
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if X.shape[1] != 2 or len(classes) > len(CLASS_COLOURS):
        raise ValueError(
            f"a picture needs two features and at most {len(CLASS_COLOURS)} classes. Got "
            f"{X.shape[1]} features and {len(classes)} classes."
        )
    return title, X, codes, classes, model


def _draw_regions(axes: Any, model: Any, classes: np.ndarray, limits: Any) -> None:
    """Tint each class's region and draw the border of each."""
    across = np.linspace(limits[0][0], limits[0][1], _STEPS)
    up = np.linspace(limits[1][0], limits[1][1], _STEPS)
    grid = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    codes = np.searchsorted(classes, model.predict(grid)).reshape(_STEPS, _STEPS)
    levels = np.arange(len(classes) + 1) - 0.5
    colours = ListedColormap(CLASS_COLOURS[: len(classes)])
    axes.contourf(across, up, codes, levels=levels, cmap=colours, alpha=0.16, zorder=1)
    for code in range(len(classes)):
        inside = (codes == code).astype(float)
        if 0.0 < inside.mean() < 1.0:
            axes.contour(across, up, inside, levels=[0.5], colors=INK, linewidths=1.2, zorder=2)
