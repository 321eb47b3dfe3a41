"""What the solvers of the regularised models share: the run in progress.

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

from separatrix.problem.losses import SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.rows import rows_of
from separatrix.solvers.running.drive import relative_gap

__all__ = ["MachineState", "is_solved_at_once"]

# exp(-750) is 0 in float64, and so is the logistic loss: nothing lies beyond.
_FAR = 750.0


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
        return relative_gap(self.primal, self.dual)

    @property
    def bound(self) -> float:
        """No margin is known to be impossible here (`drive` asks)."""
        return np.inf


def is_solved_at_once(state: MachineState) -> bool:
    """Rows of one class need nothing but a bias that is free; no rows need nothing."""
    problem = state.problem
    signs = problem.signs[problem.costs > 0.0]
    alone = signs.size > 0 and bool((signs == signs[0]).all())
    if signs.size and not (alone and problem.has_free_bias):
        return False
    if signs.size:
        # The logistic loss has no minimum here, only the infimum 0: the nearest b that has it.
        state.w[0] = signs[0] * (1.0 if problem.loss == SQUARED_HINGE else _FAR)
    state.primal = state.dual = 0.0
    return True
