"""Points of classes and a line, in a plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.plots._style import CLASS_COLOURS, CLASS_MARKERS, plain

__all__ = ["draw_limits", "draw_line", "draw_points"]

Limits = tuple[tuple[float, float], tuple[float, float]]


def draw_limits(X: np.ndarray) -> Limits:
    """Return the ends of both axes, with room around the points."""
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.08 * np.where(high > low, high - low, 1.0)
    (a, b), (c, d) = (low - pad).tolist(), (high + pad).tolist()
    return (a, c), (b, d)


def draw_points(axes: Any, X: np.ndarray, codes: np.ndarray, classes: np.ndarray) -> None:
    """Draw every class with its own colour and shape."""
    for code, name in enumerate(classes):
        part = X[codes == code]
        axes.scatter(
            part[:, 0],
            part[:, 1],
            s=26,
            marker=CLASS_MARKERS[code],
            facecolor=CLASS_COLOURS[code],
            edgecolor="white",
            linewidth=0.5,
            alpha=0.8,
            label=plain(str(name)),
            zorder=3,
        )


def draw_line(axes: Any, w: np.ndarray, b: float, limits: Limits, **style: Any) -> np.ndarray:
    """Draw w.x + b = 0 from beyond one edge to beyond the other, and return its ends."""
    length = float(np.hypot(*w))
    w, b = w / length, b / length
    along = np.array([-w[1], w[0]])
    reach = 2.0 * float(np.hypot(*(np.ptp(side) for side in limits)))
    middle = np.array([np.mean(side) for side in limits])
    foot = middle - (w @ middle + b) * w
    ends = np.array([foot - reach * along, foot + reach * along])
    axes.plot(*ends.T, zorder=4, **style)
    return ends
