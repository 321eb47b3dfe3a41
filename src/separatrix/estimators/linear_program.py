"""A halfspace by linear programming as a scikit-learn classifier."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from separatrix.certificates.separation import check_separation
from separatrix.core.checks import two_classes
from separatrix.core.models import with_settings
from separatrix.core.verdict import Verdict, Witness, verdict_on
from separatrix.estimators._base import LinearClassifier
from separatrix.estimators._validate import present_rows, training_data, weighted_rows
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.running.drive import Status
from separatrix.solvers.separability.linear_program import (
    OPTIMUM,
    Solution,
    are_balanced,
    solve_feasibility,
    solve_robust,
)


@with_settings
class LinearProgramHalfspace(LinearClassifier):
    """Find a halfspace with no training error, or with `slack` the one of least mean violation.

    Without slack this is empirical risk minimisation over halfspaces as a linear program with a
    dummy objective: any w with all signed margins at least 1. HiGHS proposes and exact arithmetic
    decides: where there is no such w, a warning says so, ``witness_`` proves it, and the halfspace
    of least mean violation is used.

    Parameters
    ----------
    slack : bool, default=False
        Allow violations and minimise their mean over each class (Bennett and Mangasarian's robust
        linear program), for classes that overlap.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.

    Attributes
    ----------
    coef_, intercept_, classes_
        The hyperplane; ``classes_[1]`` is its positive side.
    dual_coef_ : array
        The dual value of every row's constraint, at least 0.
    objective_, dual_objective_ : float
        The mean violation found and the bound its dual proves (up to rounding).
    slack_ : array
        By how much every row misses the margin 1.
    witness_ : Witness or None
        Rows that no hyperplane separates, where that was requested and proved.
    certificate_
        What is proved about the weights or, if no weights separate, that none can.
    status_, n_iter_
        How it ended, and the iterations of HiGHS.

    See Also
    --------
    separability : the exact answer alone, with its proof.
    ZeroOne : the fewest training errors.
    LinearSVM : the largest margin instead of any.

    Examples
    --------
    >>> import separatrix as sx
    >>> model = sx.LinearProgramHalfspace().fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> model.predict([[0.5], [4.0]]).tolist(), model.certificate_.holds
    ([0, 1], True)
    """

    takes_many_classes = False

    slack: bool = False
    _: KW_ONLY
    fit_intercept: bool = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearProgramHalfspace:
        """Solve the linear program and prove what it claims.

        Weights are costs: the mean violation counts each row by its weight, k like k copies of the
        row. A row of weight 0 is left out of program and certificate.
        """
        _, X, y, sample_weight = present_rows(self, X, y, sample_weight)
        X, y = training_data(self, X, y)
        every = X.astype(np.float64, copy=False)
        X, y, costs = weighted_rows(X, y, sample_weight)
        self.classes_, signs = two_classes(self, y)
        problem = SignedProblem(X, signs, self.fit_intercept)
        self.witness_: Witness | None = None
        self.n_passes_ = 0.0
        self._solve(problem, costs)
        if X.shape[0] < every.shape[0]:
            self._number_rows(np.flatnonzero(np.asarray(sample_weight) > 0.0), every.shape[0])
        return self

    def _number_rows(self, kept: np.ndarray, n_rows: int) -> None:
        """Let duals and slacks number the rows as given; of those left out both are 0."""
        for name in ("dual_coef_", "slack_"):
            values = np.zeros(n_rows)
            values[kept] = getattr(self, name)
            setattr(self, name, values)

    def _solve(self, problem: SignedProblem, costs: np.ndarray) -> None:
        if self.slack:
            self._adopt(problem, costs, solve_robust(problem, costs), Status.OPTIMAL)
            apart = abs(self.objective_ - self.dual_objective_)
            balanced = are_balanced(problem, self.dual_coef_)
            if not (balanced and apart <= OPTIMUM * max(1.0, self.objective_)):
                self.status_ = Status.UNPROVED
                self._warn(
                    f"{self.status_.cause}. The mean violation is {self.objective_:.6g}, and HiGHS "
                    f"bounds it by {self.dual_objective_:.6g}: columns differ too much in size."
                )
        else:
            self._fit_without_slack(problem, costs)

    def _fit_without_slack(self, problem: SignedProblem, costs: np.ndarray) -> None:
        found = solve_feasibility(problem)
        if found.w is not None and np.isfinite(found.w).all():
            self._adopt(problem, costs, found, Status.SEPARATED)
            if self.certificate_.holds:
                return
        verdict = verdict_on(problem, self._class_names())
        if verdict.kind == "separable":
            w = np.concatenate([[verdict.intercept], verdict.weights])
            duals = np.zeros(problem.n_samples)
            settled = Solution(w, duals, 0.0, 0.0, found.iterations, "")
            self._adopt(problem, costs, settled, Status.SEPARATED, verdict)
            return
        self.witness_ = verdict.witness
        self._adopt(problem, costs, solve_robust(problem, costs), Status.NOT_SEPARABLE, verdict)
        self._warn(f"{verdict} Using the halfspace of least mean violation.")

    def _adopt(
        self,
        problem: SignedProblem,
        costs: np.ndarray,
        found: Solution,
        status: Status,
        proof: Verdict | None = None,
    ) -> None:
        w = np.zeros(problem.dimension) if found.w is None else found.w
        self.coef_, self.intercept_ = problem.weights(w)
        self.status_, self.n_iter_ = status, found.iterations
        self.dual_coef_ = found.duals
        self.slack_ = np.maximum(0.0, 1.0 - problem.margins(w))
        self.objective_, self.dual_objective_ = found.objective, found.dual_objective
        if status is not Status.SEPARATED:
            # Of the weights as they are: HiGHS drops small entries, and speaks of other rows.
            sides = [problem.signs == sign for sign in (-1, 1)]
            means = [np.average(self.slack_[side], weights=costs[side]) for side in sides]
            self.objective_ = float(sum(means))
        if proof is not None and proof.certificate is not None:
            self.certificate_ = proof.certificate
        else:
            self.certificate_ = check_separation(problem, w, self._class_names())

    def _work(self) -> str:
        return ""

    def _facts(self) -> list[tuple[str, str]]:
        return [*super()._facts(), ("work", f"{self.n_iter_:,} iterations of HiGHS")]
