"""Solve one or many kernel machines over the same rows, prove them, and go further where needed."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._device import torch_module
from separatrix.certificates.device_scores import device_scores
from separatrix.certificates.kernel_claims import smallest_eigenvalue
from separatrix.certificates.kernel_gap import KernelGap
from separatrix.certificates.kernel_scores import (
    Expected,
    KernelRowsInProof,
    Scores,
    kernel_scores,
)
from separatrix.errors import DataError
from separatrix.estimators._kernel_effort import (
    LEAST_FACTORED_TOL,
    KernelData,
    KernelEffort,
    chunks_at,
    inner_tolerance,
    is_small,
    rows_at,
)
from separatrix.problem.kernel_machine import KernelMachine
from separatrix.problem.kernels import Kernel
from separatrix.solvers.kernels import chunking, factored_kernel
from separatrix.solvers.kernels.smo import CHUNK
from separatrix.solvers.linear.balance import balanced
from separatrix.solvers.linear.claims import hinge_bias_interval
from separatrix.solvers.linear.device.device_claims import balanced as balanced_on_device
from separatrix.solvers.running.drive import Status, go_on

__all__ = ["KernelFitted", "Task", "first_goal", "solve_kernel_machines"]

_ATTEMPTS = 5
_FIRST_SLICE = 1 << 14
# A chunk's rows settle in tens of steps each; so many more mean that pairs get nowhere.
_FEW_STEPS, _FEW_STEPS_A_ROW = 5_000, 200
_MANY_STEPS, _MANY_STEPS_A_ROW = 100_000, 1_000
_ENTRIES_TOGETHER = 1 << 23


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


@dataclass(frozen=True, eq=False)
class KernelFitted:
    """One machine, solved and proved."""

    proof: KernelGap
    status: Status
    updates: int
    rounds: int


@dataclass
class _Run:
    task: Task
    machine: KernelMachine
    state: Any
    status: Status
    alpha: np.ndarray  # of all rows, balanced
    proof: KernelGap | None = None
    gaps: tuple[float, ...] = ()


def solve_kernel_machines(
    data: KernelData, tasks: list[Task], effort: KernelEffort, pool: ThreadPoolExecutor | None
) -> list[KernelFitted]:
    """Return the machines, each solved to the tolerance or to the end of the budget."""
    hard = any(np.isinf(task.costs).any() for task in tasks)
    rows = rows_at(data.device, data.kernel, data.X, effort, pool, hard)
    n = data.X.shape[0]
    if rows.capacity == n and _values_needed(tasks) >= n * n:
        rows.fetch(np.arange(n))  # machines will ask for most of them, and more than once
    proving = KernelRowsInProof(data.kernel, data.X)
    together = max(1, _ENTRIES_TOGETHER // len(tasks[0].signs))
    fitted = []
    for begin in range(0, len(tasks), together):
        runs = [_first_run(task, rows, data, effort) for task in tasks[begin : begin + together]]
        fitted += _proved(runs, data, effort, proving, pool)
    return fitted


def _values_needed(tasks: list[Task]) -> int:
    """Return about how many values the chunks of several machines come to: every row twice."""
    sizes = [int(np.count_nonzero(task.signs)) for task in tasks] if len(tasks) > 2 else []
    return sum(2 * size * min(size, CHUNK) for size in sizes)


def first_goal(effort: KernelEffort, kernel: Kernel, n_rows: int) -> tuple[float, int]:
    """Return the gap and the pair steps after which a fit first stops to look, for replays."""
    return inner_tolerance(effort, n_rows), _budget(is_small(kernel, n_rows), n_rows)


def _budget(small: bool, n_rows: int) -> int:
    if small:
        return _FEW_STEPS + _FEW_STEPS_A_ROW * n_rows
    return _MANY_STEPS + _MANY_STEPS_A_ROW * n_rows


def _first_run(task: Task, rows: Any, data: KernelData, effort: KernelEffort) -> _Run:
    machine = task.machine()
    tol = inner_tolerance(effort, len(machine.signs))
    state = chunking.start(machine, kernel_rows=rows, tol=tol, **chunks_at(data.device))
    run = _Run(task, machine, state, Status.BUDGET, np.zeros(len(task.signs)))
    _go_on(run, data, effort)
    return run


def _go_on(run: _Run, data: KernelData, effort: KernelEffort) -> None:
    seconds = effort.deadline - time.perf_counter()
    n = len(run.machine.signs)
    small = is_small(data.kernel, n)
    run.status = go_on(chunking, run.state, _budget(small, n), seconds, slice_size=_FIRST_SLICE)
    alpha, _ = chunking.current(run.state)  # a budget may end inside a chunk
    if small and run.status is Status.BUDGET and time.perf_counter() < effort.deadline:
        rows = data.X[run.machine.members]
        K = data.kernel.block(rows, rows)
        tol = max(run.state.tol, LEAST_FACTORED_TOL)
        better = factored_kernel.solve_factored(run.machine, K, tol, effort.deadline)
        if better is not None:
            alpha, run.status = better, Status.SETTLED
    run.state.kept = None
    machine = run.machine
    run.alpha[machine.members] = _balanced_at(data.device, alpha, machine.signs, machine.costs)


def _balanced_at(device: Any, *arrays: np.ndarray) -> np.ndarray:
    """Return multipliers with a sum of exactly zero; beside a device without a loop over them."""
    if device is None:
        return balanced(*arrays)
    torch = torch_module()
    there = [torch.as_tensor(array, dtype=torch.float64, device=device) for array in arrays]
    return np.asarray(balanced_on_device(*there).cpu().numpy())


def _proved(
    runs: list[_Run],
    data: KernelData,
    effort: KernelEffort,
    proving: KernelRowsInProof,
    pool: ThreadPoolExecutor | None,
) -> list[KernelFitted]:
    waiting = runs
    for attempt in range(_ATTEMPTS):
        shares = np.column_stack([run.task.signs * run.alpha for run in waiting])
        expected = None
        if attempt == 0:  # later ones go on from these scores, and need them all
            signs = np.column_stack([run.task.signs for run in waiting])
            expected = Expected(signs, np.array([run.state.bias for run in waiting]))
        if data.device is None:
            scores = kernel_scores(proving, shares, effort.workers, expected)
        else:
            scores = device_scores(proving, shares, data.device)
        for k, run in enumerate(waiting):
            _prove(run, data, proving, scores.of(k))
            _judge(run, effort)
        waiting = [run for run in waiting if run.status is Status.UNPROVED]
        if not waiting or attempt == _ATTEMPTS - 1:
            break
        for run in waiting:
            _continue(run, data, effort, pool)
    return [_finished(run) for run in runs]


def _prove(run: _Run, data: KernelData, proving: KernelRowsInProof, scores: Scores) -> None:
    task, members = run.task, run.machine.members
    if not np.isfinite(run.alpha).all():
        raise DataError(
            f"C=inf asks for a hard margin, and with the kernel {data.kernel.name!r}, which is not "
            "positive, nothing bounds its dual variables. Use a finite C, or another kernel."
        )
    g = scores.values[:, 0]
    bias = _best_bias(run.machine, run.alpha[members], g[members])
    smallest = math.nan
    if not data.kernel.is_positive:
        support = np.flatnonzero(run.alpha)
        if data.order is not None:  # as given, so that a check takes the same sample
            support = support[np.argsort(data.order[support])]
        smallest = smallest_eigenvalue(proving, support)
    proof = KernelGap.proved(
        scores,
        task.signs,
        kernel=data.kernel,
        costs=task.costs,
        multipliers=run.alpha.copy(),
        bias=bias,
        n_features=data.X.shape[1],
        smallest=smallest,
        curved=run.state.negative_curvature,
        positive=task.positive,
        negative=task.negative,
        data_sha256=data.fingerprint.result(),
        classes=data.classes,
    )
    run.state.scores = g[members]
    run.gaps = (*run.gaps, proof.gap)
    if run.proof is None or not run.proof.gap <= proof.gap:
        run.proof = proof  # rounding may make a later one worse


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


def _judge(run: _Run, effort: KernelEffort) -> None:
    """Say how the run ended, now that its gap is proved."""
    proof = run.proof
    assert proof is not None
    if not proof.is_convex:
        run.status = Status.STATIONARY if run.status is not Status.BUDGET else run.status
    elif run.status is Status.NOT_SEPARABLE:
        pass
    elif proof.gap <= effort.tol:
        run.status = Status.OPTIMAL
    elif run.status is not Status.BUDGET:
        run.status = Status.UNPROVED


def _continue(
    run: _Run, data: KernelData, effort: KernelEffort, pool: ThreadPoolExecutor | None
) -> None:
    """Go on from scores in float64; if that helped little last time, with float64 rows too."""
    state, members = run.state, run.machine.members
    tol = 0.5 * inner_tolerance(effort, len(members))
    helped = len(run.gaps) < 2 or run.gaps[-1] < 0.3 * run.gaps[-2]
    if not helped and state.kernel_rows.is_float32:
        state.kernel_rows = rows_at(data.device, data.kernel, data.X, effort, pool, True)
        state.size = min(state.size, state.kernel_rows.capacity)
        state.last = state.last[:0]
    chunking.resume(state, run.alpha[members], state.scores, tol)
    _go_on(run, data, effort)


def _finished(run: _Run) -> KernelFitted:
    assert run.proof is not None
    return KernelFitted(run.proof, run.status, run.state.updates, run.state.rounds)
