"""Scaling before a model, as scikit-learn's pipeline and scalers do it, to the last bit.

A model file that holds a `Pipeline` of scikit-learn is predicted with these, without loading it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._sparse import is_sparse
from separatrix.errors import DataError

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
