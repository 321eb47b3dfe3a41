"""``sx.separability``: validate, then decide and prove."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from separatrix.core import separability as core
from separatrix.core.verdict import Verdict, separability_of
from separatrix.data.partitions import Partitions
from separatrix.estimators._validate import training_data

__all__ = ["separability"]


class Separability(core.Separability, BaseEstimator):
    """Gives messages about X and y a name to speak of."""


def separability(
    X: Any, y: Any = None, fit_intercept: bool = True, *, decimal: bool = False
) -> Verdict:
    """Decide whether a hyperplane separates two classes, and prove the answer.

    Parameters
    ----------
    X : array, sparse matrix or partitions
        n rows of d features, or the answer of `sx.open_partitions`.
    y : array or None, default=None
        n labels of two classes; the second in sorted order is the positive one. None for
        partitions, which hold their labels.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    decimal : bool, default=False
        Decide on the decimals as written (0.1 is one tenth) instead of on the stored floats.

    Returns
    -------
    Verdict
        `kind` says which; hyperplane, witness and certificate prove it.

    See Also
    --------
    Verdict : the answer.
    shatter : every labeling of a few points.
    LinearProgramHalfspace : a separating hyperplane by linear programming.
    inference : logistic regression where some estimates are infinite.

    Examples
    --------
    >>> import separatrix as sx
    >>> square = [[0, 0], [1, 1], [0, 1], [1, 0]]
    >>> verdict = sx.separability(square, ["same", "same", "other", "other"])
    >>> verdict.kind, verdict.witness.multipliers
    ('overlapping', (1, 1, 1, 1))
    >>> verdict.certificate.check(square, ["same", "same", "other", "other"])
    True
    """
    if isinstance(X, Partitions):
        if decimal:
            raise ValueError("decimal=True is for rows in memory.")
        from separatrix.core.partitioned import local_rows
        from separatrix.core.partitioned_verdict import verdict_on_rows

        return verdict_on_rows(local_rows(X), fit_intercept)
    X, y = training_data(Separability(), X, y)
    return separability_of(X, y, fit_intercept, decimal=decimal)
