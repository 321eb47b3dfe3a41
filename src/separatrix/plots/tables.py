"""Sentences as vectors: a line a sentence, a column a word of the vocabulary.

Cross-validation in a picture: a line a fold, the rows it holds out, and its error.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np

from separatrix.plots._drawing import ACCENT, CLASS_COLOURS, FAINT, INK, SOFT, plain

__all__ = [
    "draw_bag_of_words",
    "draw_folds",
    "word_counts",
]


_LONGEST_LINE = 44


def word_counts(
    words: Sequence[Sequence[str]], vocabulary: Sequence[str] | None = None
) -> tuple[list[str], np.ndarray]:
    """Return the vocabulary and how often each sentence has each of its words.

    Without a vocabulary it is every word that occurs, sorted.

    >>> word_counts([["good", "not", "good"], ["bad"]])[1].tolist()
    [[0, 2, 1], [1, 0, 0]]
    """
    known = sorted({word for line in words for word in line}) if vocabulary is None else vocabulary
    column = {word: k for k, word in enumerate(known)}
    counts = np.zeros((len(words), len(known)), dtype=int)
    for k, line in enumerate(words):
        for word in line:
            if word in column:
                counts[k, column[word]] += 1
    return list(known), counts


def draw_bag_of_words(
    figure: Any, sentences: Sequence[str], vocabulary: Sequence[str], counts: np.ndarray
) -> None:
    """Draw the table on an empty figure: zeros are pale, since most entries are zero."""
    axes = figure.add_subplot()
    n, d = counts.shape
    most = max(1, int(counts.max(initial=0)))
    for (i, j), count in np.ndenumerate(counts):
        alpha = 0.25 + 0.6 * count / most if count else 0.0
        axes.fill_between([j, j + 1], i, i + 1, color=CLASS_COLOURS[1], alpha=alpha, linewidth=0)
        words = {"ha": "center", "va": "center", "color": INK if count else FAINT}
        axes.text(j + 0.5, i + 0.5, str(count), fontsize=9, **words)
    for j in range(d + 1):
        axes.plot([j, j], [0, n], color=FAINT, linewidth=0.5)
    for i in range(n + 1):
        axes.plot([0, d], [i, i], color=FAINT, linewidth=0.5)
    axes.set(xlim=(0, d), ylim=(n, 0))
    axes.set_xticks(np.arange(d) + 0.5, [plain(word) for word in vocabulary], rotation=60)
    for label in axes.get_xticklabels():
        label.set(ha="left", rotation_mode="anchor", fontsize=9)
    axes.xaxis.tick_top()
    lines = [fill(plain(f'"{text}"'), _LONGEST_LINE) for text in sentences]
    axes.set_yticks(np.arange(n) + 0.5, lines, fontsize=9)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    zeros = 100.0 * float((counts == 0).mean()) if counts.size else 0.0
    shown = "sentence is a vector" if n == 1 else "sentences are vectors"
    title = f"{n} {shown} of {d} numbers, {zeros:.0f} % of them 0"
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=11)
    below = "A column is a word of the vocabulary, a number how often it occurs."
    figure.supxlabel(below, x=0.01, ha="left", fontsize=9, color=SOFT)


# ---- cross-validation in a picture: a line a fold, the rows it holds out, and its error


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
