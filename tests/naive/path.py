"""Cross-validation over C, slow and obvious: every fold and C fitted on its own, errors counted."""

import numpy as np


def path(make, X, y, pairs, Cs, weights=None):
    """Validation and training error of make(C), a row for each C and a column for each fold."""
    weights = np.ones(len(y)) if weights is None else weights
    validation = np.empty((len(Cs), len(pairs)))
    training = np.empty((len(Cs), len(pairs)))
    for k, C in enumerate(Cs):
        for f, (train, held) in enumerate(pairs):
            machine = make(C).fit(X[train], y[train], sample_weight=weights[train])
            for rows, errors in ((held, validation), (train, training)):
                wrong = machine.predict(X[rows]) != y[rows]
                errors[k, f] = weights[rows] @ wrong / weights[rows].sum()
    return validation, training


def least_mean(errors, Cs):
    """The smallest C of least mean error."""
    means = [round(float(np.mean(row)), 12) for row in errors]
    return min(C for C, mean in zip(Cs, means, strict=True) if mean == min(means))


def within_one_standard_error(errors, Cs):
    """The smallest C whose mean error is within one standard error of the least."""
    means = errors.mean(axis=1)
    best = list(Cs).index(least_mean(errors, Cs))
    limit = means[best] + errors[best].std(ddof=1) / np.sqrt(errors.shape[1])
    return min(C for C, mean in zip(Cs, means, strict=True) if mean <= limit)
