"""The direct machine with a kernel, slow and obvious: a factor of the kernel matrix, and the
quadratic program of `crammer_singer` on its rows."""

import numpy as np

from tests.naive import crammer_singer


def factor(K):
    """L with L L^T = K."""
    sizes, directions = np.linalg.eigh(0.5 * (K + K.T))
    return directions * np.sqrt(np.maximum(sizes, 0.0))


def optimum(K, codes, n_classes, costs):
    return crammer_singer.optimum(factor(K), codes, n_classes, costs)


def objective(K, codes, n_classes, costs, shares, bias):
    """Every row charged for its worst rival; shares is n x classes."""
    scores = K @ shares + bias
    total = 0.5 * sum(shares[:, k] @ K @ shares[:, k] for k in range(n_classes))
    for i, own in enumerate(codes):
        worst = max(scores[i, k] + (k != own) - scores[i, own] for k in range(n_classes))
        total += costs[i] * worst
    return total
