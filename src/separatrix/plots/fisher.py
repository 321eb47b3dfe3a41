"""Fisher's projection: the rows on two features with the direction, and histograms along it.

Beside it the naive direction between the means, along which the same classes overlap more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from separatrix.plots._save import written_aside
from separatrix.plots._style import CLASS_COLOURS, CLASS_MARKERS, FAINT, INK, RC, SOFT, plain

__all__ = ["save_projections"]

_BINS = 24


def save_projections(
    machines: Mapping[str, Any],
    X: Any,
    y: Any,
    path: Path | str,
    names: Sequence[str] = ("x0", "x1"),
) -> None:
    """Draw for each fitted two-class machine its direction, threshold and histograms.

    A machine is anything with ``coef_`` (1 x 2) and ``intercept_``: Fisher, or Fisher with
    ``direction="means"``, or another to compare with.
    """
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if X.shape[1] != 2 or len(classes) != 2:
        raise ValueError(
            f"a picture needs two features and two classes. Got {X.shape[1]} features and "
            f"{len(classes)} classes."
        )
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(1.0 + 4.6 * len(machines), 6.6), layout="constrained")
        FigureCanvasAgg(figure)
        grid = figure.subplots(2, len(machines), height_ratios=(1.7, 1.0), squeeze=False)
        for column, (name, machine) in enumerate(machines.items()):
            w = np.ravel(machine.coef_).astype(float)
            b = float(np.ravel(machine.intercept_)[0])
            length = float(np.hypot(*w)) or 1.0
            _plane(grid[0, column], X, codes, classes, w / length, b / length, names)
            _histograms(grid[1, column], X @ w / length, codes, -b / length)
            grid[0, column].set_title(plain(name))
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), frameon=False)
        with written_aside(path) as aside:
            figure.savefig(aside, dpi=150)


def _plane(
    axes: Any,
    X: np.ndarray,
    codes: np.ndarray,
    classes: np.ndarray,
    w: np.ndarray,
    b: float,
    names: Sequence[str],
) -> None:
    for code, name in enumerate(classes):
        part = X[codes == code]
        colour = CLASS_COLOURS[code]
        axes.scatter(
            part[:, 0],
            part[:, 1],
            s=20,
            marker=CLASS_MARKERS[code],
            facecolor=colour,
            edgecolor="white",
            linewidth=0.4,
            alpha=0.8,
            label=plain(str(name)),
            zorder=3,
        )
        axes.scatter(*part.mean(axis=0), s=110, marker="X", color=colour, edgecolor=INK, zorder=5)
    axes.margins(0.1)
    # Along w and across it look perpendicular only where both axes have one scale.
    axes.set_aspect("equal", adjustable="datalim")
    middle, step = X.mean(axis=0), 0.01 * float(np.ptp(X, axis=0).max() or 1.0)
    axes.axline(
        middle, middle + step * w, color=SOFT, linewidth=1.2, linestyle="--", label="direction w"
    )
    foot = middle - (w @ middle + b) * w
    across = step * np.array([-w[1], w[0]])
    axes.axline(foot, foot + across, color=INK, linewidth=1.8, label="threshold", zorder=4)
    axes.set(xlabel=plain(names[0]), ylabel=plain(names[1]))


def _histograms(axes: Any, along: np.ndarray, codes: np.ndarray, threshold: float) -> None:
    edges = np.linspace(along.min(), along.max(), _BINS + 1)
    for code in (0, 1):
        axes.hist(
            along[codes == code],
            bins=edges,
            color=CLASS_COLOURS[code],
            alpha=0.55,
            edgecolor="white",
            linewidth=0.5,
            hatch=("", "///")[code],
        )
    axes.axvline(threshold, color=INK, linewidth=1.8)
    axes.set_xlabel("w.x / |w|")
    axes.set_ylabel("rows")
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color=FAINT, alpha=0.3, linewidth=0.6)
    axes.set_axisbelow(True)
