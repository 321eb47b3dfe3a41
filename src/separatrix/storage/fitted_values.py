"""The fitted values of a model, gone through one by one: each follows from the data, or is refused.

A value may follow exactly, or to within a stated room for rounding. What only the run knows, such
as how many iterations it took, follows from nothing and is listed as not proved. A value that no
one has looked at in the end is refused. `TrainingRows` are the rows that a model is proved from.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.core.checks import class_factors
from separatrix.core.models import settings_of
from separatrix.problem.signed import as_matrix


class Mismatch(Exception):
    """A stored value that does not follow; the sentence says which."""


def require(good: bool, reason: str) -> None:
    """Refuse a model, with the reason, where something is not as it must be."""
    if not good:
        raise Mismatch(reason)


def fitted_names(model: Any) -> list[str]:
    """Return the names of what a fit left, parameters left out."""
    parameters = settings_of(model)
    return [name for name in vars(model) if name not in parameters]


class Values:
    """What has been looked at of the fitted values of a model, and what only the run knows."""

    def __init__(self, model: Any, not_proved: list[str]) -> None:
        self.model = model
        self.not_proved = not_proved
        self._left = set(fitted_names(model))

    def same(self, **expected: Any) -> None:
        """Require these values, to the last bit; a name that the model has not is required too."""
        for name, value in expected.items():
            self._left.discard(name)
            held = vars(self.model)
            require(name in held and are_same(held[name], value), _does_not_follow(name))

    def same_as(self, again: Any, *names: str) -> None:
        """Require the values that another model has under these names."""
        self.same(**{name: getattr(again, name) for name in names})

    def near(self, name: str, expected: Any, room: Any) -> None:
        """Require a value to within `room`, an amount for all entries or one for each."""
        self._left.discard(name)
        found = np.asarray(vars(self.model).get(name), dtype=np.float64)
        expected = np.asarray(expected, dtype=np.float64)
        require(are_near(found, expected, room), _does_not_follow(name))

    def require(self, follows: bool, *names: str) -> None:
        """Require what has been found out about these names."""
        self._left.difference_update(names)
        require(follows, _does_not_follow(names[0]))

    def record(self, *names: str) -> None:
        """Let these pass as the record of the run, where the model has them."""
        for name in names:
            if name in self._left:
                self._left.discard(name)
                if vars(self.model)[name] is not None:
                    self.name(name)

    def name(self, what: str) -> None:
        """Name something that nothing proves."""
        if what not in self.not_proved:
            self.not_proved.append(what)

    def close(self) -> None:
        """Refuse whatever has not been looked at."""
        if self._left:
            raise Mismatch(f"{sorted(self._left)[0]} is no value that such a model has")


def _does_not_follow(name: str) -> str:
    return f"{name} of the model does not follow from its certificate and the data"


def are_near(found: np.ndarray, expected: np.ndarray, room: Any) -> bool:
    """Whether numbers agree to within a finite room; those that are not finite must be the same.

    >>> are_near(np.array([1.0, np.inf]), np.array([1.5, np.inf]), 0.5)
    True
    >>> are_near(np.array([5.0]), np.array([np.inf]), np.inf)
    False
    """
    if found.shape != expected.shape:
        return False
    with np.errstate(invalid="ignore"):
        near = (abs(found - expected) <= room) & np.isfinite(room)
    usual = np.isfinite(expected) & np.isfinite(found)
    return bool(np.where(usual, near, found == expected).all())


def are_same(one: Any, other: Any) -> bool:
    """Whether two values are of one kind and equal to the last bit; NaN equals NaN.

    >>> are_same(np.array([1.0, np.nan]), np.array([1.0, np.nan])), are_same(1, 1.0)
    (True, False)
    """
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return _are_same_arrays(one, other)
    if sp.issparse(one) or sp.issparse(other):
        if not (sp.issparse(one) and sp.issparse(other)) or one.shape != other.shape:
            return False
        return (abs(one - other) > 0).nnz == 0
    if isinstance(one, list | tuple):
        if type(one) is not type(other) or len(one) != len(other):
            return False
        return all(are_same(a, b) for a, b in zip(one, other, strict=True))
    if isinstance(one, dict):
        return type(one) is type(other) and are_same(list(one.items()), list(other.items()))
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        if type(one) is not type(other):
            return False
        names = [field.name for field in dataclasses.fields(one)]
        return all(are_same(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, float | np.floating) and isinstance(other, float | np.floating):
        return bool(one == other or (one != one and other != other))
    if isinstance(one, int | np.integer) and isinstance(other, int | np.integer):
        return one == other and isinstance(one, bool) == isinstance(other, bool)
    return type(one) is type(other) and bool(one == other)


def _are_same_arrays(one: Any, other: Any) -> bool:
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        return False
    if one.shape != other.shape:
        return False
    if one.dtype.kind in "UO" and other.dtype.kind in "UO":
        return are_same(one.tolist(), other.tolist())
    if one.dtype.kind != other.dtype.kind:
        return False
    return bool(np.array_equal(one, other, equal_nan=one.dtype.kind == "f"))


_OTHER_C = "C, or the weight of a class, is not the one that the certificate speaks of"


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows, labels, the classes in order, and the class number of every row.

    `weights` are the sample weights of training, None where none are known. X may be partitions.
    """

    X: Any
    y: Any
    classes: np.ndarray
    codes: np.ndarray
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any = None) -> TrainingRows:
        """Number the classes in their sorted order, as a fit does."""
        if hasattr(X, "stored"):
            codes = np.concatenate([codes for _, codes in X.blocks()])
            return cls(X, X.classes, X.classes, codes)
        y = np.asarray(y)
        classes, codes = np.unique(y, return_inverse=True)
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        return cls(as_matrix(X), y, classes, codes, weights)

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return len(self.codes)

    def names(self) -> tuple[str, ...]:
        """Return the classes as a certificate names them."""
        return tuple(str(name) for name in self.classes)

    def part(self, rows: np.ndarray) -> TrainingRows:
        """Return some of the rows, their classes numbered anew."""
        weights = None if self.weights is None else self.weights[rows]
        return TrainingRows.of(self.X[rows], self.y[rows], weights)

    def row_weights(self, class_weight: Any) -> np.ndarray:
        """Return what each row counts: its sample weight times the weight of its class."""
        weights = np.ones(self.n_rows) if self.weights is None else self.weights
        counts = np.bincount(self.codes, weights, minlength=len(self.classes))
        try:
            factors = class_factors(self.classes, counts, class_weight)
        except (ValueError, TypeError) as error:
            raise Mismatch(str(error)) from None
        return np.asarray(weights * factors[self.codes])

    def require_costs(
        self, costs: np.ndarray, expected: np.ndarray, rows: np.ndarray | None = None
    ) -> bool:
        """Compare what rows cost in a certificate with what they cost by the parameters.

        Where sample weights are not known, those that the certificate has are taken, unless they
        are alike in each class: that would be another C, or another weight of a class. Return
        whether such weights were taken. `rows` are those that the costs are of, None for all.
        """
        codes = self.codes if rows is None else self.codes[rows]

        def by_class(values: np.ndarray) -> list[np.ndarray]:
            return [values[codes == k] for k in np.unique(codes)]

        if are_same(np.array(costs), np.array(expected)):
            return False
        if self.weights is not None or costs.shape != expected.shape:
            raise Mismatch(_OTHER_C)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = costs / expected
        if np.isinf(expected).any():
            shares = np.where(np.isinf(costs), 1.0, costs)
        known = (shares >= 0.0) & np.isfinite(shares)
        if not known.all() or all(np.ptp(part) <= 1e-12 * part.max() for part in by_class(shares)):
            raise Mismatch(_OTHER_C)
        return True
