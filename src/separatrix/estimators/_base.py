"""What every linear classifier here shares: predicting, and telling what was found.

Answers are of the kind that was given. With ``sklearn.config_context(array_api_dispatch=True)``
what `predict`, `decision_function`, `transform` and their like return is of the library of X and on
its device. Labels that are text stay NumPy's, since no other library has them. Loops see NumPy's
arrays alone.
"""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from separatrix._device import like
from separatrix.core.linear_model import Absent, Available, LinearModel
from separatrix.estimators._validate import new_data, scores_on_device
from separatrix.solvers.running.drive import Status

__all__ = ["AnswersInKind", "LinearClassifier"]

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
