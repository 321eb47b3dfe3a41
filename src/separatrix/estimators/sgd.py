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
from sklearn.utils.validation import _check_sample_weight

from separatrix.core.checks import (
    class_factors,
    costs_of,
    one_of,
    positive,
    refuse_huge,
    several_classes,
)
from separatrix.core.linear_model import LogisticProbabilities, available_unless
from separatrix.core.models import seed_of
from separatrix.errors import DataError
from separatrix.estimators._absent_classes import present_rows
from separatrix.estimators._base import LinearClassifier
from separatrix.estimators._run import Run
from separatrix.estimators._validate import row_weights, training_data
from separatrix.problem.equilibrate import medians
from separatrix.problem.multiclass import KeslerProblem
from separatrix.problem.signed import SignedProblem, as_matrix
from separatrix.solvers.running.drive import NO_LIMIT, Status, go_on
from separatrix.solvers.updates import sgd
from separatrix.solvers.updates.sgd_rows import SCALE

if TYPE_CHECKING:
    from separatrix.core.sgd_bounds import Bounds

__all__ = ["SGD"]

_FIRST_LOOK = 4  # passes before the first look at the gap
LOSSES = ("hinge", "squared_hinge", "logistic", "perceptron")


def _without_probabilities(machine: SGD) -> str | None:
    if machine.loss == "logistic":
        return None
    return f"loss={machine.loss!r} has no probabilities. Fit SGD(loss='logistic')."


@dataclass(frozen=True)
class _CentredRun(Run):
    """A run on columns from which something was taken, which the bias takes up."""

    centre: np.ndarray | None = None

    def as_given(self, w: np.ndarray) -> np.ndarray:
        """Return the weights for the columns as they were given."""
        coef, intercept = self.problem.weights(w)
        return np.asarray(self.given.homogeneous(coef, intercept - coef @ self.centre))


class SGD(LinearClassifier, LogisticProbabilities):
    """Learn from one row at a time, from a stream or in passes, with no step size to set.

    Steps towards the least ``1/2 sum_j (p_j w_j)^2 + C sum_i s_i loss(y_i (w.x_i + b))``, with s
    the sample weights, b never penalised, and p_j the least power of two that no entry of column j
    exceeds (of a dense column in `fit`: less its median): columns need no scaling. After `fit` the
    distance from the optimum is proved. In memory, `LinearSVM` and `LogisticRegression` get there;
    this machine is for rows that come one after another, or too many to be visited often.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "logistic", "perceptron"}, default="hinge"
        What a row costs that falls short of a margin of 1 (of 0, the perceptron).
    C : float, default=1.0
        What a row costs against the penalty; inf for no penalty, and then nothing is proved. The
        perceptron has no penalty: with one, its optimum would be w = 0.
    average : bool, default=True
        Hand over the mean of the weights over time, each moment counting by its time, and not the
        last weights. In a stream whose law changes the last are better.
    scale : bool, default=True
        False takes every p_j as 1: the objective of `LinearSVM` to the letter.
    order : {"random", "cyclic"}, default="random"
        How `fit` visits rows: in an order drawn for each pass from what the rows hold, so that the
        answer does not depend on how they stand; or as they stand.
    max_passes, max_seconds : float or None
        Budgets of `fit`.
    tol : float, default=0.01
        Stop `fit` when (objective - lower bound) <= tol * objective.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    class_weight : None, "balanced" or dict, default=None
        Factors of the rows' weights by class; `partial_fit` takes a dictionary only.
    random_state : int, RandomState or None, default=0
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

    objective_: Any
    dual_objective_: Any
    gap_: float | None
    _stream: tuple[np.ndarray, ...]  # slots, sums, totals; or those of some features alone
    _centre: np.ndarray  # taken from the columns before they are learned

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

    @available_unless(_without_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return every class's probability; several, each against the rest, are made to add up."""
        return np.asarray(super().predict_proba(X))

    @available_unless(_without_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of every probability."""
        return np.asarray(super().predict_log_proba(X))

    def _check_parameters(self) -> None:
        one_of("loss", self.loss, LOSSES)
        one_of("order", self.order, ("random", "cyclic"))
        positive("C", self.C, infinite=True)
        positive("max_passes", self.max_passes)
        positive("tol", self.tol)
        positive("max_seconds", self.max_seconds, optional=True)

    def _settings(self, weights: np.ndarray | None) -> dict[str, Any]:
        return {
            "loss": self.loss,
            "cost": np.inf if self.loss == "perceptron" else float(self.C),
            "weights": weights,
            "average": bool(self.average),
            "scaled": bool(self.scale),
            "seed": seed_of(self.random_state),
        }

    def _problem(self, X: Any, codes: np.ndarray) -> SignedProblem | KeslerProblem:
        if len(self.classes_) == 2:
            return SignedProblem(X, np.where(codes == 1, 1.0, -1.0), bool(self.fit_intercept))
        return KeslerProblem(X, codes, len(self.classes_), bool(self.fit_intercept))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> SGD:
        """Go once over new rows, as they stand, from where the last call ended.

        Name all classes at first. There is no certificate: it would speak of all the data.
        """
        self._learn(X, y, classes, sample_weight)
        return self

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> np.ndarray:
        """Learn rows; return the scores they had before, a row for each machine."""
        self._check_parameters()
        first_call = not hasattr(self, "coef_")
        X, y = training_data(self, X, y, reset=first_call)
        refuse_huge(self, X)
        if first_call:
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self.classes_, _ = several_classes(self, np.asarray(classes))
            self._centre = np.zeros(X.shape[1])
        elif self._centre.any():
            X = (X.toarray() if sp.issparse(X) else X) - self._centre
        codes = self._codes(y)
        weights = self._stream_weights(X, codes, sample_weight)
        if weights is not None and not (weights > 0.0).all():
            kept = weights > 0.0
            X, codes, weights = X[kept], codes[kept], weights[kept]
        scores = np.zeros((1 if len(self.classes_) == 2 else len(self.classes_), len(codes)))
        if len(codes) or first_call:
            self._learn_once(self._problem(X, codes), weights, scores)
        return scores

    def _codes(self, y: np.ndarray) -> np.ndarray:
        codes = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        if not np.array_equal(self.classes_[codes], y):
            unknown = sorted(set(y.tolist()) - set(self.classes_.tolist()))
            raise DataError(f"y holds labels that are not among the classes: {unknown[:8]}.")
        return np.asarray(codes)

    def _stream_weights(self, X: Any, codes: np.ndarray, sample_weight: Any) -> np.ndarray | None:
        if isinstance(self.class_weight, str):
            raise ValueError(
                "class_weight='balanced' needs all the data at once. Give partial_fit a dictionary "
                "of weights by class instead."
            )
        if sample_weight is None and self.class_weight is None:
            return None
        counts = np.ones(len(self.classes_))
        factors = class_factors(self.classes_, counts, self.class_weight)[codes]
        if sample_weight is None:
            return np.asarray(factors)
        given = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        return np.asarray(given * factors)

    def _learn_once(self, problem: Any, weights: np.ndarray | None, scores: np.ndarray) -> None:
        n = problem.n_samples
        earlier = None
        before, passes = 0, 0.0
        if hasattr(self, "_stream"):
            earlier = sgd.unpacked(self._stream)
            before, passes = self.n_iter_, self.n_passes_
        state = sgd.start(problem, **self._settings(weights), order="cyclic", first=earlier)
        sgd.learn(state, 0, n, scores)
        self._keep(state)
        self.n_iter_, self.n_passes_ = before + n, passes + 1.0
        self.status_, self.certificate_ = Status.STREAMING, None
        self.objective_ = self.dual_objective_ = self.gap_ = None

    def _keep(self, state: sgd.State) -> None:
        """Take over what a run has come to."""
        memory = state.memory
        answer = state.answer.reshape(memory.slots.shape[1], -1)
        if not np.isfinite(answer).all():
            raise DataError(f"SGD: {Status.OVERFLOW.cause}. Divide large columns first.")
        self.coef_ = answer[:, 1:].copy()
        self.intercept_ = (answer[:, 0] - self.coef_ @ self._centre) * bool(self.fit_intercept)
        self.n_iter_, self.n_passes_ = state.updates, state.passes
        self._stream = (memory.slots, memory.sums, memory.totals)

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
        present = present_rows(self, X, y, sample_weight)
        X, y, sample_weight = map(present.of, (X, y, sample_weight))
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
        from separatrix.core.sgd_bounds import Bounds  # the exact machines: not for streams

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
