"""Every iteration of a regularised model, as frames: the duality gap closing.

One update is one iteration of the interior point or of Newton's method, or one pass of coordinate
descent, as `fit` makes them: an interior point is shown where it stands, the others at the best
point so far. The last frame holds the claims that are then proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from separatrix.problem.device_rows import on_device
from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear import interior_point
from separatrix.solvers.linear.claims import evened
from separatrix.solvers.linear.model_run import MachineRun
from separatrix.solvers.running.drive import NO_LIMIT, Status
from separatrix.solvers.running.threads import one_thread

__all__ = ["MachineFrame", "replay_machine"]


@dataclass(frozen=True, eq=False)
class MachineFrame:
    """One iteration: the weights ``[b, w_1 ...]``, the multipliers, and the two objectives.

    `errors` counts the rows on the wrong side, `margin` is the least ``y (w.x + b)``, and `gap` the
    relative difference of the objectives, in floating point.
    """

    update: int
    weights: np.ndarray
    alpha: np.ndarray
    errors: int
    margin: float
    primal: float
    dual: float
    gap: float
    status: Status | None
    machine: int = 0


def replay_machine(
    problem: MachineProblem,
    solver: str,
    *,
    tol: float,
    aim: float,
    seed: int = 0,
    max_passes: float = np.inf,
    budget: int = NO_LIMIT,
) -> Iterator[MachineFrame]:
    """Yield the start, every iteration to a gap of `aim`, and what is handed over for proof."""
    run = MachineRun(problem, solver, tol=tol, seed=seed, max_passes=max_passes)
    run.state.tol = aim
    status = _advanced(run, 0)
    yield _frame(run, *_standing(run), status)
    while status is None and run.state.updates < budget:
        before = run.state.updates
        status = _advanced(run, 1) or _advanced(run, 0)
        if not np.isfinite(run.state.w).all():
            status = Status.OVERFLOW
        if status is None and run.state.updates >= budget:
            status = Status.BUDGET
        if run.state.updates > before:
            yield _frame(run, *_standing(run), status)
    claims = run.claims()
    yield _frame(run, claims.w, claims.alpha, status or Status.BUDGET)


def _advanced(run: MachineRun, budget: int) -> Status | None:
    with one_thread():  # as `fit` does, so that the bits are the same
        status: Status | None = run.method.advance(run.state, budget)
    return status


def _standing(run: MachineRun) -> tuple[np.ndarray, np.ndarray]:
    """Return the iterate of an interior point, which moves at once; of the others their best."""
    if run.method is not interior_point or on_device(run.problem.X):
        return run.as_given(run.state.w), run.state.alpha
    w, alpha = interior_point.iterate(run.state)
    problem = run.state.problem
    if problem.has_free_bias:
        alpha = evened(alpha, problem.signs, problem.costs)
    return run.as_given(w), alpha


def _frame(
    run: MachineRun, w: np.ndarray, alpha: np.ndarray, status: Status | None
) -> MachineFrame:
    problem = run.problem
    with np.errstate(over="ignore", invalid="ignore"):
        margins = problem.rows.margins(w)
        primal, dual = problem.primal(w, margins), problem.dual(alpha)
    used = margins[problem.costs > 0.0]
    return MachineFrame(
        update=run.state.updates,
        weights=w.copy(),
        alpha=alpha.copy(),
        errors=int((used <= 0.0).sum()),
        margin=float(used.min(initial=np.inf)),
        primal=float(primal),
        dual=float(dual),
        gap=float((primal - dual) / primal) if 0.0 < primal < np.inf else float(primal > 0.0),
        status=status,
    )
