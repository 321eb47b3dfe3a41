"""Exact proof of how few errors a hyperplane makes, and how few any hyperplane can make.

    attained   sum of s_i over the rows with  w.z_i <= 0,  signs decided in exact arithmetic
    at least   (witnesses) each Gordan witness holds a row that is wrong for every w; weights on
               witnesses that load no row beyond s_i bound the errors from below, and a tree of
               cases (row right, row wrong) sharpens that; or (cells) an exact recount of all cells

Equal rows of one class share their fate, so their weights s_i are added up first. Nothing here
knows how hyperplane, witnesses and tree were found; `checker.errors` checks a tree.

The fewest errors in one, two and three dimensions, recounted cell by cell in exact arithmetic.

    min over all hyperplanes  sum_i cost of the side that point i is on

Hyperplanes that divide the points alike form a cell, and a cell of least cost has a wall: a point
through which its hyperplanes can be moved while no other point is met. So in the plane it is enough
to rotate a line about every point, and in space a plane about the line through every two, with the
points on the axis free to go to either side. Each rotation meets the other points in the order of
their angles. Floats order them where a rigorous bound on rounding allows; integers decide the rest.
Nothing here knows how the hyperplane was found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, cmp_to_key
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from separatrix import checker
from separatrix.certificates.enclosed_sums import dot_error
from separatrix.certificates.partition import is_witness, margin_signs
from separatrix.certificates.separation import are_all
from separatrix.certificates.two_bounds import AboutData, Written
from separatrix.checker import integers
from separatrix.checker.exact import at_least, at_most
from separatrix.checker.separation import Book, refuse_case
from separatrix.problem.canonical import equal_rows, locations, weights_fingerprint, whole_weights
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.signed import SignedProblem

Witness = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Leaf:
    """Weights ``numerator / denominator`` on witnesses, that load no row beyond its own weight."""

    loads: tuple[tuple[int, int], ...]
    denominator: int


@dataclass(frozen=True)
class Split:
    """Two cases: the row is wrong, or it is right."""

    row: int
    wrong: Tree | None
    right: Tree | None


Tree = Leaf | Split


def tree_of(case: Any) -> Tree | None:
    """Return a tree as the checker reads it, or None, as one of ours."""
    if hasattr(case, "row"):
        return Split(case.row, tree_of(case.wrong), tree_of(case.right))
    return None if case is None else Leaf(tuple(case.loads), case.denominator)


@dataclass(frozen=True)
class LowerBound:
    """A lower bound as a solver claims it; for "cells" the value is recounted."""

    by: str
    value: int = 0
    witnesses: tuple[Witness, ...] = ()
    tree: Tree | None = None


@dataclass(frozen=True, kw_only=True)
class FewestErrors(Written, AboutData):
    """Weights make `errors` training errors, and no hyperplane makes fewer than `lower`.

    Errors are sums of sample weights, counted in the unit `unit` (1 if there are none).
    `by` says how the lower bound is proved: ``"witnesses"`` (with `witnesses` and `tree`),
    ``"cells"`` (an exact recount in one to three dimensions) or ``"nothing"`` (the bound is 0).
    Where floats are too short, `integers` hold the weights and `weights` is empty.
    """

    kind = "errors"

    errors: int
    lower: int
    unit: Fraction
    weights: tuple[float, ...] = ()
    by: str
    witnesses: tuple[Witness, ...]
    tree: Tree | None = None
    weights_sha256: str
    integers: tuple[int, ...] = ()
    holds: bool = True

    @property
    def sample_weight_sha256(self) -> str:
        """The name of the sample weights, as a file calls it."""
        return self.weights_sha256

    def check(self, X: Any, y: Any, sample_weight: Any = None) -> bool:
        """Prove both numbers again from the data, whatever `holds` says; other data are refused."""
        problem = self.problem(X, y)
        if not isinstance(problem, SignedProblem):
            return False
        try:
            masses, unit = whole_weights(sample_weight, problem.n_samples)
        except ValueError:
            return False
        named = weights_fingerprint(sample_weight, masses, unit) == self.weights_sha256
        meant = named and unit == self.unit and type(self.unit) is Fraction
        meant = meant and self.intercept is True
        return meant and proves_errors(problem, masses, self)

    def _sentence(self) -> str:
        found, least = at_most(self.errors * self.unit, 12), at_least(self.lower * self.unit, 12)
        how = {"cells": "all cells recounted", "nothing": "no proof of more"}.get(
            self.by, f"{len(self.witnesses)} witnesses"
        )
        said = f"every hyperplane makes {least} or more ({how})"
        if self.errors == self.lower:
            said = f"no hyperplane makes fewer ({how}, exact)"
        return f"proved: {found} training errors, and {said}"


def certify_errors(
    problem: SignedProblem,
    masses: np.ndarray,
    unit: Fraction,
    weights: np.ndarray | tuple[int, ...],
    lower: LowerBound,
    sample_weight: Any = None,
    classes: tuple[str, ...] = ("0", "1"),
) -> FewestErrors:
    """Count the errors of the weights, prove the lower bound, and state both.

    Weights are an array of floats, or a tuple of integers where floats are too short. A lower
    bound that is not proved is replaced by 0.
    """
    claim = FewestErrors(
        errors=errors_of(problem, masses, weights),
        lower=lower.value,
        unit=unit,
        weights=() if isinstance(weights, tuple) else tuple(weights.tolist()),
        integers=weights if isinstance(weights, tuple) else (),
        by=lower.by,
        witnesses=lower.witnesses,
        tree=lower.tree,
        data_sha256=fingerprint(problem),
        weights_sha256=weights_fingerprint(sample_weight, masses, unit),
        n_rows=problem.n_samples,
        n_features=int(problem.X.shape[1]),
        classes=classes,
    )
    if lower.by == "cells":
        return replace(claim, lower=_recounted(problem, masses))
    if lower.by == "witnesses" and _proves_by_witnesses(problem, masses, claim):
        return claim
    return replace(claim, lower=0, by="nothing", witnesses=(), tree=None)


def wrong_rows(problem: SignedProblem, weights: Any) -> np.ndarray:
    """Return which rows are not strictly on their own side, exactly; weights may be integers."""
    exact = all(isinstance(v, int) for v in weights)
    numbers = weights if exact else checker.integers([float(v) for v in weights])[0]
    return np.asarray(margin_signs(problem, tuple(numbers)) <= 0)


def errors_of(problem: SignedProblem, masses: np.ndarray, weights: Any) -> int:
    """Return the weight of all rows that are not strictly on their own side, exactly."""
    return int(masses[wrong_rows(problem, weights)].sum())


def proves_errors(problem: SignedProblem, masses: np.ndarray, claim: FewestErrors) -> bool:
    """Check every part of the claim exactly, except the fingerprints of the data."""
    weights = claim.integers or claim.weights
    if not are_all(int, [claim.errors, claim.lower, *claim.integers]):
        return False
    if (claim.integers and claim.weights) or not are_all(float, claim.weights):
        return False
    if len(weights) != problem.dimension or not np.isfinite(claim.weights).all():
        return False
    if errors_of(problem, masses, weights) != claim.errors:
        return False
    if claim.by == "nothing":
        return claim.lower == 0 and not claim.witnesses and claim.tree is None
    if claim.by == "cells":
        if not 1 <= problem.X.shape[1] <= MOST_DIMENSIONS:
            return False
        return claim.lower <= _recounted(problem, masses)
    return claim.by == "witnesses" and _proves_by_witnesses(problem, masses, claim)


def _recounted(problem: SignedProblem, masses: np.ndarray) -> int:
    kept = masses > 0
    if not kept.any():
        return 0
    return fewest_by_cells(*locations(problem.X[kept], problem.signs[kept], masses[kept]))


def _proves_by_witnesses(problem: SignedProblem, masses: np.ndarray, claim: FewestErrors) -> bool:
    if not all(is_witness(problem, *witness) for witness in claim.witnesses):
        return False
    numbers = equal_rows(problem.X, problem.signs)
    room = np.bincount(numbers, weights=masses.astype(np.float64)).astype(np.int64)
    sets = [frozenset(numbers[list(rows)].tolist()) for rows, _ in claim.witnesses]
    try:
        refuse_case(Book(room.tolist(), sets, numbers.tolist(), claim.lower), claim.tree)
    except (checker.Refused, RecursionError):
        return False
    return True


# ---- the fewest errors in one, two and three dimensions, recounted cell by cell, exactly


MOST_DIMENSIONS = 3


def fewest_by_cells(points: np.ndarray, up: np.ndarray, down: np.ndarray) -> int:
    """Return the least cost of a hyperplane: `up` for a point on its positive side, else `down`.

    The points must be different.

    >>> square = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> fewest_by_cells(square, np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1]))
    1
    """
    return _cheapest(_Places(points), up.astype(np.int64), down.astype(np.int64))[0]


def cheapest_sides(points: np.ndarray, up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Return the side, +1 or -1, of every point in a cell of least cost, however thin it is.

    >>> line = np.array([[0.0], [1.0], [2.0]])
    >>> cheapest_sides(line, np.array([1, 1, 0]), np.array([0, 0, 1]))
    array([-1., -1.,  1.])
    """
    places, up, down = _Places(points), up.astype(np.int64), down.astype(np.int64)
    least, axis = _cheapest(places, up, down)
    if axis is None:
        return np.full(len(points), 1.0 if up.sum() == least else -1.0)
    line, others, turned = places.turned(axis, up, down)
    sides = np.empty(len(points))
    sides[line], sides[others] = places.on_a_line(line, up, down).sides(), turned.sides()
    return sides


def _cheapest(places: _Places, up: np.ndarray, down: np.ndarray) -> tuple[int, Any]:
    """Return the least cost, and about which points such a hyperplane turns: None if all agree."""
    count, dimensions = places.stored.shape
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise ValueError(f"cells are recounted in 1 to {MOST_DIMENSIONS} dimensions.")
    least, best = min(int(up.sum()), int(down.sum())), None
    for axis in combinations(range(count), dimensions - 1) if count > 1 else ():
        line, _, turned = places.turned(axis, up, down)
        cost = turned.least()
        if 0 < len(line) == len(axis):
            cost += sum(min(int(up[i]), int(down[i])) for i in axis)
        else:
            cost += places.on_a_line(line, up, down).least()
        if cost < least:
            least, best = cost, axis
    return least, best


class _Divisions(NamedTuple):
    """Divisions that a hyperplane makes one after another: points in `order` change their side.

    `costs` holds the cost after the first `moved` points have, and `total` that of both sides.
    """

    costs: np.ndarray
    total: int
    start: np.ndarray
    order: np.ndarray
    moved: np.ndarray

    def least(self) -> int:
        """Return the least cost, of a hyperplane or of the same one turned round."""
        return min(int(self.costs.min()), self.total - int(self.costs.max()))

    def sides(self) -> np.ndarray:
        """Return the sides that have the least cost."""
        straight = int(self.costs.min()) == self.least()
        at = int(np.argmin(self.costs) if straight else np.argmax(self.costs))
        sides = self.start.copy()
        sides[self.order[: self.moved[at]]] *= -1.0
        return sides if straight else -sides


_NONE = np.zeros(1, dtype=np.int64)
_NO_DIVISION = _Divisions(_NONE, 0, np.zeros(0), _NONE[:0], _NONE)


class _Places:
    """The points as floats whose columns are of size one, and as integers."""

    def __init__(self, points: np.ndarray) -> None:
        self.stored = points
        exponents = np.frexp(np.abs(points).max(axis=0))[1]
        self.floats = np.ldexp(points, -exponents)
        self.distrust = 0.0 if (np.ldexp(self.floats, exponents) == points).all() else np.inf
        # Each column has its own power of two.
        self.integers = np.array([integers(x)[0] for x in points.T.tolist()], dtype=object).T

    def on_a_line(self, chosen: np.ndarray, up: np.ndarray, down: np.ndarray) -> _Divisions:
        """Divide points of one line by a threshold."""
        part = self.stored[chosen]
        column = next((j for j in range(part.shape[1]) if (part[:, j] != part[0, j]).any()), 0)
        order = np.argsort(part[:, column], kind="stable")
        up, down = up[chosen], down[chosen]
        below = np.concatenate([[0], np.cumsum((up - down)[order])]) + down.sum()
        total = int(up.sum() + down.sum())
        return _Divisions(below, total, -np.ones(len(order)), order, np.arange(len(order) + 1))

    def turned(
        self, axis: tuple[int, ...], up: np.ndarray, down: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, _Divisions]:
        """Return the points on the axis, all others, and how a turn divides these."""
        everywhere = np.arange(len(self.stored))
        if not axis:  # in one dimension nothing turns
            return everywhere, everywhere[:0], _NO_DIVISION
        line, others = np.array(axis), np.delete(everywhere, axis)
        flat = self._image_along(axis, others)
        if len(axis) > 1 and not (beside := flat.is_off_origin()).all():
            line, others = np.concatenate([line, others[~beside]]), others[beside]
            flat = self._image_along(axis, others)
        return line, others, flat.divided(up[others], down[others])

    def _image_along(self, axis: tuple[int, ...], others: np.ndarray) -> _Flat:
        """Look along the axis: eliminate the coordinate in which it is longest."""
        first, away = axis[0], self.floats[others] - self.floats[axis[0]]
        if len(axis) == 1:
            doubt = dot_error(1.0, np.abs(away)) + self.distrust
            return _Flat(away, doubt, lambda: self.integers[others] - self.integers[first])
        along = self.floats[axis[1]] - self.floats[first]
        gone = int(np.argmax(np.abs(along)))
        direction = self.integers[axis[1]] - self.integers[first]
        if direction[gone] == 0:  # only where floats were flushed to zero
            gone = next(k for k in range(3) if direction[k])
        rest = [k for k in range(3) if k != gone]

        def exact() -> np.ndarray:
            v = self.integers[others] - self.integers[first]
            return direction[gone] * v[:, rest] - v[:, [gone]] * direction[rest]

        left, right = along[gone] * away[:, rest], away[:, [gone]] * along[rest]
        # Two products, and four differences that were rounded before.
        doubt = dot_error(6.0, np.abs(left) + np.abs(right)) + self.distrust
        return _Flat(left - right, doubt, exact)


class _Flat:
    """Flat images of points: as floats, how far these may be off, and as integers if need be."""

    def __init__(self, v: np.ndarray, doubt: np.ndarray, exact: Callable[[], np.ndarray]) -> None:
        self.v, self.doubt, self._work_out = v, doubt, exact

    @cached_property
    def exact(self) -> list[list[int]]:
        """The images in integers, worked out for all of them when the first is needed."""
        return list(self._work_out().tolist())

    def is_off_origin(self) -> np.ndarray:
        """Whether each image is not the origin."""
        off = (np.abs(self.v) > self.doubt).any(axis=1)
        for i in np.flatnonzero(~off).tolist():
            off[i] = any(self.exact[i])
        return off

    def divided(self, up: np.ndarray, down: np.ndarray) -> _Divisions:
        """Turn a line through the origin by half a turn past the images, none of which is zero."""
        if len(self.v) == 0:
            return _NO_DIVISION
        height = np.sign(self.v[:, 1]).astype(np.int64)
        for i in np.flatnonzero(~(np.abs(self.v[:, 1]) > self.doubt[:, 1])).tolist():
            height[i] = _sign(self.exact[i][1])
        flip = height < 0
        for i in np.flatnonzero(height == 0).tolist():
            flip[i] = self.exact[i][0] < 0
        order, ends = self._by_angle(flip, height)
        # Before the first angle the line has every vector, turned upwards, on its positive side.
        before, after = np.where(flip, down, up), np.where(flip, up, down)
        changes = np.cumsum((after - before)[order])
        costs = np.concatenate([[0], changes[ends]]) + int(before.sum())
        total, moved = int(up.sum() + down.sum()), np.concatenate([[0], ends + 1])
        return _Divisions(costs, total, np.where(flip, -1.0, 1.0), order, moved)

    def _by_angle(self, flip: np.ndarray, height: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Order images, turned upwards, by angle; and say where each group of one angle ends."""
        upward = np.where(flip[:, None], -self.v, self.v)
        angle = np.where(height == 0, 0.0, np.arctan2(np.abs(upward[:, 1]), upward[:, 0]))
        order = np.argsort(angle, kind="stable")
        turns = _surely_turns(upward[order], self.doubt[order]).astype(np.int64)

        def turn(i: int, j: int) -> int:
            (a, b), (c, d) = self.exact[i], self.exact[j]
            return _sign(a * d - b * c) * (-1 if flip[i] != flip[j] else 1)

        for k in np.flatnonzero(turns == 0).tolist():
            turns[k] = turn(int(order[k]), int(order[k + 1]))
        if turns.min(initial=0) < 0:  # floats put two angles in the wrong order: integers order all
            listed = sorted(order.tolist(), key=cmp_to_key(turn), reverse=True)
            order, turns = np.array(listed), np.array([turn(i, j) for i, j in pairwise(listed)])
        return order, np.flatnonzero(np.append(turns > 0, True))


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)


def _surely_turns(v: np.ndarray, doubt: np.ndarray) -> np.ndarray:
    """Whether floats leave no doubt that the turn from each vector to the next is positive."""
    a, b, ea, eb = v[:-1], v[1:], doubt[:-1], doubt[1:]
    with np.errstate(invalid="ignore"):  # without trust in floats, doubts are infinite
        first, second = a[:, 0] * b[:, 1], a[:, 1] * b[:, 0]
        size = np.abs(first) + np.abs(second)
        carried = (np.abs(a) + ea) * eb[:, ::-1] + (np.abs(b) + eb) * ea[:, ::-1]
        # What is carried on is itself a sum of eight rounded terms.
        carried = carried.sum(axis=1)
        bound = carried + dot_error(8.0, size + carried)
        return np.asarray(first - second > bound)
