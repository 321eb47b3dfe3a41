"""One weight vector a class, all found at once: by the hinge (Crammer and Singer) or by softmax.

`CrammerSinger` and `Multinomial` are the methods; `fit_direct` and `fit_multinomial` pose the
problem of a `LinearSVM` or a `LogisticRegression`, and keep what was found on it.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.certificates.multiclass_gap import MulticlassGap
from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.core.checks import checked_groups, ratio_of
from separatrix.core.class_verdict import ClassVerdict, class_verdict_of
from separatrix.core.keeping import (
    NEARLY_FREE,
    SEPARATED,
    iterations,
    keep_direct,
    keep_softmax,
    warn_of_gap,
    watching,
)
from separatrix.core.proving import About, ClassEstimate, Effort, Fitted, solve_and_prove
from separatrix.core.sparse import SparseMultinomial, as_sparse_softmax
from separatrix.errors import DeviceError
from separatrix.problem.many_classes import DirectProblem, SoftmaxProblem
from separatrix.problem.signed import on_device
from separatrix.problem.sparse_penalty import SparseSoftmaxProblem
from separatrix.solvers.many_classes import (
    crammer_singer,
    direct_interior_point,
    multinomial,
    softmax_at_once,
)
from separatrix.solvers.many_classes.class_claims import exactly_feasible
from separatrix.solvers.many_classes.softmax_rows import most_columns
from separatrix.solvers.running.drive import NO_LIMIT, Status, one_thread

# The solver aims a little below the tolerance, so that the proof, which adds rounding, meets it.
_AIM = 0.9
_TIGHTENINGS = 4
_SMALL = 20_000
_FOR_ERRORS = 1e-9  # the gap at which no prediction changes any more
_SINGLE_TOL = 1e-6  # single precision reaches no less


class _AllClasses:
    """What the two methods share: the run, and its end on small data."""

    attempts = _TIGHTENINGS
    small_tol: float
    more_updates: int

    def __init__(self, problem: Any, effort: Effort, about: About, first: Any, report: Any) -> None:
        self.problem, self.effort, self.about, self.report = problem, effort, about, report
        self.is_small = problem.X.shape[0] * problem.X.shape[1] * problem.n_classes <= _SMALL

    def _run(self, method: Any, state: Any, aim: float) -> Status:
        state.tol = aim
        status = self.effort.go_on(method, state, NO_LIMIT, self.report, slice_size=1)
        all_digits = max(self.small_tol, _FOR_ERRORS) if self.effort.for_errors else self.small_tol
        if self.is_small and status is Status.OPTIMAL and aim > all_digits:
            # Where exactness costs next to nothing, weight 2 and two copies agree to all digits.
            state.tol = all_digits
            self.effort.go_on(method, state, self.more_updates, self.report, slice_size=1)
        return status

    def _proved(self, kind: Any, **points: Any) -> Any:
        problem = self.problem
        return kind.proved(
            problem.X,
            problem.codes,
            costs=problem.costs,
            intercept=problem.fit_intercept,
            bias_penalty=problem.bias_penalty,
            data_sha256=self.about.fingerprint.result(),
            classes=self.about.classes,
            tol=self.effort.tol,
            **points,
        )


class CrammerSinger(_AllClasses):
    """``1/2 sum_k |w_k|^2 + C sum_i s_i max_k (1[k != y_i] + f_k(x_i) - f_y(x_i))``."""

    small_tol, more_updates = 1e-9, 2_000

    def __init__(
        self, problem: DirectProblem, effort: Effort, about: About, first: Any, report: Any
    ) -> None:
        super().__init__(problem, effort, about, first, report)
        narrow = direct_interior_point.suits(problem)
        self.method: Any = direct_interior_point if narrow else crammer_singer
        self.aim = effort.tol
        self.state = self.method.start(
            problem, tol=self.aim, first=first, seed=effort.seed, max_passes=effort.max_passes
        )

    def solve(self) -> Status:
        """Run the solver that suits the columns."""
        return self._run(self.method, self.state, self.aim)

    def prove(self, is_last: bool) -> float:
        """Prove the gap of the dual variables, made exactly feasible."""
        off = exactly_feasible(self.state.masses, self.problem)
        rows, rivals = np.nonzero(off)
        self.proof = self._proved(
            MulticlassGap,
            weights=np.column_stack([self.state.bias, self.state.W.T]),
            rows=rows,
            rivals=rivals,
            multipliers=off[rows, rivals],
        )
        return float(self.proof.gap)

    def tighten(self, status: Status) -> bool:
        """Aim lower."""
        self.aim *= 0.1
        return status is Status.OPTIMAL

    def fitted(self, status: Status) -> Fitted:
        """Return the machine."""
        solver = "interior_point" if self.state.setup is None else "crammer_singer"
        return Fitted(self.proof, status, self.state.updates, self.state.passes, solver)


class Multinomial(_AllClasses):
    """``1/2 sum_k |w_k|^2 + C sum_i s_i log sum_k exp(f_k(x_i) - f_y(x_i))``."""

    small_tol, more_updates = 1e-20, 12

    def __init__(
        self, problem: SoftmaxProblem, effort: Effort, about: About, first: Any, report: Any
    ) -> None:
        super().__init__(problem, effort, about, first, report)
        self.posed, self.turned = _narrowed(problem)
        if first is not None and self.turned is not None:
            first = np.column_stack([first[:, 0], first[:, 1:] @ self.turned])
        self.first, self.aim = first, _AIM * effort.tol
        self.precise = effort.tol < _SINGLE_TOL or not problem.ridge
        self.updates, self.passes = 0, 0.0
        self.state: Any = None

    def solve(self) -> Status:
        """Run Newton's method from where the last run ended."""
        if self._solved_at_once():
            return Status.OPTIMAL
        self.state = multinomial.start(
            self.posed,
            tol=self.aim,
            first=self.first,
            seed=self.effort.seed,
            max_passes=self.effort.max_passes - self.passes,
            pool=self.effort.pool,
            precise=self.precise,
            at_once=self.effort.for_errors,
        )
        status = self._run(multinomial, self.state, self.aim)
        self.updates, self.passes = (
            self.updates + self.state.updates,
            self.passes + self.state.passes,
        )
        return status

    def _solved_at_once(self) -> bool:
        """Whether only errors count, and the model was small enough for one loop."""
        effort, found = self.effort, None
        if effort.for_errors and effort.seconds > 0.0 and np.isinf(effort.max_passes):
            if self.report is not None:
                self.report(None)  # it ends a run that nobody waits for
            found = softmax_at_once.solved(self.posed, min(self.aim, _FOR_ERRORS), self.first)
        if found is None:
            return False
        self.state, self.updates, self.passes = found, found.updates, found.passes
        return True

    def prove(self, is_last: bool) -> float:
        """Prove the gap of the weights; where only errors count, take it as it is computed."""
        weights = self.state.weights
        if self.turned is not None:
            weights = np.column_stack([weights[:, 0], weights[:, 1:] @ self.turned.T])
        weights, ridge = self._centred(weights), self.problem.ridge
        if self.effort.for_errors and self.state.gap <= self.effort.tol:
            self.proof: Any = ClassEstimate(max(0.0, float(self.state.gap)), weights)
        else:
            self.proof = self._proved(SoftmaxGap, weights=weights, ridge=ridge)
        return float(self.proof.gap)

    def _centred(self, weights: np.ndarray) -> np.ndarray:
        """Return weights whose sum over the classes is zero: no score difference changes.

        The sum of squares is the least so; a free intercept is centred for its own sake.
        """
        mean = weights.mean(axis=0)
        mean[0] = mean[0] if self.problem.bias_penalty == 0.0 else 0.0
        return weights - mean

    def tighten(self, status: Status) -> bool:
        """Work in double precision; where that was done already, aim lower."""
        single = self.state.reader.is_single
        self.first, self.precise = self.state.weights, self.precise or single
        self.aim = self.aim if single else 0.1 * self.aim
        return status is Status.OPTIMAL or (single and status is Status.UNPROVED)

    def fitted(self, status: Status) -> Fitted:
        """Return the machine."""
        return Fitted(self.proof, status, self.updates, self.passes, "newton")


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


# ---- fitting a LinearSVM or a LogisticRegression


def fit_direct(machine: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit `machine`, a `LinearSVM`, with one weight vector a class."""
    _refuse_direct(machine)
    X, codes, weights = machine._prepared(X, y, sample_weight, "hinge")
    if on_device(X):
        raise DeviceError(
            "multi_class='direct' is worked out on the processor: use device='cpu' and X in NumPy, "
            "or multi_class='ovr'."
        )
    problem = _posed(DirectProblem, machine, X, codes, weights, "hinge")
    first = _first_masses(machine, problem)
    found = _solved(machine, y, problem, CrammerSinger, first, workers=0)
    keep_direct(machine, found.proof, found.status, codes)
    _tell(machine, found)


def fit_multinomial(machine: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit `machine`, a `LogisticRegression`, with one weight vector a class."""
    _refuse_multinomial(machine)
    X, codes, weights = machine._prepared(X, y, sample_weight, "logistic")
    if on_device(X) and np.isinf(machine.C):
        raise DeviceError("C=inf is worked out on the processor: use device='cpu'.")
    posed = _posed(SoftmaxProblem, machine, X, codes, weights, "logistic")
    if ratio := ratio_of(machine):
        if np.isinf(machine.C):
            raise ValueError("l1_ratio above 0 needs a finite C. Got C=inf instead. Use a large C.")
        groups = checked_groups(getattr(machine, "groups", None), X.shape[1])
        posed = as_sparse_softmax(posed, ratio, groups)
    problem, verdict = _answerable(posed, machine)
    first = _first_weights(machine, problem)
    method = softmax_method_of(problem)
    keep_multinomial(machine, _solved(machine, y, problem, method, first, machine._cores()))
    machine.verdict_ = verdict
    if verdict is not None and verdict.kind in SEPARATED:
        machine.status_ = Status.INFINITE


def _answerable(
    problem: SoftmaxProblem, machine: Any
) -> tuple[SoftmaxProblem, ClassVerdict | None]:
    """Return a problem that has an answer, and the verdict on one without a penalty.

    Where maximum likelihood has no answer, that of a very large C is sought instead.
    """
    if not np.isinf(machine.C):
        return problem, None
    used, names = np.flatnonzero(problem.costs > 0.0), tuple(str(c) for c in machine.classes_)
    X = problem.X if len(used) == problem.X.shape[0] else problem.X[used]
    verdict = class_verdict_of(X, problem.codes[used], names, problem.fit_intercept)
    if verdict.kind in SEPARATED:
        return replace(problem, costs=NEARLY_FREE * problem.costs), verdict
    return replace(problem, ridge=0.0), verdict


def softmax_method_of(problem: SoftmaxProblem) -> Any:
    """Return what solves and proves a multinomial problem."""
    return SparseMultinomial if isinstance(problem, SparseSoftmaxProblem) else Multinomial


def keep_multinomial(machine: Any, found: Fitted) -> None:
    """Set what the fit leaves."""
    keep_softmax(machine, found.proof, found.status)
    _tell(machine, found)


def _tell(machine: Any, found: Fitted) -> None:
    machine.solver_, machine.n_passes_ = found.solver, found.passes
    machine.n_iter_ = iterations(machine, [found.updates])
    if found.status is not Status.OPTIMAL:
        warn_of_gap(machine, stacklevel=6)


def _posed(
    kind: Any, machine: Any, X: Any, codes: np.ndarray, weights: np.ndarray, loss: str
) -> Any:
    costs, _ = machine._costs(weights, loss)
    intercept, penalty = bool(machine.fit_intercept), float(machine.intercept_penalty)
    return kind(X, codes, len(machine.classes_), costs, intercept, penalty)


def _solved(
    machine: Any, y: Any, problem: Any, method: Any, first: np.ndarray | None, workers: int
) -> Fitted:
    X, names = problem.X, tuple(str(name) for name in machine.classes_)
    with (
        one_thread(),  # so that the number of threads changes no bit
        watching(machine, 1, X, y) as watch,
        ThreadPoolExecutor(workers + 1) as pool,
    ):
        # The fingerprint is made meanwhile; it needs the data and nothing else.
        about = About(machine._name(X, problem.codes, pool), names)
        effort = replace(machine._effort(), pool=pool)
        return solve_and_prove(method, problem, effort, about, first, watch.listener(0))


def _refuse_direct(machine: Any) -> None:
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


def _refuse_multinomial(machine: Any) -> None:
    """Say in words what the multinomial machine does not do."""
    if machine.solver not in ("auto", "newton"):
        raise ValueError(
            f"multi_class='multinomial' has a solver of its own. Got solver={machine.solver!r} "
            "instead. Use solver='auto'."
        )


def _first_masses(machine: Any, problem: DirectProblem) -> np.ndarray | None:
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


def _first_weights(machine: Any, problem: SoftmaxProblem) -> np.ndarray | None:
    """Return the weights to start from: those of the last fit, if they fit these data."""
    old = getattr(machine, "certificate_", None) if machine.warm_start else None
    if not isinstance(old, SoftmaxGap):
        return None
    return old.weights if old.weights.shape == (problem.n_classes, problem.X.shape[1] + 1) else None
