"""What comes in is checked here, once, and refused in plain words: rows, labels, weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, validate_data

from separatrix._sparse import sparse as sp
from separatrix.core import checks as core
from separatrix.core.checks import are_plainly_classes, refuse_infinite
from separatrix.errors import DataError
from separatrix.problem.signed import as_matrix

__all__ = ["checked_weights", "row_weights", "weighted_rows"]

_FLOATS = [np.float64, np.float32]


def training_data(estimator: Any, X: Any, y: Any, reset: bool = True) -> tuple[Any, np.ndarray]:
    """Return X as numbers and y as a column of labels, or say what is wrong with them."""
    try:
        X, y = validate_data(
            estimator,
            X,
            y,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=_FLOATS,
            order="C",
            ensure_all_finite=False,
        )
    except ValueError as error:
        raise in_our_words(error) from error
    refuse_infinite(estimator, X)
    return X, label_column(y)


def label_column(y: np.ndarray) -> np.ndarray:
    """Return y if it holds labels, or say what is wrong with it."""
    if not are_plainly_classes(y):
        try:
            check_classification_targets(y)
        except TypeError as error:
            raise DataError("y mixes labels of different kinds. Make all of them text.") from error
    return y


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
        raise in_our_words(error) from error
    refuse_infinite(estimator, X)
    return X, y.astype(np.float64)


def new_data(estimator: Any, X: Any) -> Any:
    """Return the X to predict for."""
    try:
        X = validate_data(
            estimator,
            X,
            reset=False,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=_FLOATS,
            ensure_all_finite=False,
        )
    except ValueError as error:
        raise in_our_words(error) from error
    refuse_infinite(estimator, X)
    if sp.issparse(X) and not X.has_canonical_format:
        # Fitted rows are sorted: the same row in another order would round to another score.
        X = X.copy()
        X.sum_duplicates()
    return X


def in_our_words(error: ValueError) -> ValueError:
    """Return a refusal that says what to do, where scikit-learn's does not."""
    text = str(error)
    if "could not convert string to float" in text:
        value = text.split(":", 1)[-1].strip()
        return DataError(
            f"X holds text where a number is needed: {value}. Turn text columns into numbers first "
            "(sklearn.preprocessing.OneHotEncoder)."
        )
    return error


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
