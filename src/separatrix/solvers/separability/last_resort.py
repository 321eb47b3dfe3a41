"""Where Newton's method and exact multipliers left a set undecided: one linear program (HiGHS).

    maximise t   subject to   z_i.w >= t for all i,   -1 <= w_j <= 1,   t <= 1

It is always feasible. With t > 0 its w is tried in integers on every row. Otherwise t = 0, and its
dual variables are multipliers of at most d + 1 rows of zero sum, which are made exact: the classes
are not separable, whatever else stays open. What HiGHS says is only a proposal.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from separatrix.problem.exact import SignedRows
from separatrix.solvers.separability.facial_reduction import strictly_off
from separatrix.solvers.separability.row_generation import RawView
from separatrix.solvers.separability.witness import exact_multipliers

__all__ = ["by_linear_program"]

SECONDS = 60.0
MOST_ENTRIES = 20_000_000
LEAST = 1e-9  # of the largest dual variable

Small = tuple[list[int], list[int]]


def by_linear_program(rows: SignedRows) -> tuple[list[Fraction] | None, Small | None]:
    """Return a direction that separates the rows, or a small Gordan witness; each checked."""
    stored = rows.X.nnz if rows.is_sparse else rows.X.size
    if stored > MOST_ENTRIES:
        return None, None
    exponents = RawView(rows).exponents
    w, duals = _solved(rows, exponents)
    if w is not None and w.any():
        direction = [
            Fraction(v) / Fraction(2) ** int(e) for v, e in zip(w.tolist(), exponents, strict=True)
        ]
        if strictly_off(rows, direction):
            return direction, None
    chosen = np.flatnonzero(duals > LEAST * duals.max(initial=0.0))
    if chosen.size == 0:
        return None, None
    chosen = chosen[np.argsort(-duals[chosen], kind="stable")]
    lists = rows.take(chosen).integers.lists(np.arange(len(chosen)))
    exact = exact_multipliers(lists, duals[chosen])
    return None, None if exact is None else _positive(chosen, exact.multipliers)


def _solved(rows: SignedRows, exponents: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Return w in scaled columns, and the dual variables of the rows."""
    from scipy import sparse
    from scipy.optimize import linprog

    first = int(rows.fit_intercept)
    matrix = sparse.csr_array(rows.X, dtype=np.float64, copy=True)
    matrix.data = np.ldexp(matrix.data, -exponents[first:][matrix.indices])
    matrix.data *= np.repeat(rows.signs, np.diff(matrix.indptr))
    ones = np.ones((len(rows), 1))
    columns = [sparse.csr_array(rows.signs[:, None])] if first else []
    table = sparse.csr_array(sparse.hstack([*columns, matrix, -ones]))
    result = linprog(
        np.concatenate([np.zeros(rows.width), [-1.0]]),
        A_ub=-table,
        b_ub=np.zeros(len(rows)),
        bounds=[(-1.0, 1.0)] * rows.width + [(None, 1.0)],
        method="highs",
        options={"time_limit": SECONDS, "primal_feasibility_tolerance": 1e-10},
    )
    if result.x is None:
        return None, np.zeros(len(rows))
    return np.asarray(result.x[:-1]), -np.asarray(result.ineqlin.marginals)


def _positive(chosen: np.ndarray, multipliers: list[int]) -> Small:
    kept = [i for i, m in enumerate(multipliers) if m > 0]
    return chosen[kept].tolist(), [multipliers[i] for i in kept]
