"""Least squares as a scikit-learn classifier, and as a regressor."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import check_scoring, r2_score
from sklearn.model_selection import check_cv
from sklearn.utils import RegressorTags, _safe_indexing
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from separatrix._device import on_host
from separatrix.certificates.least_squares import check_least_squares
from separatrix.certificates.nonnegative_squares import check_nonnegative_squares
from separatrix.core.checks import one_of, positive, several_classes
from separatrix.core.linear_model import available_unless, decided
from separatrix.core.models import with_settings
from separatrix.errors import DataError
from separatrix.estimators._base import LinearClassifier
from separatrix.estimators._validate import (
    all_weighted,
    brought,
    new_data,
    present_rows,
    regression_data,
    row_weights,
    training_data,
    worked_on,
)
from separatrix.problem.canonical import targets_of
from separatrix.solvers.closed_forms.least_squares import (
    Solution,
    leave_one_out,
    solve_least_squares,
)
from separatrix.solvers.closed_forms.nonnegative import solve_nonnegative
from separatrix.solvers.running.drive import Status


def _without_classes(machine: LeastSquares) -> str | None:
    if machine.task != "regression":
        return None
    return "task='regression' has no classes to decide between. Use predict."


@with_settings
class LeastSquares(LinearClassifier):
    """Fit a linear function to targets by least squares; decide for the class of largest output.

    Targets are 1-of-K codes for more than two classes. For two classes one function is fitted to
    the signs -1 and +1: the difference of the two outputs that 1-of-K codes would give, so the
    decision is the same. A y of several columns of 0 and 1 holds several labels a row, each decided
    by the sign of a function of its own. Rows far on their own side are charged too: a few
    outliers can move the hyperplane into a class. Logistic regression and the SVM are not moved.

    Parameters
    ----------
    ridge : float or list of floats, default=0.0
        The weight of ``|W|^2`` beside the squared error; the intercept is not penalised. From
        a list, the ridge of least leave-one-out error is taken (one decomposition serves all), or
        the one that `cv` and `scoring` choose.
    positive : bool, default=False
        Whether no weight may be below 0; the intercept may. Proved too, up to 400 columns.
    cv : int, splitter or None, default=None
        The folds by which to choose from a list of ridges (one ridge is scored, too). None leaves
        rows out one at a time.
    scoring : str, callable or None, default=None
        scikit-learn's score by which to choose from a list of ridges, the largest taken. None is
        the squared error where rows are left out one at a time, and else `score`.
    class_weight : None, "balanced" or dict, default=None
        Factors of the rows' weights by class.
    task : {"classification", "regression"}, default="classification"
        "regression" predicts the values y themselves, one column or several.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    tol : float, default=1e-9
        What the certificate must prove: exact for data changed by no more than this share, or a
        squared error within this share of the least.
    max_passes : float or None, default=None
        A budget for the iterations on sparse data.
    device : {"cpu", "cuda", "cuda:N", "auto"}, default="cpu"
        Where dense rows, more of them than columns, are multiplied (extra gpu). Columns too
        dependent for that are solved on the processor.

    Attributes
    ----------
    coef_, intercept_, classes_
        The weights: one row for two classes, else one for each (of the targets, in regression).
    ridge_ : float
        The ridge used.
    loo_error_, loo_mistakes_ : array or None
        For a list of ridges: the mean squared leave-one-out error of each, and the share of rows
        that would be misclassified (None in regression).
    rank_ : int or None
        The rank of the columns (mean taken away), where the method shows it. If it is below their
        number, the shortest of all minimisers is taken.
    method_ : str
        The factorisation or iteration used.
    cv_scores_ : array or None
        With `cv`: a row for each ridge and a column a fold; with `scoring` alone, the score of each
        ridge on the rows left out. NaN for a fold of weight 0.
    certificate_ : LeastSquaresOptimality or NonNegativeOptimality
        The proof; ``certificate_.check(X, y, sample_weight)`` proves it again. Weights are those of
        the rows times those of their classes.
    status_, n_iter_, n_passes_
        How it ended, refinements or iterations made, and passes over the rows.

    See Also
    --------
    DeltaRule : gradient descent to the same weights.
    LogisticRegression : a loss that outliers on their own side do not move.
    Fisher : the same direction for two classes.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.LeastSquares().fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.4], [2.4]]).tolist(), model.certificate_.holds
    (['a', 'b'], True)
    >>> line = sx.LeastSquares(task="regression").fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> line.coef_.round(9).tolist()
    [2.0]
    """

    ridge: Any = 0.0
    _: KW_ONLY
    positive: bool = False
    cv: Any = None
    scoring: Any = None
    task: str = "classification"
    class_weight: Any = None
    fit_intercept: bool = True
    tol: float = 1e-9
    max_passes: float | None = None
    device: str = "cpu"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.task == "regression":
            tags.estimator_type, tags.classifier_tags = "regressor", None
            tags.regressor_tags = RegressorTags()
            tags.target_tags.multi_output = True
        else:
            tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LeastSquares:
        """Find the weights and prove how near the optimum they are."""
        with worked_on(self, X):
            return self._fitted(X, y, sample_weight)

    def _fitted(self, X: Any, y: Any, sample_weight: Any) -> LeastSquares:
        ridges = self._checked()
        if self.task != "regression":
            _, X, y, sample_weight = present_rows(self, X, y, sample_weight)
        place, X, y, sample_weight = brought(self.device, X, y, sample_weight)
        every = X, y, weights = self._rows(X, y, sample_weight)
        if not (weights > 0.0).all():
            kept = weights > 0.0
            X, y, weights = X[kept], y[kept], weights[kept]
        T = targets_of(y, self.task)
        self._choose_ridge(ridges, X, y, T, weights, every)
        found = None if place is None else self._found_on(place, X, T, weights)
        if found is None and self.positive:
            found = solve_nonnegative(
                X, T, weights, self.ridge_, self.fit_intercept, float(self.tol)
            )
        if found is None:
            passes = np.inf if self.max_passes is None else float(self.max_passes)
            found = solve_least_squares(
                X, T, weights, self.ridge_, self.fit_intercept, float(self.tol), passes
            )
        if not (np.isfinite(found.W).all() and np.isfinite(found.b).all()):
            raise DataError(f"LeastSquares: {Status.OVERFLOW.cause}. Divide large columns first.")
        self._adopt(found, X, y, weights)
        return self

    def _rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return rows, labels or values, and weights; settle the classes."""
        self._has_many_labels = False
        if self.task == "regression":
            X, y = regression_data(self, X, y)
            return all_weighted(X, y, sample_weight)
        if type_of_target(on_host(y)) == "multilabel-indicator":
            return self._labelled_rows(X, y, sample_weight)
        X, y, weights = all_weighted(*training_data(self, X, y), sample_weight)
        self.classes_, codes = several_classes(self, y[weights > 0.0])
        if self.class_weight is not None:
            kept = weights > 0.0
            weights[kept] = row_weights(self, codes, weights[kept], self.class_weight)
        return X, y, weights

    def _labelled_rows(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return rows with a column of 0 and 1 for every label."""
        if self.class_weight is not None:
            raise ValueError(
                "class_weight is for one label a row, and y has several. Use sample_weight."
            )
        X, labels = regression_data(self, X, y.toarray() if sp.issparse(y) else y)
        X, labels, weights = all_weighted(X, labels, sample_weight)
        self._has_many_labels = True
        self.classes_ = np.arange(labels.shape[1])
        return X, labels.astype(np.int64), weights

    def _found_on(self, place: Any, X: Any, T: np.ndarray, weights: np.ndarray) -> Solution | None:
        """Solve on a device, or return None where its method does not do."""
        from separatrix.problem.device_rows import DeviceRows
        from separatrix.solvers.closed_forms.device_sums import least_squares_on

        rows = DeviceRows(X, place)
        return least_squares_on(rows, T, weights, self.ridge_, self.fit_intercept)

    def _checked(self) -> np.ndarray:
        one_of("task", self.task, ("classification", "regression"))
        if self.task == "regression" and self.class_weight is not None:
            raise ValueError("task='regression' has no classes: class_weight must be None.")
        if self.positive and self.device != "cpu":
            raise ValueError("positive=True works on the processor. Use device='cpu'.")
        positive("tol", self.tol)
        positive("max_passes", self.max_passes, optional=True)
        several = np.ndim(self.ridge) > 0
        ridges = list(self.ridge) if several else [self.ridge]
        if not ridges:
            raise ValueError("ridge must be a number at least 0, or a list of them. Got none.")
        for ridge in ridges:
            positive("ridge", ridge, zero=True)
        return np.array(ridges, dtype=np.float64)

    def _choose_ridge(
        self,
        ridges: np.ndarray,
        X: Any,
        y: np.ndarray,
        T: np.ndarray,
        weights: np.ndarray,
        every: tuple[Any, np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """Take the best of the ridges. Folds number the rows of `every`, those of weight 0 too."""
        self.loo_error_ = self.loo_mistakes_ = self.cv_scores_ = None
        self.ridge_ = float(ridges[0])
        if np.ndim(self.ridge) == 0 and self.cv is None and self.scoring is None:
            return
        if self.cv is not None:
            self.cv_scores_ = _scores_by_folds(self, *(every or (X, y, weights)), ridges)
            self.ridge_ = float(ridges[int(np.argmax(np.nanmean(self.cv_scores_, axis=1)))])
            return
        if self.positive:
            raise ValueError(
                "positive=True has no closed form for rows left out: choose the ridge by cv, "
                "such as cv=5."
            )
        found = leave_one_out(X, T, weights, ridges, self.fit_intercept)
        self.loo_error_ = found.errors
        self.ridge_ = float(ridges[int(np.argmin(found.errors))])
        if self.scoring is not None:
            self.cv_scores_ = _scores_left_out(self, found.outputs, X, y, weights)
            self.ridge_ = float(ridges[int(np.argmax(self.cv_scores_))])
        if self.task == "classification":
            one = T.shape[1] == 1
            wrong = [
                (out > 0) != (T > 0) if one or self._has_many_labels
                else out.argmax(1) != T.argmax(1)
                for out in found.outputs
            ]  # fmt: skip
            shares = [w.reshape(len(T), -1).mean(axis=1) for w in wrong]
            self.loo_mistakes_ = np.array([np.average(w, weights=weights) for w in shares])

    def _adopt(self, found: Solution, X: Any, y: np.ndarray, weights: np.ndarray) -> None:
        self.method_, self.rank_ = found.method, found.rank
        self._deficient = found.deficient
        self.n_iter_, self.n_passes_ = max(1, found.iterations), found.passes
        check: Any = check_nonnegative_squares if self.positive else check_least_squares
        self.certificate_ = check(
            X,
            y,
            found.W,
            found.b,
            sample_weight=weights,
            ridge=self.ridge_,
            fit_intercept=self.fit_intercept,
            task=self.task,
            tolerance=self.tol,
        )
        flat = self.task == "regression" and y.ndim == 1
        self.coef_ = found.W[0] if flat else found.W
        self.intercept_ = found.b[0] if flat else found.b
        if self.certificate_.holds:
            self.status_ = Status.OPTIMAL
            return
        self.status_ = Status.UNPROVED if found.converged else Status.BUDGET
        self._warn(f"{self.status_.cause}. {self.certificate_}.")

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of every row, or its labels, or in regression its values."""
        check_is_fitted(self)
        if self.task == "regression":
            return self._outputs(X)
        if self._has_many_labels:
            return (self._outputs(X) > 0.0).astype(np.int64)
        return super().predict(X)

    @available_unless(_without_classes)
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the outputs: one for two classes, else a column for each class or label."""
        if getattr(self, "_has_many_labels", False):
            return self._outputs(X)
        return super().decision_function(X)

    def _outputs(self, X: Any) -> np.ndarray:
        shaped = self.coef_ if self.coef_.ndim > 1 else self.coef_[None]
        with np.errstate(over="ignore"):
            out = np.asarray(new_data(self, X) @ shaped.T) + self.intercept_
        return out if self.coef_.ndim > 1 else out.ravel()

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows classified rightly; in regression the share explained, R^2."""
        if self.task == "regression":
            return float(r2_score(y, self.predict(X), sample_weight=sample_weight))
        return float(super().score(X, y, sample_weight))

    def _facts(self) -> list[tuple[str, str]]:
        rows = [("status", f"{self.status_}: {self.status_.cause}")]
        if self.task == "classification" and not self._has_many_labels:
            rows = [fact for fact in super()._facts() if fact[0] not in ("work", "proof")]
        rows.append(("method", f"{self.method_}; ridge {self.ridge_:g}"))
        if self._deficient:
            rows.append(
                (
                    "note",
                    f"the columns have rank {self.rank_} of {self.n_features_in_}: many weights "
                    "fit equally well, and these are the shortest",
                )
            )
        if self.cv_scores_ is not None:
            means = np.nanmean(self.cv_scores_.reshape(len(self.cv_scores_), -1), axis=1)
            rows.append(("cv", f"score {means.max():.4g} on rows left out"))
        elif self.loo_error_ is not None:
            rows.append(("loo", f"squared error {self.loo_error_.min():.4g} on rows left out"))
        return [*rows, ("proof", str(self.certificate_))]


# ---- which ridge of a list is taken: by rows left out one at a time, or by folds


def _scores_by_folds(
    model: LeastSquares, X: Any, y: np.ndarray, weights: np.ndarray, ridges: np.ndarray
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


def _scores_left_out(
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
