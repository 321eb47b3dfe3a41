"""The path over C: errors on held-out and on training rows, and the support vectors below.

Left, where C is small, the machine cannot follow the data (underfitting); right, it follows their
accidents (overfitting), if the two curves part.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator, PercentFormatter, StrMethodFormatter

from separatrix.plots._save import written_aside
from separatrix.plots._style import ACCENT, CLASS_COLOURS, RC, SOFT

__all__ = ["draw_path", "save_path"]

_TRAINING, _VALIDATION = CLASS_COLOURS[0], CLASS_COLOURS[1]


def save_path(table: Any, path: Path | str) -> None:
    """Draw a `PathTable` into a file (.svg, .png, .pdf)."""
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(7.0, 5.0), layout="constrained")
        FigureCanvasAgg(figure)
        draw_path(figure, table)
        with written_aside(path) as aside:
            figure.savefig(aside, dpi=150)


def draw_path(figure: Any, table: Any) -> None:
    """Draw two panels on an empty figure: errors against C, and support vectors (or margins)."""
    errors, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.6, 1.0])
    _draw_errors(errors, table)
    C = table["C"]
    # Every row supports a logistic machine: its margin tells more.
    counted = table.loss != "logistic"
    name, label = ("n_support", "support vectors") if counted else ("margin", "margin")
    below.plot(C, table[name], color=SOFT, marker="D", markersize=4, linewidth=1.4)
    below.axvline(table.C, color=ACCENT, linewidth=1.2, linestyle=(0, (4, 3)))
    below.set(ylabel=label, xlabel="C, what a row inside the margin costs")
    if counted:
        below.set_ylim(0.0, 1.12 * float(table[name].max()))
    else:
        below.set_yscale("log")
    below.set_xscale("log")
    below.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    below.xaxis.set_minor_locator(NullLocator())


def _draw_errors(axes: Any, table: Any) -> None:
    C, mean, spread = table["C"], table["validation_error"], table["validation_spread"]
    chosen = table.chosen
    axes.fill_between(
        C,
        np.maximum(mean - spread, 0.0),
        mean + spread,
        color=_VALIDATION,
        alpha=0.15,
        linewidth=0.0,
        label=f"spread over {int(table['n_folds'][0])} folds",
    )
    axes.plot(C, mean, color=_VALIDATION, marker="s", markersize=5, label="held-out rows")
    training = table["training_error"]
    axes.plot(
        C, training, color=_TRAINING, marker="o", markersize=5, ls="--", label="their own rows"
    )
    axes.axvline(table.C, color=ACCENT, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
    axes.scatter(
        [table.C],
        [mean[chosen]],
        s=150,
        facecolor="none",
        edgecolor=ACCENT,
        linewidth=1.8,
        zorder=5,
        label=f"chosen: C = {table.C:.3g}",
    )
    top = 1.22 * float(max((mean + spread).max(), training.max(), 1e-3))
    axes.set_ylim(-0.02 * top, top)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=1 if top < 0.05 else 0))
    axes.set_ylabel("error")
    share = f"{100.0 * mean[chosen]:.1f} %"
    axes.set_title(f"The path over C: {share} of held-out rows misjudged at C = {table.C:.3g}")
    _name_the_ends(axes, table)
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _name_the_ends(axes: Any, table: Any) -> None:
    """Say which end fits too little and which too much, where the errors show it."""
    mean, training, _error = (
        table["validation_error"],
        table["training_error"],
        table["standard_error"],
    )
    best = int(np.argmin(mean))
    words = {"fontsize": 9, "color": SOFT, "va": "top", "transform": axes.transAxes}
    enough = table["standard_error"][best]
    if mean[0] > mean[best] + enough and training[0] > training[best] + enough:
        axes.text(0.01, 0.985, "underfitting:\nboth errors high", ha="left", **words)
    parted = mean[-1] - training[-1] > mean[best] - training[best]
    if mean[-1] > mean[best] + enough and parted:
        axes.text(0.99, 0.985, "overfitting:\nthe errors part", ha="right", **words)
