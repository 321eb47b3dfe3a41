"""The certificate of the multinomial machine from its JSON form."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.certificates.checker import Refused
from separatrix.certificates.reading import about_data, spread
from separatrix.certificates.refusal import opened
from separatrix.certificates.softmax_gap import SoftmaxGap

__all__ = ["softmax_gap_from_json"]


def softmax_gap_from_json(text: str | dict[str, Any]) -> SoftmaxGap:
    """Read the certificate of a multinomial machine; it proves nothing until its `check`."""
    with opened(text, "softmax-gap") as whole:
        return _softmax_gap(whole["claim"], about_data(whole))


def _softmax_gap(claim: dict[str, Any], common: dict[str, Any]) -> SoftmaxGap:
    n, d, K = common["n_rows"], common["n_features"], len(common["classes"])
    if not 0 < n < 2**40 or not 0 <= d < 2**40 or K < 2:
        raise Refused("the certificate must say how many rows, features and classes there are")
    costs = np.array([float.fromhex(value) for value in claim["costs"]])
    if not (len(costs) in (1, n) and (costs >= 0.0).all() and (costs > 0.0).any()):
        raise Refused("costs must be one number above zero, or one for each row")
    weights = np.array([[float.fromhex(value) for value in row] for row in claim["weights"]])
    if weights.shape != (K, d + 1):
        raise Refused("weights must be one list a class: the bias, and one number a column")
    numbers = [float.fromhex(claim[name]) for name in ("primal", "dual", "bias_penalty")]
    if not np.isfinite([*numbers, *weights.ravel(), *costs]).all() or numbers[2] < 0:
        raise Refused("weights, costs and bounds must be finite, bias_penalty not below 0")
    return SoftmaxGap(
        primal=numbers[0],
        dual=numbers[1],
        weights=weights,
        costs=spread(costs, n),
        bias_penalty=numbers[2],
        **common,
    )
