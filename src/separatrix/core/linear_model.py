"""Weights, and how the scores ``w.x + b`` become classes, votes and probabilities.

A model here is a plain object with the attributes of a fitted estimator. The estimators inherit
from it and check what they are given in scikit-learn's way (`_new_rows`). Some settings take a
method away: it is absent to ``hasattr``, and the error itself says what to do (scikit-learn's
``available_if`` keeps the reason in the error's cause, where nobody looks).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from itertools import combinations
from types import MethodType
from typing import Any

import numpy as np

from separatrix.core.checks import new_rows

_FLATTEST, _STEEPEST = 1e-6, 1e6
_FAR = 1e300  # sums of margins beyond decide as one that has no end
_HALVINGS = 40  # of the logarithm of a slope: 3e-11 is left
SCORES_ONLY = (
    "it has scores only, from decision_function. LogisticRegression(), and LinearSVM and KernelSVM "
    "with probability=True, have probabilities, and scikit-learn's CalibratedClassifierCV makes "
    "them from the scores of any classifier."
)


def available_unless(reason: Callable[[Any], str | None]) -> Any:
    """Give a method to those objects of which ``reason`` has nothing to say."""

    return partial(Available, reason=reason)


class Available:
    """A descriptor: the method, or an ``AttributeError`` that ends in the reason."""

    def __init__(self, method: Callable[..., Any], reason: Callable[[Any], str | None]) -> None:
        self._method = method
        self._reason = reason
        self.__doc__, self.__name__ = method.__doc__, method.__name__

    def changed(self, change: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Available:
        """Return the same with another method made of this one."""
        return Available(change(self._method), self._reason)

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is not None:
            self._refuse_without(estimator)
            return MethodType(self._method, estimator)

        @wraps(self._method)
        def unbound(estimator: Any, *arguments: Any, **named: Any) -> Any:
            self._refuse_without(estimator)
            return self._method(estimator, *arguments, **named)

        return unbound

    def _refuse_without(self, estimator: Any) -> None:
        why = self._reason(estimator)
        if why is not None:
            kind = type(estimator).__name__
            raise AttributeError(f"This {kind!r} has no {self.__name__}: {why}")


class Absent:
    """Stands where a method is looked for that a class has not: the error says what to use."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, estimator: Any, owner: type) -> Any:
        raise AttributeError(f"This {owner.__name__!r} has no {self._name}: {self._why}")


def pairs_of(n_classes: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs of class numbers, the lower one first.

    >>> pairs_of(3)
    ((0, 1), (0, 2), (1, 2))
    """
    return tuple(combinations(range(n_classes), 2))


def tally(margins: np.ndarray, pairs: Sequence[tuple[int, int]], n_classes: int) -> np.ndarray:
    """Return for every row and class its votes, and a fraction by the sum of its margins.

    A positive margin is a vote for the second class of its pair. The fraction lies between -1/3
    and 1/3, so that it decides between classes of equal votes and between no others.

    >>> tally(np.array([[-1.0, 2.0, 3.0]]), pairs_of(3), 3).round(3).tolist()
    [[0.833, -0.267, 2.278]]
    """
    votes, sums = np.zeros((len(margins), n_classes)), np.zeros((len(margins), n_classes))
    with np.errstate(over="ignore", invalid="ignore"):
        for column, (low, high) in enumerate(pairs):
            won = margins[:, column] > 0.0
            votes[won, high] += 1.0
            votes[~won, low] += 1.0
            sums[:, high] += margins[:, column]
            sums[:, low] -= margins[:, column]
        shares = sums / (3.0 * (abs(sums) + 1.0))
    far = abs(sums) > _FAR
    shares[far] = np.sign(sums[far]) / 3.0
    return np.asarray(votes + np.where(np.isnan(sums), 0.0, shares))


def decided(classes: np.ndarray, scores: np.ndarray, threshold: float = 0.0) -> np.ndarray:
    """Return the class of every row: by one score and the threshold, or the largest of several.

    >>> decided(np.array(["no", "yes"]), np.array([-0.5, 2.0])).tolist()
    ['no', 'yes']
    """
    codes = (scores > threshold).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
    return np.asarray(classes[codes])


def least_cost(shares: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Return the number of the class of least expected cost for every row of probabilities.

    `costs` has a row a true class and a column a predicted one. Of equals the first is taken.

    >>> costs = np.array([[0.0, 5.0, 5.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    >>> least_cost(np.array([[0.2, 0.5, 0.3], [0.0, 0.6, 0.4]]), costs).tolist()
    [0, 1]
    """
    return np.asarray((shares @ costs).argmin(axis=1))


class LinearModel:
    """A classifier by the sign, or the largest, of ``w.x + b``."""

    coef_: np.ndarray
    intercept_: np.ndarray
    classes_: np.ndarray
    n_features_in_: int
    certificate_: Any

    keeps_support = False  # whether a fit leaves support vectors
    counts_each_model = False  # whether n_iter_ is an array, one number a model
    predict_proba: Any = Absent(SCORES_ONLY)
    predict_log_proba: Any = Absent(SCORES_ONLY)

    def _new_rows(self, X: Any) -> Any:
        """Return the rows to predict for, checked."""
        return new_rows(self, X)

    def _raw_scores(self, X: Any) -> np.ndarray:
        """Return ``w.x + b``, a column for each row of weights."""
        X = self._new_rows(X)
        with np.errstate(over="ignore", invalid="ignore"):
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
    """A linear model whose rows of weights may each speak for a pair of classes, and then vote.

    Of two classes the second is predicted where the score is above `threshold_`: 0 after a fit,
    another number where one was chosen for a cost or a share of false alarms. Of several classes
    the one of the largest score is predicted, or, where `costs_` says what mistakes cost (a row a
    true class, a column a predicted one), that of least expected cost. Scores and probabilities
    are the same at every threshold and at any costs.
    """

    threshold_: float = 0.0
    costs_: np.ndarray | None = None

    def decision_function(self, X: Any) -> np.ndarray:
        """Return ``w.x + b``: a column for each class if there are more than two.

        With one machine a pair the column counts the votes of its class, and to them less than a
        half is added by the sum of its margins.
        """
        scores = super().decision_function(X)
        pairs = getattr(getattr(self, "certificate_", None), "pairs", None)
        return scores if pairs is None else tally(scores, pairs, len(self.classes_))

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of every row."""
        if self.costs_ is not None:
            return np.asarray(self.classes_[least_cost(self.predict_proba(X), self.costs_)])
        scores = self.decision_function(X)
        return decided(self.classes_, scores, self.threshold_)

    @property
    def names_of_nonzero_(self) -> list[str]:
        """The names of the columns with a weight other than 0, in any row of `coef_`."""
        names = getattr(self, "feature_names_in_", None)
        places = np.flatnonzero(np.any(self.coef_ != 0.0, axis=0)).tolist()
        return [f"x{j}" if names is None else str(names[j]) for j in places]


def is_multinomial(model: Any) -> bool:
    """Whether the probabilities of a logistic model are the softmax of its scores.

    ``multi_class="auto"`` fits all classes at once where it can, else each against the rest: which
    of both it was, the certificate says.
    """
    way = getattr(model, "multi_class", "ovr")
    if way != "auto":
        return bool(way == "multinomial")
    proof = getattr(model, "certificate_", None)
    if proof is None:
        return len(model.classes_) > 2
    return getattr(proof, "kind", "") in ("softmax-gap", "sparse-softmax-gap")


def _without_probabilities(machine: LogisticProbabilities) -> str | None:
    if getattr(machine, "multi_class", "ovr") != "ovo":
        return None
    return (
        "models that vote (multi_class='ovo') have no probabilities. Fit with "
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
        if is_multinomial(self):
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
        if is_multinomial(self):
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
        f"it was made with probability=False. Fit {type(machine).__name__}(probability=True), or "
        "LogisticRegression(), which always has probabilities."
    )


class CalibratedProbabilities(LinearModel):
    """Predicts probabilities from scores by slopes that were fitted on held-out folds."""

    probability: Any
    _calibration: Calibration | None

    @available_unless(_without_calibration)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of every class, calibrated on held-out folds."""
        scores = self._class_scores(X)
        if self._calibration is None:
            raise self._not_calibrated()
        return self._calibration.probabilities(scores)

    def _class_scores(self, X: Any) -> np.ndarray:
        """Return the scores to calibrate: one, or one a class."""
        return self.decision_function(X)

    def _not_calibrated(self) -> Exception:
        return ValueError("Fit again: probability=True was set after the last fit.")

    @available_unless(_without_calibration)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of every probability."""
        return np.log(self.predict_proba(X))


def fitted_slopes(scores: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> Calibration:
    """Fit the slopes to scores, a column a machine, of rows that the machines had not seen."""
    from scipy.special import expit, softmax

    if not len(scores):
        return Calibration(1.0, 1.0)
    if scores.shape[1] > 1:
        own = scores[np.arange(len(codes)), codes]
        slope = _slope(
            lambda a: weights @ (own - (softmax(a * scores, axis=1) * scores).sum(axis=1))
        )
        return Calibration(slope, slope)
    signed = np.where(codes == 1, 1.0, -1.0) * scores[:, 0]
    below, above = (
        _slope(lambda a, own=signed[side], w=weights[side]: w @ (own * expit(-a * own)))
        if side.any()
        else 1.0
        for side in (scores[:, 0] < 0.0, scores[:, 0] > 0.0)
    )
    return Calibration(below, above)


def _slope(gain: Any) -> float:
    """Return the slope of least log loss, whose `gain`, the loss that a larger one saves, is zero.

    The log loss is convex in the slope, so its logarithm is found by halving an interval. Where no
    slope is too large, the least is taken of which computed numbers say so.
    """
    low, high = math.log(_FLATTEST), math.log(_STEEPEST)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if gain(math.exp(middle)) > 0.0 else (low, middle)
    return math.exp(high)
