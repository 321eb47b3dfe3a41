"""Newton's direction where a d x d matrix is too large: conjugate gradients, for many machines.

    (R + [V 1]^T D [V 1]) s = -gradient

Each round multiplies with the rows twice, for all machines at once. Preconditioned by the diagonal,
and stopped where the residual is small against the gradient: closer to the optimum, smaller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from separatrix._device import torch_module

if TYPE_CHECKING:
    from separatrix.solvers.accelerated.newton import Point

__all__ = ["direction"]

_ROUNDS = 250
_LOOSEST, _TIGHTEST = 0.1, 1e-10


def direction(point: Point, in_bias: Any, going: Any) -> tuple[Any, Any]:
    """Return (dv, db) of the machines that are going; 0 for the others."""
    torch = torch_module()
    right = -torch.cat([point.slope, in_bias[None]]) * going
    diagonal = torch.cat([
        point.scaled.column_squares(point.bends) + point.penalties,
        (point.bends.sum(dim=0) + point.bias_penalty)[None],
    ])  # fmt: skip
    if not point.has_bias:
        diagonal[-1] = 1.0
    inverse = torch.where(diagonal > 0.0, 1.0 / diagonal, torch.ones_like(diagonal))
    point.passes += 1.0
    found = torch.zeros_like(right)
    rest = right.clone()
    search = inverse * rest
    size = (rest * search).sum(dim=0)
    # The gap is a square of the distance: its root says how far the residual must fall.
    wanted = (point.gap.clamp(min=0.0).sqrt() * _LOOSEST).clamp(_TIGHTEST, _LOOSEST)
    enough = size * wanted.square()
    for _ in range(_ROUNDS):
        busy = going & (size > enough)
        if not bool(busy.any()):
            break
        moved = _times(point, search)
        along = (search * moved).sum(dim=0)
        step = torch.where(busy & (along > 0.0), size / along, torch.zeros_like(size))
        found += step * search
        rest -= step * moved
        eased = inverse * rest
        following = (rest * eased).sum(dim=0)
        search = eased + torch.where(busy, following / size, torch.zeros_like(size)) * search
        size = torch.where(busy, following, size)
        if not bool((step > 0.0).any()):
            break
    return found[:-1], found[-1]


def _times(point: Point, x: Any) -> Any:
    """Return the second derivatives times x, through the rows."""
    torch = torch_module()
    v, bias = x[:-1], x[-1]
    shares = point.bends * (point.scaled.dots(v) + bias * point.has_bias)
    point.passes += 2.0
    last = shares.sum(dim=0) + point.bias_penalty * bias if point.has_bias else bias
    return torch.cat([point.scaled.sums(shares) + point.penalties * v, last[None]])
