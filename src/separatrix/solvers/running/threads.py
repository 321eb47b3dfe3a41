"""One thread for linear algebra on small matrices, where a second costs more than it gives."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["cores", "one_thread"]


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _controller() -> Any:
    """Return what limits the libraries loaded by now; a module imported since may have more."""
    import scipy.linalg  # noqa: F401 - loads the library of all SciPy, which must be found
    from threadpoolctl import ThreadpoolController

    if _Limit.modules != len(sys.modules):
        _Limit.modules, _Limit.controller = len(sys.modules), ThreadpoolController()
    return _Limit.controller


class _Limit:
    """How many blocks, in any thread, keep linear algebra to one thread, and what ends that."""

    lock = threading.Lock()
    blocks = 0
    limiter: Any = None
    controller: Any = None
    modules = 0  # imported when the controller was made


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep NumPy's and SciPy's linear algebra to one thread in this block.

    The limit is the process's, and only the thread that owns it can lift it: so the outermost block
    belongs around a pool of threads, and blocks inside its work do nothing. (A library on OpenMP,
    as torch's may be, counts for each thread on its own and is limited in the outermost one alone.)
    """
    with _Limit.lock:
        if _Limit.blocks == 0:
            _Limit.limiter = _controller().limit(limits=1, user_api="blas")
        _Limit.blocks += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.blocks -= 1
            if _Limit.blocks == 0:
                _Limit.limiter.restore_original_limits()
