"""Gaussian classes: estimated from rows, and their log-densities at others.

    p(x | k) = N(x; m_k, C_k),      m_k, C_k by maximum likelihood

    shared      one C for all classes: log-densities differ by linear functions of x
    full        a C_k for each class: they differ by quadratic functions
    diagonal    a C_k for each class, the features taken to be independent (naive Bayes)

Covariances are estimated in columns of unit variance, so that units do not matter. One that is
singular is shrunk towards its own diagonal by Ledoit and Wolf's share: all of it makes the diagonal
model. Where a class does not vary in a column, the variance within all classes stands there.
Log-densities are given up to a constant that all classes have in common.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from separatrix.errors import DataError
from separatrix.problem.centred import WithinRows, column_slice, within_rows
from separatrix.problem.signed import FloatArray, Matrix
from separatrix.solvers.closed_forms.fisher import solve_fisher
from separatrix.solvers.closed_forms.scatter import ledoit_wolf

__all__ = ["Gaussians", "estimate_gaussians"]

_LARGEST = 4000
_LEAST_VARIANCE = 1e-9
_SINGULAR = 1e-12
_ROWS_AT_A_TIME = 4096


@dataclass(frozen=True, eq=False)
class Gaussians:
    """Densities of K classes in scaled columns ``x[kept] * 2^-exponents / spreads``.

    shared: `linear` holds weights (K x d, of X as given) and offsets (K). full: `whiteners` holds
    for each class a matrix V with V V' = C_k^-1. diagonal: `variances` holds a row for each class.
    `shares` are what covariances were shrunk by; None for a pseudo-inverse, the inverse of none.
    """

    kind: str
    kept: np.ndarray
    exponents: np.ndarray
    spreads: FloatArray
    means: FloatArray
    log_roots: FloatArray
    linear: tuple[FloatArray, FloatArray] | None = None
    whiteners: tuple[FloatArray, ...] = ()
    variances: FloatArray | None = None
    method: str = ""
    shares: tuple[float, ...] | None = ()

    def log_densities(self, X: Matrix) -> FloatArray:
        """Return log p(x | k) for every row and class, up to a constant of the row."""
        if self.linear is not None:
            W, b = self.linear
            with np.errstate(over="ignore", invalid="ignore"):
                return _finite(np.asarray(X @ W.T) + b)
        out = np.empty((X.shape[0], len(self.means)))
        for begin in range(0, X.shape[0], _ROWS_AT_A_TIME):
            rows = slice(begin, begin + _ROWS_AT_A_TIME)
            with np.errstate(over="ignore", invalid="ignore"):
                out[rows] = -0.5 * self._distances(self.scaled(X[rows])) - self.log_roots
        return _finite(out)

    def scaled(self, X: Matrix) -> Matrix:
        """Return rows in the scaled columns."""
        part = column_slice(X, self.kept).astype(np.float64)
        if sp.issparse(part):
            part = part.tocsr()
            data = np.ldexp(part.data, -self.exponents[part.indices]) / self.spreads[part.indices]
            return sp.csr_array((data, part.indices, part.indptr), part.shape)
        return np.ldexp(part, -self.exponents) / self.spreads

    def _distances(self, rows: Matrix) -> FloatArray:
        """Return the squared distance of every row from every mean, in the metric of its class."""
        out = np.empty((rows.shape[0], len(self.means)))
        for k, mean in enumerate(self.means):
            if self.variances is not None:
                out[:, k] = _diagonal_distance(rows, mean, 1.0 / self.variances[k])
            else:
                V = self.whiteners[k]
                moved = rows @ V - mean @ V if sp.issparse(rows) else (rows - mean) @ V
                out[:, k] = np.einsum("ij,ij->i", moved, moved)
        return out

    def class_means(self, X: Matrix) -> FloatArray:
        """Return the means in the units of X, whose constant columns are their own means."""
        if self.linear is not None:
            return self.means
        first = X[[0]].toarray().ravel() if sp.issparse(X) else X[0]
        out = np.tile(np.asarray(first, dtype=np.float64), (len(self.means), 1))
        out[:, self.kept] = np.ldexp(self.means * self.spreads, self.exponents)
        return out

    def covariance(self, k: int) -> FloatArray:
        """Return C_k in the scaled columns."""
        if self.variances is not None:
            return np.diag(self.variances[k])
        root = sl.solve_triangular(self.whiteners[k].T, np.eye(len(self.kept)), lower=True)
        return np.asarray(root @ root.T)


def _diagonal_distance(rows: Matrix, mean: FloatArray, precision: FloatArray) -> FloatArray:
    if sp.issparse(rows):
        squares = np.asarray(rows.multiply(rows) @ precision) - 2.0 * (rows @ (mean * precision))
        return np.maximum(squares + mean**2 @ precision, 0.0)
    return np.asarray((rows - mean) ** 2 @ precision)


def _finite(scores: FloatArray) -> FloatArray:
    """Make what overflowed comparable: beyond all bounds is very improbable."""
    return np.nan_to_num(scores, nan=-1e300, posinf=1e300, neginf=-1e300)


def estimate_gaussians(
    X: Matrix,
    codes: np.ndarray,
    weights: FloatArray,
    n_classes: int,
    covariance: str,
    shrinkage: float | str = "auto",
) -> Gaussians:
    """Estimate means and covariances."""
    if covariance == "shared":
        return _shared(X, codes, weights, n_classes, shrinkage)
    A = within_rows(X, codes, weights, n_classes)
    if covariance == "full" and A.shape[1] > _LARGEST:
        raise DataError(
            f"GaussianPlugIn: a full covariance of {A.shape[1]:,} features for each class is too "
            "large to form. Use covariance='shared' or 'diagonal'."
        )
    parts = [_of_class(A, k) for k in range(n_classes)]
    plain = Gaussians(covariance, A.kept, A.exponents, A.spreads, A.means, np.zeros(n_classes))
    if covariance == "diagonal":
        variances = np.array([_class_variances(part) for part in parts])
        variances = np.maximum(variances, _LEAST_VARIANCE)
        roots = 0.5 * np.log(variances).sum(axis=1)
        return replace(plain, variances=variances, log_roots=roots, method="variances alone")
    whiteners, roots, shares = zip(*(_whitener(part, shrinkage) for part in parts), strict=True)
    shrunk = [f"{share:.3g}" for share in shares]
    method = "Cholesky" if not any(shares) else f"covariances shrunk by {', '.join(shrunk)}"
    return replace(
        plain, whiteners=whiteners, log_roots=np.array(roots), method=method, shares=shares
    )


def _shared(
    X: Matrix, codes: np.ndarray, weights: FloatArray, n_classes: int, shrinkage: float | str
) -> Gaussians:
    even = np.full(n_classes, 1.0 / n_classes)
    found = solve_fisher(X, codes, weights, n_classes, "fisher", "gaussian", even, shrinkage)
    return Gaussians(
        "shared",
        np.arange(X.shape[1]),
        np.zeros(X.shape[1], dtype=np.int64),
        np.ones(X.shape[1]),
        found.class_means,
        np.zeros(n_classes),
        linear=(found.W, found.b),
        method=found.method,
        shares=None if found.shrinkage is None else (float(found.shrinkage),),
    )


def _of_class(A: WithinRows, k: int) -> WithinRows:
    own = A.codes == k
    return replace(
        A,
        rows=A.rows[own],
        means=A.means[k : k + 1],
        codes=np.zeros(int(own.sum()), dtype=A.codes.dtype),
        weights=A.weights[own],
        n_copies=A.n_copies * float(A.weights[own].sum()) / A.mass,
    )


def _class_variances(A: WithinRows) -> FloatArray:
    if not A.is_sparse:
        return np.asarray(np.einsum("ij,ij->j", A.rows, A.rows) / A.mass)
    squares = np.asarray(A.rows.multiply(A.rows).T @ A.weights) / A.mass
    return np.maximum(squares - A.means[0] ** 2, 0.0)


def _whitener(A: WithinRows, shrinkage: float | str) -> tuple[FloatArray, float, float]:
    """Return V with V V' = C^-1, half the log-determinant of C, and the share it was shrunk by.

    C = (1 - a) S + a D with D the variances; it is factored in columns of unit variance.
    """
    S = A.gram() / A.mass
    own = np.diag(S) > _LEAST_VARIANCE
    roots = np.sqrt(np.where(own, np.diag(S), 1.0))
    R, size = S / roots / roots[:, None], A.shape[1]
    share = 0.0 if shrinkage == "auto" else shrinkage
    share = _share(A, roots) if share == "ledoit-wolf" else float(share)
    while True:
        C = (1.0 - share) * R + share * np.eye(size)
        try:
            root = np.linalg.cholesky(C)
        except np.linalg.LinAlgError:
            root = np.zeros((size, size))
        least = float(np.diag(root).min(initial=1.0)) ** 2
        if least > _SINGULAR:
            break
        if shrinkage == 0.0:
            raise DataError(
                "GaussianPlugIn: a class has a singular covariance, and shrinkage=0.0 was given. "
                "Use shrinkage='auto', 'ledoit-wolf' or a number up to 1."
            )
        # Ledoit and Wolf's share may be 0 (rows that mirror each other): then a little, and more.
        share = max(_share(A, roots), 1e-6) if share == 0.0 else min(1.0, 10.0 * share)
    V = sl.solve_triangular(root, np.eye(size), lower=True).T / roots[:, None]
    half = float(np.log(np.diag(root)).sum() + np.log(roots).sum())
    return np.ascontiguousarray(V), half, share


def _share(A: WithinRows, roots: FloatArray) -> float:
    """Return Ledoit and Wolf's share for the class in columns of unit variance of its own."""
    rows = A.rows.multiply(1.0 / roots).tocsr() if A.is_sparse else A.rows / roots
    return ledoit_wolf(replace(A, rows=rows, means=A.means / roots))
