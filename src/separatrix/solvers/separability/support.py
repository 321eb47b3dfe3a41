"""Fewer rows for the same proof: a vertex of the witnesses, or few rows that span them all.

Both by non-negative least squares, whose active-set solution stands on independent columns. Floats
only; `witness` makes the result exact or refuses it.
"""

from __future__ import annotations

import numpy as np

from separatrix.solvers.separability.row_generation import Proposal

__all__ = ["numerical_rank", "spanning_set", "vertex"]

LEAST = 1e-10
MANY = 300
ABUNDANT = 10
EXACT = 1e-13

Guess = tuple[np.ndarray, np.ndarray]


def _non_negative(matrix: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """Solve ``matrix x = target`` with x >= 0; where columns abound, every other one may do."""
    height, count = matrix.shape
    if count > ABUNDANT * height:
        half = _least_squares(matrix[:, ::2], target)
        if half is not None and half[1] <= EXACT * np.linalg.norm(target):
            x = np.zeros(count)
            x[::2] = half[0]
            return x
    whole = _least_squares(matrix, target)
    return None if whole is None else whole[0]


def _least_squares(matrix: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, float] | None:
    from scipy.optimize import nnls  # slow to load, and needed only where classes overlap

    try:
        x, residual = nnls(matrix, target)
    except RuntimeError:
        return None
    return np.asarray(x), float(residual)


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


def numerical_rank(proposal: Proposal) -> int:
    """Return the rank of the support, as floats see it."""
    return proposal.ranked[1] if proposal.matrix.size else 0


def spanning_set(proposal: Proposal) -> Guess | None:
    """Return at most twice the rank many rows with positive multipliers that span the support.

    Rows E of a basis keep their multipliers; the others are solved for anew, on few rows:
    ``sum_i mu_i z_i = - sum_E lambda_i z_i`` with mu >= 0, which lambda itself satisfies.
    """
    matrix, weights = proposal.matrix, proposal.multipliers
    if not matrix.size:
        return None
    order, rank = proposal.ranked
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
