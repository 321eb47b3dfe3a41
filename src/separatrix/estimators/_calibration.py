"""Probabilities from scores: monotone, and never contradicting the class predicted.

Two classes: ``p = 1 / (1 + exp(-a f))`` with one slope a for f > 0 and one for f < 0, so that p
crosses one half exactly where the prediction changes. Several: ``softmax(a f)``, whose largest is
the largest score. The slopes maximise the likelihood of held-out folds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_expit, log_softmax

from separatrix._device import is_tensor, on_host
from separatrix.core.probabilities import Calibration

__all__ = ["fitted_slopes", "held_out_calibration"]

_FOLDS = 5
_FLATTEST, _STEEPEST = 1e-6, 1e6


def held_out_calibration(machine: Any, X: Any, y: Any, sample_weight: Any) -> Calibration:
    """Fit on four fifths, score the fifth, five times over; then fit the slopes to all scores."""
    from sklearn.utils.validation import _check_sample_weight

    from separatrix.estimators._on_device import moved_once
    from separatrix.estimators._validate import training_data

    X = moved_once(machine, X)
    if is_tensor(X):
        y, sample_weight = np.asarray(on_host(y)), on_host(sample_weight)
    else:
        X, y = training_data(machine, X, y, reset=False)
    weights = _check_sample_weight(sample_weight, y, dtype=np.float64)
    codes = np.searchsorted(machine.classes_, y)
    scores, held_out = _held_out_scores(machine, X, y, codes, weights)
    return fitted_slopes(scores[held_out], codes[held_out], weights[held_out])


def fitted_slopes(scores: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> Calibration:
    """Fit the slopes to scores, a column a machine, of rows that the machines had not seen."""
    if not len(scores):
        return Calibration(1.0, 1.0)
    if scores.shape[1] > 1:
        at = np.arange(len(codes))
        slope = _slope(lambda a: -weights @ log_softmax(a * scores, axis=1)[at, codes])
        return Calibration(slope, slope)
    signed = np.where(codes == 1, 1.0, -1.0) * scores[:, 0]
    below, above = (
        _slope(lambda a, s=side: -weights[s] @ log_expit(a * signed[s])) if side.any() else 1.0
        for side in (scores[:, 0] < 0.0, scores[:, 0] > 0.0)
    )
    return Calibration(below, above)


def _held_out_scores(
    machine: Any, X: Any, y: np.ndarray, codes: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return scores by machines that had not seen the row, and which rows have them.

    A class with a single row cannot do without it: that row is never held out.
    """
    counts = np.bincount(codes[weights > 0.0], minlength=len(machine.classes_))
    spare = np.flatnonzero((counts[codes] > 1) & (weights > 0.0))
    columns = 1 if len(machine.classes_) == 2 else len(machine.classes_)
    scores, held_out = np.zeros((len(y), columns)), np.zeros(len(y), dtype=bool)
    if not len(spare):
        return scores, held_out
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold  # slow to import, and seldom needed

    folds = StratifiedKFold(
        int(min(_FOLDS, counts[counts > 1].min())), shuffle=True, random_state=0
    )
    for _, outside in folds.split(spare, codes[spare]):
        rows = spare[outside]
        kept = weights.copy()
        kept[rows] = 0.0  # weight zero is a row left out: no copy of X is made
        one = clone(machine).set_params(probability=False, verbose=False).fit(X, y, kept)
        scores[rows] = one.decision_function(X[rows]).reshape(len(rows), -1)
        held_out[rows] = True
    return scores, held_out


def _slope(cost: Any) -> float:
    """Return the slope of least cost, on a logarithmic scale."""
    found = minimize_scalar(
        lambda t: float(cost(np.exp(t))),
        bounds=(np.log(_FLATTEST), np.log(_STEEPEST)),
        method="bounded",
    )
    return float(np.exp(found.x))
