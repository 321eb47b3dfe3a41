"""Columns whose products approximate a kernel: random cosines, and some rows of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_random_state

from separatrix.core.checks import one_of, positive
from separatrix.errors import DataError
from separatrix.estimators.lift.basis_functions import (
    Lifting,
    as_dense,
    refuse_too_large,
    scale_or_number,
)
from separatrix.problem import lifting

__all__ = ["Nystrom", "RandomFourier"]


class RandomFourier(ClassNamePrefixFeaturesOutMixin, Lifting):
    """Random cosines whose products approximate ``exp(-gamma |x - z|^2)``.

    With D components the products of two rows miss the kernel by more than e with a probability of
    at most ``2 exp(-D e^2 / 8)``: a typical miss is ``1 / sqrt(D)``.

    Parameters
    ----------
    n_components : int, default=100
        How many cosines.
    gamma : "scale" or float, default="scale"
        Of the kernel; "scale" is ``1 / (d var(X))``.
    random_state : int, RandomState or None, default=None
        For the directions and offsets.

    Examples
    --------
    >>> import numpy as np, separatrix as sx
    >>> X = np.array([[0.0], [1.0]])
    >>> Z = sx.lift.RandomFourier(4000, gamma=1.0, random_state=0).fit_transform(X)
    >>> bool(abs((Z @ Z.T)[0, 1] - np.exp(-1.0)) < 0.05)
    True
    """

    def __init__(
        self, n_components: int = 100, *, gamma: Any = "scale", random_state: Any = None
    ) -> None:
        self.n_components = n_components
        self.gamma = gamma
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> RandomFourier:
        """Draw the directions; of the rows only their number of columns and their scale count."""
        positive("n_components", self.n_components, whole=True)
        scale_or_number("gamma", self.gamma)
        X = self._read(X, reset=True)
        d, count = X.shape[1], int(self.n_components)
        refuse_too_large(count, float(d) * count, f"RandomFourier of {count:,} components")
        self.gamma_ = lifting.scale_of(X) if isinstance(self.gamma, str) else float(self.gamma)
        dice = check_random_state(self.random_state)
        self.directions_ = np.sqrt(2.0 * self.gamma_) * dice.normal(size=(d, count))
        self.offsets_ = dice.uniform(0.0, 2.0 * np.pi, size=count)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the cosines of every row."""
        X = self._new(X)
        count = len(self.offsets_)
        refuse_too_large(count, float(X.shape[0]) * count, f"RandomFourier of {count:,} components")
        return lifting.cosines(X, self.directions_, self.offsets_)

    @property
    def _n_features_out(self) -> int:
        return len(self.offsets_)


class Nystrom(ClassNamePrefixFeaturesOutMixin, Lifting):
    """Columns whose products equal a kernel on some rows, and approximate it elsewhere.

    Parameters
    ----------
    n_components : int, default=100
        How many rows to take; all of them, if there are fewer, and then the kernel is exact.
    kernel : {"rbf", "poly", "linear"} or callable, default="rbf"
        ``exp(-gamma |x - z|^2)``, ``(gamma x.z + coef0)^degree``, ``x.z``, or one of two rows.
    gamma : "scale" or float, default="scale"
        Of the kernel; "scale" is ``1 / (d var(X))``.
    degree, coef0
        Of the polynomial kernel.
    random_state : int, RandomState or None, default=None
        For the choice of rows.

    Examples
    --------
    >>> import numpy as np, separatrix as sx
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> Z = sx.lift.Nystrom(3, gamma=1.0).fit_transform(X)
    >>> np.allclose(Z @ Z.T, np.exp(-((X - X.T) ** 2)))
    True
    """

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.random_state = random_state

    def _kernel(self, X: Any, Z: Any) -> np.ndarray:
        if callable(self.kernel):
            return np.asarray(pairwise_kernels(as_dense(X), as_dense(Z), metric=self.kernel))
        if self.kernel == "rbf":
            width = float(np.sqrt(0.5 / self.gamma_))
            return lifting.radial(X, as_dense(Z), width)
        products = X @ Z.T
        products = as_dense(products)
        if self.kernel == "linear":
            return products
        return np.asarray((self.gamma_ * products + float(self.coef0)) ** int(self.degree))

    def fit(self, X: Any, y: Any = None) -> Nystrom:
        """Choose the rows and take the root of their kernel matrix."""
        positive("n_components", self.n_components, whole=True)
        scale_or_number("gamma", self.gamma)
        if not callable(self.kernel):
            one_of("kernel", self.kernel, ("rbf", "poly", "linear"))
        positive("degree", self.degree, whole=True)
        X = self._read(X, reset=True)
        count = min(int(self.n_components), X.shape[0])
        refuse_too_large(count, 4.0 * count * count, f"Nystrom of {count:,} rows")
        self.gamma_ = lifting.scale_of(X) if isinstance(self.gamma, str) else float(self.gamma)
        dice = check_random_state(self.random_state)
        self.component_indices_ = np.sort(dice.permutation(X.shape[0])[:count])
        self.components_ = X[self.component_indices_]
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = self._kernel(self.components_, self.components_)
        if not np.isfinite(matrix).all():
            raise DataError("The kernel of these rows is not finite. Divide the columns first.")
        values, vectors = scipy.linalg.eigh(0.5 * (matrix + matrix.T))
        # What is below rounding of the largest is rounding, and its root would be noise.
        kept = values > 1e-12 * max(float(values[-1]), np.finfo(float).tiny)
        roots = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
        self.normalization_ = (vectors * roots) @ vectors.T
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the columns of every row."""
        X = self._new(X)
        count = len(self.normalization_)
        refuse_too_large(count, 2.0 * X.shape[0] * count, f"Nystrom of {count:,} rows")
        return np.asarray(self._kernel(X, self.components_) @ self.normalization_)

    @property
    def _n_features_out(self) -> int:
        return len(self.normalization_)
