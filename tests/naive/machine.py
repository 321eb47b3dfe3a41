"""The machines by a general solver of quadratic and exponential cones (Clarabel): slow, obvious.

min   r/2 |w|^2 + 1/2 p b^2 + sum_i c_i loss_i
"""

import clarabel
import numpy as np
from scipy import sparse

from tests.naive.interior_point import hinge_optimum

__all__ = ["optimum"]


def optimum(X, signs, costs, loss, bias_penalty=0.0):
    """The least value of the objective, to about 1e-8."""
    if loss == "hinge":
        return hinge_optimum(X, signs, costs, bias_penalty)
    used = costs > 0
    X, signs, costs = X[used], signs[used], costs[used]
    n, d = X.shape
    Z = signs[:, None] * np.hstack([X, np.ones((n, 1))])
    weights = np.append(np.ones(d), bias_penalty)
    return (_squared if loss == "squared_hinge" else _logistic)(Z, costs, weights)


def _solve(P, q, A, b, cones):
    # Asked for more than it can give, it may stop far from the optimum: ask for less then.
    for tol in (1e-10, 1e-9, 1e-8):
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
        found = clarabel.DefaultSolver(
            sparse.csc_matrix(P), q, sparse.csc_matrix(A), b, cones, settings
        ).solve()
        if found.status == clarabel.SolverStatus.Solved:
            break
    return found.obj_val


def _squared(Z, costs, weights):
    n, width = Z.shape
    P = sparse.diags(np.concatenate([weights, 2.0 * costs]))
    A = np.block([[-Z, -np.eye(n)], [np.zeros((n, width)), -np.eye(n)]])
    b = np.concatenate([-np.ones(n), np.zeros(n)])
    return _solve(P, np.zeros(width + n), A, b, [clarabel.NonnegativeConeT(2 * n)])


def _logistic(Z, costs, weights):
    """log(1 + exp(-m)) <= t   as   exp(-t) + exp(-m - t) <= 1, two exponential cones a row."""
    n, width = Z.shape
    # Unknowns: w and b, t, u >= exp(-t), v >= exp(-m - t).
    P = sparse.diags(np.concatenate([weights, np.zeros(3 * n)]))
    q = np.concatenate([np.zeros(width), costs, np.zeros(2 * n)])
    zero, one = np.zeros((n, n)), np.eye(n)
    A = [np.hstack([np.zeros((n, width)), zero, one, one])]
    b, cones = [np.ones(n)], [clarabel.NonnegativeConeT(n)]
    for i in range(n):
        for margin, place in ((np.zeros(width), width + n + i), (Z[i], width + 2 * n + i)):
            block = np.zeros((3, width + 3 * n))
            block[0, :width], block[0, width + i] = margin, 1.0
            block[2, place] = -1.0
            A.append(block)
            b.append(np.array([0.0, 1.0, 0.0]))
            cones.append(clarabel.ExponentialConeT())
    return _solve(P, q, np.vstack(A), np.concatenate(b), cones)
