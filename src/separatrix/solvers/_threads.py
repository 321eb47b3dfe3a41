"""One thread for linear algebra on small matrices, where a second costs more than it gives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

__all__ = ["one_thread"]


@cache
def _controller() -> Any:
    import scipy.linalg
    import scipy.optimize  # noqa: F401 - each loads a library of its own, which must be found
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep NumPy's and SciPy's linear algebra to one thread in this block."""
    with _controller().limit(limits=1, user_api="blas"):
        yield
