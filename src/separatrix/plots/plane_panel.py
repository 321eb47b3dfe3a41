"""Points of a plane and the lines of linear machines: a replay's last step, for paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.ticker import MaxNLocator

from separatrix.plots._plane import draw_limits, draw_line
from separatrix.plots._style import CLASS_MARKERS, INK, SOFT
from separatrix.plots._svg import PAPER, as_svg, class_colour, drawable, panel

__all__ = ["draw_plane_panel"]


def draw_plane_panel(
    points: Sequence[Sequence[float]],
    codes: Sequence[int],
    lines: Sequence[Sequence[float]],
    features: Sequence[str],
    name: str,
    title: str,
    description: str,
    street: bool = False,
) -> str:
    """Draw points by class and the lines ``b + w1 x + w2 y = 0``.

    A line alone is in ink, with the edges of its margin if there is a `street`; of several each has
    the colour of the class that it sets apart.
    """
    X, numbers = np.asarray(points, dtype=float), np.asarray(codes)
    limits = draw_limits(X)
    with panel(460.0, 320.0) as (figure, axes):
        axes.grid(visible=False)
        for code in np.unique(numbers):
            part = X[numbers == code]
            axes.plot(
                *part.T, linestyle="none", marker=CLASS_MARKERS[code], markersize=5.0,
                markerfacecolor=class_colour(int(code)), markeredgecolor=PAPER,
                markeredgewidth=0.5,
            )  # fmt: skip
        for number, (b, *w) in enumerate(lines):
            if not np.any(w):
                continue
            colour = INK if len(lines) == 1 else class_colour(number)
            draw_line(axes, np.array(w), b, limits, color=colour, linewidth=1.8)
            for side in (-1.0, 1.0) if street and len(lines) == 1 else ():
                style = {"color": SOFT, "linewidth": 1.0, "linestyle": "--"}
                draw_line(axes, np.array(w), b + side, limits, **style)
        axes.set(xlim=limits[0], ylim=limits[1])
        axes.set(xlabel=drawable(features[0]), ylabel=drawable(features[1]))
        axes.xaxis.set_major_locator(MaxNLocator(6))
        axes.yaxis.set_major_locator(MaxNLocator(5))
        return as_svg(figure, name, title, description)
