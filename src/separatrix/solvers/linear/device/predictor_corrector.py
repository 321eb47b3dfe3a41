"""One interior-point run on rows on a device: Mehrotra's predictor and corrector (1992).

    min over v, b, xi   1/2 sum_j q_j v_j^2 + 1/2 p b^2 + sum_i c_i xi_i
    subject to          y_i (v.V_i + b) = 1 - xi_i + s_i,   xi >= 0,  s >= 0

The algorithm of `solvers.predictor_corrector`: each step eliminates all but v and b, makes and
factors diag(q) + [V 1]^T D [V 1] and solves with it three or four times. Rows of cost 0 stay where
they are and get no weight. All is float64, but for the first matrices of rows held in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._device import torch_module
from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear.complementarity import falling_root
from separatrix.solvers.linear.device.complementarity import Aim, Change, Pairs, centred
from separatrix.solvers.linear.device.scaled import (
    DOUBLE,
    SINGLE,
    Factor,
    Scaled,
    factored,
    scaled_on,
)

__all__ = ["Run", "laid_out", "step"]

_SINGLE = 1e-2
_NEARLY_ALL = 0.9995
# Steps for centrality in each iteration, how much further they aim, and what makes one worth it.
_CORRECTIONS = 2
_STRETCH, _FURTHER, _WORTH_IT = 1.5, 0.3, 0.99


@dataclass
class Run:
    """The iterate on the rows that count, and the best claims so far; all of it on the device."""

    scaled: Scaled
    used: Any  # the rows with a cost
    signs: Any
    quadratic: Any  # what v_j^2 / 2 costs, and p in the last place
    has_bias: bool
    v: Any  # [v, b']
    pairs: Pairs
    residual: Any
    max_passes: float
    best_v: Any
    best_alpha: Any
    primal: float = np.inf
    dual: float = 0.0
    passes: float = 0.0
    updates: int = 0
    last_step: float = 1.0
    last_gap: float = 1.0
    least_gap: float = np.inf
    since_best: int = 0
    failed: bool = False

    @property
    def has_free_bias(self) -> bool:
        """Whether b costs nothing, so that alpha must balance."""
        return self.has_bias and float(self.quadratic[-1]) == 0.0

    def scores(self, v: Any) -> Any:
        """Return V v of the rows that count."""
        self.passes += 1.0
        return self.scaled.dots(v[:, None])[self.used, 0]

    def spread_out(self, shares: Any) -> Any:
        """Return numbers of the rows that count, 0 for the others."""
        whole = shares.new_zeros(self.scaled.rows.shape[0])
        whole[self.used] = shares
        return whole

    def gather(self, shares: Any) -> Any:
        """Return [V 1]^T shares."""
        self.passes += 1.0
        total = shares.sum() if self.has_bias else shares.new_zeros(())
        sums = self.scaled.sums(self.spread_out(shares)[:, None])[:, 0]
        return torch_module().cat([sums, total[None]])

    def refresh(self) -> None:
        """Compute margins and residual afresh."""
        margins = self.signs * (self.scores(self.v[:-1]) + self.v[-1])
        pairs = self.pairs
        self.pairs = Pairs(pairs.costs, pairs.alpha, pairs.below, pairs.above, margins)
        self.residual = self.quadratic * self.v - self.gather(self.signs * pairs.alpha)
        if not self.has_bias:
            self.residual[-1] = 0.0

    def objectives(self) -> tuple[float, float]:
        """Return the primal and the dual value, from what is kept."""
        torch = torch_module()
        v, q = self.v, self.quadratic
        loss = self.pairs.costs @ (1.0 - self.pairs.margins).clamp(min=0.0)
        u = q * v - self.residual
        lost = torch.where(q > 0.0, u * u / q, torch.zeros_like(u)).sum()
        primal = 0.5 * (q @ (v * v)) + loss
        return float(primal), float(self.pairs.alpha.sum() - 0.5 * lost)


def laid_out(problem: MachineProblem, used: np.ndarray, max_passes: float) -> Run:
    """Begin at w = 0, exactly centred, with the b that balances alpha where b is free."""
    torch, rows = torch_module(), problem.X
    scaled = scaled_on(rows, problem.has_free_bias)
    signs, costs = rows.tensor(problem.signs[used]), rows.tensor(problem.costs[used])
    has_bias = problem.rows.fit_intercept
    last = problem.bias_penalty if has_bias else 1.0
    quadratic = torch.cat([1.0 / scaled.scale.square(), scaled.scale.new_full((1,), last)])
    v, mu = torch.zeros_like(quadratic), float(costs.mean())
    scores = torch.zeros_like(signs)
    if has_bias and last == 0.0:
        v[-1] = _balancing_bias(signs, costs, scores, mu)
    pairs = centred(signs, costs, scores, float(v[-1]), mu)
    places = torch.as_tensor(used, device=rows.device)
    run = Run(scaled, places, signs, quadratic, has_bias, v, pairs, v, max_passes, v, pairs.alpha)
    run.residual = quadratic * v - run.gather(signs * pairs.alpha)
    if not has_bias:
        run.residual[-1] = 0.0
    run.best_alpha = torch.zeros_like(pairs.alpha)
    run.best_v = torch.zeros_like(v)
    return run


def _balancing_bias(signs: Any, costs: Any, scores: Any, mu: float) -> float:
    """Find b with sum y alpha(b) = 0: the sum falls as b grows."""

    def excess(bias: float) -> tuple[float, float]:
        pairs = centred(signs, costs, scores, bias, mu)
        return float(signs @ pairs.alpha), -float(pairs.weights.sum())

    low, high = float(-scores.max()) - 1.0, float(-scores.min()) + 1.0
    return falling_root(excess, low, high, 1e-14 * float(costs.sum()))


def step(run: Run) -> bool:
    """Make one step; False where the matrix could not be factored or the step came to nothing."""
    pairs, torch = run.pairs, torch_module()
    weights, mu = pairs.weights, pairs.mean_product
    factor = _factored(run, weights)
    if factor is None:
        return False
    nothing = torch.zeros_like(weights)
    change, _ = _direction(run, factor, weights, Aim(nothing, nothing))
    fall = pairs.fall(change)
    reach = min(1.0, 1.0 / fall) if fall > 0.0 else 1.0
    left = max(0.0, pairs.predicted(change, reach) / mu)
    target = min(1.0, left**3) * mu
    aim = Aim(target - change.alpha * change.below, target + change.alpha * change.above)
    change, dv = _direction(run, factor, weights, aim)
    fall = pairs.fall(change)
    for _ in range(_CORRECTIONS):
        if fall <= 1.0:
            break
        hoped = min(1.0, _STRETCH / fall + _FURTHER)
        new_aim = pairs.recentred(aim, change, hoped, target)
        new_change, new_dv = _direction(run, factor, weights, new_aim)
        new_fall = pairs.fall(new_change)
        if not max(1.0, new_fall) < _WORTH_IT * fall:
            break
        aim, change, dv, fall = new_aim, new_change, new_dv, new_fall
    keep_off = _NEARLY_ALL if run.last_step > 0.9 else 0.99
    length = min(1.0, keep_off / fall) if fall > 0.0 else 1.0
    if not (np.isfinite(length) and bool(dv.isfinite().all())):
        return False
    run.pairs = pairs.stepped(change, length)
    run.v = run.v + length * dv
    run.residual = run.residual * (1.0 - length)
    run.last_step = length
    return length > 1e-10


def _factored(run: Run, weights: Any) -> Factor | None:
    """Make and factor diag(q) + [V 1]^T D [V 1]."""
    torch = torch_module()
    precision = SINGLE if run.last_gap > _SINGLE else DOUBLE
    matrix = run.scaled.squares(run.spread_out(weights), precision)
    run.passes += 1.0
    places = torch.arange(len(matrix), device=matrix.device)
    matrix[places, places] += run.quadratic
    if not run.has_bias:
        # The last unknown is held at 0 by a one of its own.
        matrix[-1, :] = 0.0
        matrix[:, -1] = 0.0
        matrix[-1, -1] = 1.0
    return factored(matrix)


def _direction(run: Run, factor: Factor, weights: Any, aim: Aim) -> tuple[Change, Any]:
    """Return what the rows do where the products are sent to the aim, and the change of [v, b']."""
    shares = run.signs * weights * run.pairs.right(aim)
    dv = factor.solve(run.gather(shares) - run.residual)
    moved = run.signs * (run.scores(dv[:-1]) + dv[-1])
    return run.pairs.change(aim, weights, moved), dv
