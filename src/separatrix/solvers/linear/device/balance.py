"""Multipliers whose signed sum is exactly zero, without a loop over the rows.

    given  a,   find  a'  near it with   0 <= a'_i <= upper_i   and   sum_i y_i a'_i = 0, exactly

As `solvers.balance`: the residual is spread over rows that are free to move, every multiplier is
put on one grid, on which sums are whole numbers, and what is left is taken from a few rows. Here in
whole-array steps, on the device that holds the millions of rows.
"""

from __future__ import annotations

import math
from typing import Any

from separatrix._device import torch_module

__all__ = ["balanced"]

_HALF = 26  # bits: sums of the high and the low halves of 2^36 rows stay below 2^63
_MOST = 2**53
_TINY = 2.0**-1022


def balanced(alpha: Any, signs: Any, upper: Any) -> Any:
    """Return multipliers within their bounds whose signed sum is exactly zero; 0 if none has."""
    torch = torch_module()
    alpha = torch.minimum(alpha.clamp(min=0.0), upper)
    for inside_only in (True, False):
        alpha = _shifted(alpha, signs, upper, inside_only)
    found = _exact(alpha, signs, upper) if bool(alpha.any()) else None
    return torch.zeros_like(alpha) if found is None else found


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
