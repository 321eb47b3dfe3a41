"""Receiver operating characteristic: rightly found against falsely alarmed, over all thresholds."""

from __future__ import annotations

from collections.abc import Sequence

from separatrix.plots._style import FAINT
from separatrix.plots._svg import as_svg
from separatrix.plots._unit_square import plot_curves, thinned, unit_square

__all__ = ["draw_roc"]


def draw_roc(
    curves: Sequence[tuple[Sequence[float], Sequence[float]]],
    name: str,
    title: str,
    description: str,
    first_colour: int = 0,
) -> str:
    """Draw (false positive rate, true positive rate) of each class, in the classes' colours."""
    with unit_square("false alarms", "rightly found") as (figure, axes):
        axes.plot([0.0, 1.0], [0.0, 1.0], color=FAINT, linewidth=1.0, linestyle=":")
        plot_curves(axes, [thinned(*curve) for curve in curves], first_colour)
        return as_svg(figure, name, title, description)
