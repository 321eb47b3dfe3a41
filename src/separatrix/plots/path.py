"""Errors against capacity: the path over C, and structural risk minimisation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import NullLocator, PercentFormatter, StrMethodFormatter

from separatrix.plots._drawing import (
    ACCENT,
    CLASS_COLOURS,
    FAINT,
    INK,
    SOFT,
    picture,
    plain,
)

__all__ = ["draw_path", "save_path", "save_structural_risk"]

_TRAINING, _VALIDATION = CLASS_COLOURS[0], CLASS_COLOURS[1]
_CHOSEN = {"color": ACCENT, "linewidth": 1.2, "linestyle": (0, (4, 3))}
_RING = {"s": 150, "facecolor": "none", "edgecolor": ACCENT, "linewidth": 1.8}
_LEGEND = {"frameon": False, "loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}


# ---- the path over C


def save_path(table: Any, path: Path | str) -> None:
    """Draw a `PathTable` into a file (.svg, .png, .pdf)."""
    with picture(path, 7.0, 5.0) as figure:
        draw_path(figure, table)


def draw_path(figure: Any, table: Any) -> None:
    """Draw two panels on an empty figure: errors against C, and support vectors (or margins).

    Left, where C is small, the machine cannot follow the data (underfitting); right, it follows
    their accidents (overfitting), if the two curves part.
    """
    errors, below = figure.subplots(2, 1, sharex=True, height_ratios=[2.6, 1.0])
    _draw_errors(errors, table)
    # Every row supports a logistic machine: its margin tells more.
    counted = table.loss != "logistic"
    name, label = ("n_support", "support vectors") if counted else ("margin", "margin")
    if "n_nonzero" in table.columns:
        counted, name, label = True, "n_nonzero", "nonzero weights"
    below.plot(table["C"], table[name], color=SOFT, marker="D", markersize=4, linewidth=1.4)
    below.axvline(table.C, **_CHOSEN)
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
    training, chosen = table["training_error"], table.chosen
    band = {"color": _VALIDATION, "alpha": 0.15, "linewidth": 0.0}
    folds = f"spread over {int(table['n_folds'][0])} folds"
    axes.fill_between(C, np.maximum(mean - spread, 0.0), mean + spread, label=folds, **band)
    axes.plot(C, mean, color=_VALIDATION, marker="s", markersize=5, label="held-out rows")
    own = {"color": _TRAINING, "marker": "o", "markersize": 5, "ls": "--"}
    axes.plot(C, training, label="training rows", **own)
    axes.axvline(table.C, zorder=1, **_CHOSEN)
    label = f"chosen: C = {table.C:.3g}"
    axes.scatter([table.C], [mean[chosen]], zorder=5, label=label, **_RING)
    top = 1.22 * float(max((mean + spread).max(), training.max(), 1e-3))
    axes.set_ylim(-0.02 * top, top)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=1 if top < 0.05 else 0))
    axes.set_ylabel("error")
    share = f"{100.0 * mean[chosen]:.1f} %"
    axes.set_title(f"The path over C: {share} of held-out rows misclassified at C = {table.C:.3g}")
    _name_the_ends(axes, table)
    axes.legend(**_LEGEND)


def _name_the_ends(axes: Any, table: Any) -> None:
    """Say which end fits too little and which too much, where the errors show it."""
    mean, training = table["validation_error"], table["training_error"]
    best = int(np.argmin(mean))
    words = {"fontsize": 9, "color": SOFT, "va": "top", "transform": axes.transAxes}
    enough = table["standard_error"][best]
    if mean[0] > mean[best] + enough and training[0] > training[best] + enough:
        axes.text(0.01, 0.985, "underfitting:\nboth errors high", ha="left", **words)
    parted = mean[-1] - training[-1] > mean[best] - training[best]
    if mean[-1] > mean[best] + enough and parted:
        axes.text(0.99, 0.985, "overfitting:\nthe errors diverge", ha="right", **words)


# ---- structural risk


def save_structural_risk(risk: Any, path: Path | str) -> None:
    """Draw the bounds of nested classes into a file (.svg, .png, .pdf).

    Training error falls, capacity rises, their sum turns. Above 1 a bound says nothing: that part
    of the picture is shaded.
    """
    bounds = risk.bounds
    at = range(len(bounds))
    curves = (
        ("bound", "value", INK, "o", "-", 2.0),
        ("capacity term", "structural", CLASS_COLOURS[1], "s", "--", 1.4),
        ("training error", "empirical", CLASS_COLOURS[0], "^", "--", 1.4),
    )
    with picture(path, 6.4, 4.2) as figure:
        axes = figure.add_subplot()
        for name, field, colour, marker, line, width in curves:
            style = {"color": colour, "marker": marker, "linestyle": line, "linewidth": width}
            values = [getattr(bound, field) for bound in bounds]
            axes.plot(at, values, markersize=5, label=name, zorder=3, **style)
        label = f"least: {risk.chosen.value:.3g}"
        best = bounds.index(risk.chosen)
        axes.scatter([best], [risk.chosen.value], zorder=4, label=label, **_RING)
        top = 1.12 * max(b.value for b in bounds)
        if top > 1.0:
            axes.axhspan(1.0, top, color=FAINT, alpha=0.22, linewidth=0.0, zorder=1)
            words = {"color": SOFT, "fontsize": 9, "ha": "right"}
            place = {"transform": axes.get_yaxis_transform()}
            axes.text(0.98, 1.0 + 0.02 * top, "a bound up here says nothing", **words, **place)
        axes.set(ylim=(0.0, top), ylabel="error rate", xlim=(-0.3, len(bounds) - 0.7))
        axes.set_xticks(list(at), [f"{plain(b.name)}\nh = {b.capacity}" for b in bounds])
        axes.set_title(_risk_title(risk))
        axes.legend(**_LEGEND)


def _risk_title(risk: Any) -> str:
    if risk.is_vacuous:
        return "Structural risk: no class has a bound below 1"
    return f"Structural risk: the bound is least for {plain(risk.chosen.name)}"
