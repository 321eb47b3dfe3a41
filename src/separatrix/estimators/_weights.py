"""What each row counts, as it is given to an estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from separatrix.core import row_weights as core
from separatrix.problem.signed import as_matrix

__all__ = ["checked_weights", "row_weights", "weighted_rows"]


def checked_weights(sample_weight: Any, rows: Any) -> np.ndarray | None:
    """Return the weights of rows as numbers at least 0; None where none are given."""
    if sample_weight is None:
        return None
    checked: np.ndarray = _check_sample_weight(
        sample_weight, rows, dtype=np.float64, copy=True, ensure_non_negative=True
    )
    return checked


def row_weights(
    estimator: Any, codes: np.ndarray, sample_weight: Any, class_weight: Any
) -> np.ndarray:
    """Return one weight a row, sample weight times class weight, or say what is wrong with them."""
    return core.row_weights(estimator, codes, checked_weights(sample_weight, codes), class_weight)


def weighted_rows(X: Any, y: np.ndarray, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return X as float64, y and the weights, without the rows of weight 0."""
    X = as_matrix(X)
    X = X.astype(np.float64, copy=False)
    if sample_weight is None:
        return X, y, np.ones(X.shape[0])
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    kept = weights > 0.0
    return (X, y, weights) if kept.all() else (X[kept], y[kept], weights[kept])
