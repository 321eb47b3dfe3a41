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
from functools import cached_property, cmp_to_key
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np

from separatrix.certificates.enclosed_sums import dot_error
from separatrix.checker import integers

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
