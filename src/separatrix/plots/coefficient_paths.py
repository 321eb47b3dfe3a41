"""The weights of a sparse path against C: which columns come in, when, and with which sign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import NullLocator, StrMethodFormatter

from separatrix.plots._drawing import ACCENT, CLASS_COLOURS, FAINT, SOFT, picture, plain

__all__ = ["draw_coefficient_paths", "save_coefficient_paths"]

_LINES = ("-", "--", ":", "-.")


def save_coefficient_paths(
    found: Any, path: Path | str, names: int = 12, chosen: float | None = None
) -> None:
    """Draw a `LogisticRegressionPath` into a file (.svg, .png, .pdf)."""
    with picture(path, 7.0, 5.0) as figure:
        draw_coefficient_paths(figure, found, names, chosen)


def draw_coefficient_paths(
    figure: Any, found: Any, names: int = 12, chosen: float | None = None
) -> None:
    """Draw two panels on an empty figure: weights against C, and how many are not zero.

    The columns whose weights become largest are named, up to `names` of them; the rest are grey.
    Of several classes the length of a column's weights is drawn.
    """
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.6, 1.0])
    coefs, Cs = found.coefs_, found.Cs_
    has_classes = coefs.ndim == 3
    coefs = np.linalg.norm(coefs, axis=1) if has_classes else coefs
    largest = abs(coefs).max(axis=0, initial=0.0)
    order = [int(j) for j in np.argsort(-largest, kind="stable") if largest[j] > 0.0]
    for j in order[names:]:
        above.plot(Cs, coefs[:, j], color=FAINT, linewidth=0.8, zorder=1)
    for place, j in enumerate(order[:names]):
        colour = CLASS_COLOURS[place % len(CLASS_COLOURS)]
        line = _LINES[place // len(CLASS_COLOURS) % len(_LINES)]
        label = plain(found.names_[j])
        above.plot(Cs, coefs[:, j], color=colour, linestyle=line, linewidth=1.6, label=label)
    above.axhline(0.0, color=SOFT, linewidth=0.8)
    above.set_ylabel("length of the weights of all classes" if has_classes else "weight")
    above.set_title(f"Sparse weights: {len(order):,} of {coefs.shape[1]:,} columns come in")
    if order:
        above.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    below.step(Cs, found.path_["n_nonzero"], color=SOFT, where="mid", label="not zero")
    proved = coefs.shape[1] - found.path_["n_proved_zero"]
    below.step(Cs, proved, color=FAINT, where="mid", label="not proved zero")
    below.set(ylabel="columns", xlabel="C, what a row costs", xscale="log", ylim=(0.0, None))
    below.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    if chosen is not None:
        for axes in (above, below):
            axes.axvline(chosen, color=ACCENT, linewidth=1.2, linestyle=(0, (4, 3)))
    below.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    below.xaxis.set_minor_locator(NullLocator())
