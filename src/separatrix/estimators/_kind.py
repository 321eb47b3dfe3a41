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
            found = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
            if isinstance(found, Available):
                setattr(cls, name, found.changed(_in_kind))
            elif found is not None and not isinstance(found, Absent):
                setattr(cls, name, _in_kind(found))


def _in_kind(method: Callable[..., Any]) -> Callable[..., Any]:
    if getattr(method, "answers_in_kind", False):
        return method

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

    answered.answers_in_kind = True  # type: ignore[attr-defined]
    return answered
