"""The row-by-row part of an interior point's step: what each row's alpha and slacks do.

    alpha s = mu,   (c - alpha) xi = mu,   1 - margin = xi - s          for every row

Eliminating s and xi from the linearised equations leaves, for a change dm of the margin,

    d_alpha = D (rhs - dm),   D = 1 / (s / alpha + xi / (c - alpha))

Each loop goes over the rows once and stores as little as it can: changes are computed again where
they are needed, because a division is cheaper than a vector in memory. `for_below` and `for_above`
are the targets of the two products, less their values: the part beyond the common target.
Cost inf has xi = 0 and no upper end.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from separatrix._compiled import compiled, inlined

__all__ = [
    "apply_step", "centre", "falling_root", "measure", "predict", "recentre", "shares_for", "weigh",
]  # fmt: skip

# Products are brought to within this factor of the target, from both sides.
_SPREAD = 10.0


@inlined
def _changes(a, s, x, c, weight, short, dm, below_to, above_to):  # type: ignore[no-untyped-def]
    """Return d_alpha, d_s, d_xi where the products are sent to `below_to` and `above_to`."""
    per_a, per_room = 1.0 / a, 1.0 / (c - a)
    da = weight * (short + below_to * per_a - above_to * per_room - dm)
    return da, (below_to - s * da) * per_a - s, (above_to + x * da) * per_room - x


@compiled
def centre(signs, costs, scores, bias, mu, alpha, below, above, margins):  # type: ignore[no-untyped-def]
    """Write the point that is exactly centred at mu; return the sum of y alpha and its slope in b.

    alpha solves mu / (c - alpha) - mu / alpha = 1 - margin.
    """
    total, slope = 0.0, 0.0
    for i in range(scores.shape[0]):
        c, m = costs[i], signs[i] * (scores[i] + bias)
        lean = (1.0 - m) * (c / (2.0 * mu))
        size, root = abs(lean), math.sqrt(1.0 + lean * lean)
        # The smaller part of the box, (1 - size / (1 + root)) / 2, without its cancellation.
        small = 0.5 * c * (1.0 + 1.0 / (root + size)) / (1.0 + root)
        large = c - small
        a = large if lean > 0.0 else small
        s = mu / a
        x = mu / (small if lean > 0.0 else large)
        total += signs[i] * a
        slope -= 1.0 / (s / a + x / (c - a))
        alpha[i], below[i], above[i], margins[i] = a, s, x, m
    return total, slope


@compiled
def weigh(signs, costs, alpha, below, above, margins, weights, shares):  # type: ignore[no-untyped-def]
    """Write D, and y D (1 - margin) for the predictor; return the sum of all products."""
    total = 0.0
    for i in range(alpha.shape[0]):
        a, s, x, room = alpha[i], below[i], above[i], costs[i] - alpha[i]
        weight = 1.0 / (s / a + x / room)
        weights[i] = weight
        shares[i] = signs[i] * weight * (1.0 - margins[i])
        total += a * s
        if x > 0.0:
            total += room * x
    return total


@compiled
def predict(signs, costs, alpha, below, above, margins, weights, moved, db, for_below, for_above):  # type: ignore[no-untyped-def]
    """Go for products of 0; write the second-order terms.

    Return the greatest relative fall of anything, and the sum of products after a step t as the
    coefficients of t and t^2.
    """
    fastest, linear, square = 0.0, 0.0, 0.0
    for i in range(alpha.shape[0]):
        a, s, x, c = alpha[i], below[i], above[i], costs[i]
        dm = signs[i] * (moved[i] + db)
        da, ds, dx = _changes(a, s, x, c, weights[i], 1.0 - margins[i], dm, 0.0, 0.0)
        fastest = _faster(fastest, a, s, x, c - a, da, ds, dx)
        for_below[i] = -da * ds
        for_above[i] = da * dx
        linear += a * ds + s * da
        square += da * ds
        if x > 0.0:
            linear += (c - a) * dx - x * da
            square -= da * dx
    return fastest, linear, square


@inlined
def _faster(fastest, a, s, x, room, da, ds, dx):  # type: ignore[no-untyped-def]
    """Keep the greatest relative fall; divide only where there is a new one."""
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
def shares_for(  # type: ignore[no-untyped-def]
    signs, costs, alpha, margins, weights, target, for_below, for_above, shares
):
    """Write y D rhs where the products are sent to the target and their own part."""
    for i in range(alpha.shape[0]):
        a = alpha[i]
        rhs = 1.0 - margins[i] + (target + for_below[i]) / a
        rhs -= (target + for_above[i]) / (costs[i] - a)
        shares[i] = signs[i] * weights[i] * rhs


@compiled
def measure(  # type: ignore[no-untyped-def]
    signs, costs, alpha, below, above, margins, weights, moved, db, target, for_below, for_above
):
    """Return the greatest relative fall of anything in this direction."""
    fastest = 0.0
    for i in range(alpha.shape[0]):
        a, s, x, c = alpha[i], below[i], above[i], costs[i]
        dm = signs[i] * (moved[i] + db)
        to_below, to_above = target + for_below[i], target + for_above[i]
        da, ds, dx = _changes(a, s, x, c, weights[i], 1.0 - margins[i], dm, to_below, to_above)
        fastest = _faster(fastest, a, s, x, c - a, da, ds, dx)
    return fastest


@compiled
def recentre(  # type: ignore[no-untyped-def]
    signs,
    costs,
    alpha,
    below,
    above,
    margins,
    weights,
    moved,
    db,
    target,
    length,
    for_below,
    for_above,
    new_below,
    new_above,
    shares,
):
    """Aim again: products that a step of this length would leave far from the target are corrected.

    Gondzio (1996): products below a tenth of the target are raised to it, those above ten times are
    lowered, but by no more than that.
    """
    low, high = target / _SPREAD, target * _SPREAD
    for i in range(alpha.shape[0]):
        a, s, x, c = alpha[i], below[i], above[i], costs[i]
        room, short = c - a, 1.0 - margins[i]
        dm = signs[i] * (moved[i] + db)
        to_below, to_above = target + for_below[i], target + for_above[i]
        da, ds, dx = _changes(a, s, x, c, weights[i], short, dm, to_below, to_above)
        product = (a + length * da) * (s + length * ds)
        to_below += max(min(max(product, low), high) - product, -high)
        if x > 0.0:
            product = (room - length * da) * (x + length * dx)
            to_above += max(min(max(product, low), high) - product, -high)
        new_below[i] = to_below - target
        new_above[i] = to_above - target
        shares[i] = signs[i] * weights[i] * (short + to_below / a - to_above / room)


@compiled
def apply_step(  # type: ignore[no-untyped-def]
    signs,
    costs,
    alpha,
    below,
    above,
    margins,
    weights,
    moved,
    db,
    target,
    for_below,
    for_above,
    length,
):
    """Move alpha, slacks and margins by `length` of this direction."""
    for i in range(alpha.shape[0]):
        a, s, x, c = alpha[i], below[i], above[i], costs[i]
        dm = signs[i] * (moved[i] + db)
        to_below, to_above = target + for_below[i], target + for_above[i]
        da, ds, dx = _changes(a, s, x, c, weights[i], 1.0 - margins[i], dm, to_below, to_above)
        alpha[i] = min(max(a + length * da, _TINY), c)
        below[i] = s + length * ds
        above[i] = x + length * dx
        margins[i] += length * dm


_TINY = float(np.finfo(np.float64).tiny)


# ---- where a falling function of one number crosses zero: Newton's steps kept between two ends


def falling_root(
    value_and_slope: Callable[[float], tuple[float, float]], low: float, high: float, enough: float
) -> float:
    """Find the place where the function is zero, or nearer to it than `enough`.

    The ends are first moved apart until the function has both signs between them.
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
