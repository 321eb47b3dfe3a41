"""How far weights that may not be negative can be from their least-squares optimum.

    f(W, b) = sum_i s_i |W x_i + b - t_i|^2 + ridge |W|^2,      W >= 0

With g half the gradient at W, and any V >= 0 in place of it, d = V - W,

    f(V) = f(W) + 2 g.d + |A d|^2

Where a weight is 0, d is not negative there, so that a positive g only adds: it may be taken as 0.
With this g the bounds are those of `least_squares`: f - min f <= sum_j (g_j / |A_j|)^2 / c, with c
a proved lower bound on the least eigenvalue of A'A with unit columns, or by the ridge alone.

Where the residual r is small against the targets t, the weights are instead the exact solution for
targets changed by |r| / |t|: those that they fit without error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosed_sums import ROOM, row_sums
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.least_squares import SquaresBounds, given_squares, in_form
from separatrix.problem.canonical import sha256_of_squares
from separatrix.problem.equilibrate import column_exponents, divided_exactly

__all__ = ["NonNegativeOptimality", "check_nonnegative_squares"]


@dataclass(frozen=True)
class NonNegativeOptimality:
    """Weights, none below 0, and how far from the best of such weights they can be at the most.

    `objective` is rounded up, `least` is below every objective there is, and `gap` is their
    difference as a share of the objective (1 says nothing). `perturbation`: they are the exact
    solution for targets that differ by no more than this share.
    """

    weights: tuple[tuple[float, ...], ...]
    ridge: float
    intercept: bool
    task: str
    objective: float
    least: float
    gap: float
    perturbation: float
    tolerance: float
    dense: bool
    data_sha256: str
    n_rows: int
    n_features: int

    @property
    def holds(self) -> bool:
        """Whether either bound is within the tolerance."""
        return min(self.gap, self.perturbation) <= self.tolerance

    def check(self, X: Any, y: Any, sample_weight: Any = None) -> bool:
        """Prove the claim again from the data; other data are refused."""
        X, _, T, s = given_squares(in_form(X, self.dense), y, sample_weight, self.task)
        W = np.array(self.weights)
        fits = (self.n_rows, self.n_features) == X.shape and W.shape == (T.shape[1], X.shape[1] + 1)
        if not fits or sha256_of_squares(X, T, s) != self.data_sha256:
            return False
        objective, least, gap, perturbation = _prove(X, T, s, W, self.ridge, self.intercept)
        return bool(
            objective <= self.objective
            and least >= self.least
            and gap <= self.gap
            and perturbation <= self.perturbation
        )

    def __str__(self) -> str:
        said = f"the squared error is within {self.gap:.1e} of the least of weights not below 0"
        if self.perturbation < self.gap:
            said = f"the exact solution for targets that differ by at most {self.perturbation:.1e}"
        return f"proved: {said}" if self.holds else f"not to the tolerance, but proved: {said}"


def check_nonnegative_squares(
    X: Any,
    y: Any,
    coef: np.ndarray,
    intercept: np.ndarray,
    *,
    sample_weight: Any = None,
    ridge: float = 0.0,
    fit_intercept: bool = True,
    task: str = "classification",
    tolerance: float = 1e-9,
) -> NonNegativeOptimality:
    """Compute the bounds from the data, rounding outwards."""
    X, y, T, s = given_squares(X, y, sample_weight, task)
    W = np.column_stack([intercept, coef])
    objective, least, gap, perturbation = _prove(X, T, s, W, ridge, fit_intercept, ROOM)
    return NonNegativeOptimality(
        weights=tuple(tuple(row) for row in W.tolist()),
        ridge=float(ridge),
        intercept=fit_intercept,
        task=task,
        objective=objective,
        least=least,
        gap=gap,
        perturbation=perturbation,
        tolerance=float(tolerance),
        dense=not sp.issparse(X),
        data_sha256=sha256_of_squares(X, T, s),
        n_rows=len(T),
        n_features=int(X.shape[1]),
    )


def _prove(
    X: Any,
    T: np.ndarray,
    s: np.ndarray,
    W: np.ndarray,
    ridge: float,
    intercept: bool,
    room: float = 1.0,
) -> tuple[float, float, float, float]:
    """Return f rounded up, a bound below its minimum over W >= 0, the gap and the perturbation."""
    with np.errstate(all="ignore"):
        power = int(np.frexp(s.max(initial=1.0))[1])
        scaled, penalty = np.ldexp(s, -power), math.ldexp(float(ridge), -power)
        exponents = column_exponents(X)
        divided = divided_exactly(X, exponents)
        exact = (np.ldexp(scaled, power) == s).all() and math.ldexp(penalty, power) == ridge
        if not exact or divided is None or not (W[:, 1:] >= 0.0).all():
            return math.inf, 0.0, 1.0, math.inf
        bounds = _Bounds(divided, exponents, T, scaled, W, penalty, intercept)
        squares, least, gap, perturbation = bounds.squares.sum(), math.nan, 1.0, math.inf
        if room > 1.0 and squares.is_finite:
            squares = squares + (squares - squares)
        if not bounds.is_hidden:
            excess = float((Enclosure.exact(bounds.excess()) * room).high)
            least = float((squares - excess).scaled(power).low)
            gap = float((Enclosure.exact(excess) / squares).high)
            shares = (bounds.squares.root() / bounds.spread_of_targets()) * room
            perturbation = float(shares.high.max(initial=0.0))
    # A comparison with NaN is false: what overflowed is no proof.
    least = least if least >= 0.0 else 0.0
    gap = gap if 0.0 <= gap < 1.0 else 1.0
    perturbation = perturbation if 0.0 <= perturbation < math.inf else math.inf
    return float(squares.scaled(power).high), least, gap, perturbation


class _Bounds(SquaresBounds):
    """The bounds of least squares, with the gradients that only add at weights of 0 left out."""

    def _one_sided(self, gradient: Enclosure) -> Enclosure:
        """Return the gradient, where a weight is 0 and the slope above it as 0; intercept apart."""
        features = len(self.w.low) - self.intercept
        zero = (self.w.low == 0.0) & (self.w.high == 0.0)
        zero[features:] = False
        zero = zero[: len(gradient.low)]
        low = np.where(zero, np.minimum(gradient.low, 0.0), gradient.low)
        high = np.where(zero, np.minimum(gradient.high, 0.0), gradient.high)
        return Enclosure(low, high)

    def excess(self) -> float:
        """Bound f - min f by the ridge, or by the least eigenvalue."""
        by_ridge = self._excess_by_ridge()
        whole, self.gradient = self.gradient, self._one_sided(self.gradient)
        by_columns = self._excess_by_columns() if self.is_small else math.inf
        self.gradient = whole
        return min(by_ridge, by_columns) if by_columns >= 0.0 else by_ridge

    def _excess_by_ridge(self) -> float:
        if not self.ridge > 0.0:
            return math.inf
        if not self.intercept:
            one_sided = self._one_sided(self.gradient)
            return float((one_sided.square() / self.penalty[:, None]).sum().high)
        columns, own = self.gradient[:-1], self.gradient[-1:]
        mass = Enclosure.exact(self.s).sum()
        mean = row_sums(self.A, self.s, rounded=1)[:-1, None] / mass
        moved = self._one_sided(columns - mean * own).square() / self.penalty[:-1, None]
        return float((moved.sum() + (own.square() / mass).sum()).high)
