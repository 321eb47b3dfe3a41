"""Verdicts on two features, and the sheet of all labelings of a few points.

The witness is the lecture's own proof: positive multiples of rows that cancel say that a point lies
in both convex hulls, so hulls are drawn and the common point marked (where two segments cross, or
inside a triangle).
"""

from __future__ import annotations

from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.patheffects import withStroke

from separatrix.plots._drawing import (
    ACCENT,
    CLASS_COLOURS,
    CLASS_MARKERS,
    INK,
    SOFT,
    closed_hull,
    dense,
    draw_band,
    draw_limits,
    draw_line,
    draw_points,
    picture,
    plain,
)

__all__ = ["save_shattering", "save_verdict"]

_MOST_PANELS = 64
_TINT, _WARNING_TINT = "#e7f0f8", "#fbeef3"


# ---- a verdict


def save_verdict(
    verdict: Any, X: Any, y: Any, path: Path | str, names: list[str] | None = None
) -> None:
    """Draw the separator with its margin, or the rows that cannot be separated, into a file."""
    X = dense(X)
    if X.shape[1] != 2:
        raise ValueError(f"a picture needs two features, and X has {X.shape[1]}.")
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    with picture(path, 6.4, 4.8) as figure:
        axes = figure.add_subplot()
        draw_points(axes, X, codes, classes)
        limits = draw_limits(X)
        if verdict.weights is not None:
            _draw_hyperplane(axes, verdict, limits)
        if verdict.witness is not None:
            _draw_witness(axes, verdict.witness, X, codes)
        axes.set(xlim=limits[0], ylim=limits[1], title=_verdict_title(verdict))
        axes.set_xlabel(plain(names[0]) if names else "x0")
        axes.set_ylabel(plain(names[1]) if names else "x1")
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _verdict_title(verdict: Any) -> str:
    if verdict.kind == "separable":
        return f"Separable, margin {verdict.margin:.4g}" if verdict.margin else "Separable"
    return {
        "quasi-separable": "Quasi-separable: only with rows on the boundary",
        "overlapping": "Overlapping: these rows cannot be separated",
        "undecided": "Undecided",
    }[verdict.kind]


def _draw_hyperplane(axes: Any, verdict: Any, limits: Any) -> None:
    """Draw w.x + b = 0 and the band that holds no row."""
    w, b = np.asarray(verdict.weights, dtype=float), float(verdict.intercept)
    length = float(np.hypot(*w))
    if length == 0.0:
        return
    ends = draw_line(axes, w, b, limits, color=INK, linewidth=1.6, label="separator")
    if verdict.margin:
        draw_band(axes, ends, verdict.margin * (w / length), 0.8)


def _draw_witness(axes: Any, witness: Any, X: np.ndarray, codes: np.ndarray) -> None:
    """Draw the hull of the witness rows of each class, the point both share, and the integers."""
    rows = np.array(witness.rows)
    total = sum(witness.multipliers)
    share = np.array([m / total for m in witness.multipliers])
    for code, colour in enumerate(CLASS_COLOURS[:2]):
        corners = X[rows[codes[rows] == code]]
        axes.plot(*closed_hull(corners).T, color=colour, linewidth=1.8, zorder=4)
        ring = {"facecolor": "none", "edgecolor": colour, "linewidth": 1.6}
        axes.scatter(*corners.T, s=90, zorder=5, **ring)
    own = codes[rows] == 1
    if share[own].sum() > 0.0:
        common = share[own] @ X[rows[own]] / share[own].sum()
        axes.scatter(*common, s=70, marker="X", color=ACCENT, zorder=6, label="in both hulls")
    for row, multiplier in zip(rows.tolist(), witness.multipliers, strict=True):
        name = f"{_in_short(multiplier)} × row {row}"
        at_the_edge = X[row, 0] > X[:, 0].min() + 0.8 * np.ptp(X[:, 0])
        side, offset = ("right", (-9, 6)) if at_the_edge else ("left", (7, 6))
        _name_point(axes, name, X[row], offset, 3, ha=side, color=INK, fontsize=9, zorder=7)


def _in_short(multiplier: int) -> str:
    """Write a multiplier of the witness; one of many digits by its size.

    >>> _in_short(12), _in_short(3 * 10**40)
    ('12', '3e40')
    """
    text = str(multiplier)
    return text if len(text) <= 9 else f"{text[0]}e{len(text) - 1}"


def _name_point(
    axes: Any, name: str, point: Any, offset: tuple[int, int], halo: float, **style: Any
) -> None:
    around = [withStroke(linewidth=halo, foreground="white")]
    axes.annotate(
        name, point, xytext=offset, textcoords="offset points", path_effects=around, **style
    )


# ---- all labelings


def save_shattering(result: Any, path: Path | str) -> None:
    """Draw all labelings of points in the plane into a file (.svg, .png, .pdf).

    A possible labeling shows a line that makes it. An impossible one shows the lecture's reason:
    the diagonals that cross, the triangle around a point, or the segment that holds one.
    """
    width, count = result.points.shape[1], len(result.labelings)
    if width != 2:
        raise ValueError(f"a sheet needs points in the plane, and these have {width} coordinates.")
    if count > _MOST_PANELS:
        raise ValueError(f"a sheet holds {_MOST_PANELS} labelings (6 points): here are {count}.")
    columns = min(8, count) if count != 16 else 4
    rows = ceil(count / columns)
    low, high = result.points.min(axis=0), result.points.max(axis=0)
    half = 1.45 * 0.5 * float((high - low).max()) or 1.0
    with picture(path, 1.75 * columns, 1.95 * rows + 0.75) as figure:
        panels = np.atleast_1d(figure.subplots(rows, columns, squeeze=False)).ravel()
        for panel, labeling in zip(panels, result.labelings, strict=False):
            _draw_labeling(panel, result, labeling, (low + high) / 2, half)
        for panel in panels[count:]:
            panel.set_axis_off()
        figure.suptitle(_sheet_title(result), x=0.01, ha="left", fontweight="bold", fontsize=11)


def _sheet_title(result: Any) -> str:
    word = "Shattered" if result.shattered else "Not shattered"
    found = f"{word}: {result.count} of {len(result.labelings)} labelings"
    return f"{found}\n(Cover's count in general position: {result.cover})"


def _draw_labeling(axes: Any, result: Any, labeling: Any, middle: np.ndarray, half: float) -> None:
    """Draw one labeling in a square around `middle`, `half` a side in each direction."""
    labels, points = np.array(labeling.labels), result.points
    if labeling.possible:
        _draw_side(axes, labeling, middle, half)
    else:
        _draw_reason(axes, labeling, points, labels)
        axes.set_facecolor(_WARNING_TINT)
    for label, (colour, shape) in enumerate(zip(CLASS_COLOURS[:2], CLASS_MARKERS, strict=False)):
        dots = {"facecolor": colour, "marker": shape, "edgecolor": "white", "linewidth": 0.6}
        axes.scatter(*points[labels == label].T, s=34, zorder=4, **dots)
    for name, point in zip(result.names, points, strict=True):
        _name_point(axes, plain(name), point, (4, 4), 2, fontsize=7.5, color=SOFT, zorder=5)
    axes.set(xlim=(middle[0] - half, middle[0] + half), ylim=(middle[1] - half, middle[1] + half))
    axes.set(xticks=[], yticks=[], aspect="equal")
    for spine in axes.spines.values():
        spine.set_visible(True)
    colour = INK if labeling.possible else ACCENT
    axes.set_title(labeling.text, fontsize=9, color=colour, pad=2)
    axes.set_xlabel("" if labeling.possible else labeling.case, fontsize=7.5, color=ACCENT)


def _draw_side(axes: Any, labeling: Any, middle: np.ndarray, half: float) -> None:
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


def _draw_reason(axes: Any, labeling: Any, points: np.ndarray, labels: np.ndarray) -> None:
    """Draw the hull of each side's witness rows."""
    rows = np.array(labeling.witness.rows)
    for label, colour in enumerate(CLASS_COLOURS[:2]):
        corners = points[rows[labels[rows] == label]]
        if len(corners):
            hull = closed_hull(corners)
            axes.fill(*hull.T, color=colour, alpha=0.15, linewidth=0.0, zorder=2)
            axes.plot(*hull.T, color=colour, linewidth=1.6, zorder=3)
