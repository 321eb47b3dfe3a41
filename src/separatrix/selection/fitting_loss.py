"""Which loss, where none is given: the hinge, or the logistic loss on large narrow data."""

from __future__ import annotations

from typing import Any

__all__ = ["fitting_loss"]

_LARGE_ENTRIES, _WIDE = 3_000_000, 2000


def fitting_loss(X: Any) -> tuple[str, str]:
    """Return the loss to search with, and a remark where it is not the hinge.

    >>> import numpy as np
    >>> fitting_loss(np.zeros((100, 3)))
    ('hinge', '')
    """
    entries = getattr(X, "nnz", X.size)
    if entries <= _LARGE_ENTRIES or X.shape[1] > _WIDE:
        return "hinge", ""
    return "logistic", (
        f"The data are large ({entries:,} values), so the loss is logistic; --loss hinge asks for "
        "the support vector machine, which takes about ten times as long."
    )
