"""Exact proof that weights put every row strictly on its own side, and bounds on margins.

Enclosed margins settle all rows but the closest ones; those are settled by the exact integers of
`checker`. Nothing here knows how the weights were found. docs/certificates.md bounds the largest
margin of any hyperplane, in homogeneous coordinates, from both sides.

An upper bound on the margin of every hyperplane, from multipliers of few rows.

For any unit vector u and any b, with multipliers a_i >= 0,

    min_i y_i (u.x_i + b)  <=  sum_i a_i y_i (u.x_i + b) / sum_i a_i
                           <=  |sum_i a_i y_i x_i| / sum_i a_i ,

the second where sum_i a_i y_i = 0, or where there is no b. So with weights of sum 1 in each class,
half the distance of two points, one in each hull, bounds the margin. The sums are exact: each class
is divided by its own sum, in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np

from separatrix import checker
from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosed_sums import products, row_sums
from separatrix.certificates.enclosure import Enclosure, enclosed, rounded
from separatrix.certificates.two_bounds import AboutData, Written, are_rows
from separatrix.checker.exact import at_least, at_most, integer_vectors
from separatrix.problem.canonical import Problem, codes_of, n_classes_of, row_of
from separatrix.problem.device_rows import blocks, with_data
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.signed import SignedProblem

_SCORES_AT_A_TIME, _ENTRIES_AT_A_TIME = 1 << 20, 1 << 17
_MOST_NEAR = 256  # rows whose margins rounding cannot tell from the least
_FINE = 2**1074  # of which every float is a whole fraction


@dataclass(frozen=True, kw_only=True)
class Separation(Written, AboutData):
    """Whether the weights separate, proved row by row in exact arithmetic.

    `worst_row` is the sample of least computed margin, `worst_margin` its margin ``w.z``, exactly.
    `margin` is a proved lower bound on the distance to the hyperplane in homogeneous coordinates,
    ``min w.z / |w|`` (0 if the weights do not separate).
    """

    kind = "separation"

    holds: bool = True
    worst_row: int | None = None  # no file holds it
    worst_margin: Fraction = Fraction(0)
    margin: float = 0.0
    weights: tuple[tuple[float, ...], ...]

    def check(self, X: Any, y: Any) -> bool:
        """Prove the claim again from the data, whatever `holds` says; other data are refused."""
        problem = self.problem(X, y)
        if problem is None or not self.fits(problem):
            return False
        again = check_separation(problem, np.array(self.weights).ravel(), self.classes)
        return again.holds and self.agrees(problem, again)

    def agrees(self, problem: Problem, again: Separation) -> bool:
        """Whether the closest row and the margin are right; another order of sums may differ."""
        codes, weights = codes_of(problem), np.array(self.weights)
        vectors, row, stated = integer_vectors(weights.tolist()), self.worst_row, self.worst_margin
        if type(stated) is not Fraction or (row is None and stated != 0):
            return False
        if row is not None and (row, stated) != (again.worst_row, again.worst_margin):
            if type(row) is not int or not 0 <= row < self.n_rows:
                return False
            if exact_margin(problem, vectors, codes, row) != stated:
                return False
            if stated > 0 and not (self.holds and stated == least_margin(problem, weights)):
                return False
        if 0.0 <= self.margin <= again.margin:
            return True
        least = least_margin(problem, weights)
        return least > 0 and 0.0 <= self.margin <= divide_down(least, weights)

    def fits(self, problem: Problem) -> bool:
        """Whether the weights are those of such a problem: one list, or one a class."""
        lengths = [len(each) for each in self.weights]
        floats = are_all(float, [self.margin, *chain.from_iterable(self.weights)])
        return floats and lengths == [1 + self.n_features] * n_vectors(problem)

    def _sentence(self) -> str:
        if self.holds:
            closest = "" if self.worst_row is None else f"; closest is row {self.worst_row}"
            return f"proved: all {self.n_rows} rows lie strictly on their own side (exact{closest})"
        return (
            f"refuted: row {self.worst_row} is not on its own side, its exact signed margin being "
            f"at most {at_most(self.worst_margin, 6)}"
        )


def are_all(kind: type, values: Iterable[Any]) -> bool:
    """Whether all values are of this very type.

    Beside a shorter float NumPy rounds what was proved before it compares; others are rounded when
    they go into an array.
    """
    return all(type(value) is kind for value in values)


def n_vectors(problem: Problem) -> int:
    """Return how many weight vectors there are: one for two classes, otherwise one a class."""
    return 1 if n_classes_of(problem) == 2 else n_classes_of(problem)


def check_separation(
    problem: Problem, w: np.ndarray, classes: tuple[str, ...] | None = None
) -> Separation:
    """Prove or refute that w separates; w holds intercept first, classes one after another."""
    weights = np.asarray(w, dtype=np.float64).reshape(n_vectors(problem), -1)
    least, worst, exact_worst = closest(problem, weights)
    if classes is None:
        classes = tuple(str(code) for code in range(n_classes_of(problem)))
    holds = bool(least > 0)
    return Separation(
        holds=holds,
        worst_row=worst,
        worst_margin=exact_worst,
        margin=divide_down(least, weights) if holds else 0.0,
        weights=tuple(tuple(row) for row in weights.tolist()),
        intercept=problem.fit_intercept,
        data_sha256=fingerprint(problem),
        n_rows=problem.n_samples,
        n_features=problem.X.shape[1],
        classes=classes,
    )


def misplaced(problem: Problem, w: np.ndarray) -> int:
    """Count the samples that are not strictly on their own side, in exact arithmetic."""
    weights = np.asarray(w, dtype=np.float64).reshape(n_vectors(problem), -1)
    margins, vectors = enclosed_margins(problem, weights), integer_vectors(weights.tolist())
    count, codes = int((margins.high <= 0.0).sum()), codes_of(problem)
    for number in np.flatnonzero((margins.low <= 0.0) & (margins.high > 0.0)).tolist():
        count += exact_margin(problem, vectors, codes, number) <= 0
    return count


def closest(problem: Problem, weights: np.ndarray) -> tuple[Fraction, int, Fraction]:
    """Return `margin_range`, and the exact margin of the closest sample."""
    least, worst = margin_range(problem, weights)
    vectors = integer_vectors(weights.tolist())
    return least, worst, exact_margin(problem, vectors, codes_of(problem), worst)


def margin_range(problem: Problem, weights: np.ndarray) -> tuple[Fraction, int]:
    """Return a lower bound on the least margin, proved and of its sign, and the closest sample.

    Where some margin is not positive the bound is that sample's exact margin.
    """
    if not np.isfinite(weights).all():
        raise checker.Refused("the weights must be finite numbers")
    margins = enclosed_margins(problem, weights)
    vectors, codes = integer_vectors(weights.tolist()), codes_of(problem)
    settled, about = margins.low > 0.0, margins.middle
    worst = int(np.argmin(np.where(np.isnan(about), np.inf, about)))
    if about[worst] < 0.0:
        # The worst of all is nearly always wrong for certain; then no other need be looked at.
        exact = exact_margin(problem, vectors, codes, worst)
        if exact <= 0:
            return exact, worst
    bound = Fraction(float(margins.low[settled].min())) if settled.any() else None
    for number in np.flatnonzero(~settled).tolist():
        exact = exact_margin(problem, vectors, codes, number)
        if bound is None or exact < bound:
            bound, worst = exact, number
    assert bound is not None, "a problem has at least one row"
    if bound > 0:
        near = np.flatnonzero(margins.low <= margins.high.min())[:_MOST_NEAR].tolist()
        worst = min(near, key=lambda number: exact_margin(problem, vectors, codes, number))
    return bound, worst


def least_margin(problem: Problem, weights: np.ndarray) -> Fraction:
    """Return the least margin of any sample, without rounding."""
    margins = enclosed_margins(problem, weights)
    vectors, codes = integer_vectors(weights.tolist()), codes_of(problem)
    near = np.flatnonzero(margins.low <= margins.high.min()).tolist()
    return min(exact_margin(problem, vectors, codes, number) for number in near)


def enclosed_margins(problem: Problem, weights: Any) -> Enclosure:
    """Enclose each sample's least margin, for weights [b, w_1 ... w_d] by class, or enclosed ones.

    What their bounds leave open is a doubt, and overflow too; neither is ever a proof.
    """
    X, codes = problem.X, codes_of(problem)
    bias = weights[:, 0] if problem.fit_intercept else Enclosure.exact(np.zeros(weights.shape[0]))
    turned = enclosed(weights[:, 1:]).T
    if weights.shape[0] == 1:
        return (products(X, turned)[:, 0] + bias).times_sign(np.where(codes == 1, 1.0, -1.0))
    step = max(1, _SCORES_AT_A_TIME // weights.shape[0])
    found = [
        _over_rivals(products(X[begin : begin + step], turned, way="each") + bias,
                     codes[begin : begin + step])
        for begin in range(0, problem.n_samples, step)
    ]  # fmt: skip
    return Enclosure.joined(found)


def _over_rivals(scores: Enclosure, own: np.ndarray) -> Enclosure:
    """Enclose by how much each sample's class beats its best rival."""
    at = np.arange(len(own)), own
    over = scores[at][:, None] - scores
    for end in (over.low, over.high):
        end[at] = np.inf
    return -(-over).column_max()


def exact_margin(
    problem: Problem, vectors: tuple[list[list[int]], int], codes: np.ndarray, number: int
) -> Fraction:
    """Return a sample's least signed margin without rounding, for weights as `integer_vectors`."""
    (weights, exponent), code, X = vectors, int(codes[number]), problem.X
    one = checker.Data([row_of(X, number)], [code], X.shape[1], n_classes_of(problem))
    least = min(checker.margins(one, weights, problem.fit_intercept))
    return least * Fraction(2) ** (exponent + one.exponent)


def divide_down(least: Fraction, weights: np.ndarray) -> float:
    """Return least / |w|, rounded down."""
    return root_down(least * least / square_length(weights))


def square_length(values: np.ndarray) -> Fraction:
    """Return the sum of squares without rounding."""
    numbers, exponent = checker.integers(values.ravel().tolist())
    return sum(number * number for number in numbers) * Fraction(4) ** exponent


def root_down(value: Fraction) -> float:
    """Return the largest float whose square is at most the value.

    >>> root_down(Fraction(1, 4)), root_down(Fraction(2)) < 2**0.5 <= root_up(Fraction(2))
    (0.5, True)
    """
    return rounded(Fraction(math.isqrt(math.floor(value * _FINE**2)), _FINE))[0]


def root_up(value: Fraction) -> float:
    """Return the smallest float whose square is at least the value."""
    below = math.isqrt(math.ceil(value * _FINE**2) - 1) if value else -1
    return rounded(Fraction(below + 1, _FINE))[1]


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
        problem = self.separation.problem(X, y)
        if problem is None or not self.separation.fits(problem):
            return False
        if not are_rows(self.rows, self.multipliers, problem.n_rows):
            return False
        if not are_all(float, [self.lower, self.upper, *self.multipliers]):
            return False
        w = np.array(self.separation.weights)
        if not w[:, int(not problem.fit_intercept) :].any():
            return False  # zero weights have no margin
        w = w.ravel()
        alpha = np.zeros(problem.n_rows)
        alpha[list(self.rows)] = self.multipliers
        again = check_margin_bounds(problem, w, alpha, self.separation.classes)
        kept = again.holds is self.separation.holds
        kept = kept and self.separation.agrees(problem, again.separation)
        return kept and again.lower >= self.lower and again.upper <= self.upper

    @property
    def weights(self) -> tuple[tuple[float, ...], ...]:
        """The weights that separate: one list, or one a class."""
        return self.separation.weights

    def spoken_of(self) -> Separation:
        """Return what says of which data this is a claim."""
        return self.separation

    def _sentence(self) -> str:
        upper = at_most(self.upper, 6)
        if self.holds:
            between = f"between {at_least(self.lower, 6)} and {upper}"
            return f"{self.separation.in_words()}; the largest margin lies {between}"
        return f"proved: no hyperplane has a margin above {upper}; {self.separation.in_words()}"


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
        near = np.ldexp(block.data if sp.issparse(block) else block, -exponent)
        squares = with_data(block, near**2) if sp.issparse(block) else near**2
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


# ---- an upper bound on the margin of every hyperplane, from multipliers of few rows


def margin_at_most(problem: SignedProblem, rows: Any, multipliers: Any) -> float | None:
    """Return a bound on the largest margin, rounded up; None where the multipliers prove nothing.

    >>> problem = SignedProblem(np.array([[0.0, 5.0], [3.0, 5.0]]), np.array([-1.0, 1.0]))
    >>> margin_at_most(problem, [0, 1], [1.0, 1.0])
    1.5
    """
    chosen = np.asarray(rows, dtype=np.int64)
    weights = np.asarray(multipliers, dtype=np.float64)
    if chosen.shape != weights.shape or not (np.isfinite(weights) & (weights >= 0.0)).all():
        return None
    if chosen.size == 0 or chosen.min() < 0 or chosen.max() >= problem.n_samples:
        return None
    part = problem.X[chosen]
    part = part if isinstance(part, np.ndarray) else part.toarray()
    signs = problem.signs[chosen]
    groups = [signs > 0.0, signs < 0.0] if problem.fit_intercept else [np.ones_like(signs) > 0.0]
    total = [Fraction(0)] * part.shape[1]
    for group in groups:
        share = [Fraction(a) for a in weights[group].tolist()]
        whole = sum(share, Fraction(0))
        if whole == 0:
            return None
        for a, x, sign in zip(share, part[group].tolist(), signs[group].tolist(), strict=True):
            step = a / whole * int(sign)
            total = [t + step * Fraction(v) if v else t for t, v in zip(total, x, strict=True)]
    return root_up(sum((t * t for t in total), Fraction(0)) / len(groups) ** 2)
