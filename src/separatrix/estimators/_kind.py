"""Answers of the kind that was given: a tensor for a tensor, under scikit-learn's array API.

With ``sklearn.config_context(array_api_dispatch=True)`` what `predict`, `decision_function`,
`transform` and their like return is of the library of X and on its device. Labels that are text
stay NumPy's, since no other library has them. Loops see NumPy's arrays alone.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any

import numpy as np
from sklearn import get_config

from separatrix._device import like
from separatrix.core.linear_model import Absent, Available

__all__ = ["AnswersInKind"]

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
