"""What every kernel classifier here shares: its kernel, its rows, and predicting with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from separatrix._device import guarded, needs_torch, on_host, resolve, rows_on
from separatrix.core.checks import refuse_huge, refuse_infinite
from separatrix.errors import DeviceError
from separatrix.estimators._base import LinearClassifier
from separatrix.estimators._validate import (
    brought,
    checked_weights,
    new_data,
    training_data,
    warn_of_scale,
)
from separatrix.problem.kernels import Kernel, check_gram, check_square, kernel_of
from separatrix.problem.signed import as_matrix
from separatrix.solvers.kernels.device_kernel import KERNELS_ON_DEVICE, device_kernel_scores

__all__ = ["KernelClassifier", "brought_for_kernel", "kernel_scores_of"]

_ENTRIES_AT_A_TIME = 1 << 21


class KernelClassifier(LinearClassifier):
    """A classifier by ``sum_i s_i K(x_i, x) + b``: linear in the space of the kernel."""

    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any

    support_: np.ndarray
    support_vectors_: Any
    dual_coef_: np.ndarray
    kernel_: Kernel

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_given()
        tags.input_tags.sparse = not tags.input_tags.pairwise
        return tags

    def _is_given(self) -> bool:
        """Whether X holds the values of the kernel."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _kernel_data(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, np.ndarray]:
        """Return X and y, checked; settle the kernel's parameters."""
        self._refuse_sparse(X)
        X, y = training_data(self, X, y)
        if self._is_given():
            check_square(X, len(y))  # before anything is made of the labels and the weights
        refuse_huge(self, X)
        X = as_matrix(X)
        if not self._is_given() and not callable(self.kernel):
            warn_of_scale(self, X, stacklevel=6)
        weights = checked_weights(sample_weight, X)
        weights = None if weights is None or not weights.any() else weights
        self.kernel_ = kernel_of(self.kernel, X, self.gamma, self.degree, self.coef0, weights)
        return X, y

    def _check_symmetry(self, X: Any) -> None:
        """Refuse values that no kernel has, once there are classes to separate."""
        if self._is_given():
            check_gram(X, X.shape[0])

    def _refuse_infinite_values(self, X: Any) -> None:
        """Look at the values of a given kernel before their number, as scikit-learn does."""
        values = np.asarray(X) if self._is_given() else None
        if values is not None and values.ndim == 2 and values.dtype.kind == "f":
            refuse_infinite(self, values)

    def _refuse_sparse(self, X: Any) -> None:
        if self._is_given() and sp.issparse(X):
            raise TypeError(
                "Sparse input is not supported with kernel='precomputed': the values of a kernel "
                "are a dense array. Use K.toarray()."
            )

    def _keep_support(self, X: Any, shares: np.ndarray) -> None:
        """Keep the rows that carry something; `shares` has one row a machine."""
        self.support_ = np.flatnonzero(shares.any(axis=0))
        self.dual_coef_ = shares[:, self.support_].copy()
        # A precomputed kernel has no rows to keep; scikit-learn keeps an empty array there.
        given = self.kernel_.name == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if given else X[self.support_]

    @property
    def coef_(self) -> np.ndarray:  # type: ignore[override]
        """The weights of the features, a row a model; for the linear kernel only."""
        if "kernel_" not in vars(self) or self.kernel_.name != "linear":
            raise AttributeError(
                f"{type(self).__name__} has coef_ after a fit with kernel='linear' only: other "
                "kernels have no weights for the features."
            )
        coef = np.asarray(self.dual_coef_ @ self.support_vectors_)
        coef.flags.writeable = False  # it is made anew each time: writing would change nothing
        return coef

    def _machine_scores(self, X: Any) -> np.ndarray:
        """Return the score of every row by every machine."""
        check_is_fitted(self)
        if needs_torch("cpu", X):
            return self._scores_there(X, resolve("cpu", X)) + np.asarray(self.intercept_)
        self._refuse_sparse(X)
        self._refuse_infinite_values(X)
        X = as_matrix(new_data(self, X))
        return kernel_scores_of(
            self.kernel_, X, self.support_, self.support_vectors_, self.dual_coef_
        ) + np.asarray(self.intercept_)

    def _scores_there(self, X: Any, place: Any) -> np.ndarray:
        """Return the scores of a tensor's rows, computed where they are."""
        rows, kernel = as_matrix(new_data(self, on_host(X))), self.kernel_
        shares, dense = self.dual_coef_, not sp.issparse(self.support_vectors_)
        if kernel.name not in KERNELS_ON_DEVICE or not dense:
            return kernel_scores_of(kernel, rows, self.support_, self.support_vectors_, shares)
        with guarded(place):
            there = rows_on(X, place, check=False)
            return device_kernel_scores(kernel, there, self.support_vectors_, shares, place)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of every row: positive for the second class."""
        return self._machine_scores(X).ravel()

    def _is_fitted(self) -> bool:
        return hasattr(self, "dual_coef_")


def brought_for_kernel(
    machine: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[Any, Any, Any, Any]:
    """Return the device to compute kernel values on (None: none), and the data as NumPy has them.

    Kernels that are functions, and matrices of values, are the processor's wherever a tensor is.
    """
    place, *data = brought(machine.device, X, y, sample_weight)
    given = machine.kernel
    if place is None or (isinstance(given, str) and given in KERNELS_ON_DEVICE):
        return place, *data
    if machine.device != "auto" and place.type != "cpu":
        said = "a function" if callable(given) else repr(given)
        raise DeviceError(
            f"device={machine.device!r} computes the kernels {', '.join(KERNELS_ON_DEVICE)}. "
            f"This one is {said}: use device='cpu'."
        )
    return None, *data


def kernel_scores_of(
    kernel: Kernel, X: Any, support: np.ndarray, vectors: Any, shares: np.ndarray
) -> np.ndarray:
    """Return sum_i s_i K(x_i, x) for every row x, a column for each row of `shares`."""
    n = X.shape[0]
    if kernel.name == "precomputed":
        return np.asarray(X[:, support], dtype=np.float64) @ shares.T
    scores = np.empty((n, len(shares)))
    step = max(1, _ENTRIES_AT_A_TIME // max(1, len(support)))
    for begin in range(0, n, step):
        part = slice(begin, begin + step)
        with np.errstate(over="ignore", invalid="ignore"):
            scores[part] = kernel.block(X[part], vectors) @ shares.T if len(support) else 0.0
    return scores
