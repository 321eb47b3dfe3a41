"""The smooth machines, slowly: the optimum by a general solver, to as many digits as it has.

The squared hinge is a quadratic programme, handed to Clarabel as written in a textbook. The
logistic machine has no such form: a general minimiser finds the valley, plain Newton steps with
halving go to its bottom.
"""

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import minimize


def squared_hinge(X, signs, costs, fit_intercept=True, bias_penalty=0.0):
    """min 1/2 |w|^2 + p/2 b^2 + sum c xi^2   subject to   y (w.x + b) >= 1 - xi."""
    n, d = X.shape
    penalty = np.concatenate([[bias_penalty], np.ones(d), 2.0 * costs])
    Z = signs[:, None] * np.hstack([np.full((n, 1), float(fit_intercept)), X])
    rows = sparse.csc_matrix(-np.hstack([Z, np.eye(n)]))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(np.diag(penalty)),
        np.zeros(len(penalty)),
        rows,
        -np.ones(n),
        [clarabel.NonnegativeConeT(n)],
        settings,
    ).solve()
    return np.array(solution.x)[: d + 1]


def logistic(X, signs, costs, fit_intercept=True, bias_penalty=0.0, ridge=1.0):
    """min r/2 |w|^2 + p/2 b^2 + sum c log(1 + exp(-y (w.x + b)))."""
    Z = signs[:, None] * np.hstack([np.full((len(X), 1), float(fit_intercept)), X])
    penalty = np.concatenate([[bias_penalty], np.full(X.shape[1], ridge)])

    def value(w):
        return 0.5 * penalty @ w**2 + costs @ np.logaddexp(0.0, -(Z @ w))

    def slope(w):
        return penalty * w - Z.T @ (costs / (1.0 + np.exp(np.clip(Z @ w, -700.0, 700.0))))

    w = minimize(value, np.zeros(Z.shape[1]), jac=slope, method="BFGS").x
    for _ in range(200):
        p = 1.0 / (1.0 + np.exp(np.clip(Z @ w, -700.0, 700.0)))
        bends = Z.T @ ((costs * p * (1.0 - p))[:, None] * Z) + np.diag(penalty)
        direction = -np.linalg.lstsq(bends, slope(w), rcond=1e-15)[0]
        t = 1.0
        while value(w + t * direction) > value(w) and t > 1e-12:
            t *= 0.5
        w = w + t * direction if t > 1e-12 else w
        if np.abs(slope(w) @ direction) <= 1e-14 * value(w):
            break
    return w
