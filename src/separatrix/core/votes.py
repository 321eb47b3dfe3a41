"""One machine for every pair of classes: which pairs there are, and what their votes come to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

__all__ = ["pairs_of", "tally"]


def pairs_of(n_classes: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs of class numbers, the lower one first.

    >>> pairs_of(3)
    ((0, 1), (0, 2), (1, 2))
    """
    return tuple(combinations(range(n_classes), 2))


def tally(margins: np.ndarray, pairs: Sequence[tuple[int, int]], n_classes: int) -> np.ndarray:
    """Return for every row and class its votes, and a fraction by the sum of its margins.

    A positive margin is a vote for the second class of its pair. The fraction lies between -1/3
    and 1/3, so that it decides between classes of equal votes and between no others.

    >>> tally(np.array([[-1.0, 2.0, 3.0]]), pairs_of(3), 3).round(3).tolist()
    [[0.833, -0.267, 2.278]]
    """
    votes, sums = np.zeros((len(margins), n_classes)), np.zeros((len(margins), n_classes))
    for column, (low, high) in enumerate(pairs):
        won = margins[:, column] > 0.0
        votes[won, high] += 1.0
        votes[~won, low] += 1.0
        sums[:, high] += margins[:, column]
        sums[:, low] -= margins[:, column]
    with np.errstate(over="ignore"):
        return np.asarray(votes + sums / (3.0 * (abs(sums) + 1.0)))
