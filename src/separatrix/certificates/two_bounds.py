"""What all certificates by two bounds have in common: the gap between them, and how it is stated.

The least objective lies between `dual` and `primal`, whatever the machine is; of several machines
the worst counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.certificates.checker import Refused

__all__ = [
    "SLACK",
    "EachMachine",
    "TwoBounds",
    "are_floats",
    "are_places",
    "costs_from_json",
    "costs_in_json",
    "hexadecimal",
    "stated",
]

# Claims are stated this much wider than found, so that another machine's rounding finds them true.
SLACK = 1e-12
_UNITS = 2.0**-51


class TwoBounds:
    """The least objective lies between `dual` and `primal`."""

    primal: float
    dual: float
    data_sha256: str

    @property
    def gap(self) -> float:
        """(primal - dual) / primal, rounded up: no better point is further below than this."""
        if self.primal == 0.0:
            return 0.0
        if not (math.isfinite(self.primal) and math.isfinite(self.dual)):
            return math.inf
        # A difference and a quotient are rounded once each, by half of _UNITS together at the most.
        share = (self.primal - self.dual) / self.primal * (1.0 + _UNITS)
        return max(0.0, math.nextafter(share, math.inf))

    @property
    def holds(self) -> bool:
        """Whether both bounds are there at all."""
        return math.isfinite(self.gap)

    def _is_about(self, fingerprint: Callable[[], str]) -> bool:
        """Whether data of this fingerprint are those the claim was made of.

        A claim without a name is about any data for which its bounds are found again.
        """
        return not self.data_sha256 or fingerprint() == self.data_sha256

    def _is_found_again(self, again: TwoBounds) -> bool:
        """Whether bounds found anew are within those claimed."""
        in_order = self.holds and self.dual <= self.primal
        return in_order and again.primal <= self.primal and again.dual >= self.dual


class EachMachine:
    """One certificate a machine, where there are several classes."""

    machines: tuple[Any, ...]

    @property
    def gap(self) -> float:
        """The largest gap of any machine."""
        return float(max(machine.gap for machine in self.machines))

    @property
    def holds(self) -> bool:
        """Whether every machine has its claim."""
        return all(machine.holds for machine in self.machines)


def are_floats(*arrays: Any) -> bool:
    """Whether all are arrays of float64: in whole numbers, sizes may wrap around to below zero."""
    return all(getattr(array, "dtype", None) == np.float64 for array in arrays)


def are_places(*arrays: Any) -> bool:
    """Whether all are arrays of whole numbers."""
    return all(getattr(getattr(array, "dtype", None), "kind", "") in "iu" for array in arrays)


def stated(primal: float, dual: float, slack: float) -> tuple[float, float]:
    """Return both bounds, wider by a share of the objective."""
    if not math.isfinite(primal):
        return primal, dual
    return primal * (1.0 + slack), dual - slack * primal


def costs_in_json(costs: np.ndarray) -> list[str]:
    """Return the cost of every row as text; one number where all are the same."""
    same = bool((costs == costs[0]).all())
    return [hexadecimal(value) for value in (costs[:1] if same else costs).tolist()]


def costs_from_json(values: list[str], n_rows: int, finite: bool = False) -> np.ndarray:
    """Return a cost for each row; a file that claims a trillion rows takes no memory for them."""
    costs = np.array([float.fromhex(value) for value in values])
    if not (len(costs) in (1, n_rows) and (costs >= 0.0).all() and (costs > 0.0).any()):
        raise Refused("costs must be one number above zero, or one for each row")
    if finite and not np.isfinite(costs).all():
        raise Refused("costs must be finite")
    return np.broadcast_to(costs, (n_rows,))


def hexadecimal(value: float) -> str:
    """Return a number as text that gives the same bits back."""
    return float(value).hex() if math.isfinite(value) else str(value)
