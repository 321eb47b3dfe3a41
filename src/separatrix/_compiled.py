"""Compiled loops: ``@compiled`` turns a plain loop into machine code, when it is first called.

numba takes half a second to import. So a module full of loops costs nothing until one of them
runs: each is a `Loop`, which asks ``_machine_code`` for numba's dispatcher on its first call. Where
a loop calls another, numba meets the other `Loop` while compiling and sees its dispatcher.

``by_kind`` gives one name to several loops and picks one, while compiling, by the type of the
first argument: this is how a single solver loop serves dense and sparse rows.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property, update_wrapper
from types import FunctionType
from typing import Any, TypeVar, cast

__all__ = [
    "Loop",
    "by_kind",
    "compiled",
    "dispensable",
    "for_work",
    "inlined",
    "is_interpreted",
    "prefetch",
]

F = TypeVar("F", bound=Callable[..., Any])

# Registrations that numba has not been given: it learns them before it compiles the next loop.
_pending: list[Callable[[Any], None]] = []
_lock = threading.RLock()

# Modules that numba loads where they are installed and works without. A command names those that it
# does not need; in a user's process numba has them all.
dispensable: set[str] = set()

# So many steps take Python less time than it takes numba to load.
_LITTLE_WORK = 1 << 17


def is_interpreted() -> bool:
    """Whether loops run as plain Python, as ``NUMBA_DISABLE_JIT=1`` asks."""
    numba = sys.modules.get("numba")
    if numba is not None and hasattr(numba, "config"):
        return bool(numba.config.DISABLE_JIT)
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


class Loop:
    """A loop in Python and, from its first call on, in machine code."""

    def __init__(self, function: Callable[..., Any], inline: bool, in_order: bool = False) -> None:
        update_wrapper(self, function)
        self._inline, self._in_order = inline, in_order
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run the machine code."""
        return (self._dispatcher or self.dispatcher)(*arguments, **named)

    @property
    def dispatcher(self) -> Any:
        """What numba made of the loop."""
        if self._dispatcher is None:
            with _lock:
                with _absent(dispensable):
                    from separatrix import _machine_code
                while _pending:
                    _pending.pop()(_machine_code)
                if self._dispatcher is None:
                    function = vars(self)["__wrapped__"]
                    made = _machine_code.dispatcher_of(function, self._inline, self._in_order)
                    self._dispatcher = made
        return self._dispatcher

    @cached_property
    def in_python(self) -> Callable[..., Any]:
        """The loop as plain Python, and in it the loops that it calls."""
        function: Any = vars(self)["__wrapped__"]
        names = dict(function.__globals__)
        for name in function.__code__.co_names:
            if isinstance(names.get(name), Loop):
                names[name] = names[name].in_python
        return FunctionType(function.__code__, names, function.__name__)

    @property
    def _numba_type_(self) -> Any:
        """What numba takes the name of this loop for, inside another."""
        return self.dispatcher._numba_type_

    def __getattr__(self, name: str) -> Any:
        """Return what numba's dispatcher tells of the loop, such as `stats` and `py_func`."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dispatcher, name)

    def __reduce__(self) -> str:
        """Send a loop to another process by its name."""
        return self.__qualname__


@contextmanager
def _absent(names: set[str]) -> Iterator[None]:
    """Let modules that are not loaded be as if they were not installed."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


def compiled(function: F) -> F:
    """Compile a loop on its first call, without the interpreter lock, cached on disk.

    >>> import numpy as np
    >>> @compiled
    ... def total(values):
    ...     result = 0.0
    ...     for value in values:
    ...         result += value
    ...     return result
    >>> float(total(np.array([1.0, 2.0])))
    3.0
    """
    return function if is_interpreted() else cast(F, Loop(function, inline=False))


def compiled_in_order(function: F) -> F:
    """Compile a loop that adds its terms one after another.

    Vector instructions do not help where values are gathered.
    """
    return function if is_interpreted() else cast(F, Loop(function, inline=False, in_order=True))


def inlined(function: F) -> F:
    """Compile a small step into the loop that calls it: for steps made millions of times."""
    return function if is_interpreted() else cast(F, Loop(function, inline=True))


def for_work(loop: F, steps: int) -> F:
    """Return the loop, or plain Python where so few steps are not worth loading numba."""
    if steps > _LITTLE_WORK or "numba" in sys.modules or not isinstance(loop, Loop):
        return loop
    plain = loop.in_python

    def run(*arguments: Any) -> Any:
        return plain(*(_octets(argument) for argument in arguments))

    return cast(F, run)


def _octets(argument: Any) -> Any:
    """Return bytes as a view whose items are plain integers: Python reads it twice as fast."""
    return argument.data if str(getattr(argument, "dtype", "")) == "uint8" else argument


def by_kind(
    implementations: dict[type, Callable[..., Any]], in_order: tuple[type, ...] = ()
) -> Callable[..., Any]:
    """Give one name to several loops; the type of the first argument, a NamedTuple, decides.

    The choice is made while compiling, so it costs nothing in the loop. The kinds `in_order` add
    their terms one after another, as in `compiled_in_order`.
    """

    def interpreted(rows: Any, *arguments: Any) -> Any:
        return implementations[type(rows)](rows, *arguments)

    def tell(machine_code: Any) -> None:
        for kind, implementation in implementations.items():
            machine_code.overloaded(interpreted, kind, implementation, kind in in_order)

    if not is_interpreted():
        _pending.append(tell)
    return interpreted


def prefetch(values: Any, place: Any) -> None:
    """Ask memory for the entry at a place, some steps before a loop reads it. Nothing is changed.

    Rows in random order are read twice as fast. The array is of one axis, or of two: then the place
    is that of its flat form. A plain Python loop has no use for it.
    """


if not is_interpreted():
    _pending.append(lambda machine_code: machine_code.prefetched(prefetch))
