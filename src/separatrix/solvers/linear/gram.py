"""Few rows and many columns: the same model in as many columns as there are rows.

    min over w, b   1/2 |w|^2 + 1/2 p b^2 + sum_i c_i loss(y_i (w.x_i + b))      n << d

The best w lies in the span of the rows, for any part of w outside it costs and changes no margin.
With X = L Q^T, Q's columns orthonormal and L of n x rank, w = Q v has |w| = |v| and X w = L v: the
rows of L make the same problem in at most n columns. Where the bias is free the best w is in the
span of the *centred* rows, so their mean is taken off first, and an offset costs no digits.

Dense rows: QR of X^T. Sparse rows too wide for that: the eigenvectors of X X^T, which loses what is
1e-8 of the longest row and smaller (a square root of the rounding), and never builds Q.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.linalg.lapack import dgeqrf, dormqr

from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import FloatArray, Known, Matrix, SignedProblem
from separatrix.solvers.running.threads import one_thread

__all__ = ["SMALL", "reduced"]

# Sparse rows of no more entries than this, zeros included, are treated as dense.
SMALL = 2**23
# Columns that LAPACK reflects at a time, given the room: twice as fast as with the least room.
_BLOCKED = 64
_ROUNDING = float(np.finfo(np.float64).eps)


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


def reduced(problem: MachineProblem) -> tuple[MachineProblem, Span]:
    """Return the same model in at most n columns, and the way back.

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
    make = _by_gram_matrix if is_large else _by_qr
    with one_thread():
        rows, span = problem.rows.once(("gram", centre), lambda: make(X, centre))
    known = None
    if problem.rows.known is not None:
        known = problem.rows.known.get(("of the narrow rows", centre), Known)
    signed = SignedProblem(rows, problem.signs, problem.rows.fit_intercept, known)
    return replace(problem, rows=signed), span


def _by_qr(X: Matrix, centre: bool) -> tuple[FloatArray, Span]:
    dense = X.toarray() if sp.issparse(X) else X
    mean = dense.mean(axis=0, dtype=np.float64) if centre else None
    wide = dense.astype(np.float64) if mean is None else dense - mean
    factor, scalars, _, _ = dgeqrf(wide.T, lwork=_BLOCKED * len(wide), overwrite_a=1)
    rank = len(scalars)
    return np.ascontiguousarray(np.triu(factor[:rank]).T), Span(
        (factor[:, :rank], scalars), X, np.zeros((0, 0)), mean
    )


def _by_gram_matrix(X: Matrix, centre: bool) -> tuple[FloatArray, Span]:
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
