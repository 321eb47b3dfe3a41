"""One warning where the answer depends on the units of the columns, and these differ widely.

Solvers converge without scaling. But distances, products of columns and the path of the updates are
dominated by the largest columns: what is found there is another classifier than after scaling.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.errors import ScaleWarning

__all__ = ["column_ranges", "warn_of_scale"]

FAR_APART = 1e3


def column_ranges(X: Any) -> np.ndarray:
    """Return the largest less the smallest value of every column.

    >>> column_ranges(np.array([[1.0, 200.0], [3.0, -200.0]])).tolist()
    [2.0, 400.0]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if sp.issparse(X):
            spread = X.max(axis=0).toarray() - X.min(axis=0).toarray()
            return np.asarray(spread, dtype=np.float64).ravel()
        X = np.asarray(X)
        return np.asarray(X.max(axis=0) - X.min(axis=0), dtype=np.float64)


def warn_of_scale(estimator: Any, X: Any, remedy: str = "", stacklevel: int = 3) -> None:
    """Warn if the ranges of columns differ by more than a factor of 1000."""
    if not hasattr(X, "shape") or len(X.shape) != 2 or min(X.shape) == 0:
        return
    ranges = column_ranges(X)
    ranges = ranges[np.isfinite(ranges) & (ranges > 0.0)]
    if ranges.size < 2 or ranges.max() <= FAR_APART * ranges.min():
        return
    apart = float(ranges.max()) / float(ranges.min())  # as Python's numbers it may overflow
    name = type(estimator).__name__
    pipeline = f"make_pipeline(StandardScaler(), {name}(...)) in Python"
    warnings.warn(
        f"{name}: columns differ in size by a factor of {apart:.3g}, and the "
        "answer depends on their units: the largest decide. Standardise them: "
        f"{remedy or pipeline}, --scale standard on the command line.",
        ScaleWarning,
        stacklevel=stacklevel,
    )
