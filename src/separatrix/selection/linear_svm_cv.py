"""The support vector machine whose C is chosen by cross-validation over the path."""

from __future__ import annotations

from typing import Any, Self

from separatrix.estimators._absent_classes import present_rows
from separatrix.estimators._machine import Machine, with_callbacks
from separatrix.estimators._validate import worked_on
from separatrix.estimators.linear_svm import LinearSVM
from separatrix.selection import plain_path
from separatrix.selection._path_machine import PathMachine
from separatrix.selection.path import Progress, Store
from separatrix.selection.scores import Measure

__all__ = ["LinearSVMCV", "PathEstimator"]


class PathEstimator(PathMachine, Machine):
    """What the estimators add: callbacks, and data on a device."""

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        groups: Any = None,
        *,
        store: Store | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Choose C over the folds, fit on all the rows, and prove how close to the best that is.

        `store` keeps finished models, so that an interrupted fit can be resumed (see
        `selection.path`); `progress` is called with what is done, of how much, and where.
        """
        present = present_rows(self, X, y, sample_weight)
        X, y, sample_weight, groups = map(present.of, (X, y, sample_weight, groups))
        with worked_on(self, X):
            super().fit(X, y, sample_weight, groups, store=store, progress=progress)
        present.number_support(self)
        return self

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score by `scoring`; where that is None, the share of rows judged rightly."""
        if self.scoring is None or isinstance(self.scoring, Measure):
            return float(super().score(X, y, sample_weight))
        from sklearn.metrics import check_scoring

        scorer = check_scoring(self, scoring=self.scoring)
        weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(scorer(self, X, y, **weighted))


class LinearSVMCV(PathEstimator, plain_path.LinearSVMCV):
    """The hyperplane of largest margin with the C that misjudges fewest held-out rows.

    Every C is tried on every fold, each machine started where its neighbour ended and proved as
    close to its optimum as `tol` asks; then the machine of the C chosen is fitted on all the rows.

    Parameters
    ----------
    Cs : None, int or array of floats, default=None
        None tries 0.01 to 1000 by factors of ten, an int as many values over that range; the
        neighbourhood of the best is then refined, and an end of the range may be left out where
        the error has become hopeless. Values given one by one are all tried, and no others.
    cv : int, splitter or iterable of (rows to train on, rows to judge by), default=5
        A number asks for stratified folds, shuffled by `random_state`. A class with fewer rows
        than folds is in as many folds as it has rows; its only row is always trained on and never
        validated. One warning names such classes.
    scoring : None, str or callable, default=None
        None counts errors; otherwise any scorer of scikit-learn, whose mean is to be large.
        `score` returns it too.
    rule : {"best", "one_standard_error"}, default="best"
        The C of the best mean; or the smallest C within one standard error of it.
    refine : bool or int, default=True
        Whether to try the geometric means of the best C and its neighbours, and how often.
    l1_ratios : None or list of floats, default=None
        Values of `l1_ratio` to try, for the squared hinge. Above 0 the values of C begin at the
        largest that leaves all weights zero, and None tries 50 of them.
    groups : None, a label for every column, or lists of column numbers, default=None
        Columns that are zero together, as in `LinearSVM`; for `l1_ratios` above 0. (The `groups`
        of `fit` are of rows: rows of one group stay in one fold.)
    loss, tol, solver, fit_intercept, intercept_penalty, class_weight, random_state, verbose
        As in `LinearSVM`.
    device : {"cpu", "cuda", "cuda:N", "auto"}, default="cpu"
        As in `LinearSVM`; the data are moved there once, for all folds and values of C.
    max_seconds : float or None, default=None
        A budget for all of it. What is unfinished at its end is left out, or has a larger gap.
    n_jobs : int or None, default=None
        Threads over folds and values of C; None uses every core. The answer does not depend on it.

    Attributes
    ----------
    C_ : float
        The C chosen.
    l1_ratio_ : float
        The ratio chosen, where `l1_ratios` is given.
    path_ : PathTable
        One row a C: errors, their spread, support vectors, margin, proved gap, seconds; of sparse
        weights also how many are not zero.
    coef_, intercept_, classes_, support_, certificate_, gap_, status_, ...
        Of the machine on all the rows, as in `LinearSVM`.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = sx.LinearSVMCV().fit(X[50:], y[50:])
    >>> machine.C_, float(machine.path_["validation_error"].min().round(4)), machine.gap_ <= 1e-4
    (0.1, 0.03, True)
    """

    def _one(self) -> Machine:
        return LinearSVM(loss=self.loss)
