"""Ends of profile-likelihood intervals.

An end of the interval of a linear form c'theta is where the largest value for that c'theta has
fallen to a level. Venzon and Moolgavkar (1988): Newton's method on the level and on the score of
what is free, together. Where that strays, the level is bracketed and each fit is warm-started.

Maximum likelihood where the classes are separated: estimates at infinity, finite ends.

The recession cone holds the directions d with y_i x_i'd >= 0 for all rows. Along them the
likelihood never falls. Rows that some such d puts strictly on its own side no longer count in the
limit; the others, on the boundary of every d, decide the supremum and the finite coefficients.

With one coefficient held the same is true of the columns without its own: the rows that count do
not depend on the value held. So the profile is that of these rows, and it is finite on a side
unless the cone has a direction there. All of these questions are decided exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from scipy.linalg import solve_triangular

from separatrix.core.separability import decided_rows
from separatrix.infer import loops
from separatrix.infer.likelihood import Likelihood, Point
from separatrix.infer.newton import maximise, metric
from separatrix.problem.exact import SignedRows
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.separability.peeling import peel

_CLOSE, _AT_LAST = 1e-11, 0.03
_MOST_STEPS = 40
_FARTHEST = 5.0
_MOST_DOUBLINGS = 40
_MOST_CUTS = 100
_MOST_BRACKETS = 20
_HIGHER = 1e-7  # than the level: another branch of the profile
# So much of a standard error, and of the value: from there the joint method closes in.
_NEAR, _LITTLE = 1e-4, 0.01


@dataclass(frozen=True, eq=False)
class End:
    """One end of an interval: its value, and the point where it is reached (None: infinite)."""

    value: float
    point: Point | None
    converged: bool = True


def profile_end(
    like: Likelihood,
    best: Point,
    held: np.ndarray,
    level: float,
    side: float,
    several: Sequence[np.ndarray] = (),
) -> End:
    """Return where the profile of `held`'theta falls to the level, above (side 1) or below (-1).

    `several` are other maxima. Then the profile has several branches, and counts the highest.
    """
    joint = _compiled_end if like.is_narrow else _venzon_moolgavkar
    found = joint(like, best, held, level, side)
    if found is not None and several:
        t = found.value
        highest = best_held(like, shifted([best.theta, *several], held, t), held, t)
        if highest is not None and highest.value > level + _HIGHER:
            found = None
    return _bracketed(like, best, held, level, side, several) if found is None else found


def shifted(points: Sequence[np.ndarray], held: np.ndarray, t: float) -> list[np.ndarray]:
    """Move points until the form has a value."""
    lift = held / float(held @ held)
    return [theta + lift * (t - float(held @ theta)) for theta in points]


def best_held(
    like: Likelihood,
    starts: Sequence[np.ndarray],
    held: np.ndarray,
    t: float,
    near: Point | None = None,
) -> Point | None:
    """Return the highest of the maxima above several starts, the form at t; None for none."""
    found = []
    for start in starts:
        try:
            found.append(maximise(like, start, held, t, near).point)
        except np.linalg.LinAlgError:
            continue
    return max(found, key=lambda each: each.value, default=None)


def _compiled_end(
    like: Likelihood, best: Point, held: np.ndarray, level: float, side: float
) -> End | None:
    form = np.ascontiguousarray(held)
    theta, value, settled = loops.joint_end(
        like.posed, np.ascontiguousarray(best.theta), best.look, form, level, side, like.new_look()
    )
    at = float(held @ theta)
    if not settled or abs(value - level) >= 1e-6 or side * (at - float(held @ best.theta)) <= 0.0:
        return None
    return End(at, like.at(theta, float(value)))


def _tangent(point: Point, held: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return Newton's step with `held` fixed, the direction along which free scores stay, and k.

    Both in the basis of theta; k is the curvature along the direction.
    """
    L = point.factor
    A, exact = metric(point)
    g = solve_triangular(L, point.score, lower=True, check_finite=False)
    c = solve_triangular(L, held, lower=True, check_finite=False)
    if exact:
        inverse = np.linalg.inv(A)
        s, along = inverse @ g, inverse @ c
    else:
        s, along = g, c
    reach = float(c @ along)
    if reach == 0.0:
        raise np.linalg.LinAlgError("the form does not move")
    along = along / reach
    s = s - along * float(c @ s)
    both = solve_triangular(L.T, np.column_stack([s, along]), lower=False, check_finite=False)
    return both[:, 0], both[:, 1], 1.0 / reach


def _joint_step(point: Point, held: np.ndarray, level: float, side: float) -> np.ndarray | None:
    """Return the step to the level and to a free score of zero; None where there is none.

    By a quadratic model of the profile, and by a linear one where that is not concave.
    """
    free, along, k = _tangent(point, held)
    slope = float(point.score @ along)
    above = point.value + 0.5 * float(point.score @ free) - level
    root = slope * slope + 2.0 * k * above
    if k > 0.0 and root >= 0.0:
        return np.asarray(free + along * ((slope + side * np.sqrt(root)) / k))
    if slope * side >= 0.0:
        return None
    return np.asarray(free - along * (above / slope))


def _venzon_moolgavkar(
    like: Likelihood, best: Point, held: np.ndarray, level: float, side: float
) -> End | None:
    centre, point = float(held @ best.theta), best
    last = np.inf
    try:
        for _ in range(_MOST_STEPS):
            step = _joint_step(point, held, level, side)
            if step is None:
                return None
            size = np.sqrt(max(0.0, float(step @ point.information @ step)))
            moved = float(abs(like.Z @ step).max(initial=0.0))
            point = like.at(point.theta + min(1.0, _FARTHEST / max(moved, 1e-300)) * step)
            # Steps shrink by the same share at least: the next would be as short as that.
            ahead = size * size / last if size < _AT_LAST and last < np.inf else size
            if ahead < _CLOSE or (size < 1e-8 and size >= 0.5 * last):
                value = float(held @ point.theta)
                right = side * (value - centre) > 0.0 and abs(point.value - level) < 1e-6
                return End(value, point) if right else None
            last = size
    except np.linalg.LinAlgError:
        return None
    return None


def _bracketed(
    like: Likelihood,
    best: Point,
    held: np.ndarray,
    level: float,
    side: float,
    several: Sequence[np.ndarray],
) -> End:
    """Double the distance until the profile is below the level, then close in on it."""
    centre = float(held @ best.theta)
    L = best.factor
    c = solve_triangular(L, held, lower=True, check_finite=False)
    unit = float(np.linalg.norm(c))
    along = solve_triangular(L.T, c, lower=False, check_finite=False) / unit

    def profile(t: float, *near: Point | None) -> Point:
        points = [each for each in near if each is not None]
        starts = [each.theta + along * ((t - float(held @ each.theta)) / unit) for each in points]
        starts += [_along_tangent(each, held, t) for each in points]
        if like.firth:
            starts += [best.theta + along * ((t - centre) / unit)]
            zero = np.zeros(len(held))
            starts += shifted([zero, *several, *(each.theta for each in points)], held, t)
        found = best_held(like, starts, held, t)
        if found is None:
            raise np.linalg.LinAlgError("no restricted fit")
        return found

    inner, reach = best, np.sqrt(2.0 * max(best.value - level, 1e-300)) * unit
    try:
        for _ in range(_MOST_BRACKETS):
            found = _bracket(profile, inner, held, level, side * reach)
            if found is None:
                return End(side * np.inf, None)
            inner, outer = _narrowed(profile, *found, held, level)
            again = profile(float(held @ outer.theta), inner)
            if again.value < level:
                break
            # A start farther away had missed this branch: go on along it by smaller steps.
            inner, reach = again, 100.0 * _NEAR * unit
    except np.linalg.LinAlgError:
        return End(np.nan, None, converged=False)
    polished = _polished(like, inner, held, level, side)
    return polished or End(float(held @ inner.theta), inner, converged=False)


def _along_tangent(point: Point, held: np.ndarray, t: float) -> np.ndarray:
    """Move a point until the form has a value, along the direction that its information says."""
    along = solve_triangular(point.factor, held, lower=True, check_finite=False)
    along = solve_triangular(point.factor.T, along, lower=False, check_finite=False)
    return np.asarray(point.theta + along * ((t - float(held @ point.theta)) / (held @ along)))


Profile = Callable[..., Point]


def _bracket(
    profile: Profile, inner: Point, held: np.ndarray, level: float, reach: float
) -> tuple[Point, Point] | None:
    """Double the distance from a point until the profile is below the level; None where never."""
    start = float(held @ inner.theta)
    for _ in range(_MOST_DOUBLINGS):
        point = profile(start + reach, inner)
        if point.value < level:
            return inner, point
        inner, reach = point, 2.0 * reach
    return None


def _deviation(point: Point, held: np.ndarray) -> float:
    """Return the standard error of the form by the information at a point."""
    return float(np.linalg.norm(solve_triangular(point.factor, held, lower=True)))


def _are_close(inner: Point, outer: Point, held: np.ndarray) -> bool:
    """Whether the joint method closes in from the inner point.

    What is near is decided there, and by how far the profile falls: the information at either
    point may be that of another scale.
    """
    apart = abs(float(held @ outer.theta) - float(held @ inner.theta))
    return apart <= _NEAR * _deviation(inner, held) and inner.value - outer.value <= _LITTLE


def _narrowed(
    profile: Profile, inner: Point, outer: Point, held: np.ndarray, level: float
) -> tuple[Point, Point]:
    """Close in on where the profile crosses the level."""
    for count in range(_MOST_CUTS):
        a, b = float(held @ inner.theta), float(held @ outer.theta)
        if _are_close(inner, outer, held):
            break
        fall = (inner.value - level) / (inner.value - outer.value)
        point = profile(a + (b - a) * (fall if count % 2 == 0 else 0.5), inner, outer)
        inner, outer = (point, outer) if point.value >= level else (inner, point)
    return inner, outer


def profile_root(like: Likelihood, null: Point, held: np.ndarray, level: float, side: float) -> End:
    """Return the end on one side of a profile that has no maximum on the other, from a fit of it.

    The profile is concave. It grows away from the side, and crosses the level once on the way.
    """

    def moved(start: Point, by: float) -> Point:
        lift = start.theta + held * (by / float(held @ held))
        L = start.factor
        along = solve_triangular(L, held, lower=True, check_finite=False)
        along = solve_triangular(L.T, along, lower=False, check_finite=False)
        tangent = start.theta + along * (by / float(held @ along))
        best = max((like.at(lift), like.at(tangent)), key=lambda each: each.value)
        return maximise(like, best.theta, held).point

    inner = outer = null
    step = _deviation(null, held)
    toward = -side if null.value < level else side
    for _ in range(_MOST_DOUBLINGS):
        ahead = moved(outer if toward == side else inner, toward * step)
        if toward == side:
            inner, outer = outer, ahead
        else:
            inner, outer = ahead, inner
        if inner.value >= level > outer.value:
            break
        step *= 2.0
    else:
        return End(np.nan, None, converged=False)
    for count in range(_MOST_CUTS):
        a, b = float(held @ inner.theta), float(held @ outer.theta)
        if _are_close(inner, outer, held):
            break
        share = (inner.value - level) / (inner.value - outer.value)
        t = a + (b - a) * (share if count % 2 == 0 else 0.5)
        point = moved(inner, min(max(t, min(a, b)), max(a, b)) - a)
        inner, outer = (point, outer) if point.value >= level else (inner, point)
    polished = _polished(like, inner, held, level, side)
    return polished or End(float(held @ inner.theta), inner, converged=False)


def _polished(
    like: Likelihood, near: Point, held: np.ndarray, level: float, side: float
) -> End | None:
    """Take a few steps of the joint method from a point next to the end."""
    start = float(held @ near.theta)
    point = near
    try:
        for _ in range(5):
            step = _joint_step(point, held, level, side)
            if step is None:
                return None
            point = like.at(point.theta + step)
    except np.linalg.LinAlgError:
        return None
    value = float(held @ point.theta)
    room = 10.0 * _NEAR * _deviation(near, held)
    return End(value, point) if abs(value - start) < room else None


# ---- maximum likelihood where the classes are separated: estimates at infinity, finite ends


_CLASSES = ("0", "1")


@dataclass(frozen=True, eq=False)
class Face:
    """The rows that count in the limit, and a direction that proves that no others do."""

    kind: str
    rows: np.ndarray  # true where a row counts
    direction: tuple[int, ...] = ()  # of the columns, in whole numbers; none where all rows count


def face_of(X: np.ndarray, signs: np.ndarray) -> Face:
    """Decide which rows no direction of the cone puts strictly on its own side."""
    n = len(signs)
    if X.shape[1] == 0:
        return Face("overlapping", np.ones(n, dtype=bool))
    decision = decided_rows(SignedProblem(X, signs, fit_intercept=False), _CLASSES)
    counted = np.ones(n, dtype=bool)
    direction: tuple[int, ...] = ()
    if decision.kind == "separable":
        counted[:] = False
    elif decision.kind == "quasi-separable":
        assert decision.boundary is not None, "a quasi-separation names its boundary"
        counted[:] = False
        counted[decision.boundary] = True
    if decision.kind in ("separable", "quasi-separable") and decision.certificate is not None:
        direction = _whole(decision.certificate().weights)
    return Face(decision.kind, counted, direction)


def boundary_of_columns(X: np.ndarray, signs: np.ndarray, intercept: bool) -> np.ndarray:
    """Return the rows that no direction of single columns puts strictly on its own side, exactly.

    A zero cell of a table is such a column.
    """
    _, live = peel(SignedRows(X, signs, intercept))
    left = np.zeros(len(signs), dtype=bool)
    left[live] = True
    return left


def _whole(weights: object) -> tuple[int, ...]:
    """Return the weights of a certificate, without the intercept, as whole numbers."""
    flat = np.asarray(weights, dtype=object).ravel().tolist()[1:]
    exact = [Fraction(v) for v in flat]
    scale = lcm(*(v.denominator for v in exact))
    return tuple(int(v * scale) for v in exact)


def runs_to(X: np.ndarray, signs: np.ndarray, column: int, side: float) -> Face | None:
    """Return a face whose direction moves one coefficient to this side; None where none does.

    A row more, of that coefficient alone, is strictly on its own side of just such a direction.
    """
    extra = np.zeros((1, X.shape[1]))
    extra[0, column] = 1.0
    face = face_of(np.vstack([X, extra]), np.append(signs, side))
    return None if face.rows[-1] else face
