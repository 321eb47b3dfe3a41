"""Fewer rows for the same proof: a vertex of the witnesses, or few rows that span them all.

Both by non-negative least squares, whose active-set solution stands on independent columns. Floats
only; `witness` makes the result exact or refuses it.
"""

from __future__ import annotations

import numpy as np

from separatrix.solvers.row_generation import Proposal

__all__ = ["spanning_set", "vertex"]

RANK = 1e-9
LEAST = 1e-10

Guess = tuple[np.ndarray, np.ndarray]


def _non_negative(matrix: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    from scipy.optimize import nnls

    try:
        return np.asarray(nnls(matrix, target)[0])
    except RuntimeError:
        return None


def vertex(proposal: Proposal) -> Guess | None:
    """Return at most width + 1 rows (positions in the support) with multipliers of zero sum."""
    matrix = proposal.matrix
    if not matrix.size:
        return None
    target = np.zeros(matrix.shape[1] + 1)
    target[-1] = 1.0
    guess = _non_negative(np.vstack([matrix.T, np.ones(len(matrix))]), target)
    if guess is None:
        return None
    chosen = np.flatnonzero(guess > LEAST * guess.max(initial=0.0))
    return (chosen, guess[chosen]) if chosen.size else None


def spanning_set(proposal: Proposal) -> Guess | None:
    """Return at most twice the rank many rows with positive multipliers that span the support.

    Rows E of a basis keep their multipliers; the others are solved for anew, on few rows:
    ``sum_i mu_i z_i = - sum_E lambda_i z_i`` with mu >= 0, which lambda itself satisfies.
    """
    from scipy.linalg import qr

    matrix, weights = proposal.matrix, proposal.multipliers
    if not matrix.size:
        return None
    preference = np.maximum(weights, 1e-3 * weights.max())
    triangle, order = qr((matrix * preference[:, None]).T, mode="r", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    rank = int((sizes > RANK * sizes[0]).sum())
    basis = order[:rank]
    mu = _non_negative(matrix.T, -(matrix[basis].T @ weights[basis]))
    if mu is None:
        return None
    extra = np.setdiff1d(np.flatnonzero(mu > LEAST * mu.max(initial=0.0)), basis)
    kept = mu.copy()
    kept[basis] += weights[basis]
    chosen = np.concatenate([basis, extra])
    return chosen, kept[chosen]
