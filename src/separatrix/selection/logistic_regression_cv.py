"""Logistic regression whose C is chosen by cross-validation over the path."""

from __future__ import annotations

from typing import Any

from separatrix.core import models
from separatrix.core.checks import one_of
from separatrix.core.multinomial import keep_multinomial
from separatrix.estimators._machine import Machine
from separatrix.estimators._on_device import worked_on
from separatrix.estimators._watch import with_callbacks
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.selection._path_machine import PathMachine
from separatrix.selection.path import Progress, Store

__all__ = ["LogisticRegressionCV"]


class LogisticRegressionCV(PathMachine, Machine, models.LogisticRegressionCV):
    """Class probabilities from a hyperplane, with the C that misjudges fewest held-out rows.

    Every C is tried on every fold, each machine started where its neighbour ended and proved as
    close to its optimum as `tol` asks; then the machine of the C chosen is fitted on all the rows.
    To choose by the probabilities and not by errors, use ``scoring="neg_log_loss"``.

    Parameters
    ----------
    Cs, cv, scoring, rule, refine, max_seconds, n_jobs, device
        As in `LinearSVMCV`.
    tol, solver, fit_intercept, intercept_penalty, class_weight, random_state, verbose
        As in `LogisticRegression`.
    multi_class : {"ovr", "multinomial"}
        Each class against the rest, or all at once.

    Attributes
    ----------
    C_ : float
        The C chosen.
    path_ : PathTable
        One row a C: errors, their spread, proved gap, seconds. (Every row has a multiplier here, so
        `n_support` counts the rows that train.)
    coef_, intercept_, classes_, certificate_, gap_, status_, ...
        Of the machine on all the rows, as in `LogisticRegression`.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = sx.LogisticRegressionCV(scoring="neg_log_loss").fit(X[50:], y[50:])
    >>> round(machine.C_, 2), machine.predict_proba(X[70:71]).round(2).tolist()
    (31.62, [[0.47, 0.53]])
    """

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        store: Store | None = None,
        progress: Progress | None = None,
    ) -> LogisticRegressionCV:
        """Choose C over the folds, fit on all the rows, and prove how close to the best that is.

        `store` and `progress` are those of `LinearSVMCV.fit`.
        """
        one_of("multi_class", self.multi_class, ("ovr", "multinomial"))
        if self.multi_class == "multinomial":
            with worked_on(self, X):
                options = store, progress
                keep_multinomial(
                    self, self._fit_softmax_path(X, y, sample_weight, groups, *options)
                )
            return self
        with worked_on(self, X):
            machines, _ = self._fit_path(X, y, sample_weight, groups, "logistic", store, progress)
            self._keep(machines)
        return self

    def _one(self) -> Machine:
        return LogisticRegression(multi_class=self.multi_class)
