"""What each row adds to the smooth machines, from margins alone; a column a machine.

    min over t    first t + 1/2 second t^2 + sum_i c_i loss(m_i + t g_i)                 `best_step`

As `solvers.linear.row_terms` and `line_search`, for many machines at once on a device.
"""

from __future__ import annotations

from typing import Any

from separatrix._device import torch_module
from separatrix.problem.losses import LOGISTIC

__all__ = ["best_step", "derivatives", "gain_of", "loss_of"]

_ROUNDS = 200


def loss_of(loss: int, margins: Any, costs: Any) -> Any:
    """Return the sum of c_i loss(m_i), one a machine."""
    if loss == LOGISTIC:
        return (costs * ((-margins.abs()).exp().log1p() + (-margins).clamp(min=0.0))).sum(dim=0)
    return (costs * (1.0 - margins).clamp(min=0.0).square()).sum(dim=0)


def derivatives(loss: int, margins: Any, costs: Any) -> tuple[Any, Any]:
    """Return alpha = -c loss'(m) and c loss''(m)."""
    torch = torch_module()
    if loss == LOGISTIC:
        small = (-margins.abs()).exp()
        part = small / (1.0 + small)
        rate = torch.where(margins > 0.0, part, 1.0 / (1.0 + small))
        return costs * rate, costs * (part / (1.0 + small))
    short = (1.0 - margins).clamp(min=0.0)
    return 2.0 * costs * short, 2.0 * costs * (short > 0.0)


def gain_of(loss: int, alpha: Any, costs: Any) -> Any:
    """Return the sum of -c_i loss*(-alpha_i / c_i), one a machine; rows of cost 0 add nothing."""
    torch = torch_module()
    share = torch.where(costs > 0.0, alpha / costs, torch.zeros_like(alpha))
    if loss != LOGISTIC:
        return (alpha * (1.0 - 0.25 * share)).sum(dim=0)
    share = share.clamp(max=1.0)
    terms = torch.xlogy(share, share) + torch.special.xlog1py(1.0 - share, -share)
    return -(costs * terms).sum(dim=0)


def best_step(
    loss: int,
    margins: Any,
    gains: Any,
    costs: Any,
    first: Any,
    second: Any,
    guess: float,
    enough: Any,
) -> Any:
    """Return the t of each machine where the slope is at most `enough`, or that of least slope.

    Newton's method in one variable inside a bracket, as in `solvers.line_search`.
    """
    torch = torch_module()
    t = torch.full_like(first, guess)
    low, high = torch.full_like(t, -torch.inf), torch.full_like(t, torch.inf)
    best, least = torch.zeros_like(t), torch.full_like(t, torch.inf)
    going = torch.ones_like(t, dtype=torch.bool)
    for _ in range(_ROUNDS):
        alpha, bends = derivatives(loss, margins + t * gains, costs)
        slope = first + second * t - (alpha * gains).sum(dim=0)
        bend = second + (bends * gains * gains).sum(dim=0)
        better = going & (slope.abs() < least)
        best, least = torch.where(better, t, best), torch.where(better, slope.abs(), least)
        going &= slope.abs() > enough
        if not bool(going.any()):
            break
        low = torch.where(going & (slope < 0.0), t, low)
        high = torch.where(going & (slope >= 0.0), t, high)
        # Where the curvature is gone Newton leaps; from afar a few doublings come back sooner.
        reach = 8.0 * (1.0 + t.abs())
        leap = torch.where(slope > 0.0, -reach, reach)
        step = torch.where(bend > 0.0, (-slope / bend).clamp(min=-reach, max=reach), leap)
        ahead = t + step
        ahead = torch.where((low < ahead) & (ahead < high), ahead, 0.5 * (low + high))
        going &= (ahead != t) & (low < ahead) & (ahead < high)
        t = torch.where(going, ahead, t)
    return best
