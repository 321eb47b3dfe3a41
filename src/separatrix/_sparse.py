"""SciPy's sparse matrices, loaded when the first is made: 0.2 s that dense rows need not wait for.

    from separatrix._sparse import sparse

stands for ``from scipy import sparse``.
"""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["is_sparse", "sparse"]


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array; none can exist before scipy.sparse is loaded.

    >>> is_sparse([[1.0]]), is_sparse(sparse.csr_array([[1.0]]))
    (False, True)
    """
    loaded = sys.modules.get("scipy.sparse")
    return loaded is not None and bool(loaded.issparse(X))


class _Sparse:
    """What `scipy.sparse` has, looked up there when it is used."""

    issparse = staticmethod(is_sparse)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        import scipy.sparse

        return getattr(scipy.sparse, name)


sparse: Any = _Sparse()
