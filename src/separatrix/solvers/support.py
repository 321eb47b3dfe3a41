"""Fewer rows for the same proof: a vertex of the witnesses, or few rows that span them all.

Both by non-negative least squares, whose active-set solution stands on independent columns. Floats
only; `witness` makes the result exact or refuses it.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr
from scipy.optimize import nnls

from separatrix.solvers.row_generation import Proposal

__all__ = ["numerical_rank", "spanning_set", "vertex"]

RANK = 1e-9
LEAST = 1e-10
MANY = 300

Guess = tuple[np.ndarray, np.ndarray]


def _non_negative(matrix: np.ndarray, target: np.ndarray) -> np.ndarray | None:
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


def _ranked(proposal: Proposal) -> tuple[np.ndarray, int]:
    """Order the rows by pivoted QR, heavy ones first; return the order and the numerical rank."""
    weights = proposal.multipliers
    preference = np.maximum(weights, 1e-3 * weights.max(initial=0.0))
    triangle, order = qr((proposal.matrix * preference[:, None]).T, mode="r", pivoting=True)
    sizes = np.abs(np.diagonal(triangle))
    return order, int((sizes > RANK * sizes.max(initial=0.0)).sum())


def numerical_rank(proposal: Proposal) -> int:
    """Return the rank of the support, as floats see it."""
    return _ranked(proposal)[1] if proposal.matrix.size else 0


def spanning_set(proposal: Proposal) -> Guess | None:
    """Return at most twice the rank many rows with positive multipliers that span the support.

    Rows E of a basis keep their multipliers; the others are solved for anew, on few rows:
    ``sum_i mu_i z_i = - sum_E lambda_i z_i`` with mu >= 0, which lambda itself satisfies.
    """
    matrix, weights = proposal.matrix, proposal.multipliers
    if not matrix.size:
        return None
    order, rank = _ranked(proposal)
    basis = order[:rank]
    if len(matrix) <= 2 * rank and rank > MANY:
        return order, weights[order]  # few enough as they are, and anything else takes long
    mu = _non_negative(matrix.T, -(matrix[basis].T @ weights[basis]))
    if mu is None:
        return None
    extra = np.setdiff1d(np.flatnonzero(mu > LEAST * mu.max(initial=0.0)), basis)
    kept = mu.copy()
    kept[basis] += weights[basis]
    chosen = np.concatenate([basis, extra])
    return chosen, kept[chosen]
