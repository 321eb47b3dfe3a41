"""Novikoff's bound on the mistakes of the perceptron, beside those made.

Novikoff (1962): if a unit vector u has ``u.z_r >= margin`` above 0 for every row and no row is
longer than `radius`, the perceptron's single updates from the weights w_0 with a fixed rate end
after at most radius^2 / margin^2 + 2 |w_0| / (rate margin) of them, since after T mistakes

    T rate margin - |w_0|  <=  u.w_T  <=  |w_T|  <=  sqrt(|w_0|^2 + T rate^2 radius^2) .

The lectures write R for the radius and B = 1 / margin: at most (R B)^2 mistakes. The largest margin
gives the least bound. Where it is cheap it is found and proved; every face uses the same function.

How far from the optimum a stochastic gradient run stopped: a bound from below, and its proof.

The run's own multipliers (the mean slope of the loss at each row) bound the optimum from below, but
loosely where C is large. They are then improved by the solvers of the exact machines, for a hundred
passes at most: what those find serves as a bound and for nothing else.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.certificates.duality_gap import DualityGap, DualityGaps, ScaledGap
from separatrix.certificates.separation import (
    check_separation,
    margin_at_most,
    radius_up,
    root_up,
    square_length,
)
from separatrix.core.proving import About, proved_gap
from separatrix.problem.canonical import Problem
from separatrix.problem.equilibrate import divided_columns, divided_exactly
from separatrix.problem.fingerprint import fingerprint_of_rows
from separatrix.problem.losses import CODES, LOGISTIC
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear.choose import choose
from separatrix.solvers.linear.claims import balanced
from separatrix.solvers.linear.model_run import MachineRun

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
            return f"{self.mistakes} mistakes; no bound on them is proved"
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
            return f"{self.mistakes} mistakes; no bound on them is proved"
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
    """Bound the mistakes by a margin; inf where none is proved, or more updates were made.

    More updates than mistakes are possible: products vanished, and rows that were right were taken
    for mistakes.
    """
    radius = radius_up(problem)
    bound = math.inf
    if margin > 0.0 and math.isfinite(radius):
        exact = (Fraction(radius) / Fraction(margin)) ** 2
        if first is not None and np.any(first):
            start = Fraction(root_up(square_length(np.asarray(first))))
            exact += 2 * start / (Fraction(rate) * Fraction(margin))
        bound = math.nextafter(float(exact), math.inf) if exact < 2**1000 else math.inf
    return Novikoff(mistakes, radius, margin, bound if mistakes <= bound else math.inf)


def novikoff_proof(problem: Problem, visited: Any, rate: float = 1.0) -> NovikoffProof:
    """Work out both sequences of the proof for the weights that a run visited, from the first."""
    weights = np.atleast_2d(np.asarray(visited, dtype=np.float64))
    first, last = weights[0], weights[-1]
    u, bounds = widest(problem, last)
    mistakes = len(weights) - 1
    found = bounded(problem, bounds[0], mistakes, first, rate)
    unit, u = _unit(weights), u / _unit(u)
    scaled, size = weights / unit, float(np.linalg.norm(u))
    along = unit * (scaled @ u / size) if size > 0.0 else np.zeros(len(weights))
    length = unit * np.linalg.norm(scaled, axis=1)
    steps = np.arange(len(weights), dtype=np.float64)
    return NovikoffProof(
        R=found.radius,
        B=math.inf if bounds[0] <= 0.0 else 1.0 / bounds[0],
        margin_bounds=bounds,
        bound=found.bound,
        mistakes=mistakes,
        along=along,
        least=along[0] + steps * rate * bounds[0],
        length=length,
        most=np.hypot(length[0], np.sqrt(steps) * (rate * found.radius)),
    )


def _unit(values: np.ndarray) -> float:
    """Return a power of two next to the largest number: in this unit no square overflows."""
    return float(np.ldexp(0.5, np.frexp(np.abs(values).max(initial=0.0))[1]))


# ---- how far from the optimum a stochastic gradient run stopped: a bound from below, and its proof


_SMALL = 20_000  # entries: where the bound is made exact at next to no cost
_EXACT = 1e-9
_PASSES = 200.0  # at most, at each look


@dataclass
class Bounds:
    """The machines that a run approaches, and the best multipliers known for each."""

    problems: list[MachineProblem]
    exponents: np.ndarray
    codes: np.ndarray
    n_classes: int
    is_exact: bool = True  # whether the columns are divided without rounding
    alphas: list[np.ndarray] = field(default_factory=list)
    duals: list[float] = field(default_factory=list)
    is_tight: list[bool] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        X: Any,
        codes: np.ndarray,
        n_classes: int,
        costs: np.ndarray,
        loss: str,
        intercept: bool,
        exponents: np.ndarray,
    ) -> Bounds:
        """Pose the machines, one or one a class, on the divided columns."""
        is_exact = True
        if exponents.any():
            exact = divided_exactly(X, exponents)
            is_exact = exact is not None
            with np.errstate(over="ignore", under="ignore"):
                X = divided_columns(X, exponents) if exact is None else exact
        numbers = [1] if n_classes == 2 else range(n_classes)
        problems = [
            MachineProblem(
                SignedProblem(X, np.where(codes == k, 1.0, -1.0), intercept), costs, CODES[loss]
            )
            for k in numbers
        ]
        return cls(problems, exponents, codes, n_classes, is_exact)

    def raise_by(self, weights: np.ndarray, shares: np.ndarray, tol: float, seed: int) -> None:
        """Look for better multipliers, from those of the run, until they are good enough."""
        if not self.alphas:
            self.alphas = [np.zeros(len(self.codes)) for _ in self.problems]
            self.duals = [0.0 for _ in self.problems]
            self.is_tight = [False for _ in self.problems]
        for k, problem in enumerate(self.problems):
            self._offer(k, problem.costs * shares[k])
            if self.is_tight[k] or self._gap(k, weights[k]) <= tol:
                continue
            enough = _EXACT if problem.X.shape[0] * problem.X.shape[1] <= _SMALL else 0.2 * tol
            first = (weights[k] if problem.loss == LOGISTIC else None, self.alphas[k])
            run = MachineRun(
                problem, choose(problem), tol=enough, seed=seed, max_passes=_PASSES, first=first
            )
            self.is_tight[k] = run.go_on(enough).is_final
            self._offer(k, run.claims().alpha)

    def _offer(self, k: int, alpha: np.ndarray) -> None:
        problem = self.problems[k]
        alpha = np.minimum(np.maximum(alpha, 0.0), problem.upper)
        if problem.has_free_bias:
            alpha = balanced(alpha, problem.signs, problem.upper)
        dual = problem.dual(alpha)
        if dual > self.duals[k]:
            self.duals[k], self.alphas[k] = dual, alpha

    def divided(self, weights: np.ndarray) -> np.ndarray:
        """Return weights, [b, w_1 ... w_d] a machine, for the divided columns."""
        weights = weights.copy()
        weights[:, 1:] = np.ldexp(weights[:, 1:], self.exponents)
        return weights

    def gap(self, weights: np.ndarray) -> float:
        """Return the largest relative gap of any machine, in floating point."""
        return max(self._gap(k, w) for k, w in enumerate(weights))

    def _gap(self, k: int, w: np.ndarray) -> float:
        primal = self.problems[k].primal(w)
        return (primal - self.duals[k]) / primal if primal > 0.0 else 0.0

    def prove(
        self, weights: np.ndarray, tol: float, classes: tuple[str, ...]
    ) -> DualityGap | DualityGaps | ScaledGap:
        """Prove from the data how far these weights are from the best."""
        digest = fingerprint_of_rows(self.problems[0].X, self.codes, self.n_classes)
        numbers = range(len(self.problems)) if len(self.problems) > 1 else [1]
        abouts = [About.known(digest, classes, number) for number in numbers]
        each = zip(self.problems, weights, self.alphas, abouts, strict=True)
        proofs = tuple(proved_gap(*one, tol) for one in each)
        whole = proofs[0] if len(proofs) == 1 else DualityGaps(proofs)
        return ScaledGap(self.exponents, whole) if self.exponents.any() else whole
