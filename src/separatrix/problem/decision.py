"""Losses of decisions: W(decision, state), a row for each decision and a column for each class."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def as_loss_matrix(loss: Any, n_classes: int) -> np.ndarray:
    """Return the loss as numbers, or say what is wrong with it; None is one for every error.

    >>> as_loss_matrix(None, 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if loss is None:
        return 1.0 - np.eye(n_classes)
    matrix = np.asarray(loss, dtype=np.float64)
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"the loss must have a row for each decision and a column for each of the {n_classes} "
            f"classes. Got the shape {matrix.shape} instead."
        )
    if not np.isfinite(matrix).all():
        raise ValueError("the loss must hold finite numbers.")
    return matrix


def as_priors(priors: Any, n_classes: int) -> np.ndarray:
    """Return prior probabilities that sum to 1, or say what is wrong with them.

    >>> as_priors([1, 3], 2).tolist()
    Traceback (most recent call last):
    ValueError: priors must be 2 numbers at least 0 that sum to 1. Got [1.0, 3.0] instead.
    """
    shares = np.asarray(priors, dtype=np.float64)
    good = shares.shape == (n_classes,) and (shares >= 0.0).all()
    if not good or not math.isclose(float(shares.sum()), 1.0, rel_tol=1e-9):
        raise ValueError(
            f"priors must be {n_classes} numbers at least 0 that sum to 1. "
            f"Got {shares.tolist()} instead."
        )
    return shares / shares.sum()


def log_odds_threshold(loss: np.ndarray) -> float:
    """Return the log-odds of the second class above which deciding for it loses less.

    >>> round(log_odds_threshold(np.array([[0.0, 10.0], [1.0, 0.0]])), 6)
    -2.302585
    """
    false_alarm, miss = loss[1, 0] - loss[0, 0], loss[0, 1] - loss[1, 1]
    if not (false_alarm > 0.0 and miss > 0.0):
        raise ValueError(
            "each error must lose more than the right decision for the same class: "
            "loss[1, 0] > loss[0, 0] and loss[0, 1] > loss[1, 1]."
        )
    return math.log(false_alarm) - math.log(miss)
