"""One pass over the data: how far rows fall short, and the sum of rows that multipliers make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.certificates.device_pass import sums_on_device
from separatrix.certificates.enclosed_sums import sums_both_ways
from separatrix.certificates.enclosure import Enclosure
from separatrix.problem.device_rows import on_device

__all__ = ["Pass", "one_pass"]


@dataclass(frozen=True, eq=False)
class Pass:
    """What one pass over the data tells.

    A row's shortfall is the sum start - y (b + w.x), enclosed as one sum: a margin formed first and
    taken from 1 afterwards loses the digits that a slack is made of.
    """

    start: float
    short: Enclosure  # start - y_i (w.x_i + b)
    total: Enclosure  # u = sum_i a_i y_i x_i

    @property
    def margins(self) -> np.ndarray:
        """About the margins, for those who look at them: no claim rests on them."""
        return np.asarray(self.start - self.short.middle)


def one_pass(
    X: Any,
    signs: np.ndarray,
    w: np.ndarray,
    bias: float,
    alpha: np.ndarray,
    start: float,
    way: str = "plain",
    wide: float = 1.0,
) -> Pass:
    """Enclose shortfalls of (w, bias) from a margin of `start`, and the sum that alpha makes."""
    sums = sums_on_device if on_device(X) else sums_both_ways
    starts = (start * signs, -bias)
    short, total = sums(X, -w, starts, signs * alpha, way, wide)
    return Pass(start, short.times_sign(signs), total)
