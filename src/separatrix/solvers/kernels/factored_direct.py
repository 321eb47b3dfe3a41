"""A small direct machine with a kernel as one without: for kernels on which visits get nowhere.

    K = L L^T,   and the rows of L make the same problem:   w_k = L^T a_k

as `factored_kernel` does for two classes. The balance of every class lets K be centred first; what
that moves the biases by is given back.
"""

from __future__ import annotations

import time

import numpy as np

from separatrix.problem.crammer_singer import DirectProblem, KernelDirect
from separatrix.solvers.kernels.factored_kernel import rows_of_factor
from separatrix.solvers.many_classes import crammer_singer, direct_interior_point
from separatrix.solvers.running.drive import go_on

__all__ = ["solve_factored_direct"]

_MOST_PASSES = 1_000


def solve_factored_direct(
    machine: KernelDirect, K: np.ndarray, tol: float, deadline: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return masses and the biases for K as it is, or None where the factor is of no use."""
    used = np.flatnonzero(machine.costs > 0.0)
    K = np.asarray(K, dtype=np.float64)
    rows = rows_of_factor(K[np.ix_(used, used)])
    if rows is None:
        return None
    problem = DirectProblem(rows, machine.codes[used], machine.n_classes, machine.costs[used])
    method = direct_interior_point if direct_interior_point.suits(problem) else crammer_singer
    state = method.start(problem, tol=tol)
    seconds = max(0.0, deadline - time.perf_counter())
    go_on(method, state, _MOST_PASSES, seconds, slice_size=1)
    masses = np.zeros((len(machine.codes), machine.n_classes))
    masses[used] = state.masses
    offset = (K[used] @ machine.shares(masses)).mean(axis=0)
    return masses, np.asarray(state.bias - offset)
