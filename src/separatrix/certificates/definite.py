"""Symmetric matrices proved positive semidefinite, and bounds below their least eigenvalues.

Where Cholesky's decomposition of a matrix M of order k runs to its end, its least eigenvalue is
above -(k + 1) u tr M / (1 - 2 (k + 1) u), less 8 (k + 2)^2 least numbers for what vanished (Rump
2006, theorem 2.3); twice as many units serve libraries that multiply by inverses. So M is the
middle of an enclosed matrix, less the bound to be proved, that much, and the norm of the radii.
"""

from __future__ import annotations

import math

import numpy as np

from separatrix.certificates.enclosed_sums import dot_error
from separatrix.certificates.enclosure import Enclosure

__all__ = ["is_positive", "least_eigenvalue"]

_SHARES = (0.9, 1e-1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10)


def least_eigenvalue(matrix: Enclosure) -> float:
    """Return a bound below the least eigenvalue of every symmetric matrix within; 0 for none found.

    >>> one = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> least_eigenvalue(Enclosure.exact(one)), least_eigenvalue(Enclosure.exact(one - 2.0))
    (0.9, 0.0)
    """
    return next((share for share in _SHARES if _is_above(matrix, share)), 0.0)


def is_positive(matrix: Enclosure) -> bool:
    """Whether every symmetric matrix within the bounds is positive semidefinite, for certain.

    >>> one = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> is_positive(Enclosure.exact(one)), is_positive(Enclosure.exact(one - 2.0))
    (True, False)
    """
    with np.errstate(all="ignore"):
        diagonal = np.diag(matrix.middle)
        if not (matrix.is_finite and (diagonal > 0.0).all()):
            return False
        # Powers of two bring the diagonal near 1.
        powers = np.ldexp(1.0, -(np.frexp(diagonal)[1] // 2))
        return _is_above(matrix * powers * powers[:, None], 0.0)


def _is_above(matrix: Enclosure, bound: float) -> bool:
    middle, radius, size = matrix.middle, matrix.radius, float(len(matrix.low))
    diagonal = Enclosure.exact(np.diag(middle))
    # Only one half of the middle is looked at: the other must not be further off.
    off = Enclosure.exact(np.maximum(radius, radius.T)).square().sum().root()
    off = off + dot_error(2.0 * size + 2.0, diagonal.size().sum().high)
    off = off + dot_error((size + 2.0) ** 2, 0.0) + bound
    if not math.isfinite(off.high):
        return False
    shifted = middle.copy()
    np.fill_diagonal(shifted, (diagonal - off).low)
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return False
    return True
