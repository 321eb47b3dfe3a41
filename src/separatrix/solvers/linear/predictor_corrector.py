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
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from separatrix.problem.signed import FloatArray
from separatrix.solvers.linear.complementarity import (
    apply_step,
    centre,
    falling_root,
    measure,
    predict,
    recentre,
    shares_for,
    weigh,
)
from separatrix.solvers.linear.scaled_rows import Factor, ScaledRows, factored

__all__ = ["Run", "centred_run", "hard_run", "step"]

_NEARLY_ALL = 0.9995
# Steps for centrality in each iteration, how much further they aim, and what makes one worth it.
_CORRECTIONS = 2
_STRETCH, _FURTHER, _WORTH_IT = 1.5, 0.3, 0.99


@dataclass
class Run:
    """The iterate, with one product kept up to date: margins y (V v + b)."""

    rows: ScaledRows
    signs: FloatArray
    costs: FloatArray
    quadratic: FloatArray  # q, and p in the last place (0: the bias is free)
    has_bias: bool
    v: FloatArray  # [v, b]
    alpha: FloatArray
    below: FloatArray  # s, the slack of alpha >= 0
    above: FloatArray  # xi, the slack of alpha <= c
    margins: FloatArray
    residual: FloatArray = field(default_factory=lambda: np.zeros(0))
    steps: int = 0
    last_step: float = 1.0
    passes: float = 0.0

    @property
    def is_hard(self) -> bool:
        """Whether alpha has no upper end."""
        return bool(np.isinf(self.costs).any())

    @property
    def pairs(self) -> int:
        """How many products are 0 at the optimum."""
        return len(self.alpha) if self.is_hard else 2 * len(self.alpha)

    def refresh(self) -> None:
        """Compute margins and residual afresh."""
        self.passes += 1.0
        self.margins = self.signs * (self.rows.dot(self.v[:-1]) + self.v[-1])
        self.residual = self.quadratic * self.v - self._gather(self.signs * self.alpha)
        if not self.has_bias:
            self.residual[-1] = 0.0

    def _gather(self, shares: FloatArray) -> FloatArray:
        """Return [V 1]^T shares."""
        self.passes += 1.0
        total = shares.sum() if self.has_bias else 0.0
        return np.append(self.rows.transposed_dot(shares), total)

    def objectives(self) -> tuple[float, float]:
        """Return the primal and the dual value of this problem, from what is kept."""
        v, q = self.v, self.quadratic
        quadratic = 0.5 * float(q @ (v * v))
        primal = quadratic + float(self.costs @ np.maximum(0.0, 1.0 - self.margins))
        u = q * v - self.residual
        inverse = np.divide(1.0, q, out=np.zeros_like(q), where=q > 0.0)
        return primal, float(self.alpha.sum()) - 0.5 * float(inverse @ (u * u))


def centred_run(
    rows: ScaledRows,
    signs: FloatArray,
    costs: FloatArray,
    quadratic: FloatArray,
    has_bias: bool,
    v: FloatArray,
    mu: float,
) -> Run:
    """Begin at v, exactly centred at mu, with the b that balances alpha where b is free."""
    scores, v, n = rows.dot(v[:-1]), v.copy(), len(signs)
    kept = (np.empty(n), np.empty(n), np.empty(n), np.empty(n))
    if has_bias and quadratic[-1] == 0.0:
        v[-1] = _balancing_bias(scores, signs, costs, mu, kept)
    centre(signs, costs, scores, v[-1], mu, *kept)
    run = Run(rows, signs, costs, quadratic, has_bias, v, *kept)
    run.residual = quadratic * v - run._gather(signs * run.alpha)
    if not has_bias:
        run.residual[-1] = 0.0
    return run


def _balancing_bias(
    scores: FloatArray,
    signs: FloatArray,
    costs: FloatArray,
    mu: float,
    kept: tuple[FloatArray, ...],
) -> float:
    """Find b with sum y alpha(b) = 0: the sum falls as b grows."""

    def excess(bias: float) -> tuple[float, float]:
        total, slope = centre(signs, costs, scores, bias, mu, *kept)
        return float(total), float(slope)

    low, high = float(-scores.max()) - 1.0, float(-scores.min()) + 1.0
    return falling_root(excess, low, high, 1e-14 * float(costs.sum()))


def hard_run(
    rows: ScaledRows, signs: FloatArray, costs: FloatArray, quadratic: FloatArray, has_bias: bool
) -> Run:
    """Begin the hard margin at the difference of the class means, of the best length."""
    n, d = len(signs), rows.width
    alpha = np.where(signs > 0.0, 1.0 / max(1, (signs > 0).sum()), 1.0 / max(1, (signs < 0).sum()))
    v, slacks = np.zeros(d + 1), (np.ones(n), np.zeros(n), np.zeros(n))
    run = Run(rows, signs, costs, quadratic, has_bias, v, alpha, *slacks)
    pulled = rows.transposed_dot(signs * alpha)
    square = float((pulled / quadratic[:-1]) @ pulled)
    length = float(alpha.sum()) / square if square > 0.0 else 1.0
    run.alpha = alpha * length
    run.v[:-1] = length * pulled / quadratic[:-1]
    scores = rows.dot(run.v[:-1])
    if has_bias and quadratic[-1] == 0.0 and (signs > 0).any() and (signs < 0).any():
        run.v[-1] = -0.5 * (scores[signs > 0].mean() + scores[signs < 0].mean())
    run.refresh()
    run.below = np.maximum(run.margins - 1.0, 1.0)
    return run


# ---- one step


def step(run: Run) -> bool:
    """Make one step; False where the matrix could not be factored or the step came to nothing."""
    kept = (run.signs, run.costs, run.alpha, run.below, run.above, run.margins)
    n = len(run.alpha)
    weights, shares = np.empty(n), np.empty(n)
    mu = weigh(*kept, weights, shares) / run.pairs
    factor = factored(run.rows, weights, run.quadratic, run.has_bias)
    run.passes += 1.0
    if factor is None:
        return False
    dv = _direction(run, factor, shares)
    for_below, for_above = np.empty(n), np.empty(n)
    fall, linear, square = predict(*kept, weights, shares, dv[-1], for_below, for_above)
    reach = min(1.0, 1.0 / fall) if fall > 0.0 else 1.0
    left = max(0.0, 1.0 + reach * (linear + reach * square) / (run.pairs * mu))
    target = min(1.0, left**3) * mu
    shares_for(*kept[:3], run.margins, weights, target, for_below, for_above, shares)
    dv = _direction(run, factor, shares)
    aim = (weights, shares, dv[-1], target, for_below, for_above)
    fall = measure(*kept, *aim)
    spare = (np.empty(n), np.empty(n), np.empty(n))  # pages never written take no memory
    for _ in range(_CORRECTIONS):
        if fall <= 1.0:
            break
        new_shares, new_below, new_above = spare
        hoped = min(1.0, _STRETCH / fall + _FURTHER)
        recentre(*kept, *aim[:4], hoped, *aim[4:], new_below, new_above, new_shares)
        new_dv = _direction(run, factor, new_shares)
        new_aim = (weights, new_shares, new_dv[-1], target, new_below, new_above)
        new_fall = measure(*kept, *new_aim)
        if not max(1.0, new_fall) < _WORTH_IT * fall:
            break
        spare = (aim[1], aim[4], aim[5])
        dv, aim, fall = new_dv, new_aim, new_fall
    keep_off = _NEARLY_ALL if run.last_step > 0.9 else 0.99
    length = min(1.0, keep_off / fall) if fall > 0.0 else 1.0
    if not (np.isfinite(dv).all() and np.isfinite(length)):
        return False
    apply_step(*kept, *aim, length)
    run.v += length * dv
    run.residual *= 1.0 - length
    run.steps += 1
    run.last_step = length
    return length > 1e-10


def _direction(run: Run, factor: Factor, shares: FloatArray) -> FloatArray:
    """Return the change of [v, b], and write V times that of v over the shares it answers."""
    dv = factor.solve(run._gather(shares) - run.residual)
    run.passes += 1.0
    run.rows.dot(dv[:-1], out=shares)
    return dv
