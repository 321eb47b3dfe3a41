"""One cell of the path: the model of one C on one fold, solved, judged, and proved.

    min over w, b   1/2 |w|^2 + C sum over rows i of the fold  s_i loss(y_i (w.x_i + b))

Rows that only judge get the cost 0 and stay where they are, on a device too. Where each model is
of two classes, the proof's pass computes the scores of all rows: counting errors costs nothing. In
a study only errors count, and only the lasso is proved (`core/proving.py`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.core.all_classes import Multinomial, softmax_method_of
from separatrix.core.checks import class_factors, costs_of
from separatrix.core.keeping import two_as_one
from separatrix.core.machine import method_of
from separatrix.core.proving import (
    About,
    Effort,
    Fitted,
    Hyperplane,
    first_tolerance,
    solve_and_prove,
    solved_for_errors,
)
from separatrix.core.sparse import (
    as_sparse,
    as_sparse_softmax,
    largest_cost_of_zero,
    largest_cost_of_zero_classes,
)
from separatrix.errors import DataError
from separatrix.problem.losses import CODES
from separatrix.problem.machine import MachineProblem
from separatrix.problem.many_classes import SoftmaxProblem
from separatrix.problem.signed import Known, SignedProblem, on_device
from separatrix.selection.folds import Fold
from separatrix.selection.scores import Measure
from separatrix.solvers.linear.claims import balanced
from separatrix.solvers.linear.device.newton_side_by_side import side_by_side
from separatrix.solvers.running.drive import Status

__all__ = [
    "Arrays",
    "Cancelled",
    "Facts",
    "MeanHyperplane",
    "MeanMultinomial",
    "Setting",
    "SoftmaxSetting",
    "setting_of",
]

Facts = dict[str, Any]
Arrays = dict[str, np.ndarray]
_ENTRIES_AT_A_TIME = 1 << 24
_MEAN_OF_FOLDS = "mean_of_folds"  # in the place of a solver's name
Judge = Callable[[np.ndarray, Fold], float]


class Cancelled(Exception):
    """Nobody waits for this cell any more."""


@dataclass(frozen=True, eq=False)
class Setting:
    """What all cells of a path share; nothing of it is changed by any of them."""

    rows: tuple[SignedProblem, ...]  # one a machine: one, or one a class against the rest
    codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray  # of samples; class weights are those of each fold
    folds: tuple[Fold, ...]
    loss: str
    effort: Effort
    bias_penalty: float = 0.0
    l1_ratio: float = 0.0
    column_groups: np.ndarray | None = None  # of sparse weights
    class_weight: Any = None
    measure: Measure | None = None  # of the scores of all folds; None counts errors
    judge: Judge | None = None  # from [b, w] of every machine, on the fold's validation rows
    cancelled: threading.Event = field(default_factory=threading.Event)

    def fold_weights(self, number: int) -> np.ndarray:
        """Return what each row counts in training on a fold; 0 for those that do not train."""
        weights = self.weights * self.folds[number].train
        if self.class_weight is None:
            return weights
        counts = np.bincount(self.codes, weights, minlength=len(self.classes))
        return weights * class_factors(self.classes, counts, self.class_weight)[self.codes]

    def problems(self, costs: np.ndarray) -> list[Any]:
        """Pose one problem a model for rows that cost so much."""
        loss, penalty = CODES[self.loss], self.bias_penalty
        posed = [MachineProblem(rows, costs, loss, penalty) for rows in self.rows]
        return [as_sparse(problem, self.l1_ratio, self.column_groups) for problem in posed]

    @property
    def matrix(self) -> Any:
        """The rows, without signs."""
        return self.rows[0].X

    def largest_cost_of_zero(self, weights: np.ndarray) -> float:
        """Return the largest C at which all weights are zero, for rows that count so much."""
        return min(
            largest_cost_of_zero(
                rows.X, rows.signs, weights, self.loss, self.l1_ratio, rows.fit_intercept,
                self.column_groups,
            )
            for rows in self.rows
        )  # fmt: skip

    def go_on(self, _: Any) -> None:
        """End a run that nobody waits for."""
        if self.cancelled.is_set():
            raise Cancelled

    def solve(self, C: float, fold: int, first: Arrays | None) -> tuple[Facts, Arrays]:
        """Solve the models of one C on one fold, from where another C ended, and judge them."""
        begun = time.thread_time()
        weights = self.fold_weights(fold)
        costs, effort = costs_of(C, weights), self.effort
        problems = self.problems(costs)
        starts: list[Any] = [None] * len(problems)
        if first is not None:
            starts = list(zip(first["weights"], first["multipliers"], strict=True))
        if len(problems) > 1 and on_device(problems[0].X):
            tol = first_tolerance(problems[0], effort)
            starts = side_by_side(problems, tol, starts, effort.deadline)
        machines = []
        for number, (problem, start) in enumerate(zip(problems, starts, strict=True)):
            about = About.known("", self.classes, number if len(problems) > 1 else 1)
            method = method_of(problem)
            if effort.for_errors and method is Hyperplane:
                machines.append(solved_for_errors(problem, effort, about, start, self.go_on))
            else:
                machines.append(solve_and_prove(method, problem, effort, about, start, self.go_on))
        alphas = np.array([machine.proof.multipliers for machine in machines])
        arrays = {"weights": np.array([one.weights for one in machines]), "multipliers": alphas}
        scores = np.array([machine.signs * machine.proof.margins for machine in machines])
        predicted = (scores[0] > 0.0).astype(int) if len(scores) == 1 else scores.argmax(axis=0)
        facts = {"C": C, "fold": fold, **self._errors(fold, weights, predicted)}
        facts["n_support"] = int((alphas > 0.0).any(axis=0).sum())
        facts |= self._figures(fold, machines, arrays["weights"])
        if self.measure is not None:
            arrays["scores"] = np.ascontiguousarray(scores[:, self.held_out(fold)].T)
            if self.measure.has_threshold(len(scores)):
                arrays["trained"] = scores[0, weights > 0.0]
        return facts | {"seconds": time.thread_time() - begun}, arrays

    def errors_at(self, threshold: float, fold: int, arrays: Arrays) -> tuple[float, float]:
        """Return the errors of a cell, held out and trained on, at a threshold of its scores."""
        weights, held = self.fold_weights(fold), self.held_out(fold)
        judged = (self.weights * self.folds[fold].validation)[held]
        wrong = (arrays["scores"][:, 0] > threshold) != self.codes[held]
        trained = weights > 0.0
        missed = (arrays["trained"] > threshold) != self.codes[trained]
        weights = weights[trained]
        return float(judged @ wrong / judged.sum()), float(weights @ missed / weights.sum())

    @property
    def probabilities(self) -> str:
        """How scores become probabilities (`scores.probabilities`)."""
        return self.loss

    def held_out(self, fold: int) -> np.ndarray:
        """Return the rows that a fold judges by."""
        return np.flatnonzero(self.folds[fold].validation > 0.0)

    def _errors(self, fold: int, weights: np.ndarray, predicted: np.ndarray) -> Facts:
        """Return the shares of the weight predicted wrongly: held out, and trained on."""
        wrong, judged = predicted != self.codes, self.weights * self.folds[fold].validation
        return {
            "validation_error": float(judged @ wrong / judged.sum()),
            "training_error": float(weights @ wrong / weights.sum()),
        }

    def _figures(self, fold: int, machines: list[Fitted], W: np.ndarray) -> Facts:
        """Return margin, gap and work of the machines with these weights, and their score."""
        longest = float(np.linalg.norm(W[:, 1:], axis=1).max())
        status = Status.OPTIMAL
        for machine in machines:
            status = machine.status if machine.status is not Status.OPTIMAL else status
        facts: Facts = {
            "n_nonzero": int(np.count_nonzero(W[:, 1:].any(axis=0))),
            "margin": 1.0 / longest if longest > 0.0 else float("inf"),
            "gap": float(max(machine.proof.gap for machine in machines)),
            "status": str(status),
            "iterations": int(max(machine.updates for machine in machines)),
            "passes": float(max(machine.passes for machine in machines)),
        }
        if self.judge is not None:
            facts["score"] = float(self.judge(self.shown(W), self.folds[fold]))
        return facts

    def shown(self, W: np.ndarray) -> np.ndarray:
        """Return the weights as a model has them."""
        return W

    def averaged(self, cells: list[Arrays]) -> Arrays:
        """Return a start for all the rows: the mean of the folds, each row over its own."""
        trained = sum(fold.train > 0.0 for fold in self.folds)
        total = np.sum([cell["multipliers"] for cell in cells], axis=0)
        return {
            "weights": np.mean([cell["weights"] for cell in cells], axis=0),
            "multipliers": total / np.maximum(trained, 1),
        }


@dataclass(frozen=True, eq=False)
class SoftmaxSetting(Setting):
    """A path whose cells are multinomial machines."""

    X: Any = None
    fit_intercept: bool = True
    known: Known = field(default_factory=Known)  # what all cells need of X is computed once

    @property
    def matrix(self) -> Any:
        return self.X

    def largest_cost_of_zero(self, weights: np.ndarray) -> float:
        return largest_cost_of_zero_classes(
            self.X, self.codes, weights, len(self.classes), self.l1_ratio, self.fit_intercept,
            self.column_groups,
        )  # fmt: skip

    def problems(self, costs: np.ndarray) -> list[Any]:
        """Pose the one problem for rows that cost so much."""
        problem = SoftmaxProblem(
            self.X, self.codes, len(self.classes), costs, self.fit_intercept, self.bias_penalty
        )
        masses = np.bincount(self.codes, costs, len(self.classes))
        if problem.has_free_bias and (masses <= 0.0).any():
            # Its best bias would be minus infinity.
            raise DataError(
                f"No row of class {self.classes[int(np.argmin(masses))]!s} trains in one of the "
                "folds. Use fewer folds, or leave the class out."
            )
        if self.l1_ratio:
            return [as_sparse_softmax(problem, self.l1_ratio, self.column_groups, self.known)]
        return [problem]

    def solve(self, C: float, fold: int, first: Arrays | None) -> tuple[Facts, Arrays]:
        """Solve the model of one C on one fold, from where another C ended, and judge it."""
        begun = time.thread_time()
        weights = self.fold_weights(fold)
        start = None if first is None else first["weights"]
        (problem,), about = self.problems(costs_of(C, weights)), About.known("", self.classes)
        method = softmax_method_of(problem)
        found = solve_and_prove(method, problem, self.effort, about, start, self.go_on)
        W = found.proof.weights
        facts = {"C": C, "fold": fold, **self._errors(fold, weights, predicted(self.X, W))}
        facts["n_support"] = int((weights > 0.0).sum())
        facts |= self._figures(fold, [found], W)
        arrays = {"weights": W}
        if self.measure is not None:
            arrays["scores"] = scores_of(self.X, self.held_out(fold), W)
        return facts | {"seconds": time.thread_time() - begun}, arrays

    @property
    def probabilities(self) -> str:
        """How scores become probabilities."""
        return "softmax"

    def shown(self, W: np.ndarray) -> np.ndarray:
        return two_as_one(W)

    def averaged(self, cells: list[Arrays]) -> Arrays:
        """Return a start for all the rows: the mean of the folds."""
        return {"weights": np.mean([cell["weights"] for cell in cells], axis=0)}


def setting_of(X: Any, all_at_once: bool, *, fit_intercept: bool = True, **common: Any) -> Setting:
    """Return the setting of these rows: one model of all classes, or one a class against the rest.

    Two classes have one model.
    """
    if all_at_once:
        return SoftmaxSetting(rows=(), X=X, fit_intercept=fit_intercept, **common)
    codes, n_classes = common["codes"], len(common["classes"])
    numbers = [1] if n_classes == 2 else range(n_classes)
    known = Known()  # what all folds and values of C need of X is computed once
    signs = [np.where(codes == k, 1.0, -1.0) for k in numbers]
    return Setting(tuple(SignedProblem(X, each, fit_intercept, known) for each in signs), **common)


def scores_of(X: Any, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the scores of some rows, a column a model."""
    if on_device(X):
        X, rows = X[rows].cpu().numpy(), np.arange(len(rows))
    return np.asarray(X[rows] @ weights[:, 1:].T + weights[:, 0])


def predicted(X: Any, weights: np.ndarray) -> np.ndarray:
    """Return the class number that each row is given, a stretch of rows at a time."""
    n, K = X.shape[0], len(weights)
    step = max(1, _ENTRIES_AT_A_TIME // K)
    W, bias = weights[:, 1:].T, weights[:, 0]
    parts = []
    for at in range(0, n, step):
        rows = X[slice(at, min(n, at + step))]
        if on_device(X):
            scores = rows.to(dtype=X.tensor(bias).dtype) @ X.tensor(W) + X.tensor(bias)
            parts.append(scores.argmax(dim=1).cpu().numpy())
        else:
            parts.append(np.asarray(rows @ W + bias).argmax(axis=1))
    return np.concatenate(parts)


# ---- the mean of the folds' models, proved for all the rows as it is: nothing is solved any more


class MeanHyperplane(Hyperplane):
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
        self.proof = self._proof(self.weights, self.alpha)
        return float(self.proof.gap)

    def tighten(self, status: Status) -> bool:
        """Aim at nothing else."""
        return False

    def fitted(self, status: Status) -> Fitted:
        """Return the mean with its proof."""
        bias, signs = float(self.weights[0]), self.problem.signs
        return Fitted(self.proof, status, 0, 0.0, _MEAN_OF_FOLDS, self.weights, signs, (bias, bias))


class MeanMultinomial(Multinomial):
    """All classes at once: mean weights, of which the dual variables follow."""

    attempts = 1

    def __init__(self, problem: Any, effort: Effort, about: About, first: Any, report: Any) -> None:
        super().__init__(problem, effort, about, None, report)
        self.mean = first

    def solve(self) -> Status:
        """Leave the mean as it is."""
        return Status.BUDGET

    def prove(self, is_last: bool) -> float:
        """Prove the gap of the mean."""
        self.proof = self._proved(SoftmaxGap, weights=self.mean)
        return float(self.proof.gap)

    def tighten(self, status: Status) -> bool:
        """Aim at nothing else."""
        return False

    def fitted(self, status: Status) -> Fitted:
        """Return the mean with its proof."""
        return Fitted(self.proof, status, 0, 0.0, _MEAN_OF_FOLDS)
