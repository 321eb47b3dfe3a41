"""Small problems of many classes, the ugly ones among them: rows, class numbers, costs."""

import numpy as np

from tests.problems import problem

KINDS = [
    "comfortable_margin",
    "overlapping_gaussians",
    "integer_grid",
    "duplicate_rows",
    "opposite_duplicates",
    "collinear",
    "constant_columns",
    "fewer_rows_than_columns",
    "zero_rows",
    "zero_columns",
    "copied_columns",
    "mostly_zero",
]


def many(seed, most_rows=25):
    """X, class numbers 0 ... K-1 (each met, some once only), K, and costs, some zero."""
    rng = np.random.default_rng(seed)
    case = problem(seed, KINDS[seed % len(KINDS)])
    X = case.X[:most_rows]
    if len(X) < 3:
        X = np.vstack([X, X + rng.normal(size=X.shape)])
    X = X / max(1.0, abs(X).max() / 10.0)
    K = int(rng.integers(2, min(5, len(X)) + 1))
    codes = rng.integers(0, K, size=len(X))
    firsts = rng.permutation(len(X))[:K]
    codes[firsts] = np.arange(K)
    weights = np.ones(len(X))
    if seed % 3 == 0:
        weights = rng.integers(0, 4, size=len(X)).astype(float)
        weights[firsts] = 1.0
    return X, codes, K, weights, float(10.0 ** rng.integers(-2, 2))
