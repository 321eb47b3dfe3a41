"""Sums over rows on a device, enclosed by the plain bound of `enclosed_sums`.

It holds for every order of float64 operations that round as IEEE 754 says, fused or not, as those
of CUDA devices do; it is doubled here for good measure. The same claims can be proved on the
processor at any time (`DualityGap.check`).
"""

from __future__ import annotations

import numpy as np

from separatrix.certificates.enclosed_sums import dot_error
from separatrix.certificates.enclosure import Enclosure
from separatrix.problem.device_rows import DeviceRows

__all__ = ["sums_on_device"]

_GOOD_MEASURE = 2.0


def sums_on_device(
    X: DeviceRows,
    w: np.ndarray,
    starts: tuple[np.ndarray | float, ...],
    a: np.ndarray,
    _way: str = "plain",
    wide: float = 1.0,
) -> tuple[Enclosure, Enclosure]:
    """Enclose X w plus the starts, and X' a, in one pass over the device."""
    n, d = X.shape
    weights, share = X.tensor(w), X.tensor(a)
    scores, reaches = share.new_empty(n), share.new_empty(n)
    total = Enclosure.exact(np.zeros(d))
    more = _GOOD_MEASURE * wide
    for start, stop, piece in X.pieces():
        block, part = piece.double(), share[start:stop]
        scores[start:stop] = block @ weights
        summed = block.T @ part
        size = block.abs()
        reaches[start:stop] = size @ weights.abs()
        sizes = (size.T @ part.abs()).cpu().numpy()
        with np.errstate(all="ignore"):
            errors = more * dot_error(float(stop - start), sizes)
            total = total + Enclosure.around(summed.cpu().numpy(), errors)
    values, sizes = scores.cpu().numpy(), reaches.cpu().numpy()
    with np.errstate(all="ignore"):
        for each in starts:
            values, sizes = values + each, sizes + abs(each)
        errors = more * dot_error(float(d + len(starts)), sizes)
        return Enclosure.around(values, errors), total
