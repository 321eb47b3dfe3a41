"""From the rows as given to the points that the search for fewest errors works on, and back.

    find  w  with  w.z_i > 0  for all rows of a cell, in float64 if possible, otherwise in integers

Points on a line as decimals are a hair off it as stored floats, and a hyperplane may have to pass
between them. Exact arithmetic finds it. Rounding moves it by about as much as the cell is wide, but
along its ray every length rounds differently, and one in some dozens stays within.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.certificates.errors import Leaf, LowerBound, Split, Tree, cheapest_sides, errors_of
from separatrix.core.separability import as_integers
from separatrix.core.verdict import verdict_on
from separatrix.problem.canonical import equal_rows
from separatrix.problem.exact import SignedRows
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.separability.decide import decide
from separatrix.solvers.zero_one.fewest_errors import Found

_LENGTHS = 4096
_MOST_PRODUCTS = 40_000_000
_MOST_COUNTED = 400  # roundings that are counted exactly
_CLASSES = ("0", "1")
_MOST_WIDENED = 20_000  # entries: a larger margin is looked for in fewer


@dataclass(frozen=True)
class ExactWeights:
    """Integers that are right for all rows given, and the floats found that do best."""

    integers: tuple[int, ...]
    floats: np.ndarray


def predicted_errors(problem: SignedProblem, masses: np.ndarray, w: np.ndarray) -> int:
    """Return the errors of weights as they are predicted, in floating point.

    Rows are looked at all at once, stored by rows and by columns, and one by one, since sums may be
    rounded differently.
    """
    X, positive = problem.X, problem.signs > 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        wrong = (X @ w[1:] + w[0] > 0.0) != positive
        if not hasattr(X, "tocsr"):
            other = np.ascontiguousarray(X) if X.flags.f_contiguous else np.asfortranarray(X)
            wrong |= (other @ w[1:] + w[0] > 0.0) != positive
            ordered = np.full(len(X), 0.0)
            for j in range(X.shape[1]):
                ordered += X[:, j] * w[1 + j]
            wrong |= (ordered + w[0] > 0.0) != positive
    return int(masses[wrong].sum())


def through_thin_cell(
    rows: SignedProblem,
    part: SignedProblem,
    masses: np.ndarray,
    known: np.ndarray,
    deadline: float = np.inf,
) -> ExactWeights | None:
    """Separate `rows` exactly; the floats are those that do best on `part`, or those known.

    Looking for better floats ends at the deadline (of `time.perf_counter`).
    """
    claim = decide(SignedRows(rows.X, rows.signs))
    if claim.kind != "separable" or claim.direction is None:
        return None
    integers = as_integers(claim.direction, intercept=True)
    least = errors_of(part, masses, integers)

    def cost(w: np.ndarray) -> tuple[int, int]:
        return predicted_errors(part, masses, w), errors_of(part, masses, w)

    best, best_cost = known, cost(known)
    lengths = int(min(_LENGTHS, max(64, _MOST_PRODUCTS // max(part.X.size, 1))))
    counted = 0
    for w in roundings(integers, lengths):
        late = time.perf_counter() > deadline
        if late or counted == _MOST_COUNTED or best_cost == (least, least):
            break
        if predicted_errors(part, masses, w) <= best_cost[0]:
            counted += 1
            if (here := cost(w)) < best_cost:
                best, best_cost = w, here
    return ExactWeights(integers, best)


def roundings(direction: tuple[int, ...], lengths: int) -> Iterator[np.ndarray]:
    """Round a direction to float64 at different lengths between one and two.

    >>> [w.tolist() for w in roundings((1, -3), 2)]
    [[0.5, -1.5], [0.75, -2.25]]
    """
    sizes = [abs(v).bit_length() for v in direction if v]
    # Neither the largest nor the smallest leaves the range of floats, if that is possible.
    middle = (max(sizes, default=0) + min(sizes, default=0)) // 2
    exact = [Fraction(v) / 2**middle for v in direction]
    for k in range(lengths):
        length = 1 + Fraction(k, lengths)
        try:
            yield np.array([float(v * length) for v in exact])
        except OverflowError:
            return


@dataclass(frozen=True)
class Reduced:
    """Different points, each with one sign: that of the heavier class there.

    A point with rows of both classes costs at least the lighter of the two; `base` is the sum of
    that. Points where both weigh the same are left out of `points`, and kept in `every`, for which
    `up` and `down` are the costs of either side.
    """

    points: np.ndarray
    signs: np.ndarray
    masses: np.ndarray
    base: int
    every: np.ndarray
    up: np.ndarray
    down: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray, up: np.ndarray, down: np.ndarray) -> Reduced:
        """Set off the costs of both sides against each other."""
        kept = up != down
        return cls(
            np.ascontiguousarray(points[kept]),
            np.where(down > up, 1.0, -1.0)[kept],
            np.abs(down - up)[kept],
            int(np.minimum(up, down).sum()),
            points,
            up,
            down,
        )

    def right(self, sides: np.ndarray) -> SignedProblem:
        """Pose the rows that are right when every point has the side given."""
        kept = np.where(sides > 0.0, self.down, self.up) > 0
        return SignedProblem(self.every[kept], sides[kept])


@dataclass(frozen=True)
class Solved:
    """Weights, what bounds the errors from below, and the rows that some hyperplane has right.

    `hoped` is how few errors that hyperplane makes, if it is known before it is looked for.
    """

    w: np.ndarray
    bound: LowerBound
    believed: int
    cell: Callable[[], SignedProblem]
    hoped: int = 0


def thinnest_cell(reduced: Reduced) -> SignedProblem:
    """Pose the rows that are right in a cell of least cost, found in exact arithmetic."""
    return reduced.right(cheapest_sides(reduced.every, reduced.up, reduced.down))


def cell_of(reduced: Reduced, found: Found) -> SignedProblem:
    """Pose the rows that are right for the sides found; a point of equal costs has no side yet."""
    sides = np.ones(len(reduced.every))
    even = reduced.up == reduced.down
    sides[~even] = found.sides
    if even.any() and found.w is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            scores = reduced.every[even] @ found.w[1:] + found.w[0]
        sides[even] = np.where(scores > 0.0, 1.0, -1.0)
    return reduced.right(sides)


def best_weights(
    part: SignedProblem, masses: np.ndarray, reduced: Reduced, found: Found
) -> np.ndarray:
    """Return weights for the sides found, those that make the fewest errors in exact arithmetic."""

    def cost(w: np.ndarray) -> tuple[int, int]:
        """Errors as predicted in floats must be errors in exact arithmetic too."""
        exact = errors_of(part, masses, w)
        predicted = (part.X @ w[1:] + w[0] > 0.0) == (part.signs > 0.0)
        return max(exact, int(masses[~predicted].sum())), exact

    candidates = [np.concatenate([[s], np.zeros(part.X.shape[1])]) for s in (1.0, -1.0)]
    if found.w is not None:
        candidates += _off_the_boundary(reduced.every, found.w)
    with np.errstate(over="ignore", invalid="ignore"):
        candidates = [w for w in candidates if np.isfinite(w).all()]
        best = min(reversed(candidates), key=cost)
        if reduced.points.size > _MOST_WIDENED and cost(best)[0] <= found.cost + reduced.base:
            return best
        wide = _widest(reduced, found.sides)
        return best if wide is None else min([*wide, best], key=cost)


def _widest(reduced: Reduced, sides: np.ndarray) -> list[np.ndarray] | None:
    """Return weights with a large margin for the sides, or for the rows that are right."""
    for chosen in (np.ones(len(sides), dtype=bool), sides == reduced.signs):
        if not chosen.any():
            continue
        verdict = verdict_on(SignedProblem(reduced.points[chosen], sides[chosen]), _CLASSES)
        if verdict.kind == "separable":
            w = np.concatenate([[verdict.intercept], np.asarray(verdict.weights)])
            return [v for v in _off_the_boundary(reduced.every, w) if np.isfinite(v).all()]
    return None


def _off_the_boundary(points: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    """Move the hyperplane a little where it meets a point of both classes."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = np.abs(points @ w[1:] + w[0])
    nearest = float(scores[scores > 0.0].min(initial=1.0))
    if (scores > 1e-9 * nearest).all():
        return [w]
    shift = np.zeros_like(w)
    shift[0] = 0.25 * nearest
    return [w - shift, w + shift, w]


def lower_bound(
    part: SignedProblem, masses: np.ndarray, reduced: Reduced, found: Found, numbers: np.ndarray
) -> LowerBound:
    """State the witnesses and the tree in the numbers of the given rows.

    Points of both classes add a witness each, of two rows, that carries the lighter weight.
    """
    dense = part.X.toarray() if hasattr(part.X, "toarray") else part.X
    first_row: dict[tuple[bytes, float], int] = {}
    for i in np.unique(equal_rows(part.X, part.signs), return_index=True)[1].tolist():
        first_row[((dense[i] + 0.0).tobytes(), float(part.signs[i]))] = i
    rows = [
        first_row[(point.tobytes(), float(sign))]
        for point, sign in zip(reduced.points, reduced.signs, strict=True)
    ]
    witnesses = [
        (tuple(int(numbers[rows[i]]) for i in chosen), multipliers)
        for chosen, multipliers in found.witnesses
    ]
    pairs: list[tuple[int, int, int]] = []
    groups = equal_rows(part.X, part.signs)
    weight = np.bincount(groups, weights=masses.astype(np.float64)).astype(np.int64)
    for (key, sign), i in first_row.items():
        other = first_row.get((key, -sign))
        if sign > 0.0 and other is not None:
            lighter = int(min(weight[groups[i]], weight[groups[other]]))
            pairs.append((int(numbers[i]), int(numbers[other]), lighter))
    start = len(witnesses)
    witnesses += [((a, b), (1, 1)) for a, b, _ in pairs]
    tree: Any = found.tree if found.tree is not None else _EMPTY
    extra = [(start + k, lighter, {a, b}) for k, (a, b, lighter) in enumerate(pairs)]
    translated = _translated(tree, [int(numbers[i]) for i in rows], extra, frozenset())
    return LowerBound("witnesses", found.lower + reduced.base, tuple(witnesses), translated)


_EMPTY = Leaf((), 1)


def _translated(tree: Any, rows: list[int], extra: list[Any], wrong: frozenset[int]) -> Tree:
    """Name given rows in the tree, and load the pairs in every leaf where they still count."""
    if hasattr(tree, "loads"):
        pairs = [(k, v * tree.denominator) for k, v, pair in extra if not pair & wrong]
        return Leaf((*tree.loads, *pairs), tree.denominator)
    row = rows[tree.row]
    return Split(
        row,
        _translated(tree.wrong, rows, extra, wrong | {row}),
        _translated(tree.right, rows, extra, wrong),
    )
