"""The row-by-row part of an interior point's step, for rows on a device.

    alpha s = mu,   (c - alpha) xi = mu,   1 - margin = xi - s          for every row

Eliminating s and xi from the linearised equations leaves, for a change dm of the margin,

    d_alpha = D (rhs - dm),   D = 1 / (s / alpha + xi / (c - alpha))

The same steps as `solvers.complementarity`, as whole-array operations in float64.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from separatrix._device import torch_module

__all__ = ["Aim", "Change", "Pairs", "centred"]

# Products are brought to within this factor of the target, from both sides.
_SPREAD = 10.0
_TINY = 2.0**-1022


@dataclass(frozen=True, eq=False)
class Aim:
    """What the two products of every row are to become."""

    below: Any
    above: Any


@dataclass(frozen=True, eq=False)
class Change:
    """What a step of 1 does to the rows."""

    alpha: Any
    below: Any
    above: Any
    margins: Any


@dataclass(frozen=True, eq=False)
class Pairs:
    """alpha, its two slacks and the margins: s = `below`, xi = `above`."""

    costs: Any
    alpha: Any
    below: Any
    above: Any
    margins: Any

    @property
    def room(self) -> Any:
        """How far alpha is from its cost."""
        return self.costs - self.alpha

    @property
    def mean_product(self) -> float:
        """The mean of all products: what `mu` is at a centred point."""
        total = self.alpha @ self.below + self.room @ self.above
        return float(total) / (2 * len(self.alpha))

    @property
    def weights(self) -> Any:
        """D of every row."""
        return 1.0 / (self.below / self.alpha + self.above / self.room)

    def right(self, aim: Aim) -> Any:
        """Return rhs of every row where the products are sent to the aim."""
        return 1.0 - self.margins + aim.below / self.alpha - aim.above / self.room

    def change(self, aim: Aim, weights: Any, moved: Any) -> Change:
        """Return what follows from a change of the margins."""
        da = weights * (self.right(aim) - moved)
        below = (aim.below - self.below * da) / self.alpha - self.below
        above = (aim.above + self.above * da) / self.room - self.above
        return Change(da, below, above, moved)

    def fall(self, change: Change) -> float:
        """Return the greatest relative fall of anything."""
        torch = torch_module()
        falls = torch.stack([
            (-change.alpha / self.alpha).amax(),
            (change.alpha / self.room).amax(),
            (-change.below / self.below).amax(),
            (-change.above / self.above).amax(),
        ])  # fmt: skip
        return max(0.0, float(falls.amax()))

    def predicted(self, change: Change, length: float) -> float:
        """Return the mean product after a step of this length."""
        return self.stepped(change, length).mean_product

    def stepped(self, change: Change, length: float) -> Pairs:
        """Return the rows after a step of this length."""
        torch = torch_module()
        alpha = torch.minimum((self.alpha + length * change.alpha).clamp(min=_TINY), self.costs)
        return replace(
            self,
            alpha=alpha,
            below=self.below + length * change.below,
            above=self.above + length * change.above,
            margins=self.margins + length * change.margins,
        )

    def recentred(self, aim: Aim, change: Change, length: float, target: float) -> Aim:
        """Aim again: products that a step of this length leaves far from the target are corrected.

        Gondzio (1996): products below a tenth of the target are raised to it, those above ten times
        are lowered, but by no more than that.
        """
        low, high = target / _SPREAD, target * _SPREAD
        below = (self.alpha + length * change.alpha) * (self.below + length * change.below)
        above = (self.room - length * change.alpha) * (self.above + length * change.above)
        return Aim(
            aim.below + (below.clamp(low, high) - below).clamp(min=-high),
            aim.above + (above.clamp(low, high) - above).clamp(min=-high),
        )


def centred(signs: Any, costs: Any, scores: Any, bias: float, mu: float) -> Pairs:
    """Return the point that is exactly centred at mu.

    alpha solves mu / (c - alpha) - mu / alpha = 1 - margin.
    """
    torch = torch_module()
    margins = signs * (scores + bias)
    lean = (1.0 - margins) * (costs / (2.0 * mu))
    size = lean.abs()
    root = (1.0 + lean * lean).sqrt()
    # The smaller part of the box, (1 - size / (1 + root)) / 2, without its cancellation.
    small = 0.5 * costs * (1.0 + 1.0 / (root + size)) / (1.0 + root)
    large = costs - small
    alpha = torch.where(lean > 0.0, large, small)
    other = torch.where(lean > 0.0, small, large)
    return Pairs(costs, alpha, mu / alpha, mu / other, margins)
