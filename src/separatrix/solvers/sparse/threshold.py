"""The soft threshold: the least point of a parabola plus |v|."""

from __future__ import annotations

from separatrix._compiled import inlined

__all__ = ["shrunk"]


@inlined
def shrunk(target, by):  # type: ignore[no-untyped-def]
    """Return the target moved so far towards zero, or zero: argmin (v - target)^2 / 2 + by |v|.

    >>> shrunk(3.0, 1.0), shrunk(-3.0, 1.0), shrunk(0.5, 1.0)
    (2.0, -2.0, 0.0)
    """
    if target > by:
        return target - by
    if target < -by:
        return target + by
    return 0.0
