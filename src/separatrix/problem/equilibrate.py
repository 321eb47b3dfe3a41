"""Columns brought to a common size by powers of two: a scaling without rounding.

Multiplying a float by a power of two changes its exponent and nothing else, unless the product is
below the least normal number (`divides_exactly`). So what holds for the scaled columns holds
exactly for the columns as given. Zeros stay zeros: sparse data stay sparse.
"""

from __future__ import annotations

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.problem.signed import Matrix


def column_exponents(X: Matrix) -> np.ndarray:
    """Return e so that the largest entry of each column, divided by 2**e, lies in [1/2, 1).

    >>> column_exponents(np.array([[3.0, 0.0], [-5.0, 0.0]])).tolist()
    [3, 0]
    """
    largest = abs(X).max(axis=0)
    largest = largest.toarray().ravel() if sp.issparse(largest) else np.asarray(largest).ravel()
    return np.frexp(largest.astype(np.float64))[1].astype(np.int64)


def divided_columns(X: Matrix, exponents: np.ndarray) -> Matrix:
    """Return a copy of X with each column divided by its power of two.

    >>> divided_columns(np.array([[6.0, 1.0]]), np.array([2, 0]))
    array([[1.5, 1. ]])
    """
    if sp.issparse(X):
        data = _divided(X.data, exponents[X.indices])
        return sp.csr_array((data, X.indices, X.indptr), shape=X.shape)
    return _divided(X, exponents)


def divides_exactly(X: Matrix, exponents: np.ndarray) -> bool:
    """Whether the divided columns say the same as X: none of their entries lost a digit.

    >>> divides_exactly(np.array([[3e-310]]), np.array([10]))
    False
    """
    with np.errstate(over="ignore", under="ignore"):
        back = divided_columns(divided_columns(X, exponents), -exponents)
    return bool((back != X).nnz == 0) if sp.issparse(X) else bool((back == X).all())


def _divided(values: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Divide by powers of two; a product with one that float64 holds is the same, and faster."""
    values = values.astype(np.float64, copy=False)
    if np.abs(exponents).max(initial=0) < 1000:
        return np.asarray(values * np.ldexp(1.0, -exponents))
    return np.asarray(np.ldexp(values, -exponents))


def weights_of_undivided(coef: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Return the coefficients that do to X what `coef` does to the divided columns."""
    return np.ldexp(coef, -exponents)
