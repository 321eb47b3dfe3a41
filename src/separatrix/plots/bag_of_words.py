"""Sentences as vectors: a line a sentence, a column a word of the vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np

from separatrix.plots._drawing import CLASS_COLOURS, FAINT, INK, SOFT, plain

__all__ = ["draw_bag_of_words", "word_counts"]

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
