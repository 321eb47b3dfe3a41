"""Rows with weights: weight k is k copies of a row, and weight 0 is no row at all."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, validate_data

from separatrix.estimators._validate import _FLOATS, _in_our_words, _refuse_infinite
from separatrix.problem.signed import as_matrix


def weighted_rows(X: Any, y: np.ndarray, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return X as float64, y and the weights, without the rows of weight 0."""
    X = as_matrix(X)
    X = X.astype(np.float64, copy=False)
    if sample_weight is None:
        return X, y, np.ones(X.shape[0])
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    kept = weights > 0.0
    return (X, y, weights) if kept.all() else (X[kept], y[kept], weights[kept])


def regression_data(estimator: Any, X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """Return X and the values to be predicted, one column or several."""
    try:
        X, y = validate_data(
            estimator,
            X,
            y,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=_FLOATS,
            order="C",
            ensure_all_finite=False,
            multi_output=True,
            y_numeric=True,
        )
    except ValueError as error:
        raise _in_our_words(error) from error
    _refuse_infinite(estimator, X)
    return X, y.astype(np.float64)
