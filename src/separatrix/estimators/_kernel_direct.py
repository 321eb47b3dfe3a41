"""The direct machine of many classes with a kernel: solve, prove, and go further where needed."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.certificates.kernel_claims import least_eigenvalue
from separatrix.certificates.kernel_multiclass_gap import (
    KernelMulticlassGap,
    prove_kernel_multiclass_gap,
    shares_of,
)
from separatrix.certificates.kernel_scores import KernelRowsInProof, kernel_scores
from separatrix.errors import DataError, DeviceError
from separatrix.estimators._kernel_machines import (
    LEAST_FACTORED_TOL,
    KernelData,
    KernelEffort,
    inner_tolerance,
    is_small,
)
from separatrix.problem.kernel_direct import KernelDirect
from separatrix.solvers import kernel_direct
from separatrix.solvers._drive import Status, go_on
from separatrix.solvers._mass_claims import all_at_home, exactly_feasible
from separatrix.solvers.centred_rows import centred_rows
from separatrix.solvers.factored_direct import solve_factored_direct
from separatrix.solvers.kernel_rows import kernel_rows

__all__ = ["DirectFitted", "refuse_direct", "shown", "solve_kernel_direct"]

_ATTEMPTS = 5
# Chunks in which visits settle, if they get on at all.
_FEW_CHUNKS, _MANY_CHUNKS = 2_000, 100_000


@dataclass(frozen=True, eq=False)
class DirectFitted:
    """The machine, solved and proved."""

    proof: KernelMulticlassGap
    status: Status
    updates: int
    rounds: int


@dataclass
class _Point:
    """Masses that balance exactly, their biases, and whether a factor of the kernel gave them."""

    masses: np.ndarray
    bias: np.ndarray
    status: Status
    is_factored: bool = False


def refuse_direct(machine: Any, place: Any) -> None:
    """Say in words what the direct machine does not do."""
    if np.isinf(machine.C):
        raise ValueError(
            "multi_class='direct' needs a finite C. Got inf instead. Use a large C, or "
            "multi_class='ovo' for hard margins."
        )
    if machine.kernel_.name == "sigmoid":
        raise ValueError(
            "multi_class='direct' needs a positive kernel, which 'sigmoid' is not. Use 'rbf', "
            "'poly' or 'linear', or multi_class='ovo'."
        )
    if place is not None and place.type != "cpu":
        raise DeviceError(
            "multi_class='direct' is worked out on the processor: use device='cpu', or "
            "multi_class='ovo'."
        )


def shown(values: np.ndarray) -> np.ndarray:
    """Return one row a class; two classes are told apart by the difference, one row as everywhere.

    >>> shown(np.array([[1.0], [3.0]])).tolist()
    [[2.0]]
    """
    return values[1:] - values[:1] if len(values) == 2 else values


def solve_kernel_direct(
    data: KernelData, machine: KernelDirect, effort: KernelEffort, pool: ThreadPoolExecutor | None
) -> DirectFitted:
    """Return the machine, solved to the tolerance asked for or to the end of the budget."""
    n = len(machine.codes)
    state = kernel_direct.start(
        machine, kernel_rows=_rows(data, effort, pool), tol=inner_tolerance(effort, n)
    )
    proving = KernelRowsInProof(data.kernel, data.X)
    proof, gaps = None, [math.inf]
    for attempt in range(_ATTEMPTS):
        point = _go_on(state, data, effort)
        found, scores = _proved(point, data, machine, effort, proving)
        if not found.is_convex:
            raise DataError(_NOT_POSITIVE.format(found.smallest))
        gaps.append(found.gap)
        if proof is None or found.gap < proof.gap:
            proof = found
        over = time.perf_counter() >= effort.deadline or point.is_factored
        if proof.gap <= effort.tol or over or attempt == _ATTEMPTS - 1:
            break
        helped = gaps[-1] < 0.3 * gaps[-2]
        if not helped and state.kernel_rows.is_float32:
            state.kernel_rows = _rows(data, effort, pool, precise=True)
            state.size = min(state.size, state.kernel_rows.capacity)
            state.last = state.last[:0]
        kernel_direct.resume(state, point.masses, scores, 0.5 * inner_tolerance(effort, n))
    assert proof is not None
    status = Status.OPTIMAL if proof.gap <= effort.tol else point.status
    if status.is_final and proof.gap > effort.tol:
        status = Status.UNPROVED
    return DirectFitted(proof, status, state.steps, state.updates)


_NOT_POSITIVE = (
    "The kernel's values are not those of a positive kernel (an eigenvalue is {:.2g} of the "
    "largest), and multi_class='direct' needs one. Use multi_class='ovo', which ends in a "
    "stationary point and says so, or another kernel."
)


def _rows(data: KernelData, effort: KernelEffort, pool: Any, precise: bool = False) -> Any:
    rows = kernel_rows(data.kernel, data.X, effort.cache_bytes, pool, precise=precise)
    with np.errstate(over="ignore", invalid="ignore"):
        return centred_rows(rows, data.kernel, data.X)


def _go_on(state: Any, data: KernelData, effort: KernelEffort) -> _Point:
    """Work until the run ends by itself or its budget does; where visits get nowhere, factor K."""
    machine = state.machine
    n = len(machine.codes)
    small = is_small(data.kernel, n)
    with np.errstate(over="ignore", invalid="ignore"):
        seconds = effort.deadline - time.perf_counter()
        budget = _FEW_CHUNKS if small else _MANY_CHUNKS
        status = go_on(kernel_direct, state, budget, seconds, slice_size=1)
        if status is Status.OVERFLOW:
            return _Point(all_at_home(machine), np.zeros(machine.n_classes), status)
        masses, bias, factored = kernel_direct.balanced(state), None, False
        if small and status is Status.BUDGET and time.perf_counter() < effort.deadline:
            K = data.kernel.block(data.X, data.X)
            tol = max(state.tol, LEAST_FACTORED_TOL)
            better = solve_factored_direct(machine, K, tol, effort.deadline)
            if better is not None:
                (masses, bias), status, factored = better, Status.SETTLED, True
        off = exactly_feasible(masses, machine)
        masses = off.copy()
        masses[np.arange(n), machine.codes] = machine.costs - off.sum(axis=1)
        if bias is None:
            bias = kernel_direct.kernel_bias(state, masses)
    return _Point(masses, bias, status, factored)


def _proved(
    point: _Point,
    data: KernelData,
    machine: KernelDirect,
    effort: KernelEffort,
    proving: KernelRowsInProof,
) -> tuple[KernelMulticlassGap, np.ndarray]:
    off = point.masses.copy()
    off[np.arange(len(off)), machine.codes] = 0.0
    rows, rivals = np.nonzero(off)
    multipliers = off[rows, rivals]
    shares = shares_of(machine.codes, rows, rivals, multipliers, machine.n_classes)
    scores = kernel_scores(proving, shares, effort.workers)
    proof = prove_kernel_multiclass_gap(
        kernel=data.kernel,
        codes=machine.codes,
        costs=machine.costs,
        rows=rows,
        rivals=rivals,
        multipliers=multipliers,
        biases=point.bias,
        scores=scores,
        n_features=data.X.shape[1],
        smallest=least_eigenvalue(proving, shares),
        data_sha256=data.fingerprint.result(),
        classes=data.classes,
    )
    return proof, scores.values
