"""The regularised linear models: their settings, and how they predict, without scikit-learn.

``1/2 |w|^2 + C sum_i s_i loss(y_i (w.x_i + b))``. Model files and commands work with these;
the estimators of the same names inherit from them and explain the settings.
"""

from __future__ import annotations

import inspect
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from separatrix.core.linear_model import CalibratedProbabilities, LogisticProbabilities, VotingModel

__all__ = [
    "LinearSVM",
    "LinearSVMCV",
    "LogisticRegression",
    "LogisticRegressionCV",
    "fresh",
    "seed_of",
    "settings_of",
    "shown",
    "with_settings",
]

Model = TypeVar("Model")


@dataclass_transform(eq_default=False)
def with_settings(kind: type[Model]) -> type[Model]:
    """Make the ``__init__`` that keeps the settings of a class body, unchanged, under their names.

    They are declared once, as the fields of a dataclass are, so that editors and type checkers know
    signature and attributes. Nothing else is a dataclass's: two fits with the same settings are
    different models, and tools that compare or hash models must not take them for one.

    >>> @with_settings
    ... class Model:
    ...     C: float = 1.0
    ...     _: KW_ONLY
    ...     tol: float = 1e-4
    >>> str(inspect.signature(Model)), Model(2.0).C
    ("(C: 'float' = 1.0, *, tol: 'float' = 0.0001) -> None", 2.0)
    """
    declared = inspect.get_annotations(kind)
    defaults = {name: vars(kind)[name] for name in declared if name in vars(kind)}
    named = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    fields: Any = type(kind.__name__, (), {"__annotations__": declared, **named, **defaults})
    made = dataclass(eq=False, repr=False)(fields).__init__
    kind.__init__ = made  # type: ignore[method-assign]
    for name in defaults:
        delattr(kind, name)  # settings are of a model, not of its class
    return kind


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


@with_settings
class LinearSVM(CalibratedProbabilities, VotingModel):
    """The support vector machine; `separatrix.LinearSVM` explains the settings."""

    keeps_support = True

    C: float = 1.0
    _: KW_ONLY
    l1_ratio: float = 0.0
    groups: Any = None
    loss: str = "hinge"
    tol: float = 1e-4
    solver: str = "auto"
    fit_intercept: bool = True
    intercept_penalty: float = 0.0
    class_weight: Any = None
    max_seconds: float | None = None
    max_passes: float | None = None
    random_state: Any = 0
    warm_start: bool = False
    probability: bool = False
    multi_class: str = "ovr"
    n_jobs: int | None = None
    device: str = "cpu"
    verbose: bool = False


@with_settings
class LogisticRegression(LogisticProbabilities, VotingModel):
    """Logistic regression; `separatrix.LogisticRegression` explains the settings."""

    counts_each_model = True

    C: float = 1.0
    _: KW_ONLY
    l1_ratio: float = 0.0
    groups: Any = None
    tol: float = 1e-4
    solver: str = "auto"
    fit_intercept: bool = True
    intercept_penalty: float = 0.0
    class_weight: Any = None
    max_seconds: float | None = None
    max_passes: float | None = None
    random_state: Any = 0
    warm_start: bool = False
    multi_class: str = "auto"
    n_jobs: int | None = None
    device: str = "cpu"
    verbose: bool = False


@with_settings
class LinearSVMCV(VotingModel):
    """The support vector machine of a chosen C; `separatrix.LinearSVMCV` explains the settings."""

    keeps_support = True

    Cs: Any = None
    _: KW_ONLY
    cv: Any = 5
    scoring: Any = None
    rule: str = "best"
    refine: bool | int = True
    l1_ratios: Any = None
    groups: Any = None
    loss: str = "hinge"
    tol: float = 1e-4
    solver: str = "auto"
    fit_intercept: bool = True
    intercept_penalty: float = 0.0
    class_weight: Any = None
    max_seconds: float | None = None
    random_state: Any = 0
    n_jobs: int | None = None
    device: str = "cpu"
    verbose: bool = False


@with_settings
class LogisticRegressionCV(LogisticProbabilities, VotingModel):
    """Logistic regression of a chosen C; see `separatrix.LogisticRegressionCV`."""

    counts_each_model = True

    Cs: Any = None
    _: KW_ONLY
    cv: Any = 5
    scoring: Any = None
    rule: str = "best"
    refine: bool | int = True
    l1_ratios: Any = None
    groups: Any = None
    tol: float = 1e-4
    solver: str = "auto"
    fit_intercept: bool = True
    intercept_penalty: float = 0.0
    class_weight: Any = None
    max_seconds: float | None = None
    random_state: Any = 0
    multi_class: str = "auto"
    refit: bool = True
    store_cv_results: bool = False
    n_jobs: int | None = None
    device: str = "cpu"
    verbose: bool = False
