"""One cell of the path: the machine of one C on one fold, solved, proved, and judged.

    min over w, b   1/2 |w|^2 + C sum over rows i of the fold  s_i loss(y_i (w.x_i + b))

Rows that only judge get the cost 0 and stay where they are. The proof's pass over the data computes
the scores of all rows, so counting errors costs nothing more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.core.proving import (
    Effort,
    Fitted,
    Naming,
    first_tolerance,
    solve_and_prove,
)
from separatrix.core.row_weights import class_factors, costs_of
from separatrix.problem.device_rows import on_device
from separatrix.problem.losses import CODES
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import Known, SignedProblem
from separatrix.selection.folds import Fold
from separatrix.solvers.linear.device.newton_side_by_side import side_by_side
from separatrix.solvers.running.drive import Status

__all__ = ["Arrays", "Cancelled", "Facts", "Setting", "averaged", "signed_problems", "solve_cell"]

Facts = dict[str, Any]
Arrays = dict[str, np.ndarray]
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
    class_weight: Any = None
    judge: Judge | None = None  # from [b, w] of every machine, on the fold's validation rows
    cancelled: threading.Event = field(default_factory=threading.Event)

    def fold_weights(self, number: int) -> np.ndarray:
        """Return what each row counts in training on a fold; 0 for those that do not train."""
        weights = self.weights * self.folds[number].train
        if self.class_weight is None:
            return weights
        counts = np.bincount(self.codes, weights, minlength=len(self.classes))
        return weights * class_factors(self.classes, counts, self.class_weight)[self.codes]

    def solve(self, C: float, fold: int, first: Arrays | None) -> tuple[Facts, Arrays]:
        """Solve and prove the machines of one C on one fold."""
        return solve_cell(self, C, fold, first)

    def averaged(self, cells: list[Arrays]) -> Arrays:
        """Return a start for all the rows."""
        return averaged(self, cells)


def signed_problems(
    X: Any, codes: np.ndarray, n_classes: int, fit_intercept: bool
) -> tuple[SignedProblem, ...]:
    """Return the signed rows of each machine: one for two classes, else one a class."""
    numbers = [1] if n_classes == 2 else range(n_classes)
    known = Known()  # what all folds and values of C need of X is computed once
    return tuple(
        SignedProblem(X, np.where(codes == k, 1.0, -1.0), fit_intercept, known) for k in numbers
    )


def solve_cell(setting: Setting, C: float, fold: int, first: Arrays | None) -> tuple[Facts, Arrays]:
    """Solve and prove the machines of one C on one fold, from where another C ended."""
    begun = time.thread_time()
    weights = setting.fold_weights(fold)
    costs = costs_of(C, weights)
    fingerprint: Future[str] = Future()
    fingerprint.set_result("")  # what is proved here is not handed on, so it names no data
    names = tuple(str(name) for name in setting.classes)
    machines = []
    problems = [
        MachineProblem(rows, costs, CODES[setting.loss], setting.bias_penalty)
        for rows in setting.rows
    ]
    starts: list[Any] = [None] * len(problems)
    if first is not None:
        starts = list(zip(first["weights"], first["multipliers"], strict=True))
    if len(problems) > 1 and on_device(problems[0].X):
        tol = first_tolerance(problems[0], setting.effort)
        starts = side_by_side(problems, tol, starts, setting.effort.deadline)
    for number, (problem, start) in enumerate(zip(problems, starts, strict=True)):
        naming = Naming(fingerprint, names, number if len(setting.rows) > 1 else 1)
        machines.append(
            solve_and_prove(problem, setting.effort, naming, start, lambda _: _go_on(setting))
        )
    arrays = {
        "weights": np.array([machine.weights for machine in machines]),
        "multipliers": np.array([machine.proof.multipliers for machine in machines]),
    }
    facts = _facts(setting, C, fold, machines, arrays, weights)
    return facts | {"seconds": time.thread_time() - begun}, arrays


def _go_on(setting: Setting) -> None:
    if setting.cancelled.is_set():
        raise Cancelled


def _facts(
    setting: Setting,
    C: float,
    fold: int,
    machines: list[Fitted],
    arrays: Arrays,
    weights: np.ndarray,
) -> Facts:
    scores = np.array([machine.signs * machine.proof.margins for machine in machines])
    predicted = (scores[0] > 0.0).astype(int) if len(scores) == 1 else scores.argmax(axis=0)
    wrong = predicted != setting.codes
    judged = setting.weights * setting.folds[fold].validation
    lengths = np.linalg.norm(arrays["weights"][:, 1:], axis=1)
    longest = float(lengths.max())
    status = Status.OPTIMAL
    for machine in machines:
        status = machine.status if machine.status is not Status.OPTIMAL else status
    facts: Facts = {
        "C": C,
        "fold": fold,
        "validation_error": float(judged @ wrong / judged.sum()),
        "training_error": float(weights @ wrong / weights.sum()),
        "n_support": int((arrays["multipliers"] > 0.0).any(axis=0).sum()),
        "margin": 1.0 / longest if longest > 0.0 else float("inf"),
        "gap": float(max(machine.proof.gap for machine in machines)),
        "status": str(status),
        "iterations": int(max(machine.updates for machine in machines)),
        "passes": float(max(machine.passes for machine in machines)),
    }
    if setting.judge is not None:
        facts["score"] = float(setting.judge(arrays["weights"], setting.folds[fold]))
    return facts


def averaged(setting: Setting, cells: list[Arrays]) -> Arrays:
    """Return a start for all the rows: the mean of the folds, each row over those it trained in."""
    trained = sum(fold.train > 0.0 for fold in setting.folds)
    total = np.sum([cell["multipliers"] for cell in cells], axis=0)
    return {
        "weights": np.mean([cell["weights"] for cell in cells], axis=0),
        "multipliers": total / np.maximum(trained, 1),
    }
