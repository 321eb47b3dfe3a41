"""How near a direction is to Fisher's: no direction has a larger ratio J by more than is stated.

    J(w) = (w.(m_2 - m_1))^2 / (w' S_W w)

Fit t = -N/N_1 and N/N_2 (the classes' codes) by c w.x + b, choosing c and b best. The squared error
of the best fit along w is

    f(w) = (N^2 / k) / (1 + k J(w)),    k = N_1 N_2 / N,

so the largest J belongs to the least squares: 1 + k J_max = (N^2 / k) / min f. Bounds on f and on
min f are those of `certificates.least_squares`, from the data and with rounding bounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.certificates.enclosure import rounded
from separatrix.certificates.least_squares import LeastSquaresOptimality, check_least_squares
from separatrix.problem.signed import as_matrix

__all__ = ["FisherDirection", "check_fisher"]

_ROUNDING = 2.0**-49


@dataclass(frozen=True)
class FisherDirection:
    """The direction `weights`, its ratio J at least, and a bound no direction exceeds."""

    weights: tuple[float, ...]
    ratio: float
    bound: float
    squares: LeastSquaresOptimality

    @property
    def holds(self) -> bool:
        """Whether 1 + k J is within the tolerance of the largest there is."""
        above = self.squares.objective - self.squares.least
        return self.bound < math.inf and above <= self.squares.tolerance * self.squares.objective

    def check(self, X: Any, y: Any, sample_weight: Any = None) -> bool:
        """Prove the bound again from the data; other data are refused."""
        again = check_fisher(
            self.squares.in_its_form(X),
            y,
            np.array(self.weights),
            sample_weight,
            self.squares.tolerance,
        )
        return (
            _are_of_one_fit(again.squares, self.squares)
            and again.ratio >= self.ratio
            and again.bound <= self.bound
        )

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if self.bound == math.inf:
            return f"no bound was proved; the ratio of scatters is {self.ratio:.6g}"
        return (
            f"proved: the ratio of scatters is {self.ratio:.6g}, and no direction has more than "
            f"{self.bound:.6g}"
        )


def _are_of_one_fit(again: LeastSquaresOptimality, claimed: LeastSquaresOptimality) -> bool:
    """Whether a claim is the one found again, with bounds that are no narrower.

    `holds` rests on these bounds, so each of them is compared.
    """
    exact = (
        "weights",
        "ridge",
        "intercept",
        "task",
        "dense",
        "data_sha256",
        "n_rows",
        "n_features",
    )
    return (
        all(getattr(again, name) == getattr(claimed, name) for name in exact)
        and again.objective <= claimed.objective
        and again.least >= claimed.least
        and again.perturbation <= claimed.perturbation
        and again.gap <= claimed.gap
    )


def _codes(y: Any, sample_weight: Any) -> tuple[np.ndarray, tuple[Fraction, Fraction]]:
    """Return the targets -N/N_1 and N/N_2, and the two masses, each rounded once."""
    y = np.asarray(y)
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    classes = np.unique(y[weights > 0.0])
    upper = y == classes[-1]
    # Brought near 1 by a power of two, neither sums nor their product leave the range.
    power = int(np.frexp(weights.max())[1])
    near = np.ldexp(weights, -power)
    low, high = (Fraction(math.fsum(near[rows])) * Fraction(2) ** power for rows in (~upper, upper))
    ends = rounded(-(low + high) / low)[0], rounded((low + high) / high)[1]
    return np.where(upper, ends[1], ends[0]), (low, high)


def check_fisher(
    X: Any, y: Any, w: np.ndarray, sample_weight: Any = None, tolerance: float = 1e-9
) -> FisherDirection:
    """Bound the ratio of w from below and that of every direction from above."""
    targets, (low, high) = _codes(y, sample_weight)
    weights = np.ones(len(targets)) if sample_weight is None else np.asarray(sample_weight)
    # What overflows here is no proof, and comes out as a bound of inf.
    with np.errstate(all="ignore"):
        slope, b = _best_fit(as_matrix(X) @ w, targets, weights)
        fitted = slope * w
    squares = check_least_squares(
        X,
        targets,
        fitted[None],
        np.array([b]),
        sample_weight=sample_weight,
        task="regression",
        tolerance=tolerance,
    )
    k = low * high / (low + high)
    total = (low + high) ** 2 / k
    ratio, bound = 0.0, math.inf
    if 0.0 < squares.objective < math.inf:
        ratio = _bound(total, k, squares.objective, -1)[0]
    if squares.least > 0.0:
        bound = _bound(total, k, squares.least, 2)[1]
    return FisherDirection(tuple(w.tolist()), max(0.0, ratio), bound, squares)


def _bound(total: Fraction, k: Fraction, error: float, sign: int) -> tuple[float, float]:
    """Return the ratio J that belongs to a squared error, from below and from above.

    The targets are rounded: by one unit of |t|, which is root (1 + k J) of the residual.
    """
    share = total / Fraction(error)
    slack = _ROUNDING * max(1.0, math.sqrt(rounded(share)[1]))
    if not slack < 0.5:
        return 0.0, math.inf
    return rounded((share * (1 + sign * Fraction(slack)) - 1) / k)


def _best_fit(scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return the best multiple and offset to within rounding: any will do for a bound."""
    shares = weights / weights.sum()
    moved = scores - shares @ scores
    size = float(np.abs(moved).max(initial=0.0))
    moved = moved / size if size > 0.0 else moved
    square = float(shares @ moved**2)
    slope = float(shares @ (moved * targets)) / square / size if square > 0.0 else 0.0
    return slope, -slope * float(shares @ scores)
