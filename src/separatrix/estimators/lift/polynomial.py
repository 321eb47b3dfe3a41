"""Products of columns, as a transformer."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from separatrix.core.checks import positive
from separatrix.errors import DataError
from separatrix.estimators._lifting import Lifting, refuse_too_large
from separatrix.problem import lifting

__all__ = ["Polynomial"]


class Polynomial(Lifting):
    """All products of up to `degree` columns; sparse rows stay sparse.

    Parameters
    ----------
    degree : int
        The most factors of a product, at least 1.
    interaction_only : bool
        Whether no column may come twice in a product.
    include_bias : bool
        Whether to put a column of ones first. Machines here have a bias of their own.

    Examples
    --------
    Exclusive or is separable once there is the product of its columns:

    >>> import separatrix as sx
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> lifted = sx.lift.Polynomial(degree=2, interaction_only=True).fit(X)
    >>> lifted.get_feature_names_out().tolist()
    ['x0', 'x1', 'x0 x1']
    >>> sx.separability(X, y).kind, sx.separability(lifted.transform(X), y).kind
    ('overlapping', 'separable')
    """

    def __init__(
        self, degree: int = 2, *, interaction_only: bool = False, include_bias: bool = False
    ) -> None:
        self.degree = degree
        self.interaction_only = interaction_only
        self.include_bias = include_bias

    def fit(self, X: Any, y: Any = None) -> Polynomial:
        """Count the products; nothing is learned from the rows."""
        positive("degree", self.degree, whole=True)
        X = self._read(X, reset=True)
        d, degree = X.shape[1], int(self.degree)
        count = lifting.monomial_count(d, degree, bool(self.interaction_only))
        inner = lifting.monomial_count(d, degree - 1, bool(self.interaction_only))
        what = f"degree {degree} of {d:,} columns"
        refuse_too_large(count, 2.0 * inner if sp.issparse(X) else float(count), what)
        self._tree = self._made_tree()
        self.n_output_features_ = count + bool(self.include_bias)
        return self

    def _made_tree(self) -> lifting.MonomialTree:
        return lifting.tree_of(self.n_features_in_, int(self.degree), bool(self.interaction_only))

    def transform(self, X: Any) -> Any:
        """Return the products of every row: an array, or CSR where X is sparse."""
        X = self._new(X)
        degree, alone = int(self.degree), bool(self.interaction_only)
        values = X.data if sp.issparse(X) else X
        largest = float(abs(values).max()) if values.size else 0.0
        if largest > 1.0 and degree * np.log10(largest) > 307.0:
            raise DataError(
                f"X holds {largest:.3g}, whose power {degree} is beyond the largest number. "
                "Divide the columns first."
            )
        if sp.issparse(X):
            lengths, rows = np.unique(np.diff(X.indptr), return_counts=True)
            counts = [lifting.monomial_count(int(r), degree, alone) for r in lengths]
            entries = 2.0 * sum(float(c) * float(k) for c, k in zip(counts, rows, strict=True))
        else:
            entries = float(X.shape[0]) * self.n_output_features_
        what = f"degree {degree} of {X.shape[1]:,} columns"
        refuse_too_large(self.n_output_features_, entries, what)
        if not hasattr(self, "_tree"):  # of a model file, which keeps no numbers that loops follow
            self._tree = self._made_tree()
        return lifting.monomials(X, self._tree, degree, bool(self.include_bias))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name every product after its factors: ``x0 x1^2``."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        refuse_too_large(self.n_output_features_, 16.0 * self.n_output_features_, "naming")
        level: list[tuple[int, ...]] = [(j,) for j in range(len(names))]
        found = list(level)
        for _ in range(1, int(self.degree)):
            level = [
                (*factors, j)
                for factors in level
                for j in range(factors[-1] + bool(self.interaction_only), len(names))
            ]
            found += level
        written = [_written(factors, names) for factors in found]
        return np.asarray(["1"] * bool(self.include_bias) + written, dtype=object)


def _written(factors: tuple[int, ...], names: np.ndarray) -> str:
    parts = []
    for j in dict.fromkeys(factors):
        power = factors.count(j)
        parts.append(f"{names[j]}^{power}" if power > 1 else str(names[j]))
    return " ".join(parts)
