"""A solver, and a second one where the first gets nowhere: how a hyperplane is solved.

`plan` names them. The first is watched (`Watch`); the second goes on from the point reached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear.choose import Plan
from separatrix.solvers.linear.model_run import MachineRun
from separatrix.solvers.linear.watch import Watch
from separatrix.solvers.running.drive import Status

if TYPE_CHECKING:
    from separatrix.core.proving import Effort

__all__ = ["TwoSolvers", "begun"]

_NEWTON_TURN, _TURN = 120.0, 40.0  # passes: the first turns of Newton's method and of the other


class TwoSolvers:
    """The run under way, the one that gave way, and when to look next."""

    def __init__(
        self, problem: MachineProblem, effort: Effort, planned: Plan, tol: float, first: Any
    ) -> None:
        self.problem, self.effort, self.plan = problem, effort, planned
        self.other = planned.other
        self.watch = Watch(planned.price, tol)
        self.paused: MachineRun | None = None
        self.turns = 1.0
        patience = np.inf if self.other is None else self.watch.next
        self.run = begun(problem, planned.solver, effort, patience, first)

    @property
    def runs(self) -> list[MachineRun]:
        """All runs there were."""
        return [self.run] if self.paused is None else [self.paused, self.run]

    def go_on(self, tol: float, report: Any) -> Status:
        """Solve to a gap; a solver whose passes get nowhere gives way to the other."""
        self.watch.tol = tol
        status = self.run.go_on(tol, self.effort.deadline, report)
        while status is Status.BUDGET and self.other is not None and self._is_due():
            if self.paused is None and self._is_worth_it():
                self.run.allow(min(self.effort.max_passes, self.watch.next))
            else:
                self._change_over(self.other)
            status = self.run.go_on(tol, self.effort.deadline, report)
        return status

    def _is_due(self) -> bool:
        """Whether it was the watch that ended the run, and time is left."""
        passes = self.run.state.passes
        return self.watch.next <= passes < self.effort.max_passes and self.effort.seconds > 0.0

    def _is_worth_it(self) -> bool:
        state = self.run.state
        work = self.plan.work(state.passes, state.updates)
        return self.watch.is_worth_it(state.passes, self.run.hoped_gap, work)

    def _change_over(self, other: str) -> None:
        """Let the other solver go on.

        The interior point always ends. Newton's method may not, within reason, where C is large and
        few rows count; then both take turns, each twice as long as the last.
        """
        run, state = self.paused, self.run.state
        takes_turns = other != "interior_point" and np.isfinite(self.plan.price)
        self.paused, self.other = self.run, None
        patience = np.inf
        if takes_turns:
            self.other = self.run.solver
            patience = self.turns * (_NEWTON_TURN if other == "newton" else _TURN)
            patience += 0.0 if run is None else run.state.passes
            self.turns, self.watch.next = 2.0 * self.turns, patience
        if run is None:
            run = begun(self.problem, other, self.effort, patience, (state.w, state.alpha))
        else:
            run.allow(min(self.effort.max_passes, patience))
        self.run = run


def begun(
    problem: MachineProblem,
    solver: str,
    effort: Effort,
    patience: float = np.inf,
    first: Any = None,
) -> MachineRun:
    """Return a run of one solver, of so many passes at most."""
    return MachineRun(
        problem,
        solver,
        tol=effort.tol,
        seed=effort.seed,
        max_passes=min(effort.max_passes, patience),
        first=first,
        deadline=effort.deadline,
    )
