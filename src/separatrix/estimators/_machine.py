"""The regularised machines in scikit-learn's manners: what they are given is validated."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, Future
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from separatrix.core import machine as core
from separatrix.core.checks import ratio_of, refuse_huge
from separatrix.core.proving import first_tolerance
from separatrix.errors import DeviceError
from separatrix.estimators._base import LinearClassifier
from separatrix.estimators._validate import (
    checked_weights,
    device_data,
    name_of_rows,
    threads_of,
    training_data,
)
from separatrix.estimators.replay import numbered
from separatrix.problem.fingerprint import LaterName
from separatrix.problem.signed import on_device
from separatrix.solvers.linear.choose import choose
from separatrix.solvers.linear.model_run import MachineFrame, replay_machine

__all__ = ["CallbackSupport", "Machine", "with_callbacks"]

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing to support: this scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


class Machine(CallbackSupport, LinearClassifier, core.Machine):
    """A machine with the objective ``1/2 |w|^2 + C sum_i s_i loss(y_i (w.x_i + b))``, b free."""

    _unfinished = ConvergenceWarning

    def _placed(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, Any]:
        there = device_data(self, X, y, sample_weight)
        if there is not None:
            X, y, sample_weight = there
        else:
            X, y = training_data(self, X, y)
            refuse_huge(self, X)
        return X, y, checked_weights(sample_weight, y)

    def _name(self, X: Any, codes: np.ndarray, pool: Executor) -> Future[str] | LaterName:
        if on_device(X):
            return name_of_rows(X, codes, len(self.classes_), pool)
        return super()._name(X, codes, pool)

    def _cores(self) -> int:
        return threads_of(self.n_jobs)

    def _replayed(
        self, X: Any, y: Any, loss: str, sample_weight: Any = None
    ) -> Iterator[MachineFrame]:
        """Return the start and every iteration that `fit` makes until it first looks for a proof.

        The machines of several classes follow one another.
        """
        if self.multi_class == "direct":
            raise ValueError(
                "The direct model has no replay: use multi_class='ovr' or 'ovo', whose models "
                "are shown one after another."
            )
        if self.multi_class in ("auto", "multinomial") and self._fits_all_at_once(y):
            raise ValueError(
                "The multinomial model has no replay: use multi_class='ovr' or 'ovo', whose "
                "models are shown one after another."
            )
        if ratio_of(self):
            raise ValueError("Sparse weights have no replay: use l1_ratio=0.")
        X, codes, problems = self._pose(X, y, sample_weight, loss)
        if on_device(X):
            raise DeviceError("A replay is made on the processor: use device='cpu', X in NumPy.")
        effort = self._effort()

        def frames() -> Iterator[MachineFrame]:
            for number, problem in enumerate(problems):
                run = replay_machine(
                    problem,
                    choose(problem) if effort.solver == "auto" else effort.solver,
                    tol=effort.tol,
                    aim=first_tolerance(problem, effort),
                    seed=effort.seed,
                    max_passes=effort.max_passes,
                )
                yield from run if len(problems) == 1 else numbered(run, number, None, len(codes))

        return frames()

    @property
    def slack_(self) -> np.ndarray:
        """By how much each row falls short of a margin of 1: a column for each machine."""
        check_is_fitted(self)
        machines = getattr(self.certificate_, "machines", (self.certificate_,))
        if not all(hasattr(machine, "margins") for machine in machines):
            raise AttributeError("slack_ is not kept with multi_class='multinomial'.")
        if not all(machine.margins.shape == (machine.n_rows,) for machine in machines):
            raise AttributeError(
                "slack_ is not kept for rows in partitions: 1 - y * decision_function(X) of a "
                "block, where that is above 0, is the slack of its rows."
            )
        columns = [np.maximum(0.0, 1.0 - machine.margins) for machine in machines]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def _work(self) -> str:
        return f"{self.solver_}: {np.max(self.n_iter_):,} iterations, {self.n_passes_:,.1f} passes"
