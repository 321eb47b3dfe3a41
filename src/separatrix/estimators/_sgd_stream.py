"""What `SGD` does with a stream: rows are learned once, in the order in which they come."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight

from separatrix.core.available import available_unless
from separatrix.core.checks import one_of, positive, refuse_huge, several_classes
from separatrix.core.probabilities import LogisticProbabilities
from separatrix.core.row_weights import class_factors
from separatrix.core.settings import seed_of
from separatrix.errors import DataError
from separatrix.estimators._base import LinearClassifier
from separatrix.estimators._validate import training_data
from separatrix.problem.multiclass import KeslerProblem
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.running.drive import Status
from separatrix.solvers.updates import sgd

__all__ = ["GradientStream"]

LOSSES = ("hinge", "squared_hinge", "logistic", "perceptron")


def _without_probabilities(machine: GradientStream) -> str | None:
    if machine.loss == "logistic":
        return None
    return f"loss={machine.loss!r} has no probabilities. Fit SGD(loss='logistic')."


class GradientStream(LinearClassifier, LogisticProbabilities):
    """A machine of stochastic gradient steps that can be shown rows at any time."""

    loss: Any
    C: Any
    average: Any
    scale: Any
    order: Any
    max_passes: Any
    max_seconds: Any
    tol: Any
    fit_intercept: Any
    class_weight: Any
    random_state: Any
    objective_: Any
    dual_objective_: Any
    gap_: float | None
    _stream: tuple[np.ndarray, ...]  # slots, sums, totals; or those of some features alone
    _centre: np.ndarray  # taken from the columns before they are learned

    @available_unless(_without_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return every class's probability; several, each against the rest, are made to add up."""
        return np.asarray(super().predict_proba(X))

    @available_unless(_without_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of every probability."""
        return np.asarray(super().predict_log_proba(X))

    def _check_parameters(self) -> None:
        one_of("loss", self.loss, LOSSES)
        one_of("order", self.order, ("random", "cyclic"))
        if not (isinstance(self.C, float | np.floating) and math.isinf(self.C) and self.C > 0):
            positive("C", self.C)
        positive("max_passes", self.max_passes)
        positive("tol", self.tol)
        if self.max_seconds is not None:
            positive("max_seconds", self.max_seconds)

    def _settings(self, weights: np.ndarray | None) -> dict[str, Any]:
        return {
            "loss": self.loss,
            "cost": np.inf if self.loss == "perceptron" else float(self.C),
            "weights": weights,
            "average": bool(self.average),
            "scaled": bool(self.scale),
            "seed": seed_of(self.random_state),
        }

    def _problem(self, X: Any, codes: np.ndarray) -> SignedProblem | KeslerProblem:
        if len(self.classes_) == 2:
            return SignedProblem(X, np.where(codes == 1, 1.0, -1.0), bool(self.fit_intercept))
        return KeslerProblem(X, codes, len(self.classes_), bool(self.fit_intercept))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Go once over new rows, as they stand, from where the last call ended.

        Name all classes at first. There is no certificate: it would speak of all the data.
        """
        self._learn(X, y, classes, sample_weight)
        return self

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> np.ndarray:
        """Learn rows; return the scores they had before, a row for each machine."""
        self._check_parameters()
        first_call = not hasattr(self, "coef_")
        X, y = training_data(self, X, y, reset=first_call)
        refuse_huge(self, X)
        if first_call:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self.classes_, _ = several_classes(self, np.asarray(classes))
            self._centre = np.zeros(X.shape[1])
        elif self._centre.any():
            X = (X.toarray() if sp.issparse(X) else X) - self._centre
        codes = self._codes(y)
        weights = self._stream_weights(X, codes, sample_weight)
        if weights is not None and not (weights > 0.0).all():
            kept = weights > 0.0
            X, codes, weights = X[kept], codes[kept], weights[kept]
        scores = np.zeros((1 if len(self.classes_) == 2 else len(self.classes_), len(codes)))
        if len(codes) or first_call:
            self._learn_once(self._problem(X, codes), weights, scores)
        return scores

    def _codes(self, y: np.ndarray) -> np.ndarray:
        codes = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        if not np.array_equal(self.classes_[codes], y):
            unknown = sorted(set(y.tolist()) - set(self.classes_.tolist()))
            raise DataError(f"y holds labels that are not among the classes: {unknown[:8]}.")
        return np.asarray(codes)

    def _stream_weights(self, X: Any, codes: np.ndarray, sample_weight: Any) -> np.ndarray | None:
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all the data at once. Give partial_fit a dictionary "
                "of weights by class instead."
            )
        if sample_weight is None and self.class_weight is None:
            return None
        counts = np.ones(len(self.classes_))
        factors = class_factors(self.classes_, counts, self.class_weight)[codes]
        if sample_weight is None:
            return np.asarray(factors)
        given = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return np.asarray(given * factors)

    def _learn_once(self, problem: Any, weights: np.ndarray | None, scores: np.ndarray) -> None:
        n = problem.n_samples
        earlier = None
        before, passes = 0, 0.0
        if hasattr(self, "_stream"):
            earlier = sgd.unpacked(self._stream)
            before, passes = self.n_iter_, self.n_passes_
        state = sgd.start(problem, **self._settings(weights), order="cyclic", first=earlier)
        sgd.learn(state, 0, n, scores)
        self._keep(state)
        self.n_iter_, self.n_passes_ = before + n, passes + 1.0
        self.status_, self.certificate_ = Status.STREAMING, None
        self.objective_ = self.dual_objective_ = self.gap_ = None

    def _keep(self, state: sgd.State) -> None:
        """Take over what a run has come to."""
        memory = state.memory
        answer = state.answer.reshape(memory.slots.shape[1], -1)
        if not np.isfinite(answer).all():
            raise DataError(f"SGD: {Status.OVERFLOW.cause}. Divide large columns first.")
        self.coef_ = answer[:, 1:].copy()
        self.intercept_ = (answer[:, 0] - self.coef_ @ self._centre) * bool(self.fit_intercept)
        self.n_iter_, self.n_passes_ = state.updates, state.passes
        self._stream = (memory.slots, memory.sums, memory.totals)
