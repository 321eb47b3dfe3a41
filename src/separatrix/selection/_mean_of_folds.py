"""The mean of the folds' models, proved for all the rows as it is: nothing is solved any more."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.core.all_classes import Multinomial
from separatrix.core.proving import About, Effort, Fitted, proved_gap
from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear.claims import balanced
from separatrix.solvers.running.drive import Status

__all__ = ["MeanHyperplane", "MeanMultinomial"]

_SOLVER = "mean_of_folds"


class MeanHyperplane:
    """Two classes, or one against the rest: mean weights and mean dual variables."""

    attempts = 1

    def __init__(
        self, problem: MachineProblem, effort: Effort, about: About, first: Any, report: Any
    ) -> None:
        self.problem, self.effort, self.about = problem, effort, about
        self.weights, alpha = first
        self.alpha = np.minimum(alpha, problem.costs)
        if problem.has_free_bias:
            self.alpha = balanced(self.alpha, problem.signs, problem.costs)

    def solve(self) -> Status:
        """Leave the mean as it is."""
        return Status.BUDGET

    def prove(self, is_last: bool) -> float:
        """Prove the gap of the mean."""
        tol = self.effort.tol
        self.proof = proved_gap(self.problem, self.weights, self.alpha, self.about, tol)
        return float(self.proof.gap)

    def tighten(self, status: Status) -> bool:
        """Aim at nothing else."""
        return False

    def fitted(self, status: Status) -> Fitted:
        """Return the mean with its proof."""
        bias = float(self.weights[0])
        return Fitted(
            proof=self.proof,
            status=status,
            updates=0,
            passes=0.0,
            solver=_SOLVER,
            weights=self.weights,
            signs=self.problem.signs,
            bias_interval=(bias, bias),
        )


class MeanMultinomial(Multinomial):
    """All classes at once: mean weights, of which the dual variables follow."""

    attempts = 1

    def solve(self) -> Status:
        """Leave the mean as it is."""
        return Status.BUDGET

    def prove(self, is_last: bool) -> float:
        """Prove the gap of the mean."""
        self.proof = self._proved(SoftmaxGap, weights=self.mean)
        return float(self.proof.gap)

    def __init__(self, problem: Any, effort: Effort, about: About, first: Any, report: Any) -> None:
        super().__init__(problem, effort, about, None, report)
        self.mean = first

    def tighten(self, status: Status) -> bool:
        """Aim at nothing else."""
        return False

    def fitted(self, status: Status) -> Fitted:
        """Return the mean with its proof."""
        return Fitted(self.proof, status, 0, 0.0, _SOLVER)
