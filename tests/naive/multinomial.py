"""The multinomial machine, slow and obvious: sums written out, and a general minimiser."""

import numpy as np
from scipy.optimize import linprog, minimize


def objective(W, b, X, codes, costs, penalty=0.0):
    """W is K x d; every row charged by how unlikely its own class is."""
    total = 0.5 * (W * W).sum() + 0.5 * penalty * (b * b).sum()
    for x, own, cost in zip(X, codes, costs, strict=True):
        scores = W @ x + b
        total += cost * (np.logaddexp.reduce(scores) - scores[own])
    return total


def probabilities(W, b, X):
    scores = X @ W.T + b
    return np.exp(scores - np.logaddexp.reduce(scores, axis=1)[:, None])


def dual(q, X, codes, costs, penalty, intercept):
    """q is n x K, each row a distribution; the balance of free biases is not looked at."""
    shares = -costs[:, None] * q
    shares[np.arange(len(X)), codes] += costs
    u, r = shares.T @ X, shares.sum(axis=0)
    value = -0.5 * (u * u).sum()
    for row, cost in zip(q, costs, strict=True):
        value -= cost * sum(p * np.log(p) for p in row if p > 0.0)
    if intercept and penalty > 0.0:
        value -= (r * r).sum() / (2.0 * penalty)
    return value


def optimum(X, codes, K, costs, penalty=0.0, intercept=True):
    """The least objective, by SciPy's trust region with gradient and Hessian written out."""
    n, d = X.shape
    rows = np.column_stack([np.ones(n), X])

    def split(v):
        table = v.reshape(K, d + 1)
        return table[:, 1:], table[:, 0] * intercept

    def value(v):
        return objective(*split(v), X, codes, costs, penalty)

    def slope(v):
        W, b = split(v)
        q = probabilities(W, b, X)
        q[np.arange(n), codes] -= 1.0
        grown = (costs[:, None] * q).T @ rows
        grown[:, 1:] += W
        grown[:, 0] = (grown[:, 0] + penalty * b) * intercept
        return grown.ravel()

    def curvature(v):
        W, b = split(v)
        q = probabilities(W, b, X)
        H = np.zeros((K, d + 1, K, d + 1))
        for row, p, cost in zip(rows, q, costs, strict=True):
            H += cost * np.einsum("kl,i,j->kilj", np.diag(p) - np.outer(p, p), row, row)
        if not intercept:
            H[:, 0] = 0.0
            H[:, :, :, 0] = 0.0
        H = H.reshape(K * (d + 1), K * (d + 1))
        ridge = np.ones((K, d + 1))
        ridge[:, 0] = penalty if intercept else 1.0
        return H + np.diag(ridge.ravel())

    start = np.zeros(K * (d + 1))
    found = minimize(
        value, start, jac=slope, hess=curvature, method="trust-exact", options={"gtol": 1e-10}
    )
    return float(found.fun)


def likelihood(X, codes, K, costs, intercept=True):
    """The K x (d + 1) weights of maximum likelihood, of sum 0, by plain Newton steps.

    Written out over the classes but the first; where columns depend on others, the shortest step.
    """
    rows = np.column_stack([np.ones(len(X)) * intercept, X])
    table = np.zeros((K, rows.shape[1]))
    for _ in range(60):
        q = probabilities(table, 0.0, rows)
        slope = (costs[:, None] * (q - np.eye(K)[codes])).T @ rows
        H = np.zeros((K, rows.shape[1], K, rows.shape[1]))
        for row, p, cost in zip(rows, q, costs, strict=True):
            H += cost * np.einsum("kl,i,j->kilj", np.diag(p) - np.outer(p, p), row, row)
        size = (K - 1) * rows.shape[1]
        step = np.linalg.lstsq(H[1:, :, 1:].reshape(size, size), slope[1:].ravel())[0]
        table[1:] -= step.reshape(K - 1, -1)
    return table - table.mean(axis=0)


def separation(X, codes, K, intercept=True):
    """ "separable", "quasi-separable" or "overlapping", by linear programs over all weights."""
    rows = np.column_stack([np.ones(len(X)) * intercept, X])
    signed = []
    for row, own in zip(rows, codes, strict=True):
        for k in range(K):
            if k != own:
                z = np.zeros((K, len(row)))
                z[own], z[k] = row, -row
                signed.append(z.ravel())
    Z = np.array(signed)
    least = np.column_stack([-Z, np.ones(len(Z))])
    best = linprog(
        np.r_[np.zeros(Z.shape[1]), -1.0], A_ub=least, b_ub=np.zeros(len(Z)), bounds=(-1.0, 1.0)
    )
    if -best.fun > 1e-7:
        return "separable"
    some = linprog(-Z.sum(axis=0), A_ub=-Z, b_ub=np.zeros(len(Z)), bounds=(-1.0, 1.0))
    return "quasi-separable" if -some.fun > 1e-7 else "overlapping"
