"""Columns that depend on earlier ones, and an orthonormal basis of the others.

Newton's method works in the basis Z = X T, whose columns are orthonormal: neither the scale of the
columns nor a large mean matters there. Coefficients of the columns are ``T theta``.
"""

from __future__ import annotations

import numpy as np

_ALIASED = 1e-11  # R's `glm` takes a column as dependent below this share of its length
_FEW_ENTRIES = 1 << 20
_ONE_SCALE, _FAR_FROM_DEPENDENT = 1e4, 1e-2


def independent_columns(X: np.ndarray) -> np.ndarray:
    """Return the numbers of the columns that do not depend on those before them, as R has it.

    >>> independent_columns(np.array([[1.0, 1.0, 2.0], [1.0, 2.0, 3.0], [1.0, 4.0, 5.0]])).tolist()
    [0, 1]
    """
    lengths = np.linalg.norm(X, axis=0)
    if _factor(X, lengths) is not None:
        return np.arange(X.shape[1])
    kept: list[int] = []
    Q = np.empty((X.shape[0], min(X.shape)), order="F")
    for j, length in enumerate(lengths):
        if length == 0.0 or len(kept) == Q.shape[1]:
            continue
        column = X[:, j] / length
        done = Q[:, : len(kept)]
        for _ in range(2):
            column = column - done @ (done.T @ column)
        rest = float(np.linalg.norm(column))
        if rest > _ALIASED:
            Q[:, len(kept)] = column / rest
            kept.append(j)
    return np.array(kept, dtype=np.int64)


def orthonormal(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Z and T with ``Z = X T``, and ``Z' Z = 1`` or nearly so; T is upper triangular.

    Large data whose columns are far from dependent, and of one scale, are their own basis: Newton's
    method gains nothing there.
    """
    lengths = np.linalg.norm(X, axis=0)
    lengths[lengths == 0.0] = 1.0
    L = _factor(X, lengths)
    if L is None:
        Q, R = np.linalg.qr(X / lengths)
        return Q, np.linalg.solve(R, np.eye(len(R))) / lengths[:, None]
    if X.size > _FEW_ENTRIES and lengths.max() <= _ONE_SCALE * lengths.min():
        return X, np.eye(X.shape[1])
    T = np.triu(np.linalg.solve(L, np.eye(len(L))).T) / lengths[:, None]
    return X @ T, T


def _factor(X: np.ndarray, lengths: np.ndarray) -> np.ndarray | None:
    """Return the Cholesky factor of the columns' cosines; None unless they are far from dependent.

    Its diagonal says which share of each column those before it leave.
    """
    if not X.shape[1] or not (lengths > 0.0).all():
        return None
    with np.errstate(all="ignore"):
        gram = X.T @ X / lengths / lengths[:, None]
        try:
            L = np.linalg.cholesky(gram)
        except np.linalg.LinAlgError:
            return None
    return L if bool((L.diagonal() > _FAR_FROM_DEPENDENT).all()) else None
