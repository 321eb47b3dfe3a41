"""Multinomial models with whole columns at zero, fitted and proved."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.certificates.column_sizes import Sized
from separatrix.certificates.sparse_softmax_gap import SparseSoftmaxGap
from separatrix.core.proving import About, Effort, Fitted, first_tolerance
from separatrix.problem.device_rows import on_device
from separatrix.problem.signed import Known
from separatrix.problem.softmax import SoftmaxProblem
from separatrix.problem.sparse_softmax import SparseSoftmaxProblem
from separatrix.solvers.running.drive import NO_LIMIT, Status
from separatrix.solvers.sparse import class_working_set

__all__ = ["SparseMultinomial", "as_sparse_softmax"]

_SOLVER = "working_set"
_TIGHTENINGS = 4
_AIM = 0.9  # of the tolerance: the proof adds rounding


def as_sparse_softmax(
    problem: SoftmaxProblem,
    ratio: float,
    groups: np.ndarray | None = None,
    known: Known | None = None,
) -> SparseSoftmaxProblem:
    """Return the multinomial problem with whole columns at zero."""
    if on_device(problem.X):
        raise ValueError("l1_ratio above 0 is solved on the processor: use device='cpu'.")
    return SparseSoftmaxProblem(
        problem.X,
        problem.codes,
        problem.n_classes,
        problem.costs,
        problem.fit_intercept,
        ridge=1.0 - ratio,
        l1=ratio,
        groups=groups,
        known=known,
    )


class SparseMultinomial:
    """All classes at once, with columns whose weights are zero for every class."""

    attempts = _TIGHTENINGS

    def __init__(
        self, problem: SparseSoftmaxProblem, effort: Effort, about: About, first: Any, report: Any
    ) -> None:
        self.problem, self.effort, self.about, self.report = problem, effort, about, report
        self.aim = _AIM * first_tolerance(problem, effort)
        self.state = class_working_set.start(
            problem, tol=self.aim, first=first, max_passes=effort.max_passes
        )

    def solve(self) -> Status:
        """Run the solver."""
        self.state.tol = self.aim
        return self.effort.go_on(class_working_set, self.state, NO_LIMIT, self.report, 1)

    def prove(self, is_last: bool) -> float:
        """Prove the gap, and which columns are zero."""
        problem, name = self.problem, self.about.fingerprint.result()
        self.proof = SparseSoftmaxGap.proved(
            problem.once("sized", lambda: Sized(problem.X)),
            problem.codes,
            find_zeros=bool(name),  # a proof that is not handed on, as those of folds
            costs=problem.costs,
            weights=class_working_set.without_dust(self.state),
            intercept=problem.fit_intercept,
            ridge=problem.ridge,
            l1=problem.l1,
            share=self.state.share,
            groups=() if problem.groups is None else tuple(problem.groups.tolist()),
            data_sha256=name,
            classes=self.about.classes,
            tol=self.effort.tol,
        )
        return float(self.proof.gap)

    def tighten(self, status: Status) -> bool:
        """Aim lower."""
        self.aim *= 0.01
        return status is Status.OPTIMAL

    def fitted(self, status: Status) -> Fitted:
        """Return the model."""
        state = self.state
        return Fitted(self.proof, status, state.updates, state.passes, _SOLVER)
