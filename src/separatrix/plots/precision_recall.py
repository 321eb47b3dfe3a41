"""Precision against recall, over all thresholds; a dotted line is what guessing would reach."""

from __future__ import annotations

from collections.abc import Sequence

from separatrix.plots._style import FAINT
from separatrix.plots._svg import as_svg
from separatrix.plots._unit_square import plot_curves, thinned, unit_square

__all__ = ["draw_precision_recall"]


def draw_precision_recall(
    curves: Sequence[tuple[Sequence[float], Sequence[float]]],
    name: str,
    title: str,
    description: str,
    prevalence: float | None = None,
    first_colour: int = 0,
) -> str:
    """Draw (recall, precision) of each class, in the classes' colours."""
    with unit_square("found (recall)", "right among them (precision)") as (figure, axes):
        if prevalence is not None:
            axes.axhline(prevalence, color=FAINT, linewidth=1.0, linestyle=":")
        plot_curves(axes, [thinned(*curve) for curve in curves], first_colour, steps=True)
        return as_svg(figure, name, title, description)
