"""Newton's direction by conjugate gradients, for many machines at once, or for many columns.

    (R + [V 1]^T D_k [V 1]) s_k = -gradient_k         for every machine k

Each round multiplies with the rows twice, for all machines together: a matrix for each would cost
d / 2 rounds. Where the d x d products of all rows can be made, their eigenvectors, found once for
every class, fold and C, precondition all machines: with D_k near a multiple t of 1 the system is
nearly R + t [V 1]^T [V 1], however steeply the spectrum of the rows falls. Else the diagonal does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from separatrix._device import torch_module
from separatrix.solvers.linear.device.scaled import SINGLE, Scaled

if TYPE_CHECKING:
    from separatrix.solvers.linear.device.point import Point

__all__ = ["WIDEST_SPECTRUM", "direction"]

# Beyond so many columns neither the matrix of all rows nor its eigenvectors are made.
WIDEST_SPECTRUM = 4096
_ROUNDS = 250
_LOOSEST, _TIGHTEST = 0.1, 1e-10


def direction(point: Point, in_bias: Any, going: Any) -> tuple[Any, Any]:
    """Return (dv, db) of the machines that are going; 0 for the others."""
    torch = torch_module()
    chosen = going.nonzero().squeeze(1)
    bends = point.bends[:, chosen]
    right = -torch.cat([point.slope, in_bias[None]])[:, chosen]
    # The gap is a square of the distance: its root says how far the residual must fall.
    target = (point.gap[chosen].clamp(min=0.0).sqrt() * _LOOSEST).clamp(_TIGHTEST, _LOOSEST)
    found = torch.zeros_like(torch.cat([point.v, in_bias[None]]))
    if point.scaled.width > WIDEST_SPECTRUM:
        ease = _by_diagonal(point, bends)
    else:
        ease = _by_spectrum(point, bends)
    found[:, chosen] = _solved(point, bends, right, target, ease)
    return found[:-1], found[-1]


def _solved(point: Point, bends: Any, right: Any, target: Any, ease: Callable[[Any], Any]) -> Any:
    """Iterate until every residual falls by its `target`, in the norm of the preconditioner."""
    torch = torch_module()
    found, rest = torch.zeros_like(right), right.clone()
    search = ease(rest)
    size = (rest * search).sum(dim=0)
    enough = size * target.square()
    for _ in range(_ROUNDS):
        busy = size > enough
        if not bool(busy.any()):
            break
        moved = _times(point, bends, search)
        along = (search * moved).sum(dim=0)
        step = torch.where(busy & (along > 0.0), size / along, torch.zeros_like(size))
        if not bool((step > 0.0).any()):
            break
        found += step * search
        rest -= step * moved
        eased = ease(rest)
        following = (rest * eased).sum(dim=0)
        search = eased + torch.where(busy, following / size, torch.zeros_like(size)) * search
        size = torch.where(busy, following, size)
    return found


def _times(point: Point, bends: Any, x: Any) -> Any:
    """Return the second derivatives times x, through the rows."""
    torch = torch_module()
    v, bias = x[:-1], x[-1]
    shares = bends * (point.scaled.dots(v) + bias * point.has_bias)
    point.passes += 2.0
    last = shares.sum(dim=0) + point.bias_penalty * bias if point.has_bias else bias
    return torch.cat([point.scaled.sums(shares) + point.penalties * v, last[None]])


# ---- preconditioners


def _by_diagonal(point: Point, bends: Any) -> Callable[[Any], Any]:
    torch = torch_module()
    columns = point.scaled.column_squares(bends) + point.penalties
    point.passes += 1.0
    inverse = 1.0 / torch.cat([columns, _curvature_of_bias(point, bends)[None]])
    return lambda rest: inverse * rest


def _by_spectrum(point: Point, bends: Any) -> Callable[[Any], Any]:
    """Invert R + t V^T V by its eigenvectors, t the mean curvature of each machine."""
    torch, scaled = torch_module(), point.scaled
    values, vectors = scaled.rows.once(
        f"spectrum, {point.has_free_bias}", lambda: _spectrum(scaled)
    )
    shrunk = 1.0 / (1.0 + values[:, None] * bends.mean(dim=0))
    roots = point.penalties.rsqrt()
    inverse = 1.0 / _curvature_of_bias(point, bends)

    def ease(rest: Any) -> Any:
        inner = vectors.T @ (roots * rest[:-1])
        return torch.cat([roots * (vectors @ (shrunk * inner)), (inverse * rest[-1])[None]])

    return ease


def _spectrum(scaled: Scaled) -> tuple[Any, Any]:
    """Return the eigenvalues and eigenvectors of X^T X, centred as the rows are."""
    torch = torch_module()
    ones = scaled.mean.new_ones(scaled.rows.shape[0])
    products = scaled.squares(ones, SINGLE)[:-1, :-1]
    products = products * scaled.scale * scaled.scale[:, None]
    values, vectors = torch.linalg.eigh(products)
    return values.clamp(min=0.0), vectors


def _curvature_of_bias(point: Point, bends: Any) -> Any:
    torch = torch_module()
    if not point.has_bias:
        return torch.ones_like(bends[0])
    total = bends.sum(dim=0) + point.bias_penalty
    return torch.where(total > 0.0, total, torch.ones_like(total))
