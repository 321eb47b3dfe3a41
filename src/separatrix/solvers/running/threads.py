"""One thread for linear algebra on small matrices, where a second costs more than it gives."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, ClassVar

_LITTLE = 1 << 17  # entries: a thread takes longer to start than they take


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def begun(pool: Executor, entries: int, work: Callable[..., Any], *given: Any) -> Future[Any]:
    """Begin work on so many entries in the pool; where they are few, do it at once."""
    return (pool if entries > _LITTLE else AtOnce()).submit(work, *given)


class AtOnce(Executor):
    """Does work where it is submitted: for tasks so short that threads would hinder each other."""

    def submit(self, work: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        """Do the work, and return what it gave."""
        done: Future[Any] = Future()
        done.set_result(work(*given, **named))
        return done


def _libraries() -> list[Any]:
    """Return what limits the libraries loaded by now; a module imported since may have more."""
    import scipy.linalg  # noqa: F401 - loads the library of all SciPy, which must be found
    from threadpoolctl import ThreadpoolController

    if _Limit.modules != len(sys.modules):
        found = ThreadpoolController().select(user_api="blas").lib_controllers
        _Limit.modules, _Limit.libraries = len(sys.modules), found
    return _Limit.libraries


class _Limit:
    """How many blocks, in any thread, keep linear algebra to one thread, and what it had before."""

    lock = threading.Lock()
    blocks = 0
    before: ClassVar[list[tuple[Any, int]]] = []
    libraries: ClassVar[list[Any]] = []
    modules = 0  # imported when the libraries were looked for


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep NumPy's and SciPy's linear algebra to one thread in this block.

    The limit is the process's, and only the thread that owns it can lift it: so the outermost block
    belongs around a pool of threads, and blocks inside its work do nothing. (A library on OpenMP,
    as torch's may be, counts for each thread on its own and is limited in the outermost one alone.)
    """
    with _Limit.lock:
        if _Limit.blocks == 0:
            _Limit.before = [(library, library.num_threads) for library in _libraries()]
            for library, _ in _Limit.before:
                library.set_num_threads(1)
        _Limit.blocks += 1
    try:
        yield
    finally:
        with _Limit.lock:
            _Limit.blocks -= 1
            if _Limit.blocks == 0:
                for library, count in _Limit.before:
                    library.set_num_threads(count)
