"""Data as an estimator is given them, and the device they are to be worked on."""

from __future__ import annotations

from typing import Any

from separatrix._device import labels_from, needs_torch, on_host, resolve

__all__ = ["brought"]


def brought(device: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any, Any]:
    """Return the device to work on (None: the processor), and the data as NumPy has them.

    Rows of a tensor come to the processor too: there their fingerprint is made and proofs are
    checked.

    >>> brought("cpu", [[1.0]], [0], None)
    (None, [[1.0]], [0], None)
    """
    if not needs_torch(device, X):
        return None, X, y, sample_weight
    place = resolve(device, X)
    y = labels_from(y, X, place)
    return place, on_host(X), y, labels_from(sample_weight, X, place, "sample_weight")
