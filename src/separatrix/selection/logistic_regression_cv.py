"""Logistic regression whose C is chosen by cross-validation over the path."""

from __future__ import annotations

from separatrix.estimators._machine import Machine
from separatrix.estimators.logistic_regression import LogisticRegression
from separatrix.selection import plain_path
from separatrix.selection.linear_svm_cv import PathEstimator

__all__ = ["LogisticRegressionCV"]


class LogisticRegressionCV(PathEstimator, plain_path.LogisticRegressionCV):
    """Class probabilities from a hyperplane, with the C that misjudges fewest held-out rows.

    Every C is tried on every fold, each machine started where its neighbour ended and proved as
    close to its optimum as `tol` asks; then the machine of the C chosen is fitted on all the rows.
    To choose by the probabilities and not by errors, use ``scoring="neg_log_loss"``.

    Parameters
    ----------
    Cs, cv, scoring, rule, refine, l1_ratios, groups, max_seconds, n_jobs, device
        As in `LinearSVMCV`.
    tol, solver, fit_intercept, intercept_penalty, class_weight, random_state, verbose
        As in `LogisticRegression`.
    multi_class : {"auto", "ovr", "multinomial"}, default="auto"
        All classes at once where there are more than two, each against the rest, or all at once.
    refit : bool, default=True
        Whether to fit the C chosen on all the rows. If not, the model is the mean of those of the
        folds at that C; its gap on all the rows is proved, and `status_` is "budget".
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
        One row a C: errors, their spread, proved gap, seconds. (Every row has a multiplier here, so
        `n_support` counts the rows that train.)
    coef_, intercept_, classes_, certificate_, gap_, status_, ...
        Of the machine on all the rows, as in `LogisticRegression`.

    Examples
    --------
    >>> import separatrix as sx
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> machine = sx.LogisticRegressionCV(scoring="neg_log_loss").fit(X[50:], y[50:])
    >>> round(machine.C_, 2), machine.predict_proba(X[70:71]).round(2).tolist()
    (31.62, [[0.47, 0.53]])
    """

    def _one(self) -> Machine:
        return LogisticRegression(multi_class=self.multi_class)
