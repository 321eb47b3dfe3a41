"""The lectures' examples as presets: the points of `sx.lectures`, and the lecture's own numbers.

The page shows `figures` beside what the run here came to. Points are as the lectures have them,
decimals and all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data import lectures

__all__ = ["lecture_presets"]

_WHOLE_PASSES = "The lecture counts visits to the end of its last pass."


def lecture_presets() -> list[dict[str, Any]]:
    """Return the presets; `figures` are pairs of a term of the outcome and the lecture's value."""
    lifted = {"name": "polynomial", "parameters": {"degree": 2}}
    start = {"learning_rate": 0.2, "init": "lecture"}
    return [
        _preset(
            "worked", "000: the worked perceptron", lectures.five_points(),
            "Lecture 000, Perceptron: graphical example", method="perceptron", parameters=start,
            figures=[["updates", "3"], ["weights", "0.2, 0.5, 1"]],
        ),
        _preset(
            "corners", "000: four points of a square", lectures.exclusive_or(),
            "Lecture 000, VC dimension", method="perceptron",
            note="No line separates the diagonals: the proof names all four points, once each.",
        ),
        _preset(
            "two_points", "002: two points", lectures.two_points(),
            "Lecture 002, Perceptron, Example 1", method="perceptron", figures=[["updates", "2"]],
        ),
        _preset(
            "two_hundred", "002: 200 points, six updates", lectures.two_hundred_points(),
            "Lecture 002, Perceptron, Example 2", method="perceptron", note=_WHOLE_PASSES,
            figures=[
                ["updates", "6"], ["rows visited", "400"], ["weights", "0, 2.76, 0.33"],
            ],
        ),
        _preset(
            "line", "002: 20 points on a line, lifted", lectures.twenty_points(),
            "Lecture 002, Dimension lifting", method="perceptron", lift=lifted,
            note="No threshold separates them. With x squared as a second feature a line does.",
        ),
        _preset(
            "parabola", "002: a line lifted to a parabola", lectures.parabola(),
            "Lecture 002, Lifting, Example 1", method="perceptron", note=_WHOLE_PASSES,
            figures=[
                ["updates", "47"], ["rows visited", "160"], ["weights", "3, -1.5, 3.12"],
            ],
        ),
        _preset(
            "eighty_five", "004: 85 points, and a thin gap", lectures.eighty_five_points(),
            "Lecture 004, section 4.3", method="perceptron",
            figures=[["training errors", "0 of 85"]],
        ),
        _preset(
            "irises", "004: two irises", lectures.iris_pair(), "Lecture 004, figure 5",
            method="hard_margin", names=["sepal width", "petal width"],
            note="The points on the edges of the margin are the support vectors.",
        ),
    ]  # fmt: skip


def _preset(
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
