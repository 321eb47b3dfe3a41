"""How far rows lie from the hyperplane: on their own side to the right of 0, wrong to the left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.ticker import FuncFormatter, MaxNLocator

from separatrix.plots._style import CLASS_COLOURS, FAINT, INK, SOFT
from separatrix.plots._svg import PAPER, as_svg, class_colour, drawable, panel

__all__ = ["draw_margin_histogram"]


def draw_margin_histogram(
    edges: Sequence[float],
    counts: Sequence[Sequence[int]],
    name: str,
    title: str,
    description: str,
    unit: str = "y (w·x + b)",
) -> str:
    """Draw the classes' counts on top of one another, one bar for each bin."""
    ends = np.asarray(edges, dtype=float)
    stacks = [np.asarray(part, dtype=float) for part in counts]
    if len(stacks) > len(CLASS_COLOURS):
        stacks = [np.sum(stacks, axis=0)]
        colours = [SOFT]
    else:
        colours = [class_colour(number) for number in range(len(stacks))]
    with panel(420.0, 260.0) as (figure, axes):
        if ends[0] < 0.0:
            axes.axvspan(ends[0], min(0.0, ends[-1]), color=FAINT, alpha=0.16, linewidth=0.0)
        floor = np.zeros(len(ends) - 1)
        for stack, colour in zip(stacks, colours, strict=True):
            axes.bar(
                ends[:-1], stack, np.diff(ends), bottom=floor, align="edge", color=colour,
                edgecolor=PAPER, linewidth=0.7,
            )  # fmt: skip
            floor = floor + stack
        for place in (0.0, 1.0):
            if ends[0] <= place <= ends[-1]:
                style = "-" if place == 0.0 else "--"
                axes.axvline(place, color=INK, linewidth=1.2, linestyle=style)
        top = max(1.0, float(floor.max()))
        axes.set(xlim=(ends[0], ends[-1]), ylim=(0.0, 1.1 * top), xlabel=drawable(unit))
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
        return as_svg(figure, name, title, description)
