"""A small kernel model as a linear one: for kernels on which pairs of rows get nowhere.

    K = L L^T,   and the rows of L make the same problem:   w = L^T (a y)

Where kernel values are nearly of low rank and of very different sizes, thousands of pair steps a
row change little; an interior point on the rows of L takes thirty steps whatever the sizes. The
balance sum_i y_i a_i = 0 lets K be centred first, so that a common offset costs no digits.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.linalg import eigh

from separatrix.problem.crammer_singer import DirectProblem, KernelDirect
from separatrix.problem.losses import HINGE
from separatrix.problem.machine import KernelMachine, MachineProblem
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear.model_run import MachineRun
from separatrix.solvers.many_classes import crammer_singer, direct_interior_point
from separatrix.solvers.running.drive import go_on

__all__ = ["MOST_ROWS", "solve_factored", "solve_factored_direct"]

MOST_ROWS = 1500
_ROUNDING = 1e-15
_MOST_PASSES = 1_000


def rows_of_factor(K: np.ndarray) -> np.ndarray | None:
    """Return L with L L^T = K seen from the mean of the rows, or None where there is none."""
    K = K - K.mean(axis=0)
    K = K - K.mean(axis=1)[:, None]
    if not np.isfinite(K).all():
        return None
    sizes, directions = eigh(0.5 * (K + K.T), check_finite=False)
    kept = sizes > _ROUNDING * len(K) * float(sizes.max(initial=0.0))
    return np.asarray(directions[:, kept] * np.sqrt(sizes[kept])) if kept.any() else None


def solve_factored(
    machine: KernelMachine, K: np.ndarray, tol: float, deadline: float
) -> np.ndarray | None:
    """Return multipliers, or None where the factor is of no use."""
    used = np.flatnonzero(machine.costs > 0.0)
    rows = rows_of_factor(np.asarray(K, dtype=np.float64)[np.ix_(used, used)])
    if rows is None:
        return None
    problem = MachineProblem(SignedProblem(rows, machine.signs[used]), machine.costs[used], HINGE)
    run = MachineRun(problem, "interior_point", tol=tol)
    run.go_on(tol, deadline)
    alpha = np.zeros(len(machine.costs))
    alpha[used] = run.claims().alpha
    return alpha


# ---- a small direct model with a kernel as one without: for kernels on which visits get nowhere


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
