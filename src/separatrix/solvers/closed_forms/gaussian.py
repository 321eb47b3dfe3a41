"""Gaussian classes: estimated from rows, and their log-densities at others.

    p(x | k) = N(x; m_k, C_k),      m_k, C_k by maximum likelihood

    shared      one C for all classes: log-densities differ by linear functions of x
    full        a C_k for each class: they differ by quadratic functions
    diagonal    a C_k for each class, the features taken to be independent (naive Bayes)

Covariances are estimated in columns of unit variance, so that units do not matter. Where one is
singular all are shrunk, towards their own diagonals, the covariance within all classes, or both, by
the errors on held-out rows (`gaussian_shrinkage`); where rows are too few for that, each towards
its own diagonal by Ledoit and Wolf's share. Where a class does not vary in a column, its diagonal
has the variance within all classes there. Log-densities are given up to a constant that all classes
have in common.

Covariances of classes in the units of the data, for those who look at them.

    shared    (1 - a) S + a diag(S),  S the covariance within all classes
    full      that of each class as the densities hold it
    diagonal  the variances of each class

Columns that do not vary have zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from separatrix.errors import DataError
from separatrix.problem.centred import WithinRows, column_slice, within_rows
from separatrix.problem.signed import FloatArray, Matrix
from separatrix.solvers.closed_forms.fisher import FORMED, ledoit_wolf, solve_fisher
from separatrix.solvers.closed_forms.gaussian_shrinkage import Shrinkage, held_out_choice

__all__ = [
    "Gaussians",
    "class_covariances",
    "estimate_gaussians",
    "shared_covariance",
]


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
    Of each share the part `pooled` went to the covariance within all classes; empty: none did.
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
    pooled: tuple[float, ...] = ()

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
    shrinkage: Any = "auto",
) -> Gaussians:
    """Estimate means and covariances.

    `shrinkage` is "auto", "ledoit-wolf", "held-out", a share, or a pair (share, pooled).
    """
    if covariance == "shared":
        return _shared(X, codes, weights, n_classes, shrinkage)
    A = within_rows(X, codes, weights, n_classes)
    if covariance == "full" and A.shape[1] > _LARGEST:
        raise DataError(
            f"GaussianPlugIn: a full covariance of {A.shape[1]:,} features for each class is too "
            "large to form. Use covariance='shared' or 'diagonal'."
        )
    if covariance == "full":
        return _full(A, X, weights, shrinkage)
    variances = np.array([_class_variances(_of_class(A, k)) for k in range(n_classes)])
    variances = np.maximum(variances, _LEAST_VARIANCE)
    roots = 0.5 * np.log(variances).sum(axis=1)
    method = "variances alone"
    return replace(_plain(A, "diagonal"), variances=variances, log_roots=roots, method=method)


def _plain(A: WithinRows, kind: str) -> Gaussians:
    return Gaussians(kind, A.kept, A.exponents, A.spreads, A.means, np.zeros(len(A.means)))


def _full(A: WithinRows, X: Matrix, weights: FloatArray, shrinkage: Any) -> Gaussians:
    """Estimate a covariance for each class, shrunk as stated or as the rows advise."""
    covariances, n_classes = _Covariances.of(A), len(A.means)
    plain = Shrinkage(0.0)
    if isinstance(shrinkage, str):
        if shrinkage == "ledoit-wolf":
            return covariances.raised([Shrinkage(covariances.share(k)) for k in range(n_classes)])
        found = covariances.shrunk([plain] * n_classes) if shrinkage == "auto" else None
        if found is None:
            found = _held_out(covariances, X, weights)
        return found or covariances.raised([plain] * n_classes)
    pair = Shrinkage(*shrinkage) if np.ndim(shrinkage) else Shrinkage(float(shrinkage))
    found = covariances.shrunk([pair] * n_classes)
    if found is None and pair.share == 0.0:
        raise DataError(
            "GaussianPlugIn: a class has a singular covariance, and shrinkage=0.0 was given. "
            "Use shrinkage='auto', 'held-out', 'ledoit-wolf' or a number up to 1."
        )
    return found or covariances.raised([pair] * n_classes)


def _held_out(covariances: _Covariances, X: Matrix, weights: FloatArray) -> Gaussians | None:
    """Estimate the densities with the shrinkage that held-out rows advise; None if they do not."""
    codes, n_classes = covariances.A.codes, len(covariances.A.means)

    def prepare(
        X: Matrix, codes: np.ndarray, weights: FloatArray
    ) -> Callable[[Shrinkage], Gaussians | None]:
        fold = _Covariances.of(within_rows(X, codes, weights, n_classes))
        return lambda pair: fold.shrunk([pair] * n_classes)

    chosen = held_out_choice(prepare, X, codes, weights, n_classes)
    found = None if chosen is None else covariances.shrunk([chosen] * n_classes)
    return found and replace(found, method=f"{found.method}, chosen by held-out rows")


@dataclass(frozen=True)
class _Covariances:
    """Those of all classes, and that within them, in columns of unit variance within."""

    A: WithinRows
    parts: list[WithinRows]
    own: list[FloatArray]
    pooled: FloatArray

    @classmethod
    def of(cls, A: WithinRows) -> _Covariances:
        parts = [_of_class(A, k) for k in range(len(A.means))]
        grams = [part.gram() for part in parts]
        own = [gram / part.mass for gram, part in zip(grams, parts, strict=True)]
        return cls(A, parts, own, np.asarray(sum(grams)) / A.mass)

    def shrunk(self, pairs: list[Shrinkage]) -> Gaussians | None:
        """Return the densities with these shrinkages; None where a covariance is singular."""
        found = [_whitener(S, self.pooled, pair) for S, pair in zip(self.own, pairs, strict=True)]
        if any(one is None for one in found):
            return None
        whiteners, roots = zip(*(one for one in found if one is not None), strict=True)
        shares, pooled = zip(*pairs, strict=True)
        return replace(
            _plain(self.A, "full"),
            whiteners=whiteners,
            log_roots=np.array(roots),
            method=_said(shares, pooled),
            shares=shares,
            pooled=pooled if any(pooled) else (),
        )

    def raised(self, pairs: list[Shrinkage]) -> Gaussians:
        """Return the densities, the shares raised where a covariance is singular with them."""
        pairs = list(pairs)
        for k, pair in enumerate(pairs):
            while _whitener(self.own[k], self.pooled, pair) is None:
                # Rows that mirror each other may have a share of 0: then a little, and more.
                more = max(self.share(k), 1e-6) if pair.share == 0.0 else 10.0 * pair.share
                pooled = 0.0 if pair.share >= 1.0 else pair.pooled  # a pooled one is singular too
                pair = Shrinkage(min(1.0, more), pooled)
            pairs[k] = pair
        found = self.shrunk(pairs)
        if found is None:  # pragma: no cover - the loop above has tried each of them
            raise AssertionError("a covariance is singular that was not")
        return found

    def share(self, k: int) -> float:
        """Return Ledoit and Wolf's share of a class in columns of unit variance of its own."""
        A, roots = self.parts[k], _spreads(self.own[k])
        rows = A.rows.multiply(1.0 / roots).tocsr() if A.is_sparse else A.rows / roots
        return ledoit_wolf(replace(A, rows=rows, means=A.means / roots))


def _said(shares: tuple[float, ...], pooled: tuple[float, ...]) -> str:
    if not any(shares):
        return "Cholesky"
    if len(set(shares)) == len(set(pooled)) == 1 and any(pooled):
        said = f"covariances shrunk by {shares[0]:.3g}"
        return f"{said}, {pooled[0]:.3g} of it towards the shared one"
    return f"covariances shrunk by {', '.join(f'{share:.3g}' for share in shares)}"


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


def _spreads(C: FloatArray) -> FloatArray:
    """Return the standard deviations; 1 where there is next to none."""
    variances = np.diag(C)
    return np.sqrt(np.where(variances > _LEAST_VARIANCE, variances, 1.0))


def _whitener(
    S: FloatArray, pooled: FloatArray, pair: Shrinkage
) -> tuple[FloatArray, float] | None:
    """Return V with V V' = C^-1 and half the log-determinant of C; None where C is singular.

    C is factored in columns of unit variance of the class.
    """
    own = np.where(np.diag(S) > _LEAST_VARIANCE, np.diag(S), 1.0)
    C = (1.0 - pair.share) * S
    if pair.pooled:
        C += pair.share * pair.pooled * pooled
    C[np.diag_indices_from(C)] += pair.share * (1.0 - pair.pooled) * own
    roots = _spreads(C)
    try:
        root = np.linalg.cholesky(C / roots / roots[:, None])
    except np.linalg.LinAlgError:
        return None
    if float(np.diag(root).min(initial=1.0)) ** 2 <= _SINGULAR:
        return None
    V = sl.solve_triangular(root, np.eye(len(C)), lower=True).T / roots[:, None]
    half = float(np.log(np.diag(root)).sum() + np.log(roots).sum())
    return np.ascontiguousarray(V), half


# ---- covariances of classes in the units of the data, for those who look at them


def shared_covariance(
    X: Matrix, codes: np.ndarray, weights: FloatArray, n_classes: int, share: float | None
) -> FloatArray:
    """Return the covariance within all classes, shrunk by a share (None: as it is).

    >>> rows, codes = np.tile([[0.0, 0.0], [2.0, 2.0]], (2, 1)), np.repeat([0, 1], 2)
    >>> shared_covariance(rows, codes, np.ones(4), 2, 0.5).round(9).tolist()
    [[1.0, 0.5], [0.5, 1.0]]
    """
    if X.shape[1] > FORMED:
        raise DataError(
            f"a covariance of {X.shape[1]:,} columns is too large to form. Leave "
            "store_covariance=True out."
        )
    A = within_rows(X, codes, weights, n_classes)
    S = A.gram() / A.mass
    if share:
        S = (1.0 - share) * S + share * np.diag(np.diag(S))
    return _in_units(S, A.kept, A.spreads, A.exponents, X.shape[1])


def class_covariances(gaussians: Gaussians, n_columns: int) -> FloatArray:
    """Return a covariance a class, or where the classes have variances alone a row of them."""
    kept, spreads, exponents = gaussians.kept, gaussians.spreads, gaussians.exponents
    if gaussians.variances is not None:
        out = np.zeros((len(gaussians.means), n_columns))
        with np.errstate(over="ignore", under="ignore"):
            out[:, kept] = np.ldexp(gaussians.variances * spreads**2, 2 * exponents)
        return out
    every = [gaussians.covariance(k) for k in range(len(gaussians.means))]
    return np.stack([_in_units(C, kept, spreads, exponents, n_columns) for C in every])


def _in_units(
    C: FloatArray, kept: np.ndarray, spreads: FloatArray, exponents: np.ndarray, n_columns: int
) -> FloatArray:
    out = np.zeros((n_columns, n_columns))
    with np.errstate(over="ignore", under="ignore"):
        scaled = C * spreads * spreads[:, None]
        out[np.ix_(kept, kept)] = np.ldexp(scaled, exponents + exponents[:, None])
    return out
