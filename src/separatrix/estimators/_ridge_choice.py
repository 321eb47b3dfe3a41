"""Which ridge of a list `LeastSquares` takes: by rows left out one at a time, or by folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing

from separatrix.core.linear_model import decided

__all__ = ["scores_by_folds", "scores_left_out"]


def scores_by_folds(
    model: Any, X: Any, y: np.ndarray, weights: np.ndarray, ridges: np.ndarray
) -> np.ndarray:
    """Return the score of every ridge (a row) in every fold, larger is better."""
    is_classifier = model.task != "regression"
    folds = list(check_cv(model.cv, y, classifier=is_classifier).split(X, y))
    found = np.empty((len(ridges), len(folds)))
    for row, ridge in enumerate(ridges):
        for column, (train, test) in enumerate(folds):
            one = clone(model).set_params(ridge=float(ridge), cv=None, scoring=None)
            one.set_params(class_weight=None)  # they are in the weights already
            one.fit(_safe_indexing(X, train), y[train], sample_weight=weights[train])
            scorer = check_scoring(one, scoring=model.scoring)
            found[row, column] = _score(
                scorer, one, _safe_indexing(X, test), y[test], weights[test]
            )
    return found


class _Answers:
    """A model that has its answers ready: what the rows left out were given."""

    def __init__(self, model: Any, outputs: np.ndarray) -> None:
        self._model, self._outputs = model, outputs
        self.classes_ = getattr(model, "classes_", None)
        self._estimator_type = "regressor" if model.task == "regression" else "classifier"

    def fit(self, X: Any, y: Any) -> _Answers:
        return self

    def __sklearn_tags__(self) -> Any:
        return self._model.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> np.ndarray:
        return self._outputs.ravel() if self._outputs.shape[1] == 1 else self._outputs

    def predict(self, X: Any) -> np.ndarray:
        scores = self.decision_function(X)
        if self._model.task == "regression":
            return scores
        if self._model._has_many_labels:
            return (scores.reshape(len(scores), -1) > 0.0).astype(int)
        return decided(self._model.classes_, scores)


def scores_left_out(
    model: Any, outputs: list[np.ndarray], X: Any, y: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return the score that the outputs of every ridge have on the rows left out."""
    scores = []
    for out in outputs:
        answers = _Answers(model, out)
        scorer = check_scoring(answers, scoring=model.scoring)
        known = np.isfinite(out).all()
        scores.append(_score(scorer, answers, X, y, weights) if known else -np.inf)
    return np.array(scores, dtype=np.float64)


def _score(scorer: Any, model: Any, X: Any, y: np.ndarray, weights: np.ndarray) -> float:
    """Return a score, NaN where no row counts; a scorer of one's own need not know of weights."""
    if (weights == 1.0).all():
        return float(scorer(model, X, y))
    return float(scorer(model, X, y, sample_weight=weights)) if weights.any() else np.nan
