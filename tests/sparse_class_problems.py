"""Generated problems for sparse multinomial models: copied, constant and raw columns, weights."""

import numpy as np

import separatrix as sx
from separatrix.problem.sparse_penalty import SparseSoftmaxProblem
from tests.problems import as_sparse


def drawn(seed, most_rows=25, most_columns=10):
    """Return X, codes, costs, the number of classes, l1_ratio, whether there is a bias, groups."""
    rng = np.random.default_rng(seed)
    K = 2 + seed % 3
    n, d = int(rng.integers(K + 2, most_rows)), int(rng.integers(1, most_columns))
    X = rng.normal(size=(n, d))
    kind = seed % 6
    if kind == 1:
        X = np.rint(X * 2.0)
    elif kind == 2 and d > 1:
        X[:, -1] = X[:, 0]  # a column twice
    elif kind == 3:
        X *= 10.0 ** rng.integers(-2, 3, size=d)
        X += 10.0 ** rng.integers(-2, 2)
    elif kind == 4:
        X[rng.random(X.shape) < 0.7] = 0.0
    elif kind == 5:
        X[:, 0] = 1.0  # a constant column
    directions = rng.normal(size=(d, K)) * (rng.random((d, 1)) < 0.5)
    directions /= max(X.std(axis=0).mean(), 1e-3)
    codes = (X @ directions + rng.gumbel(size=(n, K))).argmax(axis=1)
    codes[:K] = np.arange(K)  # at times the only row of its class
    weights = rng.integers(0, 4, size=n).astype(float) if seed % 4 == 0 else np.ones(n)
    weights[:K] = 1.0
    ratio = float(rng.choice([1.0, 1.0, 0.5, 0.9, 0.1]))
    masses = np.bincount(codes, weights, minlength=K)
    shares = masses / masses.sum() if seed % 5 else 1.0 / K
    pulls = X.T @ (weights[:, None] * (np.eye(K)[codes] - shares))
    largest = np.sqrt((pulls**2).mean(axis=1)).max()
    C = 10.0 ** rng.uniform(-0.2, 1.8) * ratio / max(largest, 1e-6)
    groups = np.unique(rng.integers(0, max(1, d // 2), size=d), return_inverse=True)[1]
    return X, codes, C * weights, K, ratio, bool(seed % 5), groups if seed % 7 == 0 else None


def posed(X, codes, costs, K, ratio, intercept, groups, sparse=False):
    rows = as_sparse(X) if sparse else X
    more = {"ridge": 1.0 - ratio, "l1": ratio, "groups": groups}
    return SparseSoftmaxProblem(rows, codes, K, costs, intercept, **more)


def model_of(case, tol=1e-8, **more):
    """Fit the model of a problem that was drawn."""
    X, codes, costs, _, ratio, intercept, groups = case
    settings = {"l1_ratio": ratio, "fit_intercept": intercept, "tol": tol, "groups": groups}
    model = sx.LogisticRegression(1.0, multi_class="multinomial", **settings, **more)
    return model.fit(X, codes, costs)
