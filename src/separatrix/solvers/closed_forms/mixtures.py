"""Mixtures of Gaussians, one for each class, by expectation maximisation.

    max over p, m, C   sum_i s_i log sum_j p_j N(x_i; m_j, C_j)      for the rows of each class

An iteration gives every row to the components by their posterior probabilities, then estimates
each component from its rows. It never lowers the likelihood (Dempster, Laird and Rubin 1977), and
ends at a local maximum. The starts are fixed: the rows cut into equal parts along each of the first
three principal axes of their class; the end of largest likelihood is taken.

Columns have unit variance within classes, and a variance of 1e-6 is added to every component, so
that none can shrink to a single row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.special import logsumexp

from separatrix.errors import DataError
from separatrix.problem.centred import within_rows
from separatrix.problem.signed import FloatArray, Matrix
from separatrix.solvers.closed_forms.gaussian import Gaussians

__all__ = ["Mixtures", "estimate_mixtures", "maximised"]

_FLOOR = 1e-6
_MOST_ITERATIONS, _LEAST_GAIN = 1000, 1e-8
_STARTS = 3
_LARGEST = 2000  # features


@dataclass(frozen=True, eq=False)
class Mixtures:
    """Densities of classes, each a mixture: the Gaussians of all components.

    `owners` has the class of every component, `log_shares` the logarithm of its part in it.
    """

    gaussians: Gaussians
    owners: np.ndarray
    log_shares: FloatArray
    method: str = ""
    linear: None = None
    shares: None = None  # of shrinkage, which has no certificate here

    def log_densities(self, X: Matrix) -> FloatArray:
        """Return log p(x | k) for every row and class, up to a constant of the row."""
        each = self.gaussians.log_densities(X) + self.log_shares
        classes = np.unique(self.owners)  # a file may name any number
        parts = [logsumexp(each[:, self.owners == k], axis=1) for k in classes]
        return np.column_stack(parts)

    def class_means(self, X: Matrix) -> FloatArray:
        """Return the means of the classes in the units of X."""
        means, shares = self.gaussians.class_means(X), np.exp(self.log_shares)
        classes = np.unique(self.owners)
        return np.array([shares[self.owners == k] @ means[self.owners == k] for k in classes])


class Mixture(NamedTuple):
    """One mixture in scaled columns: parts, means and covariances of its components."""

    shares: FloatArray
    means: FloatArray
    covariances: FloatArray  # k x d x d, or the variances, k x d


def estimate_mixtures(
    X: Matrix,
    codes: np.ndarray,
    weights: FloatArray,
    n_classes: int,
    covariance: str,
    components: int,
) -> tuple[Mixtures, int]:
    """Return a mixture for every class, and how many iterations were made.

    A class of n different rows has at most n / 2 components.
    """
    A = within_rows(X, codes, weights, n_classes)
    if A.shape[1] > _LARGEST:
        raise DataError(
            f"GaussianPlugIn: mixtures of {A.shape[1]:,} features are too large. Use components=1."
        )
    plain = Gaussians(covariance, A.kept, A.exponents, A.spreads, A.means, np.zeros(n_classes))
    rows = plain.scaled(X)
    rows = np.asarray(rows.toarray() if sp.issparse(rows) else rows)
    found, iterations = [], 0
    for k in range(n_classes):
        own, s = rows[codes == k], weights[codes == k]
        count = max(1, min(components, len(np.unique(own, axis=0)) // 2))
        best, _, made = _best(own, s, count, covariance == "diagonal")
        found.append(best)
        iterations += made
    return _joined(plain, found, covariance), iterations


def _joined(plain: Gaussians, found: list[Mixture], covariance: str) -> Mixtures:
    """Return the components of all classes as one set of Gaussians."""
    owners = np.repeat(np.arange(len(found)), [len(one.shares) for one in found])
    covariances = [C for one in found for C in one.covariances]
    means = np.vstack([one.means for one in found])
    if covariance == "diagonal":
        variances = np.array(covariances)
        how: dict[str, Any] = {"variances": variances}
        roots = 0.5 * np.log(variances).sum(axis=1)
    else:
        factors = [np.linalg.cholesky(C) for C in covariances]
        how = {"whiteners": tuple(_whitener(factor) for factor in factors)}
        roots = np.array([np.log(np.diagonal(factor)).sum() for factor in factors])
    gaussians = replace(plain, means=means, log_roots=roots, shares=None, **how)
    counts = "/".join(str(len(one.shares)) for one in found)
    with np.errstate(divide="ignore"):
        log_shares = np.maximum(np.log(np.concatenate([one.shares for one in found])), -1e300)
    method = f"mixtures of {counts} components, a local maximum of the likelihood"
    return Mixtures(gaussians, owners, log_shares, method)


def _whitener(factor: FloatArray) -> FloatArray:
    """Return V with V V' = (L L')^-1."""
    return np.asarray(sl.solve_triangular(factor, np.eye(len(factor)), lower=True).T)


def _best(
    rows: FloatArray, s: FloatArray, count: int, diagonal: bool
) -> tuple[Mixture, float, int]:
    """Return the best end of all starts, its likelihood, and the iterations of all."""
    ends = []
    for axis in _axes(rows, s)[: _STARTS if count > 1 else 1]:
        ends.append(maximised(rows, s, _cut(rows @ axis, s, count), diagonal))
    best, likelihood, _ = max(ends, key=lambda end: end[1])
    return best, likelihood, sum(made for _, _, made in ends)


def _axes(rows: FloatArray, s: FloatArray) -> FloatArray:
    """Return the principal axes, the longest first; their signs do not hang on the rows."""
    centred = np.sqrt(s)[:, None] * (rows - s @ rows / s.sum())
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes.T[::-1]
    if not axes.size:
        return np.zeros((1, rows.shape[1]))
    largest = np.take_along_axis(axes, abs(axes).argmax(axis=1)[:, None], axis=1)
    return np.asarray(axes * np.sign(largest))


def _cut(along: FloatArray, s: FloatArray, count: int) -> FloatArray:
    """Return the rows dealt to `count` parts of equal weight, in the order of a number.

    A row at a cut is divided, so that a weight of 2 is two copies.

    >>> _cut(np.array([3.0, 1.0, 2.0]), np.ones(3), 2).tolist()
    [[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]
    """
    order = np.argsort(along, kind="stable")
    ends = np.cumsum(s[order])[:, None]
    begins, edges = ends - s[order][:, None], np.linspace(0.0, float(s.sum()), count + 1)
    shared = np.minimum(ends, edges[1:]) - np.maximum(begins, edges[:-1])
    dealt = np.empty((len(s), count))
    dealt[order] = np.maximum(shared, 0.0) / s[order][:, None]
    return dealt


def maximised(
    rows: FloatArray, s: FloatArray, dealt: FloatArray, diagonal: bool
) -> tuple[Mixture, float, int]:
    """Return the mixture that the iteration ends at, its log-likelihood, and the iterations.

    `dealt` has the posterior probabilities to begin with, a column a component.
    """
    likelihood, made = -math.inf, 0
    while True:
        mixture = _estimated(rows, s, dealt, diagonal)
        joint = _log_joint(rows, mixture)
        total = logsumexp(joint, axis=1)
        before, likelihood, made = likelihood, float(s @ total), made + 1
        gained = likelihood - before
        if made >= _MOST_ITERATIONS or not gained > _LEAST_GAIN * float(s.sum()):
            return mixture, likelihood, made
        dealt = np.exp(joint - total[:, None])


def _estimated(rows: FloatArray, s: FloatArray, dealt: FloatArray, diagonal: bool) -> Mixture:
    masses = s[:, None] * dealt
    sizes = np.maximum(masses.sum(axis=0), 1e-300)
    means = masses.T @ rows / sizes[:, None]
    covariances = []
    for j, mean in enumerate(means):
        off = rows - mean
        if diagonal:
            covariances.append(masses[:, j] @ off**2 / sizes[j] + _FLOOR)
        else:
            C = (masses[:, j, None] * off).T @ off / sizes[j]
            covariances.append(0.5 * (C + C.T) + _FLOOR * np.eye(len(mean)))
    return Mixture(sizes / sizes.sum(), means, np.array(covariances))


def _log_joint(rows: FloatArray, mixture: Mixture) -> FloatArray:
    """Return log p_j N(x_i; m_j, C_j) without the power of 2 pi, which all share."""
    out = np.empty((len(rows), len(mixture.shares)))
    for j, (share, mean, C) in enumerate(zip(*mixture, strict=True)):
        if C.ndim == 1:
            squares, root = (rows - mean) ** 2 @ (1.0 / C), 0.5 * float(np.log(C).sum())
        else:
            factor = np.linalg.cholesky(C)
            moved = sl.solve_triangular(factor, (rows - mean).T, lower=True)
            squares, root = (moved**2).sum(axis=0), float(np.log(np.diagonal(factor)).sum())
        out[:, j] = math.log(max(float(share), 1e-300)) - root - 0.5 * squares
    return out
