"""The curve of structural risk minimisation: training error falls, capacity rises, their sum turns.

Above 1 a bound says nothing: that part of the picture is shaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from separatrix.plots._save import written_aside
from separatrix.plots._style import ACCENT, CLASS_COLOURS, FAINT, INK, RC, SOFT, plain

__all__ = ["save_structural_risk"]


def save_structural_risk(risk: Any, path: Path | str) -> None:
    """Draw the bounds of nested classes into a file (.svg, .png, .pdf)."""
    bounds = risk.bounds
    at = range(len(bounds))
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        curves = [
            ("bound", [b.value for b in bounds], INK, "o", "-", 2.0),
            ("capacity term", [b.structural for b in bounds], CLASS_COLOURS[1], "s", "--", 1.4),
            ("training error", [b.empirical for b in bounds], CLASS_COLOURS[0], "^", "--", 1.4),
        ]
        for name, values, colour, marker, line, width in curves:
            axes.plot(
                at,
                values,
                color=colour,
                marker=marker,
                linestyle=line,
                linewidth=width,
                markersize=5,
                label=name,
                zorder=3,
            )
        best = bounds.index(risk.chosen)
        axes.scatter(
            [best], [risk.chosen.value], s=150, facecolor="none", edgecolor=ACCENT, linewidth=1.8,
            zorder=4, label=f"least: {risk.chosen.value:.3g}",
        )  # fmt: skip
        top = 1.12 * max(b.value for b in bounds)
        if top > 1.0:
            axes.axhspan(1.0, top, color=FAINT, alpha=0.22, linewidth=0.0, zorder=1)
            axes.text(
                0.98, 1.0 + 0.02 * top, "a bound up here says nothing", color=SOFT, fontsize=9,
                ha="right", transform=axes.get_yaxis_transform(),
            )  # fmt: skip
        axes.set(ylim=(0.0, top), ylabel="error rate", xlim=(-0.3, len(bounds) - 0.7))
        axes.set_xticks(list(at), [f"{plain(b.name)}\nh = {b.capacity}" for b in bounds])
        axes.set_title(_title(risk))
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        with written_aside(path) as aside:
            figure.savefig(aside, dpi=150)


def _title(risk: Any) -> str:
    if risk.is_vacuous:
        return "Structural risk: no class has a bound below 1"
    return f"Structural risk: the bound is least for {plain(risk.chosen.name)}"
