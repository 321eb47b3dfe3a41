"""Where classifiers on two features decide for which class: regions and their curved borders.

Linear classifiers on two features: one with its margin, several side by side, projections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.ticker import MaxNLocator

from separatrix.checker.exact import at_most
from separatrix.plots._drawing import (
    ACCENT,
    CLASS_COLOURS,
    CLASS_MARKERS,
    FAINT,
    INK,
    SOFT,
    dense,
    draw_band,
    draw_limits,
    draw_line,
    draw_points,
    picture,
    plain,
    plane_data,
    shared_legend,
)

__all__ = [
    "draw_kernel_regions",
    "draw_linear_rules",
    "draw_machine",
    "draw_regions",
    "save_kernel_regions",
    "save_linear_rules",
    "save_machine",
    "save_projections",
    "save_regions",
]


_STEPS, _KERNEL_STEPS = 400, 240
_COLUMNS = 2


def save_regions(
    panels: Sequence[tuple[str, Any, Any, Any]],
    path: Path | str,
    names: Sequence[str] = ("x0", "x1"),
) -> None:
    """Draw panels of (title, X, y, fitted classifier) side by side into a file.

    Anything with ``predict`` will do: a lift and a model in a pipeline, or models of many classes.
    """
    for _, X, y, _ in panels:
        plane_data(X, y, len(CLASS_COLOURS))
    with picture(path, 0.8 + 3.9 * len(panels), 4.3) as figure:
        draw_regions(figure, panels, names)


def draw_regions(
    figure: Any,
    panels: Sequence[tuple[str, Any, Any, Any]],
    names: Sequence[str] = ("x0", "x1"),
) -> None:
    """Draw the panels on an empty figure."""
    shown = [plane_data(X, y, len(CLASS_COLOURS)) for _, X, y, _ in panels]
    axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for one, (title, _, _, model), (X, codes, classes) in zip(axes, panels, shown, strict=True):
        limits = draw_limits(X)
        _draw_regions(one, model, classes, limits)
        draw_points(one, X, codes, classes)
        one.set(xlim=limits[0], ylim=limits[1], title=plain(title), xlabel=plain(names[0]))
    axes[0].set_ylabel(plain(names[1]))
    shared_legend(figure, axes[0])


def _draw_regions(axes: Any, model: Any, classes: np.ndarray, limits: Any) -> None:
    """Tint each class's region and draw the border of each."""
    across, up, mesh = _mesh(limits, _STEPS)
    codes = np.searchsorted(classes, model.predict(mesh)).reshape(_STEPS, _STEPS)
    levels = np.arange(len(classes) + 1) - 0.5
    colours = ListedColormap(CLASS_COLOURS[: len(classes)])
    axes.contourf(across, up, codes, levels=levels, cmap=colours, alpha=0.16, zorder=1)
    for code in range(len(classes)):
        inside = (codes == code).astype(float)
        if 0.0 < inside.mean() < 1.0:
            axes.contour(across, up, inside, levels=[0.5], colors=INK, linewidths=1.2, zorder=2)


def _mesh(limits: Any, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    across, up = (np.linspace(low, high, steps) for low, high in limits)
    return across, up, np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)


def save_kernel_regions(
    panels: Sequence[tuple[str, Any, Any, Any]], path: Path | str, names: Sequence[str] = ("", "")
) -> None:
    """Draw panels of (title, X, y, fitted machine on two features) into a file.

    Beside the regions: the margin of two classes, and the support vectors.
    """
    for _, X, _, _ in panels:
        if np.shape(X)[1] != 2:
            raise ValueError(f"regions need two features. Got {np.shape(X)[1]}.")
    rows, columns = -(-len(panels) // _COLUMNS), min(_COLUMNS, len(panels))
    with picture(path, 4.7 * columns, 3.9 * rows) as figure:
        draw_kernel_regions(figure, panels, names)


def draw_kernel_regions(
    figure: Any, panels: Sequence[tuple[str, Any, Any, Any]], names: Sequence[str] = ("", "")
) -> None:
    """Draw the panels on an empty figure, two a line."""
    rows, columns = -(-len(panels) // _COLUMNS), min(_COLUMNS, len(panels))
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (title, X, y, machine) in zip(grid, panels, strict=False):
        _draw_machine(axes, title, np.asarray(X, dtype=float), np.asarray(y), machine)
        axes.set(xlabel=plain(names[0]), ylabel=plain(names[1]))
    for axes in grid[len(panels) :]:
        axes.set_axis_off()


def _draw_machine(axes: Any, title: str, X: np.ndarray, y: np.ndarray, machine: Any) -> None:
    classes = machine.classes_
    limits = draw_limits(X)
    across, up, mesh = _mesh(limits, _KERNEL_STEPS)
    scores, shape = machine.decision_function(mesh), (_KERNEL_STEPS, _KERNEL_STEPS)
    if scores.ndim == 1:
        regions, height = (scores > 0).astype(int), scores.reshape(shape)
        margins = {"levels": [-1.0, 1.0], "linewidths": 0.8, "linestyles": "--"}
        axes.contour(across, up, height, levels=[0.0], colors=INK, linewidths=1.5)
        axes.contour(across, up, height, colors=SOFT, **margins)
    else:
        regions = scores.argmax(axis=1)
        for k in range(len(classes)):
            inside = (regions == k).astype(float).reshape(shape)
            axes.contour(across, up, inside, levels=[0.5], colors=INK, linewidths=1.2)
    axes.imshow(
        regions.reshape(shape),
        extent=(*limits[0], *limits[1]),
        origin="lower",
        interpolation="none",
        aspect="auto",
        cmap=ListedColormap(CLASS_COLOURS[: len(classes)]),
        vmin=-0.5,
        vmax=len(classes) - 0.5,
        alpha=0.13,
    )
    draw_points(axes, X, np.searchsorted(classes, y), classes)
    support = X[machine.support_]
    axes.scatter(*support.T, s=62, facecolor="none", edgecolor=INK, linewidth=0.8, zorder=5)
    axes.set(xlim=limits[0], ylim=limits[1])
    axes.set_title(f"{plain(title)}: {len(support)} support vectors")
    axes.legend(frameon=True, framealpha=0.85, edgecolor="none", fontsize=8)


# ---- linear classifiers on two features: one with its margin, several side by side, projections


_LINES = ((ACCENT, "-"), (INK, "--"), (CLASS_COLOURS[2], "-."), (CLASS_COLOURS[3], ":"))
_BINS = 24


def _rule(machine: Any) -> tuple[np.ndarray, float]:
    return np.ravel(machine.coef_).astype(float), float(np.ravel(machine.intercept_)[0])


# ---- one machine


def save_machine(
    machine: Any, X: Any, y: Any, path: Path | str, names: list[str] | None = None
) -> None:
    """Draw a fitted LinearSVM of two classes on two features: hyperplane, margin and support."""
    _require_plane(machine, dense(X))
    with picture(path, 6.4, 4.8, bbox_inches="tight") as figure:
        draw_machine(figure, machine, X, y, names)


def draw_machine(
    figure: Any, machine: Any, X: Any, y: Any, names: Any = None, faded: bool = False
) -> None:
    """Draw it on an empty figure; `faded`: the rows that do not support it are faint."""
    X = dense(X)
    _require_plane(machine, X)
    codes = np.searchsorted(machine.classes_, np.asarray(y))
    w, b = _rule(machine)
    axes = figure.add_subplot()
    limits = draw_limits(X)
    at = machine.support_
    if faded:
        draw_points(axes, X[at], codes[at], machine.classes_, zorder=4)
        for code in range(len(machine.classes_)):
            others = np.setdiff1d(np.flatnonzero(codes == code), at)
            mark = {"marker": CLASS_MARKERS[code], "facecolor": CLASS_COLOURS[code], "linewidth": 0}
            axes.scatter(*X[others].T, s=26, alpha=0.2, zorder=3, **mark)
    else:
        draw_points(axes, X, codes, machine.classes_)
    if w.any():
        ends = draw_line(axes, w, b, limits, color=INK, linewidth=1.6, label="hyperplane")
        draw_band(axes, ends, w / float(w @ w), 0.9)
        _draw_slacks(axes, X, codes, w, b)
    ring = {"facecolor": "none", "edgecolor": INK, "zorder": 5}
    axes.scatter(*X[at].T, s=95, linewidth=1.1, label=f"{len(at)} support vectors", **ring)
    hard = "Hard margin" if np.isinf(machine.C) else f"Soft margin, C = {machine.C:g}"
    axes.set(xlim=limits[0], ylim=limits[1], aspect="equal")
    axes.set_title(f"{hard}: margin {machine.margin_:.4g}, gap {at_most(machine.gap_, 1)}")
    axes.set_xlabel(plain(names[0]) if names else "x0")
    axes.set_ylabel(plain(names[1]) if names else "x1")
    figure.legend(frameon=False, loc="outside right upper")


def _require_plane(machine: Any, X: np.ndarray) -> None:
    if X.shape[1] != 2 or len(machine.coef_) != 1:
        raise ValueError("a picture of a model needs two features and two classes.")


def _draw_slacks(axes: Any, X: np.ndarray, codes: np.ndarray, w: np.ndarray, b: float) -> None:
    """Join every row that falls short to the edge of its margin."""
    signs = np.where(codes == 1, 1.0, -1.0)
    short = 1.0 - signs * (X @ w + b)
    rows = np.flatnonzero(short > 1e-3)
    steps = (signs * short)[rows, None] * w / float(w @ w)
    for k, (begin, step) in enumerate(zip(X[rows], steps, strict=True)):
        line = np.vstack([begin, begin + step])
        label = "slack" if k == 0 else None
        axes.plot(*line.T, color=SOFT, linewidth=0.6, alpha=0.7, zorder=2, label=label)


# ---- several machines


def save_linear_rules(
    panels: Sequence[tuple[str, Any, Any, Mapping[str, Any]]],
    path: Path | str,
    names: Sequence[str] = ("x0", "x1"),
) -> None:
    """Draw panels of (title, X, y, {name: fitted two-class machine}) side by side into a file.

    A machine is anything with ``coef_`` (1 x 2) and ``intercept_``. Made for the lecture's warning
    about least squares: a few rows far on their own side pull it into a class, while the logistic
    machine and the SVM stay. Draw the machines without those rows on the left, with them on the
    right.
    """
    for _, X, y, machines in panels:
        plane_data(X, y)
        if len(machines) > len(_LINES):
            raise ValueError(f"a picture shows at most {len(_LINES)} models. Got {len(machines)}.")
    with picture(path, 1.2 + 4.6 * len(panels), 4.6) as figure:
        draw_linear_rules(figure, panels, names)


def draw_linear_rules(
    figure: Any,
    panels: Sequence[tuple[str, Any, Any, Mapping[str, Any]]],
    names: Sequence[str] = ("x0", "x1"),
    margins: bool = False,
) -> None:
    """Draw the panels on an empty figure; `margins`: with the edges w.x + b = -1 and 1."""
    shown = [plane_data(X, y) for _, X, y, _ in panels]
    limits = draw_limits(np.vstack([X for X, _, _ in shown]))
    axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    for one, (title, _, _, machines), points in zip(axes, panels, shown, strict=True):
        draw_points(one, *points)
        for (colour, dashes), (name, machine) in zip(_LINES, machines.items(), strict=False):
            w, b = _rule(machine)
            if w.any():
                style = {"color": colour, "linewidth": 1.8, "linestyle": dashes}
                draw_line(one, w, b, limits, label=plain(name), **style)
                for edge in (-1.0, 1.0) if margins else ():
                    draw_line(one, w, b + edge, limits, **style | {"linewidth": 0.8}, alpha=0.8)
        one.set(xlim=limits[0], ylim=limits[1], title=plain(title), xlabel=plain(names[0]))
    axes[0].set_ylabel(plain(names[1]))
    shared_legend(figure, axes[0])


# ---- projections


def save_projections(
    machines: Mapping[str, Any],
    X: Any,
    y: Any,
    path: Path | str,
    names: Sequence[str] = ("x0", "x1"),
) -> None:
    """Draw for each fitted two-class machine its direction, threshold and histograms along it.

    A machine is anything with ``coef_`` (1 x 2) and ``intercept_``: Fisher, or Fisher with
    ``direction="means"``, along which the same classes overlap more.
    """
    X, codes, classes = plane_data(X, y)
    with picture(path, 1.0 + 4.6 * len(machines), 6.6) as figure:
        grid = figure.subplots(2, len(machines), height_ratios=(1.7, 1.0), squeeze=False)
        for (above, below), (name, machine) in zip(grid.T, machines.items(), strict=True):
            w, b = _rule(machine)
            length = float(np.hypot(*w)) or 1.0
            _draw_direction(above, (X, codes, classes), w / length, b / length)
            _draw_histograms(below, X @ w / length, codes, -b / length)
            above.set(xlabel=plain(names[0]), ylabel=plain(names[1]))
            above.set_title(plain(name))
        shared_legend(figure, grid[0, 0])


def _draw_direction(axes: Any, points: tuple[Any, Any, Any], w: np.ndarray, b: float) -> None:
    X, codes, classes = points
    draw_points(axes, X, codes, classes, s=20, linewidth=0.4)
    for code, colour in enumerate(CLASS_COLOURS[: len(classes)]):
        mean = X[codes == code].mean(axis=0)
        axes.scatter(*mean, s=110, marker="X", color=colour, edgecolor=INK, zorder=5)
    axes.margins(0.1)
    # Along w and across it look perpendicular only where both axes have one scale.
    axes.set_aspect("equal", adjustable="datalim")
    middle, step = X.mean(axis=0), 0.01 * float(np.ptp(X, axis=0).max() or 1.0)
    style = {"color": SOFT, "linewidth": 1.2, "linestyle": "--", "label": "direction w"}
    axes.axline(middle, middle + step * w, **style)
    foot = middle - (w @ middle + b) * w
    across = step * np.array([-w[1], w[0]])
    axes.axline(foot, foot + across, color=INK, linewidth=1.8, label="threshold", zorder=4)


def _draw_histograms(axes: Any, along: np.ndarray, codes: np.ndarray, threshold: float) -> None:
    edges = np.linspace(along.min(), along.max(), _BINS + 1)
    style = {"alpha": 0.55, "edgecolor": "white", "linewidth": 0.5}
    for code, hatch in enumerate(("", "///")):
        part = along[codes == code]
        axes.hist(part, bins=edges, color=CLASS_COLOURS[code], hatch=hatch, **style)
    axes.axvline(threshold, color=INK, linewidth=1.8)
    axes.set_xlabel("w.x / |w|")
    axes.set_ylabel("rows")
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", color=FAINT, alpha=0.3, linewidth=0.6)
    axes.set_axisbelow(True)
