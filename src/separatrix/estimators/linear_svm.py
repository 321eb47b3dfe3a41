"""The support vector machine, soft and hard margin, as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.exceptions import NotFittedError

from separatrix.core import linear_svm as core
from separatrix.core.checks import one_of
from separatrix.data.partitions import Partitions
from separatrix.estimators._calibration import held_out_calibration
from separatrix.estimators._machine import Machine
from separatrix.estimators._on_device import worked_on
from separatrix.estimators._pair_replay import replay_each_pair
from separatrix.estimators._watch import with_callbacks
from separatrix.solvers.linear.replay import MachineFrame

__all__ = ["LinearSVM"]


class LinearSVM(Machine, core.LinearSVM):
    """The hyperplane of largest margin, rows inside it being charged for; proved to be the best.

    Minimises ``1/2 |w|^2 + C sum_i s_i loss(y_i (w.x_i + b))`` over w and b, with s the sample
    weights and b never penalised. ``C=inf`` is the hard margin: every row at a margin of 1 or more,
    or `NotSeparableError` with rows that prove it impossible. Columns need no scaling.

    Parameters
    ----------
    C : float
        What a row inside the margin costs; inf for the hard margin.
    loss : {"hinge", "squared_hinge"}
        ``max(0, 1 - m)`` or its square.
    tol : float
        Stop when (objective - lower bound) <= tol * objective, and that is proved.
    solver : {"auto", "newton", "interior_point", "dual_coordinate", "gram"}
        The method of solving; auto chooses by the shape of X and the loss.
    fit_intercept : bool
        Whether the hyperplane may miss the origin.
    intercept_penalty : float
        0 leaves b free. 1 adds ``1/2 b^2``, the objective of LIBLINEAR.
    class_weight : None, "balanced" or dict
        Factors on the sample weights, by class.
    max_seconds, max_passes : float or None
        Budgets. One that ends the fit leaves the best point so far, its gap, and a warning.
    random_state : int, RandomState or None
        For the order of rows in dual coordinate descent.
    warm_start : bool
        Whether to start from the last fit.
    probability : bool
        Whether to calibrate probabilities on five held-out folds (five more fits).
    multi_class : {"ovr", "ovo", "direct"}
        More than two classes: each against the rest; one machine a pair, which vote, ties going to
        the larger sum of margins; or all at once (Crammer and Singer): least
        ``1/2 sum_k |w_k|^2 + C sum_i s_i max_k (1[k != y_i] + f_k(x_i) - f_y(x_i))``, f_k(x) =
        w_k.x + b_k, hinge and finite C only. Two classes: ovr and ovo are the same machine, direct
        is that machine for twice the C.
    n_jobs : int or None
        Threads over classes; None uses every core. The answer does not depend on it.
    device : {"cpu", "cuda", "cuda:N", "auto"}
        Where the work is done for dense X; "auto" takes a GPU where torch sees one. A torch tensor
        is worked on where it is. See the page on accelerators.
    verbose : bool
        Whether to show the gap falling.

    Attributes
    ----------
    coef_, intercept_, classes_
        The hyperplane; ``classes_[1]`` is its positive side. If there are several classes, one row
        a class; for ovo one row a pair, (0, 1), (0, 2) and so on, the second one positive.
    support_, dual_coef_, n_support_
        The rows with a multiplier, their multipliers with the sign of their class, and how many of
        each class there are.
    margin_ : float
        ``1 / |w|``: the distance from the hyperplane at which the margin ends. An array if there
        are several machines; for direct, the least of ``1 / |w_k - w_l|``.
    slack_ : array
        By how much each row falls short of the margin.
    objective_, dual_objective_, gap_
        The objective, a lower bound on any, and their relative difference: proved.
    intercept_interval_ : (float, float)
        All b between these are best for w; the middle, or the free support vectors' mean, is taken.
    certificate_ : DualityGap
        The proof; ``certificate_.check(X, y)`` proves it again. `DualityGaps` for several classes,
        `PairGaps` for ovo, `MulticlassGap` for direct.
    status_, n_iter_, n_passes_, solver_
        Why the fit ended, iterations, passes over the rows, and by which solver.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"]
    >>> machine = sx.LinearSVM(C=float("inf")).fit(X, y)
    >>> round(machine.margin_, 6), machine.support_.tolist()
    (1.0, [1, 2])
    >>> machine.certificate_.check(X, y)
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
        with worked_on(self, X):
            self._fit_rows(X, y, sample_weight)
            if self.probability:
                self._calibration = held_out_calibration(self, X, y, sample_weight)
        return self

    def _replay(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[MachineFrame]:
        one_of("loss", self.loss, ("hinge", "squared_hinge"))
        if self.multi_class == "ovo":
            return replay_each_pair(self, X, y, self.loss)
        return self._replayed(X, y, self.loss, sample_weight)

    def _not_calibrated(self) -> Exception:
        return NotFittedError("Fit again: probability=True was set after the last fit.")
