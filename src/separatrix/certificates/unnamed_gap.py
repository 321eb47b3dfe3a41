"""A proof of a gap whose data get their name, the fingerprint, when it is first asked for.

To hash a billion numbers takes longer than to solve and prove a machine on a GPU. So the name of
large data on a device is made where it is needed: when the certificate is written or kept in a
model file. Until then the data must be there. The bounds themselves are proved, name or no name.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np

from separatrix.certificates.canonical import sha256_of_blocks
from separatrix.certificates.duality_gap import DualityGap
from separatrix.errors import DataError
from separatrix.problem.device_rows import DeviceRows, host_blocks

__all__ = ["LaterName", "UnnamedGap", "fingerprint_of", "named_later"]


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
        if rows.is_the_callers:
            self._source = weakref.ref(source)
        self._codes, self._shape, self._n_classes = codes, rows.shape, n_classes
        self._name = ""

    def __call__(self) -> str:
        """Return the name."""
        if not self._name:
            source = self._source()
            if source is None:
                raise DataError(
                    "The data of this certificate are gone, and their fingerprint was not made "
                    "while they were there. certificate_.check(X, y) proves it without one; to "
                    "write it down, fit again and keep X until it is written."
                )
            self._name = fingerprint_of(source, self._codes, self._shape, self._n_classes)
            self._source = lambda: None
        return self._name

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel as the name itself."""
        return str, (self(),)


class UnnamedGap(DualityGap):
    """A `DualityGap` whose `data_sha256` is made when it is first asked for."""

    @property
    def data_sha256(self) -> str:
        """The fingerprint of the data."""
        name = self.__dict__["_name"]
        return str(name if isinstance(name, str) else name())

    @data_sha256.setter
    def data_sha256(self, name: Any) -> None:
        self.__dict__["_name"] = name

    def named(self) -> DualityGap:
        """Return the same proof with its name made: as it is written down."""
        return DualityGap(**{each.name: getattr(self, each.name) for each in fields(self)})

    def _is_about(self, fingerprint: Callable[[], str]) -> bool:
        """Whether these are the data meant: where they have no name, any of which it is true."""
        return not isinstance(self.__dict__["_name"], str) or super()._is_about(fingerprint)


def named_later(proof: DualityGap, name: LaterName) -> UnnamedGap:
    """Return the same proof, to be named when its name is asked for."""
    values = {each.name: getattr(proof, each.name) for each in fields(proof)}
    return UnnamedGap(**(values | {"data_sha256": name}))
