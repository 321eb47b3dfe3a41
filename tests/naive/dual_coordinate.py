"""The regularised machines, slowly: exact solution of small ones by a conic solver, and plain
dual coordinate descent in the stored order.

    min   1/2 |w|^2 + 1/2 p b^2 + sum_i c_i xi_i      (xi_i^2 for the squared hinge)
    s.t.  y_i (w.x_i + b) >= 1 - xi_i,  xi_i >= 0
"""

import clarabel
import numpy as np
from scipy import sparse


def optimum(X, signs, costs, squared=False, fit_intercept=True, bias_penalty=0.0):
    """The least objective; rows of cost 0 are left out."""
    used = costs > 0
    X, signs, costs = X[used], signs[used], costs[used]
    n, d = X.shape
    if n == 0:
        return 0.0
    bias = 1 if fit_intercept else 0
    quadratic = np.concatenate(
        [np.full(bias, bias_penalty), np.ones(d), 2 * costs if squared else np.zeros(n)]
    )
    linear = np.concatenate([np.zeros(bias + d), np.zeros(n) if squared else costs])
    rows = signs[:, np.newaxis] * np.hstack([np.ones((n, bias)), X])
    constraints = np.block([[-rows, -np.eye(n)], [np.zeros((n, bias + d)), -np.eye(n)]])
    right = np.concatenate([-np.ones(n), np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(sparse.diags(quadratic)),
        linear,
        sparse.csc_matrix(constraints),
        right,
        [clarabel.NonnegativeConeT(2 * n)],
        settings,
    ).solve()
    assert solution.status == clarabel.SolverStatus.Solved
    return solution.obj_val


def dual_coordinate(X, signs, costs, squared=False, bias_penalty=None, passes=2000):
    """alpha by plain descent, where the bias is penalised or absent (None)."""
    rows = X if bias_penalty is None else np.hstack([X, np.full((len(X), 1), bias_penalty**-0.5)])
    rows = signs[:, np.newaxis] * rows
    alpha = np.zeros(len(X))
    w = np.zeros(rows.shape[1])
    for _ in range(passes):
        for i, row in enumerate(rows):
            if costs[i] == 0:
                continue
            diagonal = 0.5 / costs[i] if squared else 0.0
            upper = np.inf if squared else costs[i]
            square = row @ row + diagonal
            gradient = row @ w - 1 + diagonal * alpha[i]
            best = upper if square == 0 else min(upper, max(0.0, alpha[i] - gradient / square))
            w += (best - alpha[i]) * row
            alpha[i] = best
    return alpha
