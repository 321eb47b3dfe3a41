"""The regularised linear models: their settings, and how they predict, without scikit-learn.

``1/2 |w|^2 + C sum_i s_i loss(y_i (w.x_i + b))``. Model files and commands work with these;
the estimators of the same names inherit from them and explain the settings.

Scaling before a model, as scikit-learn's pipeline and scalers do it, to the last bit.

A model file that holds a `Pipeline` of scikit-learn is predicted with these, without loading it.
"""

from __future__ import annotations

import inspect
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeVar, dataclass_transform

import numpy as np

from separatrix._sparse import is_sparse
from separatrix.core.linear_model import CalibratedProbabilities, LogisticProbabilities, VotingModel
from separatrix.errors import DataError

__all__ = [
    "LinearSVM",
    "LinearSVMCV",
    "LogisticRegression",
    "LogisticRegressionCV",
    "fresh",
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


# ---- scaling before a model, as scikit-learn's pipeline and scalers do it, to the last bit


_METHODS = ("decision_function", "predict", "predict_log_proba", "predict_proba", "transform")


class _Scaler:
    """A scaler of columns: what goes in and what comes out have the same names."""

    n_features_in_: int
    scale_: Any

    def get_feature_names_out(self, names: Any) -> Any:
        """Return the names of the columns."""
        return names

    def _copied(self, X: Any) -> Any:
        if X.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return X.copy() if is_sparse(X) else np.array(X)


class StandardScaler(_Scaler):
    """``(x - mean) / deviation``."""

    mean_: Any

    def __init__(self, *, copy: bool = True, with_mean: bool = True, with_std: bool = True) -> None:
        self.copy, self.with_mean, self.with_std = copy, with_mean, with_std

    @property
    def takes_sparse(self) -> bool:
        """Whether nothing is subtracted, so that zeros stay zeros."""
        return not self.with_mean

    def transform(self, X: Any) -> Any:
        """Return the rows scaled."""
        X = self._copied(X)
        if is_sparse(X):
            if self.with_mean:
                raise DataError("sparse rows cannot be centred: the model was trained on others.")
            return X if self.scale_ is None else _columns_times(X, 1 / self.scale_)
        if self.with_mean:
            X -= self.mean_.astype(X.dtype)
        if self.with_std:
            X /= self.scale_.astype(X.dtype)
        return X


class MinMaxScaler(_Scaler):
    """``(x - min) / (max - min)``, to the given range."""

    min_: np.ndarray
    takes_sparse = False

    def __init__(
        self, feature_range: tuple[float, float] = (0, 1), *, copy: bool = True, clip: bool = False
    ) -> None:
        self.feature_range, self.copy, self.clip = feature_range, copy, clip

    def transform(self, X: Any) -> Any:
        """Return the rows scaled."""
        if is_sparse(X):
            raise DataError("sparse rows cannot be shifted: the model was trained on others.")
        X = self._copied(X)
        X *= self.scale_
        X += self.min_
        return np.clip(X, *self.feature_range, out=X) if self.clip else X


class MaxAbsScaler(_Scaler):
    """``x / max |x|``."""

    def __init__(self, *, copy: bool = True, clip: bool = False) -> None:
        self.copy, self.clip = copy, clip

    def transform(self, X: Any) -> Any:
        """Return the rows scaled."""
        X = self._copied(X)
        if is_sparse(X):
            X = _columns_times(X, 1.0 / self.scale_)
        else:
            X /= self.scale_
        values = X.data if is_sparse(X) else X
        if self.clip:
            np.clip(values, -1.0, 1.0, out=values)
        return X


def _columns_times(X: Any, factors: np.ndarray) -> Any:
    X.data *= factors.take(X.indices, mode="clip")
    return X


class Pipeline:
    """Steps that transform the rows, and a model after them, which predicts."""

    def __init__(
        self,
        steps: list[tuple[str, Any]],
        *,
        transform_input: Any = None,
        memory: Any = None,
        verbose: bool = False,
    ) -> None:
        self.steps, self.transform_input = steps, transform_input
        self.memory, self.verbose = memory, verbose

    @property
    def n_features_in_(self) -> int:
        """The width of the rows that go in."""
        return int(self.steps[0][1].n_features_in_)

    @property
    def classes_(self) -> np.ndarray:
        """The classes of the model."""
        return np.asarray(self.steps[-1][1].classes_)

    def __getattr__(self, name: str) -> Any:
        """Return a method of the model that takes rows as they are before the steps."""
        if name not in _METHODS or "steps" not in vars(self):
            raise AttributeError(f"a pipeline has no {name}")
        method = getattr(self.steps[-1][1], name)

        def after_steps(X: Any) -> Any:
            for _, step in self.steps[:-1]:
                X = step.transform(X)
            return method(X)

        return after_steps
