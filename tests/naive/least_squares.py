"""Least squares, slowly: by NumPy on rows written out, by exact fractions, and row by row."""

from fractions import Fraction

import numpy as np


def copies(X, T, counts):
    """Every row as often as its count says."""
    rows = [i for i, count in enumerate(counts) for _ in range(int(count))]
    return X[rows], T[rows]


def least_squares(X, T, ridge=0.0, fit_intercept=True):
    """(W, b) by np.linalg.lstsq: mean taken away, ridge as rows below, shortest solution."""
    mean = X.mean(axis=0) if fit_intercept else np.zeros(X.shape[1])
    offset = T.mean(axis=0) if fit_intercept else np.zeros(T.shape[1])
    rows = np.vstack([X - mean, np.sqrt(ridge) * np.eye(X.shape[1])])
    targets = np.vstack([T - offset, np.zeros((X.shape[1], T.shape[1]))])
    V, *_ = np.linalg.lstsq(rows, targets, rcond=None)
    return V.T, offset - mean @ V


def exact_least_squares(X, t, ridge=0.0):
    """(w, b, least objective) of one output without rounding; w is the shortest minimiser.

    The normal equations G w = h have a solution of the form w = G v, and that one is the shortest.
    """
    n, d = X.shape
    rows = [[Fraction(float(v)) for v in row] for row in X]
    targets = [Fraction(float(v)) for v in t]
    mean = [sum(row[j] for row in rows) / n for j in range(d)]
    offset = sum(targets) / n
    rows = [[row[j] - mean[j] for j in range(d)] for row in rows]
    targets = [value - offset for value in targets]
    gram = [[sum(row[j] * row[k] for row in rows) for k in range(d)] for j in range(d)]
    for j in range(d):
        gram[j][j] += Fraction(float(ridge))
    h = [sum(row[j] * value for row, value in zip(rows, targets, strict=True)) for j in range(d)]
    square = [[sum(gram[j][m] * gram[m][k] for m in range(d)) for k in range(d)] for j in range(d)]
    v = _solve(square, h)
    w = [sum(gram[j][k] * v[k] for k in range(d)) for j in range(d)]
    fits = [sum(a * b for a, b in zip(row, w, strict=True)) for row in rows]
    objective = sum((fit - value) ** 2 for fit, value in zip(fits, targets, strict=True))
    objective += Fraction(float(ridge)) * sum(value * value for value in w)
    b = offset - sum(m * value for m, value in zip(mean, w, strict=True))
    return w, b, objective


def _solve(matrix, right):
    """A solution of equations that have one, by elimination; free unknowns are zero."""
    table = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    size, pivots, line = len(right), [], 0
    for column in range(size):
        found = next((r for r in range(line, size) if table[r][column] != 0), None)
        if found is None:
            continue
        table[line], table[found] = table[found], table[line]
        table[line] = [value / table[line][column] for value in table[line]]
        for r in range(size):
            if r != line and table[r][column] != 0:
                factor = table[r][column]
                table[r] = [a - factor * b for a, b in zip(table[r], table[line], strict=True)]
        pivots.append(column)
        line += 1
    solution = [Fraction(0)] * size
    for row, column in enumerate(pivots):
        solution[column] = table[row][-1]
    return solution


def objective(X, t, w, b, ridge=0.0):
    """The squared error of float weights, as a fraction."""
    total = Fraction(0)
    weights = [Fraction(float(v)) for v in w]
    for row, value in zip(X, t, strict=True):
        fit = sum(Fraction(float(x)) * v for x, v in zip(row, weights, strict=True))
        total += (fit + Fraction(float(b)) - Fraction(float(value))) ** 2
    return total + Fraction(float(ridge)) * sum(v * v for v in weights)


def leave_one_out(X, T, ridge, fit_intercept=True):
    """The outputs on every row of the machine fitted to all the others."""
    out = np.empty_like(T)
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        W, b = least_squares(X[others], T[others], ridge, fit_intercept)
        out[i] = W @ X[i] + b
    return out
