"""Cholesky's factor of a Gram matrix, where enough digits are left in it."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from separatrix.problem.signed import FloatArray

__all__ = ["WELL_CONDITIONED", "well_factored"]

# Below this the Gram matrix, which squares the condition number, leaves too few digits to refine.
WELL_CONDITIONED = 1e-8


def well_factored(gram: FloatArray, least: float = WELL_CONDITIONED) -> FloatArray | None:
    """Return Cholesky's factor; None where the reciprocal condition is not above `least`."""
    size = float(np.abs(gram).sum(axis=0).max())
    factor, failed = lapack.dpotrf(gram, lower=1, clean=1)
    if failed or not lapack.dpocon(factor, size, uplo="L")[0] > least:
        return None
    return np.asarray(factor)
