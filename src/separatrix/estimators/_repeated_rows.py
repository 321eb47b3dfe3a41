"""Weights of rows as repeated visits: weight k is k copies of the row, and 0 leaves it out."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.errors import DataError
from separatrix.estimators._validate import checked_weights

__all__ = ["repeated_rows"]

_MOST_ENTRIES = 1 << 30


def repeated_rows(
    model: Any, X: Any, y: np.ndarray, sample_weight: Any, instead: str
) -> tuple[Any, np.ndarray]:
    """Return every row as often as its weight says, the copies one after another.

    `instead` names what to use for weights that are no whole numbers.
    """
    weights = checked_weights(sample_weight, X)
    if weights is None or (weights == 1.0).all():
        return X, y
    name = type(model).__name__
    if not (np.isfinite(weights).all() and (weights == np.rint(weights)).all()):
        raise ValueError(
            f"{name} takes sample weights as numbers of visits: they must be whole numbers at "
            f"least 0. {instead}"
        )
    if float(weights.sum()) * X.shape[1] > _MOST_ENTRIES:
        raise DataError(
            f"{name} repeats rows by their weights, and {weights.sum():.3g} rows are too many. "
            f"Divide the weights. {instead}"
        )
    rows = np.repeat(np.arange(len(weights)), weights.astype(np.int64))
    return X[rows], y[rows]
