"""The kernel machine, slowly: the pair that violates most, moved as far as it gains, again."""

import numpy as np


def kernel_matrix(name, X, Z, gamma=1.0, degree=3, coef0=0.0):
    """Every value by its own formula."""
    K = np.empty((len(X), len(Z)))
    for i, x in enumerate(X):
        for j, z in enumerate(Z):
            if name == "rbf":
                K[i, j] = np.exp(-gamma * ((x - z) ** 2).sum())
            elif name == "linear":
                K[i, j] = x @ z
            elif name == "poly":
                K[i, j] = (gamma * (x @ z) + coef0) ** degree
            else:
                K[i, j] = np.tanh(gamma * (x @ z) + coef0)
    return K


def smo(K, signs, costs, violation=1e-9, most=200_000):
    """Return multipliers in whose order no pair is out by more than `violation`."""
    alpha = np.zeros(len(signs))
    for _ in range(most):
        f = K @ (alpha * signs) - signs
        grows = np.where(signs > 0, alpha < costs, alpha > 0)
        falls = np.where(signs > 0, alpha > 0, alpha < costs)
        if not grows.any() or not falls.any():
            break
        i = np.flatnonzero(grows)[np.argmin(f[grows])]
        j = np.flatnonzero(falls)[np.argmax(f[falls])]
        if f[j] - f[i] <= violation:
            break
        curvature = max(K[i, i] + K[j, j] - 2 * K[i, j], 1e-12)
        room_i = costs[i] - alpha[i] if signs[i] > 0 else alpha[i]
        room_j = alpha[j] if signs[j] > 0 else costs[j] - alpha[j]
        step = min((f[j] - f[i]) / curvature, room_i, room_j)
        alpha[i] = min(max(alpha[i] + signs[i] * step, 0.0), costs[i])
        alpha[j] = min(max(alpha[j] - signs[j] * step, 0.0), costs[j])
    return alpha


def dual(K, signs, alpha):
    share = alpha * signs
    return alpha.sum() - 0.5 * share @ K @ share


def primal(K, signs, costs, alpha, bias):
    share = alpha * signs
    margins = signs * (K @ share + bias)
    return 0.5 * share @ K @ share + costs @ np.maximum(0.0, 1.0 - margins)
