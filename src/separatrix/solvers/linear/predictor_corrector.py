"""One interior-point run on chosen rows: Mehrotra's predictor and corrector (1992).

    min over v, b, xi   1/2 sum_j q_j v_j^2 + 1/2 p b^2 + sum_i c_i xi_i
    subject to          y_i (v.V_i + b) = 1 - xi_i + s_i,   xi >= 0,  s >= 0

with alpha in [0, c] for the rows. At the optimum q v = V^T (y alpha), alpha s = 0 and
(c - alpha) xi = 0; the run follows the points where both products are mu and lets mu fall to 0.
Each step eliminates all but v and b: diag(q) + V^T D V, bordered for b, is factored once and
solved with three times (predictor, corrector, and one more for centrality). Cost inf drops xi.

For every v and mu the slacks and alpha that are exactly centred are known in closed form, and
balanced by the choice of b: so any v is a start, and what is left is the residual q v -
V^T (y alpha), which a step of length t shrinks by 1 - t. alpha is feasible and balanced throughout.

The rows (`ScaledRows`, or `ChosenRows` on a device) make the products with V and factor the system;
`Pairs` (`DevicePairs` there) does what is done row by row. A `Run` knows nothing of where they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled import compiled, inlined

# ---- what each row's alpha and slacks do
#
#     alpha s = mu,   (c - alpha) xi = mu,   1 - margin = xi - s          for every row
#
# Eliminating s and xi from the linearised equations leaves, for a change dm of the margin,
#
#     d_alpha = D (rhs - dm),   D = 1 / (s / alpha + xi / (c - alpha))
#
# Each loop goes over the rows once and stores as little as it can: changes are computed again where
# they are needed, because a division is cheaper than a vector in memory.

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
    # Huge ends may be one number: a width of 0 would stay 0.
    width = max(high - low, math.ulp(max(abs(low), abs(high))))
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


# ---- the run

NEARLY_ALL = 0.9995
# Steps for centrality in each iteration, how much further they aim, and what makes one worth it.
CORRECTIONS = 2
STRETCH, FURTHER, WORTH_IT = 1.5, 0.3, 0.99
# Margins and residual are computed afresh every so many steps, and near the optimum: there the
# rounding of long steps is what the next step has to mend.
REFRESH, DRIFTS = 8, 1e-4
LESS = 0.9  # of the best gap so far: that is progress


@dataclass
class Run:
    """The iterate: weights, and the pairs of every row with margins y (V v + b) up to date."""

    rows: Any
    pairs: Pairs
    quadratic: Any  # q, and p in the last place (0: the bias is free)
    has_bias: bool
    v: Any  # [v, b]
    residual: Any = field(default=None)
    steps: int = 0
    last_step: float = 1.0
    last_gap: float = 1.0
    passes: float = 0.0

    def refresh(self) -> None:
        """Compute margins and residual afresh."""
        self.passes += 1.0
        pairs = self.pairs
        pairs.margins = pairs.signs * (self.rows.dot(self.v[:-1]) + self.v[-1])
        self.renew_residual()

    def renew_residual(self) -> None:
        """Compute q v - [V 1]^T (y alpha)."""
        pairs = self.pairs
        self.residual = self.quadratic * self.v - self.gather(pairs.signs * pairs.alpha)
        if not self.has_bias:
            self.residual[-1] = 0.0

    def gather(self, shares: Any) -> Any:
        """Return [V 1]^T shares."""
        self.passes += 1.0
        total = shares.sum() if self.has_bias else shares[:0].sum()
        return self.rows.xp.hstack([self.rows.transposed_dot(shares), total])

    def objectives(self) -> tuple[float, float]:
        """Return the primal and the dual value of this problem, from what is kept."""
        v, q, pairs = self.v, self.quadratic, self.pairs
        quadratic = 0.5 * float(q @ (v * v))
        primal = quadratic + float(pairs.costs @ (1.0 - pairs.margins).clip(0.0))
        u = q * v - self.residual
        inverse = self.rows.xp.where(q > 0.0, 1.0 / q, 0.0)
        return primal, float(pairs.alpha.sum()) - 0.5 * float(inverse @ (u * u))


def centred_run(
    rows: Any, pairs: Pairs, quadratic: Any, has_bias: bool, v: Any = None, mu: float = np.inf
) -> Run:
    """Begin at v, or at 0, exactly centred, with the b that balances alpha where b is free."""
    mu, v = min(float(pairs.costs.mean()), mu), rows.xp.zeros_like(quadratic) if v is None else v
    scores = rows.dot(v[:-1])
    if has_bias and quadratic[-1] == 0.0:
        v[-1] = _balancing_bias(pairs, scores, mu)
    pairs.centre(scores, float(v[-1]), mu)
    run = Run(rows, pairs, quadratic, has_bias, v)
    run.renew_residual()
    return run


def _balancing_bias(pairs: Pairs, scores: Any, mu: float) -> float:
    """Find b with sum y alpha(b) = 0: the sum falls as b grows."""
    low, high = float(-scores.max()) - 1.0, float(-scores.min()) + 1.0
    enough = 1e-14 * float(pairs.costs.sum())
    return falling_root(lambda bias: pairs.centre(scores, bias, mu), low, high, enough)


def hard_run(rows: Any, pairs: Pairs, quadratic: np.ndarray, has_bias: bool) -> Run:
    """Begin the hard margin at the difference of the class means, of the best length."""
    signs, v = pairs.signs, np.zeros(rows.width + 1)
    alpha = np.where(signs > 0.0, 1.0 / max(1, (signs > 0).sum()), 1.0 / max(1, (signs < 0).sum()))
    pulled = rows.transposed_dot(signs * alpha)
    square = float((pulled / quadratic[:-1]) @ pulled)
    length = float(alpha.sum()) / square if square > 0.0 else 1.0
    pairs.alpha, pairs.above = alpha * length, np.zeros(len(signs))
    v[:-1] = length * pulled / quadratic[:-1]
    scores = rows.dot(v[:-1])
    if has_bias and quadratic[-1] == 0.0 and (signs > 0).any() and (signs < 0).any():
        v[-1] = -0.5 * (scores[signs > 0].mean() + scores[signs < 0].mean())
    run = Run(rows, pairs, quadratic, has_bias, v)
    run.refresh()
    pairs.below = np.maximum(pairs.margins - 1.0, 1.0)
    return run


# ---- one step


def iteration(run: Run) -> tuple[bool, float, float]:
    """Make one step; return whether it came to something, and the two objectives."""
    has_moved = _step(run)
    primal, dual = run.objectives()
    if run.steps % REFRESH == 0 or primal - dual <= DRIFTS * abs(primal):
        run.refresh()
        primal, dual = run.objectives()
    run.last_gap = (primal - dual) / abs(primal) if primal else 0.0
    return has_moved, primal, dual


def _step(run: Run) -> bool:
    """Make one step; False where the matrix could not be factored or the step came to nothing."""
    pairs = run.pairs
    weights, shares, total = pairs.weigh()
    mu = total / pairs.count
    factor = run.rows.factored(weights, run.quadratic, run.has_bias, run.last_gap)
    run.passes += 1.0
    if factor is None:
        return False
    dv, moved = _direction(run, factor, shares)
    corrections, fall, linear, square = pairs.predict(weights, moved, dv[-1])
    reach = min(1.0, 1.0 / fall) if fall > 0.0 else 1.0
    left = max(0.0, 1.0 + reach * (linear + reach * square) / (pairs.count * mu))
    target = min(1.0, left**3) * mu
    shares = pairs.shares_for(weights, target, *corrections)
    dv, moved = _direction(run, factor, shares)
    aim = Aim(weights, moved, dv[-1], target, *corrections)
    dv, aim, fall = _nearer_the_centre(run, factor, dv, aim)
    keep_off = NEARLY_ALL if run.last_step > 0.9 else 0.99
    length = min(1.0, keep_off / fall) if fall > 0.0 else 1.0
    if not (bool(run.rows.xp.isfinite(dv).all()) and np.isfinite(length)):
        return False
    pairs.step(aim, length)
    run.v = run.v + length * dv
    run.residual = run.residual * (1.0 - length)
    run.steps += 1
    run.last_step = length
    return length > 1e-10


def _nearer_the_centre(run: Run, factor: Any, dv: Any, aim: Aim) -> tuple[Any, Aim, float]:
    """Correct the direction while that allows a longer step; return it with its greatest fall."""
    fall = run.pairs.fall(aim)
    for _ in range(CORRECTIONS):
        if fall <= 1.0:
            break
        hoped = min(1.0, STRETCH / fall + FURTHER)
        corrections, shares = run.pairs.recentred(aim, hoped)
        new_dv, moved = _direction(run, factor, shares)
        new_aim = Aim(aim.weights, moved, new_dv[-1], aim.target, *corrections)
        new_fall = run.pairs.fall(new_aim)
        if not max(1.0, new_fall) < WORTH_IT * fall:
            break
        dv, aim, fall = new_dv, new_aim, new_fall
    return dv, aim, fall


def _direction(run: Run, factor: Any, shares: Any) -> tuple[Any, Any]:
    """Return the change of [v, b], and V times that of v, written over the shares it answers."""
    dv = factor.solve(run.gather(shares) - run.residual)
    run.passes += 1.0
    return dv, run.rows.dot(dv[:-1], out=shares)
