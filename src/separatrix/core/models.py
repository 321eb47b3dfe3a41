"""The regularised linear models: their settings, and how they predict, without scikit-learn.

``1/2 |w|^2 + C sum_i s_i loss(y_i (w.x_i + b))``. Model files and commands work with these;
the estimators of the same names inherit from them and explain the settings.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from separatrix.core.linear_model import CalibratedProbabilities, LogisticProbabilities, VotingModel


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


def forget_threshold(model: Any) -> None:
    """Decide by the score again: threshold and costs belong to the weights they came with."""
    vars(model).pop("threshold_", None)
    vars(model).pop("costs_", None)


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


def _keep(model: Any, given: dict[str, Any]) -> None:
    """Keep every setting under its own name, as scikit-learn wants it; `given` are the locals."""
    vars(model).update((name, value) for name, value in given.items() if name != "self")


class LinearSVM(CalibratedProbabilities, VotingModel):
    """The support vector machine; `separatrix.LinearSVM` explains the settings."""

    loss: str
    keeps_support = True

    def __init__(
        self,
        C: float = 1.0,
        *,
        l1_ratio: float = 0.0,
        groups: Any = None,
        loss: str = "hinge",
        tol: float = 1e-4,
        solver: str = "auto",
        fit_intercept: bool = True,
        intercept_penalty: float = 0.0,
        class_weight: Any = None,
        max_seconds: float | None = None,
        max_passes: float | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        probability: bool = False,
        multi_class: str = "ovr",
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        _keep(self, locals())


class LogisticRegression(LogisticProbabilities, VotingModel):
    """Logistic regression; `separatrix.LogisticRegression` explains the settings."""

    counts_each_model = True

    def __init__(
        self,
        C: float = 1.0,
        *,
        l1_ratio: float = 0.0,
        groups: Any = None,
        tol: float = 1e-4,
        solver: str = "auto",
        fit_intercept: bool = True,
        intercept_penalty: float = 0.0,
        class_weight: Any = None,
        max_seconds: float | None = None,
        max_passes: float | None = None,
        random_state: Any = 0,
        warm_start: bool = False,
        multi_class: str = "auto",
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        _keep(self, locals())


class LinearSVMCV(VotingModel):
    """The support vector machine of a chosen C; `separatrix.LinearSVMCV` explains the settings."""

    loss: str
    keeps_support = True

    def __init__(
        self,
        Cs: Any = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "best",
        refine: bool | int = True,
        l1_ratios: Any = None,
        groups: Any = None,
        loss: str = "hinge",
        tol: float = 1e-4,
        solver: str = "auto",
        fit_intercept: bool = True,
        intercept_penalty: float = 0.0,
        class_weight: Any = None,
        max_seconds: float | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        _keep(self, locals())


class LogisticRegressionCV(LogisticProbabilities, VotingModel):
    """Logistic regression of a chosen C; see `separatrix.LogisticRegressionCV`."""

    counts_each_model = True

    def __init__(
        self,
        Cs: Any = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        rule: str = "best",
        refine: bool | int = True,
        l1_ratios: Any = None,
        groups: Any = None,
        tol: float = 1e-4,
        solver: str = "auto",
        fit_intercept: bool = True,
        intercept_penalty: float = 0.0,
        class_weight: Any = None,
        max_seconds: float | None = None,
        random_state: Any = 0,
        multi_class: str = "auto",
        refit: bool = True,
        store_cv_results: bool = False,
        n_jobs: int | None = None,
        device: str = "cpu",
        verbose: bool = False,
    ) -> None:
        _keep(self, locals())
