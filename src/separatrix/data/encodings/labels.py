"""Labels as people write them: ``+1``/``-1``, whole numbers, numbers, or words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["classes_of", "tidy_labels"]


def _as_numbers(labels: Sequence[str]) -> NDArray[np.float64] | None:
    """Return the labels as numbers if every one is a finite number, and none is a name for it."""
    spelled = dict.fromkeys(labels)
    values: dict[str, float] = {}
    for label in spelled:
        try:
            values[label] = float(label)
        except ValueError:
            return None
        if "_" in label or not label.isascii() or not np.isfinite(values[label]):
            return None
    return np.array([values[label] for label in labels], dtype=float)


def tidy_labels(labels: Sequence[str] | NDArray[np.float64]) -> NDArray[Any]:
    """Return labels as whole numbers, numbers or text, whichever holds them all.

    >>> tidy_labels(["+1", "-1", "1"]).tolist()
    [1, -1, 1]
    >>> tidy_labels(["spam", "1"]).tolist()
    ['spam', '1']
    """
    numbers = labels if isinstance(labels, np.ndarray) else _as_numbers(labels)
    if numbers is None or _are_merged(labels, numbers):
        return np.array(labels, dtype=str)
    whole = np.abs(numbers) < 2**53
    whole &= numbers == np.rint(numbers)
    return numbers.astype(np.int64) if whole.all() else numbers


def _are_merged(labels: Sequence[str] | NDArray[np.float64], numbers: NDArray[np.float64]) -> bool:
    """Whether different whole numbers, too long for a float, would become one class."""
    long = np.flatnonzero(np.abs(numbers) >= 2**53).tolist()
    if isinstance(labels, np.ndarray) or not long:
        return False
    return len({labels[at] for at in long}) > len(np.unique(numbers[long]))


def classes_of(y: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct labels in order; the last of two is the positive class."""
    return np.unique(y)
