"""Least squares on sparse rows, without ever making them dense.

    min over V    |A V - B|^2  +  sum_j penalty_j |V_j|^2

with A of `problem.centred`: the mean is taken away from products. A Gram matrix of few columns is
factorised; otherwise LSMR (Fong and Saunders, 2011) runs on products alone. It starts at 0 and
stays in the span of the rows, so it tends to the shortest of all minimisers. It goes on until
every column meets what the certificate will ask of it,

    |A_j'r - penalty_j V_j|  <=  tol |(A_j, root penalty_j)| |(r, root penalty V)|

or, without a ridge, |r| <= tol |B|.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as sl
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, lsmr

from separatrix.problem.centred import CentredRows
from separatrix.problem.signed import FloatArray

__all__ = ["solve_sparse"]

_SMALL_GRAM = 2000
_WELL_CONDITIONED = 1e-8
_CANCELLED = 1e-6
_REFINEMENTS = 3
_MOST_ITERATIONS = 10_000
_FINEST = 1e-16

Answer = tuple[FloatArray, str, int | None, int, float, bool]


def solve_sparse(
    A: CentredRows, B: FloatArray, ridge: float, tol: float, max_passes: float
) -> Answer:
    """Return the weights in the units of A, the method, rank, iterations, passes and success."""
    if A.shape[1] <= min(_SMALL_GRAM, A.shape[0]):
        V = _by_gram(A, B, ridge, tol)
        if V is not None:
            passes = 1.0 + 2.0 * _REFINEMENTS
            return V, "Cholesky, refined", A.shape[1], _REFINEMENTS, passes, True
    return _by_lsmr(A, B, ridge, tol, max_passes)


def _penalty(A: CentredRows, ridge: float) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.ldexp(np.full(A.shape[1], ridge), -2 * A.exponents)


def _by_gram(A: CentredRows, B: FloatArray, ridge: float, tol: float) -> FloatArray | None:
    gram, penalty = A.gram(), _penalty(A, ridge)
    squares = np.diag(gram).copy()
    raw = squares + A.mass * A.mean**2
    if not np.isfinite(penalty).all() or (squares <= _CANCELLED * raw).any():
        return None
    norms = np.sqrt(squares + penalty)
    gram[np.diag_indices_from(gram)] += penalty
    gram /= norms
    gram /= norms[:, None]
    size = float(np.abs(gram).sum(axis=0).max())
    factor, failed = lapack.dpotrf(gram, lower=1)
    if failed or not lapack.dpocon(factor, size, uplo="L")[0] > _WELL_CONDITIONED:
        return None
    V = np.zeros((A.shape[1], B.shape[1]))
    for _ in range(1 + _REFINEMENTS):
        gradient = A.transposed_times(B - A.times(V)) - penalty[:, None] * V
        V = V + sl.cho_solve((factor, True), gradient / norms[:, None]) / norms[:, None]
    met = [_is_met(A, B[:, k], V[:, k], penalty, tol) for k in range(B.shape[1])]
    return V if all(met) else None


def _is_met(
    A: CentredRows, target: FloatArray, v: FloatArray, penalty: FloatArray, tol: float
) -> bool:
    """Whether the weights meet what the certificate will ask, with half of it to spare."""
    with np.errstate(over="ignore", invalid="ignore"):
        residual = target - A.times(v)
        gradient = A.transposed_times(residual) - penalty * v
        norms = np.sqrt(A.square_norms() + penalty)
        length = np.sqrt(residual @ residual + (penalty * v) @ v)
        if np.linalg.norm(residual) <= 0.5 * tol * np.linalg.norm(target) and not penalty.any():
            return True
        return bool((np.abs(gradient) <= 0.5 * tol * norms * length).all())


def _by_lsmr(A: CentredRows, B: FloatArray, ridge: float, tol: float, max_passes: float) -> Answer:
    # One power of two for all columns: LSMR's shortest weights are then those of X as given.
    top = A.top
    with np.errstate(under="ignore"):
        scale = np.exp2((A.exponents - top).astype(np.float64))
        damp = float(np.ldexp(np.sqrt(ridge), -top))
    operator = LinearOperator(
        A.shape,
        matvec=lambda v: A.times(scale * v.ravel()),
        rmatvec=lambda u: scale * A.transposed_times(u.ravel()),
        dtype=np.float64,
    )
    penalty = _penalty(A, ridge)
    V, spent, converged = np.zeros((A.shape[1], B.shape[1])), 0, True
    allowed = int(min(_MOST_ITERATIONS, max(1.0, max_passes / 2.0)))
    for k in range(B.shape[1]):
        found, used, good = _one_output(operator, A, B[:, k], (damp, penalty, scale), tol, allowed)
        V[:, k], spent, converged = scale * found, spent + used, converged and good
    return V, "LSMR", None, spent, 2.0 * spent, converged


def _one_output(
    operator: LinearOperator,
    A: CentredRows,
    target: FloatArray,
    penalties: tuple[float, FloatArray, FloatArray],
    tol: float,
    allowed: int,
) -> tuple[FloatArray, int, bool]:
    """Run LSMR, more finely each time, until every column is met or the iterations are spent."""
    damp, penalty, scale = penalties
    v, spent, fineness = np.zeros(A.shape[1]), 0, 0.1 * tol
    if not target.any():
        return v, 0, True
    while spent < allowed:
        # From v instead of 0, LSMR would lose its directions and damp the wrong thing.
        answer = lsmr(
            operator,
            target,
            damp=damp,
            atol=fineness,
            btol=fineness,
            conlim=0.0,
            maxiter=allowed - spent,
        )
        v, spent = answer[0], spent + answer[2]
        if _is_met(A, target, scale * v, penalty, tol):
            return v, spent, True
        if fineness <= _FINEST:
            break
        fineness = max(_FINEST, 1e-3 * fineness)
    return v, spent, False
