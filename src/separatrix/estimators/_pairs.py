"""One machine for every pair of classes, as `multi_class="ovo"` asks of a machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from separatrix.certificates.pair_gaps import PairGaps
from separatrix.estimators._frames import numbered
from separatrix.estimators._machine import BADNESS
from separatrix.estimators._votes import pairs_of
from separatrix.problem.device_rows import on_device
from separatrix.solvers._threads import one_thread

__all__ = ["fit_pairs", "replay_each_pair"]


def fit_pairs(machine: Any, X: Any, y: Any, sample_weight: Any, loss: str) -> list[Any]:
    """Fit `machine` as one machine for each pair of classes; return those machines."""
    X, codes, weights = machine._prepared(X, y, sample_weight, loss)
    pairs = pairs_of(len(machine.classes_))
    deadline = machine._effort().deadline
    if machine.n_jobs == 0:
        raise ValueError("n_jobs must not be 0. Use None for every core.")

    def work(pair: tuple[int, int]) -> Any:
        rows = np.flatnonzero(np.isin(codes, pair))
        one = _machine_of_a_pair(machine)
        if np.isfinite(deadline):
            one.set_params(max_seconds=max(1e-3, deadline - time.perf_counter()))
        return one.fit(X[rows], machine.classes_[codes[rows]], weights[rows])

    workers = 1 if on_device(X) else min(len(pairs), effective_n_jobs(machine.n_jobs or -1))
    with one_thread(), ThreadPoolExecutor(workers) as pool:
        machines = list(pool.map(work, pairs))
    _keep(machine, machines, pairs)
    if hasattr(machines[0], "support_"):
        _keep_support(machine, machines, pairs, codes)
    return machines


def replay_each_pair(machine: Any, X: Any, y: Any, loss: str) -> Iterator[Any]:
    """Return the frames of the machine of every pair, one pair after another."""
    X, codes, weights = machine._prepared(X, y, None, loss)

    def frames() -> Iterator[Any]:
        for number, pair in enumerate(pairs_of(len(machine.classes_))):
            rows = np.flatnonzero(np.isin(codes, pair))
            run = _machine_of_a_pair(machine)._replay(X[rows], codes[rows], weights[rows])
            yield from numbered(run, number, rows, len(codes))

    return frames()


def _machine_of_a_pair(machine: Any) -> Any:
    # Class weights are in the weights by now: counted over all rows, as everywhere.
    plain = {"multi_class": "ovr", "class_weight": None, "warm_start": False, "n_jobs": 1}
    plain |= {"probability": False} if "probability" in machine.get_params() else {}
    return clone(machine).set_params(**plain)


def _keep(machine: Any, machines: list[Any], pairs: tuple[tuple[int, int], ...]) -> None:
    machine.coef_ = np.vstack([one.coef_ for one in machines])
    machine.intercept_ = np.concatenate([one.intercept_ for one in machines])
    machine.certificate_ = PairGaps(tuple(one.certificate_ for one in machines), pairs)
    machine.solver_ = machines[0].solver_
    machine.n_iter_ = max(one.n_iter_ for one in machines)
    machine.n_passes_ = max(one.n_passes_ for one in machines)
    machine.objective_ = np.array([one.objective_ for one in machines])
    machine.dual_objective_ = np.array([one.dual_objective_ for one in machines])
    machine.gap_ = max(one.gap_ for one in machines)
    machine.status_ = max((one.status_ for one in machines), key=lambda s: BADNESS.get(s, 3))
    machine.intercept_interval_ = [one.intercept_interval_ for one in machines]


def _keep_support(
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
