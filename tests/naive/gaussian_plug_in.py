"""Gaussian classes, slowly: densities by SciPy, losses by loops, errors by counting draws."""

import numpy as np
from scipy.stats import multivariate_normal


def estimates(X, y, kind):
    """[(mean, covariance)] of each class in sorted order, by maximum likelihood."""
    labels, out, pooled = sorted(set(y)), [], 0.0
    for label in labels:
        rows = np.array([x for x, own in zip(X, y, strict=True) if own == label])
        mean = rows.mean(axis=0)
        scatter = sum(np.outer(x - mean, x - mean) for x in rows)
        pooled = pooled + scatter
        out.append((mean, scatter / len(rows)))
    if kind == "shared":
        return [(mean, pooled / len(X)) for mean, _ in out]
    if kind == "diagonal":
        return [(mean, np.diag(np.diag(C))) for mean, C in out]
    return out


def posteriors(X, model, priors):
    """Probabilities of the classes at every row."""
    out = []
    densities = [multivariate_normal(mean, C) for mean, C in model]
    for x in X:
        logs = [density.logpdf(x) + np.log(p) for density, p in zip(densities, priors, strict=True)]
        shares = np.exp(np.array(logs) - max(logs))
        out.append(shares / shares.sum())
    return np.array(out)


def decisions(probabilities, loss):
    """The decision of least expected loss for every row."""
    out = []
    for shares in probabilities:
        risks = [sum(w * p for w, p in zip(row, shares, strict=True)) for row in loss]
        out.append(int(np.argmin(risks)))
    return np.array(out)


def log_ratio(X, model):
    """log p(x|1) - log p(x|0)."""
    (m0, C0), (m1, C1) = model
    return multivariate_normal(m1, C1).logpdf(X) - multivariate_normal(m0, C0).logpdf(X)


def drawn_errors(model, threshold, count, seed=0):
    """(false alarms, misses) of a threshold, as shares of draws from either class."""
    rng = np.random.default_rng(seed)
    (m0, C0), (m1, C1) = model
    low = log_ratio(rng.multivariate_normal(m0, C0, size=count), model)
    high = log_ratio(rng.multivariate_normal(m1, C1, size=count), model)
    return float((low > threshold).mean()), float((high <= threshold).mean())
