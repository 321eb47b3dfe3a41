"""The certificates of machines that each tell two of many classes apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix.certificates.two_bounds import EachMachine
from separatrix.problem.signed import as_matrix

__all__ = ["PairGaps"]


@dataclass(frozen=True, eq=False)
class PairGaps(EachMachine):
    """One certificate a pair of classes: each speaks of the rows of its two classes."""

    machines: tuple[Any, ...]
    pairs: tuple[tuple[int, int], ...]

    def check(self, X: Any, y: Any) -> bool:
        """Prove every machine's bounds again, from the rows of its two classes."""
        classes, codes = np.unique(np.asarray(on_host(y)), return_inverse=True)
        every = [(a, b) for a in range(len(classes)) for b in range(a + 1, len(classes))]
        if list(self.pairs) != every or len(self.machines) != len(every):
            return False
        X = as_matrix(X)
        for machine, pair in zip(self.machines, self.pairs, strict=True):
            rows = np.flatnonzero(np.isin(codes, pair))
            if not machine.check(X[rows], codes[rows]):
                return False
        return True

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        return (
            f"proved: no hyperplane lowers the objective of any of the {len(self.machines)} "
            f"machines, one a pair of classes, by more than {self.gap:.2g} of it"
        )
