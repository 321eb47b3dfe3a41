"""Fisher's discriminant: directions along which classes lie far apart for their width.

    max over w    (w' S_B w) / (w' S_W w)

with S_W the scatter within classes and S_B = sum_k N_k (m_k - m)(m_k - m)' that between them. For
two classes w = S_W^-1 (m_2 - m_1). For K classes the maximisers all lie in the span of
Z = C^-1 (m_k - m), C = S_W / N, so the generalised eigenproblem S_B v = t S_W v is one of K x K:

    v = Z P^1/2 u,     P^1/2 (M'Z) P^1/2 u = t u,     P = diag(N_k / N),  M the columns m_k - m

Scores of a row x, the largest of which decides:

    mean       (m_k - m)' S_W^-1 (x - m)            two classes: the lecture's threshold w.m
    gaussian   (m_k - m)' C^-1 (x - m) - 1/2 (m_k - m)' C^-1 (m_k - m) + log p_k

the second being the log-probabilities (up to a constant) of Gaussian classes with one covariance.
For more than two classes the lecture gives no threshold, and the mean of all rows can serve as
none (a class in the middle would never win): there "mean" is the nearest class mean, i.e. the
second line with equal p_k.

With direction="means" the rows are first projected on the span of the means alone.

Dividing by the within-class covariance, which may be singular.

    solve  C Z = M,    C = (1 - a) S + a I,    S = A'A / N  (columns of unit variance)

`a` is 0 (Cholesky), given, or Ledoit and Wolf's (2004): the a for which C is, as far as the rows
can tell, nearest the true covariance. Since the columns have unit variance this shrinks towards
the variances themselves, whatever the units. Instead of a, the pseudo-inverse of S may be used:
it looks at the directions in which the rows vary, and at no others.

Narrow data form S; wide data use the n x n matrix A A' (Woodbury); data that are large both ways
use conjugate gradients on products with A.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg as sl
from scipy.sparse.linalg import LinearOperator, cg

from separatrix._sparse import sparse as sp
from separatrix.errors import DataError
from separatrix.problem.centred import WithinRows, nearer_zero, within_rows
from separatrix.problem.signed import FloatArray, Matrix
from separatrix.solvers.linear.gram import well_factored

__all__ = [
    "Discriminant",
    "Division",
    "FORMED",
    "divide_by_covariance",
    "ledoit_wolf",
    "solve_fisher",
]


_NO_WORTH = 1e-12  # of the best ratio: rounding


@dataclass(frozen=True)
class Discriminant:
    """A row of weights for each class, directions (columns) by worth, and how they were found."""

    W: FloatArray
    b: FloatArray
    directions: FloatArray
    ratios: FloatArray
    mean: FloatArray
    class_means: FloatArray
    shrinkage: float | None
    method: str
    iterations: int


# What overflows is not finite in the end, and the proof says so.
@np.errstate(over="ignore", invalid="ignore")
def solve_fisher(
    X: Matrix,
    codes: np.ndarray,
    weights: FloatArray,
    n_classes: int,
    direction: str = "fisher",
    threshold: str = "mean",
    priors: FloatArray | None = None,
    shrinkage: float | str = "auto",
    within: WithinRows | None = None,
) -> Discriminant:
    """Find the directions and the scores of all classes; `within` may be laid out elsewhere.

    Far from zero differences of means lose their digits: such columns are moved first.
    """
    settings: Any = (codes, weights, n_classes, direction, threshold, priors, shrinkage)
    if within is not None or sp.issparse(X):
        return _solved(X, within, *settings)
    moved, by = nearer_zero(X, weights)
    found = _solved(moved, None, *settings)
    mean, means = found.mean + by, found.class_means + by
    return replace(found, b=found.b - found.W @ by, mean=mean, class_means=means)


def _solved(
    X: Matrix,
    within: WithinRows | None,
    codes: np.ndarray,
    weights: FloatArray,
    n_classes: int,
    direction: str,
    threshold: str,
    priors: FloatArray | None,
    shrinkage: float | str,
) -> Discriminant:
    # The naive direction looks at no scatter, and is in the units of the columns as given.
    plain = direction == "means" and threshold == "mean"
    at_mean = threshold == "mean" and n_classes == 2
    A = within_rows(X, codes, weights, n_classes) if within is None else within
    M = (A.means - A.mean).T
    if plain:
        found = Division(_in_given_units(A, M), None, "means alone", 0)
        scores, C_scale = found.Z, 1.0
    elif direction == "means":
        found = _project_on_means(A, M)
        scores, C_scale = found.Z, 1.0
    else:
        found = divide_by_covariance(A, M, shrinkage)
        scores = found.Z
        C_scale = A.n_copies if at_mean else 1.0
    scores = scores / C_scale
    if at_mean:
        b = -A.mean @ scores
    else:
        shares = A.class_masses / A.mass if priors is None else priors
        shares = np.full(n_classes, 1.0 / n_classes) if threshold == "mean" else shares
        with np.errstate(divide="ignore"):
            b = np.log(shares) - 0.5 * np.einsum("jk,jk->k", M, scores) - A.mean @ scores
    directions, ratios = _directions(A, M, found.Z)
    return Discriminant(
        np.ascontiguousarray(A.given_weights(scores).T),
        np.asarray(b),
        A.given_weights(directions),
        ratios,
        *_given_means(A, X),
        found.shrinkage,
        found.method,
        found.iterations,
    )


def _given_means(A: WithinRows, X: Matrix) -> tuple[FloatArray, FloatArray]:
    """Return the mean of all rows and of each class, in the units of X."""
    first = X[[0]].toarray().ravel() if A.is_sparse else X[0]
    mean = np.array(first, dtype=np.float64)  # constant columns are their own mean
    means = np.tile(mean, (len(A.means), 1))
    mean[A.kept] = np.ldexp(A.mean * A.spreads, A.exponents)
    means[:, A.kept] = np.ldexp(A.means * A.spreads, A.exponents)
    return mean, means


def _in_given_units(A: WithinRows, M: FloatArray) -> FloatArray:
    """Turn differences of means into weights: multiplied by the square of the units of A.

    In units where the largest column is 1, since the square may overflow; a direction has no size.
    """
    sizes = np.log2(A.spreads) + A.exponents
    with np.errstate(under="ignore"):
        return np.asarray(M * np.exp2(2.0 * np.minimum(sizes - _common(sizes), 500.0))[:, None])


def _common(sizes: FloatArray) -> float:
    """Return 0, or the power of two to divide by where squares would leave the range."""
    return 0.0 if np.abs(sizes).max(initial=0.0) < 400.0 else float(sizes.max())


def _project_on_means(A: WithinRows, M: FloatArray) -> Division:
    """Gaussian scores within the span of the means as given: V (V'C V)^+ V'M."""
    V = _in_given_units(A, M)
    V = V / np.maximum(np.abs(V).max(axis=0, initial=0.0), 2.0**-1000)
    within = A.times(V)
    C = within.T @ within / A.mass
    # Where the rows do not vary along the means, any small width gives the same direction.
    C += 2.0**-40 * max(float(np.trace(C)), 2.0**-500) * np.eye(len(C))
    Z = V @ np.linalg.lstsq(C, V.T @ M, rcond=1e-10)[0]
    return Division(np.asarray(Z), None, "projection on the means", 1)


def _directions(A: WithinRows, M: FloatArray, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return directions of unit variance within classes, best first, and their ratios."""
    if not np.isfinite(Z).all():  # the estimators report what overflows
        return np.full((len(Z), 1), np.nan), np.full(1, np.nan)
    roots = np.sqrt(A.class_masses / A.mass)
    largest = float(np.abs(Z).max(initial=0.0))
    Z = Z / largest if largest > 0.0 else Z  # a direction has no size
    inner = M.T @ Z
    worths, U = np.linalg.eigh(roots[:, None] * (0.5 * (inner + inner.T)) * roots)
    order = np.argsort(-worths, kind="stable")[: min(len(roots) - 1, A.n_columns)]
    # Means that lie in fewer dimensions part the classes along no further direction.
    count = int((worths[order] > _NO_WORTH * max(float(worths[order[0]]), 0.0)).sum())
    order = order[: max(count, 1)]
    V = Z @ (roots[:, None] * U[:, order])
    within = A.times(V)
    lengths = np.sqrt(np.einsum("ij,ij->j", within, within) / A.mass)
    # Where nothing varies within the classes (or next to nothing) the length itself is the unit.
    sizes = np.linalg.norm(V, axis=0)
    lengths = np.where(lengths > 1e-9 * sizes, lengths, np.where(sizes > 0.0, sizes, 1.0))
    V = V / lengths
    last = M[:, -1] - M[:, 0]
    V = V * np.where(last @ V < 0.0, -1.0, 1.0)
    worths = np.maximum(worths[order], 0.0)
    return V, worths / worths.sum() if worths.sum() > 0.0 else worths


# ---- dividing by the within-class covariance, which may be singular


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
    if not d:
        return 1.0
    square = _square_norm(A)
    trace = float(A.weights @ A.row_squares()) / A.mass
    mean = trace / d
    distance = square / d - mean**2
    fourth = float(A.weights @ A.row_squares() ** 2) / A.mass
    spread = (fourth - square) / (d * A.n_copies)
    if mean <= _NOTHING or distance <= 1e-12 * mean**2:
        return 1.0
    return float(min(max(spread / distance, 0.0), 1.0))


def _square_norm(A: WithinRows) -> float:
    """Return the sum of squares of A'A / m, which is that of A A' / m, m the mass."""
    n, d = A.shape
    if d <= min(n, FORMED):
        return float(((A.gram() / A.mass) ** 2).sum())
    parts = (slice(begin, begin + _ROWS_AT_A_TIME) for begin in range(0, n, _ROWS_AT_A_TIME))
    return float(sum(((A.outer_gram(part) / A.mass) ** 2).sum() for part in parts))


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
