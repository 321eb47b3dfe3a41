"""The linear machines, fitted and proved: `LinearSVM` and `LogisticRegression`.

One machine, one for each class against the rest, or one for each pair of classes, which vote.
`all_classes` fits all classes at once.
"""

from __future__ import annotations

import time
import warnings
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix.certificates.duality_gap import DualityGap
from separatrix.core import models
from separatrix.core.checks import (
    checked_groups,
    costs_of,
    one_of,
    positive,
    ratio_of,
    refuse_huge,
    refuse_infinite,
    refuse_with_l1,
    row_weights,
    seed_of,
    several_classes,
)
from separatrix.core.keeping import (
    NEARLY_FREE,
    SEPARATED,
    forget_threshold,
    keep_gaps,
    keep_pairs,
    keep_support,
    keep_support_of_pairs,
    reported_to_callbacks,
    warn_of_gap,
    watching,
)
from separatrix.core.linear_model import VotingModel, pairs_of
from separatrix.core.models import fresh, settings_of
from separatrix.core.proving import (
    About,
    Effort,
    Fitted,
    Hyperplane,
    first_tolerance,
    solve_and_prove,
    verdict_of,
)
from separatrix.core.sparse import SparseHyperplane, as_sparse
from separatrix.core.verdict import Verdict
from separatrix.errors import DeviceError, SeparationWarning, UnfinishedWarning
from separatrix.problem.fingerprint import LaterName, fingerprint_of_rows
from separatrix.problem.losses import CODES
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem, as_matrix, entries_of, on_device
from separatrix.problem.sparse_penalty import SparseProblem
from separatrix.solvers.linear.choose import SOLVERS
from separatrix.solvers.running.drive import Status, begun, cores, one_thread

_SUITS = {
    "hinge": {"interior_point", "dual_coordinate", "gram"},
    "squared_hinge": {"newton", "dual_coordinate", "gram"},
    "logistic": {"newton", "gram"},
}


def method_of(problem: MachineProblem) -> Any:
    """Return what solves and proves a problem of two classes."""
    return SparseHyperplane if isinstance(problem, SparseProblem) else Hyperplane


class Machine(VotingModel):
    """A machine with the objective ``1/2 |w|^2 + C sum_i s_i loss(y_i (w.x_i + b))``, b free."""

    C: Any
    tol: Any
    solver: Any
    fit_intercept: Any
    intercept_penalty: Any
    class_weight: Any
    max_seconds: Any
    max_passes: Any
    random_state: Any
    warm_start: Any
    multi_class: Any = "ovr"  # where there is no such parameter
    device: Any = "cpu"
    n_jobs: Any
    verbose: Any

    status_: Status
    n_iter_: Any
    n_passes_: float
    _unfinished: type[Warning] = UnfinishedWarning
    _method_of: Any = staticmethod(method_of)

    def _check_cost(self) -> None:
        positive("C", self.C, infinite=True)

    def _check_parameters(self, loss: str) -> None:
        self._check_cost()
        positive("tol", self.tol)
        positive("intercept_penalty", self.intercept_penalty, zero=True)
        one_of("solver", self.solver, ("auto", *SOLVERS))
        if self.solver not in {"auto", *_SUITS[loss]}:
            raise ValueError(
                f"solver={self.solver!r} does not suit the {loss.replace('_', ' ')} loss: newton "
                "needs a smooth loss, interior_point the hinge, dual_coordinate one of the hinges. "
                "Use solver='auto'."
            )
        all_at_once = ("multinomial", "auto") if loss == "logistic" else ("direct",)
        one_of("multi_class", self.multi_class, ("ovr", "ovo", *all_at_once))
        refuse_with_l1(self, loss, ratio_of(self))
        for name in ("max_seconds", "max_passes"):
            positive(name, getattr(self, name), optional=True)

    def _prepared(
        self, X: Any, y: Any, sample_weight: Any, loss: str
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return X, the class numbers, and the weights of rows."""
        self._check_parameters(loss)
        forget_threshold(self)
        X, y, sample_weight = self._placed(X, y, sample_weight)
        self.classes_, codes = several_classes(self, y)
        weights = row_weights(self, codes, sample_weight, self.class_weight)
        return as_matrix(X), codes, weights

    def _placed(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, Any]:
        """Return rows of numbers, labels and weights of rows, checked, where they are used."""
        self.n_features_in_ = int(X.shape[1])
        refuse_infinite(self, X)
        refuse_huge(self, X)
        return X, y, sample_weight

    def _pose(
        self, X: Any, y: Any, sample_weight: Any, loss: str
    ) -> tuple[Any, np.ndarray, list[MachineProblem]]:
        """Return X, the class numbers, and one problem a machine."""
        X, codes, weights = self._prepared(X, y, sample_weight, loss)
        if on_device(X) and np.isinf(self.C):
            raise DeviceError("C=inf is worked out on the processor: use device='cpu'.")
        costs, ridge = self._costs(weights, loss)
        numbers = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        problems = [
            MachineProblem(
                SignedProblem(X, np.where(codes == k, 1.0, -1.0), bool(self.fit_intercept)),
                costs,
                CODES[loss],
                float(self.intercept_penalty),
                ridge,
            )
            for k in numbers
        ]
        if ratio := ratio_of(self):
            groups = checked_groups(getattr(self, "groups", None), X.shape[1])
            return X, codes, [as_sparse(problem, ratio, groups) for problem in problems]
        return X, codes, [self._answerable(problem) for problem in problems]

    def _answerable(self, problem: MachineProblem) -> MachineProblem:
        """Return a problem that has an answer, in place of one that has none."""
        return problem

    def _costs(self, weights: np.ndarray, loss: str) -> tuple[np.ndarray, float]:
        """Return what each row costs and what |w|^2 does, for this C."""
        if not np.isinf(self.C):
            return costs_of(self.C, weights), 1.0
        if loss == "logistic":
            return weights, 0.0
        return np.where(weights > 0.0, np.inf, 0.0), 1.0

    def _fit_machines(
        self, X: Any, y: Any, sample_weight: Any, loss: str
    ) -> tuple[list[Fitted], np.ndarray]:
        """Return one machine, or one for each class, and the class number of every row."""
        X, codes, problems = self._pose(X, y, sample_weight, loss)
        effort = self._effort()
        machines = self._solved(X, y, codes, problems, effort, self._starts(problems))
        return machines, codes

    def _solved(
        self,
        X: Any,
        y: Any,
        codes: np.ndarray,
        problems: list[MachineProblem],
        effort: Effort,
        firsts: list[Any],
    ) -> list[Fitted]:
        """Solve and prove every machine, a thread for each as far as there are cores."""
        if on_device(X) and len(problems) > 1 and self._method_of(problems[0]) is Hyperplane:
            from separatrix.solvers.linear.device.newton_side_by_side import side_by_side

            tol = first_tolerance(problems[0], effort)
            firsts = side_by_side(problems, tol, firsts, effort.deadline)
        names = tuple(str(name) for name in self.classes_)
        # A device is busy with one machine; threads would only share its memory.
        self._refuse_no_jobs()
        alone = on_device(X) or len(problems) == 1
        workers = 1 if alone else min(len(problems), self._cores())
        with (
            one_thread(),  # so that the number of threads changes no bit
            watching(self, len(problems), X, y) as watch,
            ThreadPoolExecutor(workers + 1) as pool,
        ):
            # The fingerprint is made meanwhile; it needs the data and nothing else.
            fingerprint = self._name(X, codes, pool)

            def work(number: int) -> Fitted:
                about = About(fingerprint, names, number if len(problems) > 1 else 1)
                problem, first, report = problems[number], firsts[number], watch.listener(number)
                method = self._method_of(problem)
                return solve_and_prove(method, problem, effort, about, first, report)

            numbers = range(len(problems))
            return list(map(work, numbers) if workers == 1 else pool.map(work, numbers))

    def _name(self, X: Any, codes: np.ndarray, pool: Executor) -> Future[str] | LaterName:
        """Begin to make the fingerprint of the data."""
        return begun(pool, entries_of(X), fingerprint_of_rows, X, codes, len(self.classes_))

    def _cores(self) -> int:
        """Return how many threads may work."""
        self._refuse_no_jobs()
        jobs = self.n_jobs or -1
        return jobs if jobs > 0 else max(1, cores() + 1 + jobs)

    def _refuse_no_jobs(self) -> None:
        if self.n_jobs == 0:
            raise ValueError("n_jobs must not be 0. Use None for every core.")

    def _effort(self) -> Effort:
        """Return how far to go, the clock running from now."""
        seconds = np.inf if self.max_seconds is None else float(self.max_seconds)
        passes = np.inf if self.max_passes is None else float(self.max_passes)
        return Effort(
            tol=float(self.tol),
            solver=self.solver,
            deadline=time.perf_counter() + seconds,
            max_passes=passes,
            seed=seed_of(self.random_state),
        )

    def _starts(self, problems: list[MachineProblem]) -> list[Any]:
        """Return where each machine starts: where the last fit ended, if that fits these data."""
        n, d = problems[0].X.shape
        old = getattr(self, "certificate_", None) if self.warm_start else None
        machines = list(getattr(old, "machines", (old,)))
        if not all(isinstance(machine, DualityGap) for machine in machines):
            return [None] * len(problems)
        if len(machines) != len(problems) or machines[0].n_features != d:
            return [None] * len(problems)
        return [
            (machine.weights, machine.multipliers if machine.n_rows == n else None)
            for machine in machines
        ]

    # ---- what a fit leaves

    def _keep(self, machines: list[Fitted]) -> None:
        keep_gaps(self, machines)
        if self.status_ is not Status.OPTIMAL:
            warn_of_gap(self, stacklevel=6)


def fit_pairs(machine: Any, X: Any, y: Any, sample_weight: Any, loss: str) -> list[Any]:
    """Fit `machine` as one machine for each pair of classes; return those machines."""
    X, codes, weights = machine._prepared(X, y, sample_weight, loss)
    pairs = pairs_of(len(machine.classes_))
    deadline = machine._effort().deadline
    cores = machine._cores()

    def work(pair: tuple[int, int]) -> Any:
        rows = np.flatnonzero(np.isin(codes, pair))
        one = machine_of_a_pair(machine)
        if np.isfinite(deadline):
            one.max_seconds = max(1e-3, deadline - time.perf_counter())
        return one.fit(X[rows], machine.classes_[codes[rows]], weights[rows])

    workers = 1 if on_device(X) else min(len(pairs), cores)
    with (
        one_thread(),
        reported_to_callbacks(machine, X, y),
        ThreadPoolExecutor(workers) as pool,
    ):
        machines = list(pool.map(work, pairs))
    keep_pairs(machine, machines, pairs)
    if hasattr(machines[0], "support_"):
        keep_support_of_pairs(machine, machines, pairs, codes)
    return machines


def _n_labels(y: Any) -> int:
    return len(np.unique(np.asarray(on_host(y))))


def machine_of_a_pair(machine: Any) -> Any:
    """Return a machine for two of the classes."""
    # Class weights are in the weights by now: counted over all rows, as everywhere.
    plain = {"multi_class": "ovr", "class_weight": None, "warm_start": False, "n_jobs": 1}
    plain |= {"probability": False} if "probability" in settings_of(machine) else {}
    return fresh(machine, **plain)


class LinearSVM(Machine, models.LinearSVM):
    """The hyperplane of largest margin; `separatrix.LinearSVM` explains it."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Find the hyperplane and prove how close to the best it is.

        X holds numbers, dense or CSR, and y labels. Probabilities are not calibrated here.
        """
        one_of("loss", self.loss, ("hinge", "squared_hinge"))
        self._fit_rows(X, y, sample_weight)
        return self

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit one machine, one for each class, one for each pair, or all classes at once."""
        if self.multi_class == "direct":
            from separatrix.core.all_classes import fit_direct

            fit_direct(self, X, y, sample_weight)
        elif self.multi_class == "ovo" and _n_labels(y) > 2:
            fit_pairs(self, X, y, sample_weight, self.loss)
        else:
            machines, codes = self._fit_machines(X, y, sample_weight, self.loss)
            self._keep(machines)
            keep_support(self, machines, codes)
        self._calibration = None


class LogisticRegression(Machine, models.LogisticRegression):
    """Class probabilities from a hyperplane; `separatrix.LogisticRegression` explains it."""

    verdict_: Any
    _verdicts: list[Verdict]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Find the hyperplane and prove how close to the best it is.

        X holds numbers, dense or CSR, and y labels.
        """
        self._fit_rows(X, y, sample_weight)
        self._warn_of_separation(stacklevel=2)
        return self

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit one machine, one for each class, one for each pair, or all classes at once."""
        if self.multi_class == "direct":
            raise ValueError(
                "multi_class='direct' is for LinearSVM. All classes at once are "
                "multi_class='multinomial' here."
            )
        if self._fits_all_at_once(y):
            from separatrix.core.all_classes import fit_multinomial

            fit_multinomial(self, X, y, sample_weight)
            return
        if self.multi_class == "ovo" and _n_labels(y) > 2:
            machines = fit_pairs(self, X, y, sample_weight, "logistic")
            found = [one.verdict_ for one in machines if one.verdict_ is not None]
            self.verdict_ = found or None
            return
        verdicts: list[Verdict] = []
        self._verdicts = verdicts
        fitted, _ = self._fit_machines(X, y, sample_weight, "logistic")
        del self._verdicts
        self._keep(fitted)
        self.verdict_ = verdicts[0] if len(verdicts) == 1 else verdicts or None
        if any(verdict.kind in SEPARATED for verdict in verdicts):
            self.status_ = Status.INFINITE

    def _fits_all_at_once(self, y: Any) -> bool:
        """Whether one multinomial model is fitted: "auto" does where the settings allow it."""
        if self.multi_class != "auto" or self.solver not in ("auto", "newton"):
            return bool(self.multi_class == "multinomial")
        try:
            return _n_labels(y) > 2
        except NotImplementedError:  # a tensor without numbers: what follows refuses it by name
            return False

    def _warn_of_separation(self, stacklevel: int) -> None:
        """Say which coefficients run to infinity, for every machine that has such."""
        if self.status_ is not Status.INFINITE or self.multi_class == "ovo":
            return
        verdicts = self.verdict_ if isinstance(self.verdict_, list) else [self.verdict_]
        for verdict in verdicts:
            if verdict.kind in SEPARATED:
                names = getattr(self, "feature_names_in_", None)
                warnings.warn(SeparationWarning.about(verdict, names), stacklevel=stacklevel + 1)

    def _answerable(self, problem: MachineProblem) -> MachineProblem:
        """Where maximum likelihood has no answer, pose the problem of a very large C instead."""
        if problem.ridge > 0.0:
            return problem
        verdict = verdict_of(problem)
        self._verdicts.append(verdict)
        if verdict.kind not in SEPARATED:
            return problem
        return replace(problem, costs=NEARLY_FREE * problem.costs, ridge=1.0)
