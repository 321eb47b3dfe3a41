"""What the interior point costs, in passes of dual coordinate descent, and what tells it.

No clock is read: the same data have the same price.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from separatrix.problem.machine import MachineProblem

__all__ = [
    "ENTRY", "NARROW", "PRODUCT", "price_of_interior_point", "products", "rare_share", "reach",
]  # fmt: skip

NARROW = 60  # columns, whose matrix costs next to nothing
# Seconds for one multiplication of a d x d product, and for one entry of a coordinate pass.
PRODUCT, ENTRY = 2.5e-10, 3e-9

# Seconds of a pass of coordinate descent for each entry and row; of an update for each row and
# column, and the rest; of an iteration of the interior point for each product and entry (dense,
# sparse), for each product of the factor, each entry of the matrix and each row, and the rest.
# Fitted to 240 generated problems; only their ratio matters.
_OF_PASS = 1.5e-9, 8.5e-8
_OF_UPDATE = 7.2e-8, 2e-8, 8.7e-5
_OF_ITERATION = {False: (1e-10, 1.4e-8), True: (2e-10, 2e-8)}
_OF_FACTOR, _OF_MATRIX, _OF_ROW, _OF_REST = 6e-11, 4e-8, 2.3e-7, 4e-4


def price_of_interior_point(problem: MachineProblem) -> tuple[float, float]:
    """Return about how many passes the interior point costs, and what share of one is fixed."""
    if not 0.0 < float(problem.costs.sum()) < np.inf:
        return np.inf, 0.0
    n, d = problem.X.shape
    is_sparse = sp.issparse(problem.X)
    entries = float(problem.X.nnz if is_sparse else n * d)
    of_row, of_column, rest = _OF_UPDATE
    update = of_row * n + of_column * d + rest
    a_pass = _OF_PASS[0] * entries + _OF_PASS[1] * n + update
    product, entry = _OF_ITERATION[is_sparse]
    iteration = product * products(problem) + entry * entries
    iteration += _OF_FACTOR * d**3 / 3.0 + _OF_MATRIX * d**2 + _OF_ROW * n + _OF_REST
    # Iterations grow with rows and columns, and where one class is rare: a fit to 1,069 generated
    # problems. No look at the data tells more; two thirds are within a factor of 1.7.
    iterations = 1.44 * n**0.16 * d**0.1 * max(rare_share(problem), 1e-4) ** -0.18
    return float(iterations * iteration / a_pass), float(update / a_pass)


def rare_share(problem: MachineProblem) -> float:
    """Return the share of the costs that the rarer class has."""
    mass = float(problem.costs.sum())
    positive = float(problem.costs[problem.signs > 0.0].sum()) / mass if mass > 0.0 else 0.0
    return min(positive, 1.0 - positive)


def reach(problem: MachineProblem) -> float:
    """Return how far one row can move its own margin, C |x|^2, in the mean."""
    entries = problem.X.data if sp.issparse(problem.X) else problem.X.ravel()
    with np.errstate(over="ignore"):
        return float(problem.costs.mean()) * float(entries @ entries) / problem.X.shape[0]


def products(problem: MachineProblem) -> float:
    """Return how many products a d x d matrix of the rows takes."""
    n, d = problem.X.shape
    if not sp.issparse(problem.X):
        return 0.5 * n * d * d
    lengths = np.diff(problem.X.indptr).astype(np.float64)
    return 4.0 * float(lengths @ lengths)  # no vector instructions there
