"""Probabilities from the scores of logistic machines."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit, log_softmax, softmax

from separatrix.estimators._available import available_unless
from separatrix.estimators._base import LinearClassifier

__all__ = ["LogisticProbabilities"]


def _without_probabilities(machine: LogisticProbabilities) -> str | None:
    if getattr(machine, "multi_class", "ovr") != "ovo":
        return None
    return (
        "machines that vote (multi_class='ovo') have no probabilities. Fit with "
        "multi_class='ovr' or 'multinomial'."
    )


class LogisticProbabilities(LinearClassifier):
    """Predicts probabilities from ``decision_function``."""

    @available_unless(_without_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return every class's probability; several, each against the rest, are made to add up."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        if getattr(self, "multi_class", "ovr") == "multinomial":
            return np.asarray(softmax(scores, axis=1))
        shares = expit(scores)
        totals = shares.sum(axis=1, keepdims=True)
        # All classes unlikely: the logarithms still tell them apart.
        if (totals < np.finfo(float).tiny).any():
            logs = log_expit(scores)
            shares = np.exp(logs - logs.max(axis=1, keepdims=True))
            totals = shares.sum(axis=1, keepdims=True)
        shares = shares / totals
        # Several classes may be certain to all digits: the largest is the one predicted.
        rows, largest = np.arange(len(scores)), scores.argmax(axis=1)
        top = shares.max(axis=1)
        tied = (shares == top[:, None]).sum(axis=1) > 1
        shares[rows[tied], largest[tied]] = np.nextafter(top[tied], 2.0)
        return np.asarray(shares)

    @available_unless(_without_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of every probability."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        if getattr(self, "multi_class", "ovr") == "multinomial":
            return np.asarray(log_softmax(scores, axis=1))
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))
