"""Error rates of one machine on one axis, each with its interval: what was seen, what is proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.ticker import FuncFormatter, MaxNLocator

from separatrix.plots._style import ACCENT, FAINT, INK, SOFT
from separatrix.plots._svg import PAPER, as_svg, drawable, panel

__all__ = ["Rate", "draw_error_rates"]


@dataclass(frozen=True)
class Rate:
    """A rate with its interval; `weight` is "main", "side" or "bound" (known only from above)."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    weight: str = "side"


def draw_error_rates(rates: Sequence[Rate], name: str, title: str, description: str) -> str:
    """Draw a row for each rate, from the top down."""
    with panel(440.0, 58.0 + 34.0 * len(rates)) as (figure, axes):
        for place, rate in enumerate(rates):
            main = rate.weight == "main"
            colour = ACCENT if main else SOFT
            if rate.low is not None and rate.high is not None:
                axes.plot(
                    [rate.low, rate.high], [place, place], color=colour, alpha=1.0 if main else 0.6,
                    linewidth=7.0 if main else 4.0, solid_capstyle="butt",
                )  # fmt: skip
            if rate.weight == "bound":
                axes.plot([0.0, rate.value], [place, place], color=FAINT, linewidth=1.2)
                axes.plot(rate.value, place, "|", color=INK, markersize=13, markeredgewidth=2.0)
            else:
                axes.plot(
                    rate.value, place, "o", markersize=10 if main else 7.5, markerfacecolor=PAPER,
                    markeredgecolor=colour, markeredgewidth=2.4 if main else 1.8, zorder=4,
                    clip_on=False,
                )  # fmt: skip
        axes.set_yticks(range(len(rates)), [drawable(rate.label) for rate in rates])
        axes.get_yticklabels()[0].set_color(INK)
        axes.set_ylim(len(rates) - 0.45, -0.55)
        ends = [value for rate in rates for value in (rate.value, rate.high or 0.0)]
        axes.set_xlim(0.0, max(1.04 * max(ends), 1e-3))
        axes.grid(visible=True, axis="x")
        axes.grid(visible=False, axis="y")
        axes.xaxis.set_major_locator(MaxNLocator(6))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.3g} %"))
        axes.set_xlabel("rows judged wrongly")
        return as_svg(figure, name, title, description)
