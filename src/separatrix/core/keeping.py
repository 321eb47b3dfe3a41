"""What a fit tells while it runs, and what it leaves on a model: weights, proof, figures, support.

A solver reports its state a few times a second. `Watch` passes the report on: as a line on stderr
with the gap falling over time (`verbose=True`), and as one task of scikit-learn's callback protocol
(version 1.9 and later), whose hooks see the weights of the moment.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from separatrix.certificates.duality_gap import DualityGaps, PairGaps
from separatrix.certificates.multiclass_gap import MulticlassGap
from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.checker.exact import at_most
from separatrix.core.proving import Fitted
from separatrix.solvers.running.drive import Status

SEPARATED = ("separable", "quasi-separable")
# The C that stands in for inf where the likelihood has no maximum.
NEARLY_FREE = 1e6

_BADNESS = {Status.OPTIMAL: 0, Status.UNPROVED: 1, Status.BUDGET: 2}
_REMEDIES = {
    Status.BUDGET: "raise max_seconds or max_passes, or use what is here, whose gap is proved",
    Status.UNPROVED: "raise tol, or divide the largest columns, whose rounding hides the rest",
}


def warn_of_gap(machine: Any, stacklevel: int) -> None:
    """Say that the tolerance was not reached, how far the fit came, and what to do."""
    status = machine.status_
    warnings.warn(
        f"{type(machine).__name__}: {status.cause}. The gap reached is {at_most(machine.gap_, 3)}, "
        f"tolerance: {machine.tol:g}. What to do: {_REMEDIES[status]}.",
        machine._unfinished,
        stacklevel=stacklevel,
    )


# ---- one machine, or one for each class


def keep_gaps(machine: Any, machines: list[Fitted]) -> None:
    """Keep one machine, or one for each class against the rest."""
    proofs = tuple(one.proof for one in machines)
    several = len(machines) > 1
    weights = np.array([one.weights for one in machines])
    machine.coef_ = weights[:, 1:].copy()
    machine.intercept_ = weights[:, 0] if machine.fit_intercept else np.zeros(len(machines))
    machine.certificate_ = DualityGaps(proofs) if several else proofs[0]
    machine.solver_ = machines[0].solver
    machine.n_iter_ = iterations(machine, [one.updates for one in machines])
    machine.n_passes_ = max(one.passes for one in machines)
    machine.objective_ = one_or_all([proof.primal for proof in proofs])
    machine.dual_objective_ = one_or_all([proof.dual for proof in proofs])
    machine.gap_ = max(proof.gap for proof in proofs)
    worst = max(machines, key=lambda one: _BADNESS[one.status])
    machine.status_ = worst.status
    intervals = [one.bias_interval for one in machines]
    machine.intercept_interval_ = intervals if several else intervals[0]


def keep_support(machine: Any, machines: list[Fitted], codes: np.ndarray) -> None:
    """Keep the rows with a dual variable, and the margins."""
    alpha = np.array([one.proof.multipliers for one in machines])
    machine.support_ = np.flatnonzero(alpha.any(axis=0))
    signs = np.array([one.signs for one in machines])
    machine.dual_coef_ = (alpha * signs)[:, machine.support_]
    machine.n_support_ = np.bincount(codes[machine.support_], minlength=len(machine.classes_))
    machine.margin_ = one_or_all([margin_of(w) for w in machine.coef_])


# ---- one machine for each pair of classes


def keep_pairs(machine: Any, machines: list[Any], pairs: tuple[tuple[int, int], ...]) -> None:
    """Keep the weights, proofs and figures of all pairs."""
    machine.coef_ = np.vstack([one.coef_ for one in machines])
    machine.intercept_ = np.concatenate([one.intercept_ for one in machines])
    machine.certificate_ = PairGaps(tuple(one.certificate_ for one in machines), pairs)
    machine.solver_ = machines[0].solver_
    machine.n_iter_ = iterations(machine, np.ravel([one.n_iter_ for one in machines]))
    machine.n_passes_ = max(one.n_passes_ for one in machines)
    machine.objective_ = np.array([one.objective_ for one in machines])
    machine.dual_objective_ = np.array([one.dual_objective_ for one in machines])
    machine.gap_ = max(one.gap_ for one in machines)
    machine.status_ = max((one.status_ for one in machines), key=lambda s: _BADNESS.get(s, 3))
    machine.intercept_interval_ = [one.intercept_interval_ for one in machines]


def keep_support_of_pairs(
    machine: Any, machines: list[Any], pairs: tuple[tuple[int, int], ...], codes: np.ndarray
) -> None:
    """Keep every machine's multipliers under the numbers of all rows."""
    all_rows = np.zeros((len(machines), len(codes)))
    for number, (one, pair) in enumerate(zip(machines, pairs, strict=True)):
        rows = np.flatnonzero(np.isin(codes, pair))
        all_rows[number, rows[one.support_]] = one.dual_coef_[0]
    machine.support_ = np.flatnonzero(all_rows.any(axis=0))
    machine.dual_coef_ = all_rows[:, machine.support_]
    machine.n_support_ = np.bincount(codes[machine.support_], minlength=len(machine.classes_))
    machine.margin_ = np.array([one.margin_ for one in machines])


# ---- all classes at once


def keep_direct(machine: Any, proof: MulticlassGap, status: Status, codes: np.ndarray) -> None:
    """Keep a machine of all classes at once, and its support vectors."""
    weights, shown = proof.weights, _keep_classes(machine, proof)
    machine.status_ = status
    machine.objective_, machine.dual_objective_, machine.gap_ = proof.primal, proof.dual, proof.gap
    machine.intercept_interval_ = None
    shares = np.zeros((len(codes), len(weights)))
    np.add.at(shares, (proof.rows, codes[proof.rows]), proof.multipliers)
    shares[proof.rows, proof.rivals] -= proof.multipliers
    machine.support_ = np.flatnonzero(shares.any(axis=1))
    machine.dual_coef_ = shares[machine.support_].T[-len(shown) :]
    machine.n_support_ = np.bincount(codes[machine.support_], minlength=len(weights))
    machine.margin_ = min(
        margin_of(first - second) for first, second in combinations(weights[:, 1:], 2)
    )


def margin_of(w: np.ndarray) -> float:
    """Return 1 / |w|, inf where w is 0: squares neither vanish nor overflow on the way.

    >>> margin_of(np.array([3e-200, 4e-200]))
    2e+199
    """
    largest = float(abs(w).max(initial=0.0))
    if largest == 0.0 or not np.isfinite(largest):
        return np.inf if largest == 0.0 else 0.0
    with np.errstate(over="ignore"):
        return float(1.0 / np.linalg.norm(w / largest) / largest)


def keep_softmax(machine: Any, proof: SoftmaxGap, status: Status) -> None:
    """Keep a multinomial machine."""
    _keep_classes(machine, proof)
    machine.verdict_, machine.intercept_interval_, machine.status_ = None, None, status
    machine.objective_, machine.dual_objective_, machine.gap_ = proof.primal, proof.dual, proof.gap


def _keep_classes(machine: Any, proof: MulticlassGap | SoftmaxGap) -> np.ndarray:
    """Keep the weights of all classes, and return them as they are shown.

    Model files hold attributes in the order in which they were set.
    """
    shown = two_as_one(proof.weights)
    machine.coef_ = shown[:, 1:].copy()
    machine.intercept_ = shown[:, 0].copy() if machine.fit_intercept else np.zeros(len(shown))
    machine.certificate_ = proof
    return shown


def iterations(machine: Any, counts: Any) -> Any:
    """Return the iterations of every model, or of the slowest, as the kind of model has them."""
    return np.array(counts, dtype=np.int64) if machine.counts_each_model else int(max(counts))


def one_or_all(values: Any) -> Any:
    """Return the only value as a float, or all of them.

    >>> one_or_all([0.5]), one_or_all([0.5, 1.0])
    (0.5, array([0.5, 1. ]))
    """
    return float(values[0]) if len(values) == 1 else np.asarray(values)


def two_as_one(by_class: np.ndarray) -> np.ndarray:
    """Return one row a class; two classes become one row, their difference.

    >>> two_as_one(np.array([[1.0], [3.0]])).tolist()
    [[2.0]]
    """
    return by_class[1:] - by_class[:1] if len(by_class) == 2 else by_class


class Watch:
    """Passes reports of one fit on; threads may report at the same time."""

    def __init__(self, estimator: Any, n_machines: int, X: Any, y: Any) -> None:
        self._estimator, self._X, self._y = estimator, X, y
        self._begun = time.perf_counter()
        self._lock = threading.Lock()
        self._line: Any = None
        self._gaps: dict[int, float] = {}
        self._n_machines = n_machines
        self._context: Any = None
        self._weights: dict[int, np.ndarray] = {}
        if estimator.verbose:
            from rich.console import Console

            self._line = Console(stderr=True).status("fitting")

    def listener(self, machine: int) -> Callable[[Any], None] | None:
        """Return what takes the reports of one machine; None where nobody listens."""
        is_heard = self._line is not None or self._context is not None
        return partial(self.report, machine) if is_heard else None

    def report(self, machine: int, state: Any) -> None:
        """Pass on how one machine is getting on."""
        with self._lock:
            self._gaps[machine] = float(state.gap)
            if self._line is not None:
                spent = time.perf_counter() - self._begun
                of = f"model {machine + 1} of {self._n_machines}, " * (self._n_machines > 1)
                self._line.update(
                    f"{type(self._estimator).__name__}: {of}gap {self._gaps[machine]:.2e} of "
                    f"{self._estimator.tol:g} required, {state.passes:.0f} passes, {spent:.1f} s"
                )
            if self._context is not None:
                self._tell_callbacks(machine, state)

    def _tell_callbacks(self, machine: int, state: Any) -> None:
        found = _weights_of(state, self._X.shape[1])
        if found is not None:
            self._weights[machine] = found
        task = self._context.subcontext(task_name="progress")
        data = {"estimator": self._estimator, "X": self._X, "y": self._y}
        task.call_on_fit_task_begin(**data)
        task.call_on_fit_task_end(**data, reconstruction_attributes=self._so_far())

    def _so_far(self) -> dict[str, Any] | None:
        """Return the model as it stands, for callbacks that predict; None where a part lacks."""
        if len(self._weights) < self._n_machines:
            return None
        weights = np.vstack([self._weights[machine] for machine in sorted(self._weights)])
        shown = {"coef_": weights[:, 1:], "intercept_": weights[:, 0]}
        return {**shown, "certificate_": None}


def _weights_of(state: Any, n_features: int) -> np.ndarray | None:
    """Return a row [intercept, features...] a score, of the columns as given.

    A solver that works in other columns than those of X has no such weights until its end.
    """
    if hasattr(state, "weights"):  # all classes at once, by softmax
        found = two_as_one(np.asarray(state.weights))
    elif hasattr(state, "W"):  # by the hinge
        found = two_as_one(np.column_stack([state.bias, state.W.T]))
    else:
        coef, intercept = state.problem.rows.weights(state.w)
        found = np.column_stack([np.atleast_1d(intercept), np.atleast_2d(coef)])
    return found if found.shape[1] == 1 + n_features else None


@contextmanager
def reported_to_callbacks(estimator: Any, X: Any, y: Any) -> Iterator[Any]:
    """Begin and end the task of a whole fit for scikit-learn's callbacks; None without any."""
    if not hasattr(estimator, "_skl_callbacks"):
        yield None
        return
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    yield context
    context.call_on_fit_task_end(estimator=estimator, X=X, y=y)


@contextmanager
def watching(estimator: Any, n_machines: int, X: Any, y: Any) -> Iterator[Watch]:
    """Watch one fit; the line on the terminal goes away with it."""
    watch = Watch(estimator, n_machines, X, y)
    with reported_to_callbacks(estimator, X, y) as watch._context:
        if watch._line is None:
            yield watch
        else:
            with watch._line:
                yield watch


def forget_threshold(model: Any) -> None:
    """Decide by the score again: threshold and costs belong to the weights they came with."""
    vars(model).pop("threshold_", None)
    vars(model).pop("costs_", None)
