"""Solve, prove, and go further where the proof falls short: the one flow of every machine.

A method is what differs: how a machine is solved, proved and taken further. `Hyperplane` is that of
two classes. Those of many classes, kernels and rows in blocks stand beside it in this package.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from separatrix.certificates.duality_gap import DualityGap
from separatrix.core.verdict import Verdict, separability_of
from separatrix.errors import NotSeparableError
from separatrix.problem.fingerprint import LaterName
from separatrix.problem.losses import HINGE, NAMES
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import on_device
from separatrix.solvers.linear import newton_at_once
from separatrix.solvers.linear.choose import Plan, Watch, plan
from separatrix.solvers.linear.model_run import MachineRun, interval_for
from separatrix.solvers.running.drive import AtOnce, Status, go_on

Result_co = TypeVar("Result_co", covariant=True)
Report = Callable[[Any], None]

_TIGHTENINGS = 5
_NEARLY = 1.5  # tolerances
_FAR_BELOW = 0.1
_HAIRS = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8)
_MARKEDLY = 0.5  # of the gap: rounding alone does not decide between two claims that prove nothing
_SMALL, _SMALL_TOL = 20_000, 1e-9
_NOTHING_PROVED = 1.001  # the objective is never below 0


@dataclass(frozen=True)
class Effort:
    """How far to go, by which solver, when to stop, with what threads and memory."""

    tol: float
    solver: str = "auto"
    deadline: float = np.inf  # of time.perf_counter
    max_passes: float = np.inf
    seed: int = 0
    workers: int = 1
    cache_bytes: int = 0  # for values of a kernel
    pool: ThreadPoolExecutor | None = None
    for_errors: bool = False  # only predictions count: a gap as computed will do

    @property
    def seconds(self) -> float:
        """The time that is left."""
        return max(0.0, self.deadline - time.perf_counter())

    def go_on(self, method: Any, state: Any, updates: int, report: Any, slice_size: int) -> Status:
        """Run a solver for so many updates, or until the time ends."""
        return go_on(method, state, updates, self.seconds, report, slice_size=slice_size)


@dataclass(frozen=True)
class About:
    """What a certificate says of the data besides the numbers: their fingerprint and classes."""

    fingerprint: Future[str] | LaterName
    classes: tuple[str, ...]
    positive: int = 1

    @classmethod
    def known(cls, name: str, classes: Any, positive: int = 1) -> About:
        """Take a fingerprint that is made; "" for a proof that is not handed on."""
        return cls(AtOnce().submit(str, name), tuple(str(name) for name in classes), positive)


@dataclass(frozen=True, eq=False)
class Fitted:
    """One machine, solved and proved."""

    proof: Any
    status: Status
    updates: int
    passes: float
    solver: str = ""
    weights: np.ndarray = field(default_factory=lambda: np.zeros(0))  # [b, w]
    signs: np.ndarray = field(default_factory=lambda: np.zeros(0))
    bias_interval: tuple[float, float] = (0.0, 0.0)


class Method(Protocol[Result_co]):
    """A machine under way; made from problem, effort, about, first and report."""

    attempts: int

    def solve(self) -> Status:
        """Run to the gap aimed at, and say why the run ended."""

    def prove(self, is_last: bool) -> float:
        """Prove the gap from the data and return it; inf where it is too early for a proof."""

    def tighten(self, status: Status) -> bool:
        """Aim at a smaller gap; return whether that is any use after a run that ended so."""

    def fitted(self, status: Status) -> Result_co:
        """Return what was found."""


def solve_and_prove(
    method: Callable[..., Method[Result_co]],
    problem: Any,
    effort: Effort,
    about: About,
    first: Any = None,
    report: Report | None = None,
) -> Result_co:
    """Solve a problem to a proved gap of at most the tolerance, or to the end of the budget.

    Parameters
    ----------
    method : callable
        Makes a `Method` of the other five: `Hyperplane`, `CrammerSinger`, `InBlocks` and so on.
    problem : object
        What the method solves.
    effort : Effort
        How far to go, and when to stop.
    about : About
        What the certificate says of the data.
    first : object, default=None
        Where to start: what another run of this method ended with.
    report : callable, default=None
        Takes the state of the solver a few times a second.

    Returns
    -------
    Fitted, or what the method returns
        With the status OPTIMAL where the gap is proved, else why the run ended.
    """
    machine = method(problem, effort, about, first, report)
    for left in reversed(range(machine.attempts)):
        status = machine.solve()
        if machine.prove(is_last=not left) <= effort.tol:
            return machine.fitted(Status.OPTIMAL)
        if not left or not machine.tighten(status):
            break
    return machine.fitted(Status.UNPROVED if status.is_final else status)


class Hyperplane:
    """Two classes, or one against the rest, by the solver that suits the rows."""

    attempts = _TIGHTENINGS

    def __init__(
        self, problem: MachineProblem, effort: Effort, about: About, first: Any, report: Any
    ) -> None:
        self.problem, self.effort, self.about, self.report = problem, effort, about, report
        planned = plan(problem) if effort.solver == "auto" else Plan(effort.solver)
        if problem.is_hard and planned.solver == "dual_coordinate" and np.isinf(effort.deadline):
            # Passes do not tell an impossible margin from a slow one; a deadline ends either.
            refuse_if_inseparable(problem)
        self.aim = first_tolerance(problem, effort)
        self.solvers = TwoSolvers(problem, effort, planned, self.aim, first)

    def solve(self) -> Status:
        """Run the solver, and a second one where the first gets nowhere."""
        status = self.solvers.go_on(self.aim, self.report)
        self.claims = self.solvers.run.claims()
        self.is_rough = not self.claims.is_settled and status.is_final
        return status

    def prove(self, is_last: bool) -> float:
        """Prove the gap, unless the support vectors are not settled and may yet be."""
        if self.is_rough and not is_last:
            return np.inf
        problem, claims = self.problem, self.claims
        self.is_rough, self.proof = False, self._proof(claims.w, claims.alpha)
        if self.proof.gap > _NOTHING_PROVED and problem.ridge > 0.0 and not problem.is_hard:
            # Huge columns drown alpha in the bounds of their rounding: none at all proves more.
            self.proof = self._proof(claims.w, np.zeros_like(claims.alpha))
        return float(self.proof.gap)

    def tighten(self, status: Status) -> bool:
        """Aim lower: at first a little, where the proof fell little short of the run."""
        tol = self.effort.tol
        if self.is_rough:
            self.aim *= 0.1
        else:
            nearly = self.aim == tol and self.proof.gap <= _NEARLY * tol
            self.aim *= 0.5 if nearly else 1e-3
        return status.is_final

    def fitted(self, status: Status) -> Fitted:
        """Return the machine; a hard margin that is not there is refused with its witness."""
        problem = self.problem
        if status is Status.UNPROVED and _needs_no_slack(problem, self.claims.alpha):
            self._take_hard_margin()
            status = Status.OPTIMAL if self.proof.gap <= self.effort.tol else status
        if problem.is_hard and not self.proof.holds and self.effort.seconds > 0.0:
            refuse_if_inseparable(problem)
        runs = self.solvers.runs
        return Fitted(
            proof=self.proof,
            status=status,
            updates=sum(run.state.updates for run in runs),
            passes=sum(run.state.passes for run in runs),
            solver=runs[-1].solver,
            weights=self.claims.w,
            signs=problem.signs,
            bias_interval=self._bias_interval(),
        )

    def _bias_interval(self) -> tuple[float, float]:
        """Return the interval of equally good biases; that of other weights is no help."""
        bias, (low, high) = float(self.claims.w[0]), self.claims.bias_interval
        return (low, high) if low <= bias <= high else (bias, bias)

    def _take_hard_margin(self) -> None:
        """Take the claims of the hard margin, if they prove more.

        With no slack, and no dual variable above its cost, they are optimal for both problems. The
        weights are made longer by a tiny share: the margins are then above 1 in spite of rounding.
        A large C would charge for every margin just below 1.
        """
        problem, effort = self.problem, self.effort
        hard = replace(problem, costs=np.where(problem.costs > 0.0, np.inf, 0.0))
        run = begun(hard, self.solvers.run.solver, effort)
        run.go_on(first_tolerance(hard, effort), effort.deadline, None)
        found = run.claims()
        if not (found.alpha <= problem.costs).all():
            return
        for hair in _HAIRS:
            w = found.w * (1.0 + hair)
            interval = interval_for(problem, w, found.bias_interval)
            longer = replace(found, w=w, bias_interval=interval)
            again = self._proof(longer.w, longer.alpha)
            if again.gap < _MARKEDLY * self.proof.gap:
                self.claims, self.proof = longer, again
            if self.proof.gap <= effort.tol:
                break

    def _proof(self, w: np.ndarray, alpha: np.ndarray) -> DualityGap:
        return proved_gap(self.problem, w, alpha, self.about, self.effort.tol)


def _needs_no_slack(problem: MachineProblem, alpha: np.ndarray) -> bool:
    """Whether every multiplier is far below its cost: the machine is then that of no slack."""
    used = problem.costs > 0.0
    if problem.loss != HINGE or problem.is_hard or not used.any():
        return False
    return bool((alpha[used] < _FAR_BELOW * problem.costs[used]).all())


def proved_gap(
    problem: MachineProblem, w: np.ndarray, alpha: np.ndarray, about: About, tol: float
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
        positive=about.positive,
        data_sha256=about.fingerprint.result(),
        tol=tol,
        classes=about.classes,
    )


def first_tolerance(problem: Any, effort: Effort) -> float:
    """Return the gap to come to before a proof is first looked for."""
    if problem.X.shape[0] * problem.X.shape[1] <= _SMALL:
        # Where exactness costs next to nothing, weight 2 and two copies agree to all digits.
        return min(effort.tol, _SMALL_TOL)
    return effort.tol


def verdict_of(problem: MachineProblem) -> Verdict:
    """Return whether the rows that count are separable."""
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


# ---- how a hyperplane is solved: by a solver, and by a second one where the first gets nowhere

_NEWTON_TURN, _TURN = 120.0, 40.0  # passes: the first turns of Newton's method and of the other


class TwoSolvers:
    """The run under way, the one that gave way, and when to look next; `plan` names the solvers."""

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


# ---- models whose errors alone count, as those of folds: solved as any other, but not proved
#
# Nothing of such a model is handed on, so nothing rests on its proof, which would take a third of
# the time. The solver computes how near the optimum it is. Where that is not near enough, the model
# is solved and proved as any other.


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
