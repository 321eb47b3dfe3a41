"""What the solvers of the direct machine share: the run in progress.

Each is a module with ``start(problem, *, tol, first, seed, max_passes)`` and
``advance(state, budget)``, as `drive` wants them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.problem.crammer_singer import DirectProblem

__all__ = ["DirectState"]


@dataclass
class DirectState:
    """The best claims so far, the two objectives that bracket the optimum, and the run itself."""

    problem: DirectProblem
    tol: float
    setup: Any  # the solver's own
    memory: Any
    max_passes: float
    W: np.ndarray  # of the best primal point, and its biases
    bias: np.ndarray
    masses: np.ndarray  # the best dual point, balanced to rounding
    primal: float = np.inf
    dual: float = 0.0
    updates: int = 0
    passes: float = 0.0
    row: int = -1
    rows: Any = field(default=None, repr=False)
    bound: float = np.inf

    @property
    def w(self) -> np.ndarray:
        """The weights of the best point, class after class, each with its bias first."""
        return np.column_stack([self.bias, self.W.T]).ravel()

    @property
    def gap(self) -> float:
        """(primal - dual) / primal: 1 at the start, 0 at the optimum."""
        if self.primal == 0.0:
            return 0.0
        return (self.primal - self.dual) / self.primal if np.isfinite(self.primal) else np.inf
