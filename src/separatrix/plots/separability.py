"""A verdict on two features: the separator with its margin, or the rows that cannot be separated.

The witness is the lecture's own proof: positive multiples of rows that cancel say that a point lies
in both convex hulls, so hulls are drawn and the common point marked (where two segments cross, or
inside a triangle).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from separatrix.plots._plane import draw_limits, draw_line, draw_points
from separatrix.plots._save import written_aside
from separatrix.plots._style import (
    ACCENT,
    CLASS_COLOURS,
    FAINT,
    INK,
    RC,
    SOFT,
    plain,
)

__all__ = ["save_verdict"]


def save_verdict(
    verdict: Any, X: Any, y: Any, path: Path | str, names: list[str] | None = None
) -> None:
    """Draw the verdict on two features into a file (.svg, .png, .pdf)."""
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    if X.shape[1] != 2:
        raise ValueError(f"a picture needs two features, and X has {X.shape[1]}.")
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(6.4, 4.8), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        draw_points(axes, X, codes, classes)
        limits = draw_limits(X)
        if verdict.weights is not None:
            _hyperplane(axes, verdict, limits)
        if verdict.witness is not None:
            _witness(axes, verdict.witness, X, codes)
        axes.set(xlim=limits[0], ylim=limits[1], title=_title(verdict))
        axes.set_xlabel(plain(names[0]) if names else "x0")
        axes.set_ylabel(plain(names[1]) if names else "x1")
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        with written_aside(path) as aside:
            figure.savefig(aside, dpi=150)


def _title(verdict: Any) -> str:
    if verdict.kind == "separable":
        return f"Separable, margin {verdict.margin:.4g}" if verdict.margin else "Separable"
    return {
        "quasi-separable": "Quasi-separable: only with rows on the boundary",
        "overlapping": "Overlapping: these rows cannot be separated",
        "undecided": "Undecided",
    }[verdict.kind]


def _hyperplane(axes: Any, verdict: Any, limits: Any) -> None:
    """Draw w.x + b = 0 and the band that holds no row."""
    w, b = np.asarray(verdict.weights, dtype=float), float(verdict.intercept)
    length = float(np.hypot(*w))
    if length == 0.0:
        return
    ends = draw_line(axes, w, b, limits, color=INK, linewidth=1.6, label="separator")
    w = w / length
    if verdict.margin:
        for side in (-1, 1):
            axes.plot(
                *(ends + side * verdict.margin * w).T, color=SOFT, linewidth=0.8, linestyle="--"
            )
        band = np.vstack([ends + verdict.margin * w, (ends - verdict.margin * w)[::-1]])
        axes.fill(*band.T, color=FAINT, alpha=0.18, linewidth=0.0, label="margin", zorder=1)


def _witness(axes: Any, witness: Any, X: np.ndarray, codes: np.ndarray) -> None:
    """Draw the hull of the witness rows of each class and the point both share."""
    rows = np.array(witness.rows)
    total = sum(witness.multipliers)
    share = np.array([m / total for m in witness.multipliers])
    for code in (0, 1):
        own = codes[rows] == code
        corners = X[rows[own]]
        order = _around(corners)
        closed = np.vstack([corners[order], corners[order][:1]])
        axes.plot(*closed.T, color=CLASS_COLOURS[code], linewidth=1.8, zorder=4)
        axes.scatter(
            *corners.T,
            s=90,
            facecolor="none",
            edgecolor=CLASS_COLOURS[code],
            linewidth=1.6,
            zorder=5,
        )
    own = codes[rows] == 1
    if share[own].sum() > 0.0:
        common = share[own] @ X[rows[own]] / share[own].sum()
        axes.scatter(*common, s=70, marker="X", color=ACCENT, zorder=6, label="in both hulls")
    for row in rows.tolist():
        axes.annotate(
            f"row {row}",
            X[row],
            xytext=(7, 6),
            textcoords="offset points",
            color=INK,
            fontsize=9,
            zorder=7,
            path_effects=[withStroke(linewidth=3, foreground="white")],
        )


def _around(corners: np.ndarray) -> np.ndarray:
    """Order corners by angle around their middle."""
    centred = corners - corners.mean(axis=0)
    return np.argsort(np.arctan2(centred[:, 1], centred[:, 0]), kind="stable")
