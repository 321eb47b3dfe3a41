"""Feature maps as transformers: new columns, in which a hyperplane is a curved surface.

`sx.separability` and every model take the mapped rows as they take any data.

See Also
--------
KernelSVM : feature maps that are never computed.
Encoder : columns of texts and categories.

Examples
--------
>>> import separatrix as sx
>>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
>>> lifted = Polynomial(degree=2, interaction_only=True).fit_transform(X)
>>> sx.separability(X, y).kind, sx.separability(lifted, y).kind
('overlapping', 'separable')
"""

from __future__ import annotations

import math
import os
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from separatrix._device import on_host
from separatrix.core.checks import one_of, positive
from separatrix.core.models import with_settings
from separatrix.errors import DataError
from separatrix.estimators._base import AnswersInKind
from separatrix.estimators._validate import warn_of_scale
from separatrix.problem import lifting
from separatrix.problem.signed import as_matrix

__all__ = ["Nystrom", "Polynomial", "RadialBasis", "RandomFourier", "Sigmoid"]


def __dir__() -> list[str]:
    return __all__


class _Lifting(AnswersInKind, TransformerMixin, BaseEstimator):
    """A transformer of rows into basis functions of them; X is left as it is."""

    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _read(self, X: Any, reset: bool) -> Any:
        """Return X as float64, dense or CSR."""
        X = validate_data(
            self,
            on_host(X),
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=np.float64,
            order="C" if reset else None,
        )
        if sp.issparse(X):
            X = as_matrix(X)  # loops take each column of a row once
        if reset:
            warn_of_scale(self, X, stacklevel=4)
        return X

    def _new(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._read(X, reset=False)


def _refuse_too_large(columns: int, entries: float, what: str) -> None:
    """Refuse, before it is made, what would not fit into the memory of this machine."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = 2**40
    if 8.0 * entries > memory or columns >= 2**62:
        raise DataError(
            f"{what} makes {columns:,} columns, which would take {_size(8.0 * entries)} of memory; "
            f"this computer has {_size(memory)}. Lower the degree, take fewer columns or rows at a "
            "time, or use a kernel model, which never makes them."
        )


def _size(count: float) -> str:
    """Write a number of bytes.

    >>> _size(3 * 2**31)
    '6.0 GiB'
    """
    power = min(8, max(0, int(math.log2(max(count, 1.0)) // 10)))
    unit = ["bytes", *(f"{letter}iB" for letter in "KMGTPEZY")][power]
    return f"{count / 2.0 ** (10 * power):,.1f} {unit}"


def _scale_or_number(name: str, value: Any) -> None:
    """Refuse what is neither 'scale' nor a positive number."""
    if not (isinstance(value, str) and value == "scale"):
        if isinstance(value, str):
            raise ValueError(f"{name} must be 'scale' or a number above 0. Got {value!r} instead.")
        positive(name, value)


def _as_dense(X: Any) -> np.ndarray:
    """Return rows as an array."""
    return np.asarray(X.toarray() if sp.issparse(X) else X)


@with_settings
class Polynomial(_Lifting):
    """All products of up to `degree` columns; sparse rows stay sparse.

    Parameters
    ----------
    degree : int, default=2
        The most factors of a product, at least 1.
    interaction_only : bool, default=False
        Whether no column may come twice in a product.
    include_bias : bool, default=False
        Whether to put a column of ones first. Machines here have a bias of their own.

    Examples
    --------
    Exclusive or is separable once there is the product of its columns:

    >>> import separatrix as sx
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0]
    >>> lifted = sx.lift.Polynomial(degree=2, interaction_only=True).fit(X)
    >>> lifted.get_feature_names_out().tolist()
    ['x0', 'x1', 'x0 x1']
    >>> sx.separability(X, y).kind, sx.separability(lifted.transform(X), y).kind
    ('overlapping', 'separable')
    """

    degree: int = 2
    _: KW_ONLY
    interaction_only: bool = False
    include_bias: bool = False

    def fit(self, X: Any, y: Any = None) -> Polynomial:
        """Count the products; nothing is learned from the rows."""
        positive("degree", self.degree, whole=True)
        X = self._read(X, reset=True)
        d, degree = X.shape[1], int(self.degree)
        count = lifting.monomial_count(d, degree, bool(self.interaction_only))
        inner = lifting.monomial_count(d, degree - 1, bool(self.interaction_only))
        what = f"degree {degree} of {d:,} columns"
        _refuse_too_large(count, 2.0 * inner if sp.issparse(X) else float(count), what)
        self._tree = self._made_tree()
        self.n_output_features_ = count + bool(self.include_bias)
        return self

    def _made_tree(self) -> lifting.MonomialTree:
        return lifting.tree_of(self.n_features_in_, int(self.degree), bool(self.interaction_only))

    def transform(self, X: Any) -> Any:
        """Return the products of every row: an array, or CSR where X is sparse."""
        X = self._new(X)
        degree, alone = int(self.degree), bool(self.interaction_only)
        values = X.data if sp.issparse(X) else X
        largest = float(abs(values).max()) if values.size else 0.0
        if largest > 1.0 and degree * np.log10(largest) > 307.0:
            raise DataError(
                f"X holds {largest:.3g}, whose power {degree} is beyond the largest number. "
                "Divide the columns first."
            )
        if sp.issparse(X):
            lengths, rows = np.unique(np.diff(X.indptr), return_counts=True)
            counts = [lifting.monomial_count(int(r), degree, alone) for r in lengths]
            entries = 2.0 * sum(float(c) * float(k) for c, k in zip(counts, rows, strict=True))
        else:
            entries = float(X.shape[0]) * self.n_output_features_
        what = f"degree {degree} of {X.shape[1]:,} columns"
        _refuse_too_large(self.n_output_features_, entries, what)
        if not hasattr(self, "_tree"):  # of a model file, which keeps no numbers that loops follow
            self._tree = self._made_tree()
        return lifting.monomials(X, self._tree, degree, bool(self.include_bias))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Name every product after its factors: ``x0 x1^2``."""
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        _refuse_too_large(self.n_output_features_, 16.0 * self.n_output_features_, "naming")
        level: list[tuple[int, ...]] = [(j,) for j in range(len(names))]
        found = list(level)
        for _ in range(1, int(self.degree)):
            level = [
                (*factors, j)
                for factors in level
                for j in range(factors[-1] + bool(self.interaction_only), len(names))
            ]
            found += level
        written = [_written(factors, names) for factors in found]
        return np.asarray(["1"] * bool(self.include_bias) + written, dtype=object)


def _written(factors: tuple[int, ...], names: np.ndarray) -> str:
    parts = []
    for j in dict.fromkeys(factors):
        power = factors.count(j)
        parts.append(f"{names[j]}^{power}" if power > 1 else str(names[j]))
    return " ".join(parts)


class _Numbered(ClassNamePrefixFeaturesOutMixin, _Lifting):
    """A map whose columns are named by their numbers; one part of what it learned makes each."""

    _learned, _parts = "centres_", "centres"  # the parts, and what they are called
    _room = 1.0  # entries held in memory for each that is returned

    @property
    def _n_features_out(self) -> int:
        return len(getattr(self, self._learned))

    def _new(self, X: Any) -> Any:
        X, count = super()._new(X), self._n_features_out
        what = f"{type(self).__name__} of {count:,} {self._parts}"
        _refuse_too_large(count, self._room * X.shape[0] * count, what)
        return X


class _Centred(_Numbered):
    """Basis functions around centres: given, all rows, or found by k-means."""

    centres: Any
    random_state: Any
    centres_: np.ndarray

    def _find_centres(self, X: Any) -> None:
        given = self.centres
        if given is None:
            self.centres_ = _as_dense(X).copy()
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
            centres = np.array(_as_dense(given), dtype=np.float64, ndmin=2)
            if centres.ndim != 2 or centres.shape[1] != X.shape[1] or len(centres) == 0:
                raise ValueError(
                    f"centres must have the {X.shape[1]} columns of X. Got an array of shape "
                    f"{centres.shape} instead."
                )
            if not np.isfinite(centres).all():
                raise ValueError("centres must be finite numbers. Replace NaN and inf.")
            self.centres_ = centres


@with_settings
class RadialBasis(_Centred):
    """Bumps ``exp(-|x - c|^2 / (2 width^2))`` around centres c.

    Parameters
    ----------
    centres : None, array or int, default=None
        None takes all rows of `fit`; an array is taken as it is; so many are found by k-means.
    width : "scale" or float, default="scale"
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

    centres: Any = None
    _: KW_ONLY
    width: Any = "scale"
    random_state: Any = 0

    def fit(self, X: Any, y: Any = None) -> RadialBasis:
        """Find the centres and the width."""
        _scale_or_number("width", self.width)
        X = self._read(X, reset=True)
        self._find_centres(X)
        given = None if isinstance(self.width, str) else float(self.width)
        self.width_ = float(np.sqrt(0.5 / lifting.scale_of(X))) if given is None else given
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the height of every bump at every row."""
        return lifting.radial(self._new(X), self.centres_, self.width_)


@with_settings
class Sigmoid(_Centred):
    """Steps ``tanh(slope x.c + offset)`` along directions c.

    Parameters
    ----------
    centres : None, array or int, default=None
        The directions: None takes all rows of `fit`, an array is taken as it is, so many are found
        by k-means.
    slope : "scale" or float, default="scale"
        How steep the steps are. "scale" is ``1 / (d var(X))``.
    offset : float, default=0.0
        Moves all steps.
    random_state
        For k-means.

    Examples
    --------
    >>> import separatrix as sx
    >>> sx.lift.Sigmoid([[1.0]], slope=1.0).fit_transform([[0.0], [100.0]]).tolist()
    [[0.0], [1.0]]
    """

    centres: Any = None
    _: KW_ONLY
    slope: Any = "scale"
    offset: float = 0.0
    random_state: Any = 0

    def fit(self, X: Any, y: Any = None) -> Sigmoid:
        """Find the directions and the slope."""
        _scale_or_number("slope", self.slope)
        if not np.isfinite(float(self.offset)):
            raise ValueError(f"offset must be a finite number. Got {self.offset!r} instead.")
        X = self._read(X, reset=True)
        self._find_centres(X)
        self.slope_ = lifting.scale_of(X) if isinstance(self.slope, str) else float(self.slope)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the height of every step at every row."""
        return lifting.sigmoids(self._new(X), self.centres_, self.slope_, float(self.offset))


# ---- columns whose products approximate a kernel


@with_settings
class RandomFourier(_Numbered):
    """Random cosines whose products approximate ``exp(-gamma |x - z|^2)``.

    With D components the products of two rows miss the kernel by more than e with a probability of
    at most ``2 exp(-D e^2 / 8)``: a typical miss is ``1 / sqrt(D)``.

    Parameters
    ----------
    n_components : int, default=100
        How many cosines.
    gamma : "scale" or float, default="scale"
        Of the kernel; "scale" is ``1 / (d var(X))``.
    random_state : int, RandomState or None, default=None
        For the directions and offsets.

    Examples
    --------
    >>> import numpy as np, separatrix as sx
    >>> X = np.array([[0.0], [1.0]])
    >>> Z = sx.lift.RandomFourier(4000, gamma=1.0, random_state=0).fit_transform(X)
    >>> bool(abs((Z @ Z.T)[0, 1] - np.exp(-1.0)) < 0.05)
    True
    """

    _learned, _parts = "offsets_", "components"

    n_components: int = 100
    _: KW_ONLY
    gamma: Any = "scale"
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> RandomFourier:
        """Draw the directions; of the rows only their number of columns and their scale count."""
        positive("n_components", self.n_components, whole=True)
        _scale_or_number("gamma", self.gamma)
        X = self._read(X, reset=True)
        d, count = X.shape[1], int(self.n_components)
        _refuse_too_large(count, float(d) * count, f"RandomFourier of {count:,} components")
        self.gamma_ = lifting.scale_of(X) if isinstance(self.gamma, str) else float(self.gamma)
        dice = check_random_state(self.random_state)
        self.directions_ = np.sqrt(2.0 * self.gamma_) * dice.normal(size=(d, count))
        self.offsets_ = dice.uniform(0.0, 2.0 * np.pi, size=count)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the cosines of every row."""
        return lifting.cosines(self._new(X), self.directions_, self.offsets_)


@with_settings
class Nystrom(_Numbered):
    """Columns whose products equal a kernel on some rows, and approximate it elsewhere.

    Parameters
    ----------
    n_components : int, default=100
        How many rows to take; all of them, if there are fewer, and then the kernel is exact.
    kernel : {"rbf", "poly", "linear"} or callable, default="rbf"
        ``exp(-gamma |x - z|^2)``, ``(gamma x.z + coef0)^degree``, ``x.z``, or one of two rows.
    gamma : "scale" or float, default="scale"
        Of the kernel; "scale" is ``1 / (d var(X))``.
    degree, coef0
        Of the polynomial kernel.
    random_state : int, RandomState or None, default=None
        For the choice of rows.

    Examples
    --------
    >>> import numpy as np, separatrix as sx
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> Z = sx.lift.Nystrom(3, gamma=1.0).fit_transform(X)
    >>> np.allclose(Z @ Z.T, np.exp(-((X - X.T) ** 2)))
    True
    """

    _learned, _parts, _room = "normalization_", "rows", 2.0

    n_components: int = 100
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 1.0
    random_state: Any = None

    def _kernel(self, X: Any, Z: Any) -> np.ndarray:
        if callable(self.kernel):
            return np.asarray(pairwise_kernels(_as_dense(X), _as_dense(Z), metric=self.kernel))
        if self.kernel == "rbf":
            width = float(np.sqrt(0.5 / self.gamma_))
            return lifting.radial(X, _as_dense(Z), width)
        products = X @ Z.T
        products = _as_dense(products)
        if self.kernel == "linear":
            return products
        return np.asarray((self.gamma_ * products + float(self.coef0)) ** int(self.degree))

    def fit(self, X: Any, y: Any = None) -> Nystrom:
        """Choose the rows and take the root of their kernel matrix."""
        positive("n_components", self.n_components, whole=True)
        _scale_or_number("gamma", self.gamma)
        if not callable(self.kernel):
            one_of("kernel", self.kernel, ("rbf", "poly", "linear"))
        positive("degree", self.degree, whole=True)
        X = self._read(X, reset=True)
        count = min(int(self.n_components), X.shape[0])
        _refuse_too_large(count, 4.0 * count * count, f"Nystrom of {count:,} rows")
        self.gamma_ = lifting.scale_of(X) if isinstance(self.gamma, str) else float(self.gamma)
        dice = check_random_state(self.random_state)
        self.component_indices_ = np.sort(dice.permutation(X.shape[0])[:count])
        self.components_ = X[self.component_indices_]
        with np.errstate(over="ignore", invalid="ignore"):
            matrix = self._kernel(self.components_, self.components_)
        if not np.isfinite(matrix).all():
            raise DataError("The kernel of these rows is not finite. Divide the columns first.")
        values, vectors = scipy.linalg.eigh(0.5 * (matrix + matrix.T))
        # What is below rounding of the largest is rounding, and its root would be noise.
        kept = values > 1e-12 * max(float(values[-1]), np.finfo(float).tiny)
        roots = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
        self.normalization_ = (vectors * roots) @ vectors.T
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the columns of every row."""
        return np.asarray(self._kernel(self._new(X), self.components_) @ self.normalization_)
