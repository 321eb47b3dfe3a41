"""The steps before a classifier: what they hold is what they would learn from these rows again.

The proof of the last step speaks of the rows that these steps make, so whatever changes those rows
is refused by its fingerprint. What is compared here is what a step holds beside that.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from separatrix.core.models import fresh
from separatrix.storage.fitted_values import Mismatch, are_same, fitted_names

__all__ = ["require_feature_map"]

_ROUNDING = 1e-9
_REMADE = ("_tree",)


def require_feature_map(step: Any, X: Any, not_proved: list[str]) -> None:
    """Require the fitted values that the step learns from these rows, up to rounding."""
    if getattr(step, "random_state", 0) is None:
        not_proved.append(f"the random choices of {type(step).__name__}")
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = fresh(step).fit(X if getattr(step, "copy", True) is True else X.copy())
    names = [name for name in fitted_names(step) if name not in _REMADE]
    if any(not hasattr(again, name) for name in names):
        raise Mismatch(f"{type(step).__name__} holds values that it does not learn")
    for name in names:
        if not _are_near(getattr(step, name), getattr(again, name)):
            raise Mismatch(f"{name} of {type(step).__name__} is not what it learns from these rows")


def _are_near(one: Any, other: Any) -> bool:
    """Whether two values are equal; numbers up to rounding in sums."""
    numbers = [isinstance(v, float | int | np.number | np.ndarray) for v in (one, other)]
    if not all(numbers) or np.asarray(one).dtype.kind not in "fiu":
        return are_same(one, other)
    a, b = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    if a.shape != b.shape:
        return False
    room = _ROUNDING * abs(b).max(initial=0.0)
    return bool((abs(a - b) <= room).all())
