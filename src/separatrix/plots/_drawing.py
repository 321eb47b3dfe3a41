"""What all pictures share: colours and shapes, points and lines of a plane, and how they are saved.

Colours and shapes are distinct without colour, and to the colour-blind.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from separatrix._write_aside import new_file_beside

__all__ = [
    "draw_limits",
    "draw_line",
    "draw_points",
    "picture",
    "plane_data",
    "thinned",
    "written_aside",
]


CLASS_COLOURS = ("#c4501b", "#1f6fb4", "#3c8d40", "#8e4fa8", "#8a6d1f", "#4a4a4a")
CLASS_MARKERS = ("o", "s", "^", "D", "v", "P")
INK, SOFT, FAINT, ACCENT = "#22262b", "#5b646e", "#9aa3ad", "#c2185b"
RC: dict[str, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "white",
    "axes.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "separatrix",
}
Limits = tuple[tuple[float, float], tuple[float, float]]


@contextmanager
def picture(path: Path | str, width: float, height: float, **saving: Any) -> Iterator[Any]:
    """Give an empty figure; it is written to the file (.svg, .png, .pdf) once all has gone well."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        with written_aside(path) as aside:
            figure.savefig(aside, dpi=150, **saving)


@contextmanager
def written_aside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a path beside the file; it takes the file's name once all has gone well."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    with new_file_beside(target) as aside:
        yield aside
        os.replace(aside, target)


def plain(text: str) -> str:
    """Return text that matplotlib does not take for a formula.

    >>> print(plain("cost in $"))
    cost in \\$
    """
    return text.replace("$", r"\$")


def plane_data(X: Any, y: Any, most: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return X dense, the class numbers and the classes; refuse what no plane can show."""
    X = dense(X)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if X.shape[1] != 2 or len(classes) > most or (most == 2 and len(classes) != 2):
        classes_shown = "two classes" if most == 2 else f"at most {most} classes"
        raise ValueError(
            f"a picture needs two features and {classes_shown}. Got {X.shape[1]} features and "
            f"{len(classes)} classes."
        )
    return X, codes, classes


def dense(X: Any) -> np.ndarray:
    """Return X as an array of numbers."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float))


def draw_limits(X: np.ndarray) -> Limits:
    """Return the ends of both axes, with room around the points."""
    low, high = X.min(axis=0), X.max(axis=0)
    pad = 0.08 * np.where(high > low, high - low, 1.0)
    (a, b), (c, d) = (low - pad).tolist(), (high + pad).tolist()
    return (a, c), (b, d)


def draw_points(axes: Any, X: np.ndarray, codes: np.ndarray, classes: Any, **style: Any) -> None:
    """Draw every class with its own colour and shape."""
    usual = {"s": 26, "edgecolor": "white", "linewidth": 0.5, "alpha": 0.8, "zorder": 3}
    for code, name in enumerate(classes):
        axes.scatter(
            *X[codes == code].T,
            marker=CLASS_MARKERS[code],
            facecolor=CLASS_COLOURS[code],
            label=plain(str(name)),
            **usual | style,
        )


def draw_line(axes: Any, w: np.ndarray, b: float, limits: Limits, **style: Any) -> np.ndarray:
    """Draw w.x + b = 0 from beyond one edge to beyond the other, and return its ends."""
    ends = line_ends(w, b, limits)
    axes.plot(*ends.T, zorder=4, **style)
    return ends


def line_ends(w: np.ndarray, b: float, limits: Limits) -> np.ndarray:
    """Return two points of w.x + b = 0 that lie beyond the edges, whatever its slope."""
    length = float(np.hypot(*w))
    w, b = w / length, b / length
    along = np.array([-w[1], w[0]])
    reach = 2.0 * float(np.hypot(*(np.ptp(side) for side in limits)))
    middle = np.array([np.mean(side) for side in limits])
    foot = middle - (w @ middle + b) * w
    return np.array([foot - reach * along, foot + reach * along])


def draw_band(axes: Any, ends: np.ndarray, across: np.ndarray, width: float) -> None:
    """Draw the edges of a margin on both sides of a line, and tint what lies between them."""
    for side in (-1.0, 1.0):
        line = ends + side * across
        axes.plot(*line.T, color=SOFT, linewidth=width, linestyle="--")
    band = np.vstack([ends + across, (ends - across)[::-1]])
    axes.fill(*band.T, color=FAINT, alpha=0.18, linewidth=0.0, label="margin", zorder=1)


def closed_hull(corners: np.ndarray) -> np.ndarray:
    """Return corners in the order of their angle around the middle, the first again at the end."""
    centred = corners - corners.mean(axis=0)
    order = np.argsort(np.arctan2(centred[:, 1], centred[:, 0]), kind="stable")
    return np.vstack([corners[order], corners[order][:1]])


def shared_legend(figure: Any, axes: Any) -> None:
    """Put the legend of one pair of axes below all of them."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), frameon=False)


def thinned(count: int, most: int) -> list[int]:
    """Return at most `most` numbers below `count`, dense at first, with the first and the last.

    >>> thinned(5, 10)
    [0, 1, 2, 3, 4]
    >>> thinned(1000, 5)
    [0, 5, 31, 177, 999]
    """
    if count <= most:
        return list(range(count))
    places = np.geomspace(1, count, most) - 1
    numbers = sorted({round(place) for place in places})
    return [int(number) for number in numbers]
