"""The direct machine of many classes: pose, solve, prove, and keep what a `LinearSVM` shows."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from separatrix.certificates.canonical import data_of, sha256
from separatrix.certificates.multiclass_gap import MulticlassGap
from separatrix.core.keeping import keep_direct, warn_of_gap
from separatrix.core.proving import Effort
from separatrix.core.watching import watching
from separatrix.errors import DeviceError
from separatrix.problem.crammer_singer import DirectProblem
from separatrix.problem.device_rows import on_device
from separatrix.solvers.many_classes import crammer_singer, direct_interior_point
from separatrix.solvers.many_classes.class_claims import exactly_feasible
from separatrix.solvers.running.drive import NO_LIMIT, Status, go_on
from separatrix.solvers.running.threads import one_thread

__all__ = ["fit_direct"]

_TIGHTENINGS = 4
_SMALL, _SMALL_TOL, _MORE_UPDATES = 20_000, 1e-9, 2_000


def fit_direct(machine: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit `machine` with one weight vector a class, all at once."""
    _refuse(machine)
    X, codes, weights = machine._prepared(X, y, sample_weight, "hinge")
    if on_device(X):
        raise DeviceError(
            "multi_class='direct' is worked out on the processor: use device='cpu' and X in NumPy, "
            "or multi_class='ovr'."
        )
    costs, _ = machine._costs(weights, "hinge")
    K, intercept = len(machine.classes_), bool(machine.fit_intercept)
    problem = DirectProblem(X, codes, K, costs, intercept, float(machine.intercept_penalty))
    effort = machine._effort()
    names = tuple(str(name) for name in machine.classes_)
    with (
        one_thread(),
        watching(machine, 1, X, y) as watch,
        ThreadPoolExecutor(1) as pool,
    ):
        # The fingerprint is made meanwhile; it needs the data and nothing else.
        fingerprint = pool.submit(sha256, data_of(X, codes, K, intercept))
        report = (lambda state: watch.report(0, state)) if watch.has_listener else None
        proof, state, status = _solved_and_proved(
            problem, effort, names, fingerprint, _first(machine, problem), report
        )
    solver = "interior_point" if state.setup is None else "crammer_singer"
    keep_direct(machine, proof, status, codes)
    machine.solver_, machine.n_iter_, machine.n_passes_ = solver, state.updates, state.passes
    if status is not Status.OPTIMAL:
        warn_of_gap(machine, stacklevel=5)


def _refuse(machine: Any) -> None:
    """Say in words what the direct machine does not do."""
    if machine.loss != "hinge":
        raise ValueError(
            f"multi_class='direct' has the hinge loss only. Got loss={machine.loss!r} instead. "
            "Use loss='hinge', or multi_class='ovr'."
        )
    if np.isinf(machine.C):
        raise ValueError(
            "multi_class='direct' needs a finite C. Got inf instead. Use a large C, or "
            "multi_class='ovr' for hard margins; Perceptron separates many classes directly."
        )
    if machine.solver != "auto":
        raise ValueError(
            f"multi_class='direct' has a solver of its own. Got solver={machine.solver!r} "
            "instead. Use solver='auto'."
        )


def _first(machine: Any, problem: DirectProblem) -> np.ndarray | None:
    """Return the masses to start from: those of the last fit, if they fit these data."""
    old = getattr(machine, "certificate_", None) if machine.warm_start else None
    if not isinstance(old, MulticlassGap) or old.n_rows != len(problem.codes):
        return None
    if len(old.classes) != problem.n_classes:
        return None
    masses = np.zeros((old.n_rows, problem.n_classes))
    masses[old.rows, old.rivals] = old.multipliers
    own = np.arange(len(masses)), problem.codes
    masses[own] = 0.0
    masses[own] = np.maximum(0.0, old.costs - masses.sum(axis=1))
    return masses


def _solved_and_proved(
    problem: DirectProblem,
    effort: Effort,
    names: tuple[str, ...],
    fingerprint: Any,
    first: np.ndarray | None,
    report: Any,
) -> tuple[MulticlassGap, Any, Status]:
    """Solve to the tolerance, prove it, and go further where the proof falls short."""
    tol = effort.tol
    method = direct_interior_point if direct_interior_point.suits(problem) else crammer_singer
    state = method.start(
        problem, tol=tol, first=first, seed=effort.seed, max_passes=effort.max_passes
    )
    small = problem.X.shape[0] * problem.X.shape[1] * problem.n_classes <= _SMALL
    for left in reversed(range(_TIGHTENINGS)):
        state.tol = tol
        seconds = max(0.0, effort.deadline - time.perf_counter())
        status = go_on(method, state, NO_LIMIT, seconds, report, slice_size=1)
        if small and status is Status.OPTIMAL and tol > _SMALL_TOL:
            # Where exactness costs next to nothing, weight 2 and two copies agree to all digits.
            state.tol = _SMALL_TOL
            seconds = max(0.0, effort.deadline - time.perf_counter())
            go_on(method, state, _MORE_UPDATES, seconds, report, slice_size=1)
        off = exactly_feasible(state.masses, problem)
        rows, rivals = np.nonzero(off)
        proof = MulticlassGap.proved(
            problem.X,
            problem.codes,
            costs=problem.costs,
            weights=np.column_stack([state.bias, state.W.T]),
            rows=rows,
            rivals=rivals,
            multipliers=off[rows, rivals],
            intercept=problem.fit_intercept,
            bias_penalty=problem.bias_penalty,
            data_sha256=fingerprint.result(),
            classes=names,
            tol=effort.tol,
        )
        if proof.gap <= effort.tol:
            return proof, state, Status.OPTIMAL
        if status is not Status.OPTIMAL or left == 0:
            break
        tol *= 0.1
    return proof, state, Status.UNPROVED if status.is_final else status
