"""All classes at once with a kernel (Crammer and Singer): its method, and what a fit leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.certificates.kernel_gap import KernelMulticlassGap, least_eigenvalue
from separatrix.certificates.kernel_scores import KernelRowsInProof, kernel_scores
from separatrix.certificates.multiclass_gap import shares_of
from separatrix.core.keeping import two_as_one
from separatrix.core.kernel_machines import (
    LEAST_FACTORED_TOL,
    KernelProblem,
    inner_tolerance,
    is_small,
)
from separatrix.core.proving import About, Effort, Fitted
from separatrix.errors import DataError, DeviceError
from separatrix.problem.many_classes import KernelDirect
from separatrix.solvers.kernels import kernel_direct
from separatrix.solvers.kernels.kernel_rows import centred_rows, kernel_rows
from separatrix.solvers.kernels.kernel_sources import solve_factored_direct
from separatrix.solvers.many_classes.class_claims import all_at_home, exactly_feasible
from separatrix.solvers.running.drive import Status

_ATTEMPTS = 6
# Chunks in which visits settle, if they get on at all.
_FEW_CHUNKS, _MANY_CHUNKS = 2_000, 100_000


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


class KernelCrammerSinger:
    """All classes at once by visits to rows (`kernel_direct`), or by a factored kernel matrix."""

    attempts = _ATTEMPTS

    def __init__(
        self, problem: KernelProblem, effort: Effort, about: About, first: Any, report: Any
    ) -> None:
        self.problem, self.effort, self.about = problem, effort, about
        machine = self.machine = problem.machines
        self.aim = inner_tolerance(effort, len(machine.codes))
        self.proving = KernelRowsInProof(problem.kernel, problem.X)
        rows = self._rows()
        # No weights at all: every row falls short by 1. It is never worse than that.
        self.point = _Point(all_at_home(machine), np.zeros(machine.n_classes))
        self.best, _ = self._proved(self.point)
        self.is_small = is_small(problem.kernel, len(machine.codes))
        self.gaps, self.is_factored = [math.inf], False
        with np.errstate(over="ignore", invalid="ignore"):
            self.state = kernel_direct.start(machine, kernel_rows=rows, tol=self.aim)

    def _rows(self, precise: bool = False) -> Any:
        kernel, X, effort = self.problem.kernel, self.problem.X, self.effort
        rows = kernel_rows(kernel, X, effort.cache_bytes, effort.pool, precise=precise)
        with np.errstate(over="ignore", invalid="ignore"):
            return centred_rows(rows, kernel, X)

    @np.errstate(over="ignore", invalid="ignore")
    def solve(self) -> Status:
        """Visit rows until the run ends by itself or its budget does."""
        budget = _FEW_CHUNKS if self.is_small else _MANY_CHUNKS
        status = self.effort.go_on(kernel_direct, self.state, budget, None, slice_size=1)
        if status is Status.OVERFLOW:
            n_classes = self.machine.n_classes
            self.point = _Point(all_at_home(self.machine), np.zeros(n_classes))
        else:
            masses = _exactly(kernel_direct.balanced(self.state), self.machine)
            self.point = _Point(masses, kernel_direct.kernel_bias(self.state, masses))
        return status

    @np.errstate(over="ignore", invalid="ignore")
    def prove(self, is_last: bool) -> float:
        """Prove the gap; where visits get nowhere, or not far enough, that of factored rows too."""
        found, self.scores = self._proved(self.point)
        if not found.is_convex:
            raise DataError(_NOT_POSITIVE.format(found.smallest))
        late = self.effort.seconds <= 0.0
        if found.gap > self.effort.tol and self.is_small and not (self.is_factored or late):
            self.is_factored = True
            other = self._factored()
            if other is not None:
                again, scores = self._proved(other)
                if again.gap < found.gap:
                    found, self.point, self.scores = again, other, scores
        self.gaps.append(found.gap)
        self.best = found if found.gap < self.best.gap else self.best
        return float(self.best.gap)

    @np.errstate(over="ignore", invalid="ignore")
    def tighten(self, status: Status) -> bool:
        """Resume from scores in float64; if that helped little last time, with float64 rows too."""
        if self.effort.seconds <= 0.0 or not np.isfinite(self.scores).all():
            return False
        state = self.state
        if not self.gaps[-1] < 0.3 * self.gaps[-2] and state.kernel_rows.is_float32:
            state.kernel_rows = self._rows(precise=True)
            state.size = min(state.size, state.kernel_rows.capacity)
            state.last = state.last[:0]
        self.aim *= 0.5
        kernel_direct.resume(state, self.point.masses, self.scores, self.aim)
        return True

    def fitted(self, status: Status) -> Fitted:
        """Return the machine with the best of its proofs."""
        return Fitted(self.best, status, self.state.steps, self.state.updates)

    def _factored(self) -> _Point | None:
        X, tol = self.problem.X, max(self.state.tol, LEAST_FACTORED_TOL)
        K = self.problem.kernel.block(X, X)
        found = solve_factored_direct(self.machine, K, tol, self.effort.deadline)
        return None if found is None else _Point(_exactly(found[0], self.machine), found[1])

    def _proved(self, point: _Point) -> tuple[KernelMulticlassGap, np.ndarray]:
        machine = self.machine
        off = point.masses.copy()
        off[np.arange(len(off)), machine.codes] = 0.0
        rows, rivals = np.nonzero(off)
        multipliers = off[rows, rivals]
        shares = shares_of(machine.codes, rows, rivals, multipliers, machine.n_classes)
        scores = kernel_scores(self.proving, shares, self.effort.workers)
        with np.errstate(over="ignore", invalid="ignore"):
            values, own = scores.values + point.bias, (np.arange(len(off)), machine.codes)
            mine, values[own] = values[own], -np.inf
            margins = mine - values.max(axis=1)
        proof = KernelMulticlassGap.proved(
            scores,
            machine.codes,
            kernel=self.problem.kernel,
            costs=machine.costs,
            rows=rows,
            rivals=rivals,
            multipliers=multipliers,
            biases=point.bias,
            margins=margins,
            n_features=self.problem.X.shape[1],
            smallest=least_eigenvalue(self.proving, np.flatnonzero(shares.any(axis=1))),
            data_sha256=self.about.fingerprint.result(),
            classes=self.about.classes,
        )
        return proof, scores.values


def _exactly(masses: np.ndarray, machine: KernelDirect) -> np.ndarray:
    """Return the masses with all balances exactly zero."""
    masses = exactly_feasible(masses, machine)
    own = np.arange(len(masses)), machine.codes
    masses[own] = np.maximum(0.0, machine.costs - masses.sum(axis=1))
    return masses


def keep_direct(machine: Any, X: Any, codes: np.ndarray, found: Fitted) -> None:
    """Set what the fit leaves."""
    proof, k = found.proof, len(machine.classes_)
    machine.status_, machine.certificate_ = found.status, proof
    machine.objective_, machine.dual_objective_ = proof.primal, proof.dual
    machine.gap_, machine.intercept_ = proof.gap, two_as_one(proof.biases)
    machine.n_iter_, machine.n_passes_ = np.array([found.updates]), float(found.passes)
    shares = shares_of(codes, proof.rows, proof.rivals, proof.multipliers, k)
    machine._keep_support(X, two_as_one(np.ascontiguousarray(shares.T)))
    machine.n_support_ = np.bincount(codes[machine.support_], minlength=k)


_NOT_POSITIVE = (
    "The kernel's values are not those of a positive kernel (an eigenvalue is {:.2g} of the "
    "largest), and multi_class='direct' needs one. Use multi_class='ovo', which ends in a "
    "stationary point and says so, or another kernel."
)
