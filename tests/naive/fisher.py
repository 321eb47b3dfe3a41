"""Fisher's discriminant, slowly: scatter matrices added up row by row."""

import numpy as np


def scatters(X, y):
    """(mean, class means, S_W, S_B), classes in sorted order."""
    d = X.shape[1]
    mean = sum(X) / len(X)
    means, within, between = [], np.zeros((d, d)), np.zeros((d, d))
    for label in sorted(set(y)):
        rows = [x for x, own in zip(X, y, strict=True) if own == label]
        own_mean = sum(rows) / len(rows)
        for x in rows:
            within += np.outer(x - own_mean, x - own_mean)
        between += len(rows) * np.outer(own_mean - mean, own_mean - mean)
        means.append(own_mean)
    return mean, np.array(means), within, between


def fisher(X, y):
    """(w, b) of the lecture for two classes: w = S_W^-1 (m_2 - m_1), threshold at w.m."""
    mean, means, within, _ = scatters(X, y)
    w = np.linalg.solve(within, means[1] - means[0])
    return w, -w @ mean


def gaussian_log_odds(X, y, w):
    """(w, b): log-odds of the second class by Gaussians of equal variance along w."""
    _, means, within, _ = scatters(X, y)
    labels = sorted(set(y))
    counts = [sum(1 for own in y if own == label) for label in labels]
    variance = w @ within @ w / len(y)
    low, high = (means @ w).tolist()
    slope = (high - low) / variance
    return slope * w, -slope * (low + high) / 2 + np.log(counts[1] / counts[0])


def ledoit_wolf(X, y):
    """The share by which the covariance of the rows (in units of their deviation) is shrunk."""
    _, means, _, _ = scatters(X, y)
    labels = sorted(set(y))
    rows = np.array([x - means[labels.index(own)] for x, own in zip(X, y, strict=True)])
    rows = rows / np.sqrt((rows**2).mean(axis=0))
    n, d = rows.shape
    S = rows.T @ rows / n
    target = np.trace(S) / d * np.eye(d)
    distance = ((S - target) ** 2).sum()
    spread = sum(((np.outer(x, x) - S) ** 2).sum() for x in rows) / n**2
    return min(spread / distance, 1.0)
