"""What the regularised machines share: pose, solve, prove, and tell."""

from __future__ import annotations

import math
import os
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from separatrix.certificates.canonical import data_of, sha256
from separatrix.certificates.duality_gap import DualityGap
from separatrix.certificates.later_name import LaterName
from separatrix.core.checks import (
    one_of,
    positive,
    refuse_huge,
    refuse_infinite,
    several_classes,
)
from separatrix.core.keeping import keep_gaps, warn_of_gap
from separatrix.core.linear_model import VotingModel
from separatrix.core.proving import (
    Effort,
    Fitted,
    Naming,
    first_tolerance,
    solve_and_prove,
)
from separatrix.core.row_weights import costs_of, row_weights
from separatrix.core.settings import seed_of
from separatrix.core.watching import watching
from separatrix.errors import DeviceError, UnfinishedWarning
from separatrix.problem.device_rows import on_device
from separatrix.problem.losses import CODES
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem, as_matrix
from separatrix.solvers.linear.choose import SOLVERS
from separatrix.solvers.running.drive import Status
from separatrix.solvers.running.threads import one_thread


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
    n_iter_: int
    n_passes_: float
    _unfinished: type[Warning] = UnfinishedWarning

    def _check_cost(self) -> None:
        if not (isinstance(self.C, float | np.floating) and math.isinf(self.C) and self.C > 0):
            positive("C", self.C)

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
        all_at_once = "multinomial" if loss == "logistic" else "direct"
        one_of("multi_class", self.multi_class, ("ovr", "ovo", all_at_once))
        for name in ("max_seconds", "max_passes"):
            if getattr(self, name) is not None:
                positive(name, getattr(self, name))

    def _prepared(
        self, X: Any, y: Any, sample_weight: Any, loss: str
    ) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return X, the class numbers, and the weights of rows."""
        self._check_parameters(loss)
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
        if on_device(X) and len(problems) > 1:
            from separatrix.solvers.linear.device.newton_side_by_side import side_by_side

            tol = first_tolerance(problems[0], effort)
            firsts = side_by_side(problems, tol, firsts, effort.deadline)
        names = tuple(str(name) for name in self.classes_)
        # A device is busy with one machine; threads would only share its memory.
        workers = 1 if on_device(X) else min(len(problems), self._cores())
        with (
            one_thread(),  # so that the number of threads changes no bit
            watching(self, len(problems), X, y) as watch,
            ThreadPoolExecutor(workers + 1) as pool,
        ):
            # The fingerprint is made meanwhile; it needs the data and nothing else.
            fingerprint = self._name(X, codes, pool)

            def work(number: int) -> Fitted:
                report = None
                if watch.has_listener:
                    report = lambda state: watch.report(number, state)  # noqa: E731
                naming = Naming(fingerprint, names, number if len(problems) > 1 else 1)
                return solve_and_prove(problems[number], effort, naming, firsts[number], report)

            numbers = range(len(problems))
            return list(map(work, numbers) if workers == 1 else pool.map(work, numbers))

    def _name(self, X: Any, codes: np.ndarray, pool: Executor) -> Future[str] | LaterName:
        """Begin to make the fingerprint of the data."""
        count = len(self.classes_)
        return pool.submit(sha256, data_of(X, codes, count, bool(self.fit_intercept)))

    def _cores(self) -> int:
        """Return how many threads may work."""
        if self.n_jobs == 0:
            raise ValueError("n_jobs must not be 0. Use None for every core.")
        all_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
        jobs = self.n_jobs or -1
        return jobs if jobs > 0 else max(1, all_cores + 1 + jobs)

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


_SUITS = {
    "hinge": {"interior_point", "dual_coordinate", "gram"},
    "squared_hinge": {"newton", "dual_coordinate", "gram"},
    "logistic": {"newton", "gram"},
}
