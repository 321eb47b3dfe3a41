"""The settings of a model: what its class takes, whether or not it is an estimator."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

__all__ = ["fresh", "seed_of", "settings_of", "shown"]


def settings_of(model: Any) -> dict[str, Any]:
    """Return the settings by name, in the order of the alphabet.

    >>> from separatrix.core.models import LinearSVM
    >>> settings_of(LinearSVM(C=2.0))["C"]
    2.0
    """
    names = inspect.signature(type(model).__init__).parameters
    return {name: getattr(model, name) for name in sorted(names) if name != "self"}


def fresh(model: Any, **changed: Any) -> Any:
    """Return a model of the same class and settings but those named, that has learned nothing."""
    return type(model)(**{**settings_of(model), **changed})


def seed_of(random_state: Any) -> int:
    """Return a seed; an integer is the same seed every time, None a fresh one."""
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    if random_state is None or random_state is np.random:
        random_state = np.random.mtrand._rand
    if not isinstance(random_state, np.random.RandomState):
        raise ValueError(
            f"random_state must be None, a whole number at least 0 or a RandomState. "
            f"Got {random_state!r} instead."
        )
    return int(random_state.randint(2**31 - 1))


def shown(model: Any) -> str:
    """Write a model as the call that makes it, without the settings that are the usual ones.

    >>> from separatrix.core.models import LinearSVM
    >>> shown(LinearSVM(C=2.0, loss="hinge"))
    'LinearSVM(C=2.0)'
    """
    usual = inspect.signature(type(model).__init__).parameters
    arguments = [
        f"{name}={value!r}"
        for name, value in settings_of(model).items()
        if repr(value) != repr(usual[name].default)
    ]
    return f"{type(model).__name__}({', '.join(arguments)})"
