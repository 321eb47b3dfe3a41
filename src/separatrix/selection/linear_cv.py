"""The support vector machine whose C is chosen by cross-validation over the path.

Logistic regression whose C is chosen by cross-validation over the path.
"""

from __future__ import annotations

from typing import Any, Self

from separatrix.estimators._base import Machine, with_callbacks
from separatrix.estimators._validate import number_support, present_rows, worked_on
from separatrix.estimators.linear_svm import LinearSVM
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.selection import plain_path
from separatrix.selection.path import Progress, Store
from separatrix.selection.scores import Measure

__all__ = [
    "LinearSVMCV",
    "LogisticRegressionCV",
    "PathEstimator",
]


class PathEstimator(plain_path.PathMachine, Machine):
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
        kept, X, y, sample_weight, groups = present_rows(self, X, y, sample_weight, groups)
        with worked_on(self, X):
            super().fit(X, y, sample_weight, groups, store=store, progress=progress)
        number_support(self, kept)
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
    """`LinearSVM` with C chosen by cross-validation.

    Every C is tried on every fold. Each fit starts at the solution for the neighbouring C, and its
    gap is proved to be at most `tol`. The model of the C chosen is then fitted on all rows.

    Parameters
    ----------
    Cs : None, int or array of floats, default=None
        None tries 0.01 to 1000 by factors of ten; an int tries as many values over that range.
        Values near the C of least error are then added. An end of the range is skipped where the
        error has become much larger than the least. A list is tried as given, without additions.
    cv : int, splitter or iterable of (training rows, validation rows), default=5
        A number gives stratified folds, shuffled by `random_state`. A class with fewer rows
        than folds is in as many folds as it has rows; its only row is always trained on and never
        validated. One warning names such classes.
    scoring : None, str or callable, default=None
        None counts errors. Any scorer of scikit-learn works; the largest mean is then chosen, and
        `score` returns this measure.
    rule : {"best", "one_standard_error"}, default="best"
        The C of the best mean, or the smallest C within one standard error of it.
    refine : bool or int, default=True
        Whether to try the geometric means of the best C and its neighbours, or how many times.
    l1_ratios : None or list of floats, default=None
        Values of `l1_ratio` to try, for the squared hinge. Above 0 the values of C begin at the
        largest that leaves all weights zero, and None tries 50 of them.
    groups : None, a label for every column, or lists of column numbers, default=None
        Columns that are zero together, as in `LinearSVM`; for `l1_ratios` above 0. (The `groups`
        of `fit` are of rows: rows of one group stay in one fold.)
    loss : {"hinge", "squared_hinge"}, default="hinge"
        ``max(0, 1 - m)`` or its square.
    tol : float, default=0.0001
        The relative gap at which every fit stops; it is proved.
    solver : {"auto", "newton", "interior_point", "dual_coordinate", "gram"}, default="auto"
        The solver, as in `LinearSVM`.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    intercept_penalty : float, default=0.0
        0 leaves b free. 1 adds ``1/2 b^2``, the objective of LIBLINEAR.
    class_weight : None, "balanced" or dict, default=None
        Factors on the sample weights, by class.
    random_state : int, RandomState or None, default=0
        For the shuffled folds and the order of rows.
    verbose : bool, default=False
        Whether to print progress.
    device : {"cpu", "cuda", "cuda:N", "auto"}, default="cpu"
        As in `LinearSVM`; the data are moved there once, for all folds and values of C.
    max_seconds : float or None, default=None
        A budget for the whole fit. Unfinished values of C are left out, or have a larger gap.
    n_jobs : int or None, default=None
        Threads over folds and values of C; None uses every core. The answer does not depend on it.

    Attributes
    ----------
    C_ : float
        The C chosen.
    l1_ratio_ : float
        The ratio chosen, where `l1_ratios` is given.
    path_ : PathTable
        One row for each C: errors, their spread, support vectors, margin, proved gap, seconds, and
        for sparse weights how many are not zero.
    coef_, intercept_, classes_, support_, certificate_, gap_, status_, ...
        Of the model fitted on all rows, as in `LinearSVM`.

    See Also
    --------
    LinearSVM : the model for one given C.
    LogisticRegressionCV : the same choice for the logistic loss.
    SealedTest : an unbiased error of the model chosen.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = sx.LinearSVMCV().fit(X[50:], y[50:])
    >>> model.C_, float(model.path_["validation_error"].min().round(4)), model.gap_ <= 1e-4
    (0.1, 0.03, True)
    """

    def _one(self) -> Machine:
        return LinearSVM(loss=self.loss)


# ---- logistic regression whose C is chosen by cross-validation over the path


class LogisticRegressionCV(PathEstimator, plain_path.LogisticRegressionCV):
    """`LogisticRegression` with C chosen by cross-validation.

    Every C is tried on every fold. Each fit starts at the solution for the neighbouring C, and its
    gap is proved to be at most `tol`. The model of the C chosen is then fitted on all rows. To
    choose by the probabilities instead of the errors, use ``scoring="neg_log_loss"``.

    Parameters
    ----------
    Cs : None, int or array of floats, default=None
        None tries 0.01 to 1000 by factors of ten; an int tries as many values over that range.
        Values near the C of least error are then added. A list is tried as given.
    cv : int, splitter or iterable of (training rows, validation rows), default=5
        A number gives stratified folds, shuffled by `random_state`, as in `LinearSVMCV`.
    scoring : None, str or callable, default=None
        None counts errors. Any scorer of scikit-learn works; the largest mean is then chosen.
    rule : {"best", "one_standard_error"}, default="best"
        The C of the best mean, or the smallest C within one standard error of it.
    refine : bool or int, default=True
        Whether to try the geometric means of the best C and its neighbours, or how many times.
    l1_ratios : None or list of floats, default=None
        Values of `l1_ratio` to try. Above 0 the values of C begin at the largest that leaves all
        weights zero, and None tries 50 of them.
    groups : None, a label for every column, or lists of column numbers, default=None
        Columns that are zero together, as in `LogisticRegression`; for `l1_ratios` above 0. (The
        `groups` of `fit` are of rows: rows of one group stay in one fold.)
    max_seconds : float or None, default=None
        A budget for the whole fit. Unfinished values of C are left out, or have a larger gap.
    n_jobs : int or None, default=None
        Threads over folds and values of C; None uses every core. The answer does not depend on it.
    device : {"cpu", "cuda", "cuda:N", "auto"}, default="cpu"
        As in `LinearSVM`; the data are moved there once, for all folds and values of C.
    tol : float, default=0.0001
        The relative gap at which every fit stops; it is proved.
    solver : {"auto", "newton", "gram"}, default="auto"
        The solver, as in `LogisticRegression`.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    intercept_penalty : float, default=0.0
        0 leaves b free. 1 adds ``1/2 b^2``, the objective of LIBLINEAR.
    class_weight : None, "balanced" or dict, default=None
        Factors on the sample weights, by class.
    random_state : int, RandomState or None, default=0
        For the shuffled folds and the order of rows.
    verbose : bool, default=False
        Whether to print progress.
    multi_class : {"auto", "ovr", "multinomial"}, default="auto"
        "auto" fits more than two classes all at once. "ovr" fits each class against the rest.
    refit : bool, default=True
        Whether to fit the C chosen on all rows. If not, the model is the mean of the folds' models
        at that C; its gap on all rows is proved, and `status_` is "budget".
    store_cv_results : bool, default=False
        Whether to keep the weights of all folds and values of C.

    Attributes
    ----------
    C_ : float
        The C chosen.
    l1_ratio_ : float
        The ratio chosen, where `l1_ratios` is given.
    scores_ : array of shape (folds, values of C)
        The score of every fold, for every C of `path_`.
    coefs_paths_ : array of shape (folds, values of C, rows of `coef_`, features + 1)
        The weights, the intercept last; with ``store_cv_results=True``.
    path_ : PathTable
        One row for each C: errors, their spread, proved gap, seconds. (Every dual variable is
        positive here, so `n_support` is the number of training rows.)
    coef_, intercept_, classes_, certificate_, gap_, status_, ...
        Of the model fitted on all rows, as in `LogisticRegression`.

    See Also
    --------
    LogisticRegression : the model for one given C.
    LogisticRegressionPath : sparse weights for every C, without folds.
    LinearSVMCV : the same choice for the SVM.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = sx.LogisticRegressionCV(scoring="neg_log_loss").fit(X[50:], y[50:])
    >>> round(model.C_, 2), model.predict_proba(X[70:71]).round(2).tolist()
    (31.62, [[0.47, 0.53]])
    """

    def _one(self) -> Machine:
        return LogisticRegression(multi_class=self.multi_class)
