"""Fewest errors in one, two and three dimensions: turn a hyperplane about points and count.

    min over all hyperplanes  sum_i (up_i if point i is on the positive side, else down_i)

A cell of the arrangement of least cost touches a point (in space: the line through two), so it is
met when a line turns about every point, or a plane about every line through two: O(n^2 log n) and
O(n^3 log n). Angles closer than a tolerance count as equal, so a cell thinner than that is missed;
``certificates.cells`` recounts without tolerance.
"""

from __future__ import annotations

import numpy as np

from separatrix._compiled import compiled, inlined

__all__ = ["best_sides", "turns_needed"]

_SAME_ANGLE = 1e-12
_ON_AXIS = 1e-11


def turns_needed(n_points: int, dimensions: int) -> float:
    """Return about how many angles are sorted; infinity beyond three dimensions."""
    if dimensions > 3:
        return np.inf
    return float(n_points) ** dimensions


def best_sides(points: np.ndarray, up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Return the side, +1 or -1, of every point for a hyperplane of least cost."""
    count, dimensions = points.shape
    up, down = up.astype(np.float64), down.astype(np.float64)
    if count == 1:
        return np.where(up <= down, 1.0, -1.0)
    size = np.abs(points).max(axis=0)
    scaled = np.ldexp(points, -np.frexp(size)[1])
    if dimensions == 1:
        return _threshold(points[:, 0], up, down)
    if dimensions == 2:
        _, first, angle, side = best_line(scaled, up, down)
        offset = scaled - scaled[int(first)]
        return _sides(offset, angle, side, _cheaper(up, down), np.arange(count) == int(first))
    found = best_plane(scaled, up, down)
    return _plane_sides(scaled, up, down, int(found[1]), int(found[2]), found[3], found[4])


def _cheaper(up: np.ndarray, down: np.ndarray) -> np.ndarray:
    return np.where(up <= down, 1.0, -1.0)


def _sides(
    flat: np.ndarray, angle: float, side: float, free: np.ndarray, on_axis: np.ndarray
) -> np.ndarray:
    normal = np.array([-np.sin(angle), np.cos(angle)])
    return np.where(on_axis, free, np.where(side * (flat @ normal) > 0.0, 1.0, -1.0))


def _threshold(along: np.ndarray, up: np.ndarray, down: np.ndarray) -> np.ndarray:
    """Return the sides of points on a line: those up to a threshold, and the others."""
    order = np.argsort(along, kind="stable")
    costs = np.concatenate([[0.0], np.cumsum(up[order] - down[order])]) + down.sum()
    low, high = int(np.argmin(costs)), int(np.argmax(costs))
    total = float(up.sum() + down.sum())
    sides = np.empty(len(along))
    if costs[low] <= total - costs[high]:
        sides[order] = np.where(np.arange(len(along)) < low, 1.0, -1.0)
    else:
        sides[order] = np.where(np.arange(len(along)) < high, -1.0, 1.0)
    return sides


def _plane_sides(
    points: np.ndarray,
    up: np.ndarray,
    down: np.ndarray,
    first: int,
    second: int,
    angle: float,
    side: float,
) -> np.ndarray:
    away = points - points[first]
    with np.errstate(divide="ignore", invalid="ignore"):  # points nearer than squares can tell
        axis = away[second] / np.linalg.norm(away[second])
    one, two = _frame(axis)
    flat = np.column_stack([away @ one, away @ two])
    on_axis = np.hypot(flat[:, 0], flat[:, 1]) <= _ON_AXIS * np.linalg.norm(away, axis=1)
    on_axis[[first, second]] = True
    free = np.zeros(len(points))
    if on_axis.sum() == 2:
        free[on_axis] = _cheaper(up, down)[on_axis]
    else:
        free[on_axis] = _threshold((away @ axis)[on_axis], up[on_axis], down[on_axis])
    return _sides(flat, angle, side, free, on_axis)


@compiled
def _frame(axis):  # type: ignore[no-untyped-def]
    """Return two unit vectors at right angles to a unit vector and to each other."""
    least = 0
    for k in range(3):
        if abs(axis[k]) < abs(axis[least]):
            least = k
    one = -axis[least] * axis
    one[least] += 1.0
    one /= np.sqrt((one * one).sum())
    two = np.empty(3)
    two[0] = axis[1] * one[2] - axis[2] * one[1]
    two[1] = axis[2] * one[0] - axis[0] * one[2]
    two[2] = axis[0] * one[1] - axis[1] * one[0]
    return one, two


@compiled
def turn(angle, flipped, up, down, count):  # type: ignore[no-untyped-def]
    """Make half a turn past `count` angles in [0, pi): return the least cost, where, which side."""
    order = np.argsort(angle[:count])
    cost = 0.0
    total = 0.0
    for i in range(count):
        cost += down[i] if flipped[i] else up[i]
        total += up[i] + down[i]
    best, best_angle, best_side = np.inf, 0.0, 1.0
    for k in range(count):
        i = order[k]
        cost += (up[i] - down[i]) if flipped[i] else (down[i] - up[i])
        here = angle[i]
        after = angle[order[k + 1]] if k + 1 < count else angle[order[0]] + np.pi
        if after - here <= _SAME_ANGLE:
            continue
        if cost < best:
            best, best_angle, best_side = cost, 0.5 * (here + after), 1.0
        if total - cost < best:
            best, best_angle, best_side = total - cost, 0.5 * (here + after), -1.0
    if count == 0:
        best = 0.0
    return best, best_angle, best_side


@inlined
def _put(angle, flipped, at, x, y):  # type: ignore[no-untyped-def]
    """Write down the angle of a vector turned upwards, and whether it was turned."""
    flip = y < 0.0 or (y == 0.0 and x < 0.0)
    angle[at] = np.arctan2(-y, -x) if flip else np.arctan2(y, x)
    if angle[at] >= np.pi - _SAME_ANGLE:  # a hair below half a turn is a hair below none, turned
        angle[at] = 0.0
        flip = not flip
    flipped[at] = flip


@compiled
def best_line(points, up, down):  # type: ignore[no-untyped-def]
    """Turn a line about every point; return cost, point, angle and side of the best."""
    count = points.shape[0]
    angle = np.empty(count)
    flipped = np.empty(count, dtype=np.bool_)
    costs_up, costs_down = np.empty(count), np.empty(count)
    best, best_first, best_angle, best_side = np.inf, 0, 0.0, 1.0
    for p in range(count):
        m = 0
        for i in range(count):
            if i != p:
                x, y = points[i, 0] - points[p, 0], points[i, 1] - points[p, 1]
                _put(angle, flipped, m, x, y)
                costs_up[m], costs_down[m] = up[i], down[i]
                m += 1
        cost, at, side = turn(angle, flipped, costs_up, costs_down, m)
        cost += min(up[p], down[p])
        if cost < best:
            best, best_first, best_angle, best_side = cost, p, at, side
    return best, best_first, best_angle, best_side


@compiled
def _line_cost(along, up, down, count):  # type: ignore[no-untyped-def]
    """Return the least cost of a threshold on points of the axis."""
    order = np.argsort(along[:count])
    cost, total = 0.0, 0.0
    for i in range(count):
        cost += down[i]
        total += up[i] + down[i]
    best = min(cost, total - cost)
    for k in range(count):
        cost += up[order[k]] - down[order[k]]
        best = min(best, cost, total - cost)
    return best


@compiled
def best_plane(points, up, down):  # type: ignore[no-untyped-def]
    """Turn a plane about the line through every two points."""
    count = points.shape[0]
    angle, along = np.empty(count), np.empty(count)
    flipped = np.empty(count, dtype=np.bool_)
    ups, downs = np.empty(count), np.empty(count)
    axis_ups, axis_downs = np.empty(count), np.empty(count)
    best, best_first, best_second, best_angle, best_side = np.inf, 0, 1, 0.0, 1.0
    for p in range(count):
        for q in range(p + 1, count):
            axis = points[q] - points[p]
            axis = axis / np.sqrt((axis * axis).sum())
            one, two = _frame(axis)
            m, on = 0, 0
            for i in range(count):
                a = points[i, 0] - points[p, 0]
                b = points[i, 1] - points[p, 1]
                c = points[i, 2] - points[p, 2]
                x = a * one[0] + b * one[1] + c * one[2]
                y = a * two[0] + b * two[1] + c * two[2]
                if i in (p, q) or x * x + y * y <= _ON_AXIS**2 * (a * a + b * b + c * c):
                    along[on] = a * axis[0] + b * axis[1] + c * axis[2]
                    axis_ups[on], axis_downs[on] = up[i], down[i]
                    on += 1
                else:
                    _put(angle, flipped, m, x, y)
                    ups[m], downs[m] = up[i], down[i]
                    m += 1
            cost, at, side = turn(angle, flipped, ups, downs, m)
            if on == 2:
                cost += min(up[p], down[p]) + min(up[q], down[q])
            else:
                cost += _line_cost(along, axis_ups, axis_downs, on)
            if cost < best:
                best, best_first, best_second = cost, p, q
                best_angle, best_side = at, side
    return best, best_first, best_second, best_angle, best_side
