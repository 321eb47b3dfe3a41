"""Generated problems for sparse weights: copied and raw columns, rows with weights."""

import json

import numpy as np

import separatrix as sx
from separatrix import checker
from separatrix.checker import Refused
from separatrix.problem.canonical import as_checker_data, problem_from
from separatrix.problem.losses import CODES
from separatrix.problem.signed import SignedProblem
from separatrix.problem.sparse_penalty import SparseProblem
from tests.problems import as_sparse

LOSSES = ("logistic", "squared_hinge")


def drawn(seed, most_rows=25, most_columns=12):
    """Return X, signs, costs, loss, l1_ratio and whether there is a bias."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, most_rows)), int(rng.integers(1, most_columns))
    X = rng.normal(size=(n, d))
    kind = seed % 6
    if kind == 1:
        X = np.rint(X * 2.0)
    elif kind == 2 and d > 1:
        X[:, -1] = X[:, 0]  # a column twice
    elif kind == 3:
        X *= 10.0 ** rng.integers(-3, 4, size=d)
        X += 10.0 ** rng.integers(-2, 2)
    elif kind == 4:
        X[rng.random(X.shape) < 0.7] = 0.0
    elif kind == 5:
        X[:, 0] = 1.0  # a constant column
    direction = rng.normal(size=d) * (rng.random(d) < 0.4)
    y = np.where(X @ direction + rng.normal(size=n) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weights = rng.integers(0, 4, size=n).astype(float) if seed % 3 == 0 else np.ones(n)
    weights[:2] = 1.0
    ratio = float(rng.choice([1.0, 1.0, 0.5, 0.9, 0.1]))
    C = 10.0 ** rng.uniform(-1.5, 1.5) * ratio / max(abs((y * weights) @ X).max(), 1e-6)
    return X, y, C * weights, LOSSES[seed % 2], ratio, bool(seed % 5)


def posed(X, y, costs, loss, ratio, intercept, sparse=False):
    rows = SignedProblem(as_sparse(X) if sparse else X, y, intercept)
    return SparseProblem(rows, costs, CODES[loss], ridge=1.0 - ratio, l1=ratio)


def grouped(seed):
    """Return such a problem, and a group for every column."""
    case = drawn(seed)
    rng = np.random.default_rng(seed + 1)
    d = case[0].shape[1]
    return case, rng.integers(0, max(1, d // 2), size=d)


def model_of(case, groups=None, tol=1e-8):
    """Fit the model of a problem that was drawn."""
    X, y, costs, loss, ratio, intercept = case
    settings = {"l1_ratio": ratio, "fit_intercept": intercept, "tol": tol, "groups": groups}
    if loss == "logistic":
        model = sx.LogisticRegression(1.0, **settings)
    else:
        model = sx.LinearSVM(1.0, loss=loss, **settings)
    return model.fit(X, y, costs)


def by_checker(proof, X, y):
    """Whether the stand-alone checker accepts a proof."""
    try:
        checker.check(json.loads(proof.to_json()), as_checker_data(problem_from(X, y, True)))
    except Refused:
        return False
    return True
