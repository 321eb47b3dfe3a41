"""Sets of points to begin with: the situations that a lecture on linear classification shows.

Coordinates are multiples of 1/64, which floats hold exactly: the integers of a witness stay short.
Those of the lectures' own examples are as the lectures have them (`lecture_presets`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.lab.lecture_presets import lecture_presets

__all__ = ["preset_catalogue"]

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
