"""The perceptron and Kozinec's algorithm in the space of a kernel, as scikit-learn classifiers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from separatrix.certificates.kernel_separation import KernelSeparation, prove_kernel_separation
from separatrix.core.checks import positive, two_classes
from separatrix.core.models import with_settings
from separatrix.estimators._kernel_base import KernelClassifier
from separatrix.problem.canonical import data_of
from separatrix.problem.fingerprint import fingerprint
from separatrix.solvers.kernels.kernel_rows import kernel_rows
from separatrix.solvers.running.drive import Status, go_on, one_thread
from separatrix.solvers.updates import kernel_kozinec, kernel_perceptron
from separatrix.solvers.updates.kernel_perceptron import KernelFrame, replay_rule

__all__ = ["KernelKozinec", "KernelPerceptron"]


class _KernelRule(KernelClassifier):
    """What both rules share: one row of the kernel matrix an update, and the proof."""

    max_updates: Any
    max_seconds: Any
    cache_size: Any
    takes_many_classes = False

    def _begun(self, X: Any, y: Any, method: Any, **settings: Any) -> tuple[Any, Any]:
        """Return X, checked, and the run at its start."""
        positive("max_updates", self.max_updates, whole=True)
        positive("cache_size", self.cache_size)
        positive("max_seconds", self.max_seconds, optional=True)
        X, y = self._kernel_data(X, y)
        self.classes_, signs = two_classes(self, y)
        self._check_symmetry(X)
        cache = int(float(self.cache_size) * 2**20)
        with one_thread():
            rows = kernel_rows(self.kernel_, X, cache, None, precise=True)
            return X, method.start(signs, kernel_rows=rows, **settings)

    def _fit(self, X: Any, y: Any, method: Any, **settings: Any) -> Any:
        X, state = self._begun(X, y, method, **settings)
        with one_thread():
            seconds = np.inf if self.max_seconds is None else float(self.max_seconds)
            self.status_ = go_on(method, state, self.max_updates, seconds)
        share = state.signs * state.alpha
        self._keep_support(X, share[None, :])
        self.intercept_ = np.array([float(share.sum())])
        self.n_iter_, self.n_passes_ = state.updates, state.passes
        self._certify(X, (state.signs > 0.0).astype(np.int64), share)
        if self.status_ not in (Status.SEPARATED, Status.EPSILON):
            self._warn(f"{self.status_.cause}.")
        return state

    def _certify(self, X: Any, codes: np.ndarray, shares: np.ndarray) -> None:
        """Prove which rows are on their own side; a run that separates must prove it of all."""
        claim = KernelSeparation(
            kernel=self.kernel_,
            shares=shares,
            bias=float(self.intercept_[0]),
            data_sha256=fingerprint(data_of(X, codes, 2, True)),
            n_rows=X.shape[0],
            n_features=X.shape[1],
            classes=self._class_names(),
        )
        self.certificate_ = prove_kernel_separation(claim, X, codes)
        ended_well = self.status_ in (Status.SEPARATED, Status.EPSILON)
        if ended_well and not self.certificate_.holds:
            self.status_ = Status.UNPROVED


@with_settings
class KernelPerceptron(_KernelRule):
    """The perceptron in the feature space of a kernel.

    The score is ``sum_i a_i y_i (K(x_i, x) + 1)``, where a_i counts the mistakes on row i. The run
    ends when every row is strictly on its own side. Some kernels, such as rbf on distinct rows,
    always allow that.

    Parameters
    ----------
    kernel : {"rbf", "poly", "sigmoid", "linear", "precomputed"} or function, default="rbf"
        The kernel, as in `KernelSVM`.
    degree : int, default=3
        The degree of "poly".
    gamma : "scale", "auto" or float, default="scale"
        The factor of "rbf", "poly" and "sigmoid", as in `KernelSVM`.
    coef0 : float, default=0.0
        The constant of "poly" and "sigmoid".
    max_updates : int, default=100000
        How many mistakes to make at most.
    max_seconds : float or None, default=None
        A further budget.
    cache_size : float, default=500.0
        Megabytes for rows of the kernel matrix.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, classes_
        The rows used, how often (with the sign of their class), and the bias.
    certificate_ : KernelSeparation
        How many rows are strictly on their own side, and bounds on the largest margin of any
        hyperplane in the kernel's space (in homogeneous coordinates): proved.
    status_, n_iter_, n_passes_
        Why the run ended, its mistakes, and its passes over the rows.

    See Also
    --------
    Perceptron : the same rule on the features themselves.
    KernelKozinec : a margin within epsilon of the largest.
    KernelSVM : the largest margin, or a soft one.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> model = sx.KernelPerceptron(kernel="rbf", gamma=1.0).fit(X, y)
    >>> model.predict(X).tolist(), str(model.status_)
    ([0, 0, 1, 1], 'separated')
    """

    _: KW_ONLY
    kernel: Any = "rbf"
    degree: int = 3
    gamma: Any = "scale"
    coef0: float = 0.0
    max_updates: int = 100_000
    max_seconds: float | None = None
    cache_size: float = 500.0

    def fit(self, X: Any, y: Any) -> KernelPerceptron:
        """Go round the rows until none is on the wrong side."""
        self._fit(X, y, kernel_perceptron)
        return self

    def _replay(self, X: Any, y: Any) -> Iterator[KernelFrame]:
        _, state = self._begun(X, y, kernel_perceptron)
        return replay_rule(kernel_perceptron, state, self.max_updates)


@with_settings
class KernelKozinec(_KernelRule):
    """Kozinec's algorithm in the feature space of a kernel.

    Parameters
    ----------
    epsilon : float or None, default=None
        None stops at the first hyperplane that separates. A number continues until the margin is
        within epsilon of the largest (in homogeneous coordinates of the kernel's space).
    kernel : {"rbf", "poly", "sigmoid", "linear", "precomputed"} or function, default="rbf"
        The kernel, as in `KernelSVM`.
    degree : int, default=3
        The degree of "poly".
    gamma : "scale", "auto" or float, default="scale"
        The factor of "rbf", "poly" and "sigmoid", as in `KernelSVM`.
    coef0 : float, default=0.0
        The constant of "poly" and "sigmoid".
    max_updates : int, default=100000
        How many updates to make at most.
    max_seconds : float or None, default=None
        A further budget.
    cache_size : float, default=500.0
        Megabytes for rows of the kernel matrix.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, classes_
        The rows used, their convex coefficients (with the sign of their class), and the bias.
    margin_bounds_ : (float, float)
        The largest margin of any hyperplane lies between these: proved where the kernel is positive
        semidefinite (-inf or inf where none is), else as computed.
    certificate_ : KernelSeparation
        How many rows are strictly on their own side, and the bounds on the margin.
    status_, n_iter_, n_passes_
        Why the run ended, and its updates, each of which looks at all rows.

    See Also
    --------
    Kozinec : the same algorithm on the features themselves.
    KernelPerceptron : separation alone, without bounds while it runs.
    KernelSVM : the largest margin, or a soft one.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [0, 0, 1, 1]
    >>> model = sx.KernelKozinec(epsilon=0.01, kernel="rbf", gamma=1.0).fit(X, y)
    >>> model.predict(X).tolist(), [round(bound, 2) for bound in model.margin_bounds_]
    ([0, 0, 1, 1], [0.31, 0.32])
    """

    epsilon: float | None = None
    _: KW_ONLY
    kernel: Any = "rbf"
    degree: int = 3
    gamma: Any = "scale"
    coef0: float = 0.0
    max_updates: int = 100_000
    max_seconds: float | None = None
    cache_size: float = 500.0

    def fit(self, X: Any, y: Any) -> KernelKozinec:
        """Move to the point of the hull nearest the origin, segment by segment."""
        positive("epsilon", self.epsilon, optional=True)
        state = self._fit(X, y, kernel_kozinec, epsilon=self.epsilon)
        proved = self.certificate_.lower, self.certificate_.upper
        self.margin_bounds_ = proved if self.kernel_.is_positive else state.bounds
        return self

    def _replay(self, X: Any, y: Any) -> Iterator[KernelFrame]:
        _, state = self._begun(X, y, kernel_kozinec, epsilon=self.epsilon)
        return replay_rule(kernel_kozinec, state, self.max_updates)
