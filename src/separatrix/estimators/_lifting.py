"""What the transformers of `sx.lift` share: reading X, and refusing what memory cannot hold."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.core.checks import positive
from separatrix.errors import DataError

__all__ = ["Lifting", "refuse_too_large", "scale_or_number"]


class Lifting(TransformerMixin, BaseEstimator):
    """A transformer of rows into basis functions of them; X is left as it is."""

    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _read(self, X: Any, reset: bool) -> Any:
        """Return X as float64, dense or CSR."""
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=np.float64,
            order="C" if reset else None,
        )

    def _new(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._read(X, reset=False)


def refuse_too_large(columns: int, entries: float, what: str) -> None:
    """Refuse, before it is made, what would not fit into the memory of this machine."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        memory = 2**40
    if 8.0 * entries > memory or columns >= 2**62:
        raise DataError(
            f"{what} makes {columns:,} columns, which would take {_size(8.0 * entries)} of memory; "
            f"this machine has {_size(memory)}. Lower the degree, take fewer columns or rows at a "
            "time, or use a kernel machine, which never makes them."
        )


def _size(count: float) -> str:
    """Write a number of bytes.

    >>> _size(3 * 2**31)
    '6.0 GiB'
    """
    power = min(8, max(0, int(math.log2(max(count, 1.0)) // 10)))
    unit = ["bytes", *(f"{letter}iB" for letter in "KMGTPEZY")][power]
    return f"{count / 2.0 ** (10 * power):,.1f} {unit}"


def scale_or_number(name: str, value: Any) -> None:
    """Refuse what is neither 'scale' nor a positive number."""
    if not (isinstance(value, str) and value == "scale"):
        if isinstance(value, str):
            raise ValueError(f"{name} must be 'scale' or a number above 0. Got {value!r} instead.")
        positive(name, value)


def as_dense(X: Any) -> np.ndarray:
    """Return rows as an array."""
    return np.asarray(X.toarray() if sp.issparse(X) else X)
