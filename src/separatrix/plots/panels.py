"""The pictures of a report: the path over C, what the test came to, and the last step of a replay.

Each is one small SVG element; `words` are its id, title and description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from separatrix.plots._drawing import CLASS_COLOURS, CLASS_MARKERS, draw_limits, line_ends
from separatrix.plots._svg import Axis, Panel, Words, class_colour, nice_ticks

__all__ = [
    "Rate",
    "draw_calibration",
    "draw_error_rates",
    "draw_learning_curve",
    "draw_margin_histogram",
    "draw_path_errors",
    "draw_path_support",
    "draw_plane_panel",
    "draw_precision_recall",
    "draw_roc",
]

_POINTS_SHOWN = 300
Curve = tuple[Sequence[float], Sequence[float]]


# ---- the path over C


def draw_path_errors(
    C: Sequence[float],
    validation: Sequence[float],
    spread: Sequence[float],
    training: Sequence[float] | None,
    chosen: float,
    words: Words,
) -> str:
    """Draw validation error with its spread, and training error, against C."""
    values, around = np.asarray(validation, dtype=float), np.asarray(spread, dtype=float)
    low, high = np.maximum(values - around, 0.0), values + around
    top = max(float(high.max()), *(training or ()), 0.0)
    axis = _percents(0.0, 1.08 * top if top > 0.0 else 1.0, 5, grid=True)
    panel = Panel(420.0, 300.0, _c_axis(C), axis, right=72.0)
    panel.area(C, low, high, "faint", 0.25)
    panel.line(C, values, "ink", 2.0)
    panel.marks(C, values, "o", 4.5, "ink", "ink", 1.0)
    ends = [(float(values[-1]), "validation", "ink")]
    if training is not None:
        panel.line(C, training, "soft", 1.6, "--")
        panel.marks(C, training, "s", 3.5, "soft", "soft", 1.0)
        ends.append((float(training[-1]), "training", "soft"))
    _mark_chosen(panel, C, values, chosen)
    _label_ends(panel, C[-1], ends)
    return panel.svg(words)


def draw_path_support(
    C: Sequence[float], n_support: Sequence[float], chosen: float, words: Words
) -> str:
    """Draw the number of support vectors against C."""
    values = np.asarray(n_support, dtype=float)
    panel = Panel(420.0, 300.0, _c_axis(C), _counts(1.08 * max(1.0, float(values.max())), 5))
    panel.line(C, values, "ink", 2.0)
    panel.marks(C, values, "o", 4.5, "ink", "ink", 1.0)
    _mark_chosen(panel, C, values, chosen)
    return panel.svg(words)


def draw_learning_curve(
    rows: Sequence[int],
    errors: Sequence[float],
    spread: Sequence[float],
    words: Words,
    in_percent: bool = True,
) -> str:
    """Draw the error on held-out rows against the rows trained on, with its spread.

    Another measure is drawn as a number, on a scale that shows its changes.
    """
    values, around = np.asarray(errors, dtype=float), np.asarray(spread, dtype=float)
    top = float((values + around).max())
    ticks = list(rows)
    across = Axis(0.0, 1.06 * max(rows), ticks, [f"{each:,}" for each in ticks], "training rows")
    if in_percent:
        low, up = 0.0, _percents(0.0, 1.08 * top if top > 0.0 else 1.0, 5, grid=True)
    else:
        low, up = _numbers(float((values - around).min()), top)
    panel = Panel(420.0, 260.0, across, up)
    panel.area(rows, np.maximum(values - around, low), values + around, "faint", 0.25)
    panel.line(rows, values, "ink", 2.0)
    panel.marks(rows, values, "o", 5.5, "ink", "ink", 1.0)
    return panel.svg(words)


def _c_axis(C: Sequence[float]) -> Axis:
    low, high = min(C), max(C)
    first, last = int(np.ceil(np.log10(low) - 1e-9)), int(np.floor(np.log10(high) + 1e-9))
    decades = [10.0**power for power in range(first, last + 1, 1 + (last - first) // 7)]
    labels = [f"{value:g}" if value < 1e5 else f"{value:.0e}" for value in decades]
    return Axis(low / 1.25, high * 1.25, decades, labels, "C", log=True)


def _mark_chosen(panel: Panel, C: Sequence[float], values: np.ndarray, chosen: float) -> None:
    place = int(np.argmin(np.abs(np.log(C) - np.log(chosen))))
    panel.line([C[place]] * 2, [panel.y.low, panel.y.high], "accent", 1.2)
    panel.marks([C[place]], [values[place]], "o", 11.0, "paper", "accent", 2.4)


def _label_ends(panel: Panel, at: float, ends: list[tuple[float, str, str]]) -> None:
    """Name the lines at their right ends, kept apart where they meet."""
    low, high = panel.y.low, panel.y.high
    room = 0.075 * (high - low)
    heights = [value for value, _, _ in ends]
    if len(heights) == 2 and abs(heights[0] - heights[1]) < room:
        middle = max(sum(heights) / 2, low + room / 2)
        sign = 1.0 if heights[0] >= heights[1] else -1.0
        heights = [middle + sign * room / 2, middle - sign * room / 2]
    for height, (_, label, colour) in zip(heights, ends, strict=True):
        panel.text(at, height, label, colour, right_by=12.0)


def _percents(low: float, high: float, most: int, title: str = "", grid: bool = False) -> Axis:
    ticks = nice_ticks(low, high, most)
    return Axis(low, high, ticks, [f"{100 * value:.3g} %" for value in ticks], title, grid=grid)


def _numbers(low: float, high: float) -> tuple[float, Axis]:
    """Return the lower end and an axis of plain numbers, with room around them."""
    room = 0.08 * (high - low) or 0.1
    low, high = low - room, high + room
    ticks = nice_ticks(low, high, 5)
    return low, Axis(low, high, ticks, [f"{value:.4g}" for value in ticks], grid=True)


def _counts(high: float, most: int) -> Axis:
    ticks = nice_ticks(0.0, high, most, whole=True)
    return Axis(0.0, high, ticks, [f"{value:,.0f}" for value in ticks], grid=True)


# ---- the test


@dataclass(frozen=True)
class Rate:
    """A rate with its interval; `weight` is "main", "side" or "bound" (known only from above)."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    weight: str = "side"


def draw_error_rates(rates: Sequence[Rate], words: Words) -> str:
    """Draw a row for each rate, from the top down: what was seen, and what is proved."""
    ends = [value for rate in rates for value in (rate.value, rate.high or 0.0)]
    across = _percents(0.0, max(1.04 * max(ends), 1e-3), 6, "misclassified rows", grid=True)
    labels = [rate.label for rate in rates]
    down = Axis(len(rates) - 0.45, -0.55, range(len(rates)), labels, first="ink")
    panel = Panel(440.0, 58.0 + 34.0 * len(rates), across, down)
    for place, rate in enumerate(rates):
        main = rate.weight == "main"
        colour = "accent" if main else "soft"
        if rate.low is not None and rate.high is not None:
            width, opacity = (7.0, 1.0) if main else (4.0, 0.6)
            panel.line([rate.low, rate.high], [place] * 2, colour, width, opacity=opacity)
        if rate.weight == "bound":
            panel.line([0.0, rate.value], [place] * 2, "faint", 1.2)
            panel.marks([rate.value], [place], "|", 13.0, "", "ink", 2.0)
        else:
            size, width = (10.0, 2.4) if main else (7.5, 1.8)
            panel.marks([rate.value], [place], "o", size, "paper", colour, width)
    return panel.svg(words)


def draw_roc(curves: Sequence[Curve], words: Words, first_colour: int = 0) -> str:
    """Draw (false positive rate, true positive rate) of each class, in the classes' colours."""
    panel = _unit_square("false positive rate", "true positive rate")
    panel.line([0.0, 1.0], [0.0, 1.0], "faint", 1.0, ":")
    _draw_curves(panel, curves, first_colour)
    return panel.svg(words)


def draw_precision_recall(
    curves: Sequence[Curve], words: Words, prevalence: float | None = None, first_colour: int = 0
) -> str:
    """Draw (recall, precision) of each class; a dotted line is what guessing would reach."""
    panel = _unit_square("recall", "precision")
    if prevalence is not None:
        panel.line([-0.02, 1.02], [prevalence] * 2, "faint", 1.0, ":")
    _draw_curves(panel, curves, first_colour, steps=True)
    return panel.svg(words)


def draw_calibration(
    predicted: Sequence[float],
    observed: Sequence[float],
    counts: Sequence[int],
    intervals: Sequence[tuple[float, float]] | None,
    colour: int,
    words: Words,
) -> str:
    """Draw the bins of one class; a larger disc holds more rows."""
    panel = _unit_square("predicted probability", "observed frequency")
    panel.line([0.0, 1.0], [0.0, 1.0], "faint", 1.2, ":")
    shade = class_colour(colour)
    for x, ends in zip(predicted, intervals or (), strict=False):
        panel.line([x, x], ends, shade, 2.5, opacity=0.45)
    shares = np.asarray(counts, dtype=float) / max(1, max(counts, default=1))
    panel.marks(predicted, observed, "o", np.sqrt(25.0 + 190.0 * shares), shade, "paper", 1.6)
    return panel.svg(words)


def draw_margin_histogram(
    edges: Sequence[float],
    counts: Sequence[Sequence[int]],
    words: Words,
    unit: str = "y (w·x + b)",
) -> str:
    """Draw the classes' counts on top of one another; left of 0 rows are on the wrong side."""
    stacks = [np.asarray(part, dtype=float) for part in counts]
    colours = [class_colour(number) for number in range(len(stacks))]
    if len(stacks) > len(CLASS_COLOURS):
        stacks, colours = [np.sum(stacks, axis=0)], ["soft"]
    low, high = float(edges[0]), float(edges[-1])
    top = 1.1 * max(1.0, float(np.sum(stacks, axis=0).max()))
    ticks = nice_ticks(low, high, 8)
    across = Axis(low, high, ticks, [f"{value:g}".replace("-", "−") for value in ticks], unit)
    panel = Panel(420.0, 260.0, across, _counts(top, 4))
    if low < 0.0:
        panel.area([low, min(0.0, high)], [0.0, 0.0], [top, top], "faint", 0.16)
    floor = np.zeros(len(edges) - 1)
    for stack, colour in zip(stacks, colours, strict=True):
        panel.bars(edges, floor, floor + stack, colour)
        floor = floor + stack
    for place, style in ((0.0, "-"), (1.0, "--")):
        if low <= place <= high:
            panel.line([place, place], [0.0, top], "ink", 1.2, style)
    return panel.svg(words)


def _unit_square(x_title: str, y_title: str) -> Panel:
    """Return a square of axes from 0 to 100 %, with room for lines that run along an edge."""
    ticks, labels = (0.0, 0.25, 0.5, 0.75, 1.0), ("0", "25", "50", "75", "100 %")
    x, y = (Axis(-0.02, 1.02, ticks, labels, title, grid=True) for title in (x_title, y_title))
    return Panel(380.0, 380.0, x, y, right=18.0)


def _draw_curves(
    panel: Panel, curves: Sequence[Curve], first_colour: int, steps: bool = False
) -> None:
    """Draw each curve in its class's colour, or all in one where there are more than colours."""
    many = len(curves) > len(CLASS_COLOURS)
    draw = panel.steps if steps else panel.line
    for number, curve in enumerate(curves):
        colour = "soft" if many else class_colour(number + first_colour)
        style = "-" if many else ("-", "--", "-.")[number % 3]
        draw(*thinned(*curve), colour, 0.8 if many else 2.2, style)


def thinned(x: Sequence[float], y: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return at most some 300 points of a curve that never leaves it by a visible distance.

    Corners stay; points on a straight run between its ends go; then, of too many, evenly many.
    """
    points = np.column_stack([np.asarray(x, dtype=float), np.asarray(y, dtype=float)])
    if len(points) > 2:
        before, after = np.diff(points[:-1], axis=0), np.diff(points[1:], axis=0)
        turn = np.abs(before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0])
        points = points[np.concatenate([[True], turn > 1e-12, [True]])]
    if len(points) > _POINTS_SHOWN:
        along = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(points, axis=0)).sum(axis=1))])
        places = np.searchsorted(along, np.linspace(0.0, along[-1], _POINTS_SHOWN))
        points = points[np.unique(np.minimum(places, len(points) - 1))]
    return points[:, 0], points[:, 1]


# ---- the replay


def draw_plane_panel(
    points: Sequence[Sequence[float]],
    codes: Sequence[int],
    lines: Sequence[Sequence[float]],
    features: Sequence[str],
    words: Words,
    street: bool = False,
) -> str:
    """Draw points by class and the lines ``b + w1 x + w2 y = 0``.

    A line alone is in ink, with the edges of its margin if there is a `street`; of several each has
    the colour of the class that it sets apart.
    """
    X, numbers = np.asarray(points, dtype=float), np.asarray(codes)
    limits = draw_limits(X)
    axes = []
    for (low, high), most, title in zip(limits, (6, 5), features, strict=True):
        ticks = nice_ticks(low, high, most)
        labels = [f"{value:g}".replace("-", "−") for value in ticks]
        axes.append(Axis(low, high, ticks, labels, title))
    panel = Panel(460.0, 320.0, axes[0], axes[1])
    for code in np.unique(numbers).tolist():
        colour = class_colour(code)
        x, y = X[numbers == code].T
        panel.marks(x, y, CLASS_MARKERS[code], 5.0, colour, "paper", 0.5)
    for number, (b, *w) in enumerate(lines):
        if not np.any(w):
            continue
        alone = len(lines) == 1
        colour = "ink" if alone else class_colour(number)
        x, y = line_ends(np.array(w), b, limits).T
        panel.line(x, y, colour, 1.8, clip=True)
        for side in (-1.0, 1.0) if street and alone else ():
            x, y = line_ends(np.array(w), b + side, limits).T
            panel.line(x, y, "soft", 1.0, "--", clip=True)
    return panel.svg(words)
