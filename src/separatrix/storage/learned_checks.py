"""What a machine goes on learning from must fit together: compiled loops follow it unseen.

`partial_fit` and streams go on from ``_stream``, whose shapes say how far a loop writes. A file
whose shapes are not those of its classes and features is refused before anyone goes on from it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix.errors import ModelFileError

__all__ = ["require_learned"]

_SLOT = 8  # numbers a feature holds
_TOTALS = 2  # numbers a machine holds


def require_learned(model: Any) -> None:
    """Refuse what was learned from a stream, where its parts are not of this machine."""
    held = vars(model)
    if "_stream" not in held:
        return
    fits = _FITS.get(type(model).__name__)
    classes, features = held.get("classes_"), held.get("n_features_in_")
    if (
        fits is None
        or classes is None
        or len(classes) < 2
        or type(features) is not int
        or not isinstance(held["_stream"], tuple)
        or not fits(model, held["_stream"], len(classes), features)
    ):
        raise ModelFileError("what the model file learned from a stream does not fit together.")


def _fits_gradients(model: Any, parts: tuple[Any, ...], k: int, features: int) -> bool:
    """Slots, sums and totals; or the slots of some features, their numbers, and one for the rest.

    Weights of all features are in the file too, so that the slots take at most so many times more.
    """
    machines = 1 if k == 2 else k
    if len(parts) not in (3, 6) or not all(isinstance(part, np.ndarray) for part in parts):
        return False
    slots, sums, totals, *rest = parts
    held = len(slots) if slots.ndim else -1
    fits = (
        _is_real(slots, (held, machines, _SLOT))
        and _is_real(sums, (held if model.average else 0, machines))
        and _is_real(totals, (machines, _TOTALS))
        and _is_real(vars(model).get("_centre"), (features,))
        and np.shape(vars(model).get("coef_")) == (machines, features)
    )
    if not fits or not rest:
        return fits and held == features + 1
    numbers, last, other = rest
    return bool(
        numbers.dtype == last.dtype == np.int64
        and numbers.shape == (held,)
        and last.shape == (1,)
        and _is_real(other, (machines, _SLOT))
        and (np.diff(numbers) > 0).all()
        and numbers.min(initial=0) >= 0
        and 0 <= last[0] <= features
        and max(int(last[0]), int(numbers.max(initial=0))) == features
    )


def _fits_perceptron(model: Any, parts: tuple[Any, ...], k: int, features: int) -> bool:
    """The last weights, the answer, and for how many visits it is the mean."""
    size = (1 + features) * (1 if k == 2 else k)
    if len(parts) != 3:
        return False
    last, answer, visits = parts
    return _is_real(last, (size,)) and _is_real(answer, (size,)) and type(visits) is float


def _is_real(array: Any, shape: tuple[int, ...]) -> bool:
    return (
        isinstance(array, np.ndarray)
        and array.shape == shape
        and array.dtype == np.float64
        and array.flags.c_contiguous
    )


_FITS: dict[str, Callable[[Any, tuple[Any, ...], int, int], bool]] = {
    "SGD": _fits_gradients,
    "Perceptron": _fits_perceptron,
}
