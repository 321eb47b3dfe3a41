"""Solve one machine, prove the answer, and go further where the proof falls short."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.certificates.canonical import LaterName
from separatrix.certificates.duality_gap import DualityGap
from separatrix.errors import NotSeparableError
from separatrix.problem.losses import HINGE, NAMES
from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear.choose import MachineRun, choose, other_solver
from separatrix.solvers.running.drive import Status

if TYPE_CHECKING:
    from separatrix.core.verdict import Verdict

__all__ = ["Effort", "Fitted", "Naming", "first_tolerance", "solve_and_prove", "verdict_of"]

_TIGHTENINGS = 4
_FAR_BELOW = 0.1
_HAIRS = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8)
_MARKEDLY = 0.5  # of the gap: rounding alone does not decide between two claims that prove nothing
_SMALL, _SMALL_TOL = 20_000, 1e-9
_PATIENT_PASSES = 300
_NOTHING_PROVED = 1.001  # the objective is never below 0


@dataclass(frozen=True)
class Effort:
    """How far to go, by which solver, and when to stop."""

    tol: float
    solver: str = "auto"
    deadline: float = np.inf  # of time.perf_counter
    max_passes: float = np.inf
    seed: int = 0


@dataclass(frozen=True)
class Naming:
    """What a certificate says of the data besides the numbers: their fingerprint and classes."""

    fingerprint: Future[str] | LaterName
    classes: tuple[str, ...]
    positive: int = 1


@dataclass(frozen=True, eq=False)
class Fitted:
    """One machine, solved and proved."""

    weights: np.ndarray
    signs: np.ndarray
    proof: DualityGap
    status: Status
    solver: str
    updates: int
    passes: float
    bias_interval: tuple[float, float]


def solve_and_prove(
    problem: MachineProblem,
    effort: Effort,
    naming: Naming,
    first: Any = None,
    report: Callable[[Any], None] | None = None,
) -> Fitted:
    """Return the machine, solved to the tolerance or to the end of the budget."""
    solver = choose(problem) if effort.solver == "auto" else effort.solver
    if problem.is_hard and solver == "dual_coordinate" and np.isinf(effort.deadline):
        # Passes do not tell an impossible margin from a slow one; a deadline ends either.
        refuse_if_inseparable(problem)
    other = other_solver(problem, solver) if effort.solver == "auto" else None
    patience = np.inf if other is None else _PATIENT_PASSES
    run = _begun(problem, solver, effort, patience, first)
    tol = first_tolerance(problem, effort)
    for left in reversed(range(_TIGHTENINGS)):
        status = run.go_on(tol, effort.deadline, report)
        if status is Status.BUDGET and other is not None and run.state.passes >= patience:
            # So many passes should have done: the columns are not made for them.
            solver, other = other, None
            run = _begun(problem, solver, effort, np.inf, None)
            status = run.go_on(tol, effort.deadline, report)
        claims = run.claims()
        if not claims.is_settled and status.is_final and left:
            tol *= 0.1
            continue
        proof = _proof(problem, claims.w, claims.alpha, effort, naming)
        if proof.gap > _NOTHING_PROVED and problem.ridge > 0.0 and not problem.is_hard:
            # Huge columns drown alpha in the bounds of their rounding: none at all proves more.
            proof = _proof(problem, claims.w, np.zeros_like(claims.alpha), effort, naming)
        if proof.gap <= effort.tol:
            status = Status.OPTIMAL
            break
        if not status.is_final:
            break
        status = Status.UNPROVED
        tol *= 1e-3
    if status is Status.UNPROVED and _needs_no_slack(problem, claims.alpha):
        claims, proof = _as_hard_margin(problem, solver, effort, naming, claims, proof)
        status = Status.OPTIMAL if proof.gap <= effort.tol else status
    if problem.is_hard and not proof.holds and perf_counter() < effort.deadline:
        refuse_if_inseparable(problem)
    return Fitted(
        weights=claims.w,
        signs=problem.signs,
        proof=proof,
        status=status,
        solver=solver,
        updates=run.state.updates,
        passes=run.state.passes,
        bias_interval=claims.bias_interval,
    )


def _needs_no_slack(problem: MachineProblem, alpha: np.ndarray) -> bool:
    """Whether every multiplier is far below its cost: the machine is then that of no slack."""
    used = problem.costs > 0.0
    if problem.loss != HINGE or problem.is_hard or not used.any():
        return False
    return bool((alpha[used] < _FAR_BELOW * problem.costs[used]).all())


def _as_hard_margin(
    problem: MachineProblem, solver: str, effort: Effort, naming: Naming, claims: Any, proof: Any
) -> tuple[Any, Any]:
    """Return the claims of the hard margin, if they prove more.

    With no slack, and no multiplier above its cost, they are optimal for both machines. Made longer
    by a hair w has margins above 1 whatever the rounding, for which a large C would charge dearly.
    """
    hard = replace(problem, costs=np.where(problem.costs > 0.0, np.inf, 0.0))
    run = _begun(hard, solver, effort, np.inf, None)
    run.go_on(first_tolerance(hard, effort), effort.deadline, None)
    found = run.claims()
    if not (found.alpha <= problem.costs).all():
        return claims, proof
    for hair in _HAIRS:
        longer = replace(found, w=found.w * (1.0 + hair))
        again = _proof(problem, longer.w, longer.alpha, effort, naming)
        if again.gap < _MARKEDLY * proof.gap:
            claims, proof = longer, again
        if proof.gap <= effort.tol:
            break
    return claims, proof


def _proof(
    problem: MachineProblem, w: np.ndarray, alpha: np.ndarray, effort: Effort, naming: Naming
) -> DualityGap:
    """Prove the two bounds from the data."""
    return DualityGap.proved(
        problem.X,
        problem.signs,
        costs=problem.costs,
        loss=NAMES[problem.loss],
        weights=w,
        multipliers=alpha,
        intercept=problem.rows.fit_intercept,
        bias_penalty=problem.bias_penalty,
        ridge=problem.ridge,
        positive=naming.positive,
        data_sha256=naming.fingerprint.result(),
        tol=effort.tol,
        classes=naming.classes,
    )


def first_tolerance(problem: MachineProblem, effort: Effort) -> float:
    """Return the gap to come to before a proof is first looked for."""
    if problem.X.shape[0] * problem.X.shape[1] <= _SMALL:
        # Where exactness costs next to nothing, weight 2 and two copies agree to all digits.
        return min(effort.tol, _SMALL_TOL)
    return effort.tol


def _begun(
    problem: MachineProblem, solver: str, effort: Effort, patience: float, first: Any
) -> MachineRun:
    return MachineRun(
        problem,
        solver,
        tol=effort.tol,
        seed=effort.seed,
        max_passes=min(effort.max_passes, patience),
        first=first,
    )


def verdict_of(problem: MachineProblem) -> Verdict:
    """Return whether the rows that count are separable."""
    # Only this needs exact arithmetic: machines are solved without it.
    from separatrix.core.separability import separability_of

    used = np.flatnonzero(problem.costs > 0.0)
    X = problem.X if len(used) == problem.X.shape[0] else problem.X[used]
    return separability_of(X, problem.signs[used], problem.rows.fit_intercept)


def refuse_if_inseparable(problem: MachineProblem) -> None:
    """Say with the witness why a hard margin was not found, if there is none."""
    verdict = verdict_of(problem)
    if verdict.witness is not None:
        raise NotSeparableError(
            f"C=inf asks for a hard margin, and there is none: {verdict}\n"
            "Use a finite C, which lets rows stand inside the margin.",
            verdict.witness,
        )
