"""The direct machine of many classes, slow and obvious: a quadratic program written out."""

import clarabel
import numpy as np
from scipy import sparse

from tests.naive.machine import _solve


def objective(W, b, X, codes, costs, penalty):
    """W is K x d; every row charged for its worst rival."""
    total = 0.5 * (W * W).sum() + 0.5 * penalty * (b * b).sum()
    for x, own, cost in zip(X, codes, costs, strict=True):
        scores = W @ x + b
        worst = max(scores[k] + (k != own) - scores[own] for k in range(len(W)))
        total += cost * worst
    return total


def dual(masses, X, codes, costs, penalty, intercept):
    """masses is n x K, each row's adding up to its cost; None where the biases must balance."""
    shares = -masses.copy()
    for i, own in enumerate(codes):
        shares[i, own] += costs[i]
    u, r = shares.T @ X, shares.sum(axis=0)
    gain = sum(masses[i, k] for i in range(len(X)) for k in range(masses.shape[1]) if k != codes[i])
    value = gain - 0.5 * (u * u).sum()
    if intercept and penalty > 0.0:
        value -= (r * r).sum() / (2.0 * penalty)
    return value


def optimum(X, codes, K, costs, penalty=0.0, intercept=True):
    """The least objective, by a general solver (Clarabel) on w, b and the slacks."""
    used = costs > 0.0
    X, codes, costs = X[used], codes[used], costs[used]
    n, d = X.shape
    rows, limits = [], []
    for i in range(n):
        for k in range(K):
            row = np.zeros(K * (d + 1) + n)
            row[K * (d + 1) + i] = 1.0
            if k != codes[i]:
                for number, sign in ((codes[i], 1.0), (k, -1.0)):
                    row[number * (d + 1) : (number + 1) * (d + 1)] += sign * np.append(
                        float(intercept), X[i]
                    )
            rows.append(row)
            limits.append(float(k != codes[i]))
    A, limit = np.array(rows), np.array(limits)
    ridge = np.concatenate([np.tile(np.append(penalty, np.ones(d)), K), np.zeros(n)])
    linear = np.concatenate([np.zeros(K * (d + 1)), costs])
    cones = [clarabel.NonnegativeConeT(len(limit))]
    return _solve(sparse.diags(ridge), linear, -A, -limit, cones)
