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
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from separatrix.problem.centred import WithinRows, within_rows
from separatrix.problem.signed import FloatArray, Matrix
from separatrix.solvers.closed_forms.scatter import Division, divide_by_covariance

__all__ = ["Discriminant", "solve_fisher"]

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
    """Find the directions and the scores of all classes; `within` may be laid out elsewhere."""
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
