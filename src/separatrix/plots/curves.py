"""Curves against one number: errors against C, losses against the margin.

Errors against capacity: the path over C, and structural risk minimisation.

The weights of a sparse path against C: which columns come in, when, and with which sign.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import NullLocator, PercentFormatter, StrMethodFormatter

from separatrix.plots._drawing import (
    ACCENT,
    CLASS_COLOURS,
    CLASS_MARKERS,
    FAINT,
    INK,
    SOFT,
    picture,
    plain,
)

__all__ = [
    "draw_coefficient_paths",
    "draw_error_curves",
    "draw_losses",
    "draw_path",
    "save_coefficient_paths",
    "save_path",
    "save_structural_risk",
]


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


# ---- errors against capacity: the path over C, and structural risk minimisation


_TRAINING, _VALIDATION = CLASS_COLOURS[0], CLASS_COLOURS[1]
_CHOSEN = {"color": ACCENT, "linewidth": 1.2, "linestyle": (0, (4, 3))}
_RING = {"s": 150, "facecolor": "none", "edgecolor": ACCENT, "linewidth": 1.8}


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


# ---- the weights of a sparse path against C: which columns come in, when, and with which sign


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
