"""The multinomial machine, slow and obvious: sums written out, and a general minimiser."""

import numpy as np
from scipy.optimize import minimize


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
