"""Whether rows are sparse, without loading SciPy to find out."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["is_sparse"]


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array; none can exist before scipy.sparse is loaded.

    >>> import scipy.sparse
    >>> is_sparse([[1.0]]), is_sparse(scipy.sparse.csr_array([[1.0]]))
    (False, True)
    """
    loaded = sys.modules.get("scipy.sparse")
    return loaded is not None and bool(loaded.issparse(X))
