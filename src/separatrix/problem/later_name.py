"""The fingerprint of large data on a device, made where it is needed.

To hash a billion numbers can take longer than to solve and prove a model on a GPU. So their
fingerprint is made when the certificate is written or kept in a model file. Until then the data
must be there. The bounds are proved without it.
"""

from __future__ import annotations

import hashlib
import weakref
from collections import UserString
from collections.abc import Callable
from typing import Any

import numpy as np

from separatrix._device import on_host
from separatrix.errors import DataError
from separatrix.problem.device_rows import DeviceRows
from separatrix.problem.fingerprint import fingerprint_on_device

_MARKED_ROWS = 256
_NO_NAME = (
    "The data of this certificate are {}, and their fingerprint was not made while they were "
    "there. certificate_.check(X, y) proves it without one; to write it down, fit again and keep X "
    "as it is until it is written."
)


class LaterName(UserString):
    """The fingerprint of rows on a device: a text whose letters are made when they are read."""

    def __init__(self, rows: DeviceRows, codes: np.ndarray, n_classes: int) -> None:
        # The caller's data are not kept alive for the sake of a name; a copy of our own is.
        source = rows.source
        self._source: Callable[[], Any] = lambda: source
        self._mark = _mark_of(source)
        if rows.is_the_callers:
            self._source = weakref.ref(source)
        self._codes, self._shape, self._n_classes = codes, rows.shape, n_classes
        self._name = ""

    @property
    def data(self) -> str:  # type: ignore[override]
        """The name itself."""
        if not self._name:
            source = self._source()
            if source is None:
                raise DataError(_NO_NAME.format("gone"))
            if _mark_of(source) != self._mark:
                raise DataError(_NO_NAME.format("no longer what they were"))
            self._name = fingerprint_on_device(source, self._codes, self._shape, self._n_classes)
            self._source = lambda: None
        return self._name

    def result(self) -> LaterName:
        """Stand where a name is waited for that is being made."""
        return self

    def kept(self) -> str:
        """Return the name for a file or another process; none where it can no longer be made."""
        try:
            return self.data
        except DataError:
            return ""

    def __repr__(self) -> str:
        """Do not ask for the name, which takes long to make or can no longer be made."""
        return "LaterName()"

    def __deepcopy__(self, _: Any) -> LaterName:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (self.kept(),)


def _mark_of(source: Any) -> str:
    """Return a hash of some rows, spread over all: whether data have changed, in most cases."""
    places = np.unique(np.linspace(0, max(0, len(source) - 1), _MARKED_ROWS).astype(np.int64))
    rows = np.ascontiguousarray(on_host(source[places]))
    return hashlib.sha256(rows.tobytes()).hexdigest()
