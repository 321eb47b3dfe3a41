"""One or many kernel machines over the same rows: their method, solved, proved and taken further.

The machines are solved one by one. Their proofs share one pass over the kernel's values, so all of
them wait for it and then go on where their gaps fall short.
"""

from __future__ import annotations

import inspect
import math
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from separatrix._device import torch_module
from separatrix.certificates.kernel_gap import KernelGap, least_eigenvalue
from separatrix.certificates.kernel_scores import (
    Expected,
    KernelRowsInProof,
    Scores,
    device_scores,
    kernel_scores,
)
from separatrix.certificates.kernel_separation import KernelOverlap
from separatrix.core.proving import About, Effort, Fitted, solve_and_prove
from separatrix.errors import DataError, NotSeparableError
from separatrix.problem.canonical import equal_pair, signs_of
from separatrix.problem.kernels import Kernel
from separatrix.problem.machine import KernelMachine
from separatrix.problem.signed import entries_of
from separatrix.solvers.kernels import chunking, kernel_sources
from separatrix.solvers.kernels.device_kernel import device_kernel_rows
from separatrix.solvers.kernels.kernel_rows import kernel_rows
from separatrix.solvers.kernels.smo import CHUNK, pair_steps
from separatrix.solvers.linear.claims import balanced, hinge_bias_interval
from separatrix.solvers.linear.device.device_claims import balanced as balanced_on_device
from separatrix.solvers.running.drive import AtOnce, Status, begun

LEAST_FACTORED_TOL = 1e-10
_AIM = 0.9  # of the tolerance: what float32 hides must fit into the rest
_SMALL, _SMALL_TOL = 300, 1e-11
_ATTEMPTS = 5
_FIRST_SLICE = 1 << 14
# A chunk's rows settle in tens of steps each; so many more mean that pairs get nowhere.
_FEW_STEPS, _FEW_STEPS_A_ROW = 5_000, 200
_MANY_STEPS, _MANY_STEPS_A_ROW = 100_000, 1_000
_ENTRIES_TOGETHER = 1 << 23
_LEAST_CHUNK = 4  # rows; two would be SMO
# A margin below this share of the longest row is none that floating point can find.
_AS_GOOD_AS_NONE = 1e-6


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """Rows, their kernel, and the machines over them: tasks, or one machine of all classes."""

    kernel: Kernel
    X: Any
    machines: Any
    order: np.ndarray | None = None  # which row as given each one is, where they are sorted
    device: Any = None  # where kernel values are computed; None: on the processor
    solver: str = "auto"


@dataclass(frozen=True, eq=False)
class Task:
    """One machine: which class against which (-1: all others), signs and costs of all rows."""

    positive: int
    negative: int
    signs: np.ndarray
    costs: np.ndarray

    def machine(self) -> KernelMachine:
        """Return the part of the rows that this machine is about."""
        members = np.arange(len(self.signs))
        if self.negative >= 0:
            members = np.flatnonzero(self.signs)
        return KernelMachine(self.signs[members], self.costs[members], members)


@dataclass
class _Run:
    """One machine under way."""

    task: Task
    machine: KernelMachine
    state: Any
    status: Status
    alpha: np.ndarray  # of all rows, balanced
    proof: KernelGap | None = None
    gaps: tuple[float, ...] = ()

    def fitted(self) -> Fitted:
        """Return the machine with the best of its proofs."""
        return Fitted(self.proof, self.status, self.state.updates, self.state.rounds)


def solve_kernel_machines(
    problem: KernelProblem, effort: Effort, about: About
) -> tuple[list[Fitted], float]:
    """Return the machines, and how many rows of the kernel matrix their steps needed.

    Each machine is solved to the tolerance or to the end of the budget.
    """
    tasks = problem.machines
    hard = any(np.isinf(task.costs).any() for task in tasks)
    as_needed = problem.solver != "auto"
    rows = rows_at(problem.device, problem.kernel, problem.X, effort, effort.pool, hard, as_needed)
    n = problem.X.shape[0]
    if not as_needed and rows.capacity == n and _values_needed(tasks) >= n * n:
        rows.fetch(np.arange(n))  # machines will ask for most of them, and more than once
    used = [rows]
    X, pool = problem.X, effort.pool or AtOnce()
    proving = begun(pool, entries_of(X), KernelRowsInProof, problem.kernel, X)  # beside the steps
    method = partial(KernelMachines, rows=used, proving=proving)
    together = max(1, _ENTRIES_TOGETHER // len(tasks[0].signs))
    fitted = []
    for begin in range(0, len(tasks), together):
        part = replace(problem, machines=tasks[begin : begin + together])
        fitted += solve_and_prove(method, part, effort, about)
    return fitted, sum(each.computed for each in used) / n


class KernelMachines:
    """Machines by working sets of rows (`chunking`), proved together."""

    attempts = _ATTEMPTS

    def __init__(
        self,
        problem: KernelProblem,
        effort: Effort,
        about: About,
        first: Any,
        report: Any,
        *,
        rows: list[Any],
        proving: Future[KernelRowsInProof],
    ) -> None:
        self.problem, self.effort, self.about, self.proving = problem, effort, about, proving
        self.rows = rows  # the ones to begin with, and any that are made later
        self.runs = [self._begun(task, rows[0]) for task in problem.machines]
        self.waiting = self.runs

    def _begun(self, task: Task, rows: Any) -> _Run:
        machine = task.machine()
        solver, n = self.problem.solver, len(machine.signs)
        tol = inner_tolerance(self.effort, len(task.signs), solver)
        size = chunk_size(solver, n)
        how = chunks_at(self.problem.device)
        state = chunking.start(machine, kernel_rows=rows, tol=tol, size=size, **how)
        return _Run(task, machine, state, Status.BUDGET, np.zeros(len(task.signs)))

    def solve(self) -> Status:
        """Take every machine that waits further."""
        for run in self.waiting:
            self._go_on(run)
        return Status.UNPROVED

    def _go_on(self, run: _Run) -> None:
        machine, kernel, effort = run.machine, self.problem.kernel, self.effort
        n = len(machine.signs)
        small = is_small(kernel, n) and self.problem.solver == "auto"
        run.status = effort.go_on(chunking, run.state, _budget(small, n), None, _FIRST_SLICE)
        alpha, _ = chunking.current(run.state)  # a budget may end inside a chunk
        if small and run.status is Status.BUDGET and effort.seconds > 0.0:
            rows = self.problem.X[machine.members]
            tol = max(run.state.tol, LEAST_FACTORED_TOL)
            K = kernel.block(rows, rows)
            better = kernel_sources.solve_factored(machine, K, tol, effort.deadline)
            if better is not None:
                alpha, run.status = better, Status.SETTLED
        run.state.kept = None
        device = self.problem.device
        run.alpha[machine.members] = _balanced_at(device, alpha, machine.signs, machine.costs)

    def prove(self, is_last: bool) -> float:
        """Prove the machines that wait, by one pass; return the largest gap that falls short."""
        waiting = self.waiting
        shares = np.column_stack([run.task.signs * run.alpha for run in waiting])
        if self.problem.device is not None:
            scores = device_scores(self.proving.result(), shares, self.problem.device)
        else:
            expected = None
            if waiting is self.runs:  # the first time; later ones go on from all these scores
                signs = np.column_stack([run.task.signs for run in waiting])
                expected = Expected(signs, np.array([run.state.bias for run in waiting]))
            scores = kernel_scores(self.proving.result(), shares, self.effort.workers, expected)
        for k, run in enumerate(waiting):
            self._prove(run, scores.of(k))
            self._judge(run)
        self.waiting = [run for run in waiting if run.status is Status.UNPROVED]
        return max((run.gaps[-1] for run in self.waiting), default=0.0)

    def _prove(self, run: _Run, scores: Scores) -> None:
        task, members, problem = run.task, run.machine.members, self.problem
        if not np.isfinite(run.alpha).all():
            raise DataError(
                f"C=inf asks for a hard margin, and with the kernel {problem.kernel.name!r}, which "
                "is not positive, nothing bounds its dual variables. Use a finite C, or another "
                "kernel."
            )
        g, known = scores.values[:, 0], run.proof
        bias = _best_bias(run.machine, run.alpha[members], g[members])
        with np.errstate(over="ignore", invalid="ignore"):
            margins = task.signs * (g + bias)
        proof = KernelGap.proved(
            scores,
            task.signs,
            kernel=problem.kernel,
            costs=task.costs,
            multipliers=run.alpha.copy(),
            bias=bias,
            margins=margins,
            n_features=problem.X.shape[1],
            smallest=self._smallest_eigenvalue(run),
            curved=run.state.negative_curvature,
            positive=task.positive,
            negative=task.negative,
            data_sha256=self.about.fingerprint.result(),
            classes=self.about.classes,
        )
        run.state.scores = g[members]
        run.gaps = (*run.gaps, proof.gap)
        # Rounding may make a later one worse; a kernel that was refuted since has no bounds.
        if known is None or proof.curved > known.curved or not known.gap <= proof.gap:
            run.proof = proof

    def _smallest_eigenvalue(self, run: _Run) -> float:
        support, order = np.flatnonzero(run.alpha), self.problem.order
        if order is not None:  # as given, so that a check takes the same sample
            support = support[np.argsort(order[support])]
        return least_eigenvalue(self.proving.result(), support)

    def _judge(self, run: _Run) -> None:
        """Say how the run ended, now that its gap is proved."""
        proof = run.proof
        assert proof is not None
        if not proof.is_convex:
            run.status = Status.STATIONARY if run.status is not Status.BUDGET else run.status
        elif run.status is Status.NOT_SEPARABLE:
            pass
        elif proof.gap <= self.effort.tol:
            run.status = Status.OPTIMAL
        elif run.status is not Status.BUDGET:
            run.status = Status.UNPROVED

    def tighten(self, status: Status) -> bool:
        """Resume from scores in float64; if that helped little last time, with float64 rows too."""
        problem, effort = self.problem, self.effort
        for run in self.waiting:
            state, members = run.state, run.machine.members
            helped = len(run.gaps) < 2 or run.gaps[-1] < 0.3 * run.gaps[-2]
            if not helped and state.kernel_rows.is_float32:
                kernel, X = problem.kernel, problem.X
                as_needed = problem.solver != "auto"
                state.kernel_rows = rows_at(
                    problem.device, kernel, X, effort, effort.pool, True, as_needed
                )
                self.rows.append(state.kernel_rows)
                state.size = min(state.size, state.kernel_rows.capacity)
                state.last = state.last[:0]
            tol = 0.5 * inner_tolerance(effort, len(run.task.signs), problem.solver)
            chunking.resume(state, run.alpha[members], state.scores, tol)
        return bool(self.waiting)

    def fitted(self, status: Status) -> list[Fitted]:
        """Return every machine; each has a status of its own."""
        return [run.fitted() for run in self.runs]


def _values_needed(tasks: list[Task]) -> int:
    """Return about how many values the chunks of several machines come to: every row twice."""
    sizes = [int(np.count_nonzero(task.signs)) for task in tasks] if len(tasks) > 2 else []
    return sum(2 * size * min(size, CHUNK) for size in sizes)


def first_goal(
    effort: Effort, kernel: Kernel, task: Task, solver: str = "auto"
) -> tuple[float, int, int]:
    """Return the gap and the pair steps after which a fit first stops to look, for replays.

    And the rows of a chunk.
    """
    n_rows = len(task.machine().signs)
    small = is_small(kernel, n_rows) and solver == "auto"
    goal = inner_tolerance(effort, len(task.signs), solver), _budget(small, n_rows)
    return *goal, chunk_size(solver, n_rows)


def chunk_size(solver: str, n_rows: int) -> int:
    """Return how many rows are worked on at a time.

    "chunking" takes a quarter of few rows: a chunk that held them all would be none.

    >>> [chunk_size(solver, 100) for solver in ("auto", "smo", "chunking")]
    [1024, 2, 25]
    """
    if solver == "smo":
        return 2
    return CHUNK if solver == "auto" else min(CHUNK, max(_LEAST_CHUNK, n_rows // 4))


def _budget(small: bool, n_rows: int) -> int:
    if small:
        return _FEW_STEPS + _FEW_STEPS_A_ROW * n_rows
    return _MANY_STEPS + _MANY_STEPS_A_ROW * n_rows


def _balanced_at(device: Any, *arrays: np.ndarray) -> np.ndarray:
    """Return multipliers with a sum of exactly zero; beside a device without a loop over them."""
    if device is None:
        return balanced(*arrays)
    torch = torch_module()
    there = [torch.as_tensor(array, dtype=torch.float64, device=device) for array in arrays]
    return np.asarray(balanced_on_device(*there).cpu().numpy())


def _best_bias(machine: KernelMachine, alpha: np.ndarray, g: np.ndarray) -> float:
    """Return the best bias for these scores; in an interval of them, the free rows' mean."""
    f = g - machine.signs
    free = (alpha > 0.0) & (alpha < machine.costs)
    if machine.is_hard or not np.isfinite(g).all():
        low, high = chunking.violation(machine, alpha, f)
        return -0.5 * (low + high) if math.isfinite(low + high) else 0.0
    low, high = hinge_bias_interval(g, machine.signs, machine.costs)
    middle = -float(f[free].mean()) if free.any() else 0.5 * (low + high)
    return float(min(max(middle, low), high))


def rows_at(
    device: Any,
    kernel: Kernel,
    X: Any,
    effort: Effort,
    pool: Any,
    precise: bool = False,
    as_needed: bool = False,
) -> Any:
    """Return rows of the kernel matrix, made on a device or, where that is None, here."""
    if device is None:
        how = {"precise": precise, "as_needed": as_needed}
        return kernel_rows(kernel, X, effort.cache_bytes, pool, **how)
    return device_kernel_rows(kernel, X, device, effort.cache_bytes, precise)


def chunks_at(device: Any) -> dict[str, Any]:
    """Return how chunks are worked on beside a device: where no loop is compiled, by arrays."""
    if device is None:
        return {}
    return {"by_arrays": inspect.isfunction(pair_steps)}


def is_small(kernel: Kernel, n_rows: int) -> bool:
    """Whether the kernel matrix can be factored."""
    return n_rows <= kernel_sources.MOST_ROWS and bool(kernel.is_positive)


def inner_tolerance(effort: Effort, n_rows: int, solver: str = "auto") -> float:
    """Return the gap to stop at before the first proof, for data of so many rows."""
    # Where exactness costs next to nothing, weight 2 and two copies agree to all digits. A solver
    # chosen by name stops where its tolerance says, so that steps can be compared.
    small = n_rows <= _SMALL and solver == "auto"
    tol = min(effort.tol, _SMALL_TOL) if small else effort.tol
    return _AIM * tol


def no_kernel_margin(X: Any, codes: np.ndarray, proof: KernelGap) -> NotSeparableError | None:
    """Return the error for a machine whose multipliers ran off because nothing bounds them.

    Equal rows of different classes are the better witness, since they need no rounding. Without
    them what is proved is that no margin is above a tiny share of the rows' length. None where not
    even that is: then the machine is merely unproved.
    """
    signs = np.where(proof.costs > 0.0, signs_of(codes, proof.positive, proof.negative), 0.0)
    alpha, same = proof.multipliers, equal_pair(X, signs)
    if same is not None:
        alpha = np.zeros(len(codes))
        alpha[list(same)] = 1.0
    witness = KernelOverlap.proved(
        X, codes, alpha, kernel=proof.kernel, positive=proof.positive, negative=proof.negative,
        data_sha256=proof.data_sha256, classes=proof.classes,
    )  # fmt: skip
    if same is not None:
        why = f"rows {same[0]} and {same[1]} are equal and of different classes"
        remedy = "Leave one of them out, or use a finite C, which lets rows stand inside the margin"
    elif witness.holds and witness.margin <= _AS_GOOD_AS_NONE * witness.length < math.inf:
        exact = "there is none" if witness.margin == 0.0 else "there is none that can be computed"
        why = f"{exact} ({witness})"
        remedy = (
            "Use a finite C, which lets rows stand inside the margin, or a larger gamma or degree"
        )
    else:
        return None
    return NotSeparableError(
        f"C=inf asks for a hard margin in the kernel's space, and {why}. {remedy}.", witness
    )
