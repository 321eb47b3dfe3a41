"""Which C, and which gamma, for the kernel machine: cross-validated, then fitted on all rows.

For each gamma the rows of the kernel matrix are computed over all the data and shared by all folds
and machines: a fold leaves rows out by giving them the cost 0. For each fold C goes upwards, each
machine starting from the last one's multipliers, which stay feasible; the scores of the rows left
out are there at no cost, since f is kept for every row.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from separatrix.core.checks import positive
from separatrix.core.kernel_direct import refuse_direct
from separatrix.core.kernel_machines import chunks_at, rows_at
from separatrix.core.linear_model import tally
from separatrix.core.proving import Effort
from separatrix.estimators._kernel_base import brought_for_kernel
from separatrix.estimators._validate import number_support, present_rows, worked_on
from separatrix.estimators.kernel_svm import KernelSVM
from separatrix.problem.kernels import kernel_of
from separatrix.problem.many_classes import KernelDirect
from separatrix.selection.folds import Fold, folds_of
from separatrix.selection.kernel_candidate import solved_upwards
from separatrix.solvers.kernels import kernel_direct
from separatrix.solvers.kernels.kernel_rows import centred_rows
from separatrix.solvers.running.drive import one_thread

__all__ = ["KernelSVMCV"]

_MOST_CHUNKS = 10_000
_SLICE = 64  # steps of a model before the clock is first looked at: a budget may be short
_LAST_SECONDS = 1.0  # for the last fit, however late it is


class KernelSVMCV(KernelSVM):
    """`KernelSVM` with C and gamma chosen by cross-validation.

    Parameters
    ----------
    Cs : sequence of float, default=(0.1, 1.0, 10.0, 100.0)
        The costs to try.
    gammas : sequence, default=("scale",)
        The kernel's gammas to try: numbers, "scale" or "auto" (of all rows).
    cv : int or splitter, default=5
        Folds; the number of stratified ones, in the order of the rows, or anything scikit-learn
        takes. A class with fewer rows than folds is folded as in `LinearSVMCV`.
    kernel : {"rbf", "poly", "sigmoid", "linear", "precomputed"} or function, default="rbf"
        The kernel, as in `KernelSVM`.
    degree : int, default=3
        The degree of "poly".
    coef0 : float, default=0.0
        The constant of "poly" and "sigmoid".
    tol : float, default=0.001
        The relative gap at which each fit stops.
    cache_size : float, default=500.0
        Megabytes for rows of the kernel matrix.
    class_weight : None, "balanced" or dict, default=None
        Factors on the sample weights, by class.
    max_seconds : float or None, default=None
        A budget for the whole fit. The last fit, on all rows, has at least one second.
    multi_class : {"ovo", "ovr", "direct"}, default="ovo"
        Several classes, as in `KernelSVM`.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        The columns of `decision_function`, as in `KernelSVM`.
    probability : bool, default=False
        Whether to calibrate probabilities on five held-out folds.
    n_jobs : int or None, default=None
        Threads; None uses every core. The answer does not depend on it.
    device : {"cpu", "cuda", "cuda:N", "auto"}, default="cpu"
        Where kernel values of dense rows are computed, as in `KernelSVM`.

    Attributes
    ----------
    C_, gamma_
        The pair of least mean validation error; of equals the smallest C, then the first gamma.
    path_ : dict of arrays
        One entry for each gamma and C: ``gamma``, ``C``, ``mean_error`` and ``spread`` of the
        validation error over folds, the mean number of ``support`` vectors, and the largest
        ``gap`` (in floating point; the gap of the last fit is proved).
    coef_, dual_coef_, support_, intercept_, certificate_, gap_, status_, ...
        Of the model fitted on all rows, as in `KernelSVM`.

    See Also
    --------
    KernelSVM : the model for given C and gamma.
    LinearSVMCV : the same choice without a kernel.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> model = sx.KernelSVMCV(Cs=[0.1, 1.0, 10.0], gammas=[0.1, 1.0]).fit(X, y)
    >>> model.gamma_, len(model.path_["C"]), model.certificate_.check(X, y)
    (1.0, 6, True)
    """

    path_: dict[str, np.ndarray]

    def __init__(
        self,
        Cs: Sequence[float] = (0.1, 1.0, 10.0, 100.0),
        *,
        gammas: Sequence[Any] = ("scale",),
        cv: Any = 5,
        kernel: Any = "rbf",
        degree: int = 3,
        coef0: float = 0.0,
        tol: float = 1e-3,
        cache_size: float = 500.0,
        class_weight: Any = None,
        max_seconds: float | None = None,
        multi_class: str = "ovo",
        decision_function_shape: str = "ovr",
        probability: bool = False,
        n_jobs: int | None = None,
        device: str = "cpu",
    ) -> None:
        super().__init__(
            kernel=kernel,
            degree=degree,
            coef0=coef0,
            tol=tol,
            cache_size=cache_size,
            class_weight=class_weight,
            max_seconds=max_seconds,
            multi_class=multi_class,
            decision_function_shape=decision_function_shape,
            probability=probability,
            n_jobs=n_jobs,
            device=device,
        )
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelSVMCV:
        """Choose C and gamma, then find the machine on all rows and prove it."""
        for C in self.Cs:
            positive("every one of Cs", C)
        if not len(self.Cs) or not len(self.gammas):
            raise ValueError("Cs and gammas must hold at least one value each.")
        kept, X, y, sample_weight = present_rows(self, X, y, sample_weight)
        given = self.C, self.gamma, self.max_seconds  # two of them are no parameters of this one
        begun = time.perf_counter()
        try:
            with worked_on(self, X):
                self.path_ = self._path(*brought_for_kernel(self, X, y, sample_weight))
            order = np.lexsort((self.path_["C"], self.path_["mean_error"].round(12)))
            self.C_ = float(self.path_["C"][order[0]])
            self.gamma_ = float(self.path_["gamma"][order[0]])
            self.C, self.gamma = self.C_, self.gamma_
            if self.max_seconds is not None:
                left = self.max_seconds - (time.perf_counter() - begun)
                self.max_seconds = max(_LAST_SECONDS, left)
            super().fit(X, y, sample_weight)
        finally:
            self.C, self.gamma, self.max_seconds = given
        number_support(self, kept)
        return self

    def _path(self, place: Any, X: Any, y: Any, sample_weight: Any) -> dict[str, np.ndarray]:
        X, codes, weights = self._pose(X, y, sample_weight)
        if self.multi_class == "direct":
            refuse_direct(self, place)
            place = None
        copies = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        folds = folds_of(self.cv, X, codes, self.classes_, weights=weights, seed=None)
        effort = self._effort()
        rows_of_path = []
        with one_thread(), ThreadPoolExecutor(effort.workers) as pool:
            for gamma in self.gammas:
                kernel = kernel_of(self.kernel, X, gamma, self.degree, self.coef0, copies)
                rows = rows_at(place, kernel, X, effort, pool)
                how = chunks_at(place)
                if self.multi_class == "direct":
                    middle = centred_rows(rows, kernel, X)
                    work = partial(self._direct_fold, middle, codes, weights, effort)
                else:
                    work = partial(self._fold, rows, how, codes, weights, effort)
                found = np.array([work(fold) for fold in folds])
                for k, C in enumerate(sorted(self.Cs)):
                    errors, support, gaps = found[:, k].T
                    spread = errors.std(ddof=1) if len(errors) > 1 else 0.0
                    rows_of_path.append(
                        (kernel.gamma, C, errors.mean(), spread, support.mean(), gaps.max())
                    )
        columns = np.array(rows_of_path, dtype=float).T
        names = ("gamma", "C", "mean_error", "spread", "support", "gap")
        return dict(zip(names, columns, strict=True))

    def _fold(
        self,
        rows: Any,
        how: dict[str, Any],
        codes: np.ndarray,
        weights: np.ndarray,
        effort: Effort,
        fold: Fold,
    ) -> list[tuple[float, float, float]]:
        """Return validation error, support vectors and gap of every C, going upwards."""
        kept, held = weights * fold.train, weights * fold.validation
        Cs = sorted(self.Cs)
        walk = solved_upwards(rows, codes, self._pairs(), kept, Cs, effort, _SLICE, **how)
        return [self._judged(states, codes, held) for states in walk]

    def _direct_fold(
        self, rows: Any, codes: np.ndarray, weights: np.ndarray, effort: Effort, fold: Fold
    ) -> list[tuple[float, float, float]]:
        """Return the same of the direct machine."""
        kept, held = weights * fold.train, weights * fold.validation
        test = np.flatnonzero(held)
        state, found = None, []
        for C in sorted(self.Cs):
            machine = KernelDirect(codes, len(self.classes_), C * kept)
            if state is None:
                state = kernel_direct.start(machine, kernel_rows=rows, tol=float(self.tol))
            else:
                kernel_direct.carry_over(state, machine)
            effort.go_on(kernel_direct, state, _MOST_CHUNKS, None, slice_size=1)
            predicted = (state.scores[:, test].T + state.bias).argmax(axis=1)
            support = machine.shares(state.masses).any(axis=1).sum()
            found.append((_weighted_error(predicted, codes[test], held[test]), support, state.gap))
        return found

    def _judged(
        self, states: list[Any], codes: np.ndarray, held: np.ndarray
    ) -> tuple[float, float, float]:
        test = np.flatnonzero(held)
        scores = np.column_stack([s.f[test] + s.machine.signs[test] + s.bias for s in states])
        if scores.shape[1] == 1:
            predicted = (scores[:, 0] > 0.0).astype(int)
        elif self.multi_class == "ovr":
            predicted = scores.argmax(axis=1)
        else:
            predicted = tally(scores, self._voting_pairs(), len(self.classes_)).argmax(axis=1)
        wrong = _weighted_error(predicted, codes[test], held[test])
        used = np.any([state.alpha > 0.0 for state in states], axis=0)
        return wrong, float(used.sum()), max(state.gap for state in states)

    def _model_of_a_fold(self) -> KernelSVM:
        plain = {"probability": False, "decision_function_shape": "ovr"}
        folded: KernelSVM = self.best_machine().set_params(**plain)
        return folded

    def best_machine(self) -> KernelSVM:
        """Return an unfitted `KernelSVM` with the C and gamma chosen."""
        check_is_fitted(self)
        names = KernelSVM().get_params()
        settings = {name: value for name, value in self.get_params().items() if name in names}
        return clone(KernelSVM(**{**settings, "C": self.C_, "gamma": self.gamma_}))


def _weighted_error(predicted: np.ndarray, codes: np.ndarray, held: np.ndarray) -> float:
    """Return the share of the weight held out that is predicted wrongly."""
    return float(held @ (predicted != codes) / held.sum())
