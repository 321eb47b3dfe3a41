"""Probabilities from scores: of logistic machines, and calibrated ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.available import available_unless
from separatrix.core.linear_model import LinearModel

__all__ = ["CalibratedProbabilities", "Calibration", "LogisticProbabilities"]


def _without_probabilities(machine: LogisticProbabilities) -> str | None:
    if getattr(machine, "multi_class", "ovr") != "ovo":
        return None
    return (
        "machines that vote (multi_class='ovo') have no probabilities. Fit with "
        "multi_class='ovr' or 'multinomial'."
    )


class LogisticProbabilities(LinearModel):
    """Predicts probabilities from ``decision_function``."""

    @available_unless(_without_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return every class's probability; several, each against the rest, are made to add up."""
        from scipy.special import expit, log_expit, softmax

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
        from scipy.special import log_expit, log_softmax

        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([log_expit(-scores), log_expit(scores)])
        if getattr(self, "multi_class", "ovr") == "multinomial":
            return np.asarray(log_softmax(scores, axis=1))
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


@dataclass(frozen=True)
class Calibration:
    """Slopes for negative and for positive scores; equal where there are several classes.

    `held_out` says whose folds gave the scores: "fit", folds of this fit, which can be made again,
    or "path", those of the path that chose C, which are not kept.
    """

    below: float
    above: float
    held_out: str = "fit"

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return a column for each class."""
        from scipy.special import expit, softmax

        if scores.ndim > 1:
            return np.asarray(softmax(self.above * scores, axis=1))
        high = expit(np.where(scores > 0.0, self.above, self.below) * scores)
        # Steep as it may be, no finite score is certain; nor is it one half, but at zero.
        high = np.clip(high, np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)
        high = np.where(scores > 0.0, np.maximum(high, np.nextafter(0.5, 1.0)), high)
        return np.column_stack([1.0 - high, high])


def _without_calibration(machine: CalibratedProbabilities) -> str | None:
    if machine.probability:
        return None
    return (
        "it was made with probability=False. Fit LinearSVM(probability=True), or "
        "LogisticRegression(), which always has probabilities."
    )


class CalibratedProbabilities(LinearModel):
    """Predicts probabilities from scores by slopes that were fitted on held-out folds."""

    probability: Any
    _calibration: Calibration | None

    @available_unless(_without_calibration)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of every class, calibrated on held-out folds."""
        scores = self.decision_function(X)
        if self._calibration is None:
            raise self._not_calibrated()
        return self._calibration.probabilities(scores)

    def _not_calibrated(self) -> Exception:
        return ValueError("Fit again: probability=True was set after the last fit.")

    @available_unless(_without_calibration)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of every probability."""
        return np.log(self.predict_proba(X))
