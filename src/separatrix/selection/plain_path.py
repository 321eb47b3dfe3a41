"""C chosen over the path by models of `core`: what the commands use, without scikit-learn."""

from __future__ import annotations

from typing import Any

from separatrix.core import models
from separatrix.core.checks import one_of
from separatrix.core.keeping import keep_support
from separatrix.selection._path_machine import PathMachine
from separatrix.selection.path import Progress, Store

__all__ = ["LinearSVMCV", "LogisticRegressionCV"]


class LinearSVMCV(PathMachine, models.LinearSVMCV):
    """The support vector machine of a chosen C; `separatrix.LinearSVMCV` explains it."""

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        store: Store | None = None,
        progress: Progress | None = None,
    ) -> LinearSVMCV:
        """Choose C over the folds, fit on all the rows, and prove how close to the best that is."""
        one_of("loss", self.loss, ("hinge", "squared_hinge"))
        machines, codes = self._fit_path(X, y, None, groups, self.loss, store, progress)
        self._keep(machines)
        keep_support(self, machines, codes)
        return self


class LogisticRegressionCV(PathMachine, models.LogisticRegressionCV):
    """Logistic regression of a chosen C; `separatrix.LogisticRegressionCV` explains it."""

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        store: Store | None = None,
        progress: Progress | None = None,
    ) -> LogisticRegressionCV:
        """Choose C over the folds, fit on all the rows, and prove how close to the best that is."""
        machines, _ = self._fit_path(X, y, None, groups, "logistic", store, progress)
        self._keep(machines)
        return self
