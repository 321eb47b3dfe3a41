"""Weights, and how the scores ``w.x + b`` become classes: what every linear classifier predicts.

A model here is a plain object with the attributes of a fitted estimator. The estimators inherit
from it and check what they are given in scikit-learn's way (`_new_rows`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.core.available import SCORES_ONLY, Absent
from separatrix.core.checks import new_rows
from separatrix.core.votes import tally

__all__ = ["LinearModel", "VotingModel", "decided"]


def decided(classes: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the class of every row: by the sign of one score, or the largest of several.

    >>> decided(np.array(["no", "yes"]), np.array([-0.5, 2.0])).tolist()
    ['no', 'yes']
    """
    codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    return np.asarray(classes[codes])


class LinearModel:
    """A classifier by the sign, or the largest, of ``w.x + b``."""

    coef_: np.ndarray
    intercept_: np.ndarray
    classes_: np.ndarray
    n_features_in_: int
    certificate_: Any

    keeps_support = False  # whether a fit leaves support vectors
    predict_proba: Any = Absent(SCORES_ONLY)
    predict_log_proba: Any = Absent(SCORES_ONLY)

    def _new_rows(self, X: Any) -> Any:
        """Return the rows to predict for, checked."""
        return new_rows(self, X)

    def _raw_scores(self, X: Any) -> np.ndarray:
        """Return ``w.x + b``, a column for each row of weights."""
        X = self._new_rows(X)
        with np.errstate(over="ignore"):
            return np.asarray(X @ self.coef_.T) + self.intercept_

    def decision_function(self, X: Any) -> np.ndarray:
        """Return ``w.x + b`` for every row: a column for each class if there are more than two."""
        scores = self._raw_scores(X)
        return scores.ravel() if len(self.coef_) == 1 else scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of every row."""
        scores = self.decision_function(X)
        return decided(self.classes_, scores)


class VotingModel(LinearModel):
    """A linear model whose rows of weights may each speak for a pair of classes, and then vote."""

    def decision_function(self, X: Any) -> np.ndarray:
        """Return ``w.x + b``: a column for each class if there are more than two.

        With one machine a pair the column counts the votes of its class, and to them less than a
        half is added by the sum of its margins.
        """
        scores = super().decision_function(X)
        pairs = getattr(getattr(self, "certificate_", None), "pairs", None)
        return scores if pairs is None else tally(scores, pairs, len(self.classes_))
