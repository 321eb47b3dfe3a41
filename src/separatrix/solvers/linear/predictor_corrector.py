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
`Pairs` does what is done row by row. Nothing here depends on where they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from separatrix.solvers.linear.complementarity import Aim, Pairs, falling_root

__all__ = [
    "CORRECTIONS", "DRIFTS", "FURTHER", "LESS", "NEARLY_ALL", "REFRESH", "STRETCH", "WORTH_IT",
    "Run", "centred_run", "hard_run", "iteration",
]  # fmt: skip

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
