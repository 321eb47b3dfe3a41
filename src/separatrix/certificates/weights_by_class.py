"""What the certificates of machines with one weight vector a class have in common.

The direct machine and the multinomial one differ in the loss of a row and in the dual point; their
weights, costs and penalties are the same, and are read, compared with data and bounded here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix.certificates.data_pass import LEAST, UNIT
from separatrix.certificates.two_bounds import TwoBounds, are_floats, costs_from_json, costs_in_json
from separatrix.checker import Refused

__all__ = [
    "WeightsByClass",
    "below",
    "half_square",
    "losses_above",
    "penalty_of_biases",
    "primal_above",
    "read",
    "sum_error",
    "sum_from_above",
]

_SUMMANDS = 256
_CHUNK_ERROR = 1.01 * (_SUMMANDS + 4) * UNIT


class WeightsByClass(TwoBounds):
    """Two bounds on the objective of `weights`: one row [b, w_1 ... w_d] a class."""

    weights: np.ndarray
    costs: np.ndarray
    bias_penalty: float
    n_rows: int
    n_features: int
    classes: tuple[str, ...]

    def _fits(self, X: Any, n_classes: int) -> bool:
        """Whether the claim is one that can be made of such data."""
        n, d = X.shape
        return (
            are_floats(self.weights, self.costs)
            and n_classes == len(self.classes)
            and n_classes >= 2
            and (n, d) == (self.n_rows, self.n_features)
            and self.costs.shape == (n,)
            and self.weights.shape == (n_classes, d + 1)
            and bool((self.costs >= 0.0).all() and np.isfinite(self.costs).all())
            and 0.0 <= self.bias_penalty < math.inf
        )

    def _in_json(self) -> dict[str, Any]:
        """Return what `read` reads."""
        return {
            "costs": costs_in_json(self.costs),
            "bias_penalty": float(self.bias_penalty).hex(),
            "weights": [[value.hex() for value in row] for row in self.weights.tolist()],
            "primal": float(self.primal).hex(),
            "dual": float(self.dual).hex(),
        }

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if not self.holds:
            return "not proved: one of the two bounds is not finite"
        return (
            f"proved: no {len(self.classes)} weight vectors lower the objective, "
            f"{self.primal:.9g}, by more than {self.gap:.2g} of it (the least is at least "
            f"{self.dual:.9g})"
        )


def read(claim: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    """Return weights, costs, penalty and bounds of a claim in JSON, as arrays and numbers."""
    n, d, K = about["n_rows"], about["n_features"], len(about["classes"])
    if not 0 < n < 2**40 or not 0 <= d < 2**40 or K < 2:
        raise Refused("the certificate must say how many rows, features and classes there are")
    costs = costs_from_json(claim["costs"], n, finite=True)
    weights = np.array([[float.fromhex(value) for value in row] for row in claim["weights"]])
    if weights.shape != (K, d + 1):
        raise Refused("weights must be one list a class: the bias, and one number a column")
    numbers = {name: float.fromhex(claim[name]) for name in ("primal", "dual", "bias_penalty")}
    finite = np.isfinite([*numbers.values(), *weights.ravel()]).all()
    if not finite or numbers["bias_penalty"] < 0:
        raise Refused("weights and bounds must be finite, bias_penalty not below 0")
    return {"weights": weights, "costs": costs, **numbers, **about}


def primal_above(
    losses: np.ndarray, costs: np.ndarray, W: np.ndarray, bias: np.ndarray, penalty: float
) -> float:
    """Return a number that the objective does not exceed, given such a bound on each row's loss."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.append((W * W).ravel(), penalty * bias * bias * (1.0 + 2.0 * UNIT))
        if not np.isfinite(squares).all():
            return math.inf
        norm = 0.5 * sum_from_above(squares) * (1.0 + 4.0 * UNIT) + len(squares) * LEAST
    return (norm + losses_above(losses, costs)) * (1.0 + 2.0 * UNIT)


def losses_above(losses: np.ndarray, costs: np.ndarray) -> float:
    """Return at least the sum of all losses times their costs, given such a bound on each loss."""
    used = costs > 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        terms = costs[used] * losses[used]
        if not np.isfinite(terms).all():
            return math.inf
        # No product of a loss of zero is rounded.
        lost = np.count_nonzero(losses[used]) * LEAST
        return sum_from_above(terms) * (1.0 + 2.0 * UNIT) + lost


def half_square(sizes: np.ndarray, spread: float) -> float:
    """Return half the squared length of a vector of such sizes and an error so long, from above."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = sizes * sizes
        if not (np.isfinite(squares).all() and math.isfinite(spread)):
            return math.inf
        half = 0.5 * sum_from_above(squares.ravel()) * (1.0 + 8.0 * UNIT) + squares.size * LEAST
    # The length of a vector is at most its computed length and the length of its error.
    return half + spread * (math.sqrt(2.0 * half) + spread) * (1.0 + 8.0 * UNIT)


def penalty_of_biases(sizes: np.ndarray, penalty: float) -> float:
    """Return 1/(2p) sum_k r_k^2 for sums r_k of such sizes, from above."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = sizes / penalty * sizes * (1.0 + 8.0 * UNIT)
        if not np.isfinite(squares).all():
            return math.inf
        return 0.5 * sum_from_above(squares) * (1.0 + 4.0 * UNIT) + len(squares) * LEAST


def below(value: float) -> float:
    """Return a number that the exact difference of two bounds does not fall short of."""
    return value - 2.0 * UNIT * abs(value) - LEAST if math.isfinite(value) else -math.inf


def sum_from_above(values: np.ndarray) -> float:
    """Return the sum, for values that are not negative from above; inf where it overflows."""
    try:
        return math.fsum(_chunks(values).tolist()) * (1.0 + _CHUNK_ERROR)
    except OverflowError:
        return math.inf


def sum_error(values: np.ndarray) -> float:
    """Return by how much `sum_from_above` may be too large or too small."""
    return 2.0 * _CHUNK_ERROR * sum_from_above(abs(values))


def _chunks(values: np.ndarray) -> np.ndarray:
    """Add up short stretches; what they lose, `_CHUNK_ERROR` bounds."""
    return np.add.reduceat(values, np.arange(0, len(values), _SUMMANDS)) if len(values) else values
