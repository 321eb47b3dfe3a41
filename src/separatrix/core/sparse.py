"""Sparse weights, of two classes or of all at once: `l1_ratio` above 0, fitted and proved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.certificates.column_sizes import Sized
from separatrix.certificates.sparse_gap import SparseGap
from separatrix.certificates.sparse_softmax_gap import SparseSoftmaxGap
from separatrix.core.proving import About, Effort, Fitted, first_tolerance
from separatrix.problem.losses import NAMES
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import Known, on_device
from separatrix.problem.softmax import SoftmaxProblem
from separatrix.problem.sparse_penalty import SparseProblem, SparseSoftmaxProblem
from separatrix.solvers.linear.claims import balanced
from separatrix.solvers.running.drive import NO_LIMIT, Status
from separatrix.solvers.sparse import class_working_set, working_set


def as_sparse(
    problem: MachineProblem, ratio: float, groups: np.ndarray | None = None
) -> MachineProblem:
    """Return the problem with sparse weights; the same one where the ratio is 0."""
    if not ratio:
        return problem
    if problem.is_hard or problem.ridge == 0.0:
        raise ValueError("l1_ratio above 0 needs a finite C. Got C=inf instead. Use a large C.")
    if on_device(problem.X):
        raise ValueError("l1_ratio above 0 is solved on the processor: use device='cpu'.")
    return SparseProblem(
        problem.rows, problem.costs, problem.loss, ridge=1.0 - ratio, l1=ratio, groups=groups
    )


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


class _WorkingSet:
    """What both methods share: the run on a working set of columns, and what is proved of it."""

    attempts: int
    solver: Any
    aimed_at = 1.0  # of the tolerance

    def __init__(self, problem: Any, effort: Effort, about: About, first: Any, report: Any) -> None:
        self.problem, self.effort, self.about, self.report = problem, effort, about, report
        self.aim = self.aimed_at * first_tolerance(problem, effort)
        self.state = self.solver.start(
            problem, tol=self.aim, first=first, max_passes=effort.max_passes
        )

    def solve(self) -> Status:
        """Run the solver."""
        self.state.tol = self.aim
        return self.effort.go_on(self.solver, self.state, NO_LIMIT, self.report, 1)

    def _prove(self, kind: Any, rows: Any, labels: np.ndarray, **more: Any) -> float:
        """Prove the gap, and which columns are zero."""
        problem, name = self.problem, self.about.fingerprint.result()
        self.proof = kind.proved(
            rows.once("sized", lambda: Sized(problem.X)),
            labels,
            find_zeros=bool(name),  # a proof that is not handed on, as those of folds
            costs=problem.costs,
            weights=self.solver.without_dust(self.state),
            ridge=problem.ridge,
            l1=problem.l1,
            groups=() if problem.groups is None else tuple(problem.groups.tolist()),
            data_sha256=name,
            tol=self.effort.tol,
            classes=self.about.classes,
            **more,
        )
        return float(self.proof.gap)

    def tighten(self, status: Status) -> bool:
        """Aim lower."""
        self.aim *= 0.01
        return status is Status.OPTIMAL

    def fitted(self, status: Status) -> Fitted:
        """Return the model."""
        return Fitted(self.proof, status, self.state.updates, self.state.passes, "working_set")


class SparseHyperplane(_WorkingSet):
    """Two classes, or one against the rest, with weights that are mostly zero."""

    attempts, solver = 3, working_set

    def prove(self, is_last: bool) -> float:
        """Prove the gap, and which columns are zero."""
        problem, alpha = self.problem, self.state.alpha
        if problem.has_free_bias:
            alpha = balanced(alpha, problem.signs, problem.upper)
        return self._prove(
            SparseGap,
            problem.rows,
            problem.signs,
            loss=NAMES[problem.loss],
            multipliers=alpha,
            intercept=problem.rows.fit_intercept,
            positive=self.about.positive,
        )

    def fitted(self, status: Status) -> Fitted:
        """Return the model."""
        bias = float(self.state.w[0])
        return replace(
            super().fitted(status),
            weights=self.proof.weights.copy(),
            signs=self.problem.signs,
            bias_interval=(bias, bias),
        )


class SparseMultinomial(_WorkingSet):
    """All classes at once, with columns whose weights are zero for every class."""

    attempts, solver = 4, class_working_set
    aimed_at = 0.9  # the proof adds rounding

    def prove(self, is_last: bool) -> float:
        """Prove the gap, and which columns are zero."""
        problem = self.problem
        return self._prove(
            SparseSoftmaxGap,
            problem,
            problem.codes,
            intercept=problem.fit_intercept,
            share=self.state.share,
        )
