"""One machine for every pair of classes, as `multi_class="ovo"` asks of a machine."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from separatrix.core.keeping import keep_pairs, keep_support_of_pairs
from separatrix.core.settings import fresh, settings_of
from separatrix.core.votes import pairs_of
from separatrix.problem.device_rows import on_device
from separatrix.solvers.running.threads import one_thread

__all__ = ["fit_pairs", "machine_of_a_pair"]


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
    with one_thread(), ThreadPoolExecutor(workers) as pool:
        machines = list(pool.map(work, pairs))
    keep_pairs(machine, machines, pairs)
    if hasattr(machines[0], "support_"):
        keep_support_of_pairs(machine, machines, pairs, codes)
    return machines


def machine_of_a_pair(machine: Any) -> Any:
    """Return a machine for two of the classes."""
    # Class weights are in the weights by now: counted over all rows, as everywhere.
    plain = {"multi_class": "ovr", "class_weight": None, "warm_start": False, "n_jobs": 1}
    plain |= {"probability": False} if "probability" in settings_of(machine) else {}
    return fresh(machine, **plain)
