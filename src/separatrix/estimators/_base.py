"""What every linear classifier here shares: predicting, and telling what was found.

Answers are of the kind that was given. With ``sklearn.config_context(array_api_dispatch=True)``
what `predict`, `decision_function`, `transform` and their like return is of the library of X and on
its device. Labels that are text stay NumPy's, since no other library has them. Loops see NumPy's
arrays alone.

The regularised machines in scikit-learn's manners: what they are given is validated.
"""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextvars import ContextVar
from functools import wraps
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from separatrix._device import like
from separatrix.core import machine as core
from separatrix.core.checks import ratio_of, refuse_huge
from separatrix.core.linear_model import Absent, Available, LinearModel
from separatrix.core.proving import first_tolerance
from separatrix.errors import DeviceError
from separatrix.estimators._validate import (
    checked_weights,
    device_data,
    name_of_rows,
    new_data,
    scores_on_device,
    threads_of,
    training_data,
)
from separatrix.estimators.replay import numbered
from separatrix.problem.fingerprint import LaterName
from separatrix.problem.signed import on_device
from separatrix.solvers.linear.choose import choose
from separatrix.solvers.linear.model_run import MachineFrame, replay_machine
from separatrix.solvers.running.drive import Status

__all__ = [
    "AnswersInKind",
    "CallbackSupport",
    "LinearClassifier",
    "Machine",
    "with_callbacks",
]


_WEIGHTS_SHOWN = 5
_METHODS = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_log_proba",
    "transform",
    "expected_loss",
    "rejected",
)
# Methods call one another: only the one that was called from outside turns its answer.
_inside: ContextVar[bool] = ContextVar("inside", default=False)


class AnswersInKind:
    """Makes these methods of every class below it answer in the kind of X."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in _METHODS:
            found = next((vars(base)[name] for base in cls.__mro__ if _is_given(base, name)), None)
            if isinstance(found, Absent) or not (isinstance(found, Available) or callable(found)):
                continue  # absent, or another's descriptor, which answers as it likes
            ours: Any
            own = _is_given(cls, name)
            if isinstance(found, Available):
                ours = found.changed(_in_kind)
            else:
                ours = _in_kind(found if own else _next(cls, name, found))
            ours.stands_for = None if own else found
            setattr(cls, name, ours)


def _is_given(base: type, name: str) -> bool:
    """Whether a class has a method of its own, and not one that stands for an inherited one."""
    return name in vars(base) and getattr(vars(base)[name], "stands_for", None) is None


def _next(cls: type, name: str, found: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that calls the one that the class inherits, whatever else is mixed in."""

    @wraps(found)
    def inherited(model: Any, X: Any, *arguments: Any, **named: Any) -> Any:
        return getattr(super(cls, model), name)(X, *arguments, **named)

    return inherited


def _in_kind(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def answered(model: Any, X: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(X, np.ndarray) or _inside.get() or not get_config()["array_api_dispatch"]:
            return method(model, X, *arguments, **named)
        token = _inside.set(True)
        try:
            found = method(model, X, *arguments, **named)
        finally:
            _inside.reset(token)
        return like(X, found)

    return answered


class LinearClassifier(AnswersInKind, LinearModel, ClassifierMixin, BaseEstimator):
    """A classifier by the sign, or the largest, of ``w.x + b``."""

    takes_many_classes = True
    status_: Status
    n_iter_: Any
    n_passes_: float

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = self.takes_many_classes
        return tags

    def _new_rows(self, X: Any) -> Any:
        return new_data(self, X)

    def _raw_scores(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        scores = scores_on_device(self, X)
        return super()._raw_scores(X) if scores is None else scores

    # ---- telling

    def _is_fitted(self) -> bool:
        return hasattr(self, "coef_")

    def _facts(self) -> list[tuple[str, str]]:
        """Return what was found, as pairs of a word and a sentence."""
        classes = [str(c) for c in self.classes_]
        sides = (
            f"{classes[0]} (-) and {classes[1]} (+)" if len(classes) == 2 else ", ".join(classes)
        )
        facts = [
            ("status", f"{self.status_}: {self.status_.cause}"),
            ("classes", sides),
        ]
        if work := self._work():
            facts.append(("work", work))
        if self.certificate_ is not None:
            facts.append(("proof", str(self.certificate_)))
        if len(getattr(self, "coef_", ())) == 1:
            facts.append(("weights", self._largest_weights()))
        return facts

    def _work(self) -> str:
        """Return what the fit took; nothing where that is one factorisation."""
        return f"{np.max(self.n_iter_):,} updates in {self.n_passes_:,.1f} passes over the rows"

    def _largest_weights(self) -> str:
        names = getattr(self, "feature_names_in_", None)
        largest = np.argsort(-abs(self.coef_[0]), kind="stable")[:_WEIGHTS_SHOWN]
        parts = [
            f"{names[j] if names is not None else f'x{j}'} {self.coef_[0, j]:+.4g}" for j in largest
        ]
        more = self.coef_.shape[1] - len(largest)
        rest = f" and {more} more" if more > 0 else ""
        return f"{', '.join(parts)}{rest}; intercept {self.intercept_[0]:+.4g}"

    def __str__(self) -> str:
        """Return the parameters and, once fitted, what was found."""
        if not self._is_fitted():
            return repr(self)
        lines = [f"  {word:<8} {sentence}" for word, sentence in self._facts()]
        return "\n".join([repr(self), *lines])

    def _html_repr(self) -> str:
        diagram: str = super()._html_repr()
        if not self._is_fitted():
            return diagram
        rows = "".join(
            f"<tr><th style='text-align:left;vertical-align:top'>{html.escape(word)}</th>"
            f"<td style='text-align:left'>{html.escape(sentence)}</td></tr>"
            for word, sentence in self._facts()
        )
        return f"{diagram}<table>{rows}</table>"

    # ---- ending a fit

    def _warn(self, sentence: str) -> None:
        text = f"{type(self).__name__}: {sentence}"
        remedy = self.status_.remedy
        warnings.warn(
            f"{text} What to do: {remedy}." if remedy else text, ConvergenceWarning, stacklevel=3
        )

    def _class_names(self) -> tuple[str, ...]:
        return tuple(str(name) for name in self.classes_)


# ---- the regularised models in scikit-learn's manners: what they are given is validated


try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing to support: this scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Return the method as it is."""
        return method


class Machine(CallbackSupport, LinearClassifier, core.Machine):
    """A machine with the objective ``1/2 |w|^2 + C sum_i s_i loss(y_i (w.x_i + b))``, b free."""

    _unfinished = ConvergenceWarning

    def _placed(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, Any]:
        there = device_data(self, X, y, sample_weight)
        if there is not None:
            X, y, sample_weight = there
        else:
            X, y = training_data(self, X, y)
            refuse_huge(self, X)
        return X, y, checked_weights(sample_weight, y)

    def _name(self, X: Any, codes: np.ndarray, pool: Executor) -> Future[str] | LaterName:
        if on_device(X):
            return name_of_rows(X, codes, len(self.classes_), pool)
        return super()._name(X, codes, pool)

    def _cores(self) -> int:
        return threads_of(self.n_jobs)

    def _replayed(
        self, X: Any, y: Any, loss: str, sample_weight: Any = None
    ) -> Iterator[MachineFrame]:
        """Return the start and every iteration that `fit` makes until it first looks for a proof.

        The machines of several classes follow one another.
        """
        if self.multi_class == "direct":
            raise ValueError(
                "The direct model has no replay: use multi_class='ovr' or 'ovo', whose models "
                "are shown one after another."
            )
        if self.multi_class in ("auto", "multinomial") and self._fits_all_at_once(y):
            raise ValueError(
                "The multinomial model has no replay: use multi_class='ovr' or 'ovo', whose "
                "models are shown one after another."
            )
        if ratio_of(self):
            raise ValueError("Sparse weights have no replay: use l1_ratio=0.")
        X, codes, problems = self._pose(X, y, sample_weight, loss)
        if on_device(X):
            raise DeviceError("A replay is made on the processor: use device='cpu', X in NumPy.")
        effort = self._effort()

        def frames() -> Iterator[MachineFrame]:
            for number, problem in enumerate(problems):
                run = replay_machine(
                    problem,
                    choose(problem) if effort.solver == "auto" else effort.solver,
                    tol=effort.tol,
                    aim=first_tolerance(problem, effort),
                    seed=effort.seed,
                    max_passes=effort.max_passes,
                )
                yield from run if len(problems) == 1 else numbered(run, number, None, len(codes))

        return frames()

    @property
    def slack_(self) -> np.ndarray:
        """By how much each row falls short of a margin of 1: a column for each machine."""
        check_is_fitted(self)
        machines = getattr(self.certificate_, "machines", (self.certificate_,))
        if not all(hasattr(machine, "margins") for machine in machines):
            raise AttributeError("slack_ is not kept with multi_class='multinomial'.")
        if not all(machine.margins.shape == (machine.n_rows,) for machine in machines):
            raise AttributeError(
                "slack_ is not kept for rows in partitions: 1 - y * decision_function(X) of a "
                "block, where that is above 0, is the slack of its rows."
            )
        columns = [np.maximum(0.0, 1.0 - machine.margins) for machine in machines]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def _work(self) -> str:
        return f"{self.solver_}: {np.max(self.n_iter_):,} iterations, {self.n_passes_:,.1f} passes"
