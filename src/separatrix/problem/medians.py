"""The lower median of every column, rows counting by their weights.

It does not depend on the order of rows, and a row of weight k counts as k copies: to the last bit.
"""

from __future__ import annotations

import numpy as np

__all__ = ["medians"]


def medians(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the least value of each column below or at which half of the weight lies.

    >>> medians(np.array([[1.0], [2.0], [9.0]]), np.ones(3)).tolist()
    [2.0]
    >>> medians(np.array([[1.0], [2.0], [9.0]]), np.array([1.0, 1.0, 3.0])).tolist()
    [9.0]
    """
    if (weights == weights[0]).all():
        middle = (len(X) - 1) // 2
        return np.asarray(np.partition(X, middle, axis=0)[middle], dtype=np.float64)
    found = np.empty(X.shape[1])
    for j in range(X.shape[1]):
        order = np.argsort(X[:, j], kind="stable")
        below = np.cumsum(weights[order])
        found[j] = X[order[int(np.searchsorted(below, 0.5 * below[-1]))], j]
    return found
