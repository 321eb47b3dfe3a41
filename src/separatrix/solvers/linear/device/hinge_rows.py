"""What an interior point asks of rows on a device: as `ScaledRows` and `Pairs` on the host.

Row by row it makes the same steps, as whole-array operations in float64. The matrix of the system
may be made in float32 while the gap is wide, where the rows are held so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._device import torch_module
from separatrix.solvers.linear.complementarity import SPREAD, TINY, Aim, Pairs
from separatrix.solvers.linear.device.scaled import DOUBLE, SINGLE, Factor, Scaled, factored

__all__ = ["ChosenRows", "DevicePairs"]

# While the gap is above this, the matrix may be made of float32 products.
_SINGLE = 1e-2


class ChosenRows:
    """Some of the rows of V; the others get no weight."""

    def __init__(self, scaled: Scaled, chosen: np.ndarray) -> None:
        self.xp, self.scaled = torch_module(), scaled
        self.chosen = self.xp.as_tensor(chosen, device=scaled.rows.device)

    def dot(self, v: Any, out: Any = None) -> Any:
        """Return V v."""
        return self.scaled.dots(v[:, None])[self.chosen, 0]

    def transposed_dot(self, shares: Any) -> Any:
        """Return V^T shares."""
        return self.scaled.sums(self.spread_out(shares)[:, None])[:, 0]

    def spread_out(self, shares: Any) -> Any:
        """Return numbers of the chosen rows, 0 for the others."""
        whole = shares.new_zeros(self.scaled.rows.shape[0])
        whole[self.chosen] = shares
        return whole

    def factored(self, weights: Any, quadratic: Any, has_bias: bool, gap: float) -> Factor | None:
        """Make and factor diag(q) + [V 1]^T D [V 1]; None where nothing finite comes of it."""
        precision = SINGLE if gap > _SINGLE else DOUBLE
        matrix = self.scaled.squares(self.spread_out(weights), precision)
        matrix.diagonal().add_(quadratic)
        if not has_bias:
            # The last unknown is held at 0 by a one of its own.
            matrix[-1, :] = 0.0
            matrix[:, -1] = 0.0
            matrix[-1, -1] = 1.0
        return factored(matrix)


class DevicePairs(Pairs):
    """alpha, its slacks and the margins as tensors; every cost is finite."""

    def __init__(self, signs: Any, costs: Any) -> None:
        self.signs, self.costs, self.count = signs, costs, 2 * len(signs)

    @property
    def _room(self) -> Any:
        return self.costs - self.alpha

    def centre(self, scores: Any, bias: float, mu: float) -> tuple[float, float]:
        """Go to the point exactly centred at mu; return the sum of y alpha and its slope in b."""
        torch = torch_module()
        self.margins = self.signs * (scores + bias)
        lean = (1.0 - self.margins) * (self.costs / (2.0 * mu))
        size, root = lean.abs(), (1.0 + lean * lean).sqrt()
        # The smaller part of the box, (1 - size / (1 + root)) / 2, without its cancellation.
        small = 0.5 * self.costs * (1.0 + 1.0 / (root + size)) / (1.0 + root)
        large = self.costs - small
        self.alpha = torch.where(lean > 0.0, large, small)
        self.below, self.above = mu / self.alpha, mu / torch.where(lean > 0.0, small, large)
        return float(self.signs @ self.alpha), -float(self._weights().sum())

    def _weights(self) -> Any:
        return 1.0 / (self.below / self.alpha + self.above / self._room)

    def weigh(self) -> tuple[Any, Any, float]:
        """Return D, y D (1 - margin) for the predictor, and the sum of all products."""
        weights = self._weights()
        total = self.alpha @ self.below + self._room @ self.above
        return weights, self.signs * weights * (1.0 - self.margins), float(total)

    def predict(self, weights: Any, moved: Any, db: Any) -> tuple[Any, float, float, float]:
        """Go for products of 0, as `Pairs.predict`."""
        _, da, ds, dx = self._changes(Aim(weights, moved, db, 0.0, 0.0, 0.0))
        linear = self.alpha @ ds + self.below @ da + self._room @ dx - self.above @ da
        square = da @ ds - da @ dx
        return (-da * ds, da * dx), self._fall(da, ds, dx), float(linear), float(square)

    def shares_for(self, weights: Any, target: float, for_below: Any, for_above: Any) -> Any:
        """Return y D rhs where the products are sent to the target and their own part."""
        rhs = 1.0 - self.margins + (target + for_below) / self.alpha
        return self.signs * weights * (rhs - (target + for_above) / self._room)

    def fall(self, aim: Aim) -> float:
        """Return the greatest relative fall of anything in this direction."""
        return self._fall(*self._changes(aim)[1:])

    def recentred(self, aim: Aim, length: float) -> tuple[Any, Any]:
        """Aim again, as `Pairs.recentred`."""
        _, da, ds, dx = self._changes(aim)
        low, high = aim.target / SPREAD, aim.target * SPREAD
        below = (self.alpha + length * da) * (self.below + length * ds)
        above = (self._room - length * da) * (self.above + length * dx)
        parts = (
            aim.for_below + (below.clamp(low, high) - below).clamp(min=-high),
            aim.for_above + (above.clamp(low, high) - above).clamp(min=-high),
        )
        return parts, self.shares_for(aim.weights, aim.target, *parts)

    def step(self, aim: Aim, length: float) -> None:
        """Move alpha, slacks and margins by `length` of this direction."""
        dm, da, ds, dx = self._changes(aim)
        alpha = (self.alpha + length * da).clamp(min=TINY)
        self.alpha = torch_module().minimum(alpha, self.costs)
        self.below, self.above = self.below + length * ds, self.above + length * dx
        self.margins = self.margins + length * dm

    def _changes(self, aim: Aim) -> tuple[Any, Any, Any, Any]:
        """Return the changes of the margins, alpha, s and xi."""
        to_below, to_above = aim.target + aim.for_below, aim.target + aim.for_above
        dm = self.signs * (aim.moved + aim.db)
        rhs = 1.0 - self.margins + to_below / self.alpha - to_above / self._room
        da = aim.weights * (rhs - dm)
        ds = (to_below - self.below * da) / self.alpha - self.below
        dx = (to_above + self.above * da) / self._room - self.above
        return dm, da, ds, dx

    def _fall(self, da: Any, ds: Any, dx: Any) -> float:
        sizes = (-da / self.alpha, da / self._room, -ds / self.below, -dx / self.above)
        return max(0.0, float(torch_module().stack([part.amax() for part in sizes]).amax()))
