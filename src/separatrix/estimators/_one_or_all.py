"""A fact of each machine: a number where there is one machine, an array where there are several."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["one_or_all"]


def one_or_all(values: Any) -> Any:
    """Return the only value as a float, or all of them.

    >>> one_or_all([0.5]), one_or_all([0.5, 1.0])
    (0.5, array([0.5, 1. ]))
    """
    return float(values[0]) if len(values) == 1 else np.asarray(values)
