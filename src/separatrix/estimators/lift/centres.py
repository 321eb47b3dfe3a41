"""Basis functions around centres: radial ones and sigmoids, as transformers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.utils import check_random_state

from separatrix.core.checks import positive
from separatrix.estimators._lifting import Lifting, as_dense, refuse_too_large, scale_or_number
from separatrix.problem import lifting

__all__ = ["RadialBasis", "Sigmoid"]


class _Centred(ClassNamePrefixFeaturesOutMixin, Lifting):
    """Basis functions around centres: given, all rows, or found by k-means."""

    centres: Any
    random_state: Any
    centres_: np.ndarray

    def _find_centres(self, X: Any) -> None:
        given = self.centres
        if given is None:
            self.centres_ = as_dense(X).copy()
        elif isinstance(given, int | np.integer) and not isinstance(given, bool):
            positive("centres", given, whole=True)
            if given > X.shape[0]:
                raise ValueError(
                    f"centres must be at most the number of rows, n_samples={X.shape[0]}. Got "
                    f"{given} instead."
                )
            from sklearn.cluster import KMeans

            seed = check_random_state(self.random_state).randint(2**31 - 1)
            found = KMeans(int(given), n_init=4, random_state=seed).fit(X)
            self.centres_ = np.asarray(found.cluster_centers_, dtype=np.float64)
        else:
            centres = np.array(as_dense(given), dtype=np.float64, ndmin=2)
            if centres.ndim != 2 or centres.shape[1] != X.shape[1] or len(centres) == 0:
                raise ValueError(
                    f"centres must have the {X.shape[1]} columns of X. Got an array of shape "
                    f"{centres.shape} instead."
                )
            if not np.isfinite(centres).all():
                raise ValueError("centres must be finite numbers. Replace NaN and inf.")
            self.centres_ = centres

    def _refuse_too_large(self, X: Any) -> None:
        count = len(self.centres_)
        refuse_too_large(
            count, float(X.shape[0]) * count, f"{type(self).__name__} of {count:,} centres"
        )

    @property
    def _n_features_out(self) -> int:
        return len(self.centres_)


class RadialBasis(_Centred):
    """Bumps ``exp(-|x - c|^2 / (2 width^2))`` around centres c.

    Parameters
    ----------
    centres : None, array or int
        None takes all rows of `fit`; an array is taken as it is; so many are found by k-means.
    width : "scale" or float
        The width of the bumps. "scale" is that of ``gamma="scale"``: 2 width^2 = d var(X).
    random_state
        For k-means.

    Examples
    --------
    >>> import separatrix as sx
    >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [0, 1, 1, 0]
    >>> lifted = sx.lift.RadialBasis([[0.0]], width=1.0).fit_transform(X)
    >>> sx.separability(X, y).kind, sx.separability(lifted, y).kind
    ('overlapping', 'separable')
    """

    def __init__(self, centres: Any = None, *, width: Any = "scale", random_state: Any = 0) -> None:
        self.centres = centres
        self.width = width
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> RadialBasis:
        """Find the centres and the width."""
        scale_or_number("width", self.width)
        X = self._read(X, reset=True)
        self._find_centres(X)
        given = None if isinstance(self.width, str) else float(self.width)
        self.width_ = float(np.sqrt(0.5 / lifting.scale_of(X))) if given is None else given
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the height of every bump at every row."""
        X = self._new(X)
        self._refuse_too_large(X)
        return lifting.radial(X, self.centres_, self.width_)


class Sigmoid(_Centred):
    """Steps ``tanh(slope x.c + offset)`` along directions c.

    Parameters
    ----------
    centres : None, array or int
        The directions: None takes all rows of `fit`, an array is taken as it is, so many are found
        by k-means.
    slope : "scale" or float
        How steep the steps are. "scale" is ``1 / (d var(X))``.
    offset : float
        Moves all steps.
    random_state
        For k-means.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.lift.Sigmoid([[1.0]], slope=1.0).fit_transform([[0.0], [100.0]]).tolist()
    [[0.0], [1.0]]
    """

    def __init__(
        self,
        centres: Any = None,
        *,
        slope: Any = "scale",
        offset: float = 0.0,
        random_state: Any = 0,
    ) -> None:
        self.centres = centres
        self.slope = slope
        self.offset = offset
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Sigmoid:
        """Find the directions and the slope."""
        scale_or_number("slope", self.slope)
        if not np.isfinite(float(self.offset)):
            raise ValueError(f"offset must be a finite number. Got {self.offset!r} instead.")
        X = self._read(X, reset=True)
        self._find_centres(X)
        self.slope_ = lifting.scale_of(X) if isinstance(self.slope, str) else float(self.slope)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the height of every step at every row."""
        X = self._new(X)
        self._refuse_too_large(X)
        return lifting.sigmoids(X, self.centres_, self.slope_, float(self.offset))
