"""Do scores mean what they say? What was foretold against what came true, in bins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from separatrix.plots._style import FAINT
from separatrix.plots._svg import PAPER, as_svg, class_colour
from separatrix.plots._unit_square import unit_square

__all__ = ["draw_calibration"]


def draw_calibration(
    predicted: Sequence[float],
    observed: Sequence[float],
    counts: Sequence[int],
    intervals: Sequence[tuple[float, float]] | None,
    colour: int,
    name: str,
    title: str,
    description: str,
) -> str:
    """Draw the bins of one class; a larger disc holds more rows."""
    probabilities, rates = np.asarray(predicted, dtype=float), np.asarray(observed, dtype=float)
    shares = np.asarray(counts, dtype=float) / max(1, max(counts, default=1))
    shade = class_colour(colour)
    with unit_square("foretold", "came true") as (figure, axes):
        axes.plot([0.0, 1.0], [0.0, 1.0], color=FAINT, linewidth=1.2, linestyle=":")
        if intervals is not None:
            for x, (low, high) in zip(probabilities, intervals, strict=True):
                axes.plot([x, x], [low, high], color=shade, alpha=0.45, linewidth=2.5)
        axes.scatter(
            probabilities, rates, s=25.0 + 190.0 * shares, color=shade, edgecolor=PAPER,
            linewidth=1.6, zorder=4, clip_on=False,
        )  # fmt: skip
        return as_svg(figure, name, title, description)
