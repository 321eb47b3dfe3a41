"""The hinge machine and the hard margin as a quadratic program, handed to Clarabel.

min   1/2 |w|^2 + 1/2 p b^2 + sum_i c_i xi_i
over  y_i (w.x_i + b) >= 1 - xi_i,   xi >= 0        (no xi where the margin is hard)
"""

import clarabel
import numpy as np
from scipy import sparse


def hinge_optimum(X, signs, costs, bias_penalty=0.0, fit_intercept=True):
    """The least value of the objective."""
    used = costs > 0
    X, signs, costs = X[used], signs[used], costs[used]
    n, d = X.shape
    hard = np.isinf(costs).any()
    bias = np.ones((n, 1)) if fit_intercept else np.zeros((n, 0))
    Z = signs[:, None] * np.hstack([X, bias])
    width = Z.shape[1]
    weights = np.concatenate([np.ones(d), np.full(width - d, bias_penalty)])
    if hard:
        P, q = sparse.diags(weights), np.zeros(width)
        A, b = -Z, -np.ones(n)
    else:
        P = sparse.diags(np.concatenate([weights, np.zeros(n)]))
        q = np.concatenate([np.zeros(width), costs])
        A = np.block([[-Z, -np.eye(n)], [np.zeros((n, width)), -np.eye(n)]])
        b = np.concatenate([-np.ones(n), np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cones = [clarabel.NonnegativeConeT(len(b))]
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(P), q, sparse.csc_matrix(A), b, cones, settings
    )
    return solver.solve().obj_val
