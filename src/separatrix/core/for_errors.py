"""Models whose errors alone count, as those of folds: solved as any other, but not proved.

Nothing of such a model is handed on, so nothing rests on its proof, which would take a third of the
time. The solver computes how near the optimum it is. Where that is not near enough, the model is
solved and proved as any other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix.core.proving import (
    About,
    Effort,
    Fitted,
    Hyperplane,
    Report,
    TwoSolvers,
    first_tolerance,
    solve_and_prove,
)
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import on_device
from separatrix.solvers.linear import newton_at_once
from separatrix.solvers.linear.choose import plan
from separatrix.solvers.running.drive import Status


class Estimate(NamedTuple):
    """Where a proof would stand: the gap as the solver computes it, and where that was."""

    gap: float
    multipliers: np.ndarray
    margins: np.ndarray


class ClassEstimate(NamedTuple):
    """The same of a model of all classes."""

    gap: float
    weights: np.ndarray


def solved_for_errors(
    problem: MachineProblem, effort: Effort, about: About, first: Any, report: Report | None
) -> Fitted:
    """Solve a model of two classes to the tolerance, by what its solver computes."""
    if report is not None:
        report(None)  # it ends a run that nobody waits for
    aim, found = first_tolerance(problem, effort), None
    if effort.solver == "auto" and effort.seconds > 0.0 and np.isinf(effort.max_passes):
        found = newton_at_once.solved(problem, aim, None if first is None else first[0])
    if found is not None:
        point = Estimate(found.gap, found.alpha, found.margins)
        return _fitted(problem, point, found.w, found.updates, 3.0 * found.updates, "newton")
    if on_device(problem.X) or problem.is_hard or effort.solver != "auto":
        return solve_and_prove(Hyperplane, problem, effort, about, first, report)
    solvers = TwoSolvers(problem, effort, plan(problem), aim, first)
    solvers.go_on(aim, report)
    run, runs = solvers.run, solvers.runs
    if not run.state.gap <= effort.tol:
        return solve_and_prove(Hyperplane, problem, effort, about, first, report)
    claims = run.claims()
    point = Estimate(max(0.0, float(run.state.gap)), claims.alpha, problem.rows.margins(claims.w))
    updates = sum(each.state.updates for each in runs)
    passes = sum(each.state.passes for each in runs)
    return _fitted(problem, point, claims.w, updates, passes, run.solver)


def _fitted(
    problem: MachineProblem, point: Estimate, w: np.ndarray, updates: int, passes: float, by: str
) -> Fitted:
    bias = float(w[0])
    return Fitted(point, Status.OPTIMAL, updates, passes, by, w, problem.signs, (bias, bias))
