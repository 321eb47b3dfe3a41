"""The certificate of the direct machine from its JSON form."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.certificates.checker import Refused
from separatrix.certificates.multiclass_gap import MulticlassGap
from separatrix.certificates.reading import about_data, spread
from separatrix.certificates.refusal import opened

__all__ = ["multiclass_gap_from_json"]


def multiclass_gap_from_json(text: str | dict[str, Any]) -> MulticlassGap:
    """Read the certificate of a direct machine; it proves nothing by itself: call its `check`."""
    with opened(text, "multiclass-gap") as whole:
        return _multiclass_gap(whole["claim"], about_data(whole))


def _multiclass_gap(claim: dict[str, Any], common: dict[str, Any]) -> MulticlassGap:
    n, d, K = common["n_rows"], common["n_features"], len(common["classes"])
    if not 0 < n < 2**40 or not 0 <= d < 2**40 or K < 2:
        raise Refused("the certificate must say how many rows, features and classes there are")
    costs = np.array([float.fromhex(value) for value in claim["costs"]])
    if not (len(costs) in (1, n) and (costs >= 0.0).all() and (costs > 0.0).any()):
        raise Refused("costs must be one number above zero, or one for each row")
    weights = np.array([[float.fromhex(value) for value in row] for row in claim["weights"]])
    if weights.shape != (K, d + 1):
        raise Refused("weights must be one list a class: the bias, and one number a column")
    if any(type(number) is not int for number in claim["rivals"]):
        raise Refused("rivals must be class numbers")
    rows = np.array(claim["rows"], dtype=np.int64)
    rivals = np.array(claim["rivals"], dtype=np.int64)
    multipliers = np.array([float.fromhex(value) for value in claim["multipliers"]])
    if not len(rows) == len(rivals) == len(multipliers):
        raise Refused("every multiplier needs its row and its class")
    if not (((rows >= 0) & (rows < n)).all() and ((rivals >= 0) & (rivals < K)).all()):
        raise Refused("rows and rivals must number rows and classes")
    if len(set(zip(rows.tolist(), rivals.tolist(), strict=True))) != len(rows):
        raise Refused("a row and a class must be named once")
    numbers = [float.fromhex(claim[name]) for name in ("primal", "dual", "bias_penalty")]
    if not np.isfinite([*numbers, *weights.ravel(), *costs, *multipliers]).all() or numbers[2] < 0:
        raise Refused("weights, costs, multipliers and bounds must be finite, bias_penalty above 0")
    return MulticlassGap(
        primal=numbers[0],
        dual=numbers[1],
        weights=weights,
        rows=rows,
        rivals=rivals,
        multipliers=multipliers,
        costs=spread(costs, n),
        bias_penalty=numbers[2],
        **common,
    )
