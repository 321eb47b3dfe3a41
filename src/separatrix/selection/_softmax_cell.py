"""One cell of the path of the multinomial machine: one C on one fold, solved, proved and judged.

Rows that only judge get the cost 0 and stay where they are, on a device too: nothing is moved or
copied for a fold.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.all_classes import Multinomial
from separatrix.core.one_or_all import two_as_one
from separatrix.core.proving import About, Fitted, solve_and_prove
from separatrix.core.row_weights import costs_of
from separatrix.errors import DataError
from separatrix.problem.device_rows import on_device
from separatrix.problem.softmax import SoftmaxProblem
from separatrix.selection._cell import Arrays, Facts, Setting

__all__ = ["SoftmaxSetting"]

_ENTRIES_AT_A_TIME = 1 << 24


@dataclass(frozen=True, eq=False)
class SoftmaxSetting(Setting):
    """A path whose cells are multinomial machines."""

    X: Any = None
    fit_intercept: bool = True

    def problem(self, C: float, weights: np.ndarray) -> SoftmaxProblem:
        """Pose the machine of one C for rows that count so much."""
        costs = costs_of(C, weights)
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
        return problem

    def solve(self, C: float, fold: int, first: Arrays | None) -> tuple[Facts, Arrays]:
        """Solve and prove the machine of one C on one fold, from where another C ended."""
        begun = time.thread_time()
        weights = self.fold_weights(fold)
        start = None if first is None else first["weights"]
        problem, about = self.problem(C, weights), About.known("", self.classes)
        found = solve_and_prove(Multinomial, problem, self.effort, about, start, self.go_on)
        facts = self._facts_of(C, fold, found, weights)
        return facts | {"seconds": time.thread_time() - begun}, {"weights": found.proof.weights}

    def averaged(self, cells: list[Arrays]) -> Arrays:
        """Return a start for all the rows: the mean of the folds."""
        return {"weights": np.mean([cell["weights"] for cell in cells], axis=0)}

    def _facts_of(self, C: float, fold: int, found: Fitted, weights: np.ndarray) -> Facts:
        W = found.proof.weights
        wrong = predicted(self.X, W) != self.codes
        judged = self.weights * self.folds[fold].validation
        longest = float(np.linalg.norm(W[:, 1:], axis=1).max())
        facts: Facts = {
            "C": C,
            "fold": fold,
            "validation_error": float(judged @ wrong / judged.sum()),
            "training_error": float(weights @ wrong / weights.sum()),
            "n_support": int((weights > 0.0).sum()),
            "margin": 1.0 / longest if longest > 0.0 else float("inf"),
            "gap": float(found.proof.gap),
            "status": str(found.status),
            "iterations": found.updates,
            "passes": found.passes,
        }
        if self.judge is not None:
            facts["score"] = float(self.judge(two_as_one(W), self.folds[fold]))
        return facts


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
