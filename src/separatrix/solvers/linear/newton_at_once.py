"""Newton's method on few rows and columns, from start to end in one compiled loop.

    minimise over w, b    1/2 |w|^2 + p/2 b^2 + sum_i c_i loss(y_i (w.x_i + b))

The steps are those of `newton`, with columns as they are: on a hundred rows they are microseconds
of arithmetic, and the calls around them would be milliseconds. For models of which many are fitted,
as in cross-validation. Where columns need more care than that, nothing is found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.losses import HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear.row_terms import best_step, derivatives, gain_of

_MOST_PRODUCTS = 600_000  # of one matrix: from here on a library of linear algebra is faster
_MOST_UPDATES = 50
_SINGULAR = 1e-13
_DIGITS = 1e-9  # of the slope along a step, where its best length is looked for


class Optimum(NamedTuple):
    """What was found: the gap is as computed, and no proof."""

    w: np.ndarray  # [b, w]
    alpha: np.ndarray
    margins: np.ndarray
    gap: float
    updates: int


def solved(problem: MachineProblem, tol: float, first: Any = None) -> Optimum | None:
    """Return the model solved to a gap, from weights where they are given; None where it fails.

    >>> from separatrix.problem.losses import SQUARED_HINGE
    >>> from separatrix.problem.signed import SignedProblem
    >>> rows = SignedProblem(np.array([[2.0], [-2.0]]), np.array([1.0, -1.0]))
    >>> found = solved(MachineProblem(rows, np.ones(2), SQUARED_HINGE), 1e-9)
    >>> found is not None and [round(float(v), 6) for v in found.w]
    [0.0, 0.470588]
    """
    X = problem.X
    suits = isinstance(X, np.ndarray) and X.dtype == np.float64 and X.flags.c_contiguous
    if not suits or problem.loss == HINGE or problem.is_hard or problem.ridge != 1.0:
        return None
    if not np.isfinite(problem.bias_penalty):
        return None
    n, d = X.shape
    if n * (d + 1) ** 2 > _MOST_PRODUCTS:
        return None
    w, alpha, margins = np.zeros(d + 1), np.empty(n), np.empty(n)
    if first is not None and np.shape(first) == w.shape:
        w[:] = first
    penalty = problem.bias_penalty if problem.rows.fit_intercept else -1.0
    gap, updates = _minimise(
        X, problem.signs, problem.costs, problem.loss, penalty, tol, w, alpha, margins
    )
    is_solved = gap <= tol and bool(np.isfinite(w).all())
    return Optimum(w, alpha, margins, gap, updates) if is_solved else None


@compiled
def _minimise(X, signs, costs, loss, penalty, tol, w, alpha, margins):  # type: ignore[no-untyped-def]
    """Go to the optimum; return the gap and the updates made. A penalty below 0: there is no bias.

    Ends with w, its margins and the alpha that they make, balanced where the bias is free.
    """
    n, d = X.shape
    shares, curvatures, gains = np.empty(n), np.empty(n), np.empty(n)
    gradient, matrix = np.empty(d + 1), np.empty((d + 1, d + 1))
    gap, best, since = np.inf, np.inf, 0
    begin = 0 if penalty >= 0.0 else 1
    if begin:
        w[0] = 0.0
    for update in range(_MOST_UPDATES):
        _scores(X, w, margins)
        for i in range(n):
            margins[i] *= signs[i]
        lost, plus, minus = derivatives(loss, margins, signs, costs, shares, curvatures)
        primal, dual = _objectives(
            X, costs, loss, penalty, w, shares, lost, plus, minus, gradient, alpha
        )
        gap = 0.0 if primal == 0.0 else (primal - dual) / primal
        if not -np.inf < gap < np.inf:
            return np.inf, update
        if gap <= tol:
            return max(gap, 0.0), update
        since = 0 if gap < 0.5 * best else since + 1
        best = min(best, gap)
        if since > 8 or not _direction(X, curvatures, penalty, begin, gradient, matrix):
            return np.inf, update
        _scores(X, gradient, gains)
        first, second = 0.0, 0.0
        for j in range(d + 1):
            weight = 1.0 if j else max(penalty, 0.0)
            first += weight * w[j] * gradient[j]
            second += weight * gradient[j] * gradient[j]
        slope = first
        for i in range(n):
            slope -= shares[i] * gains[i]
            gains[i] *= signs[i]
        length, _ = best_step(loss, margins, gains, costs, first, second, 1.0, _DIGITS * abs(slope))
        for j in range(d + 1):
            w[j] += length * gradient[j]
    return np.inf, _MOST_UPDATES


@compiled
def _scores(X, w, scores):  # type: ignore[no-untyped-def]
    """Write X w + b."""
    for i in range(X.shape[0]):
        total = w[0]
        for j in range(X.shape[1]):
            total += X[i, j] * w[j + 1]
        scores[i] = total


@compiled
def _objectives(X, costs, loss, penalty, w, shares, lost, plus, minus, gradient, alpha):  # type: ignore[no-untyped-def]
    """Return both objectives; write the gradient and the alpha of the dual one."""
    d = X.shape[1]
    up, down = 1.0, 1.0
    if penalty == 0.0 and plus != minus:  # the heavier class is brought down to the lighter one
        up, down = (minus / plus, 1.0) if plus > minus else (1.0, plus / minus)
    from_plus, from_minus = np.zeros(d), np.zeros(d)
    for i in range(X.shape[0]):
        share = shares[i]
        alpha[i] = share * up if share > 0.0 else -share * down
        if share > 0.0:
            for j in range(d):
                from_plus[j] += share * X[i, j]
        elif share < 0.0:
            for j in range(d):
                from_minus[j] += share * X[i, j]
    primal, dual = lost, gain_of(loss, shares, costs, up, down)
    gradient[0] = minus - plus + max(penalty, 0.0) * w[0]
    if penalty > 0.0:
        primal += 0.5 * penalty * w[0] * w[0]
        dual -= 0.5 * (plus - minus) ** 2 / penalty
    for j in range(d):
        primal += 0.5 * w[j + 1] * w[j + 1]
        dual -= 0.5 * (up * from_plus[j] + down * from_minus[j]) ** 2
        gradient[j + 1] = w[j + 1] - from_plus[j] - from_minus[j]
    return primal, dual


@compiled
def _direction(X, curvatures, penalty, begin, gradient, matrix):  # type: ignore[no-untyped-def]
    """Write Newton's step over the gradient; False where the matrix has lost its digits."""
    size = X.shape[1] + 1
    matrix[:] = 0.0
    for i in range(X.shape[0]):
        bend = curvatures[i]
        if bend > 0.0:
            matrix[0, 0] += bend
            for j in range(1, size):
                push = bend * X[i, j - 1]
                matrix[j, 0] += push
                for k in range(1, j + 1):
                    matrix[j, k] += push * X[i, k - 1]
    matrix[0, 0] += max(penalty, 0.0)
    for j in range(1, size):
        matrix[j, j] += 1.0
    found = step_in_place(matrix, gradient, begin)
    if begin:
        gradient[0] = 0.0
    return found


@compiled
def step_in_place(matrix, gradient, begin):  # type: ignore[no-untyped-def]
    """Write -H^-1 g over g, of the lower triangle of H; False where H has lost its digits.

    Unknowns before `begin` are left out.
    """
    size = len(gradient)
    # Cholesky, its pivots as shares of the diagonal.
    for j in range(begin, size):
        whole = matrix[j, j]
        for k in range(begin, j):
            total = matrix[j, k]
            for m in range(begin, k):
                total -= matrix[j, m] * matrix[k, m]
            matrix[j, k] = total / matrix[k, k]
        left = whole
        for k in range(begin, j):
            left -= matrix[j, k] * matrix[j, k]
        if not left > _SINGULAR * whole or not left < np.inf:
            return False
        matrix[j, j] = np.sqrt(left)
    for j in range(begin, size):
        total = -gradient[j]
        for k in range(begin, j):
            total -= matrix[j, k] * gradient[k]
        gradient[j] = total / matrix[j, j]
    for j in range(size - 1, begin - 1, -1):
        total = gradient[j]
        for k in range(j + 1, size):
            total -= matrix[k, j] * gradient[k]
        gradient[j] = total / matrix[j, j]
    return True
