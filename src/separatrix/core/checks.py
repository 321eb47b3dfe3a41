"""What comes in is checked here, and refused in plain words that say what to do.

Rows, labels, parameters, and what each row counts: weight k is k copies of a row, and weight 0 is
no row at all.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection
from typing import Any

import numpy as np

from separatrix._sparse import is_sparse
from separatrix.errors import DataError, not_finite

_LARGEST = 1e100
_MANY_LABELS = 10_000


def new_rows(model: Any, X: Any) -> Any:
    """Return rows of numbers to predict for, dense or CSR, of the width that the model has."""
    if X.ndim != 2 or X.shape[1] != model.n_features_in_:
        raise DataError(
            f"X has {X.shape[-1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input."
        )
    refuse_infinite(model, X)
    return X


def refuse_infinite(estimator: Any, X: Any) -> None:
    """Refuse NaN and infinity, naming the cell."""
    values = X.data if is_sparse(X) else X
    # One cheap sum settles nearly every case: it is finite only if all values are, or cancel never.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum(dtype=np.float64)) or np.isfinite(values).all():
            return
    if is_sparse(X):
        at = int(np.flatnonzero(~np.isfinite(X.data))[0])
        row, column = int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at])
    else:
        row, column = (int(k) for k in np.argwhere(~np.isfinite(X))[0])
    names = getattr(estimator, "feature_names_in_", None)
    where = f"column {column}" if names is None else f"column {names[column]!r}"
    raise not_finite(float(X[row, column]), row, where)


def refuse_huge(estimator: Any, X: Any) -> None:
    """Refuse entries whose squares leave the range of floating point."""
    values = X.data if is_sparse(X) else X
    if values.size == 0 or max(float(values.max()), -float(values.min())) <= _LARGEST:
        return
    sizes = abs(X).max(axis=0)
    sizes = sizes.toarray().ravel() if is_sparse(sizes) else sizes
    column = int(np.argmax(sizes))
    names = getattr(estimator, "feature_names_in_", None)
    where = f"column {column}" if names is None else f"column {names[column]!r}"
    raise DataError(
        f"X holds {sizes[column]:.3g} in {where}, whose square is beyond the largest number. "
        "Divide that column first."
    )


def are_plainly_classes(y: np.ndarray) -> bool:
    """Whether a glance tells that y holds labels; scikit-learn takes milliseconds to."""
    if y.ndim != 1 or y.dtype.kind not in "biufUS":
        return False
    return y.dtype.kind != "f" or bool((y == np.rint(y)).all())


def two_classes(estimator: Any, y: np.ndarray, remedy: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Return the two classes and the signs of y, or refuse, saying what to do."""
    classes, codes = several_classes(estimator, y)
    if len(classes) > 2:
        name = type(estimator).__name__
        raise ValueError(
            f"Only binary classification is supported: {name} got {len(classes)} classes, "
            f"{_few(classes)}.\n"
            + (remedy or "Wrap it: sx.OneVsRest({1}()).").format(classes.tolist()[0], name)
        )
    return classes, np.where(codes == 1, 1.0, -1.0)


def several_classes(estimator: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes, sorted, and the number of each y among them; refuse one class alone."""
    classes, codes = numbered(y)
    if len(classes) < 2:
        raise DataError(
            f"{type(estimator).__name__} needs two classes to separate, and y holds one class: "
            f"{_few(classes)}. Check the labels, or the rows that were selected."
        )
    return classes, codes


def numbered(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels, sorted, and the number of each y among them.

    Whole numbers close together, and many of them, are counted: sorting takes ten times as long.

    >>> numbered(np.array([7, 3, 7]))
    (array([3, 7]), array([1, 0, 1]))
    """
    if y.dtype.kind in "iub" and y.ndim == 1 and len(y) >= _MANY_LABELS:
        low, high = int(y.min()), int(y.max())
        if high - low < len(y) and abs(low) < 2**62 > abs(high):
            places = y.astype(np.int64) - low
            present = np.bincount(places, minlength=high - low + 1) > 0
            classes = (np.flatnonzero(present) + low).astype(y.dtype)
            return classes, (np.cumsum(present) - 1)[places]
    return np.unique(y, return_inverse=True)


def _few(classes: np.ndarray) -> str:
    shown = [repr(c) for c in classes[:8].tolist()]
    return f"[{', '.join(shown)}{', ...' if len(classes) > 8 else ''}]"


# ---- parameters


def one_of(name: str, value: Any, allowed: Collection[Any]) -> None:
    """Refuse a value that is not among those allowed.

    >>> one_of("order", "best", ["cyclic", "random"])
    Traceback (most recent call last):
    ValueError: order must be one of 'cyclic', 'random'. Got 'best' instead.
    """
    if not any(type(value) is type(choice) and value == choice for choice in allowed):
        choices = ", ".join(repr(choice) for choice in allowed)
        raise ValueError(f"{name} must be one of {choices}. Got {value!r} instead.")


def share_or_name(name: str, value: Any, names: Collection[str]) -> None:
    """Refuse what is neither one of the names nor a number from 0 to 1."""
    if isinstance(value, str):
        one_of(name, value, names)
        return
    positive(name, value, zero=True)
    if value > 1.0:
        raise ValueError(f"{name} must be at most 1. Got {value!r} instead.")


def positive(
    name: str,
    value: Any,
    whole: bool = False,
    zero: bool = False,
    *,
    optional: bool = False,
    infinite: bool = False,
) -> None:
    """Refuse what is not a positive (or with `zero`, non-negative) finite number.

    `optional` allows None, and `infinite` inf.

    >>> positive("batch_size", 0, whole=True)
    Traceback (most recent call last):
    ValueError: batch_size must be a whole number above 0. Got 0 instead.
    """
    if (optional and value is None) or (
        infinite and isinstance(value, float | np.floating) and value == math.inf
    ):
        return
    kind = numbers.Integral if whole else numbers.Real
    good = isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(float(value))
    if not (good and (value > 0 or (zero and value == 0))):
        what = "whole number" if whole else "number"
        least = "at least 0" if zero else "above 0"
        raise ValueError(f"{name} must be a {what} {least}. Got {value!r} instead.")


# ---- sparse weights: what l1_ratio and groups may be, and what they cannot be with


def ratio_of(model: Any) -> float:
    """Return `l1_ratio`, or the one that was chosen; 0 where there is neither."""
    return checked_ratio(getattr(model, "l1_ratio", getattr(model, "l1_ratio_", 0.0)))


def checked_ratio(ratio: Any) -> float:
    """Return the ratio: 0 for the ridge alone, 1 for the lasso; refuse what is not between."""
    good = isinstance(ratio, numbers.Real) and not isinstance(ratio, bool)
    if not (good and 0.0 <= float(ratio) <= 1.0):
        raise ValueError(f"l1_ratio must be a number from 0 to 1. Got {ratio!r} instead.")
    return float(ratio)


def refuse_with_l1(model: Any, loss: str, ratio: float) -> None:
    """Say in words what cannot be had together with sparse weights."""
    if not ratio:
        ratios = getattr(model, "l1_ratios", None)  # of which this is one
        if getattr(model, "groups", None) is not None and ratios is None:
            raise ValueError("groups are for sparse weights: l1_ratio must be above 0 with them.")
        return
    if loss == "hinge":
        raise ValueError(
            "l1_ratio above 0 needs a smooth loss. Got loss='hinge' instead. "
            "Use loss='squared_hinge', or LogisticRegression."
        )
    if model.intercept_penalty:
        raise ValueError(
            f"l1_ratio above 0 leaves the intercept free. Got intercept_penalty="
            f"{model.intercept_penalty!r} instead. Use intercept_penalty=0."
        )
    if model.multi_class == "direct":
        raise ValueError(
            "l1_ratio above 0 needs a smooth loss. Got multi_class='direct' instead. "
            "Use multi_class='ovr' or 'ovo', or LogisticRegression."
        )
    if model.solver != "auto":
        raise ValueError(
            f"l1_ratio above 0 has a solver of its own. Got solver={model.solver!r} instead. "
            "Use solver='auto'."
        )


def checked_groups(groups: Any, width: int) -> np.ndarray | None:
    """Return the group of each column, numbered in the order of their first columns.

    Given are a label for every column, or lists of column numbers; a column in no list is alone.

    >>> checked_groups(["red", "red", "size"], 3), checked_groups([[2, 0]], 3)
    (array([0, 0, 1]), array([0, 1, 0]))
    """
    listed = [] if groups is None else list(groups)
    if not listed:
        return None
    if all(isinstance(one, list | tuple | np.ndarray) for one in listed):
        labels: list[Any] = [("alone", j) for j in range(width)]
        taken: set[int] = set()
        for number, one in enumerate(listed):
            for j in one:
                whole = isinstance(j, numbers.Integral) and not isinstance(j, bool)
                if not whole or not 0 <= int(j) < width or int(j) in taken:
                    raise ValueError(
                        f"groups must number columns from 0 to {width - 1}, each once. "
                        f"Got {j!r} in group {number}."
                    )
                taken.add(int(j))
                labels[int(j)] = ("group", number)
    else:
        labels = listed
    if len(labels) != width:
        raise ValueError(
            f"groups must be a label for each of the {width} columns, or lists of column numbers. "
            f"Got {len(labels)} labels instead."
        )
    known: dict[Any, int] = {}
    try:
        return np.array([known.setdefault(label, len(known)) for label in labels], dtype=np.int64)
    except TypeError:
        raise ValueError("groups must be labels, or lists of column numbers, not both.") from None


# ---- what each row counts

# Below this a product loses digits: a cost would no longer be C times the weight.
_LEAST_NORMAL = float(np.finfo(np.float64).tiny)


def row_weights(
    model: Any, codes: np.ndarray, sample_weight: np.ndarray | None, class_weight: Any
) -> np.ndarray:
    """Return one weight a row, sample weight times class weight, or say what is wrong with them."""
    weights = np.ones(len(codes)) if sample_weight is None else sample_weight
    classes = model.classes_
    counts = np.bincount(codes, weights, minlength=len(classes))
    if (counts == 0.0).any():
        empty = classes[int(np.argmin(counts))]
        raise DataError(
            f"All rows of class {empty!r} have weight zero, and {type(model).__name__} needs "
            "every class it is to tell apart. Leave that class out, or weight its rows."
        )
    with np.errstate(over="ignore", under="ignore"):
        found = np.asarray(weights * class_factors(classes, counts, class_weight)[codes])
    require_sum(found)
    return found


def require_sum(weights: np.ndarray) -> None:
    """Refuse weights of rows whose sum leaves the range of float64: means divide by it."""
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not (total == 0.0 or _LEAST_NORMAL <= total < math.inf):
        raise DataError(
            f"The weights of the rows sum to {total:g}, which leaves the range of floating-point "
            "numbers. Multiply all of them by one number."
        )


def costs_of(C: float, weights: np.ndarray) -> np.ndarray:
    """Return C times every weight; refuse products that leave the range of float64.

    >>> costs_of(2.0, np.array([0.0, 1.5])).tolist()
    [0.0, 3.0]
    """
    with np.errstate(over="ignore", under="ignore"):
        costs = float(C) * weights
    if not np.isfinite(costs).all():
        raise DataError(
            f"C = {C:g} times the weight of a row is beyond the largest number. Lower C."
        )
    if ((weights > 0.0) & (costs < _LEAST_NORMAL)).any():
        raise DataError(f"C = {C:g} times the weight of a row is below the least number. Raise C.")
    return np.asarray(costs)


def class_factors(classes: np.ndarray, counts: np.ndarray, class_weight: Any) -> np.ndarray:
    """Return the factor of each class, whose rows weigh `counts` together."""
    factors = np.ones(len(classes))
    if class_weight is None:
        return factors
    if isinstance(class_weight, str) and class_weight == "balanced":
        # By weight and not by number, so that weight 2 equals two copies.
        with np.errstate(over="ignore", divide="ignore"):
            factors = np.asarray(counts.sum() / (len(classes) * counts))
        if np.isinf(factors[counts > 0.0]).any():
            raise DataError(
                "class_weight='balanced' divides by the weight of a class that is too small beside "
                "the others. Leave its rows out, or give class_weight as a dictionary."
            )
        return factors
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dictionary. Got {class_weight!r} instead."
        )
    names = classes.tolist()
    unknown = [name for name in class_weight if name not in names]
    if unknown:
        raise ValueError(f"class_weight names classes that y does not hold: {unknown[:8]}.")
    for number, name in enumerate(names):
        factors[number] = class_weight.get(name, 1.0)
    if not (np.isfinite(factors).all() and (factors > 0.0).all()):
        raise ValueError(f"class weights must be above 0. Got {class_weight!r} instead.")
    return factors


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
