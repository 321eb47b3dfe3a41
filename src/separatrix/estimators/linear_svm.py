"""The support vector machine, soft and hard margin, as a scikit-learn classifier.

Its probabilities are monotone in the score and never contradict the class predicted. Two classes:
``p = 1 / (1 + exp(-a f))`` with one slope a for f > 0 and one for f < 0, so that p crosses one half
exactly where the prediction changes. Several: ``softmax(a f)``. The slopes maximise the likelihood
of held-out folds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _check_sample_weight

from separatrix._device import is_tensor, on_host
from separatrix.core import machine as core
from separatrix.core.checks import one_of
from separatrix.core.linear_model import Calibration, fitted_slopes
from separatrix.data.partitions import Partitions
from separatrix.estimators._base import Machine, with_callbacks
from separatrix.estimators._validate import (
    moved_once,
    number_support,
    present_rows,
    training_data,
    worked_on,
)
from separatrix.estimators.replay import replay_each_pair
from separatrix.solvers.linear.model_run import MachineFrame

__all__ = ["LinearSVM", "fitted_slopes", "held_out_calibration"]

_FOLDS = 5


class LinearSVM(Machine, core.LinearSVM):
    """Support vector machine; its objective is proved within `tol` of the optimum.

    Minimises ``1/2 |w|^2 + C sum_i s_i loss(y_i (w.x_i + b))`` over w and b, with s the sample
    weights and b free (unless `intercept_penalty` is set). ``C=inf`` is the hard margin: every row
    has a margin of 1 or more, or `NotSeparableError` carries the proof that this is impossible.
    Columns need no scaling.

    Parameters
    ----------
    C : float, default=1.0
        What a row inside the margin costs; inf for the hard margin.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        ``max(0, 1 - m)`` or its square.
    l1_ratio : float, default=0.0
        Above 0, for the squared hinge: sparse weights, as in `LogisticRegression`. Several classes
        have one sparse model each, or one a pair.
    groups : None, a label for every column, or lists of column numbers, default=None
        Columns that are zero together, as in `LogisticRegression`.
    tol : float, default=1e-4
        Stop when (objective - lower bound) <= tol * objective, and that is proved.
    solver : {"auto", "newton", "interior_point", "dual_coordinate", "gram"}, default="auto"
        The method of solving; auto chooses by the shape of X, the loss and how the gap falls.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    intercept_penalty : float, default=0.0
        0 leaves b free. 1 adds ``1/2 b^2``, the objective of LIBLINEAR.
    class_weight : None, "balanced" or dict, default=None
        Factors on the sample weights, by class.
    max_seconds, max_passes : float or None, default=None
        Budgets. One that ends the fit leaves the best point so far, its gap, and a warning.
    random_state : int, RandomState or None, default=0
        For the order of rows in dual coordinate descent.
    warm_start : bool, default=False
        Whether to start from the last fit.
    probability : bool, default=False
        Whether to calibrate probabilities on five held-out folds (five more fits).
    multi_class : {"ovr", "ovo", "direct"}, default="ovr"
        More than two classes: one model for each class against the rest; one for each pair, which
        vote (ties go to the larger sum of margins); or all classes at once (Crammer-Singer), which
        minimises ``1/2 sum_k |w_k|^2 + C sum_i s_i max_k (1[k != y_i] + f_k(x_i) - f_y(x_i))`` with
        f_k(x) = w_k.x + b_k, for the hinge and finite C only. Two classes: "ovr" and "ovo" are the
        same model, "direct" is that model for 2 C.
    n_jobs : int or None, default=None
        Threads over classes; None uses every core. The answer does not depend on it.
    device : {"cpu", "cuda", "cuda:N", "auto"}, default="cpu"
        Where dense X is processed; "auto" takes a GPU where torch sees one. A torch tensor is
        processed where it is. See the page on accelerators.
    verbose : bool, default=False
        Whether to print the gap during the fit.

    Attributes
    ----------
    coef_, intercept_, classes_
        The hyperplane; ``classes_[1]`` is its positive side. Several classes
        have one row each; "ovo" has one row for each pair, (0, 1), (0, 2) and so on, the second
        class positive.
    threshold_ : float
        Of two classes, the score above which ``classes_[1]`` is predicted: 0 after a fit.
    costs_ : array or None
        Of several classes, the cost of each mistake, one row for each true class: the class of
        least expected cost is predicted. None after a fit: the largest score decides.
    support_, dual_coef_, n_support_
        The numbers of the support vectors, their dual variables with the sign of their class, and
        the number of support vectors of each class.
    margin_ : float
        ``1 / |w|``: the distance of the margin's edge from the hyperplane. An array if there are
        several models; for "direct" the least of ``1 / |w_k - w_l|``.
    slack_ : array
        By how much each row falls short of the margin.
    objective_, dual_objective_, gap_
        The objective, a lower bound on any, and their relative difference: proved.
    intercept_interval_ : (float, float)
        All b between these are optimal for w. The middle is taken, or the mean over the free
        support vectors.
    certificate_ : DualityGap
        The proof; ``certificate_.check(X, y)`` proves it again. `DualityGaps` for several classes,
        `PairGaps` for ovo, `MulticlassGap` for direct, `SparseGap` with `l1_ratio`.
    names_of_nonzero_ : list of str
        The names of the columns whose weight is not 0.
    status_, n_iter_, n_passes_, solver_
        Why the fit ended, iterations, passes over the rows, and the solver used.

    See Also
    --------
    LinearSVMCV : C chosen by cross-validation.
    LogisticRegression : the logistic loss, with probabilities.
    KernelSVM : the same objective with a kernel.
    SGD : rows that arrive one after another.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"]
    >>> model = sx.LinearSVM(C=float("inf")).fit(X, y)
    >>> round(model.margin_, 6), model.support_.tolist()
    (1.0, [1, 2])
    >>> model.certificate_.check(X, y)
    True
    """

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LinearSVM:
        """Find the hyperplane and prove how close to the best it is.

        X may be what `sx.open_partitions` returns, which holds the labels too.
        """
        one_of("loss", self.loss, ("hinge", "squared_hinge"))
        if isinstance(X, Partitions):
            from separatrix.core.partitioned import fit_partitions

            self._calibration = None
            fitted: LinearSVM = fit_partitions(self, X, sample_weight, self.loss)
            return fitted
        kept, X, y, sample_weight = present_rows(self, X, y, sample_weight)
        with worked_on(self, X):
            self._fit_rows(X, y, sample_weight)
            if self.probability:
                self._calibration = held_out_calibration(self, X, y, sample_weight)
        number_support(self, kept)
        return self

    def _replay(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[MachineFrame]:
        one_of("loss", self.loss, ("hinge", "squared_hinge"))
        if self.multi_class == "ovo":
            return replay_each_pair(self, X, y, self.loss)
        return self._replayed(X, y, self.loss, sample_weight)

    def _model_of_a_fold(self) -> LinearSVM:
        """Return an unfitted model like this one, to score held-out rows."""
        one = clone(self).set_params(probability=False, verbose=False)
        vars(one).pop("_skl_callbacks", None)  # these follow the fit itself
        return one

    def _not_calibrated(self) -> Exception:
        return NotFittedError("Fit again: probability=True was set after the last fit.")


def held_out_calibration(machine: Any, X: Any, y: Any, sample_weight: Any) -> Calibration:
    """Fit on four fifths, score the fifth, five times over; then fit the slopes to all scores."""
    X = moved_once(machine, X)
    if is_tensor(X):
        y, sample_weight = np.asarray(on_host(y)), on_host(sample_weight)
    else:
        X, y = training_data(machine, X, y, reset=False)
    weights = _check_sample_weight(sample_weight, y, dtype=np.float64)
    codes = np.searchsorted(machine.classes_, y)
    scores, held_out = _held_out_scores(machine, X, y, codes, weights)
    return fitted_slopes(scores[held_out], codes[held_out], weights[held_out])


def _held_out_scores(
    machine: Any, X: Any, y: np.ndarray, codes: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return scores by machines that had not seen the row, and which rows have them.

    A class with a single row cannot do without it: that row is never held out.
    """
    counts = np.bincount(codes[weights > 0.0], minlength=len(machine.classes_))
    spare = np.flatnonzero((counts[codes] > 1) & (weights > 0.0))
    columns = 1 if len(machine.classes_) == 2 else len(machine.classes_)
    scores, held_out = np.zeros((len(y), columns)), np.zeros(len(y), dtype=bool)
    if not len(spare):
        return scores, held_out
    from sklearn.model_selection import StratifiedKFold  # slow to import, and seldom needed

    folds = StratifiedKFold(
        int(min(_FOLDS, counts[counts > 1].min())), shuffle=True, random_state=0
    )
    for _, outside in folds.split(spare, codes[spare]):
        rows = spare[outside]
        kept = weights.copy()
        kept[rows] = 0.0  # weight zero is a row left out: no copy of X is made
        one = machine._model_of_a_fold().fit(X, y, kept)
        scores[rows] = one.decision_function(X[rows]).reshape(len(rows), -1)
        held_out[rows] = True
    return scores, held_out
