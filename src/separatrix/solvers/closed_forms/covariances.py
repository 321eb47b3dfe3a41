"""Covariances of classes in the units of the data, for those who look at them.

    shared    (1 - a) S + a diag(S),  S the covariance within all classes
    full      that of each class as the densities hold it
    diagonal  the variances of each class

Columns that do not vary have zeros.
"""

from __future__ import annotations

import numpy as np

from separatrix.errors import DataError
from separatrix.problem.centred import within_rows
from separatrix.problem.signed import FloatArray, Matrix
from separatrix.solvers.closed_forms.gaussian import Gaussians
from separatrix.solvers.closed_forms.scatter import FORMED

__all__ = ["class_covariances", "shared_covariance"]


def shared_covariance(
    X: Matrix, codes: np.ndarray, weights: FloatArray, n_classes: int, share: float | None
) -> FloatArray:
    """Return the covariance within all classes, shrunk by a share (None: as it is).

    >>> rows, codes = np.tile([[0.0, 0.0], [2.0, 2.0]], (2, 1)), np.repeat([0, 1], 2)
    >>> shared_covariance(rows, codes, np.ones(4), 2, 0.5).round(9).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    if X.shape[1] > FORMED:
        raise DataError(
            f"a covariance of {X.shape[1]:,} columns is too large to form. Leave "
            "store_covariance=True out."
        )
    A = within_rows(X, codes, weights, n_classes)
    S = A.gram() / A.mass
    if share:
        S = (1.0 - share) * S + share * np.diag(np.diag(S))
    return _in_units(S, A.kept, A.spreads, A.exponents, X.shape[1])


def class_covariances(gaussians: Gaussians, n_columns: int) -> FloatArray:
    """Return a covariance a class, or where the classes have variances alone a row of them."""
    kept, spreads, exponents = gaussians.kept, gaussians.spreads, gaussians.exponents
    if gaussians.variances is not None:
        out = np.zeros((len(gaussians.means), n_columns))
        with np.errstate(over="ignore", under="ignore"):
            out[:, kept] = np.ldexp(gaussians.variances * spreads**2, 2 * exponents)
        return out
    every = [gaussians.covariance(k) for k in range(len(gaussians.means))]
    return np.stack([_in_units(C, kept, spreads, exponents, n_columns) for C in every])


def _in_units(
    C: FloatArray, kept: np.ndarray, spreads: FloatArray, exponents: np.ndarray, n_columns: int
) -> FloatArray:
    out = np.zeros((n_columns, n_columns))
    with np.errstate(over="ignore", under="ignore"):
        scaled = C * spreads * spreads[:, None]
        out[np.ix_(kept, kept)] = np.ldexp(scaled, exponents + exponents[:, None])
    return out
