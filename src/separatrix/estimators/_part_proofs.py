"""The certificates of an estimator of several parts, each checked on the rows of its part."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix.certificates.two_bounds import parts_hold


@dataclass(frozen=True, eq=False)
class PartProofs:
    """One certificate a model: of class b against class a, or against all others where a is -1.

    A model that has none has None here, and then the whole does not hold.
    """

    parts: tuple[Any, ...]
    sides: tuple[tuple[int, int], ...]
    classes: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether every model has a claim."""
        return all(part is not None and bool(part.holds) for part in self.parts)

    @property
    def missing(self) -> int:
        """How many models have no certificate."""
        return sum(part is None for part in self.parts)

    def check(self, X: Any, y: Any) -> bool:
        """Prove the claim of every model again, from its own rows."""
        classes, codes = np.unique(np.asarray(on_host(y)), return_inverse=True)
        if tuple(str(name) for name in classes) != self.classes or self.missing:
            return False
        if self.sides not in _ways(len(classes)) or len(self.parts) != len(self.sides):
            return False
        return parts_hold(self.parts, self.sides, X, codes)

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if self.missing:
            return f"not proved: {self.missing} of {len(self.parts)} models have no certificate"
        if not self.holds:
            return next(str(part) for part in self.parts if not part.holds)
        first = str(self.parts[0]).removeprefix("proved: ")
        return f"proved of each of the {len(self.parts)} models; of the first: {first}"


def _ways(n_classes: int) -> tuple[Any, ...]:
    """Return the pairs of each class against the rest, and of each class against each other."""
    each = tuple(combinations(range(n_classes), 2))
    return (((-1, 1),) if n_classes == 2 else tuple((-1, b) for b in range(n_classes))), each
