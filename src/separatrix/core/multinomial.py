"""The multinomial machine: pose, solve, prove, and keep what a `LogisticRegression` shows."""

from __future__ import annotations

import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.certificates.later_name import LaterName
from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.core.keeping import keep_softmax, warn_of_gap
from separatrix.core.proving import Effort
from separatrix.core.watching import watching
from separatrix.problem.softmax import SoftmaxProblem
from separatrix.solvers.many_classes import multinomial
from separatrix.solvers.many_classes.softmax_system import most_columns
from separatrix.solvers.running.drive import NO_LIMIT, Status, go_on
from separatrix.solvers.running.threads import one_thread

__all__ = ["SolvedSoftmax", "fit_multinomial", "keep_multinomial", "solve_softmax"]

# The solver aims a little below the tolerance, so that the proof, which adds rounding, meets it.
_AIM = 0.9
_TIGHTENINGS = 4
_SMALL, _SMALL_TOL, _MORE_UPDATES = 20_000, 1e-20, 12
_SINGLE_TOL = 1e-6  # single precision reaches no less


@dataclass(frozen=True, eq=False)
class SolvedSoftmax:
    """A proof, how the run ended, and what it took."""

    proof: SoftmaxGap
    status: Status
    updates: int
    passes: float


def fit_multinomial(machine: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit `machine` with one weight vector a class, all at once."""
    _refuse(machine)
    X, codes, weights = machine._prepared(X, y, sample_weight, "logistic")
    costs, _ = machine._costs(weights, "logistic")
    K = len(machine.classes_)
    problem = SoftmaxProblem(
        X, codes, K, costs, bool(machine.fit_intercept), float(machine.intercept_penalty)
    )
    names = tuple(str(name) for name in machine.classes_)
    with (
        one_thread(),  # so that the number of threads changes no bit
        watching(machine, 1, X, y) as watch,
        ThreadPoolExecutor(machine._cores() + 1) as pool,
    ):
        # The fingerprint is made meanwhile; it needs the data and nothing else.
        fingerprint = machine._name(X, codes, pool)
        report = (lambda state: watch.report(0, state)) if watch.has_listener else None
        found = solve_softmax(
            problem, machine._effort(), names, fingerprint, _first(machine, problem), report, pool
        )
    keep_multinomial(machine, found)


def _refuse(machine: Any) -> None:
    """Say in words what the multinomial machine does not do."""
    if np.isinf(machine.C):
        raise ValueError(
            "multi_class='multinomial' needs a finite C. Got inf instead. Use a large C, or "
            "multi_class='ovr', which says which coefficients are infinite."
        )
    if machine.solver not in ("auto", "newton"):
        raise ValueError(
            f"multi_class='multinomial' has a solver of its own. Got solver={machine.solver!r} "
            "instead. Use solver='auto'."
        )


def _first(machine: Any, problem: SoftmaxProblem) -> np.ndarray | None:
    """Return the weights to start from: those of the last fit, if they fit these data."""
    old = getattr(machine, "certificate_", None) if machine.warm_start else None
    if not isinstance(old, SoftmaxGap):
        return None
    return old.weights if old.weights.shape == (problem.n_classes, problem.X.shape[1] + 1) else None


def solve_softmax(
    problem: SoftmaxProblem,
    effort: Effort,
    names: tuple[str, ...],
    fingerprint: Future[str] | LaterName,
    first: np.ndarray | None,
    report: Any = None,
    pool: Executor | None = None,
) -> SolvedSoftmax:
    """Solve to the tolerance, prove it, and go further where the proof falls short."""
    posed, turned = _narrowed(problem)
    if first is not None and turned is not None:
        first = np.column_stack([first[:, 0], first[:, 1:] @ turned])
    aim, precise = _AIM * effort.tol, effort.tol < _SINGLE_TOL
    small = problem.X.shape[0] * problem.X.shape[1] * problem.n_classes <= _SMALL
    updates, passes = 0, 0.0
    for left in reversed(range(_TIGHTENINGS)):
        state = multinomial.start(
            posed,
            tol=aim,
            first=first,
            seed=effort.seed,
            max_passes=effort.max_passes - passes,
            pool=pool,
            precise=precise,
        )
        status = _run(state, NO_LIMIT, effort, report)
        if small and status is Status.OPTIMAL and aim > _SMALL_TOL:
            # Where exactness costs next to nothing, weight 2 and two copies agree to all digits.
            state.tol = _SMALL_TOL
            _run(state, _MORE_UPDATES, effort, report)
        updates, passes = updates + state.updates, passes + state.passes
        weights = state.weights
        if turned is not None:
            weights = np.column_stack([weights[:, 0], weights[:, 1:] @ turned.T])
        proof = _proved(problem, weights, names, fingerprint, effort.tol)
        if proof.gap <= effort.tol:
            return SolvedSoftmax(proof, Status.OPTIMAL, updates, passes)
        single = state.reader.is_single
        if left == 0 or not (status is Status.OPTIMAL or (single and status is Status.UNPROVED)):
            break
        # What single precision cannot do, double may; then only a smaller aim is left.
        first, precise = state.weights, precise or single
        aim = aim if single else 0.1 * aim
    return SolvedSoftmax(proof, Status.UNPROVED if status.is_final else status, updates, passes)


def _narrowed(problem: SoftmaxProblem) -> tuple[SoftmaxProblem, np.ndarray | None]:
    """Return the same machine in the span of its rows, where they are fewer than the columns.

    The best w lies in that span (anything beside it costs and helps no row), of which an
    orthonormal basis, d x n, comes back: lengths stay what they are.
    """
    X = problem.X
    if not isinstance(X, np.ndarray) or X.shape[0] >= X.shape[1] or X.shape[0] > most_columns:
        return problem, None
    basis, triangle = np.linalg.qr(np.asarray(X.T, dtype=np.float64))
    return replace(problem, X=np.ascontiguousarray(triangle.T)), basis


def _run(state: Any, updates: int, effort: Effort, report: Any) -> Status:
    seconds = max(0.0, effort.deadline - time.perf_counter())
    return go_on(multinomial, state, updates, seconds, report, slice_size=1)


def _proved(
    problem: SoftmaxProblem,
    weights: np.ndarray,
    names: tuple[str, ...],
    fingerprint: Future[str] | LaterName,
    tol: float,
) -> SoftmaxGap:
    return SoftmaxGap.proved(
        problem.X,
        problem.codes,
        costs=problem.costs,
        weights=weights,
        intercept=problem.fit_intercept,
        bias_penalty=problem.bias_penalty,
        data_sha256=fingerprint.result(),
        classes=names,
        tol=tol,
    )


def keep_multinomial(machine: Any, found: SolvedSoftmax) -> None:
    """Set what the fit leaves."""
    keep_softmax(machine, found.proof, found.status)
    machine.solver_, machine.n_iter_, machine.n_passes_ = "newton", found.updates, found.passes
    if found.status is not Status.OPTIMAL:
        warn_of_gap(machine, stacklevel=5)
