"""Sets of points to begin with: the situations that a lecture on linear classification shows.

Coordinates are multiples of 1/64, which floats hold exactly: the integers of a witness stay short.
Those of the lectures' own examples are as the lectures have them (`lecture_presets`).

The lectures' examples as presets: the points of `sx.lectures`, and the lecture's own numbers.

The page shows `figures` beside what the run here came to. Points are as the lectures have them,
decimals and all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data import lectures

__all__ = [
    "lecture_presets",
    "preset_catalogue",
]


_GRID = 64.0


def preset_catalogue() -> list[dict[str, Any]]:
    """Return all presets for the page; some name the method that makes their point."""
    dice = np.random.default_rng(1973)

    def cloud(count: int, x: float, y: float, wide: float = 0.7, tall: float = 0.7) -> np.ndarray:
        return dice.normal(size=(count, 2)) * [wide, tall] + [x, y]

    far = cloud(16, -1.7, -0.9), cloud(16, 1.7, 1.0)
    near = cloud(20, -0.8, 0), cloud(20, 0.9, 0)
    turn = np.linspace(0, 2 * np.pi, 21)[:-1]
    ring = np.column_stack([2.3 * np.cos(turn), 2.0 * np.sin(turn)]) + cloud(20, 0, 0, 0.18, 0.18)
    return [
        _preset("separable", "Separable", *far),
        _preset("touching", "Touching", *_touching(), method="kozinec"),
        _preset("overlapping", "Overlapping", *near, method="soft_margin"),
        _preset("outlier", "One outlier", *_outlier(cloud), method="soft_margin"),
        _preset(
            "xor", "Exclusive or",
            np.vstack([cloud(8, -1.6, -1.3, 0.4, 0.4), cloud(8, 1.6, 1.3, 0.4, 0.4)]),
            np.vstack([cloud(8, -1.6, 1.3, 0.4, 0.4), cloud(8, 1.6, -1.3, 0.4, 0.4)]),
            method="kernel_svm",
        ),
        _preset(
            "circles", "Circles", cloud(18, 0, 0, 0.5, 0.42), ring, method="perceptron",
            lift={"name": "polynomial", "parameters": {"degree": 2}},
        ),
        _preset(
            "three", "Three classes", cloud(14, -2, -1.2, 0.6, 0.6), cloud(14, 2, -1, 0.6, 0.6),
            cloud(14, 0, 1.7, 0.6, 0.5), method="soft_margin",
        ),
        _preset(
            "six", "Six classes",
            *(cloud(9, 2.6 * np.cos(a), 2.0 * np.sin(a), 0.32, 0.3)
              for a in np.linspace(0, 2 * np.pi, 7)[:-1]),
            method="kernel_svm",
        ),
        *lecture_presets(),
        _preset(
            "far_away", "Lecture 003: squares and far points", cloud(20, -1.0, 0.6, 0.5, 0.6),
            np.vstack([cloud(20, 1.0, -0.4, 0.5, 0.6), cloud(8, 5.2, -3.6, 0.35, 0.3)]),
            method="least_squares",
        ),
        _preset(
            "masked", "Lecture 003: the class in the middle",
            cloud(14, -2.4, -1.6, 0.4, 0.4), cloud(14, 0, 0, 0.4, 0.4),
            cloud(14, 2.4, 1.6, 0.4, 0.4), method="least_squares",
        ),
    ]  # fmt: skip


def _preset(name: str, label: str, *groups: np.ndarray, **choices: Any) -> dict[str, Any]:
    points = np.round(np.vstack(groups) * _GRID) / _GRID
    codes = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    # Classes take turns, as rows of a file do: one after another would be a special case.
    order = np.argsort(np.concatenate([np.linspace(0, 1, len(g)) for g in groups])).tolist()
    return {
        "name": name,
        "label": label,
        "points": points[order].tolist(),
        "classes": codes[order].tolist(),
        **choices,
    }


def _touching() -> tuple[np.ndarray, np.ndarray]:
    """Two classes that share one boundary point: quasi-separable."""
    below = np.array([[-2, -1], [-1, -1.5], [0, -0.5], [1, -1.25], [2, -1], [0.5, 0], [-1.5, 0]])
    above = np.array([[-2, 1], [-1, 1.5], [0, 0.75], [1.25, 1], [2, 1.25], [-0.5, 0], [2, 0]])
    return below, above


def _outlier(cloud: Any) -> tuple[np.ndarray, np.ndarray]:
    low, high = cloud(15, -1.6, -0.6, 0.5, 0.6), cloud(15, 1.7, 0.5, 0.5, 0.6)
    return np.vstack([low, [[0.75, 0.25]]]), high


# ---- the lectures' examples as presets: the points of `sx.lectures`, and the lecture's own numbers


_WHOLE_PASSES = "The lecture counts visits to the end of its last pass."


def lecture_presets() -> list[dict[str, Any]]:
    """Return the presets; `figures` are pairs of a term of the outcome and the lecture's value."""
    lifted = {"name": "polynomial", "parameters": {"degree": 2}}
    start = {"learning_rate": 0.2, "init": "lecture"}
    return [
        _lecture_preset(
            "worked", "000: the worked perceptron", lectures.five_points(),
            "Lecture 000, Perceptron: graphical example", method="perceptron", parameters=start,
            figures=[["updates", "3"], ["weights", "0.2, 0.5, 1"]],
        ),
        _lecture_preset(
            "corners", "000: four points of a square", lectures.exclusive_or(),
            "Lecture 000, VC dimension", method="perceptron",
            note="No line separates the diagonals: the proof names all four points, once each.",
        ),
        _lecture_preset(
            "two_points", "002: two points", lectures.two_points(),
            "Lecture 002, Perceptron, Example 1", method="perceptron", figures=[["updates", "2"]],
        ),
        _lecture_preset(
            "two_hundred", "002: 200 points, six updates", lectures.two_hundred_points(),
            "Lecture 002, Perceptron, Example 2", method="perceptron", note=_WHOLE_PASSES,
            figures=[
                ["updates", "6"], ["rows visited", "400"], ["weights", "0, 2.76, 0.33"],
            ],
        ),
        _lecture_preset(
            "line", "002: 20 points on a line, lifted", lectures.twenty_points(),
            "Lecture 002, Dimension lifting", method="perceptron", lift=lifted,
            note="No threshold separates them. With x squared as a second feature a line does.",
        ),
        _lecture_preset(
            "parabola", "002: a line lifted to a parabola", lectures.parabola(),
            "Lecture 002, Lifting, Example 1", method="perceptron", note=_WHOLE_PASSES,
            figures=[
                ["updates", "47"], ["rows visited", "160"], ["weights", "3, -1.5, 3.12"],
            ],
        ),
        _lecture_preset(
            "eighty_five", "004: 85 points, and a thin gap", lectures.eighty_five_points(),
            "Lecture 004, section 4.3", method="perceptron",
            figures=[["training errors", "0 of 85"]],
        ),
        _lecture_preset(
            "irises", "004: two irises", lectures.iris_pair(), "Lecture 004, figure 5",
            method="hard_margin", names=["sepal width", "petal width"],
            note="The points on the edges of the margin are the support vectors.",
        ),
    ]  # fmt: skip


def _lecture_preset(
    name: str,
    label: str,
    data: tuple[Any, Any],
    where: str,
    *,
    figures: list[list[str]] | None = None,
    note: str = "",
    **choices: Any,
) -> dict[str, Any]:
    X, y = data
    points = X if X.shape[1] == 2 else np.column_stack([X, np.zeros(len(X))])
    classes, codes = np.unique(y, return_inverse=True)
    if classes.dtype.kind == "U":
        choices["classNames"] = classes.tolist()
    return {
        "name": name,
        "label": f"Lecture {label}",
        "points": points.tolist(),
        "classes": codes.tolist(),
        "lecture": {"where": where, "figures": figures or [], "note": note},
        **choices,
    }
