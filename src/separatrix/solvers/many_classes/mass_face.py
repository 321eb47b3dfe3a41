"""The exact optimum of the direct machine on a face: what passes leave of the last digits.

    given   which classes hold mass of each row
    find    masses and biases such that all classes that hold mass of a row have the same slope
            g_ik = w_k.x_i + b_k + 1[k != y_i], and every row's masses add up to its cost

Let every row with several such classes have one of them for reference r. One unknown t_p for each
other class k of such a row i moves mass from r to k and, with e_p = unit vector k - unit vector r,
takes t_p x_i (x) e_p from W. Equal slopes say  e_p.(W^T x_i + b) = -e_p.1[. != y_i],  a linear
system with the matrix (x_i.x_j)(e_p.e_q). The answer is taken if no mass is below zero.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from separatrix.problem.crammer_singer import DirectProblem

__all__ = ["on_this_face"]

_MOST_UNKNOWN = 400
_MOST_PRODUCTS = 20_000_000


def on_this_face(
    problem: DirectProblem, masses: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return (W, biases, masses) of the optimum with the same classes in use; None if none is."""
    held = masses > 0.0
    shared = np.flatnonzero(held.sum(axis=1) > 1)
    reference = np.where(
        held[np.arange(len(held)), problem.codes], problem.codes, held.argmax(axis=1)
    )
    others = held[shared].copy()
    others[np.arange(len(shared)), reference[shared]] = False
    at, classes = np.nonzero(others)
    rows, count = shared[at], len(at)
    if not 0 < count <= _MOST_UNKNOWN or count**2 * problem.X.shape[1] > _MOST_PRODUCTS:
        return None
    start = np.zeros_like(masses)
    start[np.arange(len(start)), reference] = problem.costs
    moves = np.zeros((count, problem.n_classes))  # the vectors e_p
    moves[np.arange(count), classes] = 1.0
    moves[np.arange(count), reference[rows]] -= 1.0
    found = _solved(problem, start, rows, moves)
    if found is None:
        return None
    t, bias = found
    result = start
    np.add.at(result, (rows, classes), t)
    np.add.at(result, (rows, reference[rows]), -t)
    slack = 1e-9 * float(problem.costs[shared].min())
    if (result < -slack).any():
        return None
    result = np.maximum(result, 0.0)
    W = np.asarray(problem.X.T @ problem.shares(result))
    if problem.fit_intercept and not problem.has_free_bias:
        bias = problem.shares(result).sum(axis=0) / problem.bias_penalty
    return W, bias, result


def _solved(
    problem: DirectProblem, start: np.ndarray, rows: np.ndarray, moves: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Solve for the masses moved and, where they are free, the biases."""
    X = problem.X[rows]
    X = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
    shares = problem.shares(start)
    balance = shares.sum(axis=0)
    slopes = X @ np.asarray(problem.X.T @ shares) + 1.0
    slopes[np.arange(len(rows)), problem.codes[rows]] -= 1.0
    across = moves @ moves.T
    matrix = (X @ X.T) * across
    if problem.fit_intercept and not problem.has_free_bias:
        matrix = matrix + across / problem.bias_penalty
        slopes = slopes + balance / problem.bias_penalty
    right = (slopes * moves).sum(axis=1)
    count, K = moves.shape
    if problem.has_free_bias:
        # The biases are K more unknowns, of the size of the others, and the balance K more rows.
        size = float(np.sqrt(np.trace(matrix) / count)) or 1.0
        matrix = np.block([[matrix, -size * moves], [-size * moves.T, np.zeros((K, K))]])
        right = np.concatenate([right, -size * balance])
    scale = 1.0 / np.sqrt(np.maximum(np.abs(matrix).max(axis=1), np.finfo(float).tiny))
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            solution = scipy.linalg.lstsq(
                matrix * np.outer(scale, scale), scale * right, lapack_driver="gelsy"
            )[0]
            solution = scale * solution
    except (np.linalg.LinAlgError, ValueError):
        return None
    bias = size * solution[count:] if problem.has_free_bias else np.zeros(K)
    return solution[:count], bias - bias.mean()
