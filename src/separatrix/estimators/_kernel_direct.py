"""The direct machine of many classes with a kernel: solve, prove, and go further where needed."""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.certificates.kernel_claims import least_eigenvalue
from separatrix.certificates.kernel_multiclass_gap import KernelMulticlassGap, shares_of
from separatrix.certificates.kernel_scores import KernelRowsInProof, kernel_scores
from separatrix.core.one_or_all import two_as_one
from separatrix.errors import DataError, DeviceError
from separatrix.estimators._kernel_effort import (
    LEAST_FACTORED_TOL,
    KernelData,
    KernelEffort,
    inner_tolerance,
    is_small,
)
from separatrix.problem.kernel_direct import KernelDirect
from separatrix.solvers.kernels import kernel_direct
from separatrix.solvers.kernels.factored_kernel import solve_factored_direct
from separatrix.solvers.kernels.kernel_rows import centred_rows, kernel_rows
from separatrix.solvers.many_classes.class_claims import all_at_home, exactly_feasible
from separatrix.solvers.running.drive import Status, go_on

__all__ = ["DirectFitted", "keep_direct", "refuse_direct", "solve_kernel_direct"]

_ATTEMPTS = 6
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
    """Masses that balance exactly, and their biases."""

    masses: np.ndarray
    bias: np.ndarray


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
    if place is not None and place.type != "cpu" and machine.device != "auto":
        raise DeviceError(
            "multi_class='direct' is worked out on the processor: use device='cpu' and X in "
            "NumPy, or multi_class='ovo'."
        )


def solve_kernel_direct(
    data: KernelData, machine: KernelDirect, effort: KernelEffort, pool: ThreadPoolExecutor | None
) -> DirectFitted:
    """Return the machine, solved to the tolerance or to the end of the budget."""
    n = len(machine.codes)
    rows = _rows(data, effort, pool)
    tol = inner_tolerance(effort, n)
    proving = KernelRowsInProof(data.kernel, data.X)
    # No weights at all: every row falls short by 1. It is never worse than that.
    nothing = _Point(all_at_home(machine), np.zeros(machine.n_classes))
    best, _ = _proved(nothing, data, machine, effort, proving)
    small = is_small(data.kernel, n)
    gaps, is_factored = [math.inf], False
    with np.errstate(over="ignore", invalid="ignore"):
        state = kernel_direct.start(machine, kernel_rows=rows, tol=tol)
        for attempt in range(_ATTEMPTS):
            status, point = _gone_on(state, effort, _FEW_CHUNKS if small else _MANY_CHUNKS)
            found, scores = _proved(point, data, machine, effort, proving)
            if not found.is_convex:
                raise DataError(_NOT_POSITIVE.format(found.smallest))
            late = time.perf_counter() >= effort.deadline
            if found.gap > effort.tol and small and not (is_factored or late):
                # Visits get nowhere, or not far enough.
                is_factored = True
                other = _factored(data, machine, effort, state.tol)
                if other is not None:
                    again, its_scores = _proved(other, data, machine, effort, proving)
                    if again.gap < found.gap:
                        found, point, scores = again, other, its_scores
            gaps.append(found.gap)
            best = found if found.gap < best.gap else best
            late = time.perf_counter() >= effort.deadline
            if best.gap <= effort.tol or late or attempt == _ATTEMPTS - 1:
                break
            if not np.isfinite(scores).all():
                break
            if not gaps[-1] < 0.3 * gaps[-2] and state.kernel_rows.is_float32:
                state.kernel_rows = _rows(data, effort, pool, precise=True)
                state.size = min(state.size, state.kernel_rows.capacity)
                state.last = state.last[:0]
            kernel_direct.resume(state, point.masses, scores, 0.5 * tol)
            tol *= 0.5
    if best.gap <= effort.tol:
        status = Status.OPTIMAL
    elif status.is_final:
        status = Status.UNPROVED
    return DirectFitted(best, status, state.steps, state.updates)


def keep_direct(machine: Any, X: Any, codes: np.ndarray, found: DirectFitted) -> None:
    """Set what the fit leaves."""
    proof, k = found.proof, len(machine.classes_)
    machine.status_, machine.certificate_ = found.status, proof
    machine.objective_, machine.dual_objective_ = proof.primal, proof.dual
    machine.gap_, machine.intercept_ = proof.gap, two_as_one(proof.biases)
    machine.n_iter_, machine.n_passes_ = found.updates, float(found.rounds)
    shares = shares_of(codes, proof.rows, proof.rivals, proof.multipliers, k)
    machine._keep_support(X, two_as_one(np.ascontiguousarray(shares.T)))
    machine.n_support_ = np.bincount(codes[machine.support_], minlength=k)


_NOT_POSITIVE = (
    "The kernel's values are not those of a positive kernel (an eigenvalue is {:.2g} of the "
    "largest), and multi_class='direct' needs one. Use multi_class='ovo', which ends in a "
    "stationary point and says so, or another kernel."
)


def _rows(data: KernelData, effort: KernelEffort, pool: Any, precise: bool = False) -> Any:
    rows = kernel_rows(data.kernel, data.X, effort.cache_bytes, pool, precise=precise)
    with np.errstate(over="ignore", invalid="ignore"):
        return centred_rows(rows, data.kernel, data.X)


def _gone_on(state: Any, effort: KernelEffort, budget: int) -> tuple[Status, _Point]:
    """Work until the run ends by itself or its budget does; return what it has come to."""
    machine = state.machine
    seconds = effort.deadline - time.perf_counter()
    status = go_on(kernel_direct, state, budget, seconds, slice_size=1)
    if status is Status.OVERFLOW:
        return status, _Point(all_at_home(machine), np.zeros(machine.n_classes))
    masses = _exactly(kernel_direct.balanced(state), machine)
    return status, _Point(masses, kernel_direct.kernel_bias(state, masses))


def _factored(
    data: KernelData, machine: KernelDirect, effort: KernelEffort, tol: float
) -> _Point | None:
    K = data.kernel.block(data.X, data.X)
    tol = max(tol, LEAST_FACTORED_TOL)
    found = solve_factored_direct(machine, K, tol, effort.deadline)
    return None if found is None else _Point(_exactly(found[0], machine), found[1])


def _exactly(masses: np.ndarray, machine: KernelDirect) -> np.ndarray:
    """Return the masses with all balances exactly zero."""
    masses = exactly_feasible(masses, machine)
    own = np.arange(len(masses)), machine.codes
    masses[own] = np.maximum(0.0, machine.costs - masses.sum(axis=1))
    return masses


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
    proof = KernelMulticlassGap.proved(
        scores,
        machine.codes,
        kernel=data.kernel,
        costs=machine.costs,
        rows=rows,
        rivals=rivals,
        multipliers=multipliers,
        biases=point.bias,
        n_features=data.X.shape[1],
        smallest=least_eigenvalue(proving, shares),
        data_sha256=data.fingerprint.result(),
        classes=data.classes,
    )
    return proof, scores.values
