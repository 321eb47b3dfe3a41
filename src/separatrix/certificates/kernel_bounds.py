"""The two objectives of a kernel machine, and its pairs out of order, enclosed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.certificates.enclosure import Enclosure, sum_of
from separatrix.certificates.objective_bounds import (
    NOTHING,
    hard_margin,
    is_balanced,
    is_feasible,
    losses,
    most,
    start_of,
)

__all__ = ["Scored", "most_out_of_order", "objectives", "square_of"]


class Scored(NamedTuple):
    """The rows of one machine: `scores` without the bias, enclosed."""

    signs: np.ndarray
    costs: np.ndarray
    alpha: np.ndarray
    scores: Enclosure

    def with_a_sign(self) -> Scored:
        """Leave out the rows of classes that the machine does not tell apart."""
        if self.signs.all():
            return self
        mine = np.flatnonzero(self.signs)
        return Scored(self.signs[mine], self.costs[mine], self.alpha[mine], self.scores[mine])


def objectives(rows: Scored, bias: float) -> tuple[Enclosure, Enclosure]:
    """Enclose the objective at (alpha, bias), and the lower bound that alpha makes."""
    signs, costs, alpha, scores = rows
    start = start_of("hinge", costs)
    used = np.maximum(alpha, 0.0)
    square = square_of(signs * used, scores)
    # start - y (g + b): the slack, or a margin with its sign turned.
    short = (scores + bias - start * signs).times_sign(-signs)
    total = Enclosure.exact(used).sum()
    feasible = is_feasible("hinge", costs, alpha) and is_balanced(signs * alpha)
    if start:
        primal = square.halved() + losses("hinge", short, costs)
        return primal, total - square.halved() if feasible else NOTHING
    primal = hard_margin(square.halved(), most(short[costs > 0.0]))
    # No cost limits alpha: the best multiple of it bounds as well.
    return primal, (total / square * total).halved() if feasible else NOTHING


def most_out_of_order(rows: Scored) -> float:
    """Return by how much a row that may fall stands above one that may grow, at the most."""
    signs, costs, alpha, scores = rows
    above, below = alpha > 0.0, alpha < costs
    grows = np.where(signs > 0.0, below, above)
    falls = np.where(signs > 0.0, above, below)
    if not (grows.any() and falls.any()):
        return 0.0
    away = scores - signs
    most = Enclosure.exact(away.high[falls].max()) - away.low[grows].min()
    return max(0.0, float(most.high))


def square_of(shares: np.ndarray, scores: Enclosure) -> Enclosure:
    """Enclose |w|^2 = sum shares * scores: never below zero, whatever rounding says."""
    used = np.flatnonzero(shares)
    return sum_of(lambda g, s: g * s, scores[used], shares[used]).at_least(0.0)
