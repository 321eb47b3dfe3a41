"""A proof of a gap whose data get their name, the fingerprint, when it is first asked for.

To hash a billion numbers takes longer than to solve and prove a machine on a GPU. So the name of
large data on a device is made where it is needed: when the certificate is written or kept in a
model file. Until then the data must be there. The bounds themselves are proved, name or no name.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix.certificates.canonical import sha256_of_blocks
from separatrix.certificates.duality_gap import DualityGap
from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.errors import DataError
from separatrix.problem.device_rows import DeviceRows, host_blocks

__all__ = ["LaterName", "UnnamedGap", "UnnamedSoftmaxGap", "fingerprint_of", "named_later"]


_MARKED_ROWS = 256
_NO_NAME = (
    "The data of this certificate are {}, and their fingerprint was not made while they were "
    "there. certificate_.check(X, y) proves it without one; to write it down, fit again and keep X "
    "as it is until it is written."
)


def fingerprint_of(source: Any, codes: np.ndarray, shape: tuple[int, int], n_classes: int) -> str:
    """Return the SHA-256 of data on a device or in memory, a stretch of rows at a time."""
    return sha256_of_blocks(
        lambda: ((block, codes[own]) for own, block in host_blocks(source)), shape, n_classes
    )


class LaterName:
    """The fingerprint of rows on a device, made once, when it is asked for."""

    def __init__(self, rows: DeviceRows, codes: np.ndarray, n_classes: int) -> None:
        # The caller's data are not kept alive for the sake of a name; a copy of our own is.
        source = rows.source
        self._source: Callable[[], Any] = lambda: source
        self._mark = _mark_of(source)
        if rows.is_the_callers:
            self._source = weakref.ref(source)
        self._codes, self._shape, self._n_classes = codes, rows.shape, n_classes
        self._name = ""

    def __call__(self) -> str:
        """Return the name."""
        if not self._name:
            source = self._source()
            if source is None:
                raise DataError(_NO_NAME.format("gone"))
            if _mark_of(source) != self._mark:
                raise DataError(_NO_NAME.format("no longer what they were"))
            self._name = fingerprint_of(source, self._codes, self._shape, self._n_classes)
            self._source = lambda: None
        return self._name

    def __deepcopy__(self, _: Any) -> LaterName:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the name itself; where it can no longer be made, as one that never will be."""
        try:
            return str, (self(),)
        except DataError:
            return NeverNamed, ()


class NeverNamed:
    """Stands for the fingerprint of data that were gone before it was made."""

    def __call__(self) -> str:
        """Say so."""
        raise DataError(_NO_NAME.format("gone"))


def _mark_of(source: Any) -> str:
    """Return a hash of some rows, spread over all: whether data have changed, in most cases."""
    places = np.unique(np.linspace(0, max(0, len(source) - 1), _MARKED_ROWS).astype(np.int64))
    rows = np.ascontiguousarray(on_host(source[places]))
    return hashlib.sha256(rows.tobytes()).hexdigest()


class _NamedLater:
    """A proof whose `data_sha256` is made when it is first asked for."""

    @property
    def data_sha256(self) -> str:
        """The fingerprint of the data."""
        name = self.__dict__["_name"]
        return str(name if isinstance(name, str) else name())

    @data_sha256.setter
    def data_sha256(self, name: Any) -> None:
        self.__dict__["_name"] = name

    def _names(self, fingerprint: Callable[[], str]) -> bool:
        """Whether these are the data meant: where they have no name, any of which it is true."""
        name = self.__dict__["_name"]
        return not isinstance(name, str) or fingerprint() == name

    def __repr__(self) -> str:
        """Do not ask for the name, which takes long to make or can no longer be made."""
        return f"{type(self).__name__}({self})"

    def named(self: Any) -> Any:
        """Return the same proof as a plain record, with its name; without one where it is lost."""
        kind = type(self).__mro__[2]
        values = {
            each.name: getattr(self, each.name)
            for each in fields(kind)
            if each.name != "data_sha256"
        }
        try:
            return kind(data_sha256=self.data_sha256, **values)
        except DataError:
            return kind(data_sha256="", **values)


class UnnamedGap(_NamedLater, DualityGap):
    """A `DualityGap` that is named later."""


class UnnamedSoftmaxGap(_NamedLater, SoftmaxGap):
    """A `SoftmaxGap` that is named later."""


def named_later(proof: Any, name: LaterName) -> Any:
    """Return the same proof, to be named when its name is asked for."""
    kind = UnnamedSoftmaxGap if isinstance(proof, SoftmaxGap) else UnnamedGap
    values = {each.name: getattr(proof, each.name) for each in fields(proof)}
    return kind(**(values | {"data_sha256": name}))
