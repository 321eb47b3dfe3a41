"""Curves against one number: errors against C, losses against the margin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import NullLocator, PercentFormatter, StrMethodFormatter

from separatrix.plots._drawing import ACCENT, CLASS_COLOURS, CLASS_MARKERS, FAINT, SOFT, plain

__all__ = ["draw_error_curves", "draw_losses"]

_LEGEND = {"frameon": False, "loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)))


def draw_error_curves(
    figure: Any,
    C: Sequence[float],
    curves: Mapping[str, Sequence[float]],
    n_support: Sequence[float] | None = None,
) -> None:
    """Draw error rates against C, the least of the last curve ringed; support vectors below."""
    if n_support is None:
        errors = figure.add_subplot()
        lowest = errors
    else:
        errors, lowest = figure.subplots(2, 1, sharex=True, height_ratios=[2.4, 1.0])
        lowest.plot(C, n_support, color=SOFT, marker="D", markersize=4, linewidth=1.4)
        lowest.set(ylabel="support vectors", ylim=(0.0, 1.12 * max(n_support)))
    for number, (name, values) in enumerate(curves.items()):
        style = {"color": CLASS_COLOURS[number], "marker": CLASS_MARKERS[number]}
        errors.plot(C, values, linestyle=_DASHES[number], label=plain(name), markersize=5, **style)
    name, values = list(curves.items())[-1]
    best = int(np.argmin(values))
    label = f"least {plain(name)}: C = {C[best]:g}"
    ring = {"s": 150, "facecolor": "none", "edgecolor": ACCENT, "linewidth": 1.8, "zorder": 5}
    errors.scatter([C[best]], [values[best]], label=label, **ring)
    errors.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    errors.set(ylabel="error", ylim=(0.0, None))
    errors.set_title(f"Error against C: {100.0 * values[best]:.1f} % at C = {C[best]:g}")
    errors.legend(**_LEGEND)
    lowest.set(xlabel="C, what a row inside the margin costs", xscale="log")
    lowest.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    lowest.xaxis.set_minor_locator(NullLocator())


def draw_losses(figure: Any, margins: np.ndarray, values: Mapping[str, np.ndarray]) -> None:
    """Draw losses against the margin y (w.x + b); left of 0 the row is on the wrong side."""
    axes = figure.add_subplot()
    axes.axvspan(float(margins.min()), 0.0, color=FAINT, alpha=0.15, linewidth=0.0)
    axes.axvline(0.0, color=FAINT, linewidth=0.8)
    for number, (name, loss) in enumerate(values.items()):
        style = {"color": CLASS_COLOURS[number], "linestyle": _DASHES[number], "linewidth": 1.8}
        axes.plot(margins, loss, label=plain(name), **style)
    axes.set(xlabel="margin m = y (w.x + b)", ylabel="loss", ylim=(-0.1, 4.1))
    axes.set_xlim(float(margins.min()), float(margins.max()))
    axes.text(float(margins.min()) + 0.1, 0.1, "wrong side", color=SOFT, fontsize=9)
    axes.set_title("What a row costs, by its margin")
    axes.legend(**_LEGEND)
