"""The row-by-row part of an interior point's step: what each row's alpha and slacks do.

    alpha s = mu,   (c - alpha) xi = mu,   1 - margin = xi - s          for every row

Eliminating s and xi from the linearised equations leaves, for a change dm of the margin,

    d_alpha = D (rhs - dm),   D = 1 / (s / alpha + xi / (c - alpha))

Each loop goes over the rows once and stores as little as it can: changes are computed again where
they are needed, because a division is cheaper than a vector in memory. Cost inf has xi = 0 and no
upper end. `solvers.linear.device` has the same class in whole-array operations.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled import compiled, inlined

__all__ = [
    "SPREAD", "TINY", "Aim", "Pairs", "fall_of", "falling_root", "predicted", "recentred",
    "shares_for", "stepped", "weighed",
]  # fmt: skip

# Products are brought to within this factor of the target, from both sides.
SPREAD = 10.0
TINY = float(np.finfo(np.float64).tiny)


class Aim(NamedTuple):
    """A direction: D, V dv and db; and what it sends the two products of every row to.

    Products go to the target and a part of their own, `for_below` and `for_above`.
    """

    weights: Any
    moved: Any
    db: Any
    target: float
    for_below: Any
    for_above: Any


class _At(NamedTuple):
    """What the loops read and write."""

    signs: np.ndarray
    costs: np.ndarray
    alpha: np.ndarray
    below: np.ndarray
    above: np.ndarray
    margins: np.ndarray


class Pairs:
    """alpha, its slacks s (`below`) and xi (`above`), and the margins of every row."""

    alpha: Any
    below: Any
    above: Any
    margins: Any

    def __init__(self, signs: Any, costs: Any) -> None:
        self.signs, self.costs = signs, costs
        n = len(signs)
        self.alpha, self.below, self.above, self.margins = (np.empty(n) for _ in range(4))
        # How many products are 0 at the optimum: one a row where alpha has no upper end.
        self.count = n if bool(np.isinf(costs).any()) else 2 * n

    @property
    def at(self) -> _At:
        """What the loops read and write."""
        return _At(self.signs, self.costs, self.alpha, self.below, self.above, self.margins)

    def centre(self, scores: Any, bias: float, mu: float) -> tuple[float, float]:
        """Go to the point exactly centred at mu; return the sum of y alpha and its slope in b."""
        total, slope = _centre(self.at, scores, bias, mu)
        return float(total), float(slope)

    def weigh(self) -> tuple[Any, Any, float]:
        """Return D, y D (1 - margin) for the predictor, and the sum of all products."""
        weights, shares = np.empty_like(self.alpha), np.empty_like(self.alpha)
        return weights, shares, weighed(self.at, weights, shares)

    def predict(self, weights: Any, moved: Any, db: Any) -> tuple[Any, float, float, float]:
        """Go for products of 0.

        Return the second-order terms of both products, the greatest relative fall of anything, and
        the sum of products after a step t as the coefficients of t and t^2.
        """
        terms = np.empty_like(self.alpha), np.empty_like(self.alpha)
        return terms, *predicted(self.at, weights, moved, db, *terms)

    def shares_for(self, weights: Any, target: float, for_below: Any, for_above: Any) -> Any:
        """Return y D rhs where the products are sent to the target and their own part."""
        shares = np.empty_like(self.alpha)
        shares_for(self.at, weights, target, for_below, for_above, shares)
        return shares

    def fall(self, aim: Aim) -> float:
        """Return the greatest relative fall of anything in this direction."""
        return float(fall_of(self.at, aim))

    def recentred(self, aim: Aim, length: float) -> tuple[Any, Any]:
        """Aim again: products that a step of this length leaves far from the target are corrected.

        Gondzio (1996): products below a tenth of the target are raised to it, those above ten times
        are lowered, but by no more than that. Returns the new parts of both products, and y D rhs.
        """
        below, above, shares = (np.empty_like(self.alpha) for _ in range(3))
        recentred(self.at, aim, length, below, above, shares)
        return (below, above), shares

    def step(self, aim: Aim, length: float) -> None:
        """Move alpha, slacks and margins by `length` of this direction."""
        stepped(self.at, aim, length)


@compiled
def _centre(at, scores, bias, mu):  # type: ignore[no-untyped-def]
    """alpha solves mu / (c - alpha) - mu / alpha = 1 - margin."""
    total, slope = 0.0, 0.0
    for i in range(scores.shape[0]):
        c, m = at.costs[i], at.signs[i] * (scores[i] + bias)
        lean = (1.0 - m) * (c / (2.0 * mu))
        size, root = abs(lean), math.sqrt(1.0 + lean * lean)
        # The smaller part of the box, (1 - size / (1 + root)) / 2, without its cancellation.
        small = 0.5 * c * (1.0 + 1.0 / (root + size)) / (1.0 + root)
        large = c - small
        a = large if lean > 0.0 else small
        s = mu / a
        x = mu / (small if lean > 0.0 else large)
        total += at.signs[i] * a
        slope -= 1.0 / (s / a + x / (c - a))
        at.alpha[i], at.below[i], at.above[i], at.margins[i] = a, s, x, m
    return total, slope


@compiled
def weighed(at, weights, shares):  # type: ignore[no-untyped-def]
    """Write D and y D (1 - margin); return the sum of all products."""
    total = 0.0
    for i in range(weights.shape[0]):
        a, s, x, room = at.alpha[i], at.below[i], at.above[i], at.costs[i] - at.alpha[i]
        weight = 1.0 / (s / a + x / room)
        weights[i] = weight
        shares[i] = at.signs[i] * weight * (1.0 - at.margins[i])
        total += a * s
        if x > 0.0:
            total += room * x
    return total


@inlined
def _changes(at, i, weight, dm, to_below, to_above):  # type: ignore[no-untyped-def]
    """Return d_alpha, d_s, d_xi where the products are sent to `to_below` and `to_above`."""
    a, s, x = at.alpha[i], at.below[i], at.above[i]
    per_a, per_room = 1.0 / a, 1.0 / (at.costs[i] - a)
    da = weight * (1.0 - at.margins[i] + to_below * per_a - to_above * per_room - dm)
    return da, (to_below - s * da) * per_a - s, (to_above + x * da) * per_room - x


@inlined
def _aimed(at, aim, i):  # type: ignore[no-untyped-def]
    """Return the change of the margin, and those of alpha, s and xi."""
    dm = at.signs[i] * (aim.moved[i] + aim.db)
    to_below, to_above = aim.target + aim.for_below[i], aim.target + aim.for_above[i]
    da, ds, dx = _changes(at, i, aim.weights[i], dm, to_below, to_above)
    return dm, da, ds, dx


@compiled
def predicted(at, weights, moved, db, for_below, for_above):  # type: ignore[no-untyped-def]
    """Write the second-order terms; return the greatest fall, and how the products sum up."""
    fastest, linear, square = 0.0, 0.0, 0.0
    for i in range(weights.shape[0]):
        a, s, x, room = at.alpha[i], at.below[i], at.above[i], at.costs[i] - at.alpha[i]
        dm = at.signs[i] * (moved[i] + db)
        da, ds, dx = _changes(at, i, weights[i], dm, 0.0, 0.0)
        fastest = _faster(fastest, at, i, da, ds, dx)
        for_below[i] = -da * ds
        for_above[i] = da * dx
        linear += a * ds + s * da
        square += da * ds
        if x > 0.0:
            linear += room * dx - x * da
            square -= da * dx
    return fastest, linear, square


@inlined
def _faster(fastest, at, i, da, ds, dx):  # type: ignore[no-untyped-def]
    """Keep the greatest relative fall; divide only where there is a new one."""
    a, s, x, room = at.alpha[i], at.below[i], at.above[i], at.costs[i] - at.alpha[i]
    if -da > fastest * a:
        fastest = -da / a
    if -ds > fastest * s:
        fastest = -ds / s
    if x > 0.0:
        if da > fastest * room:
            fastest = da / room
        if -dx > fastest * x:
            fastest = -dx / x
    return fastest


@compiled
def shares_for(at, weights, target, for_below, for_above, shares):  # type: ignore[no-untyped-def]
    """Write y D rhs where the products are sent to the target and their own part."""
    for i in range(weights.shape[0]):
        a = at.alpha[i]
        rhs = 1.0 - at.margins[i] + (target + for_below[i]) / a
        rhs -= (target + for_above[i]) / (at.costs[i] - a)
        shares[i] = at.signs[i] * weights[i] * rhs


@compiled
def fall_of(at, aim):  # type: ignore[no-untyped-def]
    """Return the greatest relative fall of anything in this direction."""
    fastest = 0.0
    for i in range(aim.weights.shape[0]):
        _, da, ds, dx = _aimed(at, aim, i)
        fastest = _faster(fastest, at, i, da, ds, dx)
    return fastest


@compiled
def recentred(at, aim, length, new_below, new_above, shares):  # type: ignore[no-untyped-def]
    """Write the new parts of both products, and y D rhs."""
    target = aim.target
    low, high = target / SPREAD, target * SPREAD
    for i in range(aim.weights.shape[0]):
        a, s, x, room = at.alpha[i], at.below[i], at.above[i], at.costs[i] - at.alpha[i]
        _, da, ds, dx = _aimed(at, aim, i)
        to_below, to_above = target + aim.for_below[i], target + aim.for_above[i]
        product = (a + length * da) * (s + length * ds)
        to_below += max(min(max(product, low), high) - product, -high)
        if x > 0.0:
            product = (room - length * da) * (x + length * dx)
            to_above += max(min(max(product, low), high) - product, -high)
        new_below[i] = to_below - target
        new_above[i] = to_above - target
        short = 1.0 - at.margins[i]
        shares[i] = at.signs[i] * aim.weights[i] * (short + to_below / a - to_above / room)


@compiled
def stepped(at, aim, length):  # type: ignore[no-untyped-def]
    """Move alpha, slacks and margins by `length` of this direction."""
    for i in range(aim.weights.shape[0]):
        dm, da, ds, dx = _aimed(at, aim, i)
        at.alpha[i] = min(max(at.alpha[i] + length * da, TINY), at.costs[i])
        at.below[i] += length * ds
        at.above[i] += length * dx
        at.margins[i] += length * dm


def falling_root(
    value_and_slope: Callable[[float], tuple[float, float]], low: float, high: float, enough: float
) -> float:
    """Find where a falling function is zero, or nearer to it than `enough`.

    Newton's steps kept between two ends, which are first moved apart until the function has both
    signs between them.
    """
    width = high - low
    while value_and_slope(low)[0] < 0.0 and width < 1e300:
        low, width = low - width, 2.0 * width
    while value_and_slope(high)[0] > 0.0 and width < 1e300:
        high, width = high + width, 2.0 * width
    place = 0.5 * (low + high)
    for _ in range(100):
        over, slope = value_and_slope(place)
        if abs(over) <= enough or not low < place < high:
            break
        low, high = (place, high) if over > 0.0 else (low, place)
        # Where all terms are flat to rounding there is no slope to follow.
        place = place - over / slope if slope else low
        if not low < place < high:
            place = 0.5 * (low + high)
    return place
