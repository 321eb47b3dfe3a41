"""A machine on two features, as the lecture draws it: the hyperplane, its margin, its support."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from separatrix.plots._plane import draw_limits, draw_line, draw_points
from separatrix.plots._save import written_aside
from separatrix.plots._style import FAINT, INK, RC, SOFT, plain

__all__ = ["save_machine"]


def save_machine(
    machine: Any, X: Any, y: Any, path: Path | str, names: list[str] | None = None
) -> None:
    """Draw a fitted LinearSVM of two classes on two features into a file (.svg, .png, .pdf)."""
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    if X.shape[1] != 2 or len(machine.coef_) != 1:
        raise ValueError("a picture of a machine needs two features and two classes.")
    codes = np.searchsorted(machine.classes_, np.asarray(y))
    w, b = machine.coef_[0], float(machine.intercept_[0])
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(6.4, 4.8), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        limits = draw_limits(X)
        draw_points(axes, X, codes, machine.classes_)
        if w.any():
            ends = draw_line(axes, w, b, limits, color=INK, linewidth=1.6, label="hyperplane")
            across = w / float(w @ w)
            for side in (-1.0, 1.0):
                axes.plot(*(ends + side * across).T, color=SOFT, linewidth=0.9, linestyle="--")
            band = np.vstack([ends + across, (ends - across)[::-1]])
            axes.fill(*band.T, color=FAINT, alpha=0.18, linewidth=0.0, label="margin", zorder=1)
            _slacks(axes, machine, X, codes, w, b)
        support = X[machine.support_]
        axes.scatter(
            support[:, 0],
            support[:, 1],
            s=95,
            facecolor="none",
            edgecolor=INK,
            linewidth=1.1,
            zorder=5,
            label=f"{len(support)} support vectors",
        )
        hard = "Hard margin" if np.isinf(machine.C) else f"Soft margin, C = {machine.C:g}"
        axes.set(xlim=limits[0], ylim=limits[1], aspect="equal")
        axes.set_title(f"{hard}: margin {machine.margin_:.4g}, gap {machine.gap_:.1g}")
        axes.set_xlabel(plain(names[0]) if names else "x0")
        axes.set_ylabel(plain(names[1]) if names else "x1")
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        with written_aside(path) as aside:
            figure.savefig(aside, dpi=150, bbox_inches="tight")


def _slacks(
    axes: Any, machine: Any, X: np.ndarray, codes: np.ndarray, w: np.ndarray, b: float
) -> None:
    """Join every row that falls short to the edge of its margin."""
    signs = np.where(codes == 1, 1.0, -1.0)
    short = 1.0 - signs * (X @ w + b)
    rows = np.flatnonzero(short > 1e-3)
    steps = (signs * short)[rows, None] * w / float(w @ w)
    for k, (begin, step) in enumerate(zip(X[rows], steps, strict=True)):
        line = np.vstack([begin, begin + step])
        label = "slack" if k == 0 else None
        axes.plot(*line.T, color=SOFT, linewidth=0.6, alpha=0.7, zorder=2, label=label)
