"""The fewest errors in one, two and three dimensions, recounted cell by cell in exact arithmetic.

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
from functools import cmp_to_key
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from separatrix.certificates.enclosed_sums import dot_error
from separatrix.certificates.exact_sums import column_floor

MOST_DIMENSIONS = 3

Exact = Callable[[int], list[int]]


def fewest_by_cells(points: np.ndarray, up: np.ndarray, down: np.ndarray) -> int:
    """Return the least cost of a hyperplane: `up` for a point on its positive side, else `down`.

    The points must be different.

    >>> square = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> fewest_by_cells(square, np.array([1, 1, 0, 0]), np.array([0, 0, 1, 1]))
    1
    """
    count, dimensions = points.shape
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise ValueError(f"cells are recounted in 1 to {MOST_DIMENSIONS} dimensions.")
    up, down = up.astype(np.int64), down.astype(np.int64)
    everything = min(int(up.sum()), int(down.sum()))
    if count == 1:
        return everything
    places = _Places(points)
    if dimensions == 1:
        return min(everything, places.on_a_line(np.arange(count), up, down).least())
    costs = [everything]
    axes = combinations(range(count), dimensions - 1)
    for axis in axes:
        costs.append(places.around(axis, up, down))
    return min(costs)


def cheapest_sides(points: np.ndarray, up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Return the side, +1 or -1, of every point in a cell of least cost, however thin it is.

    >>> line = np.array([[0.0], [1.0], [2.0]])
    >>> cheapest_sides(line, np.array([1, 1, 0]), np.array([0, 0, 1]))
    array([-1., -1.,  1.])
    """
    count, dimensions = points.shape
    up, down = up.astype(np.int64), down.astype(np.int64)
    least = fewest_by_cells(points, up, down)
    for sides, cost in ((np.ones(count), up.sum()), (-np.ones(count), down.sum())):
        if cost == least:
            return sides
    places = _Places(points)
    if dimensions == 1:
        return places.on_a_line(np.arange(count), up, down).sides()
    axes = combinations(range(count), dimensions - 1)
    return next(
        places.sides_around(axis, up, down)
        for axis in axes
        if places.around(axis, up, down) == least
    )


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


class _Pairs:
    """Flat images of points in integers, worked out for all of them when the first is needed."""

    def __init__(self, work_out: Callable[[], np.ndarray]) -> None:
        self._work_out = work_out
        self._pairs: list[list[int]] | None = None

    def __call__(self, i: int) -> list[int]:
        if self._pairs is None:
            self._pairs = self._work_out().tolist()
        return self._pairs[i]


class _Places:
    """The points as floats whose columns are of size one, and as integers."""

    def __init__(self, points: np.ndarray) -> None:
        self.stored = points
        exponents = np.frexp(np.abs(points).max(axis=0))[1]
        self.floats = np.ldexp(points, -exponents)
        self.trusted = bool((np.ldexp(self.floats, exponents) == points).all())
        self.integers = _integer_table(points)

    def on_a_line(self, chosen: np.ndarray, up: np.ndarray, down: np.ndarray) -> _Divisions:
        """Divide points of one line by a threshold."""
        part = self.stored[chosen]
        column = next((j for j in range(part.shape[1]) if (part[:, j] != part[0, j]).any()), 0)
        order = np.argsort(part[:, column], kind="stable")
        up, down = up[chosen], down[chosen]
        below = np.concatenate([[0], np.cumsum((up - down)[order])]) + down.sum()
        total = int(up.sum() + down.sum())
        return _Divisions(below, total, -np.ones(len(order)), order, np.arange(len(order) + 1))

    def around(self, axis: tuple[int, ...], up: np.ndarray, down: np.ndarray) -> int:
        """Return the least cost of a hyperplane that turns about one point, or about two."""
        line, _, turned = self._turned(axis, up, down)
        if len(line) == len(axis):
            return turned.least() + sum(min(int(up[i]), int(down[i])) for i in axis)
        return turned.least() + self.on_a_line(line, up, down).least()

    def sides_around(self, axis: tuple[int, ...], up: np.ndarray, down: np.ndarray) -> np.ndarray:
        """Return the sides of the cheapest hyperplane that turns about one point, or two."""
        line, others, turned = self._turned(axis, up, down)
        sides = np.empty(len(self.stored))
        sides[line], sides[others] = self.on_a_line(line, up, down).sides(), turned.sides()
        return sides

    def _turned(
        self, axis: tuple[int, ...], up: np.ndarray, down: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, _Divisions]:
        """Return the points on the axis, all others, and how a turn divides these."""
        line, others = np.array(axis), np.delete(np.arange(len(self.stored)), axis)
        first = axis[0]
        away = self.floats[others] - self.floats[first]
        if len(axis) == 1:
            exact = _Pairs(lambda: self.integers[others] - self.integers[first])
            flat, doubt = away, dot_error(1.0, np.abs(away))
        else:
            flat, doubt, exact = self._image_along(axis, others, away)
            beside = _is_off_axis(flat, self._doubtful(doubt), exact)
            if not beside.all():
                line = np.concatenate([line, others[~beside]])
                kept = np.flatnonzero(beside)
                flat, doubt, exact = self._image_along(axis, others[kept], away[kept])
                others = others[kept]
        turned = _rotation(flat, self._doubtful(doubt), exact, up[others], down[others])
        return line, others, turned

    def _doubtful(self, doubt: np.ndarray) -> np.ndarray:
        return doubt if self.trusted else np.full_like(doubt, np.inf)

    def _image_along(
        self, axis: tuple[int, ...], others: np.ndarray, away: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, _Pairs]:
        """Look along the axis: eliminate the coordinate in which it is longest."""
        first, second = axis
        along = self.floats[second] - self.floats[first]
        gone = int(np.argmax(np.abs(along)))
        direction = self.integers[second] - self.integers[first]
        if direction[gone] == 0:  # only where floats were flushed to zero
            gone = next(k for k in range(3) if direction[k])
        rest = [k for k in range(3) if k != gone]

        def exact() -> np.ndarray:
            v = self.integers[others] - self.integers[first]
            return direction[gone] * v[:, rest] - v[:, [gone]] * direction[rest]

        left, right = along[gone] * away[:, rest], away[:, [gone]] * along[rest]
        # Two products, and four differences that were rounded before.
        return left - right, dot_error(6.0, np.abs(left) + np.abs(right)), _Pairs(exact)


def _integer_table(points: np.ndarray) -> np.ndarray:
    """Return all coordinates as Python integers, each column divided by its own power of two."""
    table = np.empty(points.shape, dtype=object)
    floor = column_floor(points).tolist()
    for (i, j), value in np.ndenumerate(points):
        top, bottom = float(value).as_integer_ratio()
        shift = bottom.bit_length() - 1 + floor[j]
        table[i, j] = top >> shift if shift >= 0 else top << -shift
    return table


def _is_off_axis(flat: np.ndarray, doubt: np.ndarray, exact: Exact) -> np.ndarray:
    """Whether each point is off the axis: its flat image is not the origin."""
    off = (np.abs(flat) > doubt).any(axis=1)
    for i in np.flatnonzero(~off).tolist():
        off[i] = any(exact(i))
    return off


def _signs(values: np.ndarray, doubt: np.ndarray, exact: Callable[[int], int]) -> np.ndarray:
    """Return the sign of every value; integers decide the doubtful."""
    signs = np.sign(values).astype(np.int64)
    for i in np.flatnonzero(~(np.abs(values) > doubt)).tolist():
        value = exact(i)
        signs[i] = (value > 0) - (value < 0)
    return signs


def _rotation(
    v: np.ndarray, doubt: np.ndarray, exact: Exact, up: np.ndarray, down: np.ndarray
) -> _Divisions:
    """Turn a line through the origin by half a turn past the vectors v, none of which is zero."""
    if len(v) == 0:
        nothing = np.zeros(1, dtype=np.int64)
        return _Divisions(nothing, 0, np.zeros(0), nothing[:0], nothing)
    height = _signs(v[:, 1], doubt[:, 1], lambda i: exact(i)[1])
    flip = height < 0
    for i in np.flatnonzero(height == 0).tolist():
        flip[i] = exact(i)[0] < 0
    order, ends = _by_angle(v, doubt, exact, flip, height)
    # Before the first angle the line has every vector, turned upwards, on its positive side.
    before, after = np.where(flip, down, up), np.where(flip, up, down)
    changes = np.cumsum((after - before)[order])
    costs = np.concatenate([[0], changes[ends]]) + int(before.sum())
    total = int(up.sum() + down.sum())
    moved = np.concatenate([[0], ends + 1])
    return _Divisions(costs, total, np.where(flip, -1.0, 1.0), order, moved)


def _by_angle(
    v: np.ndarray, doubt: np.ndarray, exact: Exact, flip: np.ndarray, height: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Order vectors, turned upwards, by angle; and say where each group of one angle ends."""
    upward = np.where(flip[:, None], -v, v)
    angle = np.where(height == 0, 0.0, np.arctan2(np.abs(upward[:, 1]), upward[:, 0]))
    order = np.argsort(angle, kind="stable")
    sure = _surely_turns(upward[order], doubt[order])
    if sure.all():
        return order, np.arange(len(order))
    return _sorted_in_integers(order, sure, exact, flip)


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


def _sorted_in_integers(
    order: np.ndarray, sure: np.ndarray, exact: Exact, flip: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sort runs of doubtful order in integers; sort all, if a run does not fit in its place."""

    def compared(i: int, j: int) -> int:
        return -_turn(exact, flip, i, j)

    key = cmp_to_key(compared)
    listed = order.tolist()
    borders = [0, *(np.flatnonzero(sure) + 1).tolist(), len(listed)]
    runs = [
        sorted(listed[a:b], key=key) if b > a + 1 else listed[a:b] for a, b in pairwise(borders)
    ]
    fits = all(
        len(left) == 1 == len(right) or _turn(exact, flip, left[-1], right[0]) > 0
        for left, right in pairwise(runs)
    )
    if not fits:
        runs = [sorted(listed, key=key)]
    joined = [i for run in runs for i in run]
    ends: list[int] = []
    place = -1
    for run in runs:
        for i, j in pairwise(run):
            place += 1
            if _turn(exact, flip, i, j) > 0:
                ends.append(place)
        place += 1
        ends.append(place)
    return np.array(joined), np.array(ends)


def _turn(exact: Exact, flip: np.ndarray, i: int, j: int) -> int:
    (a, b), (c, d) = exact(i), exact(j)
    value = (a * d - b * c) * (-1 if flip[i] != flip[j] else 1)
    return (value > 0) - (value < 0)
