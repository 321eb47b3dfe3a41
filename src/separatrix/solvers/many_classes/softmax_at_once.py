"""Newton's method for few rows, columns and classes, from start to end in one compiled loop.

    minimise over w_k, b_k    1/2 sum_k |w_k|^2 + p/2 sum_k b_k^2
                              + sum_i c_i (log sum_k exp z_ik - z_iy),     z_ik = w_k.x_i + b_k

The steps are those of `multinomial` with the whole system (`softmax_rows`): on a hundred rows
they are microseconds of arithmetic, and the calls around them would be a millisecond. For models of
which many are fitted, as in cross-validation. Where that is not enough, nothing is found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.many_classes import SoftmaxProblem
from separatrix.solvers.linear.newton_at_once import step_in_place

__all__ = ["ClassOptimum", "solved"]

_MOST_UNKNOWN = 128
_MOST_PRODUCTS = 1_500_000  # of one matrix: from here on a library of linear algebra is faster
_MOST_UPDATES = 40
_HALVINGS = 30
_ARMIJO, _NOISE = 1e-4, 1e-13


class ClassOptimum(NamedTuple):
    """What was found: the gap is as computed, and no proof."""

    weights: np.ndarray  # one row [b, w] a class
    gap: float
    updates: int
    passes: float


def solved(problem: SoftmaxProblem, tol: float, first: Any = None) -> ClassOptimum | None:
    """Return the model solved to a gap, from weights where they are given; None where it fails.

    >>> problem = SoftmaxProblem(np.array([[2.0], [-2.0]]), np.array([0, 1]), 2, np.ones(2))
    >>> found = solved(problem, 1e-9)
    >>> found is not None and [round(float(v), 6) for v in found.weights[:, 1]]
    [0.491418, -0.491418]
    """
    X, K = problem.X, problem.n_classes
    if not isinstance(X, np.ndarray) or X.dtype != np.float64 or problem.ridge != 1.0:
        return None
    n, d = X.shape
    unknown = K * (d + 1)
    if unknown > _MOST_UNKNOWN or n * unknown**2 > 4 * _MOST_PRODUCTS:
        return None
    if not np.isfinite(problem.bias_penalty):
        return None
    centre = np.zeros(d)
    if problem.has_free_bias and (mass := problem.costs.sum()) > 0.0:
        centre = (problem.costs / mass) @ X
    rows = np.empty((n, d + 1))
    rows[:, 0] = 1.0
    np.subtract(X, centre, out=rows[:, 1:])
    weights = np.zeros((K, d + 1))
    if first is not None and np.shape(first) == weights.shape:
        weights[:] = first
        weights[:, 0] += weights[:, 1:] @ centre
    if not problem.fit_intercept:
        weights[:, 0] = 0.0
    penalty = problem.bias_penalty if problem.fit_intercept else -1.0
    gap, updates, passes = _minimise(rows, problem.codes, problem.costs, penalty, tol, weights)
    if not gap <= tol or not np.isfinite(weights).all():
        return None
    weights[:, 0] -= weights[:, 1:] @ centre
    if problem.has_free_bias:
        weights[:, 0] -= weights[:, 0].mean()
    return ClassOptimum(weights, gap, updates, float(passes))


@compiled
def _minimise(rows, codes, costs, penalty, tol, weights):  # type: ignore[no-untyped-def]
    """Go to the optimum; return the gap, the updates made and the passes over the rows.

    A penalty below 0: there are no biases. The gap is half the squared length of the gradient, and
    what one more step is expected to gain, as a share of the objective.
    """
    n, width = rows.shape
    K = weights.shape[0]
    unknown = K * width
    p, tried = np.empty((n, K)), np.empty((n, K))
    gradient, step = np.empty(unknown), np.empty((K, width))
    matrix, moved = np.empty((unknown, unknown)), np.empty((K, width))
    primal = _probabilities(rows, codes, costs, penalty, weights, p)
    passes = 1
    for update in range(_MOST_UPDATES):
        if not primal < np.inf:
            return np.inf, update, passes
        away = _gradient(rows, codes, costs, penalty, weights, p, gradient)
        for k in range(K):
            for a in range(width):
                step[k, a] = gradient[k * width + a]
        _curvature(rows, costs, penalty, p, matrix, K)
        passes += 2
        if not step_in_place(matrix, gradient, 0):
            return np.inf, update, passes
        falls = 0.0
        for k in range(K):
            for a in range(width):
                falls += step[k, a] * gradient[k * width + a]
                step[k, a] = gradient[k * width + a]
        gap = 0.0 if primal == 0.0 else (away - 0.5 * falls) / primal
        if not -np.inf < gap < np.inf:
            return np.inf, update, passes
        if gap <= tol:
            return max(gap, 0.0), update, passes
        length, is_better = 1.0, False
        for _ in range(_HALVINGS):
            for k in range(K):
                for a in range(width):
                    moved[k, a] = weights[k, a] + length * step[k, a]
            there = _probabilities(rows, codes, costs, penalty, moved, tried)
            passes += 1
            if there <= primal + _ARMIJO * length * falls + _NOISE * primal:
                is_better = True
                break
            length *= 0.5
        if not is_better:
            return np.inf, update, passes
        for k in range(K):  # ``weights[:] = moved`` takes numba seconds to compile
            for a in range(width):
                weights[k, a] = moved[k, a]
        p, tried = tried, p
        primal = there
    return np.inf, _MOST_UPDATES, passes


@compiled
def _probabilities(rows, codes, costs, penalty, weights, p):  # type: ignore[no-untyped-def]
    """Write the probabilities; return the objective."""
    n, width = rows.shape
    K = weights.shape[0]
    total = 0.0
    for k in range(K):
        for a in range(1, width):
            total += 0.5 * weights[k, a] * weights[k, a]
        total += 0.5 * max(penalty, 0.0) * weights[k, 0] * weights[k, 0]
    for i in range(n):
        top = -np.inf
        for k in range(K):
            score = 0.0
            for a in range(width):
                score += rows[i, a] * weights[k, a]
            p[i, k] = score
            top = max(top, score)
        own, whole = p[i, codes[i]], 0.0
        for k in range(K):
            p[i, k] = np.exp(p[i, k] - top)
            whole += p[i, k]
        for k in range(K):
            p[i, k] /= whole
        if costs[i] > 0.0:
            total += costs[i] * (np.log(whole) + (top - own))
    return total


@compiled
def _gradient(rows, codes, costs, penalty, weights, p, gradient):  # type: ignore[no-untyped-def]
    """Write the gradient; return half the squared length of what its penalties bound."""
    n, width = rows.shape
    K = weights.shape[0]
    for k in range(K):
        gradient[k * width] = max(penalty, 0.0) * weights[k, 0]
        for a in range(1, width):
            gradient[k * width + a] = weights[k, a]
    for i in range(n):
        if costs[i] > 0.0:
            for k in range(K):
                pull = costs[i] * (p[i, k] - (1.0 if codes[i] == k else 0.0))
                for a in range(width):
                    gradient[k * width + a] += pull * rows[i, a]
    away = 0.0
    for k in range(K):
        for a in range(1, width):
            away += 0.5 * gradient[k * width + a] ** 2
        if penalty > 0.0:
            away += 0.5 * gradient[k * width] ** 2 / penalty
        if penalty < 0.0:
            gradient[k * width] = 0.0
    return away


@compiled
def _curvature(rows, costs, penalty, p, matrix, K):  # type: ignore[no-untyped-def]
    """Write the lower triangle of the whole system: class after class, each with its bias first."""
    n, width = rows.shape
    matrix[:] = 0.0
    for i in range(n):
        if costs[i] > 0.0:
            for k in range(K):
                for j in range(k + 1):
                    bend = costs[i] * p[i, k] * ((1.0 if j == k else 0.0) - p[i, j])
                    for a in range(width):
                        push = bend * rows[i, a]
                        for b in range(a + 1):
                            matrix[k * width + a, j * width + b] += push * rows[i, b]
    for k in range(K):  # a block of two classes is symmetric
        for j in range(k):
            for a in range(width):
                for b in range(a):
                    matrix[k * width + b, j * width + a] = matrix[k * width + a, j * width + b]
    mean = 0.0
    for k in range(K):
        mean += matrix[k * width, k * width] / K
        for a in range(1, width):
            matrix[k * width + a, k * width + a] += 1.0
    if penalty > 0.0:
        for k in range(K):
            matrix[k * width, k * width] += penalty
    elif penalty == 0.0:  # one number added to all biases changes nothing: that is held fast
        for k in range(K):
            for j in range(k + 1):
                matrix[k * width, j * width] += mean / K
    else:
        for k in range(K):  # no biases: their unknowns stay 0
            for at in range(k * width):
                matrix[k * width, at] = 0.0
            for at in range(k * width, K * width):
                matrix[at, k * width] = 0.0
            matrix[k * width, k * width] = 1.0
