"""Bounds on the largest margin of any hyperplane, and Novikoff's on the perceptron's mistakes.

From below: the weights themselves, ``min_r w.z_r / |w|``. From above: multipliers a_r >= 0 that are
not all zero, since for every unit vector u

    min_r u.z_r  <=  sum a_r u.z_r / sum a_r  <=  |sum a_r z_r| / sum a_r .

Margins are in homogeneous coordinates. Novikoff (1962): if a unit vector u has ``u.z_r >= margin``
above 0 for every row and no row is longer than `radius`, single updates from the weights w_0 with a
fixed rate end after at most

    radius^2 / margin^2  +  2 |w_0| / (rate margin)

of them, since after T mistakes

    T rate margin - |w_0|  <=  |w_T|  <=  sqrt(|w_0|^2 + T rate^2 radius^2) .

All numbers are computed from the data, with rounding directed so that the bounds stay true.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.about_data import Written
from separatrix.certificates.canonical import Problem, codes_of, n_classes_of
from separatrix.certificates.enclosed_sums import blocks, products, row_sums
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.separation import Separation, check_separation, root_up, square_length

_ENTRIES_AT_A_TIME = 1 << 17


@dataclass(frozen=True)
class MarginBounds(Written):
    """The largest margin lies between `lower` and `upper`, both proved.

    `separation` says whether the weights separate; where they do not, `lower` is 0 or less, and
    `upper` still holds: no hyperplane has a larger margin.
    """

    kind = "margin-bounds"

    separation: Separation
    lower: float
    upper: float
    rows: tuple[int, ...]
    multipliers: tuple[float, ...]

    @property
    def holds(self) -> bool:
        """Whether the weights separate every row, exactly."""
        return self.separation.holds

    def check(self, X: Any, y: Any) -> bool:
        """Prove both bounds again from the data; other data are refused."""
        problem, w = self.separation.problem(X, y), np.array(self.separation.weights).ravel()
        if problem is None or w.size != problem.dimension:
            return False
        rows = self.rows
        if not (len(rows) == len(self.multipliers) == len(set(rows)) and min(rows, default=0) >= 0):
            return False
        alpha = np.zeros(problem.n_rows)
        alpha[list(rows)] = self.multipliers
        again = check_margin_bounds(problem, w, alpha, self.separation.classes)
        kept = again.holds or not self.separation.holds
        return kept and again.lower >= self.lower and again.upper <= self.upper

    @property
    def weights(self) -> tuple[tuple[float, ...], ...]:
        """The weights that separate: one list, or one a class."""
        return self.separation.weights

    def spoken_of(self) -> Separation:
        """Return what says of which data this is a claim."""
        return self.separation

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if self.holds:
            return (
                f"{self.separation}; the largest margin lies between {self.lower:.6g} and "
                f"{self.upper:.6g}"
            )
        return f"proved: no hyperplane has a margin above {self.upper:.6g}; {self.separation}"


def check_margin_bounds(
    problem: Problem, w: np.ndarray, alpha: np.ndarray, classes: tuple[str, ...] | None = None
) -> MarginBounds:
    """Compute both bounds from the data, rounding outwards."""
    alpha = np.asarray(alpha, dtype=np.float64)
    if not ((alpha >= 0.0).all() and np.isfinite(alpha).all() and alpha.any()):
        raise ValueError("multipliers must be finite, at least zero, and not all zero")
    separation = check_separation(problem, w, classes)
    rows = np.flatnonzero(alpha)
    return MarginBounds(
        separation=separation,
        lower=separation.margin if separation.holds else -radius_up(problem),
        upper=hull_point_length_up(problem, alpha),
        rows=tuple(rows.tolist()),
        multipliers=tuple(alpha[rows].tolist()),
    )


def radius_up(problem: Problem) -> float:
    """Return the length of the longest signed row, rounded up."""
    X, copies = problem.X, 1.0 if n_classes_of(problem) == 2 else 2.0
    largest = max(float(abs(X).max()), float(problem.fit_intercept))
    if largest == 0.0:
        return 0.0
    # Divided by a power of two, no square overflows, and those that vanish do not matter.
    exponent = math.frexp(largest)[1]
    bias = math.ldexp(float(problem.fit_intercept), -exponent)
    longest = 0.0
    for _, block in blocks(X, _ENTRIES_AT_A_TIME):
        if sp.issparse(block):
            squares = block.copy()
            squares.data = np.ldexp(block.data, -exponent) ** 2
        else:
            squares = np.ldexp(block, -exponent) ** 2
        found = products(squares, np.ones(X.shape[1]), rounded=3)
        longest = max(longest, float(found.high.max()))
    square = (Enclosure.exact(bias).square() + longest) * copies
    return float(square.root().scaled(exponent).high)


def hull_point_length_up(problem: Problem, alpha: np.ndarray) -> float:
    """Return |sum a z| / sum a, rounded up beyond every rounding error."""
    codes, K = codes_of(problem), n_classes_of(problem)
    if K == 2:
        shares = np.where(codes == 1, alpha, -alpha)[:, None]
    else:
        # A share in the own class is a sum of up to K multipliers, and rounded as often.
        step, shares = alpha.reshape(problem.n_samples, -1), np.zeros((problem.n_samples, K))
        others = np.arange(K)[None, :] != codes[:, None]
        shares[others], shares[~others] = -step.ravel(), step.sum(axis=1)
    total = row_sums(problem.X, shares, way="each", rounded=K).size().high.ravel()
    if problem.fit_intercept:
        ones = np.ones((problem.n_samples, 1))
        total = np.append(total, row_sums(ones, shares, way="each", rounded=K).size().high)
    if not np.isfinite(total).all():
        return math.inf
    mass = sum(map(Fraction, alpha[alpha > 0.0].tolist()), start=Fraction(0))
    return root_up(square_length(total) / mass**2)


@dataclass(frozen=True)
class Novikoff:
    """The mistakes made beside the bound on them."""

    mistakes: int
    radius: float
    margin: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the mistakes made are within the bound."""
        return self.mistakes <= self.bound

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if not math.isfinite(self.bound):
            return f"{self.mistakes} mistakes; no bound, since no margin is proved"
        return f"{self.mistakes} mistakes made; at most {math.floor(self.bound):,} were possible"


def check_novikoff(
    problem: Problem,
    separator: np.ndarray,
    mistakes: int,
    first: np.ndarray | None = None,
    rate: float = 1.0,
) -> Novikoff:
    """Bound the mistakes by the margin of any separator, e.g. Kozinec's, which is a wide one."""
    margin = check_separation(problem, separator).margin
    radius = radius_up(problem)
    bound = math.inf
    if margin > 0.0 and math.isfinite(radius):
        exact = (Fraction(radius) / Fraction(margin)) ** 2
        if first is not None and np.any(first):
            start = Fraction(root_up(square_length(np.asarray(first))))
            exact += 2 * start / (Fraction(rate) * Fraction(margin))
        bound = math.nextafter(float(exact), math.inf) if exact < 2**1000 else math.inf
    return Novikoff(mistakes, radius, margin, bound)
