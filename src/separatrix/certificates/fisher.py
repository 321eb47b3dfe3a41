"""How near a direction is to Fisher's: no direction has a larger ratio J by more than is stated.

    J(w) = (w.(m_2 - m_1))^2 / (w' S_W w)

Fit two codes of the classes, t_1 and t_2, by c w.x + b, choosing c and b best. The squared error of
the best fit along w is

    f(w) = k (t_2 - t_1)^2 / (1 + k J(w)),    k = N_1 N_2 / N,

so the largest J belongs to the least squares: 1 + k J_max = k (t_2 - t_1)^2 / min f. Any codes will
do; they are about -N/N_1 and N/N_2. Bounds on f and on min f are those of
`certificates.least_squares`, from the data and with rounding bounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.least_squares import LeastSquaresOptimality, check_least_squares
from separatrix.problem.signed import as_matrix

__all__ = ["FisherDirection", "check_fisher"]


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


def _codes(y: Any, weights: np.ndarray) -> tuple[np.ndarray, Enclosure]:
    """Return about the targets -N/N_1 and N/N_2, and the two masses, enclosed."""
    y = np.asarray(y)
    upper = y == np.unique(y[weights > 0.0])[-1]
    # Brought near 1 by a power of two, no sum leaves the range.
    near = np.ldexp(weights, -int(np.frexp(weights.max())[1]))
    low, high = float(near[~upper].sum()), float(near[upper].sum())
    masses = [Enclosure.exact(weights[rows]).sum() for rows in (~upper, upper)]
    return np.where(upper, (low + high) / high, -(low + high) / low), Enclosure.stacked(masses)


def check_fisher(
    X: Any, y: Any, w: np.ndarray, sample_weight: Any = None, tolerance: float = 1e-9
) -> FisherDirection:
    """Bound the ratio of w from below and that of every direction from above."""
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    # What overflows here is no proof, and comes out as a bound of inf.
    with np.errstate(all="ignore"):
        targets, masses = _codes(y, weights)
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
    k = masses[0] / masses.sum() * masses[1]
    total = k * (Enclosure.exact(targets.max()) - targets.min()).square()
    ratio, bound = ((total / f - 1.0) / k for f in (squares.objective, squares.least))
    return FisherDirection(
        tuple(w.tolist()), max(0.0, float(ratio.low)), float(bound.high), squares
    )


def _best_fit(scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return the best multiple and offset to within rounding: any will do for a bound."""
    shares = weights / weights.sum()
    moved = scores - shares @ scores
    size = float(np.abs(moved).max(initial=0.0))
    moved = moved / size if size > 0.0 else moved
    square = float(shares @ moved**2)
    slope = float(shares @ (moved * targets)) / square / size if square > 0.0 else 0.0
    return slope, -slope * float(shares @ scores)
