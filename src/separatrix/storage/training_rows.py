"""The rows that a model is proved from, and what each of them costs by the model's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.core.checks import class_factors
from separatrix.problem.signed import as_matrix
from separatrix.storage.fitted_values import Mismatch, are_same

__all__ = ["TrainingRows"]

_OTHER_C = "C, or the weight of a class, is not the one that the certificate speaks of"


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows, labels, the classes in order, and the class number of every row.

    `weights` are the sample weights of training, None where none are known. X may be partitions.
    """

    X: Any
    y: Any
    classes: np.ndarray
    codes: np.ndarray
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None) -> TrainingRows:
        """Number the classes in their sorted order, as a fit does."""
        if hasattr(X, "stored"):
            codes = np.concatenate([codes for _, codes in X.blocks()])
            return cls(X, X.classes, X.classes, codes)
        y = np.asarray(y)
        classes, codes = np.unique(y, return_inverse=True)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return cls(as_matrix(X), y, classes, codes, weights)

    @property
    def in_partitions(self) -> bool:
        """Whether the rows are not in memory."""
        return hasattr(self.X, "stored")

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return len(self.codes)

    def names(self) -> tuple[str, ...]:
        """Return the classes as a certificate names them."""
        return tuple(str(name) for name in self.classes)

    def part(self, rows: np.ndarray) -> TrainingRows:
        """Return some of the rows, their classes numbered anew."""
        weights = None if self.weights is None else self.weights[rows]
        return TrainingRows.of(self.X[rows], self.y[rows], weights)

    def row_weights(self, class_weight: Any) -> np.ndarray:
        """Return what each row counts: its sample weight times the weight of its class."""
        weights = np.ones(self.n_rows) if self.weights is None else self.weights
        counts = np.bincount(self.codes, weights, minlength=len(self.classes))
        try:
            factors = class_factors(self.classes, counts, class_weight)
        except (ValueError, TypeError) as error:
            raise Mismatch(str(error)) from None
        return np.asarray(weights * factors[self.codes])

    def require_costs(
        self, costs: np.ndarray, expected: np.ndarray, rows: np.ndarray | None = None
    ) -> bool:
        """Compare what rows cost in a certificate with what they cost by the parameters.

        Where sample weights are not known, those that the certificate has are taken, unless they
        are alike in each class: that would be another C, or another weight of a class. Return
        whether such weights were taken. `rows` are those that the costs are of, None for all.
        """
        codes = self.codes if rows is None else self.codes[rows]

        def by_class(values: np.ndarray) -> list[np.ndarray]:
            return [values[codes == k] for k in np.unique(codes)]

        if are_same(np.array(costs), np.array(expected)):
            return False
        if self.weights is not None or costs.shape != expected.shape:
            raise Mismatch(_OTHER_C)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = costs / expected
        if np.isinf(expected).any():
            shares = np.where(np.isinf(costs), 1.0, costs)
        known = (shares >= 0.0) & np.isfinite(shares)
        if not known.all() or all(np.ptp(part) <= 1e-12 * part.max() for part in by_class(shares)):
            raise Mismatch(_OTHER_C)
        return True
