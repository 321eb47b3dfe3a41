"""Few rows and many columns: the same model in as many columns as there are rows.

    min over w, b   1/2 |w|^2 + 1/2 p b^2 + sum_i c_i loss(y_i (w.x_i + b))      n << d

The best w lies in the span of the rows, for any part of w outside it costs and changes no margin.
With X = L Q^T, Q's columns orthonormal and L of n x rank, w = Q v has |w| = |v| and X w = L v: the
rows of L make the same problem in at most n columns. Where the bias is free the best w is in the
span of the *centred* rows, so their mean is taken off first, and an offset costs no digits.

Dense rows: Cholesky of X X^T, which squares the condition, where enough digits are left for the
tolerance; it takes a quarter of the time of QR of X^T, which serves elsewhere. Sparse rows too wide
for that: the eigenvectors of X X^T, which loses what is 1e-8 of the longest row and smaller (a
square root of the rounding), and never builds Q.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, lapack, solve_triangular
from scipy.linalg.lapack import dgeqrf, dormqr

from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import FloatArray, Known, Matrix, SignedProblem
from separatrix.solvers.running.drive import one_thread

# Sparse rows of no more entries than this, zeros included, are treated as dense.
SMALL = 2**23
# Columns that LAPACK reflects at a time, given the room: twice as fast as with the least room.
_BLOCKED = 64
_ROUNDING = float(np.finfo(np.float64).eps)
# The narrow rows of Cholesky are those of a problem that differs by the rounding over the
# reciprocal condition: far below the tolerance, and 1e-10 at the most.
_LEAST_CONDITION, _OF_TOLERANCE = 1e-5, 1e-12


@dataclass(frozen=True, eq=False)
class Span:
    """The way between w = Q v and v: Q as Householder's reflections, or as X^T times `shares`."""

    reflections: tuple[FloatArray, FloatArray] | None
    X: Matrix
    shares: FloatArray
    mean: FloatArray | None

    def __call__(self, narrow: FloatArray) -> FloatArray:
        """Return [b, w] of the problem as given."""
        v = narrow[1:]
        if self.reflections is None:
            w = (self.shares @ v) @ self.X
        else:
            w = _reflected(self.reflections, np.append(v, np.zeros(self.X.shape[1] - len(v))), "N")
        shift = float(self.mean @ w) if self.mean is not None else 0.0
        return np.concatenate([[narrow[0] - shift], w])


def _reflected(reflections: tuple[FloatArray, FloatArray], x: FloatArray, way: str) -> FloatArray:
    """Return Q x or Q^T x without building Q."""
    product, _, _ = dormqr("L", way, *reflections, x[:, None], lwork=64)
    return np.asarray(product[:, 0])


def reduced(problem: MachineProblem, tol: float = 0.0) -> tuple[MachineProblem, Span]:
    """Return the same model in at most n columns, and the way back; exact to far below `tol`.

    >>> X, signs = np.array([[3.0, 4.0, 0.0]]), np.array([1.0])
    >>> problem = MachineProblem(SignedProblem(X, signs, False), np.ones(1), 0)
    >>> narrow, back = reduced(problem)
    >>> narrow.X.shape
    (1, 1)
    >>> w = back(np.array([0.0, float(narrow.X[0, 0]) / 25.0]))
    >>> np.allclose(w, [0.0, 0.12, 0.16, 0.0])
    True
    """
    X, centre = problem.X, problem.has_free_bias
    is_large = sp.issparse(X) and X.shape[0] * X.shape[1] > SMALL
    condition = max(_LEAST_CONDITION, _OF_TOLERANCE / max(tol, _OF_TOLERANCE))
    make = partial(_by_gram_matrix if is_large else _dense, X, centre, condition)
    with one_thread():
        rows, span = problem.rows.once(("gram", centre, condition), make)
    known = None
    if problem.rows.known is not None:
        known = problem.rows.known.get(("of the narrow rows", centre, condition), Known)
    signed = SignedProblem(rows, problem.signs, problem.rows.fit_intercept, known)
    return replace(problem, rows=signed), span


def _dense(X: Matrix, centre: bool, condition: float) -> tuple[FloatArray, Span]:
    dense = X.toarray() if sp.issparse(X) else X
    mean = dense.mean(axis=0, dtype=np.float64) if centre else None
    wide = dense.astype(np.float64) if mean is None else dense - mean
    found = _by_cholesky(wide, mean, condition) if condition < 1.0 else None
    return found if found is not None else _by_qr(wide, mean, X)


def _by_cholesky(
    wide: FloatArray, mean: FloatArray | None, condition: float
) -> tuple[FloatArray, Span] | None:
    """Factor the Gram matrix; None where its reciprocal condition is not above `condition`.

    Centred rows sum to 0. A reflection that turns (1, ..., 1) into the first axis makes that one
    row and one column of zeros, which are left out.
    """
    gram = wide @ wide.T
    if mean is None:
        factor = well_factored(gram, condition)
        if factor is None:
            return None
        return factor, Span(None, wide, _inverse(factor, np.eye(len(gram))), mean)
    axis = np.ones(len(gram))
    axis[0] += np.sqrt(len(gram))
    axis /= np.linalg.norm(axis)
    turned = _turned(_turned(gram, axis).T, axis)[1:, 1:]
    factor = well_factored(turned, condition) if len(turned) else None
    if factor is None:
        return None
    flat = np.zeros((1, len(factor)))
    turn = _turned(np.eye(len(gram)), axis)[:, 1:]
    rows = _turned(np.vstack([flat, factor]), axis)
    return rows, Span(None, wide, _inverse(factor, turn), mean)


def _turned(matrix: FloatArray, axis: FloatArray) -> FloatArray:
    """Return the reflection (I - 2 a a^T) of the columns of a matrix."""
    return np.asarray(matrix - np.outer(2.0 * axis, axis @ matrix))


def _inverse(factor: FloatArray, turn: FloatArray) -> FloatArray:
    """Return turn times the inverse of the factor's transpose."""
    return np.asarray(solve_triangular(factor, turn.T, lower=True, check_finite=False).T)


def _by_qr(wide: FloatArray, mean: FloatArray | None, X: Matrix) -> tuple[FloatArray, Span]:
    factor, scalars, _, _ = dgeqrf(wide.T, lwork=_BLOCKED * len(wide), overwrite_a=1)
    rank = len(scalars)
    return np.ascontiguousarray(np.triu(factor[:rank]).T), Span(
        (factor[:, :rank], scalars), X, np.zeros((0, 0)), mean
    )


def _by_gram_matrix(X: Matrix, centre: bool, _: float) -> tuple[FloatArray, Span]:
    wide = X.astype(np.float64)
    mean = np.asarray(wide.mean(axis=0)).ravel() if centre else None
    if mean is not None:
        # Columns without a zero can lose their mean and stay as sparse: their offset then costs
        # no digits. The others' means are small beside their spread, and go below.
        full = np.bincount(wide.indices, minlength=X.shape[1]) == X.shape[0]
        wide.data -= np.where(full, mean, 0.0)[wide.indices]
    gram = (wide @ wide.T).toarray()
    if centre:
        gram -= gram.mean(axis=0)
        gram -= gram.mean(axis=1)[:, None]
    values, vectors = eigh(gram, overwrite_a=True, check_finite=False)
    kept = values > len(values) * _ROUNDING * max(float(values[-1]), 0.0)
    roots = np.sqrt(values[kept])
    vectors = vectors[:, kept]
    if centre:
        # The shares of a row of Q sum to 0, so X^T and its centred form give the same.
        vectors = vectors - vectors.mean(axis=0)
    return np.ascontiguousarray(vectors * roots), Span(None, wide, vectors / roots, mean)


# Below this the Gram matrix, which squares the condition number, leaves too few digits to refine.
WELL_CONDITIONED = 1e-8


def well_factored(gram: FloatArray, least: float = WELL_CONDITIONED) -> FloatArray | None:
    """Return Cholesky's factor; None where the reciprocal condition is not above `least`."""
    size = float(np.abs(gram).sum(axis=0).max())
    factor, failed = lapack.dpotrf(gram, lower=1, clean=1)
    if failed or not lapack.dpocon(factor, size, uplo="L")[0] > least:
        return None
    return np.asarray(factor)
