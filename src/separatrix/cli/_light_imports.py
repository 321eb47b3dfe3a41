"""Modules that a command does not use are kept out of its process.

SciPy loads all of NumPy's packages, among them the interface to Fortran compilers and the tests.
numba loads coverage.py where it is installed. Together they take a fifth of a second. A postponed
module loads when something in it is used.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["light_imports"]

_POSTPONED = ("ctypeslib", "f2py", "testing")


@contextmanager
def light_imports() -> Iterator[None]:
    """Postpone parts of NumPy, and leave coverage.py out where it does not measure."""
    import numpy

    for name in _POSTPONED:
        if f"numpy.{name}" not in sys.modules:
            _postpone(numpy, name)
    absent = sys.modules.setdefault("coverage", None) is None  # type: ignore[arg-type]
    try:
        yield
    finally:
        if absent:
            sys.modules.pop("coverage", None)


def _postpone(package: object, name: str) -> None:
    spec = importlib.util.find_spec(f"numpy.{name}")
    if spec is None or spec.loader is None:
        return
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    setattr(package, name, module)
