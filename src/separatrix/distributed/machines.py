"""Models and verdicts on a cluster: the names of the local ones, fitted where the rows are."""

from __future__ import annotations

from typing import Any

from separatrix.core.checks import one_of
from separatrix.core.partitioned import Rows, fit_rows
from separatrix.core.partitioned_verdict import verdict_on_rows
from separatrix.core.verdict import Verdict
from separatrix.distributed.engine import client_or_current
from separatrix.distributed.placing import placed
from separatrix.estimators import linear_svm, logistic_regression
from separatrix.selection import linear_svm_cv, logistic_regression_cv
from separatrix.selection.partitioned_path import fit_path_on_rows

__all__ = ["LinearSVM", "LinearSVMCV", "LogisticRegression", "LogisticRegressionCV", "separability"]


class Distributed:
    """A machine to be fitted on a cluster: the parameters of the local one, and where.

    Parameters
    ----------
    client : dask.distributed.Client or None
        None means the current one.
    checkpoint : path or None
        A file on this machine from which an interrupted fit resumes.
    fingerprint : bool
        Whether the certificate names the SHA-256 of the data, for which all of it passes through
        this machine once. Without it the certificate does not say of which data it speaks.
    parameters
        Those of the local estimator of the same name.
    """

    local: type

    def __init__(
        self,
        *positional: Any,
        client: Any = None,
        checkpoint: str | None = None,
        fingerprint: bool = True,
        **parameters: Any,
    ) -> None:
        self.client, self.checkpoint, self.fingerprint = client, checkpoint, fingerprint
        self.machine = self.local(*positional, **parameters)

    def __repr__(self) -> str:
        return f"distributed.{self.machine!r}"

    def fit(self, X: Any, y: Any = None, *, target: str | None = None) -> Any:
        """Fit to dask arrays or dataframes X and y, or to partition files.

        Returns a plain local estimator, with proof of how close to the best it is.
        """
        loss = getattr(self.machine, "loss", None)
        if loss is not None:
            one_of("loss", loss, ("hinge", "squared_hinge"))
        rows = placed(
            client_or_current(self.client),
            X,
            y,
            target=target,
            checkpoint=self.checkpoint,
            fingerprint=self.fingerprint,
        )
        return self._fit_rows(rows, loss or "logistic")

    def _fit_rows(self, rows: Rows, loss: str) -> Any:
        return fit_rows(self.machine, rows, loss)


class LinearSVM(Distributed):
    """`separatrix.LinearSVM` on a cluster."""

    local = linear_svm.LinearSVM

    def _fit_rows(self, rows: Rows, loss: str) -> Any:
        self.machine._calibration = None
        return super()._fit_rows(rows, loss)


class LogisticRegression(Distributed):
    """`separatrix.LogisticRegression` on a cluster."""

    local = logistic_regression.LogisticRegression

    def _fit_rows(self, rows: Rows, loss: str) -> Any:
        self.machine.verdict_ = None
        return super()._fit_rows(rows, loss)


class LinearSVMCV(Distributed):
    """`separatrix.LinearSVMCV` on a cluster: C is chosen over folds there."""

    local: type = linear_svm_cv.LinearSVMCV

    def _fit_rows(self, rows: Rows, loss: str) -> Any:
        return fit_path_on_rows(self.machine, rows, loss)


class LogisticRegressionCV(LinearSVMCV):
    """`separatrix.LogisticRegressionCV` on a cluster."""

    local = logistic_regression_cv.LogisticRegressionCV


def separability(
    X: Any,
    y: Any = None,
    fit_intercept: bool = True,
    *,
    target: str | None = None,
    client: Any = None,
) -> Verdict:
    """Decide whether a hyperplane separates two classes on a cluster, and prove the answer.

    X and y are dask arrays or dataframes, or X is a folder or a list of partition files.
    """
    rows = placed(client_or_current(client), X, y, target=target)
    return verdict_on_rows(rows, fit_intercept)
