"""Cross-validation in a picture: a line a fold, the rows it holds out, and its error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.plots._drawing import ACCENT, CLASS_COLOURS, FAINT, INK, SOFT, plain

__all__ = ["draw_folds"]


def draw_folds(
    figure: Any,
    held_out: np.ndarray,
    codes: np.ndarray,
    class_names: Sequence[str],
    errors: Sequence[float] | None = None,
) -> None:
    """Draw folds on an empty figure; `held_out` has a line a fold, true where it holds a row out.

    Rows stand in the order of the fold that holds them out, classes within it together.
    """
    k, n = held_out.shape
    first = np.where(held_out.any(axis=0), held_out.argmax(axis=0), k)
    order = np.lexsort((codes, first))
    axes = figure.add_subplot()
    for fold, line in enumerate(held_out[:, order]):
        _bar(axes, line, k - fold, f"fold {fold + 1}")
        if errors is not None:
            words = {"va": "center", "fontsize": 10, "color": INK}
            axes.text(1.015 * n, k - fold, f"{100.0 * errors[fold]:.1f} %", **words)
    for code, name in enumerate(class_names):
        at = np.flatnonzero(codes[order] == code)
        axes.broken_barh(
            _stretches(at), (k + 0.56, 0.16), color=CLASS_COLOURS[code], linewidth=0,
            label=plain(str(name)),
        )  # fmt: skip
    axes.broken_barh([], (0, 0), color=FAINT, alpha=0.35, label="trains")
    axes.broken_barh([], (0, 0), color=ACCENT, label="held out: judges")
    axes.set(xlim=(0, n), ylim=(0.4, k + 0.8), yticks=[])
    axes.set_xlabel(f"{n:,} rows, in the order of the fold that holds them out")
    axes.spines[["left", "bottom"]].set_visible(False)
    if errors is None:
        axes.set_title(f"{k}-fold cross-validation: every row is held out once", pad=10)
    else:
        mean = 100.0 * float(np.mean(errors))
        axes.set_title(f"{k}-fold cross-validation: {mean:.1f} % is the mean error", pad=10)
        axes.text(1.015 * n, k + 0.64, "error", va="center", fontsize=9, color=SOFT)
    figure.legend(loc="outside lower center", ncol=len(class_names) + 2, frameon=False)


def _bar(axes: Any, held: np.ndarray, height: int, name: str) -> None:
    axes.broken_barh([(0, len(held))], (height - 0.3, 0.6), color=FAINT, alpha=0.35, linewidth=0)
    stretches = _stretches(np.flatnonzero(held))
    axes.broken_barh(stretches, (height - 0.3, 0.6), color=ACCENT, linewidth=0)
    axes.text(-0.012 * len(held), height, name, ha="right", va="center", fontsize=10, color=INK)


def _stretches(places: np.ndarray) -> list[tuple[int, int]]:
    """Return ascending places as (begin, length) of runs.

    >>> _stretches(np.array([0, 1, 2, 7, 8]))
    [(0, 3), (7, 2)]
    """
    if not len(places):
        return []
    runs = np.split(places, np.flatnonzero(np.diff(places) != 1) + 1)
    return [(int(run[0]), len(run)) for run in runs]
