"""Sparse multinomial models, slowly: proximal gradient steps with momentum, and the conditions.

    min over W, b   l sum_g sqrt(K p_g) |W_g| + r/2 |W|^2 + sum_i c_i (log sum_k exp z_ik - z_iy)

g runs over the columns, or groups of p_g columns. At the optimum every sum_i a_ik = 0 and, with
a_ik = c_i (1[k = y_i] - softmax_ik) and U_jk = sum_i a_ik x_ij, group g is 0 where |U_g| is at most
l sqrt(K p_g), else U_g = (r + l sqrt(K p_g) / |W_g|) W_g.
"""

import numpy as np


def probabilities(scores):
    parts = np.exp(scores - scores.max(axis=1, keepdims=True))
    return parts / parts.sum(axis=1, keepdims=True)


def pulls(X, codes, costs, W, b):
    """Return a, n x K."""
    marks = np.eye(W.shape[1])[codes]
    return costs[:, None] * (marks - probabilities(X @ W + b))


def members(width, groups=None):
    numbers = np.arange(width) if groups is None else np.asarray(groups)
    return [numbers == g for g in np.unique(numbers)]


def norm(W, groups=None):
    """Return the sum over groups of sqrt(weights) |W_g|."""
    return sum(np.sqrt(W[g].size) * np.linalg.norm(W[g]) for g in members(len(W), groups))


def objective(X, codes, costs, l1, ridge, W, b, groups=None):
    scores = X @ W + b
    top = scores.max(axis=1)
    losses = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    losses -= scores[np.arange(len(codes)), codes]
    return costs @ losses + l1 * norm(W, groups) + 0.5 * ridge * (W * W).sum()


def proximal_gradient(
    X, codes, costs, K, l1, ridge, intercept=True, most=200_000, tol=1e-12, groups=None
):
    """Return W (d x K) and b; momentum is dropped where it hurts."""
    n, d = X.shape
    centre = costs @ X / costs.sum() if intercept else np.zeros(d)  # b moves with it
    V = np.column_stack([X - centre, np.ones(n) * intercept])
    steepest = 0.5 * np.linalg.eigvalsh((V * costs[:, None]).T @ V)[-1] + 1e-300
    at, ahead, t = np.zeros((d + 1, K)), np.zeros((d + 1, K)), 1.0
    parts = members(d, groups)
    for _ in range(most):
        new = ahead + V.T @ pulls(V, codes, costs, ahead, 0.0) / steepest
        for g in parts:
            block = new[:d][g]
            bound, length = l1 * np.sqrt(block.size) / steepest, np.linalg.norm(block)
            new[:d][g] = 0.0 if length <= bound else (1.0 - bound / length) * block
        new[:d] /= 1.0 + ridge / steepest
        step = new - at
        if np.vdot(ahead - new, step) > 0.0:
            t = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        at, ahead, t = new, new + (t - 1.0) / following * step, following
        if abs(ahead - new).max() <= tol * (1.0 + abs(new).max()) and abs(step).max() <= tol:
            break
    return at[:d], (at[d] - centre @ at[:d]) * intercept


def violation(X, codes, costs, l1, ridge, W, b, intercept=True, groups=None):
    """Return how far (W, b) is from the conditions of the optimum, as a share of l."""
    a = pulls(X, codes, costs, W, b)
    U = X.T @ a - ridge * W
    worst = abs(a.sum(axis=0)).max() / costs.sum() if intercept else 0.0
    for g in members(len(W), groups):
        bound, length = l1 * np.sqrt(W[g].size), np.linalg.norm(W[g])
        off = np.linalg.norm(U[g] - (bound / length * W[g] if length else 0.0))
        worst = max(worst, (off if length else max(0.0, off - bound)) / l1)
    return worst
