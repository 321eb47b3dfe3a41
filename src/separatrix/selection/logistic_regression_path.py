"""Sparse logistic regression for many values of C: all weights zero at first, then one by one."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from separatrix.certificates.sparse_gap import SparseGap
from separatrix.certificates.sparse_softmax_gap import SparseSoftmaxGap
from separatrix.core.checks import checked_groups, checked_ratio, costs_of
from separatrix.core.proving import About, solve_and_prove
from separatrix.core.sparse import SparseHyperplane, SparseMultinomial
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.selection._cell import setting_of
from separatrix.selection.refinement import sparse_grid
from separatrix.solvers.running.drive import one_thread

__all__ = ["LogisticRegressionPath"]


@dataclass(eq=False)
class LogisticRegressionPath:
    """Sparse weights for every C, each proved; the first C leaves all weights zero.

    Minimises ``l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2 + C sum_i s_i log(1 + exp(-y_i f(x_i)))``
    with f(x) = w.x + b, b free. More than two classes are fitted at once, as in
    `LogisticRegression`: all weights of a column are zero together. `LogisticRegressionCV` with
    `l1_ratios` chooses a C by folds.

    Parameters
    ----------
    Cs : int or array of floats, default=100
        How many values, from the largest C at which all weights are zero (computed exactly) to 1000
        times that, or 100 times where columns outnumber rows; or the values themselves.
    l1_ratio : float, default=1.0
        1 is the lasso; below it the elastic net. It must be above 0.
    groups : None, a label for every column, or lists of column numbers, default=None
        Columns that are zero together, as in `LogisticRegression`.
    tol : float, default=0.0001
        The relative gap at which every fit stops; it is proved.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    class_weight : None, "balanced" or dict, default=None
        Factors on the sample weights, by class.

    Attributes
    ----------
    Cs_ : array
        The values of C, ascending.
    coefs_, intercepts_ : arrays
        A row of weights and an intercept for every C; of several classes, a row for each class.
    certificates_ : list of SparseGap or SparseSoftmaxGap
        The proof of every C: its gap, and the columns that are zero in every optimum.
    path_ : dict of arrays
        ``C, n_nonzero, n_proved_zero, objective, gap, passes, seconds``, one entry for each C.
    classes_, names_
        The classes, and the names of the columns.

    See Also
    --------
    LogisticRegressionCV : with `l1_ratios`, a C chosen by cross-validation.
    LogisticRegression : with `l1_ratio`, the weights for one C.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = sx.LogisticRegressionPath(Cs=4).fit(X[50:], y[50:])
    >>> path.path_["n_nonzero"].tolist(), path.certificates_[0].check(X[50:], y[50:])
    ([0, 2, 4, 4], True)
    """

    Cs: Any = 100
    l1_ratio: float = 1.0
    tol: float = 1e-4
    fit_intercept: bool = True
    class_weight: Any = None
    groups: Any = None
    path_: dict[str, np.ndarray] = field(default_factory=dict, init=False, repr=False)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solve and prove every C, each from where the one before ended."""
        ratio = checked_ratio(self.l1_ratio)
        if not ratio:
            raise ValueError("l1_ratio must be above 0 here. LogisticRegressionCV has the ridge.")
        model = LogisticRegression(
            l1_ratio=ratio,
            tol=self.tol,
            fit_intercept=self.fit_intercept,
            class_weight=self.class_weight,
            groups=self.groups,
        )
        X, codes, weights = model._prepared(X, y, sample_weight, "logistic")
        self.classes_ = model.classes_
        self.names_ = _names(model, X.shape[1])
        groups = checked_groups(self.groups, X.shape[1])
        several, effort = len(model.classes_) > 2, model._effort()
        setting: Any = setting_of(
            X,
            several,
            fit_intercept=bool(self.fit_intercept),
            codes=codes,
            classes=model.classes_,
            weights=weights,
            folds=(),
            loss="logistic",
            effort=effort,
            l1_ratio=ratio,
            column_groups=groups,
        )
        self.Cs_, _ = sparse_grid(self.Cs, setting.largest_cost_of_zero(weights), X)
        method = SparseMultinomial if several else SparseHyperplane
        found, taken, first = [], [], None
        with one_thread(), ThreadPoolExecutor(1) as pool:
            about = About(model._name(X, codes, pool), model._class_names())
            for C in self.Cs_.tolist():
                begun = time.thread_time()
                (problem,) = setting.problems(costs_of(C, weights))
                one = solve_and_prove(method, problem, effort, about, first)
                found.append(one)
                taken.append(time.thread_time() - begun)
                first = one.proof.weights if several else (one.weights, None)
        self._keep(found, taken)
        return self

    def _keep(self, found: list[Any], taken: list[float]) -> None:
        self.certificates_: list[SparseGap | SparseSoftmaxGap] = [one.proof for one in found]
        table = np.array([proof.weights for proof in self.certificates_])
        self.coefs_, self.intercepts_ = table[..., 1:], table[..., 0]
        nonzero = self.coefs_ != 0.0
        self.path_ = {
            "C": self.Cs_,
            "n_nonzero": np.count_nonzero(nonzero if nonzero.ndim == 2 else nonzero.any(1), axis=1),
            "n_proved_zero": np.array([len(proof.zeros) for proof in self.certificates_]),
            "objective": np.array([proof.primal for proof in self.certificates_]),
            "gap": np.array([proof.gap for proof in self.certificates_]),
            "passes": np.array([one.passes for one in found]),
            "seconds": np.array(taken),
        }


def _names(model: Any, width: int) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    return [f"x{j}" for j in range(width)] if names is None else [str(name) for name in names]
