"""A dual point for a w that is nearly optimal: least squares on the rows of the margin.

    min over alpha_F   | w - sum_i alpha_i y_i x_i |^2
    subject to         0 <= alpha_F <= c,   and  sum_i y_i alpha_i = 0  where b is free

Rows clearly within the margin have alpha = c (squared hinge: 2 c (1 - margin)) and those clearly
beyond it 0; what is left, F, is fitted. An interior point multiplies the rounding of its margins by
weights that grow without bound, and Newton's method by high costs: so where the margin is very thin
their alpha is rough while their w is exact, and this makes up for it.

`on_the_faces` goes from the interior of the box to its faces. At the optimum a row with a margin
above 1 has alpha = 0, and one below 1 has all it may. Each row's distance from a bound, as a share
of the box, is compared with its distance from the margin of 1; where the margin says it more
clearly, alpha goes to the bound. To first order this raises the dual objective.

`on_this_face` computes the last digits once the face is known: the free rows lie on the margin, w
is a sum of rows, and what is left is one linear system.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg.lapack import dgetrf, dgetrs

from separatrix._compiled import compiled
from separatrix.problem.losses import SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import FloatArray
from separatrix.solvers.linear.claims import balanced

_BANDS = (1e-9, 1e-7, 1e-5, 1e-3)
_MOST_FREE, _CROWD, _COPIES = 1_000, 2, 8
_MOST_PRODUCTS = 20_000_000  # some milliseconds
_STEPS, _MOST_STEP_PRODUCTS = 200, 2_000_000_000  # of all steps together: about a second
_BOLDNESS = (1.0, 0.1, 0.01)
# Of a matrix scaled to entries of 1: a smaller pivot may be rounding, a larger residual is none.
_DEPENDENT, _SOLVED, _DUST = 1e-8, 1e-14, 1e-15


def fitted_alphas(problem: MachineProblem, w: FloatArray) -> list[FloatArray]:
    """Return a candidate for each width of the band that counts as the margin."""
    margins = problem.rows.margins(w)
    most = 4 * len(w) + 200
    # A step is a least-squares fit: so many rows that a few steps take no longer than a second.
    most = min(most, math.isqrt(_MOST_STEP_PRODUCTS // (4 * len(w))))
    found: list[FloatArray] = []
    before = -1
    for band in _BANDS:
        free = np.flatnonzero((np.abs(margins - 1.0) <= band) & (problem.costs > 0.0))
        if before < len(free) <= most:
            found.append(_fitted(problem, w, margins, free, band))
        before = max(before, len(free))
    return found


@np.errstate(over="ignore", invalid="ignore")  # a proof decides what becomes of it
def _fitted(
    problem: MachineProblem, w: FloatArray, margins: FloatArray, free: np.ndarray, band: float
) -> FloatArray:
    signs, costs = problem.signs, problem.upper
    full = 2.0 * problem.costs * (1.0 - margins) if problem.loss == SQUARED_HINGE else costs
    alpha = np.zeros(len(signs)) if problem.is_hard else np.where(margins < 1.0 - band, full, 0.0)
    alpha[free] = 0.0
    if not len(free):
        return alpha
    rows = problem.X[free]
    rows = rows.toarray() if sp.issparse(rows) else rows
    centre = rows.mean(axis=0, dtype=np.float64) if problem.has_free_bias else 0.0
    share = signs * alpha
    target = w[1:] - (share @ problem.X - share.sum() * centre)
    columns = (signs[free, None] * (rows - centre)).T
    if problem.rows.fit_intercept:
        # The balance as one more equation; a heavy one, as it must hold to rounding.
        weight = 1.0 if problem.bias_penalty > 0.0 else float(np.abs(columns).max(initial=1.0))
        columns = np.vstack([columns, weight * signs[free]])
        bias = w[0] * problem.bias_penalty
        target = np.append(target, weight * (bias - share.sum()))
    size = float(np.abs(target).max(initial=0.0)) or 1.0
    upper = costs[free] / size
    # Costs that vanish beside the target leave no room between the two bounds.
    room = upper > 0.0
    if not room.any():
        return alpha
    free, upper, columns = free[room], upper[room], columns[:, room]
    from scipy.optimize import lsq_linear  # slow to load, and seldom needed

    steps = max(4, min(_STEPS, _MOST_STEP_PRODUCTS // (columns.size * len(free))))
    fit = lsq_linear(columns, target / size, (0.0, upper), method="bvls", tol=1e-15, max_iter=steps)
    alpha[free] = np.minimum(np.maximum(fit.x, 0.0) * size, costs[free])
    return alpha


# ---- the exact optimum on a face of the box: what a solver leaves of the last digits


def near_face(
    problem: MachineProblem, alpha: np.ndarray, margins: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (w, alpha) of the optimum on the face that a point inside the box is near."""
    most = float(alpha.max(initial=0.0))
    near = _put_to_bounds(alpha, problem.upper, margins, most, 1.0)
    # As many rows lie on a margin as there are unknowns: of more the face is not known yet.
    if np.count_nonzero((near > 0.0) & (near < problem.upper)) > _CROWD * (problem.X.shape[1] + 1):
        return None
    found = on_this_face(problem, near)
    if found is None or not problem.has_free_bias:
        return found
    return found[0], balanced(found[1], problem.signs, problem.upper)


def on_this_face(
    problem: MachineProblem, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (w, alpha) of the optimum with the same free rows; None if there is none."""
    upper, signs = problem.upper, problem.signs
    free = np.flatnonzero((alpha > 0.0) & (alpha < upper))
    d = problem.X.shape[1]
    # With many more free rows than unknowns the face is far from unique, and nothing is gained.
    if not 0 < len(free) <= min(_MOST_FREE, _COPIES * (d + 2)):
        return None
    if len(free) ** 2 * d > _MOST_PRODUCTS:
        return None
    fixed = alpha.copy()
    fixed[free] = 0.0
    share = signs * fixed
    sums = np.asarray(share @ problem.X)
    rows = problem.X[free]
    rows = (rows.toarray() if sp.issparse(rows) else rows).astype(np.float64) * signs[free, None]
    found = _solved(problem, rows, signs[free], sums, float(share.sum()))
    if found is None:
        return None
    inside, bias = found
    inside[abs(inside) <= _DUST * abs(inside).max()] = 0.0  # such a row carries nothing
    slack = 1e-9 * float(upper[free].min() if np.isfinite(upper[free]).all() else inside.max())
    if (inside < -slack).any() or (inside > upper[free] + slack).any():
        return None
    fixed[free] = np.minimum(np.maximum(inside, 0.0), upper[free])
    return np.concatenate([[bias], sums + inside @ rows]), fixed


def _solved(
    problem: MachineProblem, rows: np.ndarray, signs: np.ndarray, sums: np.ndarray, balance: float
) -> tuple[np.ndarray, float] | None:
    """Solve for the free multipliers and the bias: margins of 1, and the balance."""
    n = len(signs)
    penalty, intercept = problem.bias_penalty, problem.rows.fit_intercept
    matrix, right = rows @ rows.T, 1.0 - rows @ sums
    if intercept and penalty > 0.0:
        matrix = matrix + np.outer(signs, signs) / penalty
        right = right - signs * balance / penalty
    if problem.has_free_bias:
        # The bias is one more unknown, of the size of the others, and the balance one more row.
        size = float(np.sqrt(np.trace(matrix) / n)) or 1.0
        bordered = np.zeros((n + 1, n + 1))
        bordered[:n, :n], bordered[:n, n], bordered[n, :n] = matrix, size * signs, size * signs
        matrix = bordered
        right = np.append(right, -size * balance)
    scale = 1.0 / np.sqrt(np.maximum(np.abs(matrix).max(axis=1), np.finfo(float).tiny))
    solution = _least(matrix * np.outer(scale, scale), scale * right)
    if solution is None:
        return None
    solution *= scale
    inside = solution[:n]
    if problem.has_free_bias:
        return inside, size * float(solution[n])
    bias = (balance + float(signs @ inside)) / penalty if intercept else 0.0
    return inside, bias


def _least(matrix: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Return the solution; where copies of rows leave several, the shortest."""
    factors, pivots, singular = dgetrf(matrix)
    size = float(abs(right).max(initial=0.0))
    if not singular and abs(factors.diagonal()).min() > _DEPENDENT:
        solution = dgetrs(factors, pivots, right)[0]
        if abs(matrix @ solution - right).max() <= _SOLVED * size:
            return np.asarray(solution)
    try:
        return np.asarray(scipy.linalg.lstsq(matrix, right)[0])
    except (np.linalg.LinAlgError, ValueError):
        return None


# ---- from the interior of the box to its faces: which rows are support vectors, and which are not


def on_the_faces(
    problem: MachineProblem,
    w: np.ndarray,
    margins: np.ndarray,
    alpha: np.ndarray,
    least_dual: float,
) -> np.ndarray | None:
    """Return multipliers put to their bounds as boldly as `least_dual` allows; None if it never."""
    for candidate in _candidates(problem, w, margins, alpha):
        if problem.has_free_bias:
            candidate = balanced(candidate, problem.signs, problem.upper)
        if problem.dual(candidate) >= least_dual:
            return candidate
    return None


def _candidates(
    problem: MachineProblem, w: np.ndarray, margins: np.ndarray, alpha: np.ndarray
) -> Iterator[np.ndarray]:
    most = float(alpha.max(initial=0.0))
    for boldness in _BOLDNESS:
        yield _put_to_bounds(alpha, problem.upper, margins, most, boldness)
    yield from fitted_alphas(problem, w)


@compiled
def _put_to_bounds(alpha, upper, margins, most, boldness):  # type: ignore[no-untyped-def]
    """Return alpha with 0 or all where the margin says so; a box without an end is `most` wide."""
    found = alpha.copy()
    for i in range(alpha.shape[0]):
        box = most if math.isinf(upper[i]) else upper[i]
        share = alpha[i] / box if box > 0.0 else 0.0
        if share < boldness * (margins[i] - 1.0):
            found[i] = 0.0
        elif 1.0 - share < boldness * (1.0 - margins[i]) and not math.isinf(upper[i]):
            found[i] = upper[i]
    return found
