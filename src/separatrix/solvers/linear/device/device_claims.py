"""What a run on a device claims, and hands over for proof; all of it float64, on the device.

alpha is balanced exactly (`balanced`, in whole-array steps on the device that holds the rows). For
the hinge it is put to the faces of its box, as `claims` does it on the host: which rows are
support vectors, and which are not.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix._device import torch_module
from separatrix.problem.losses import HINGE, SQUARED_HINGE
from separatrix.solvers.linear.claims import MachineState, best_bias, evened, hinge_bias_interval
from separatrix.solvers.linear.device.device_point import (
    DOUBLE,
    SINGLE,
    Factor,
    Point,
    Scaled,
    factored,
    scaled_on,
)
from separatrix.solvers.linear.predictor_corrector import SPREAD, TINY, Aim, Pairs, Run

# ---- what an interior point asks of rows, as `ScaledRows` and `Pairs` on the host: the same steps

# While the gap is above this, the matrix of rows held in float32 may be made of such products.
_SINGLE = 1e-2


class ChosenRows:
    """Some of the rows of V; the others get no weight."""

    def __init__(self, scaled: Scaled, chosen: np.ndarray) -> None:
        self.xp, self.scaled = torch_module(), scaled
        self.chosen = self.xp.as_tensor(chosen, device=scaled.rows.device)

    def dot(self, v: Any, out: Any = None) -> Any:
        """Return V v."""
        return self.scaled.dots(v[:, None])[self.chosen, 0]

    def transposed_dot(self, shares: Any) -> Any:
        """Return V^T shares."""
        return self.scaled.sums(self.spread_out(shares)[:, None])[:, 0]

    def spread_out(self, shares: Any) -> Any:
        """Return numbers of the chosen rows, 0 for the others."""
        whole = shares.new_zeros(self.scaled.rows.shape[0])
        whole[self.chosen] = shares
        return whole

    def factored(self, weights: Any, quadratic: Any, has_bias: bool, gap: float) -> Factor | None:
        """Make and factor diag(q) + [V 1]^T D [V 1]; None where nothing finite comes of it."""
        precision = SINGLE if gap > _SINGLE else DOUBLE
        matrix = self.scaled.squares(self.spread_out(weights), precision)
        matrix.diagonal().add_(quadratic)
        if not has_bias:
            # The last unknown is held at 0 by a one of its own.
            matrix[-1, :] = 0.0
            matrix[:, -1] = 0.0
            matrix[-1, -1] = 1.0
        return factored(matrix)


class DevicePairs(Pairs):
    """alpha, its slacks and the margins as tensors; every cost is finite."""

    def __init__(self, signs: Any, costs: Any) -> None:
        self.signs, self.costs, self.count = signs, costs, 2 * len(signs)

    @property
    def _room(self) -> Any:
        return self.costs - self.alpha

    def centre(self, scores: Any, bias: float, mu: float) -> tuple[float, float]:
        """Go to the point exactly centred at mu; return the sum of y alpha and its slope in b."""
        torch = torch_module()
        self.margins = self.signs * (scores + bias)
        lean = (1.0 - self.margins) * (self.costs / (2.0 * mu))
        size, root = lean.abs(), (1.0 + lean * lean).sqrt()
        # The smaller part of the box, (1 - size / (1 + root)) / 2, without its cancellation.
        small = 0.5 * self.costs * (1.0 + 1.0 / (root + size)) / (1.0 + root)
        large = self.costs - small
        self.alpha = torch.where(lean > 0.0, large, small)
        self.below, self.above = mu / self.alpha, mu / torch.where(lean > 0.0, small, large)
        return float(self.signs @ self.alpha), -float(self._weights().sum())

    def _weights(self) -> Any:
        return 1.0 / (self.below / self.alpha + self.above / self._room)

    def weigh(self) -> tuple[Any, Any, float]:
        """Return D, y D (1 - margin) for the predictor, and the sum of all products."""
        weights = self._weights()
        total = self.alpha @ self.below + self._room @ self.above
        return weights, self.signs * weights * (1.0 - self.margins), float(total)

    def predict(self, weights: Any, moved: Any, db: Any) -> tuple[Any, float, float, float]:
        """Go for products of 0, as `Pairs.predict`."""
        _, da, ds, dx = self._changes(Aim(weights, moved, db, 0.0, 0.0, 0.0))
        linear = self.alpha @ ds + self.below @ da + self._room @ dx - self.above @ da
        square = da @ ds - da @ dx
        return (-da * ds, da * dx), self._fall(da, ds, dx), float(linear), float(square)

    def shares_for(self, weights: Any, target: float, for_below: Any, for_above: Any) -> Any:
        """Return y D rhs where the products are sent to the target and their own part."""
        rhs = 1.0 - self.margins + (target + for_below) / self.alpha
        return self.signs * weights * (rhs - (target + for_above) / self._room)

    def fall(self, aim: Aim) -> float:
        """Return the greatest relative fall of anything in this direction."""
        return self._fall(*self._changes(aim)[1:])

    def recentred(self, aim: Aim, length: float) -> tuple[Any, Any]:
        """Aim again, as `Pairs.recentred`."""
        _, da, ds, dx = self._changes(aim)
        low, high = aim.target / SPREAD, aim.target * SPREAD
        below = (self.alpha + length * da) * (self.below + length * ds)
        above = (self._room - length * da) * (self.above + length * dx)
        parts = (
            aim.for_below + (below.clamp(low, high) - below).clamp(min=-high),
            aim.for_above + (above.clamp(low, high) - above).clamp(min=-high),
        )
        return parts, self.shares_for(aim.weights, aim.target, *parts)

    def step(self, aim: Aim, length: float) -> None:
        """Move alpha, slacks and margins by `length` of this direction."""
        dm, da, ds, dx = self._changes(aim)
        alpha = (self.alpha + length * da).clamp(min=TINY)
        self.alpha = torch_module().minimum(alpha, self.costs)
        self.below, self.above = self.below + length * ds, self.above + length * dx
        self.margins = self.margins + length * dm

    def _changes(self, aim: Aim) -> tuple[Any, Any, Any, Any]:
        """Return the changes of the margins, alpha, s and xi."""
        to_below, to_above = aim.target + aim.for_below, aim.target + aim.for_above
        dm = self.signs * (aim.moved + aim.db)
        rhs = 1.0 - self.margins + to_below / self.alpha - to_above / self._room
        da = aim.weights * (rhs - dm)
        ds = (to_below - self.below * da) / self.alpha - self.below
        dx = (to_above + self.above * da) / self._room - self.above
        return dm, da, ds, dx

    def _fall(self, da: Any, ds: Any, dx: Any) -> float:
        sizes = (-da / self.alpha, da / self._room, -ds / self.below, -dx / self.above)
        return max(0.0, float(torch_module().stack([part.amax() for part in sizes]).amax()))


# ---- claims

_BOLDNESS = (1.0, 0.1, 0.01)
# An interior point leaves every row between its bounds: those nearer to one than this are at it.
_AT_A_BOUND = 1e-3
_HALF = 26  # bits: sums of the high and the low halves of 2^36 rows stay below 2^63
_MOST = 2**53
_TINY = 2.0**-1022

Claim = tuple[np.ndarray, np.ndarray, tuple[float, float], bool]


def claimed(state: MachineState) -> Claim:
    """Return [b, w], alpha, the interval of best biases, and whether the faces are settled."""
    w = state.w
    if not (0.0 < state.primal < np.inf and state.dual >= 0.0):
        # Nothing was to be done, or nothing found; alpha = 0 is always feasible.
        return w, state.alpha, (float(w[0]), float(w[0])), True
    if state.problem.loss == HINGE:
        claims: HingeClaims = state.memory.claims
        return claims.handed_over()
    return w, _smooth(state.memory[0]), (float(w[0]), float(w[0])), True


def _smooth(point: Point) -> np.ndarray:
    """Return the best alpha of the first model."""
    torch = torch_module()
    alpha, costs = point.claimed[:, 0], point.costs[:, 0]
    if point.has_free_bias:
        unbounded = point.loss == SQUARED_HINGE
        upper = torch.where(costs > 0.0, torch.inf, costs) if unbounded else costs
        alpha = balanced(alpha, point.signs[:, 0], upper)
    return np.asarray(alpha.cpu().numpy())


class HingeClaims:
    """The best weights and alpha of an interior point, valued on the device."""

    def __init__(self, state: MachineState) -> None:
        torch, problem = torch_module(), state.problem
        self.state, self.used = state, np.flatnonzero(problem.costs > 0.0)
        self.rows = ChosenRows(scaled_on(problem.X, problem.has_free_bias), self.used)
        self.signs = problem.X.tensor(problem.signs[self.used])
        self.costs = problem.X.tensor(problem.costs[self.used])
        self.has_bias = problem.rows.fit_intercept
        scale = self.rows.scaled.scale
        last = scale.new_full((1,), problem.bias_penalty if self.has_bias else 1.0)
        self.quadratic = torch.cat([1.0 / scale.square(), last])
        self.v, self.alpha = torch.zeros_like(self.quadratic), torch.zeros_like(self.costs)

    def begin(self, w: np.ndarray | None, alpha: np.ndarray | None) -> None:
        """Begin with w = 0 and its best bias, and with the claim handed over where it is better."""
        torch, X = torch_module(), self.state.problem.X
        self._primal(self.v)
        if w is not None:
            given = X.tensor(w)
            v, bias = self.rows.scaled.inner(given[1:, None], given[0] * self.has_bias)
            self._primal(torch.cat([v[:, 0], bias.reshape(1)]))
        if alpha is not None:
            given = X.tensor(alpha)[self.rows.chosen].clamp(min=0.0)
            self._dual(torch.minimum(given, self.costs))

    def laid_out(self) -> tuple[ChosenRows, DevicePairs, Any]:
        """Return the rows that count, scaled; their pairs; and what v_j^2 / 2 costs."""
        return self.rows, DevicePairs(self.signs, self.costs), self.quadratic

    def take(self, run: Run) -> None:
        """Keep what the run has found."""
        self._dual(torch_module().minimum(run.pairs.alpha, self.costs))
        self._primal(run.v)

    def polish(self) -> None:
        """Leave alpha as it is."""

    def _primal(self, v: Any) -> None:
        """Take v over if its value is the best so far; with the best bias if that is enough."""
        state = self.state
        scores = self._scores(v)
        bias = v[-1] * self.has_bias
        found = self._value(v, scores, bias)
        if state.problem.has_free_bias and found - state.dual > state.tol * found:
            best = v.new_full((), best_bias(scores, self.signs, self.costs))
            if (other := self._value(v, scores, best)) < found:
                bias, found = best, other
        if found < state.primal:
            state.primal = found
            self.v = torch_module().hstack([v[:-1], bias])
            w, b = self.rows.scaled.plain(v[:-1, None], bias)
            state.w = np.append(float(b) * self.has_bias, w[:, 0].cpu().numpy())

    def _scores(self, v: Any) -> Any:
        self.state.passes += 1.0
        return self.rows.dot(v[:-1]) if bool(v[:-1].any()) else self.signs.new_zeros(len(self.used))

    def _value(self, v: Any, scores: Any, bias: Any) -> float:
        """Return the objective of v with this bias, from its scores."""
        short = (1.0 - self.signs * (scores + bias)).clamp(min=0.0)
        norm = self.quadratic[:-1] @ v[:-1].square()
        charged = self.quadratic[-1] * bias.square() if self.has_bias else 0.0
        return float(0.5 * (norm + charged) + self.costs @ short)

    def _dual(self, alpha: Any) -> None:
        """Balance alpha, and keep it if its dual is the best so far."""
        if self.state.problem.has_free_bias:
            alpha = evened(alpha, self.signs, self.costs, torch_module())
        value = self._dual_value(alpha)
        if value > self.state.dual:
            self.state.dual, self.alpha = value, alpha

    def _dual_value(self, alpha: Any) -> float:
        """Return the dual objective of a feasible alpha."""
        torch, q, shares = torch_module(), self.quadratic, self.signs * alpha
        self.state.passes += 1.0
        pulled = torch.hstack([self.rows.transposed_dot(shares), shares.sum() * self.has_bias])
        lost = torch.where(q > 0.0, pulled.square() / q, 0.0).sum()
        return float(alpha.sum() - 0.5 * lost)

    # ---- handed over for proof

    def handed_over(self) -> Claim:
        """Return [b, w], alpha, the interval of best biases, and whether the faces are settled."""
        scores, alpha = self._scores(self.v), self._balanced(self.alpha)
        bias, interval = self._best_bias(scores, alpha)
        least = self._value(self.v, scores, bias) * (1.0 - 0.9 * self.state.tol)
        on_faces = self._on_the_faces(self.signs * (scores + bias), alpha, least)
        alpha = alpha if on_faces is None else on_faces
        w, b = self.rows.scaled.plain(self.v[:-1, None], bias)
        shift = float(b) - float(bias)
        weights = np.append(float(b) if self.has_bias else 0.0, w[:, 0].cpu().numpy())
        alpha = np.asarray(self.rows.spread_out(alpha).cpu().numpy())
        return weights, alpha, (interval[0] + shift, interval[1] + shift), on_faces is not None

    def _balanced(self, alpha: Any) -> Any:
        if not self.state.problem.has_free_bias:
            return alpha
        return balanced(alpha, self.signs, self.costs)

    def _best_bias(self, scores: Any, alpha: Any) -> tuple[Any, tuple[float, float]]:
        """Take the bias that the free support vectors agree on, if it is as good as the best."""
        bias = self.v[-1] * self.has_bias
        if not self.state.problem.has_free_bias:
            return bias, (float(bias), float(bias))
        interval = hinge_bias_interval(scores, self.signs, self.costs)
        best = bias.new_full((), best_bias(scores, self.signs, self.costs))
        share = alpha / self.costs
        free = (share > _AT_A_BOUND) & (share < 1.0 - _AT_A_BOUND)
        if bool(free.any()):
            mean = (self.signs - scores)[free].mean()
            least = self._value(self.v, scores, best)
            if self._value(self.v, scores, mean) <= least * (1.0 + 0.1 * self.state.tol):
                return mean, interval
        return best, interval

    def _on_the_faces(self, margins: Any, alpha: Any, least_dual: float) -> Any:
        """Return alpha put to its bounds as boldly as `least_dual` allows; None if it never."""
        torch, costs = torch_module(), self.costs
        share = alpha / costs
        for boldness in _BOLDNESS:
            found = torch.where(share < boldness * (margins - 1.0), 0.0, alpha)
            found = torch.where(1.0 - share < boldness * (1.0 - margins), costs, found)
            found = self._balanced(found)
            if self._dual_value(found) >= least_dual:
                return found
        return None


# ---- an alpha whose signed sum is exactly zero, in whole-array steps


def balanced(alpha: Any, signs: Any, upper: Any) -> Any:
    """Return multipliers within their bounds whose signed sum is exactly zero; 0 if none has."""
    torch = torch_module()
    alpha = torch.minimum(alpha.clamp(min=0.0), upper)
    if _is_balanced(alpha, signs):
        return alpha
    for inside_only in (True, False):
        alpha = _shifted(alpha, signs, upper, inside_only)
    found = _exact(alpha, signs, upper) if bool(alpha.any()) else None
    return torch.zeros_like(alpha) if found is None else found


def _is_balanced(alpha: Any, signs: Any) -> bool:
    """Whether the signed sum is exactly zero; it is known where all are on the largest's grid."""
    grid = math.ulp(float(alpha.max()))
    units = (alpha / grid).floor()
    if grid < _TINY or not bool((units * grid == alpha).all()):
        return False
    return _whole_sum((signs * units).long()) == 0


def _shifted(alpha: Any, signs: Any, upper: Any, inside_only: bool) -> Any:
    """Move rows, each in proportion to its room, as far as the balance asks."""
    torch = torch_module()
    residual = float(signs @ alpha)
    if residual == 0.0:
        return alpha
    # Where nothing bounds a row, its room is its size.
    above = torch.where(upper.isinf(), alpha.clamp(min=abs(residual)), upper - alpha)
    room = torch.where(signs * residual > 0.0, alpha, above)
    if inside_only:
        room = torch.where((alpha > 0.0) & (alpha < upper), room, 0.0)
    total = float(room.sum())
    if total == 0.0:
        return alpha
    share = math.copysign(min(1.0, abs(residual) / total), residual)
    return torch.minimum((alpha - signs * (room * share)).clamp(min=0.0), upper)


def _exact(alpha: Any, signs: Any, upper: Any) -> Any:
    """Put all on the grid of the largest, then take what is left from few rows; None: no room."""
    torch = torch_module()
    grid = math.ulp(float(alpha.max()))
    if grid < _TINY:
        return None
    units = (alpha / grid).floor().long()
    most = (upper / grid).clamp(max=float(_MOST)).floor().long()
    plus = signs > 0.0
    while (residual := _whole_sum(torch.where(plus, units, -units))) != 0:
        falls = plus if residual > 0 else ~plus
        room = torch.where(falls, units, most - units)
        # A row at a bound moves only if no other can.
        inside = torch.where((units > 0) & (units < most), room, 0)
        row = int(inside.argmax() if bool((inside > 0).any()) else room.argmax())
        step = min(int(room[row]), abs(residual))
        if step <= 0:
            return None
        units[row] += -step if bool(falls[row]) else step
    return units.double() * grid


def _whole_sum(units: Any) -> int:
    """Add whole numbers of at most 2^53 without overflow."""
    # The shift of a negative number rounds down, and what & leaves makes up for it.
    high, low = units >> _HALF, units & ((1 << _HALF) - 1)
    return (int(high.sum()) << _HALF) + int(low.sum())
