"""A class whose rows all weigh nothing is left out, as if its rows were not there."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from separatrix._device import is_tensor, on_host

__all__ = ["Present", "present_rows"]


class Present:
    """The rows of the classes that weigh something; `kept` is None where those are all rows."""

    def __init__(self, kept: np.ndarray | None) -> None:
        self.kept = kept

    def of(self, values: Any) -> Any:
        """Return these rows of an array, a frame, a list or a tensor; None stays None."""
        if self.kept is None or values is None:
            return values
        return values[self.kept] if is_tensor(values) else _safe_indexing(values, self.kept)

    def number_support(self, model: Any) -> None:
        """Let `support_` number the rows as they were given."""
        if self.kept is not None and hasattr(model, "support_"):
            model.support_ = self.kept[model.support_]


def present_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> Present:
    """Return the rows to fit on, and warn of the classes left out.

    What is no list of labels and weights, and one class alone, is left to the checks that follow.
    """
    everything = Present(None)
    # Columns of a precomputed kernel are rows too: they stay, and the fit refuses the class.
    given = isinstance(getattr(model, "kernel", None), str) and model.kernel == "precomputed"
    if sample_weight is None or given or _numbers_rows(getattr(model, "cv", None)):
        return everything
    weights, labels = np.asarray(on_host(sample_weight)), np.asarray(on_host(y))
    if weights.shape != labels.shape or weights.ndim != 1 or weights.dtype.kind not in "biuf":
        return everything
    weightless = weights == 0.0
    if not weightless.any() or np.isnan(weights.astype(np.float64)).any():
        return everything
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError:  # labels that cannot be sorted
        return everything
    absent = np.bincount(codes, ~weightless, minlength=len(classes)) == 0.0
    if not absent.any() or absent.sum() > len(classes) - 2:
        return everything
    names = ", ".join(map(repr, classes[absent][:8].tolist()))
    warnings.warn(
        f"{type(model).__name__}: all rows of class {names} have weight zero. The class is left "
        "out: classes_ and certificate_ are those of the other rows.",
        UserWarning,
        stacklevel=3,
    )
    return Present(np.flatnonzero(~absent[codes]))


def _numbers_rows(cv: Any) -> bool:
    """Whether folds are given as numbers of rows, which have to stay what they are."""
    return not (cv is None or hasattr(cv, "split") or isinstance(cv, int | np.integer))
