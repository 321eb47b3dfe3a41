"""What the certificates of machines with one weight vector a class have in common.

The direct machine and the multinomial one differ in the loss of a row and in the dual point; their
weights, costs and penalties are the same, and are read, compared with data and bounded here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from separatrix.certificates.enclosure import Enclosure, sum_of
from separatrix.certificates.objective_bounds import norm
from separatrix.certificates.two_bounds import TwoBounds, are_floats, costs_from_json, costs_in_json
from separatrix.checker import Refused

__all__ = ["WeightsByClass", "losses_of", "penalty_of_biases", "primal_of", "read"]


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


def primal_of(
    losses: Enclosure, costs: np.ndarray, W: np.ndarray, bias: np.ndarray, penalty: float
) -> Enclosure:
    """Enclose the objective, given the loss of every row."""
    return norm(W, bias, penalty) + losses_of(losses, costs)


def losses_of(losses: Enclosure, costs: np.ndarray) -> Enclosure:
    """Enclose the sum of all losses times their costs."""
    return sum_of(lambda loss, c: loss * c, losses, costs)


def penalty_of_biases(sums: Enclosure, penalty: float) -> Enclosure:
    """Enclose 1/(2p) sum_k r_k^2."""
    sizes = sums.size()
    return (sizes / penalty * sizes).sum().halved()
