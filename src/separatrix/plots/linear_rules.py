"""Several fitted linear classifiers on two features: where their boundaries lie.

Made for the lecture's warning about least squares, which a few rows far on their own side can pull
into a class while the logistic machine and the SVM stay: draw the same machines without those rows
on the left and with them on the right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from separatrix.plots._plane import draw_limits, draw_line, draw_points
from separatrix.plots._save import written_aside
from separatrix.plots._style import ACCENT, CLASS_COLOURS, INK, RC, plain

__all__ = ["save_linear_rules"]

_LINES = ((ACCENT, "-"), (INK, "--"), (CLASS_COLOURS[2], "-."), (CLASS_COLOURS[3], ":"))


def save_linear_rules(
    panels: Sequence[tuple[str, Any, Any, Mapping[str, Any]]],
    path: Path | str,
    names: Sequence[str] = ("x0", "x1"),
) -> None:
    """Draw panels of (title, X, y, {name: fitted two-class machine}) side by side into a file.

    A machine is anything with ``coef_`` (1 x 2) and ``intercept_``.
    """
    prepared = [_prepared(*panel) for panel in panels]
    points = np.vstack([X for _, X, _, _, _ in prepared])
    limits = draw_limits(points)
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(1.2 + 4.6 * len(prepared), 4.6), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, len(prepared), sharex=True, sharey=True, squeeze=False)[0]
        for one, (title, X, codes, classes, machines) in zip(axes, prepared, strict=True):
            draw_points(one, X, codes, classes)
            for (colour, dashes), (name, machine) in zip(_LINES, machines.items(), strict=False):
                _boundary(one, machine, limits, colour, dashes, name)
            one.set(xlim=limits[0], ylim=limits[1], title=plain(title), xlabel=plain(names[0]))
        axes[0].set_ylabel(plain(names[1]))
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncol=len(labels), frameon=False)
        with written_aside(path) as aside:
            figure.savefig(aside, dpi=150)


def _prepared(title: str, X: Any, y: Any, machines: Mapping[str, Any]) -> tuple[Any, ...]:
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=float)
    classes, codes = np.unique(np.asarray(y), return_inverse=True)
    if X.shape[1] != 2 or len(classes) != 2:
        raise ValueError(
            f"a picture needs two features and two classes. Got {X.shape[1]} features and "
            f"{len(classes)} classes."
        )
    if len(machines) > len(_LINES):
        raise ValueError(f"a picture shows at most {len(_LINES)} machines. Got {len(machines)}.")
    return title, X, codes, classes, machines


def _boundary(axes: Any, machine: Any, limits: Any, colour: str, dashes: str, name: str) -> None:
    """Draw where w.x + b = 0, as far as the picture goes."""
    w, b = np.ravel(machine.coef_).astype(float), float(np.ravel(machine.intercept_)[0])
    if w.any():
        style = {"color": colour, "linewidth": 1.8, "linestyle": dashes, "label": plain(name)}
        draw_line(axes, w, b, limits, **style)
