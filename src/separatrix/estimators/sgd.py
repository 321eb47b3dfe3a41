"""Stochastic gradient descent as a scikit-learn classifier: for streams, and for data in memory."""

from __future__ import annotations

import math
import time
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from separatrix.checker.exact import at_most
from separatrix.core.checks import (
    class_factors,
    costs_of,
    one_of,
    positive,
    refuse_huge,
    seed_of,
    several_classes,
)
from separatrix.core.keeping import one_or_all
from separatrix.core.linear_model import LogisticProbabilities, available_unless
from separatrix.core.models import with_settings
from separatrix.errors import DataError
from separatrix.estimators._base import LinearClassifier
from separatrix.estimators._validate import (
    checked_weights,
    class_codes,
    present_rows,
    row_weights,
    training_data,
)
from separatrix.estimators.replay import Run, given_weights
from separatrix.problem.equilibrate import medians
from separatrix.problem.signed import KeslerProblem, SignedProblem, as_matrix
from separatrix.solvers.running.drive import NO_LIMIT, Status, go_on
from separatrix.solvers.updates import scheduled_sgd, sgd
from separatrix.solvers.updates.sgd_rows import SCALE, row_keys, shuffled_by

if TYPE_CHECKING:
    from separatrix.core.novikoff import Bounds

__all__ = ["SGD"]

_HELD_OUT = 1 << 32  # the number of the order that chooses rows kept back: no pass has it
_FIRST_LOOK = 4  # passes before the first look at the gap
FREE_LOSSES = ("hinge", "squared_hinge", "logistic", "perceptron")
LOSSES = (*FREE_LOSSES, "squared", "modified_huber")
_PROVED = ("hinge", "squared_hinge", "logistic")


def _without_probabilities(machine: SGD) -> str | None:
    if machine.loss == "logistic":
        return None
    return f"loss={machine.loss!r} has no probabilities. Fit SGD(loss='logistic')."


def _without_a_stream(machine: SGD) -> str | None:
    if machine.learning_rate != "optimal":
        return None
    return (
        "learning_rate='optimal' needs the number of rows, which a stream does not say. Use "
        "'invscaling' or 'constant', or fit."
    )


@dataclass(frozen=True)
class _CentredRun(Run):
    """A run on columns from which something was taken, which the bias takes up."""

    centre: np.ndarray | None = None

    def as_given(self, w: np.ndarray) -> np.ndarray:
        """Return the weights for the columns as they were given."""
        coef, intercept = self.problem.weights(w)
        return np.asarray(self.given.homogeneous(coef, intercept - coef @ self.centre))


@with_settings
class SGD(LinearClassifier, LogisticProbabilities):
    """Stochastic gradient steps, from a stream or in passes; no step size need be set.

    Minimises ``1/2 sum_j (p_j w_j)^2 + C sum_i s_i loss(y_i (w.x_i + b))``, with s the sample
    weights and b free. p_j is the least power of two that no entry of column j exceeds (in `fit`,
    after the median of a dense column is subtracted), so columns need no scaling. After `fit` the
    gap to the optimum is proved. Where rows fit in memory, `LinearSVM` and `LogisticRegression`
    reach smaller gaps; this model is for streams, and for rows too many to visit often.

    With a `learning_rate` the rule is the plain ``w <- w - eta gradient`` of the lectures, on the
    columns as they are (every p_j is 1). With the perceptron's loss it is then the perceptron.

    Parameters
    ----------
    loss : str, default="hinge"
        "hinge", "squared_hinge", "logistic", "perceptron", "squared" or "modified_huber". The last
        two need a `learning_rate`, and nothing is proved of them. "squared" also charges rows
        beyond the margin. "modified_huber" is the squared hinge, linear below a margin of -1.
    C : float, default=1.0
        The cost of a row against the penalty. With inf there is no penalty, and nothing is proved.
        The perceptron's loss has no penalty: with one, its optimum would be w = 0.
    learning_rate : {"free", "constant", "invscaling", "optimal"}, default="free"
        The size of step t. "free" adapts it for every feature, with nothing to set. "constant" is
        `eta0`, "invscaling" is ``eta0 / t**power_t``. "optimal" is 1 over (the penalty of a row
        times t), with a first step chosen by Bottou's rule.
    eta0 : float, default=0.01
        The step size of "constant", and the first one of "invscaling".
    power_t : float, default=0.5
        The power of "invscaling".
    average : bool, default=True
        Whether to return a mean of the weights over time, later ones weighted more, instead of the
        last. Where the distribution of a stream changes, the last weights are better.
    scale : bool or "auto", default="auto"
        False sets every p_j to 1: exactly the objective of `LinearSVM`. "auto" is True where
        `learning_rate` is "free", and False otherwise: a step size refers to the columns as given.
    order : {"random", "cyclic"}, default="random"
        How `fit` visits rows: in an order drawn for each pass from the contents of the rows, so
        that the answer does not depend on their order; or in the order given.
    max_passes : float or None, default=16
        A budget of `fit`: passes over the rows.
    max_seconds : float or None, default=None
        A budget of `fit`: seconds.
    tol : float, default=0.01
        Stop `fit` when (objective - lower bound) <= tol * objective.
    early_stopping : bool, default=False
        Whether `fit` holds out `validation_fraction` of the rows of each class, stops after
        `n_iter_no_change` passes without fewer errors on them, and returns the weights of fewest
        errors. The proof is about all rows, held-out ones included.
    validation_fraction : float, default=0.1
        The share of rows held out.
    n_iter_no_change : int, default=5
        How many passes to wait.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    class_weight : None, "balanced" or dict, default=None
        Factors of the rows' weights by class; `partial_fit` takes a dictionary only.
    random_state : int, RandomState or None, default=0
        For the random order.

    Attributes
    ----------
    coef_, intercept_, classes_
        The hyperplane; ``classes_[1]`` is its positive side. Several classes
        have one row each, against the rest.
    objective_, dual_objective_, gap_
        After `fit`: the objective, a lower bound on any, and their relative difference, proved;
        None where nothing is (streams, the perceptron, C=inf).
    validation_errors_ : array or None
        With early stopping: the share of errors on the held-out rows, after every pass.
    certificate_ : DualityGap, DualityGaps, ScaledGap, Separation or None
        The proof; ``certificate_.check(X, y)`` proves it again. For the perceptron, whether the
        weights separate the rows. None after `partial_fit`.
    status_, n_iter_, n_passes_
        Why the run ended, the rows visited, and the passes over them.

    See Also
    --------
    LinearSVM : the same hinge objectives, solved to a small gap in memory.
    LogisticRegression : the same for the logistic loss.
    Perceptron : the perceptron with a pocket and Novikoff's bound.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[0.0, 2.0], [1.0, 3.0], [2.0, 0.0], [3.0, 1.0]], ["up", "up", "down", "down"]
    >>> model = sx.SGD(max_passes=256).fit(X, y)
    >>> model.predict([[0.0, 1.0]]).tolist(), model.gap_ <= 0.01
    (['up'], True)
    >>> stream = sx.SGD(loss="logistic")
    >>> for row, label in zip(X, y):
    ...     stream = stream.partial_fit([row], [label], classes=["down", "up"])
    >>> stream.predict([[0.0, 1.0]]).tolist(), str(stream.status_)
    (['up'], 'streaming')
    >>> plain = sx.SGD("perceptron", learning_rate="constant", eta0=1.0, average=False)
    >>> plain.set_params(order="cyclic", max_passes=2).fit(X, y).coef_.tolist()
    [[-2.0, 2.0]]
    """

    loss: str = "hinge"
    _: KW_ONLY
    C: float = 1.0
    learning_rate: str = "free"
    eta0: float = 0.01
    power_t: float = 0.5
    average: bool = True
    scale: bool | str = "auto"
    order: str = "random"
    max_passes: float = 16
    max_seconds: float | None = None
    tol: float = 0.01
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 5
    fit_intercept: bool = True
    class_weight: Any = None
    random_state: Any = 0

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
        one_of("learning_rate", self.learning_rate, ("free", *scheduled_sgd.SCHEDULES))
        one_of("order", self.order, ("random", "cyclic"))
        one_of("scale", self.scale, (True, False, "auto"))
        positive("C", self.C, infinite=True)
        positive("eta0", self.eta0)
        positive("power_t", self.power_t, zero=True)
        positive("max_passes", self.max_passes)
        positive("tol", self.tol)
        positive("max_seconds", self.max_seconds, optional=True)
        positive("n_iter_no_change", self.n_iter_no_change, whole=True)
        positive("validation_fraction", self.validation_fraction)
        if self.validation_fraction >= 1.0:
            raise ValueError(
                f"validation_fraction must be below 1. Got {self.validation_fraction!r} instead."
            )
        self._check_rule()

    def _check_rule(self) -> None:
        """Refuse what the parameter-free rule, or a schedule, cannot do."""
        if self._is_free:
            if self.loss not in FREE_LOSSES:
                raise ValueError(
                    f"loss={self.loss!r} needs a step size: its slope has no bound known in "
                    "advance. Use learning_rate='constant', 'invscaling' or 'optimal'."
                )
            return
        if self.scale is True:
            raise ValueError(
                "scale=True goes with learning_rate='free': a step size is for the columns as they "
                "are. Scale the rows before, with sx.Scale or scikit-learn's StandardScaler."
            )
        if self.learning_rate == "optimal" and math.isinf(self._cost):
            raise ValueError(
                "learning_rate='optimal' divides by the penalty, and there is none: C is inf, or "
                "the loss is the perceptron's. Use 'constant' or 'invscaling'."
            )

    @property
    def _is_free(self) -> bool:
        return self.learning_rate == "free"

    @property
    def _is_scaled(self) -> bool:
        return self._is_free if self.scale == "auto" else bool(self.scale)

    @property
    def _cost(self) -> float:
        return np.inf if self.loss == "perceptron" else float(self.C)

    @property
    def _rule(self) -> Any:
        """The module of the rule."""
        return sgd if self._is_free else scheduled_sgd

    def _settings(self, weights: np.ndarray | None) -> dict[str, Any]:
        common = {
            "loss": self.loss,
            "cost": self._cost,
            "weights": weights,
            "average": bool(self.average),
            "seed": seed_of(self.random_state),
        }
        if self._is_free:
            return {**common, "scaled": self._is_scaled}
        schedule = {"schedule": self.learning_rate, "eta0": self.eta0, "power": self.power_t}
        return {**common, **schedule}

    def _problem(self, X: Any, codes: np.ndarray) -> SignedProblem | KeslerProblem:
        if len(self.classes_) == 2:
            return SignedProblem(X, np.where(codes == 1, 1.0, -1.0), bool(self.fit_intercept))
        return KeslerProblem(X, codes, len(self.classes_), bool(self.fit_intercept))

    @available_unless(_without_a_stream)
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
        codes = class_codes(self.classes_, y)
        weights = self._stream_weights(X, codes, sample_weight)
        if weights is not None and not (weights > 0.0).all():
            kept = weights > 0.0
            X, codes, weights = X[kept], codes[kept], weights[kept]
        scores = np.zeros((1 if len(self.classes_) == 2 else len(self.classes_), len(codes)))
        if len(codes) or first_call:
            self._learn_once(self._problem(X, codes), weights, scores)
        return scores

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
        given = checked_weights(sample_weight, X)
        return np.asarray(factors if given is None else given * factors)

    def _learn_once(self, problem: Any, weights: np.ndarray | None, scores: np.ndarray) -> None:
        n = problem.n_samples
        before, passes, settings = 0, 0.0, self._settings(weights) | {"order": "cyclic"}
        if hasattr(self, "_stream"):
            # Parts of the parameter-free rule are eight numbers a feature.
            if self._is_free != (self._stream[0].ndim == 3):
                raise ValueError(
                    f"learning_rate={self.learning_rate!r} is not how the earlier rows were "
                    "learned. Go on as before, or fit anew."
                )
            parts = self._stream
            settings["first"] = sgd.unpacked(parts) if self._is_free else parts
            before, passes = self.n_iter_, self.n_passes_
        if not self._is_free:
            settings["stream"] = True
        state = self._rule.start(problem, **settings)
        self._rule.learn(state, 0, n, scores)
        self._keep(state)
        self.n_iter_, self.n_passes_ = before + n, passes + 1.0
        self.status_, self.certificate_ = Status.STREAMING, None
        self.objective_: Any = None
        self.dual_objective_: Any = None
        self.gap_: float | None = None
        self.validation_errors_: np.ndarray | None = None

    def _keep(self, state: Any) -> None:
        """Take over what a run has come to."""
        answer = state.answer.reshape(1 if len(self.classes_) == 2 else len(self.classes_), -1)
        if not np.isfinite(answer).all():
            remedy = "Divide large columns first." if self._is_free else "Lower eta0."
            raise DataError(f"SGD: {Status.OVERFLOW.cause}. {remedy}")
        self.coef_ = answer[:, 1:].copy()
        self.intercept_ = (answer[:, 0] - self.coef_ @ self._centre) * bool(self.fit_intercept)
        self.n_iter_, self.n_passes_ = state.updates, state.passes
        memory, free = state.memory, self._is_free
        # What `partial_fit` goes on from.
        self._stream: tuple[np.ndarray, ...] = (
            (memory.slots, memory.sums, memory.totals) if free else scheduled_sgd.packed(state)
        )

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
            self._rule,
            problem,
            settings,
            NO_LIMIT,
            np.inf,
            self._problem(X, codes),
            centre=self._centre,
        )

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        coef_init: Any = None,
        intercept_init: Any = None,
    ) -> SGD:
        """Make passes over the rows, and prove how far from the optimum they ended.

        `coef_init` and `intercept_init` are the first weights, where there is a step size.
        """
        self._check_parameters()
        _, X, y, sample_weight = present_rows(self, X, y, sample_weight)
        X, y = training_data(self, X, y)
        refuse_huge(self, X)
        self.classes_, codes = several_classes(self, y)
        weights = row_weights(self, codes, sample_weight, self.class_weight)
        X, kept = as_matrix(X), np.flatnonzero(weights > 0.0)
        held: np.ndarray | None = None
        if self.early_stopping:
            held = self._held_out(X, codes, kept)
            kept = np.setdiff1d(kept, held)
        whole = len(kept) == len(weights)
        used = weights if whole else weights[kept]
        rows = self._centred(X if whole else X[kept], used)
        problem = self._problem(rows, codes if whole else codes[kept])
        settings = self._settings(None if (used == 1.0).all() else used)
        settings |= self._first(problem, coef_init, intercept_init)
        state = self._rule.start(problem, **settings, order=self.order)
        self.validation_errors_ = None
        if self.loss in _PROVED and math.isfinite(self.C):
            self._fit_and_prove(state, X, codes, weights, kept, held)
        else:
            self._make_passes(state, X, codes, weights, held, time.perf_counter())
            self.objective_ = self.dual_objective_ = self.gap_ = None
            self.status_, self.certificate_ = Status.PASSED, None
            if self.loss == "perceptron":
                self._say_whether_separated(self._problem(X, codes))
        return self

    def _first(self, problem: Any, coef: Any, intercept: Any) -> dict[str, Any]:
        """Return the first weights as a setting, where any are given."""
        if coef is None and intercept is None:
            return {}
        if self._is_free:
            raise ValueError(
                "coef_init and intercept_init go with a step size (learning_rate='constant', ...): "
                "the weights of the parameter-free rule follow from the rows that it has seen."
            )
        return {"init": given_weights(problem, coef, intercept)}

    def _held_out(self, X: Any, codes: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """Return the rows kept back: of every class a share, the copies of a row together."""
        keys = row_keys(X, codes)[kept]
        order = shuffled_by(keys, seed_of(self.random_state), _HELD_OUT)
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order))
        held = []
        for k in range(len(self.classes_)):
            own = codes[kept] == k
            first, inverse = np.unique(keys[own], return_inverse=True)
            if len(first) < 2:
                continue
            rank = np.full(len(first), len(order))
            np.minimum.at(rank, inverse, places[own])
            count = min(max(1, round(self.validation_fraction * len(first))), len(first) - 1)
            taken = np.argsort(rank)[:count]
            held.append(kept[own][np.isin(inverse, taken)])
        if not held:
            raise ValueError("early_stopping=True needs two rows of a class. Use False.")
        return np.sort(np.concatenate(held))

    def _make_passes(
        self, state: Any, X: Any, codes: Any, weights: Any, held: Any, begun: float
    ) -> None:
        """Make all passes; with rows kept back, until they are decided no better."""
        if held is None:
            self._go_on(state, float(self.max_passes), begun)
            self._keep(state)
            return
        errors: list[float] = []
        best: tuple[np.ndarray, np.ndarray] | None = None
        passes, in_time = 0.0, True
        while in_time and passes < self.max_passes:
            passes = min(passes + 1.0, float(self.max_passes))
            in_time = self._go_on(state, passes, begun)
            self._keep(state)
            scores = np.asarray(X[held] @ self.coef_.T) + self.intercept_
            found = scores[:, 0] > 0.0 if scores.shape[1] == 1 else scores.argmax(axis=1)
            wrong = float(np.average(found != codes[held], weights=weights[held]))
            if best is None or wrong < min(errors):
                best = self.coef_, self.intercept_
            errors.append(wrong)
            if len(errors) - 1 - int(np.argmin(errors)) >= self.n_iter_no_change:
                break
        if best is not None:
            self.coef_, self.intercept_ = best
        self.validation_errors_ = np.array(errors)

    def _centred(self, X: Any, weights: np.ndarray) -> Any:
        """Take the medians from dense columns: a free bias takes them up, and steps are surer."""
        self._centre = np.zeros(X.shape[1])
        if sp.issparse(X) or not self.fit_intercept or not self._is_free:
            return X
        self._centre = medians(X, weights)
        return X - self._centre if self._centre.any() else X

    def _go_on(self, state: Any, passes: float, begun: float) -> bool:
        """Make passes up to so many in all; return whether the clock allowed it."""
        seconds = np.inf
        if self.max_seconds is not None:
            seconds = max(0.0, float(self.max_seconds) - (time.perf_counter() - begun))
        visits = math.ceil(passes * len(state.codes)) - state.updates
        go_on(self._rule, state, max(1, visits), seconds, slice_size=256)
        return state.updates >= math.ceil(passes * len(state.codes))

    def _fit_and_prove(
        self,
        state: Any,
        X: Any,
        codes: np.ndarray,
        weights: np.ndarray,
        kept: np.ndarray,
        held: np.ndarray | None,
    ) -> None:
        from separatrix.core.novikoff import Bounds

        begun = time.perf_counter()
        costs = costs_of(self.C, weights)
        bounds, look = None, float(_FIRST_LOOK)
        while True:
            look = min(look, float(self.max_passes))
            if held is None:
                in_time = self._go_on(state, look, begun)
                self._keep(state)
            else:
                self._make_passes(state, X, codes, weights, held, begun)
                in_time = False
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

    def _exponents(self, state: Any) -> np.ndarray:
        """Return the powers of two that no entry of the columns exceeds."""
        if not self._is_scaled:
            return np.zeros(self.coef_.shape[1], dtype=np.int64)
        scales = state.memory.slots[1:, 0, SCALE]
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
        self.objective_ = one_or_all([machine.primal for machine in machines])
        self.dual_objective_ = one_or_all([machine.dual for machine in machines])
        self.status_ = Status.OPTIMAL if proof.gap <= self.tol else Status.BUDGET
        if self.status_ is not Status.OPTIMAL and not self.early_stopping:
            warnings.warn(
                f"SGD: {self.status_.cause}. The objective is proved to be within "
                f"{at_most(proof.gap, 3)} of the least, tolerance: {self.tol:g}. "
                "What to do: raise max_passes or tol, or use LinearSVM or LogisticRegression, "
                "which go to the optimum.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _say_whether_separated(self, problem: Any) -> None:
        from separatrix.certificates.separation import check_separation

        w = problem.homogeneous(self.coef_, self.intercept_)
        self.certificate_ = check_separation(problem, w, self._class_names())
        if self.certificate_.holds:
            self.status_ = Status.SEPARATED
