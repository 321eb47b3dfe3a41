"""Logistic regression, penalised or not, as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from separatrix.core import machine as core
from separatrix.core.keeping import NEARLY_FREE
from separatrix.data.partitions import Partitions
from separatrix.estimators._base import Machine, with_callbacks
from separatrix.estimators._validate import present_rows, worked_on
from separatrix.estimators.replay import replay_each_pair
from separatrix.solvers.linear.model_run import MachineFrame
from separatrix.solvers.running.drive import Status

__all__ = ["LogisticRegression"]


class LogisticRegression(Machine, core.LogisticRegression):
    """Logistic regression; its objective is proved within `tol` of the optimum.

    Minimises ``1/2 |w|^2 + C sum_i s_i log(1 + exp(-y_i (w.x_i + b)))`` over w and b, with s the
    sample weights and b free (unless `intercept_penalty` is set). `l1_ratio` above 0 gives sparse
    weights. ``C=inf`` is maximum likelihood. Where the classes are separable or quasi-separable it
    has no finite estimate: a `SeparationWarning` names the infinite coefficients, and ``C=1e6`` is
    fitted instead. Columns need no scaling.

    Parameters
    ----------
    C : float, default=1.0
        How much the likelihood counts against the penalty; inf for maximum likelihood.
    l1_ratio : float, default=0.0
        Above 0 the penalty is ``l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2``: 1 is the lasso, between
        is the elastic net. Most weights are then exactly 0, and the certificate lists the columns
        that are 0 in every optimum. C must be finite. All K classes at once have the penalty
        ``l1_ratio sqrt(K) sum_j |W_j|``: the K weights W_j of column j are 0 together.
    groups : None, a label for every column, or lists of column numbers, default=None
        With `l1_ratio` above 0: columns that are zero together, such as those of one category. The
        penalty is then ``l1_ratio sum_g sqrt(p_g) |w_g|``, p_g the weights of group g.
    tol : float, default=1e-4
        Stop when (objective - lower bound) <= tol * objective, and that is proved.
    solver : {"auto", "newton", "gram"}, default="auto"
        The method of solving; auto chooses by the shape of X.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    intercept_penalty : float, default=0.0
        0 leaves b free. 1 adds ``1/2 b^2``, the objective of LIBLINEAR.
    class_weight : None, "balanced" or dict, default=None
        Factors on the sample weights, by class.
    max_seconds, max_passes : float or None, default=None
        Budgets. One that ends the fit leaves the best point so far, its gap, and a warning.
    random_state : int, RandomState or None, default=0
        For the order of rows, where a solver draws one.
    multi_class : {"auto", "multinomial", "ovr", "ovo"}, default="auto"
        More than two classes: all at once ("multinomial": probabilities by softmax, the penalty
        ``1/2 sum_k |w_k|^2``), each against the rest, or one model for each pair, which vote
        without probabilities. "auto" is "multinomial", but "ovr" for solver="gram" and rows in
        partitions. Two classes: "auto", "ovr" and "ovo" give one hyperplane; "multinomial" is
        that hyperplane for 2 C.
    warm_start : bool, default=False
        Whether to start from the last fit.
    n_jobs : int or None, default=None
        Threads over classes; None uses every core. The answer does not depend on it.
    device : {"cpu", "cuda", "cuda:N", "auto"}, default="cpu"
        Where dense X is processed; "auto" takes a GPU where torch sees one.
    verbose : bool, default=False
        Whether to print the gap during the fit.

    Attributes
    ----------
    coef_, intercept_, classes_
        The hyperplane; ``classes_[1]`` is its positive side. Several classes
        have one row each.
    threshold_ : float
        Of two classes, the score above which ``classes_[1]`` is predicted: 0 after a fit.
    costs_ : array or None
        Of several classes, the cost of each mistake, one row for each true class: the class of
        least expected cost is predicted. None after a fit: the largest score decides.
    objective_, dual_objective_, gap_
        The objective, a lower bound on any, and their relative difference: proved.
    certificate_ : DualityGap
        The proof; ``certificate_.check(X, y)`` proves it again. `SoftmaxGap` for all classes at
        once, `DualityGaps` for each against the rest; with `l1_ratio` `SparseGap`, and
        `SparseSoftmaxGap` for all classes at once.
    names_of_nonzero_ : list of str
        The names of the columns whose weight is not 0.
    verdict_ : Verdict or None
        For ``C=inf``: whether the classes are separated, with proof; a `ClassVerdict` for all
        classes at once, a list for each against the rest.
    status_, n_iter_, n_passes_, solver_
        Why the fit ended, iterations (an array: one number for each model), passes over the rows,
        and the solver used.

    See Also
    --------
    LogisticRegressionCV : C chosen by cross-validation.
    LogisticRegressionPath : sparse weights for many values of C.
    inference : standard errors, intervals and tests.
    separability : whether a finite maximum likelihood estimate exists.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> model = sx.LogisticRegression().fit(X, y)
    >>> model.predict_proba([[1.5]]).round(3).tolist(), model.certificate_.check(X, y)
    ([[0.5, 0.5]], True)
    """

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LogisticRegression:
        """Find the hyperplane and prove how close to the best it is.

        X may be what `sx.open_partitions` returns, which holds the labels too.
        """
        if isinstance(X, Partitions):
            from separatrix.core.partitioned import fit_partitions

            self.verdict_ = None
            machine: LogisticRegression = fit_partitions(self, X, sample_weight, "logistic")
            return machine
        _, X, y, sample_weight = present_rows(self, X, y, sample_weight)
        with worked_on(self, X):
            self._fit_rows(X, y, sample_weight)
        self._warn_of_separation(stacklevel=3)
        return self

    def _facts(self) -> list[tuple[str, str]]:
        facts = super()._facts()
        if self.status_ is not Status.INFINITE:
            return facts
        said = f"of C={NEARLY_FREE:g}, fitted in the place of C=inf: "
        return [(word, said + text if word == "proof" else text) for word, text in facts]

    def _replay(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[MachineFrame]:
        self._verdicts = []
        if self.multi_class == "ovo":
            return replay_each_pair(self, X, y, "logistic")
        return self._replayed(X, y, "logistic", sample_weight)
