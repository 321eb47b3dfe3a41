"""What all certificates by two bounds have in common: the gap between them, and how it is stated.

The least objective lies between `dual` and `primal`, whatever the machine is; of several machines
the worst counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.certificates.enclosure import Enclosure
from separatrix.checker import Refused

__all__ = [
    "SLACK",
    "WIDE",
    "EachMachine",
    "TwoBounds",
    "are_floats",
    "are_places",
    "costs_agree",
    "costs_from_json",
    "costs_in_json",
    "hexadecimal",
    "is_enough",
    "stated",
]

# Claims are stated this much wider than found, so that another machine's rounding finds them true.
SLACK = 1e-12
# An enclosure this many times wider holds those of other orders of summation.
WIDE = 3.0


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
        primal = Enclosure.exact(self.primal)
        return max(0.0, float(((primal - self.dual) / primal).high))

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

    def _needs_no_more(self, primal: Enclosure, dual: Enclosure) -> bool:
        """Whether enclosures decide the claim: it is found again, or it is false."""
        found = bool(primal.high <= self.primal and dual.low >= self.dual)
        return found or bool(primal.low > self.primal or dual.high < self.dual)


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


def stated(primal: Enclosure, dual: Enclosure, slack: float) -> tuple[float, float]:
    """Return a bound from above and one from below, wider by a share of the objective."""
    above, below = float(primal.high), float(dual.low)
    if not math.isfinite(above):
        return above, below
    # To round a number that grew, or one that fell, never crosses where it came from.
    return above * (1.0 + slack), below - slack * above


def is_enough(
    primal: Enclosure, dual: Enclosure, wanted: float, slack: float, is_cheap: bool
) -> bool:
    """Whether a tighter and dearer way to sum is not worth trying.

    The gap is the one wanted, or rounding is no part of it; or the next way is not cheap, and the
    gap would be too wide without any rounding.
    """
    above, below = float(primal.high), float(dual.low)
    if above - below <= (wanted - 2.0 * slack) * above or float(dual.high) == -math.inf:
        return True
    if above - float(primal.low) + (float(dual.high) - below) <= SLACK * above:
        return True
    return not is_cheap and float(primal.low) - float(dual.high) > wanted * above


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
    if not costs_agree(costs):
        raise Refused("costs must be all finite or all infinite, but for rows that cost nothing")
    return np.broadcast_to(costs, (n_rows,))


def costs_agree(costs: np.ndarray) -> bool:
    """Whether all costs are finite or all are infinite, but for rows that cost nothing."""
    hard = np.isinf(costs[costs > 0.0])
    return bool(hard.all() or not hard.any())


def hexadecimal(value: float) -> str:
    """Return a number as text that gives the same bits back."""
    return float(value).hex() if math.isfinite(value) else str(value)
