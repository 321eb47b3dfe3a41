"""Tails of the normal and the chi-squared distribution in floats; the proof encloses them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special


def normal_quantile(level: float) -> float:
    """Return z with a probability of `level` between -z and z.

    >>> round(normal_quantile(0.95), 4)
    1.96
    """
    return float(special.ndtri(0.5 + 0.5 * level))


def two_sided(z: Any) -> Any:
    """Return the probability beyond -|z| and |z|."""
    return special.erfc(np.abs(z) / np.sqrt(2.0))


def chi_squared_tail(value: Any, freedom: float = 1.0) -> Any:
    """Return the probability above a value."""
    return special.chdtrc(freedom, np.maximum(value, 0.0))
