"""What least squares fit: the classes as numbers, or the values themselves."""

from __future__ import annotations

from typing import Any

import numpy as np


def targets_of(y: Any, task: str) -> np.ndarray:
    """Return what is to be fitted: signs for two classes, 1-of-K codes for more, or the values.

    Several labels a row, a column of 0 and 1 for each, are a column of signs for each.

    >>> targets_of(["a", "c", "b"], "classification").tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    if task == "regression":
        values = np.asarray(y, dtype=np.float64)
        return values.reshape(len(values), -1)
    y = np.asarray(y)
    if y.ndim == 2:
        return np.where(y > 0, 1.0, -1.0)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) <= 2:
        return np.where(codes == len(classes) - 1, 1.0, -1.0)[:, None]
    return np.eye(len(classes))[codes]
