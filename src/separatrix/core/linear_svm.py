"""The support vector machine, fitted and proved."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix.core import models
from separatrix.core.checks import one_of
from separatrix.core.keeping import keep_support
from separatrix.core.machine import Machine
from separatrix.core.pairs import fit_pairs

__all__ = ["LinearSVM"]


class LinearSVM(Machine, models.LinearSVM):
    """The hyperplane of largest margin; `separatrix.LinearSVM` explains it."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Find the hyperplane and prove how close to the best it is.

        X holds numbers, dense or CSR, and y labels. Probabilities are not calibrated here.
        """
        one_of("loss", self.loss, ("hinge", "squared_hinge"))
        self._fit_rows(X, y, sample_weight)
        return self

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Fit one machine, one for each class, one for each pair, or all classes at once."""
        if self.multi_class == "direct":
            from separatrix.core.all_classes import fit_direct

            fit_direct(self, X, y, sample_weight)
        elif self.multi_class == "ovo" and len(np.unique(np.asarray(on_host(y)))) > 2:
            fit_pairs(self, X, y, sample_weight, self.loss)
        else:
            machines, codes = self._fit_machines(X, y, sample_weight, self.loss)
            self._keep(machines)
            keep_support(self, machines, codes)
        self._calibration = None
