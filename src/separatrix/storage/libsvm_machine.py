"""A machine that LIBSVM made, predicting as LIBSVM does."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.estimators.kernel_svm import KernelSVM

__all__ = ["LibsvmMachine"]


class LibsvmMachine(KernelSVM):
    """`KernelSVM` read from LIBSVM's file: the classes stand in its order and vote by its rules.

    Machines of several classes speak for the first of a pair where their score is above zero, and
    of classes with equally many votes the first wins. It carries no certificate.
    """

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores: of two classes above zero for the second, of several their votes."""
        scores = self._machine_scores(X)
        if len(self.classes_) == 2:
            return scores.ravel()
        return _votes(scores, len(self.classes_))


def _votes(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the votes for every class; machines stand in the order (0, 1), (0, 2), ...

    >>> _votes(np.array([[0.0, -1.0, 2.0]]), 3).tolist()
    [[0.0, 2.0, 1.0]]
    """
    votes = np.zeros((len(scores), n_classes))
    pair = 0
    for first in range(n_classes):
        for second in range(first + 1, n_classes):
            won = scores[:, pair] > 0.0
            votes[:, first] += won
            votes[:, second] += ~won
            pair += 1
    return votes
