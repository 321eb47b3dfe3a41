"""The table of lecture 004 (sections 10.2 and 11.2): sentiment of sentences, C from 0.01 to 1000.

    for each C: training error, test error, support vectors of the soft-margin SVM
    2,500 sentences to train, 500 to test, a seeded choice; means over several such splits

The lecture shows one split. A mean lies "within" where the training error is at most 1 point off,
the test error at most 3 points and, for C <= 100, the support vectors at most 5 %.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from separatrix.data.lectures import needed_sentences, sentences
from separatrix.errors import DataError
from separatrix.estimators.linear_svm import LinearSVM
from separatrix.selection.split import split

__all__ = ["LECTURE", "WITHIN", "Line", "lecture_sentences", "lecture_table", "split_figures"]

SENTENCES, TEST = 3000, 500
# C: training error %, test error %, support vectors.
LECTURE = {
    0.01: (23.72, 28.4, 2294),
    0.1: (7.88, 18.4, 1766),
    1.0: (1.12, 16.8, 1306),
    10.0: (0.16, 19.4, 1105),
    100.0: (0.08, 19.4, 1035),
    1000.0: (0.08, 19.4, 950),
}
_TRAINING_POINTS, _TEST_POINTS, _VECTOR_SHARE, _LARGEST_C = 1.0, 3.0, 0.05, 100.0
WITHIN = (
    f"within: training error at most {_TRAINING_POINTS:g} point off, test error at most "
    f"{_TEST_POINTS:g} points, support vectors at most {_VECTOR_SHARE:.0%} for C <= {_LARGEST_C:g} "
    "(not compared above)"
)


@dataclass(frozen=True)
class Line:
    """One value of C: our means over the splits, beside the lecture's figures."""

    C: float
    training_error: float
    test_error: float
    support_vectors: float

    @property
    def lecture(self) -> tuple[float, float, int]:
        """The lecture's training error %, test error % and support vectors."""
        return LECTURE[self.C]

    @property
    def is_within(self) -> bool:
        """Whether the means lie as near to the lecture's figures as its one split can demand."""
        training, test, vectors = self.lecture
        return (
            abs(self.training_error - training) <= _TRAINING_POINTS
            and abs(self.test_error - test) <= _TEST_POINTS
            and (
                self.C > _LARGEST_C
                or abs(self.support_vectors - vectors) <= _VECTOR_SHARE * vectors
            )
        )


def lecture_sentences(path: str | PathLike[str], **reading: Any) -> tuple[Any, np.ndarray]:
    """Return the lecture's 3,000 sentences; `reading` as of ``sx.lectures.sentences``."""
    X, y = sentences(path, **reading)
    if len(y) != SENTENCES or 2 * int(y.sum()) != SENTENCES:
        raise DataError(
            f"expected {SENTENCES:,} sentences, half of them positive, and found {len(y):,} with "
            f"{int(y.sum()):,} positive. {needed_sentences()}",
            str(path),
        )
    return X, y


def split_figures(X: Any, y: np.ndarray, seed: int) -> np.ndarray:
    """Return training error %, test error % and support vectors of one split, a row for each C."""
    parts = split(y, test=TEST, seed=seed)
    figures = []
    for C in LECTURE:
        model = LinearSVM(C=C).fit(X[parts.train], y[parts.train])
        wrong = [np.mean(model.predict(X[rows]) != y[rows]) for rows in (parts.train, parts.test)]
        figures.append((100.0 * wrong[0], 100.0 * wrong[1], len(model.support_)))
    return np.array(figures)


def lecture_table(
    X: Any, y: np.ndarray, splits: int = 20, tick: Callable[[float], None] | None = None
) -> list[Line]:
    """Return a line for each of the lecture's C, means over `splits` seeded splits."""
    if splits < 1:
        raise ValueError(f"splits must be at least 1. Got {splits} instead.")
    found = []
    for seed in range(splits):
        found.append(split_figures(X, y, seed))
        if tick is not None:
            tick(seed + 1)
    return lines_of(np.array(found))


def lines_of(figures: np.ndarray) -> list[Line]:
    """Return the lines from the figures of several splits (splits x C x 3)."""
    means = figures.mean(axis=0)
    return [Line(C, *map(float, mean)) for C, mean in zip(LECTURE, means, strict=True)]
