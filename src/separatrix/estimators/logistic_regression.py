"""Logistic regression, penalised or not, as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from separatrix.core import machine as core
from separatrix.data.partitions import Partitions
from separatrix.estimators._absent_classes import present_rows
from separatrix.estimators._machine import Machine, with_callbacks
from separatrix.estimators._validate import worked_on
from separatrix.estimators.replay import replay_each_pair
from separatrix.solvers.linear.replay import MachineFrame
from separatrix.solvers.running.drive import Status

__all__ = ["LogisticRegression"]


class LogisticRegression(Machine, core.LogisticRegression):
    """Class probabilities from a hyperplane, with proof of how close to the best they are.

    Minimises ``1/2 |w|^2 + C sum_i s_i log(1 + exp(-y_i (w.x_i + b)))`` over w and b, with s the
    sample weights and b never penalised; with `l1_ratio` above 0, sparse weights.
    ``C=inf`` is maximum likelihood; where the classes are
    (quasi-)separated it has no finite answer: a `SeparationWarning` says which coefficients run to
    infinity, and what is fitted is ``C=1e6``. Columns need no scaling.

    Parameters
    ----------
    C : float, default=1.0
        How much the likelihood counts against the penalty; inf for maximum likelihood.
    l1_ratio : float, default=0.0
        Above 0 the penalty is ``l1_ratio |w|_1 + (1 - l1_ratio)/2 |w|^2``: 1 is the lasso, between
        is the elastic net. Most weights are then exactly 0, and the certificate lists the columns
        that are 0 in every optimum. C must be finite, and multi_class "ovr" or "ovo".
    groups : None, a label for every column, or lists of column numbers, default=None
        With `l1_ratio` above 0: columns that are zero together, such as those of one category. The
        penalty is then ``l1_ratio sum_g sqrt(p_g) |w_g|``, p_g the columns of group g.
    tol : float, default=1e-4
        Stop when (objective - lower bound) <= tol * objective, and that is proved.
    solver : {"auto", "newton", "gram"}, default="auto"
        The method of solving; auto chooses by the shape of X.
    fit_intercept, intercept_penalty, class_weight, max_seconds, max_passes, random_state
        As in `LinearSVM`.
    multi_class : {"auto", "multinomial", "ovr", "ovo"}, default="auto"
        More than two classes: all at once ("multinomial": probabilities by softmax,
        ``1/2 sum_k |w_k|^2`` as the penalty), each against the rest, or one model a pair, which
        vote (no probabilities then). "auto" is multinomial, but each against the rest for
        solver="gram" and rows in partitions. Two classes: auto, ovr and ovo are one hyperplane;
        multinomial is that one for twice the C.
    warm_start, n_jobs, device, verbose
        As in `LinearSVM`.

    Attributes
    ----------
    coef_, intercept_, classes_
        The hyperplane; ``classes_[1]`` is its positive side. One row a class if there are several.
    threshold_ : float
        Of two classes, the score above which ``classes_[1]`` is predicted: 0 after a fit.
    costs_ : array or None
        Of several classes, what mistakes cost, a row a true class: then that of least expected cost
        is predicted. None after a fit: the largest score decides.
    objective_, dual_objective_, gap_
        The objective, a lower bound on any, and their relative difference: proved.
    certificate_ : DualityGap
        The proof; ``certificate_.check(X, y)`` proves it again. `SoftmaxGap` for all classes at
        once, `DualityGaps` for each against the rest, `SparseGap` with `l1_ratio`.
    names_of_nonzero_ : list of str
        The names of the columns whose weight is not 0.
    verdict_ : Verdict or None
        For ``C=inf``: whether the classes are separated, with proof; a `ClassVerdict` for all
        classes at once, a list for each against the rest.
    status_, n_iter_, n_passes_, solver_
        Why the fit ended, iterations (an array: one number a model), passes over the rows, and by
        which solver.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> machine = sx.LogisticRegression().fit(X, y)
    >>> machine.predict_proba([[1.5]]).round(3).tolist(), machine.certificate_.check(X, y)
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
        present = present_rows(self, X, y, sample_weight)
        X, y, sample_weight = map(present.of, (X, y, sample_weight))
        with worked_on(self, X):
            self._fit_rows(X, y, sample_weight)
        self._warn_of_separation(stacklevel=3)
        return self

    def _facts(self) -> list[tuple[str, str]]:
        facts = super()._facts()
        if self.status_ is not Status.INFINITE:
            return facts
        said = f"of C={core.NEARLY_FREE:g}, fitted in the place of C=inf: "
        return [(word, said + text if word == "proof" else text) for word, text in facts]

    def _replay(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[MachineFrame]:
        self._verdicts = []
        if self.multi_class == "ovo":
            return replay_each_pair(self, X, y, "logistic")
        return self._replayed(X, y, "logistic", sample_weight)
