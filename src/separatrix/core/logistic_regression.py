"""Logistic regression, penalised or not, fitted and proved."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix.core import models
from separatrix.core.machine import Machine
from separatrix.core.pairs import fit_pairs
from separatrix.core.proving import verdict_of
from separatrix.core.verdict import Verdict
from separatrix.errors import SeparationWarning
from separatrix.problem.machine import MachineProblem
from separatrix.solvers.running.drive import Status

__all__ = ["NEARLY_FREE", "LogisticRegression"]

_SEPARATED = ("separable", "quasi-separable")
# The C that stands in for inf where the likelihood has no maximum.
NEARLY_FREE = 1e6


class LogisticRegression(Machine, models.LogisticRegression):
    """Class probabilities from a hyperplane; `separatrix.LogisticRegression` explains it."""

    verdict_: Any
    _verdicts: list[Verdict]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Find the hyperplane and prove how close to the best it is.

        X holds numbers, dense or CSR, and y labels.
        """
        self._fit_rows(X, y, sample_weight)
        self._warn_of_separation(stacklevel=2)
        return self

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit one machine, one for each class, one for each pair, or all classes at once."""
        if self.multi_class == "direct":
            raise ValueError(
                "multi_class='direct' is for LinearSVM. All classes at once are "
                "multi_class='multinomial' here."
            )
        if self.multi_class == "multinomial":
            from separatrix.core.all_classes import fit_multinomial

            fit_multinomial(self, X, y, sample_weight)
            return
        if self.multi_class == "ovo" and len(np.unique(np.asarray(on_host(y)))) > 2:
            machines = fit_pairs(self, X, y, sample_weight, "logistic")
            found = [one.verdict_ for one in machines if one.verdict_ is not None]
            self.verdict_ = found or None
            return
        verdicts: list[Verdict] = []
        self._verdicts = verdicts
        fitted, _ = self._fit_machines(X, y, sample_weight, "logistic")
        del self._verdicts
        self._keep(fitted)
        self.verdict_ = verdicts[0] if len(verdicts) == 1 else verdicts or None
        if any(verdict.kind in _SEPARATED for verdict in verdicts):
            self.status_ = Status.INFINITE

    def _warn_of_separation(self, stacklevel: int) -> None:
        """Say which coefficients run to infinity, for every machine that has such."""
        if self.status_ is not Status.INFINITE or self.multi_class == "ovo":
            return
        verdicts = self.verdict_ if isinstance(self.verdict_, list) else [self.verdict_]
        for verdict in verdicts:
            if verdict.kind in _SEPARATED:
                names = getattr(self, "feature_names_in_", None)
                warnings.warn(SeparationWarning.about(verdict, names), stacklevel=stacklevel + 1)

    def _answerable(self, problem: MachineProblem) -> MachineProblem:
        """Where maximum likelihood has no answer, pose the problem of a very large C instead."""
        if problem.ridge > 0.0:
            return problem
        verdict = verdict_of(problem)
        self._verdicts.append(verdict)
        if verdict.kind not in _SEPARATED:
            return problem
        return replace(problem, costs=NEARLY_FREE * problem.costs, ridge=1.0)
