"""Halfspaces by linear programming (HiGHS), without and with slack.

    find w        with  z_i.w >= 1 for all i                     (no error; dummy objective)

    minimise over w and s >= 0   sum_i c_i s_i / n(y_i),         n(y) the costs of a class together
    subject to                   z_i.w >= 1 - s_i                (robust: mean violation by class)

The second is Bennett and Mangasarian's (1992): dividing by the class sizes keeps w = 0 from being a
solution unless the class means coincide. Columns are scaled by powers of two on the way in and out,
and those far from zero begin at their first row: HiGHS takes small differences of them for none.
What HiGHS says is a proposal: it calls some separable sets infeasible.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from separatrix.problem.equilibrate import column_exponents, column_sizes
from separatrix.problem.signed import SignedProblem

_LARGEST = 1e300
_FAR = 1e4  # times its spread
OPTIMUM = 1e-6  # what is left open of an optimum

__all__ = ["OPTIMUM", "Solution", "are_balanced", "solve_feasibility", "solve_robust"]


@dataclass(frozen=True)
class Solution:
    """What the linear program found; w is None if it claims that there is none."""

    w: np.ndarray | None
    duals: np.ndarray
    objective: float
    dual_objective: float
    iterations: int
    message: str


class _Rows:
    """Signed rows with columns moved near zero and scaled to at most 1, and the way back."""

    def __init__(self, problem: SignedProblem) -> None:
        self.start = _starts(problem)
        moved = problem.X - self.start if self.start.any() else problem.X
        X = sp.csr_array(moved, dtype=np.float64)
        self.exponents = column_exponents(X)
        data = np.ldexp(X.data, -self.exponents[X.indices])
        signs = np.repeat(problem.signs, np.diff(X.indptr))
        signed = sp.csr_array((data * signs, X.indices, X.indptr), shape=X.shape)
        bias = problem.signs * float(problem.fit_intercept)
        self.signed = sp.csr_array(sp.hstack([sp.csr_array(bias[:, None]), signed]))

    def weights(self, w: np.ndarray) -> np.ndarray:
        """Return the weights for the columns as given."""
        with np.errstate(over="ignore"):
            weights = np.ldexp(w[1:], -self.exponents)
        weights = np.clip(weights, -_LARGEST, _LARGEST)
        bias = w[0] - self.start @ weights if self.start.any() else w[0]
        return np.concatenate([[bias], weights])


def _starts(problem: SignedProblem) -> np.ndarray:
    """Return where columns begin: at the first row where they vary little and far from zero."""
    if not problem.fit_intercept or sp.issparse(problem.X) or not len(problem.X):
        return np.zeros(problem.X.shape[1])
    X = np.asarray(problem.X, dtype=np.float64)
    with np.errstate(over="ignore"):
        spread = X.max(axis=0) - X.min(axis=0)
        far = (spread > 0.0) & (abs(X[0]) > _FAR * spread)
    return np.where(far, X[0], 0.0)


def are_balanced(problem: SignedProblem, duals: np.ndarray) -> bool:
    """Whether the dual values cancel in every column, up to the tolerance of a linear program.

    With an intercept, dense columns begin at zero: far from it any values would seem to cancel.
    """
    shares, X = problem.signs * duals, problem.X
    if problem.fit_intercept and not sp.issparse(X):
        X = np.asarray(X, dtype=np.float64) - X[0]
    sums, bias = np.asarray(X.T @ shares), abs(shares.sum()) if problem.fit_intercept else 0.0
    room = OPTIMUM * np.maximum(column_sizes(X), 1e-300)
    return bool((abs(sums) <= room).all() and bias <= OPTIMUM)


def solve_feasibility(problem: SignedProblem) -> Solution:
    """Look for any w with all margins at least 1."""
    given = _Rows(problem)
    rows = given.signed
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
    w = given.weights(result.x)
    return Solution(w, duals, 0.0, float(duals.sum()), int(result.nit), result.message)


def solve_robust(problem: SignedProblem, costs: np.ndarray | None = None) -> Solution:
    """Minimise the mean violation of the two classes, each row counted by its cost."""
    given = _Rows(problem)
    rows = given.signed
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
    w = given.weights(result.x[:width])
    total = float(duals.sum())
    return Solution(w, duals, float(result.fun), total, int(result.nit), result.message)
