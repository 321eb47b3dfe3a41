"""What a support vector machine tells of its rows: those with a multiplier, and its margin."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators._base import LinearClassifier
from separatrix.estimators._one_or_all import one_or_all
from separatrix.estimators._proved import Fitted

__all__ = ["SupportVectors"]


class SupportVectors(LinearClassifier):
    """Keeps the support vectors of the machines fitted."""

    support_: np.ndarray
    dual_coef_: np.ndarray
    n_support_: np.ndarray
    margin_: Any

    def _keep_support(self, machines: list[Fitted], codes: np.ndarray) -> None:
        alpha = np.array([machine.proof.multipliers for machine in machines])
        self.support_ = np.flatnonzero(alpha.any(axis=0))
        signs = np.array([machine.signs for machine in machines])
        self.dual_coef_ = (alpha * signs)[:, self.support_]
        self.n_support_ = np.bincount(codes[self.support_], minlength=len(self.classes_))
        lengths = np.linalg.norm(self.coef_, axis=1)
        with np.errstate(divide="ignore"):
            margins = 1.0 / lengths
        self.margin_ = one_or_all(margins)
