"""Halfspaces by linear programming (HiGHS), without and with slack.

    find w        with  z_i.w >= 1 for all i                     (no error; dummy objective)

    minimise over w and s >= 0   sum_i c_i s_i / n(y_i),         n(y) the costs of a class together
    subject to                   z_i.w >= 1 - s_i                (robust: mean violation by class)

The second is Bennett and Mangasarian's (1992): dividing by the class sizes keeps w = 0 from being a
solution unless the class means coincide. Columns are scaled by powers of two on the way in and out.
What HiGHS says is a proposal: it calls some separable sets infeasible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from separatrix.problem.signed import SignedProblem

_LARGEST = 1e300

__all__ = ["Solution", "solve_feasibility", "solve_robust"]


@dataclass(frozen=True)
class Solution:
    """What the linear program found; w is None if it claims that there is none."""

    w: np.ndarray | None
    duals: np.ndarray
    objective: float
    dual_objective: float
    iterations: int
    message: str


def _scaled_rows(problem: SignedProblem) -> tuple[sp.csr_array, np.ndarray]:
    """Return signed rows with columns scaled to at most 1, and the exponents divided by."""
    X = sp.csr_array(problem.X, dtype=np.float64)
    size = np.asarray(abs(X).max(axis=0).todense()).ravel() if X.nnz else np.zeros(X.shape[1])
    exponents = np.where(size > 0.0, np.frexp(size)[1], 0)
    data = np.ldexp(X.data, -exponents[X.indices])
    rows = np.repeat(problem.signs, np.diff(X.indptr))
    signed = sp.csr_array((data * rows, X.indices, X.indptr), shape=X.shape)
    bias = problem.signs * float(problem.fit_intercept)
    return sp.csr_array(sp.hstack([sp.csr_array(bias[:, None]), signed])), exponents


def _unscaled(w: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        weights = np.ldexp(w[1:], -exponents)
    return np.concatenate([w[:1], np.clip(weights, -_LARGEST, _LARGEST)])


def solve_feasibility(problem: SignedProblem) -> Solution:
    """Look for any w with all margins at least 1."""
    rows, exponents = _scaled_rows(problem)
    result = linprog(
        np.zeros(rows.shape[1]),
        A_ub=-rows,
        b_ub=-np.ones(rows.shape[0]),
        bounds=(None, None),
        method="highs",
    )
    duals = np.zeros(rows.shape[0])
    if result.x is None:
        return Solution(None, duals, np.inf, 0.0, int(result.nit or 0), result.message)
    duals = -np.asarray(result.ineqlin.marginals)
    w = _unscaled(result.x, exponents)
    return Solution(w, duals, 0.0, float(duals.sum()), int(result.nit), result.message)


def solve_robust(problem: SignedProblem, costs: np.ndarray | None = None) -> Solution:
    """Minimise the mean violation of the two classes, each row counted by its cost."""
    rows, exponents = _scaled_rows(problem)
    count, width = rows.shape
    positive = problem.signs > 0
    costs = np.ones(count) if costs is None else costs
    sizes = np.where(positive, costs[positive].sum() or 1.0, costs[~positive].sum() or 1.0)
    result = linprog(
        np.concatenate([np.zeros(width), costs / sizes]),
        A_ub=-sp.hstack([rows, sp.identity(count)]).tocsr(),
        b_ub=-np.ones(count),
        bounds=[(None, None)] * width + [(0.0, None)] * count,
        method="highs",
    )
    if result.x is None:
        return Solution(None, np.zeros(count), np.inf, 0.0, int(result.nit or 0), result.message)
    duals = -np.asarray(result.ineqlin.marginals)
    w = _unscaled(result.x[:width], exponents)
    total = float(duals.sum())
    return Solution(w, duals, float(result.fun), total, int(result.nit), result.message)
