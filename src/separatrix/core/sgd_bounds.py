"""How far from the optimum a stochastic gradient run stopped: a bound from below, and its proof.

The run's own multipliers (the mean slope of the loss at each row) bound the optimum from below, but
loosely where C is large. They are then improved by the solvers of the exact machines, for a hundred
passes at most: what those find serves as a bound and for nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.certificates.duality_gap import DualityGap, DualityGaps, ScaledGap
from separatrix.core.proving import About, proved_gap
from separatrix.problem.equilibrate import divided_columns, divided_exactly
from separatrix.problem.fingerprint import fingerprint_of_rows
from separatrix.problem.losses import CODES, LOGISTIC
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear.choose import choose
from separatrix.solvers.linear.claims import balanced
from separatrix.solvers.linear.model_run import MachineRun

_SMALL = 20_000  # entries: where the bound is made exact at next to no cost
_EXACT = 1e-9
_PASSES = 200.0  # at most, at each look


@dataclass
class Bounds:
    """The machines that a run approaches, and the best multipliers known for each."""

    problems: list[MachineProblem]
    exponents: np.ndarray
    codes: np.ndarray
    n_classes: int
    is_exact: bool = True  # whether the columns are divided without rounding
    alphas: list[np.ndarray] = field(default_factory=list)
    duals: list[float] = field(default_factory=list)
    is_tight: list[bool] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        X: Any,
        codes: np.ndarray,
        n_classes: int,
        costs: np.ndarray,
        loss: str,
        intercept: bool,
        exponents: np.ndarray,
    ) -> Bounds:
        """Pose the machines, one or one a class, on the divided columns."""
        is_exact = True
        if exponents.any():
            exact = divided_exactly(X, exponents)
            is_exact = exact is not None
            with np.errstate(over="ignore", under="ignore"):
                X = divided_columns(X, exponents) if exact is None else exact
        numbers = [1] if n_classes == 2 else range(n_classes)
        problems = [
            MachineProblem(
                SignedProblem(X, np.where(codes == k, 1.0, -1.0), intercept), costs, CODES[loss]
            )
            for k in numbers
        ]
        return cls(problems, exponents, codes, n_classes, is_exact)

    def raise_by(self, weights: np.ndarray, shares: np.ndarray, tol: float, seed: int) -> None:
        """Look for better multipliers, from those of the run, until they are good enough."""
        if not self.alphas:
            self.alphas = [np.zeros(len(self.codes)) for _ in self.problems]
            self.duals = [0.0 for _ in self.problems]
            self.is_tight = [False for _ in self.problems]
        for k, problem in enumerate(self.problems):
            self._offer(k, problem.costs * shares[k])
            if self.is_tight[k] or self._gap(k, weights[k]) <= tol:
                continue
            enough = _EXACT if problem.X.shape[0] * problem.X.shape[1] <= _SMALL else 0.2 * tol
            first = (weights[k] if problem.loss == LOGISTIC else None, self.alphas[k])
            run = MachineRun(
                problem, choose(problem), tol=enough, seed=seed, max_passes=_PASSES, first=first
            )
            self.is_tight[k] = run.go_on(enough).is_final
            self._offer(k, run.claims().alpha)

    def _offer(self, k: int, alpha: np.ndarray) -> None:
        problem = self.problems[k]
        alpha = np.minimum(np.maximum(alpha, 0.0), problem.upper)
        if problem.has_free_bias:
            alpha = balanced(alpha, problem.signs, problem.upper)
        dual = problem.dual(alpha)
        if dual > self.duals[k]:
            self.duals[k], self.alphas[k] = dual, alpha

    def divided(self, weights: np.ndarray) -> np.ndarray:
        """Return weights, [b, w_1 ... w_d] a machine, for the divided columns."""
        weights = weights.copy()
        weights[:, 1:] = np.ldexp(weights[:, 1:], self.exponents)
        return weights

    def gap(self, weights: np.ndarray) -> float:
        """Return the largest relative gap of any machine, in floating point."""
        return max(self._gap(k, w) for k, w in enumerate(weights))

    def _gap(self, k: int, w: np.ndarray) -> float:
        primal = self.problems[k].primal(w)
        return (primal - self.duals[k]) / primal if primal > 0.0 else 0.0

    def prove(
        self, weights: np.ndarray, tol: float, classes: tuple[str, ...]
    ) -> DualityGap | DualityGaps | ScaledGap:
        """Prove from the data how far these weights are from the best."""
        digest = fingerprint_of_rows(self.problems[0].X, self.codes, self.n_classes)
        numbers = range(len(self.problems)) if len(self.problems) > 1 else [1]
        abouts = [About.known(digest, classes, number) for number in numbers]
        each = zip(self.problems, weights, self.alphas, abouts, strict=True)
        proofs = tuple(proved_gap(*one, tol) for one in each)
        whole = proofs[0] if len(proofs) == 1 else DualityGaps(proofs)
        return ScaledGap(self.exponents, whole) if self.exponents.any() else whole
