"""Which solver suits a regularised model, and which one to go over to (`model_run` runs them).

    interior_point   hinge and hard margin, narrow data
    newton           squared hinge and logistic (newton_cg where a d x d matrix is too large)
    dual_coordinate  hinge and squared hinge, wide sparse data
    gram             few rows, many columns: the same in the n x n Gram form

Rows on a device are solved there, by the first two of these.

`choose` names the solver; the figures behind it are those of benchmarks/machines.py. Where either
of two may be the faster, `plan` names the other as well, and what it costs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from separatrix.problem.device_rows import on_device
from separatrix.problem.losses import HINGE, LOGISTIC, SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear.prices import (
    ENTRY,
    NARROW,
    PRODUCT,
    price_of_interior_point,
    products,
    rare_share,
    reach,
)

__all__ = ["SOLVERS", "Plan", "choose", "plan"]

SOLVERS = ("newton", "interior_point", "dual_coordinate", "gram")

_FEW_ROWS, _VERY_FEW_ROWS, _THIN = 2_000, 100, 0.1
_MODEST = 2_000  # columns
_ITERATIONS, _PASSES = 25, 60
_FEW_ENTRIES = 20_000  # so few are solved at once to all digits
# Few columns, and a row that can move its own margin far: passes over the rows are slow. But where
# one class is rare the interior point may be as slow.
_FAR, _RARE = ((30, 10.0), (100, 300.0)), 0.1
# Newton's method costs about so many passes over sparse rows, where there are many more of them
# than columns, and no row can move its own margin farther than this; there it is the first choice.
# Farther, it costs more by a power of that, up to so many times as much.
_TALL, _NEWTON, _NEAR, _FARTHER, _DEAREST = 4.0, 17.0, 20.0, 0.4, 8.0


def choose(problem: MachineProblem) -> str:
    """Return the solver for a problem, by its shape and loss."""
    n, d = problem.X.shape
    if on_device(problem.X):
        return "interior_point" if problem.loss == HINGE else "newton"
    entries = problem.X.nnz if sp.issparse(problem.X) else n * d
    if _is_short(problem) and (problem.is_hard or entries > _THIN * n * d):
        # On thin sparse rows this costs at least ten times what passes cost. Where all rows can be
        # fitted, a Newton step for the squared hinge changes few rows.
        by_passes = problem.loss == SQUARED_HINGE and not problem.is_hard and n > _VERY_FEW_ROWS
        return "dual_coordinate" if by_passes else "gram"
    if problem.loss == LOGISTIC:
        return "newton"
    by_matrix_alone = "interior_point" if problem.loss == HINGE or problem.is_hard else "newton"
    if problem.loss == HINGE and not problem.is_hard and d <= _MODEST:
        if n * d <= _FEW_ENTRIES:
            return by_matrix_alone
        is_slow = _is_far(problem) and rare_share(problem) > _RARE
        return by_matrix_alone if is_slow else "dual_coordinate"
    if d <= NARROW or (d <= _MODEST and not sp.issparse(problem.X)):
        # Dense columns are seldom scaled, and passes over rows do not converge on raw ones.
        return by_matrix_alone
    if by_matrix_alone == "newton" and sp.issparse(problem.X):
        if n >= d and reach(problem) <= _NEAR:
            return "newton"
        if d > _MODEST:
            return "dual_coordinate"
    by_matrix = _ITERATIONS * PRODUCT * (products(problem) + d**3 / 3.0)
    by_passes = _PASSES * ENTRY * entries
    # Narrow data are hard for coordinate descent at large C: the matrix may cost a good deal more.
    return by_matrix_alone if by_matrix < 4.0 * by_passes else "dual_coordinate"


@dataclass(frozen=True)
class Plan:
    """The solver to begin with, and one to go over to where its passes get nowhere.

    `price` is what that one costs in all, in passes of the first; infinite where it is not known.
    `fixed` is the share of a full pass that an update costs even where it visits few rows.
    """

    solver: str
    other: str | None = None
    price: float = np.inf
    fixed: float = 0.0

    def work(self, passes: float, updates: int) -> float:
        """Return what passes in so many updates cost, in full passes of one update each."""
        return (1.0 - self.fixed) * passes + self.fixed * updates


def plan(problem: MachineProblem) -> Plan:
    """Return the solvers for a problem."""
    solver = choose(problem)
    other = _other_solver(problem, solver)
    if other == "interior_point":
        return Plan(solver, other, *price_of_interior_point(problem))
    if other != "newton":
        return Plan(solver, other)
    n, d = problem.X.shape
    farther = min(_DEAREST, max(1.0, reach(problem) / _NEAR) ** _FARTHER)
    return Plan(solver, other, _NEWTON * farther * max(1.0, _TALL * d / n))


def _is_far(problem: MachineProblem) -> bool:
    """Whether there are few columns, and a row can move its own margin far."""
    how_far = reach(problem)
    return any(problem.X.shape[1] <= columns and how_far > far for columns, far in _FAR)


def _other_solver(problem: MachineProblem, solver: str) -> str | None:
    """Return the solver to use where passes over the rows get nowhere; None if there is none."""
    if solver != "dual_coordinate":
        return None
    by_matrix = problem.loss == HINGE or problem.is_hard
    if not by_matrix and sp.issparse(problem.X):
        return "newton"
    if _is_short(problem):
        return "gram"
    if problem.X.shape[1] > _MODEST:
        return None
    return "interior_point" if by_matrix else "newton"


def _is_short(problem: MachineProblem) -> bool:
    """Whether there are few rows and many more columns."""
    n, d = problem.X.shape
    return n <= _FEW_ROWS and 2 * n < d
