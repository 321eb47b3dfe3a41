"""C chosen over folds on a cluster: the path, and a machine for the C chosen."""

from __future__ import annotations

from typing import Any

from separatrix.core.checks import one_of
from separatrix.distributed.engine import client_or_current
from separatrix.distributed.machines import Distributed
from separatrix.distributed.placing import placed
from separatrix.selection import linear_svm_cv, logistic_regression_cv
from separatrix.selection.partitioned_path import fit_path_on_rows

__all__ = ["LinearSVMCV", "LogisticRegressionCV"]


class Chosen(Distributed):
    """A machine whose C is chosen on the cluster."""

    def _fit(self, X: Any, y: Any, target: str | None, loss: str) -> Any:
        rows = placed(
            client_or_current(self.client),
            X,
            y,
            target=target,
            checkpoint=self.checkpoint,
            fingerprint=self.fingerprint,
        )
        return fit_path_on_rows(self.machine, rows, loss)


class LinearSVMCV(Chosen):
    """`separatrix.LinearSVMCV` on a cluster; `fit` returns a plain local one."""

    local = linear_svm_cv.LinearSVMCV

    def fit(self, X: Any, y: Any = None, *, target: str | None = None) -> linear_svm_cv.LinearSVMCV:
        """Choose C, fit to all rows, and prove how close to the best that is."""
        one_of("loss", self.machine.loss, ("hinge", "squared_hinge"))
        fitted: linear_svm_cv.LinearSVMCV = self._fit(X, y, target, self.machine.loss)
        return fitted


class LogisticRegressionCV(Chosen):
    """`separatrix.LogisticRegressionCV` on a cluster; `fit` returns a plain local one."""

    local = logistic_regression_cv.LogisticRegressionCV

    def fit(
        self, X: Any, y: Any = None, *, target: str | None = None
    ) -> logistic_regression_cv.LogisticRegressionCV:
        """Choose C, fit to all rows, and prove how close to the best that is."""
        fitted: logistic_regression_cv.LogisticRegressionCV = self._fit(X, y, target, "logistic")
        return fitted
