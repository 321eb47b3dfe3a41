"""The support vector machine and logistic regression, fitted on a cluster."""

from __future__ import annotations

from typing import Any

from separatrix.core.checks import one_of
from separatrix.core.partitioned import fit_rows
from separatrix.distributed.engine import client_or_current
from separatrix.distributed.placing import placed
from separatrix.estimators import linear_svm, logistic_regression

__all__ = ["LinearSVM", "LogisticRegression"]


class Distributed:
    """A machine to be fitted on a cluster: the parameters of the local one, and where.

    Parameters
    ----------
    client : dask.distributed.Client or None
        None means the current one.
    checkpoint : path or None
        A file on this machine from which an interrupted fit goes on.
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


class LinearSVM(Distributed):
    """`separatrix.LinearSVM` on a cluster; `fit` returns a plain local `separatrix.LinearSVM`."""

    local = linear_svm.LinearSVM

    def fit(self, X: Any, y: Any = None, *, target: str | None = None) -> linear_svm.LinearSVM:
        """Fit to dask arrays or dataframes X and y, or to partition files."""
        machine = self.machine
        one_of("loss", machine.loss, ("hinge", "squared_hinge"))
        rows = placed(
            client_or_current(self.client),
            X,
            y,
            target=target,
            checkpoint=self.checkpoint,
            fingerprint=self.fingerprint,
        )
        machine._calibration = None
        fitted: linear_svm.LinearSVM = fit_rows(machine, rows, machine.loss)
        return fitted


class LogisticRegression(Distributed):
    """`separatrix.LogisticRegression` on a cluster; `fit` returns a plain local one."""

    local = logistic_regression.LogisticRegression

    def fit(
        self, X: Any, y: Any = None, *, target: str | None = None
    ) -> logistic_regression.LogisticRegression:
        """Fit to dask arrays or dataframes X and y, or to partition files."""
        rows = placed(
            client_or_current(self.client),
            X,
            y,
            target=target,
            checkpoint=self.checkpoint,
            fingerprint=self.fingerprint,
        )
        self.machine.verdict_ = None
        fitted: logistic_regression.LogisticRegression = fit_rows(self.machine, rows, "logistic")
        return fitted
