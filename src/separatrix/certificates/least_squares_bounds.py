"""How far weights can be from the least-squares optimum, from the data and with rounding bounded.

    f(W, b) = sum_i s_i |W x_i + b - t_i|^2 + ridge |W|^2

Write A for the rows sqrt(s_i) [1, x_i - m] (any m: the intercept takes it up) with the rows
root(ridge) [0, e_j] below, r for the residual of one output and g = A'r. Two facts are proved.

1. Stewart (1977): the weights solve *exactly* the least-squares problem of the columns
   A_j - r (r.A_j) / |r|^2, each of which differs by |g_j| / (|A_j| |r|) of its length.
   Where |r| is small against the targets, they instead solve exactly the problem of targets
   changed by |r| / |t|. `perturbation` is the smaller of the two.

2. f - min f = g' (A'A)^-1 g <= sum_j (g_j / |A_j|)^2 / c, where c is a proved lower bound on the
   least eigenvalue of A'A with unit columns: its Cholesky decomposition, shifted by c and all
   rounding, exists (Rump, 2006). Where none is found, f - min f <= f is all that is said. This
   bounds the perturbation too: by root (f - min f) / |w| (the weights of unit columns).

Nothing here knows how the weights were found.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosure import LEAST, Enclosure
from separatrix.problem.equilibrate import column_exponents, divided_columns

__all__ = ["prove"]

_UNIT = 2.0**-53
_TINY = 1e-290
_MOST_COLUMNS = 400
_SMALL_EXCESS = 1e-12


def prove(
    X: Any, T: np.ndarray, s: np.ndarray, W: np.ndarray, ridge: float, intercept: bool
) -> tuple[float, float, float, float]:
    """Return f rounded up, a bound below min f, the perturbation, and the gap."""
    with np.errstate(all="ignore"):
        # Weights near 1, by a power of two: products with them do not vanish.
        power = int(np.frexp(s.max(initial=1.0))[1])
        scaled, penalty = np.ldexp(s, -power), math.ldexp(float(ridge), -power)
        exponents = column_exponents(X)
        divided = divided_columns(X, exponents)
        exact = (np.ldexp(scaled, power) == s).all() and math.ldexp(penalty, power) == ridge
        if not (exact and _is_same(divided_columns(divided, -exponents), X)):
            return math.inf, 0.0, math.inf, 1.0
        bounds = _Bounds(divided, exponents, T, scaled, W, penalty, intercept)
        objective, least = bounds.objective(), bounds.least()
        perturbation, gap = bounds.perturbation(), bounds.gap()
        objective = math.nextafter(np.ldexp(objective, power), math.inf)
        least = math.nextafter(np.ldexp(least, power), 0.0)
        if bounds.is_hidden:
            least, perturbation, gap = 0.0, math.inf, 1.0
    # A comparison with NaN is false: what overflowed is no proof.
    objective = objective if objective >= 0.0 else math.inf
    perturbation = perturbation if 0.0 <= perturbation < math.inf else math.inf
    least = least if least >= 0.0 else 0.0
    return objective, least, perturbation, gap if 0.0 <= gap < 1.0 else 1.0


def _is_same(back: Any, X: Any) -> bool:
    """Whether the division lost nothing: quotients below the least normal number are rounded."""
    return bool((back != X).nnz == 0) if sp.issparse(X) else bool((back == X).all())


class _Bounds:
    """Residuals and gradients of all outputs, each with a bound on its rounding error.

    Columns are divided by powers of two and dense ones moved by their mean m. A computed
    x - m has a relative error of one unit, and that is all that moving costs: b + m.w is the
    intercept of the moved columns.
    """

    def __init__(
        self,
        X: Any,
        exponents: np.ndarray,
        T: np.ndarray,
        s: np.ndarray,
        W: np.ndarray,
        ridge: float,
        intercept: bool,
    ) -> None:
        n, d = X.shape
        self.T, self.s, self.intercept, self.n, self.d = T, s, intercept, n, d
        self.A = X
        self.w = np.ldexp(W[:, 1:].T, exponents[:, None])
        self.penalty = np.ldexp(np.full(d, float(ridge)), -2 * exponents)
        bias, bias_size = W[:, 0] * intercept, np.abs(W[:, 0])
        if not sp.issparse(X) and intercept:
            mean = (s / s.sum()) @ self.A
            # Columns of one value are taken up by the intercept without rounding.
            mean = np.where((self.A[0] == self.A).all(axis=0), self.A[0], mean)
            self.A = self.A - mean
            bias = bias + mean @ self.w
            bias_size = bias_size + np.abs(mean) @ np.abs(self.w)
        self.absolute = abs(self.A)
        size = self.absolute @ np.abs(self.w) + bias_size + np.abs(T)
        self.residual = self.A @ self.w + bias - T
        self.doubt = self._gamma(2 * d + 8) * size + _TINY
        # A column is absent only if all its entries are exactly zero.
        entries = self.A if sp.issparse(X) else self.A != 0.0
        counts = np.asarray((abs(entries) > 0.0).sum(axis=0)).ravel()
        self.real = (counts > 0) | (self.penalty > 0.0)
        self.squares = self._squares()
        self._gradients()
        self.excess = self._excess()

    @staticmethod
    def _gamma(terms: int) -> float:
        return 1.01 * terms * _UNIT / (1.0 - terms * _UNIT)

    def _gradients(self) -> None:
        """Bound |g_j| for every column and the intercept, and the lengths of columns and r."""
        s, gamma = self.s[:, None], self._gamma(self.n + 8)
        reach = s * (np.abs(self.residual) + self.doubt)
        pull = self.penalty[:, None] * self.w
        gradient = np.abs(self.A.T @ (s * self.residual) + pull)
        doubt = self.absolute.T @ (s * self.doubt + gamma * reach) + gamma * np.abs(pull)
        self.gradient = gradient + doubt + 2.0**-1060 * np.abs(self.w) + _TINY
        squares = (
            np.asarray(self.A.multiply(self.A).T @ self.s)
            if sp.issparse(self.A)
            else np.einsum("ij,ij,i->j", self.A, self.A, self.s)
        )
        # What vanished below the least number is taken off.
        vanished = 4.0 * (self.n + 2.0) * LEAST
        self.lengths = np.sqrt(np.maximum(squares + self.penalty - vanished, 0.0))
        if self.intercept:
            self.real = np.append(self.real, True)
            own = np.abs((s * self.residual).sum(axis=0)) + (s * self.doubt + gamma * reach).sum(0)
            self.gradient = np.vstack([self.gradient, own])
            self.lengths = np.append(self.lengths, math.sqrt(self.s.sum()))
        # Down by more than the rounding of a sum of n squares.
        self.lengths = self.lengths * (1.0 - 2.0 * gamma)
        self.is_hidden = bool((self.real & ~(self.lengths > 0.0)).any())

    def _squares(self) -> Enclosure:
        """Enclose the squared lengths of the residuals (the rows of the ridge included)."""
        found = []
        for k in range(self.w.shape[1]):
            residual = Enclosure.around(self.residual[:, k], self.doubt[:, k])
            penalised = Enclosure.exact(self.w[:, k]).square() * self.penalty
            found.append((residual.square() * self.s).sum() + penalised.sum())
        return Enclosure(np.array([e.low for e in found]), np.array([e.high for e in found]))

    def objective(self) -> float:
        return float(self.squares.sum().high)

    def least(self) -> float:
        return float((self.squares.sum() - self.excess).low)

    def _least(self) -> np.ndarray:
        """Return lower bounds on the lengths of the residuals."""
        return np.asarray(self.squares.root().low)

    def perturbation(self) -> float:
        real = self.real
        share = self.gradient[real] / self.lengths[real][:, None]
        angle = share.max(axis=0, initial=0.0) / self._least()
        unit = 0.999 * np.sqrt(((self.lengths[: self.d, None] * self.w) ** 2).sum(axis=0))
        best = np.full(self.w.shape[1], np.inf)
        for shares in (angle, self._targets_changed(), np.sqrt(self.excess) / unit):
            best = np.minimum(best, np.where(np.isnan(shares), np.inf, shares))
        return float(best.max(initial=0.0)) * (1.0 + 16.0 * _UNIT)

    def _targets_changed(self) -> np.ndarray:
        """Return |r| / |t| with t centred where there is an intercept, which takes up its mean."""
        most = self.squares.root().high
        T = self.T
        if self.intercept:
            mean = (self.s / self.s.sum()) @ T
            # Targets of one value have no spread to compare with: their size serves.
            T = np.where((T[0] == T).all(axis=0), T, T - mean)
        weighted = Enclosure.exact(T).square() * self.s[:, None]
        length = np.array([weighted[:, k].sum().root().low for k in range(T.shape[1])])
        # The mean is rounded: by less than so many units of the length.
        return np.asarray(most / (length * (1.0 - 2.0 * self._gamma(self.n + 8))))

    def gap(self) -> float:
        """Bound (f - min f) / f over all outputs together."""
        objective = float(self.squares.sum().low)
        return float((Enclosure.exact(self.excess) / objective).high) if objective > 0.0 else 1.0

    def _excess(self) -> float:
        """Bound f - min f, in the cheapest way that gives a small number."""
        excess = self._excess_by_ridge()
        if self.d > _MOST_COLUMNS:
            return excess
        objective = float(self.squares.sum().low)
        for way in (self._excess_by_columns, self._excess_by_triangle):
            if excess <= _SMALL_EXCESS * objective:
                break
            found = way()
            excess = min(excess, found) if found >= 0.0 else excess
        return excess

    def _excess_by_ridge(self) -> float:
        """Bound f - min f by the ridge alone.

        With the mean m of the columns taken up by the intercept, A'A + ridge falls into the
        columns, where it is at least the ridge, and the intercept, where it is sum s.
        """
        if not (self.penalty > 0.0).all():
            return math.inf
        if not self.intercept:
            return _sum_of_squares(self.gradient, self.penalty[:, None])
        own, mass = self.gradient[-1], self.s.sum()
        mean = (self.absolute.T @ self.s) / mass * (1.0 + self._gamma(self.n + 8))
        moved = self.gradient[:-1] + mean[:, None] * own
        return _sum_of_squares(moved, self.penalty[:, None]) + _sum_of_squares(own, mass)

    def _excess_by_columns(self) -> float:
        """Bound f - min f by the least eigenvalue of A'A with unit columns."""
        real = self.real
        lengths = self.lengths[real]
        if sp.issparse(self.A):
            gram = (self.A.multiply(self.s[:, None]).T @ self.A).toarray()
        else:
            gram = (self.A * self.s[:, None]).T @ self.A
        gram[np.diag_indices_from(gram)] += self.penalty
        if self.intercept:
            border = np.asarray(self.A.T @ self.s)
            gram = np.block([[gram, border[:, None]], [border[None, :], self.s.sum()]])
        gram = gram[np.ix_(real, real)] / lengths / lengths[:, None]
        least = _least_eigenvalue(gram, self.n)
        if not least > 0.0:
            return math.inf
        return _sum_of_squares(self.gradient[real] / lengths[:, None], least)

    def _excess_by_triangle(self) -> float:
        """Bound f - min f = (C'g)' (B'B)^-1 (C'g) with B = A C and any C: here the inverse of R.

        B is nearly orthogonal even where A is far from it, and C'g is computed as B'r.
        """
        if sp.issparse(self.A) or self.penalty.any() or self.n < self.d:
            return math.inf
        roots = np.sqrt(self.s)[:, None]
        A = self.A[:, self.real[: self.d]]
        A = roots * (np.column_stack([A, np.ones(self.n)]) if self.intercept else A)
        try:
            C = np.linalg.inv(np.linalg.qr(A, mode="r"))
        except np.linalg.LinAlgError:
            return math.inf
        B = A @ C
        wrong = self._gamma(A.shape[1] + 8) * (np.abs(A) @ np.abs(C)) + _TINY
        away = float(np.sqrt((wrong**2).sum()) * 1.01)
        least = _least_eigenvalue(B.T @ B, self.n)
        # sigma_min of the exact A C is at least that of B, less the norm of what is wrong with B.
        least = max(0.0, math.sqrt(max(least, 0.0)) - away) ** 2
        if not least > 0.0:
            return math.inf
        residual, doubt = roots * self.residual, roots * self.doubt
        reach = np.abs(residual) * (1.0 + 8.0 * _UNIT) + doubt
        pulled = np.abs(B.T @ residual) + np.abs(B).T @ doubt
        pulled += (wrong + self._gamma(self.n + 8) * np.abs(B)).T @ reach
        return _sum_of_squares(pulled, least) * (1.0 + 1e-6)


def _sum_of_squares(values: np.ndarray, over: Any) -> float:
    """Return the sum of squares over something, rounded up; a square that vanishes is not 0."""
    terms = Enclosure.exact(np.ravel(values)).square()
    return float((terms / np.broadcast_to(over, np.shape(values)).ravel()).sum().high)


def _least_eigenvalue(gram: np.ndarray, terms: int) -> float:
    """Return a proved lower bound on the least eigenvalue of a Gram matrix of unit columns.

    The sums of so many terms, the divisions, and Cholesky itself (Rump's constant) are all paid
    for by a shift in proportion to the trace, which is about the number of columns.
    """
    size = len(gram)
    rounding = 4.0 * (terms + 3 * size + 16) * _UNIT * max(size, float(np.trace(gram)))
    for share in (0.9, 1e-1, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10):
        try:
            np.linalg.cholesky(gram - (share + rounding) * np.eye(size))
        except np.linalg.LinAlgError:
            continue
        return share * (1.0 - 1e-6)
    return 0.0
