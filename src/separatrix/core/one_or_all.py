"""How facts of several machines or classes are shown where there is one, or two."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["one_or_all", "two_as_one"]


def one_or_all(values: Any) -> Any:
    """Return the only value as a float, or all of them.

    >>> one_or_all([0.5]), one_or_all([0.5, 1.0])
    (0.5, array([0.5, 1. ]))
    """
    return float(values[0]) if len(values) == 1 else np.asarray(values)


def two_as_one(by_class: np.ndarray) -> np.ndarray:
    """Return one row a class; two classes become one row, their difference.

    >>> two_as_one(np.array([[1.0], [3.0]])).tolist()
    [[2.0]]
    """
    return by_class[1:] - by_class[:1] if len(by_class) == 2 else by_class
