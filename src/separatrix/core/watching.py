"""The progress of a fit, reported to the terminal and to scikit-learn's callbacks.

A solver reports its state a few times a second. `Watch` passes the report on: as a line on stderr
with the gap falling over time (`verbose=True`), and as one task of scikit-learn's callback protocol
(version 1.9 and later), whose hooks see the weights of the moment.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

__all__ = ["Watch", "watching"]


class Watch:
    """Passes reports of one fit on; threads may report at the same time."""

    def __init__(self, estimator: Any, n_machines: int, X: Any, y: Any) -> None:
        self._estimator, self._X, self._y = estimator, X, y
        self._begun = time.perf_counter()
        self._lock = threading.Lock()
        self._line: Any = None
        self._gaps: dict[int, float] = {}
        self._n_machines = n_machines
        self._context = None
        if hasattr(estimator, "_skl_callbacks"):
            self._context = estimator._init_callback_context(max_subtasks=None)
        if estimator.verbose:
            from rich.console import Console

            self._line = Console(stderr=True).status("fitting")

    @property
    def has_listener(self) -> bool:
        """Whether anyone listens."""
        return self._line is not None or self._context is not None

    def listener(self, machine: int) -> Callable[[Any], None] | None:
        """Return what takes the reports of one machine; None where nobody listens."""
        return partial(self.report, machine) if self.has_listener else None

    def report(self, machine: int, state: Any) -> None:
        """Pass on how one machine is getting on."""
        with self._lock:
            self._gaps[machine] = float(state.gap)
            if self._line is not None:
                spent = time.perf_counter() - self._begun
                of = f"machine {machine + 1} of {self._n_machines}, " * (self._n_machines > 1)
                self._line.update(
                    f"{type(self._estimator).__name__}: {of}gap {self._gaps[machine]:.2e} of "
                    f"{self._estimator.tol:g} required, {state.passes:.0f} passes, {spent:.1f} s"
                )
            if self._context is not None:
                self._tell_callbacks(state)

    def _tell_callbacks(self, state: Any) -> None:
        assert self._context is not None
        task = self._context.subcontext(task_name="progress")
        task.call_on_fit_task_begin(estimator=self._estimator, X=self._X, y=self._y)
        coef, intercept = state.problem.rows.weights(state.w)
        task.call_on_fit_task_end(
            estimator=self._estimator,
            X=self._X,
            y=self._y,
            reconstruction_attributes={"coef_": coef, "intercept_": intercept},
        )


@contextmanager
def watching(estimator: Any, n_machines: int, X: Any, y: Any) -> Iterator[Watch]:
    """Watch one fit; the line on the terminal goes away with it."""
    watch = Watch(estimator, n_machines, X, y)
    if watch._line is None:
        yield watch
    else:
        with watch._line:
            yield watch
