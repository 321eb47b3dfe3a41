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

from separatrix._sparse import sparse as sp
from separatrix.certificates.canonical import named_rows
from separatrix.certificates.enclosed_sums import ROOM, products
from separatrix.certificates.enclosure import Enclosure, sum_of
from separatrix.certificates.json_form import named_json
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
    rows_sha256: str = ""  # of rows and classes alone, by which a file names them
    names: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether 1 + k J is within the tolerance of the largest there is."""
        above = self.squares.objective - self.squares.least
        return self.bound < math.inf and above <= self.squares.tolerance * self.squares.objective

    def check(self, X: Any, y: Any, sample_weight: Any = None) -> bool:
        """Prove the bound again from the data; other data are refused."""
        X, y, s = _rows(X, y, sample_weight)
        squares, targets = self.squares, _codes(y, s)
        if squares.ridge != 0.0 or not squares.intercept or squares.task != "regression":
            return False
        if len(self.weights) != X.shape[1] or not squares.check(X, targets, s):
            return False
        if (self.rows_sha256, self.names) not in (("", ()), named_rows(X, y, s)):
            return False
        ratio, bound = _ratios(squares.in_its_form(X), targets, s, np.array(self.weights), squares)
        return ratio >= self.ratio and bound <= self.bound

    def to_json(self) -> str:
        """Write the certificate in the format of docs/certificates.md."""
        claim = {"weights": self.weights, "ratio": self.ratio, "bound": self.bound}
        shape = self.squares.n_rows, self.squares.n_features
        return named_json("fisher", self, shape, claim)

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if self.bound == math.inf:
            return f"no bound was proved; the ratio of scatters is {self.ratio:.6g}"
        return (
            f"proved: the ratio of scatters is {self.ratio:.6g}, and no direction has more than "
            f"{self.bound:.6g}"
        )


def _rows(X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return rows, labels and weights; rows of weight 0 are not there."""
    X, y = as_matrix(X), np.asarray(y)
    s = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return (X, y, s) if (s > 0.0).all() else (X[s > 0.0], y[s > 0.0], s[s > 0.0])


def _codes(y: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return about -N/N_1 and N/N_2."""
    upper = y == np.unique(y)[-1]
    # Brought near 1 by a power of two, no sum leaves the range.
    near = np.ldexp(s, -int(np.frexp(s.max(initial=1.0))[1]))
    low, high = float(near[~upper].sum()), float(near[upper].sum())
    with np.errstate(all="ignore"):
        return np.where(upper, np.divide(low + high, high), -np.divide(low + high, low))


def check_fisher(
    X: Any, y: Any, w: np.ndarray, sample_weight: Any = None, tolerance: float = 1e-9
) -> FisherDirection:
    """Bound the ratio of w from below and that of every direction from above."""
    X, y, s = _rows(X, y, sample_weight)
    targets = _codes(y, s)
    # What overflows here is no proof, and comes out as a bound of inf.
    with np.errstate(all="ignore"):
        slope, b = _best_fit(X @ w, targets, s)
        fitted = slope * w
    squares = check_least_squares(
        X,
        targets,
        fitted[None],
        np.array([b]),
        sample_weight=s,
        task="regression",
        tolerance=tolerance,
    )
    ratios, named = _ratios(X, targets, s, w, squares, ROOM), named_rows(X, y, s)
    return FisherDirection(tuple(w.tolist()), *ratios, squares, *named)


def _ratios(
    X: Any,
    targets: np.ndarray,
    s: np.ndarray,
    w: np.ndarray,
    squares: LeastSquaresOptimality,
    room: float = 1.0,
) -> tuple[float, float]:
    """Return a bound below J(w), and one above the largest J, from bounds on the squared error.

    The weights that were fitted are a multiple c w, rounded: its residuals are off by what the rows
    make of that, less a mean, which the intercept takes up. A claim takes `room` times that.
    """
    masses = Enclosure.stacked([Enclosure.exact(s[targets == t]).sum() for t in np.unique(targets)])
    fitted, largest = np.array(squares.weights[0][1:]), int(np.argmax(abs(w)))
    with np.errstate(all="ignore"):
        moved = X if sp.issparse(X) else _centred(X)
        away = Enclosure.exact(fitted[largest] / w[largest]) * w - fitted
        off = sum_of(lambda r, c: r.square() * c, products(moved, away, rounded=1), s).root()
    error = (Enclosure.exact(squares.objective).root() + off * room).square()
    k = masses[0] / masses.sum() * masses[1]
    total = k * (Enclosure.exact(targets.max()) - targets.min()).square()
    ratio, bound = ((total / f - 1.0) / k for f in (error, Enclosure.exact(squares.least)))
    if room > 1.0 and ratio.is_finite and bound.is_finite:
        ratio, bound = (each + (each - each) for each in (ratio, bound))
    return max(0.0, float(ratio.low)), float(bound.high)


def _centred(X: np.ndarray) -> np.ndarray:
    """Return the rows less about their mean, each entry rounded once, in float64."""
    return np.subtract(X, X.mean(axis=0, dtype=np.float64), dtype=np.float64)


def _best_fit(scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return the best multiple and offset to within rounding: any will do for a bound."""
    shares = weights / weights.sum()
    moved = scores - shares @ scores
    size = float(np.abs(moved).max(initial=0.0))
    moved = moved / size if size > 0.0 else moved
    square = float(shares @ moved**2)
    slope = float(shares @ (moved * targets)) / square / size if square > 0.0 else 0.0
    return slope, -slope * float(shares @ scores)
