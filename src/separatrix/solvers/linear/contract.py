"""What the solvers of the regularised machines share: the run in progress.

Each is a module with

    start(problem, *, tol, first=None, seed=0, max_passes=inf) -> MachineState
    advance(state, budget) -> Status | None

as `drive` wants them. One update is one iteration (of Newton or of the interior point) or one
pass (of dual coordinate descent). `first` is a claim to start from, (w, alpha), either of which may
be None: for the next C of a path, or the same rows with other costs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.problem.machine import MachineProblem
from separatrix.problem.rows import rows_of

__all__ = ["MachineState"]


@dataclass
class MachineState:
    """The best claims so far: w and alpha, and the two objectives that bracket the optimum."""

    problem: MachineProblem
    tol: float
    w: np.ndarray  # [b, w_1 ... w_d]
    alpha: np.ndarray  # feasible: 0 <= alpha (<= cost), balanced to rounding
    primal: float = np.inf
    dual: float = 0.0
    updates: int = 0
    passes: float = 0.0
    row: int = -1
    memory: Any = field(default=None, repr=False)  # the solver's own

    @property
    def answer(self) -> np.ndarray:
        """The weights the method would hand over now."""
        return self.w

    @property
    def rows(self) -> Any:
        """The signed rows, laid out for the loops."""
        return rows_of(self.problem.rows)

    @property
    def gap(self) -> float:
        """(primal - dual) / primal: 1 at the start, 0 at the optimum."""
        if self.primal == 0.0:
            return 0.0
        return (self.primal - self.dual) / self.primal if np.isfinite(self.primal) else np.inf

    @property
    def bound(self) -> float:
        """No margin is known to be impossible here (`drive` asks)."""
        return np.inf
