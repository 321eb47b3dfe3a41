"""One pass over rows on a device: margins and the sum of rows, with their errors bounded there.

The bound is that of `data_pass`: k products added in any order, fused or not, err by at most
k u / (1 - k u) times the sum of the absolute products. It holds for every float64 product that
rounds as IEEE 754 says, as those of CUDA devices do; it is doubled here for good measure. The same
claims can be proved on the processor at any time (`DualityGap.check`).
"""

from __future__ import annotations

import numpy as np

from separatrix.certificates.data_pass import LEAST, UNIT, Pass, Total, gamma
from separatrix.problem.device_rows import DeviceRows

__all__ = ["device_pass"]

_GOOD_MEASURE = 2.0


def device_pass(
    X: DeviceRows, signs: np.ndarray, w: np.ndarray, bias: float, alpha: np.ndarray
) -> Pass:
    """Return margins of (w, bias) and the sum of rows that alpha makes, with their errors."""
    n, d = X.shape
    weights, share = X.tensor(w), X.tensor(signs * alpha)
    scores, reaches = share.new_empty(n), share.new_empty(n)
    total, sizes, errors = Total(d), np.zeros(d), np.zeros(d)
    for start, stop, piece in X.pieces():
        block, part = piece.double(), share[start:stop]
        scores[start:stop] = block @ weights
        summed = block.T @ part
        size = block.abs()
        reaches[start:stop] = size @ weights.abs()
        absolute = (size.T @ part.abs()).cpu().numpy() * (1.0 + gamma(stop - start + 2.0))
        total.add(summed.cpu().numpy())
        sizes += absolute
        errors += _GOOD_MEASURE * gamma(stop - start + 2.0) * absolute
    with np.errstate(over="ignore", invalid="ignore"):
        margins = signs * (scores.cpu().numpy() + bias)
        reach = reaches.cpu().numpy() * (1.0 + gamma(d + 4.0)) + abs(bias)
        margin_errors = _GOOD_MEASURE * gamma(d + 4.0) * reach + 8.0 * (d + 2.0) * LEAST
        u = total.value + total.carried
        errors = 1.01 * (errors + total.share * sizes + 2.0 * UNIT * abs(u))
        errors += 8.0 * (n + 2.0) * LEAST
    return Pass(margins, margin_errors, u, errors, 0.0, sizes)
