"""What a run on blocks hands over for proof: w, and an alpha that is exactly feasible.

The alpha of the best lower bound is collected from the blocks once. The heavier class is scaled
down to the lighter one. `balance` corrects the last digits, so that y.alpha is exactly 0.
"""

from __future__ import annotations

import numpy as np

from separatrix.problem.blocks import Block, Engine, Posed, Sums
from separatrix.problem.losses import SQUARED_HINGE
from separatrix.solvers.linear.balance import balanced
from separatrix.solvers.linear.blocks.newton import Run

__all__ = ["RowFacts", "claimed_alpha", "row_facts"]


class RowFacts:
    """The class number of every row, and its weight where rows have weights."""

    def __init__(self, codes: np.ndarray, weights: np.ndarray | None) -> None:
        self.codes, self.weights = codes, weights

    def costs(self, posed: Posed) -> np.ndarray:
        """Return c_i of every row; where all are alike, one number seen n times."""
        if self.weights is None and (posed.costs == posed.costs[0]).all():
            return np.broadcast_to(np.float64(posed.costs[0]), self.codes.shape)
        costs = posed.costs[self.codes]
        return np.asarray(costs if self.weights is None else costs * self.weights)

    def signs(self, posed: Posed) -> np.ndarray:
        """Return y_i of every row."""
        return np.where(self.codes == posed.positive, 1.0, -1.0)


def facts_of(block: Block, narrow: bool) -> Sums:
    """Return the class numbers and weights of a block, in lists."""
    codes = block.codes.astype(np.int8 if narrow else np.int32)
    return [codes], [] if block.weights is None else [block.weights]


def row_facts(engine: Engine, n_classes: int) -> RowFacts:
    """Collect what is known of every row."""
    codes, weights = engine.reduce(facts_of, n_classes < 128)
    return RowFacts(np.concatenate(codes), np.concatenate(weights) if weights else None)


def claimed_alpha(run: Run, facts: RowFacts) -> np.ndarray:
    """Return the alpha of the best lower bound, exactly feasible."""
    posed = run.posed
    if run.lower is None:
        return np.zeros(run.engine.n_rows)
    alpha = run.lower_alpha(facts.costs(posed))
    factors = run.lower.factors
    if not posed.has_free_bias:
        return alpha
    positive = facts.codes == posed.positive
    alpha[positive] *= factors[0]
    alpha[~positive] *= factors[1]
    upper = facts.costs(posed)
    if posed.loss == SQUARED_HINGE:
        upper = np.where(upper > 0.0, np.inf, 0.0)
    return balanced(alpha, facts.signs(posed), upper)
