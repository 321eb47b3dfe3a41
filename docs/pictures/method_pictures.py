"""Draw the pictures that belong to one method each: ``python docs/pictures/method_pictures.py``."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from matplotlib.patches import Rectangle
from scipy.stats import binom
from sklearn.datasets import load_breast_cancer, make_circles

import separatrix as sx
from separatrix.plots.regions import save_kernel_regions

HERE = Path(__file__).resolve().parent
_SPEC = importlib.util.spec_from_file_location("style", HERE.parent / "gallery" / "_style.py")
assert _SPEC is not None
assert _SPEC.loader is not None
style: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(style)


def delta_rule(path: Path) -> None:
    """The weights on the contours of the loss, and the loss for three rates."""
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    rows, targets = np.column_stack([np.ones(4), X]), np.array([-1.0, -1.0, 1.0, 1.0])
    limit = 2 / np.linalg.eigvalsh(rows.T @ rows)[-1]
    across, up = np.meshgrid(np.linspace(-2.2, 0.6, 200), np.linspace(-0.1, 1.3, 200))
    weights = np.stack([across.ravel(), up.ravel()])
    loss = 0.5 * ((rows @ weights - targets[:, None]) ** 2).sum(axis=0)
    rates = {"half of the limit": 0.5, "0.95 of the limit": 0.95, "1.02 of the limit": 1.02}
    with style.picture(str(path), 2, 3.9) as (plane, curve):
        plane.contour(
            across, up, loss.reshape(across.shape), 14, colors=style.FAINT, linewidths=0.8
        )
        for (name, share), colour in zip(rates.items(), style.CLASS_COLOURS, strict=False):
            at, seen = np.zeros(2), []
            for _ in range(31):
                seen.append((*at, 0.5 * float(((rows @ at - targets) ** 2).sum())))
                at = at + share * limit * rows.T @ (targets - rows @ at)
            steps = np.array(seen)
            if share < 1:
                plane.plot(steps[:, 0], steps[:, 1], "o-", color=colour, markersize=3, linewidth=1)
            curve.plot(steps[:, 2], "o-", color=colour, markersize=3, linewidth=1.2, label=name)
        best = sx.LeastSquares().fit(X, y)
        mark = {"marker": "X", "s": 70, "color": style.ACCENT, "zorder": 5}
        plane.scatter(best.intercept_[0], best.coef_[0, 0], label="least squares", **mark)
        plane.legend(frameon=False)
        plane.set(xlabel="intercept", ylabel="weight", title="Weights on the contours of the loss")
        curve.set(yscale="log", xlabel="update", ylabel="loss E", title="The rate decides")
        curve.legend(frameon=False)


def linear_program(path: Path) -> None:
    """The halfspace of least mean violation, and every violation as a segment."""
    rng = np.random.default_rng(3)
    y = np.repeat(["left", "right"], [18, 30])
    X = rng.normal(size=(48, 2)) + np.where(y == "right", 1.9, 0.0)[:, None]
    model = sx.LinearProgramHalfspace(slack=True).fit(X, y)
    w, b = model.coef_[0], float(model.intercept_[0])
    with style.picture(str(path), height=4.4) as axes:
        style.scatter(axes, X, y)
        style.boundary(axes, model, X, label="w·x + b = 0")
        limits = axes.get_xlim(), axes.get_ylim()
        for level in (-1.0, 1.0):
            ends = np.array(limits[0])
            edge = {"color": style.SOFT, "linewidth": 0.9, "linestyle": "--"}
            axes.plot(ends, (level - b - w[0] * ends) / w[1], **edge)
        for point, slack, name in zip(X, model.slack_, y, strict=True):
            if slack > 1e-9:
                to = point + (1 if name == "right" else -1) * slack * w / (w @ w)
                axes.plot(*np.array([point, to]).T, color=style.ACCENT, linewidth=1.1, zorder=1)
        axes.plot([], [], color=style.ACCENT, linewidth=1.1, label="violation")
        axes.set(xlim=limits[0], ylim=limits[1], xlabel="x0", ylabel="x1")
        axes.set_title(f"Least mean violation: {model.objective_:.3f}, proved by its dual")
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def sealed_test(path: Path) -> None:
    """What choosing on the test rows does to the error reported and to its interval."""
    n, rate = 200, 0.2
    interval = [sx.bounds.binomial(k, n) for k in range(n + 1)]
    covers = np.array([each.lower <= rate <= each.upper for each in interval])
    tried = np.unique(np.geomspace(1, 100, 40).round().astype(int))
    above = binom.sf(np.arange(-1, n + 1), n, rate)
    chance = [above[:-1] ** k - above[1:] ** k for k in tried]
    with style.picture(str(path), 2, 3.6) as (error, coverage):
        error.plot(tried, [100 * (p @ np.arange(n + 1)) / n for p in chance], color=style.ACCENT)
        error.axhline(100 * rate, color=style.INK, linewidth=0.9, linestyle="--")
        error.text(100, 100 * rate + 0.15, "true error of every model", ha="right", va="bottom")
        error.set(ylabel="error reported, %", title="The least of several test errors")
        coverage.plot(tried, [100 * (p @ covers) for p in chance], color=style.ACCENT)
        coverage.axhline(95, color=style.INK, linewidth=0.9, linestyle="--")
        coverage.text(100, 94, "95 %", ha="right", va="top")
        coverage.set(ylabel="intervals that hold the true error, %", ylim=(0, 100))
        coverage.set_title("Its 95 % interval")
        for axes in (error, coverage):
            axes.set(xscale="log", xlabel="models compared on 200 test rows")
            axes.set_xticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])


def kernel_perceptron(path: Path) -> None:
    """Both rules on two circles, with the rows that they use."""
    X, number = make_circles(60, factor=0.4, noise=0.06, random_state=0)
    y = np.where(number, "inner", "outer")
    panels = []
    for title, model in (
        ("Perceptron", sx.KernelPerceptron()),
        ("Kozinec, epsilon 0.01", sx.KernelKozinec(epsilon=0.01)),
    ):
        panels.append((title, X, y, model.fit(X, y)))
    save_kernel_regions(panels, path, ("x0", "x1"))


def interior_point(path: Path) -> None:
    """Both objectives at every iteration, and the gap for three values of C."""
    X, y = load_breast_cancer(return_X_y=True)
    with style.picture(str(path), 2, 3.8) as (objectives, gaps):
        for C, colour in zip((0.01, 1.0, 100.0), style.CLASS_COLOURS, strict=False):
            model = sx.LinearSVM(C, solver="interior_point", tol=1e-9)
            frames = list(sx.replay(model, X, y))
            relative = [max(frame.gap, 1e-10) for frame in frames]
            gaps.plot(relative, "o-", color=colour, markersize=3, linewidth=1.2, label=f"C = {C:g}")
            if C == 1.0:
                best = frames[-1].primal
                for name, shade, values in (
                    ("primal objective", style.CLASS_COLOURS[0], [f.primal for f in frames]),
                    ("dual objective", style.CLASS_COLOURS[1], [f.dual for f in frames]),
                ):
                    drawn = np.array(values) / best
                    objectives.plot(
                        drawn, "o-", color=shade, markersize=3, linewidth=1.2, label=name
                    )
        objectives.set(ylim=(0, 3), xlabel="iteration", ylabel="objective / optimum")
        objectives.set_title("Both close in on the optimum, C = 1")
        gaps.set(yscale="log", xlabel="iteration", ylabel="relative gap", title="For any C")
        for axes in (objectives, gaps):
            axes.legend(frameon=False)


def newton(path: Path) -> None:
    """The gap after every step, for the columns as given and standardised."""
    X, y = load_breast_cancer(return_X_y=True)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    losses = {
        "logistic": lambda: sx.LogisticRegression(tol=1e-9, solver="newton"),
        "squared hinge": lambda: sx.LinearSVM(tol=1e-9, loss="squared_hinge", solver="newton"),
    }
    with style.picture(str(path), 2, 3.6) as panels:
        for axes, (name, make) in zip(panels, losses.items(), strict=True):
            for rows, label, colour in (
                (X, "columns as given, 0.001 to 4000", style.CLASS_COLOURS[0]),
                (scaled, "columns standardised", style.CLASS_COLOURS[1]),
            ):
                gap = [max(frame.gap, 1e-10) for frame in sx.replay(make(), rows, y)]
                axes.plot(gap, "o-", color=colour, markersize=4, linewidth=1.2, label=label)
            axes.set(yscale="log", xlabel="Newton step", ylabel="relative gap")
            axes.set_title(name.capitalize())
            axes.legend(frameon=False, fontsize=9)


def gram(path: Path) -> None:
    """The shapes of X = L Q': few rows of many columns become as few columns as rows."""
    with style.picture(str(path), height=2.6) as axes:
        shapes = (
            (0.0, 8.0, "X", "n rows, d columns", style.CLASS_COLOURS[1]),
            (9.4, 1.2, "L", "n × n", style.CLASS_COLOURS[0]),
            (11.9, 8.0, "Qᵀ", "n orthonormal rows", style.FAINT),
        )
        for left, width, name, below, colour in shapes:
            fill = {"facecolor": colour, "alpha": 0.3, "edgecolor": colour, "linewidth": 1.2}
            axes.add_patch(Rectangle((left, 0), width, 1.2, **fill))
            axes.text(left + width / 2, 0.6, name, ha="center", va="center", fontsize=14)
            axes.text(left + width / 2, -0.25, below, ha="center", va="top")
        for at, sign in ((8.7, "="), (11.25, "·")):
            axes.text(at, 0.6, sign, ha="center", va="center", fontsize=16)
        axes.text(9.95, 2.1, "the problem that is solved", ha="center", va="bottom")
        arrow = {"arrowstyle": "->", "color": style.INK}
        axes.annotate("", (9.95, 1.3), (9.95, 2.0), arrowprops=arrow)
        axes.set(xlim=(-0.3, 20.2), ylim=(-1.0, 2.8), aspect="equal")
        axes.set_axis_off()


if __name__ == "__main__":
    with mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="0"):  # the same picture, the same file
        draws = (delta_rule, linear_program, sealed_test, kernel_perceptron)
        for draw in (*draws, interior_point, newton, gram):
            draw(HERE / f"{draw.__name__}.svg")
