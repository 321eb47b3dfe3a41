"""Stochastic gradient descent as a scikit-learn classifier: for streams, and for data in memory."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from separatrix.core.checks import refuse_huge, several_classes
from separatrix.core.row_weights import costs_of
from separatrix.estimators._run import Run
from separatrix.estimators._sgd_stream import GradientStream
from separatrix.estimators._validate import training_data
from separatrix.estimators._weights import row_weights
from separatrix.problem.equilibrate import medians
from separatrix.problem.signed import as_matrix
from separatrix.solvers.running.drive import NO_LIMIT, Status, go_on
from separatrix.solvers.updates import sgd
from separatrix.solvers.updates.sgd_rows import SCALE

if TYPE_CHECKING:
    from separatrix.estimators._sgd_proof import Bounds

__all__ = ["SGD"]

_FIRST_LOOK = 4  # passes before the first look at the gap


@dataclass(frozen=True)
class _CentredRun(Run):
    """A run on columns from which something was taken, which the bias takes up."""

    centre: np.ndarray | None = None

    def as_given(self, w: np.ndarray) -> np.ndarray:
        """Return the weights for the columns as they were given."""
        coef, intercept = self.problem.weights(w)
        return np.asarray(self.given.homogeneous(coef, intercept - coef @ self.centre))


class SGD(GradientStream):
    """Learn from one row at a time, from a stream or in passes, with no step size to set.

    Steps towards the least ``1/2 sum_j (p_j w_j)^2 + C sum_i s_i loss(y_i (w.x_i + b))``, with s
    the sample weights, b never penalised, and p_j the least power of two that no entry of column j
    exceeds (of a dense column in `fit`: less its median): columns need no scaling. After `fit` the
    distance from the optimum is proved. In memory, `LinearSVM` and `LogisticRegression` get there;
    this machine is for rows that come one after another, or too many to be visited often.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "logistic", "perceptron"}
        What a row costs that falls short of a margin of 1 (of 0, the perceptron).
    C : float
        What a row costs against the penalty; inf for no penalty, and then nothing is proved. The
        perceptron has no penalty: with one, its optimum would be w = 0.
    average : bool
        Hand over the mean of the weights over time, each moment counting by its time, and not the
        last weights. In a stream whose law changes the last are better.
    scale : bool
        False takes every p_j as 1: the objective of `LinearSVM` to the letter.
    order : {"random", "cyclic"}
        How `fit` visits rows: in an order drawn for each pass from what the rows hold, so that the
        answer does not depend on how they stand; or as they stand.
    max_passes, max_seconds : float or None
        Budgets of `fit`.
    tol : float
        Stop `fit` when (objective - lower bound) <= tol * objective.
    fit_intercept : bool
        Whether the hyperplane may miss the origin.
    class_weight : None, "balanced" or dict
        Factors of the rows' weights by class; `partial_fit` takes a dictionary only.
    random_state : int, RandomState or None
        For the random order.

    Attributes
    ----------
    coef_, intercept_, classes_
        The hyperplane; ``classes_[1]`` is its positive side. One row a class if there are several,
        each against the rest.
    objective_, dual_objective_, gap_
        After `fit`: the objective, a lower bound on any, and their relative difference, proved;
        None where nothing is (streams, the perceptron, C=inf).
    certificate_ : DualityGap, DualityGaps, ScaledGap, Separation or None
        The proof; ``certificate_.check(X, y)`` proves it again. For the perceptron, whether the
        weights separate the rows. None after `partial_fit`.
    status_, n_iter_, n_passes_
        Why the run ended, the rows visited, and the passes over them.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 2.0], [1.0, 3.0], [2.0, 0.0], [3.0, 1.0]], ["up", "up", "down", "down"]
    >>> machine = sx.SGD(max_passes=256).fit(X, y)
    >>> machine.predict([[0.0, 1.0]]).tolist(), machine.gap_ <= 0.01
    (['up'], True)
    >>> stream = sx.SGD(loss="logistic")
    >>> for row, label in zip(X, y):
    ...     stream = stream.partial_fit([row], [label], classes=["down", "up"])
    >>> stream.predict([[0.0, 1.0]]).tolist(), str(stream.status_)
    (['up'], 'streaming')
    """

    def __init__(
        self,
        loss: str = "hinge",
        *,
        C: float = 1.0,
        average: bool = True,
        scale: bool = True,
        order: str = "random",
        max_passes: float = 16,
        max_seconds: float | None = None,
        tol: float = 0.01,
        fit_intercept: bool = True,
        class_weight: Any = None,
        random_state: Any = 0,
    ) -> None:
        self.loss = loss
        self.C = C
        self.average = average
        self.scale = scale
        self.order = order
        self.max_passes = max_passes
        self.max_seconds = max_seconds
        self.tol = tol
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.random_state = random_state

    def _run(self, X: Any, y: Any) -> Run:
        """Pose the problem and the settings, for `sx.replay`."""
        self._check_parameters()
        X, y = training_data(self, X, y)
        refuse_huge(self, X)
        self.classes_, codes = several_classes(self, y)
        weights = row_weights(self, codes, None, self.class_weight)
        problem = self._problem(self._centred(as_matrix(X), weights), codes)
        settings = self._settings(None if (weights == 1.0).all() else weights)
        settings |= {"order": self.order, "max_passes": float(self.max_passes)}
        return _CentredRun(
            sgd, problem, settings, NO_LIMIT, np.inf, self._problem(X, codes), centre=self._centre
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SGD:
        """Make passes over the rows, and prove how far from the optimum they ended."""
        self._check_parameters()
        X, y = training_data(self, X, y)
        refuse_huge(self, X)
        self.classes_, codes = several_classes(self, y)
        weights = row_weights(self, codes, sample_weight, self.class_weight)
        X, kept = as_matrix(X), np.flatnonzero(weights > 0.0)
        whole = len(kept) == len(weights)
        used = weights if whole else weights[kept]
        rows = self._centred(X if whole else X[kept], used)
        problem = self._problem(rows, codes if whole else codes[kept])
        settings = self._settings(None if (used == 1.0).all() else used)
        state = sgd.start(problem, **settings, order=self.order)
        proved = self.loss != "perceptron" and math.isfinite(self.C)
        if proved:
            self._fit_and_prove(state, X, codes, weights, kept)
        else:
            self._go_on(state, float(self.max_passes), time.perf_counter())
            self._keep(state)
            self.objective_ = self.dual_objective_ = self.gap_ = None
            self.status_, self.certificate_ = Status.PASSED, None
            if self.loss == "perceptron":
                self._say_whether_separated(self._problem(X, codes))
        return self

    def _centred(self, X: Any, weights: np.ndarray) -> Any:
        """Take the medians from dense columns: a free bias takes them up, and steps are surer."""
        self._centre = np.zeros(X.shape[1])
        if sp.issparse(X) or not self.fit_intercept:
            return X
        self._centre = medians(X, weights)
        return X - self._centre if self._centre.any() else X

    def _go_on(self, state: sgd.State, passes: float, begun: float) -> bool:
        """Make passes up to so many in all; return whether the clock allowed it."""
        seconds = np.inf
        if self.max_seconds is not None:
            seconds = max(0.0, float(self.max_seconds) - (time.perf_counter() - begun))
        visits = math.ceil(passes * len(state.codes)) - state.updates
        go_on(sgd, state, max(1, visits), seconds, slice_size=256)
        return state.updates >= math.ceil(passes * len(state.codes))

    def _fit_and_prove(
        self, state: sgd.State, X: Any, codes: np.ndarray, weights: np.ndarray, kept: np.ndarray
    ) -> None:
        from separatrix.estimators._sgd_proof import Bounds  # the exact machines: not for streams

        begun = time.perf_counter()
        costs = costs_of(self.C, weights)
        bounds, look = None, float(_FIRST_LOOK)
        while True:
            look = min(look, float(self.max_passes))
            in_time = self._go_on(state, look, begun)
            self._keep(state)
            answer = np.column_stack([self.intercept_, self.coef_])
            if bounds is None:
                bounds = Bounds.of(
                    X, codes, len(self.classes_), costs, self.loss,
                    bool(self.fit_intercept), self._exponents(state),
                )  # fmt: skip
            shares = np.zeros((len(answer), len(codes)))
            shares[:, kept] = state.multipliers()
            divided = bounds.divided(answer)
            bounds.raise_by(divided, shares, float(self.tol), seed=0)
            if bounds.gap(divided) <= self.tol or not in_time or look >= self.max_passes:
                break
            look *= 2.0
        self._tell(bounds, divided)

    def _exponents(self, state: sgd.State) -> np.ndarray:
        """Return the powers of two that no entry of the columns exceeds."""
        scales = state.memory.slots[1:, 0, SCALE]
        if not self.scale:
            return np.zeros(len(scales), dtype=np.int64)
        return np.where(scales > 0.0, np.frexp(scales)[1] - 1, 0).astype(np.int64)

    def _tell(self, bounds: Bounds, divided: np.ndarray) -> None:
        if not bounds.is_exact:
            self.objective_ = self.dual_objective_ = self.gap_ = self.certificate_ = None
            self.status_ = Status.PASSED
            warnings.warn(
                "SGD: entries of a column differ so much in size that dividing it rounds them, so "
                "nothing is proved. What to do: use scale=False, or LinearSVM or "
                "LogisticRegression.",
                ConvergenceWarning,
                stacklevel=4,
            )
            return
        proof = bounds.prove(divided, float(self.tol), self._class_names())
        machines: tuple[Any, ...] = getattr(proof, "machines", (proof,))
        self.certificate_, self.gap_ = proof, proof.gap
        primal, dual = [m.primal for m in machines], [m.dual for m in machines]
        self.objective_ = primal[0] if len(primal) == 1 else np.array(primal)
        self.dual_objective_ = dual[0] if len(dual) == 1 else np.array(dual)
        self.status_ = Status.OPTIMAL if proof.gap <= self.tol else Status.BUDGET
        if self.status_ is not Status.OPTIMAL:
            warnings.warn(
                f"SGD: {self.status_.cause}. The objective is proved to be within {proof.gap:.3g} "
                f"of the least, tolerance: {self.tol:g}. What to do: raise max_passes or tol, or "
                "use LinearSVM or LogisticRegression, which go to the optimum.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _say_whether_separated(self, problem: Any) -> None:
        from separatrix.certificates.separation import check_separation

        w = problem.homogeneous(self.coef_, self.intercept_)
        self.certificate_ = check_separation(problem, w, self._class_names())
        if self.certificate_.holds:
            self.status_ = Status.SEPARATED
