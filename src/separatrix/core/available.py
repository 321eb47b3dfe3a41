"""Methods that some settings take away: absent to ``hasattr``, with an error that says what to do.

scikit-learn's ``available_if`` keeps the reason in the error's cause, where nobody looks who prints
the error; here the reason is in the error itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import MethodType
from typing import Any

__all__ = ["SCORES_ONLY", "Absent", "available_unless"]

SCORES_ONLY = (
    "it has scores only, from decision_function. LogisticRegression() and LinearSVM("
    "probability=True) have probabilities, and scikit-learn's CalibratedClassifierCV makes them "
    "from the scores of any classifier."
)


def available_unless(reason: Callable[[Any], str | None]) -> Any:
    """Give a method to those objects of which ``reason`` has nothing to say."""

    def decorate(method: Callable[..., Any]) -> Any:
        return _Available(method, reason)

    return decorate


class _Available:
    """A descriptor: the method, or an ``AttributeError`` that ends in the reason."""

    def __init__(self, method: Callable[..., Any], reason: Callable[[Any], str | None]) -> None:
        self._method = method
        self._reason = reason
        self.__doc__, self.__name__ = method.__doc__, method.__name__

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is not None:
            self._refuse_without(estimator)
            return MethodType(self._method, estimator)

        @wraps(self._method)
        def unbound(estimator: Any, *arguments: Any, **named: Any) -> Any:
            self._refuse_without(estimator)
            return self._method(estimator, *arguments, **named)

        return unbound

    def _refuse_without(self, estimator: Any) -> None:
        why = self._reason(estimator)
        if why is not None:
            kind = type(estimator).__name__
            raise AttributeError(f"This {kind!r} has no {self.__name__}: {why}")


class Absent:
    """Stands where a method is looked for that a class has not: the error says what to use."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, estimator: Any, owner: type) -> Any:
        raise AttributeError(f"This {owner.__name__!r} has no {self._name}: {self._why}")
