"""Dividing by the within-class covariance, which may be singular.

    solve  C Z = M,    C = (1 - a) S + a I,    S = A'A / N  (columns of unit variance)

`a` is 0 (Cholesky), given, or Ledoit and Wolf's (2004): the a for which C is, as far as the rows
can tell, nearest the true covariance. Since the columns have unit variance this shrinks towards
the variances themselves, whatever the units. Instead of a, the pseudo-inverse of S may be used:
it looks at the directions in which the rows vary, and at no others.

Narrow data form S; wide data use the n x n matrix A A' (Woodbury); data that are large both ways
use conjugate gradients on products with A.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl
from scipy.sparse.linalg import LinearOperator, cg

from separatrix.errors import DataError
from separatrix.problem.centred import WithinRows
from separatrix.problem.signed import FloatArray
from separatrix.solvers.linear.gram import well_factored

__all__ = ["FORMED", "Division", "divide_by_covariance", "ledoit_wolf"]

FORMED = 4000
_SINGULAR = 1e-12
_RANK = 1e-10  # S squares what the rows hold
_ROWS_AT_A_TIME = 2048
_CG_TOLERANCE = 1e-12
_NOTHING = 2.0**-80  # of the variance over all rows: rounding


@dataclass(frozen=True)
class Division:
    """Z, the share `a` shrunk (None: pseudo-inverse), how it was done, and the iterations."""

    Z: FloatArray
    shrinkage: float | None
    method: str
    iterations: int


def divide_by_covariance(A: WithinRows, M: FloatArray, shrinkage: float | str) -> Division:
    """Solve for Z; "auto" shrinks by Ledoit and Wolf's share where S is singular, and else not."""
    if A.shape[1] == 0:
        return Division(np.zeros_like(M), 0.0, "constant columns only", 0)
    if shrinkage == "pseudo-inverse":
        return _by_pseudo_inverse(A, M)
    if shrinkage == "auto" or shrinkage == 0.0:
        found = _plain(A, M)
        if found is not None:
            return found
        if shrinkage == 0.0:
            raise DataError(
                "The within-class scatter is singular, and shrinkage=0.0 was given. Use "
                "shrinkage='auto', 'ledoit-wolf', 'pseudo-inverse' or a number up to 1."
            )
    share = ledoit_wolf(A) if isinstance(shrinkage, str) else float(shrinkage)
    said = "Ledoit-Wolf shrinkage" if isinstance(shrinkage, str) else "shrinkage"
    return _shrunk(A, M, share, f"{said} {share:.3g}")


def _plain(A: WithinRows, M: FloatArray) -> Division | None:
    """Solve by Cholesky, or say None where S is singular or too large to form."""
    if A.shape[1] > min(FORMED, A.shape[0]):
        return None
    Z = _by_cholesky(A.gram() / A.mass, M)
    return None if Z is None else Division(Z, 0.0, "Cholesky", 1)


def _by_cholesky(C: FloatArray, M: FloatArray) -> FloatArray | None:
    factor = well_factored(C, _SINGULAR)
    if factor is None:
        return None
    Z = sl.cho_solve((factor, True), M, check_finite=False)
    return np.asarray(Z + sl.cho_solve((factor, True), M - C @ Z, check_finite=False))


def ledoit_wolf(A: WithinRows) -> float:
    """Return the share to shrink by: (spread of x x' around S) / (distance of S from I), up to 1.

    Where S is nothing, or is what it is shrunk to, all of it goes.
    """
    d = A.shape[1]
    square = _square_norm(A) / A.mass**2
    trace = float(A.weights @ A.row_squares()) / A.mass
    mean = trace / d
    distance = square / d - mean**2
    fourth = float(A.weights @ A.row_squares() ** 2) / A.mass
    spread = (fourth - square) / (d * A.n_copies)
    if mean <= _NOTHING or distance <= 1e-12 * mean**2:
        return 1.0
    return float(min(max(spread / distance, 0.0), 1.0))


def _square_norm(A: WithinRows) -> float:
    """Return the sum of squares of A'A, which is that of A A'."""
    n, d = A.shape
    if d <= min(n, FORMED):
        return float((A.gram() ** 2).sum())
    parts = (slice(begin, begin + _ROWS_AT_A_TIME) for begin in range(0, n, _ROWS_AT_A_TIME))
    return float(sum((A.outer_gram(part) ** 2).sum() for part in parts))


def _shrunk(A: WithinRows, M: FloatArray, share: float, method: str) -> Division:
    n, d = A.shape
    if share >= 1.0:
        return Division(M.copy(), 1.0, method, 1)
    if share <= 0.0:
        return _by_pseudo_inverse(A, M)
    kept = (1.0 - share) / A.mass
    if d <= min(n, FORMED):
        C = kept * A.gram()
        C[np.diag_indices_from(C)] += share
        Z = _by_cholesky(C, M)
        return _by_pseudo_inverse(A, M) if Z is None else Division(Z, share, method, 1)
    if n <= FORMED:
        # (share I + kept A'A)^-1 M = (M - A' (share/kept I + A A')^-1 A M) / share
        K = A.outer_gram()
        K[np.diag_indices_from(K)] += share / kept
        try:
            inner = sl.cho_solve(sl.cho_factor(K, lower=True), A.times(M))
        except np.linalg.LinAlgError:  # the share is below rounding: S as it is
            return _by_pseudo_inverse(A, M)
        return Division((M - A.transposed_times(inner)) / share, share, f"{method}, n x n", 1)
    return _by_conjugate_gradients(A, M, share, method)


def _by_conjugate_gradients(A: WithinRows, M: FloatArray, share: float, method: str) -> Division:
    kept, steps = (1.0 - share) / A.mass, 0

    def product(v: FloatArray) -> FloatArray:
        column = v.reshape(-1, 1)
        out = share * column + kept * A.transposed_times(A.times(column))
        return np.asarray(out.ravel())

    def count(_: FloatArray) -> None:
        nonlocal steps
        steps += 1

    C = LinearOperator((A.shape[1], A.shape[1]), matvec=product, dtype=np.float64)
    Z = np.empty_like(M)
    for k in range(M.shape[1]):
        Z[:, k], failed = cg(C, M[:, k], rtol=_CG_TOLERANCE, maxiter=20_000, callback=count)
        if failed:
            raise DataError("Fisher: conjugate gradients did not settle. Use a larger shrinkage.")
    return Division(Z, share, f"{method}, conjugate gradients", steps)


def _by_pseudo_inverse(A: WithinRows, M: FloatArray) -> Division:
    n, d = A.shape
    if min(n, d) > FORMED:
        raise DataError(
            f"Fisher: the pseudo-inverse of {n:,} x {d:,} data is too large to form. Use shrinkage."
        )
    if d <= n:
        squares, V = sl.eigh(A.gram() / A.mass)
        good = squares > _RANK * max(squares[-1], 2.0**-1000)
        V, squares = V[:, good], squares[good]
        Z = V @ ((V.T @ M) / squares[:, None])
    else:
        squares, U = sl.eigh(A.outer_gram() / A.mass)
        good = squares > _RANK * max(squares[-1], 2.0**-1000)
        U, squares = U[:, good], squares[good]
        Z = A.transposed_times(U @ ((U.T @ A.times(M)) / squares[:, None] ** 2)) / A.mass
    return Division(np.asarray(Z), None, f"pseudo-inverse of rank {len(squares)}", 1)
