"""The path over C in two small pictures: errors, and the rows that hold the hyperplane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from separatrix.plots._style import ACCENT, FAINT, INK, SOFT
from separatrix.plots._svg import PAPER, as_svg, panel

__all__ = ["draw_path_errors", "draw_path_support"]

_SIZE = (420.0, 300.0)


def draw_path_errors(
    C: Sequence[float],
    validation: Sequence[float],
    spread: Sequence[float],
    training: Sequence[float] | None,
    chosen: float,
    name: str,
    title: str,
    description: str,
) -> str:
    """Draw validation error with its spread, and training error, against C."""
    at, values, around = (np.asarray(part, dtype=float) for part in (C, validation, spread))
    with panel(*_SIZE) as (figure, axes):
        low, high = np.maximum(values - around, 0.0), values + around
        axes.fill_between(at, low, high, color=FAINT, alpha=0.25, linewidth=0.0)
        axes.plot(at, values, color=INK, linewidth=2.0, marker="o", markersize=4.5)
        ends = [(float(values[-1]), "validation", INK)]
        if training is not None:
            trained = np.asarray(training, dtype=float)
            axes.plot(
                at, trained, color=SOFT, linewidth=1.6, linestyle="--", marker="s", markersize=3.5
            )
            ends.append((float(trained[-1]), "training", SOFT))
        _mark_chosen(axes, at, values, chosen)
        top = max(float(high.max()), float(np.max(training)) if training is not None else 0.0)
        axes.set_ylim(0.0, 1.08 * top if top > 0.0 else 1.0)
        axes.yaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_formatter(FuncFormatter(_percent))
        _set_c_axis(axes, at)
        _label_ends(axes, at, ends)
        return as_svg(figure, name, title, description)


def draw_path_support(
    C: Sequence[float],
    n_support: Sequence[float],
    chosen: float,
    name: str,
    title: str,
    description: str,
) -> str:
    """Draw the number of support vectors against C."""
    at, values = np.asarray(C, dtype=float), np.asarray(n_support, dtype=float)
    with panel(*_SIZE) as (figure, axes):
        axes.plot(at, values, color=INK, linewidth=2.0, marker="o", markersize=4.5)
        _mark_chosen(axes, at, values, chosen)
        axes.set_ylim(0.0, 1.08 * max(1.0, float(values.max())))
        axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
        _set_c_axis(axes, at)
        return as_svg(figure, name, title, description)


def _mark_chosen(axes: Any, at: np.ndarray, values: np.ndarray, chosen: float) -> None:
    place = int(np.argmin(np.abs(np.log(at) - np.log(chosen))))
    axes.axvline(at[place], color=ACCENT, linewidth=1.2, zorder=1)
    axes.plot(
        at[place], values[place], "o", markersize=11, markerfacecolor=PAPER, markeredgecolor=ACCENT,
        markeredgewidth=2.4, zorder=5,
    )  # fmt: skip


def _set_c_axis(axes: Any, at: np.ndarray) -> None:
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(10.0, numticks=7))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}" if v < 1e5 else f"{v:.0e}"))
    axes.set_xlim(at.min() / 1.25, at.max() * 1.25)
    axes.set_xlabel("C")


def _label_ends(axes: Any, at: np.ndarray, ends: list[tuple[float, str, str]]) -> None:
    """Name the lines at their right ends, kept apart where they meet."""
    low, high = axes.get_ylim()
    room = 0.075 * (high - low)
    heights = [value for value, _, _ in ends]
    if len(heights) == 2 and abs(heights[0] - heights[1]) < room:
        middle = max(sum(heights) / 2, low + room / 2)
        sign = 1.0 if heights[0] >= heights[1] else -1.0
        heights = [middle + sign * room / 2, middle - sign * room / 2]
    for height, (_, label, colour) in zip(heights, ends, strict=True):
        axes.annotate(
            label, (at[-1], height), xytext=(12, 0), textcoords="offset points", color=colour,
            va="center", annotation_clip=False,
        )  # fmt: skip


def _percent(value: float, _: Any) -> str:
    return f"{100 * value:.3g} %"
