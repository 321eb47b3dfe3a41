"""Novikoff's bound on the mistakes of the perceptron, beside those made.

Novikoff (1962): if a unit vector u has ``u.z_r >= margin`` above 0 for every row and no row is
longer than `radius`, the perceptron's single updates from the weights w_0 with a fixed rate end
after at most radius^2 / margin^2 + 2 |w_0| / (rate margin) of them, since after T mistakes

    T rate margin - |w_0|  <=  u.w_T  <=  |w_T|  <=  sqrt(|w_0|^2 + T rate^2 radius^2) .

The lectures write R for the radius and B = 1 / margin: at most (R B)^2 mistakes. The largest margin
gives the least bound. Where it is cheap it is found and proved; every face uses the same function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.certificates.largest_margin import margin_at_most
from separatrix.certificates.separation import check_separation, radius_up, root_up, square_length
from separatrix.problem.canonical import Problem
from separatrix.problem.signed import SignedProblem

_CHEAP = 20_000  # entries of the rows
_LEAST_SHARE = 1e-9
_ROOM = 1e-8  # so that a margin found on another processor proves the same bound


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
        if not math.isfinite(self.bound):
            return f"{self.mistakes} mistakes; no bound, since no margin is proved"
        return f"{self.mistakes} mistakes made; at most {math.floor(self.bound):,} were possible"


@dataclass(frozen=True, eq=False)
class NovikoffProof:
    """Both halves of Novikoff's proof, update by update.

    Attributes
    ----------
    R : float
        The length of the longest row ``[1, x]``, rounded up.
    B : float
        1 / margin, where the margin is the largest one that is proved; inf where none is.
    margin_bounds : pair of floats
        The largest margin of any w through the origin of [1, x] lies between these.
    bound : float
        (R B)^2, and 2 |w_0| B / rate more where the run does not begin at 0.
    mistakes : int
        The updates of the run.
    along : array
        u.w_t after t updates, u the unit vector of the margin; it grows by rate / B each time.
    least : array
        What the first half proves: ``along[t] >= least[t]``.
    length : array
        |w_t|, at least ``along[t]``.
    most : array
        What the second half proves: ``length[t] <= most[t]``.
    """

    R: float
    B: float
    margin_bounds: tuple[float, float]
    bound: float
    mistakes: int
    along: np.ndarray
    least: np.ndarray
    length: np.ndarray
    most: np.ndarray

    def __str__(self) -> str:
        if not math.isfinite(self.bound):
            return f"{self.mistakes} mistakes; no bound, since no margin is proved"
        return (
            f"R = {self.R:.6g}, B = {self.B:.6g}: at most {math.floor(self.bound):,} mistakes; "
            f"{self.mistakes} were made"
        )


def mistake_bound(
    problem: Problem,
    separator: np.ndarray,
    mistakes: int,
    first: np.ndarray | None = None,
    rate: float = 1.0,
) -> Novikoff:
    """Bound the mistakes by the largest margin, where that is cheap, or by that of `separator`."""
    margin = check_separation(problem, separator).margin
    if margin > 0.0:
        _, (wide, _) = widest(problem, separator)
        margin = max(margin, wide * (1.0 - _ROOM))
    return bounded(problem, margin, mistakes, first, rate)


def widest(problem: Problem, separator: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """Return the weights of the largest margin found, and bounds on the largest there is."""
    w = np.asarray(separator, dtype=np.float64)
    low = max(0.0, check_separation(problem, w).margin)
    if not isinstance(problem, SignedProblem) or problem.n_samples * problem.dimension > _CHEAP:
        return w, (low, math.inf)
    from separatrix.problem.exact import SignedRows
    from separatrix.solvers.separability.decide import larger_margin

    X = problem.X if isinstance(problem.X, np.ndarray) else problem.X.toarray()
    ones = np.full((len(X), 1), float(problem.fit_intercept))
    whole = SignedProblem(np.hstack([ones, X]), problem.signs, False)
    found, slack = larger_margin(SignedRows(whole.X, whole.signs, False), w)
    if np.isfinite(found).all():
        margin = check_separation(problem, found).margin
        w, low = (found, margin) if margin > low else (w, low)
    chosen = np.flatnonzero(slack > _LEAST_SHARE * slack.max(initial=0.0))
    high = margin_at_most(whole, chosen, slack[chosen])
    return w, (low, math.inf if high is None else high)


def bounded(
    problem: Problem, margin: float, mistakes: int, first: np.ndarray | None, rate: float
) -> Novikoff:
    """Bound the mistakes by a margin."""
    radius = radius_up(problem)
    bound = math.inf
    if margin > 0.0 and math.isfinite(radius):
        exact = (Fraction(radius) / Fraction(margin)) ** 2
        if first is not None and np.any(first):
            start = Fraction(root_up(square_length(np.asarray(first))))
            exact += 2 * start / (Fraction(rate) * Fraction(margin))
        bound = math.nextafter(float(exact), math.inf) if exact < 2**1000 else math.inf
    return Novikoff(mistakes, radius, margin, bound)


def novikoff_proof(problem: Problem, visited: Any, rate: float = 1.0) -> NovikoffProof:
    """Work out both sequences of the proof for the weights that a run visited, from the first."""
    weights = np.atleast_2d(np.asarray(visited, dtype=np.float64))
    first, last = weights[0], weights[-1]
    u, bounds = widest(problem, last)
    mistakes = len(weights) - 1
    found = bounded(problem, bounds[0], mistakes, first, rate)
    size = float(np.linalg.norm(u))
    along = weights @ u / size if size > 0.0 else np.zeros(len(weights))
    steps = np.arange(len(weights), dtype=np.float64)
    start = float(np.linalg.norm(first))
    return NovikoffProof(
        R=found.radius,
        B=math.inf if bounds[0] <= 0.0 else 1.0 / bounds[0],
        margin_bounds=bounds,
        bound=found.bound,
        mistakes=mistakes,
        along=along,
        least=along[0] + steps * rate * bounds[0],
        length=np.linalg.norm(weights, axis=1),
        most=np.sqrt(start**2 + steps * (rate * found.radius) ** 2),
    )
