"""C chosen over the path by models of `core`: what the commands use, without scikit-learn."""

from __future__ import annotations

from separatrix.core import models
from separatrix.core.checks import one_of
from separatrix.selection._path_machine import PathMachine

__all__ = ["LinearSVMCV", "LogisticRegressionCV"]


class LinearSVMCV(PathMachine, models.LinearSVMCV):
    """The support vector machine of a chosen C; `separatrix.LinearSVMCV` explains it."""

    def _check_kind(self) -> None:
        one_of("loss", self.loss, ("hinge", "squared_hinge"))


class LogisticRegressionCV(PathMachine, models.LogisticRegressionCV):
    """Logistic regression of a chosen C; `separatrix.LogisticRegressionCV` explains it."""

    def _check_kind(self) -> None:
        one_of("multi_class", self.multi_class, ("auto", "ovr", "multinomial"))
