"""What each row counts. Weight k is k copies of a row, and weight 0 is no row at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.errors import DataError

__all__ = ["class_factors", "costs_of", "row_weights"]

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
    return np.asarray(weights * class_factors(classes, counts, class_weight)[codes])


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
