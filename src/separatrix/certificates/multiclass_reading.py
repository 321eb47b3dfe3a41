"""The certificate of the direct machine from its JSON form."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.certificates.class_multipliers import Named
from separatrix.certificates.multiclass_gap import MulticlassGap
from separatrix.certificates.reading import about_data
from separatrix.certificates.refusal import opened
from separatrix.certificates.weights_by_class import read
from separatrix.checker import Refused

__all__ = ["multiclass_gap_from_json", "named_from_json"]


def multiclass_gap_from_json(text: str | dict[str, Any]) -> MulticlassGap:
    """Read the certificate of a direct machine; it proves nothing by itself: call its `check`."""
    with opened(text, "multiclass-gap") as whole:
        return _multiclass_gap(whole["claim"], about_data(whole))


def _multiclass_gap(claim: dict[str, Any], about: dict[str, Any]) -> MulticlassGap:
    common = read(claim, about)
    named = named_from_json(claim, about["n_rows"], len(about["classes"]))
    return MulticlassGap(**named._asdict(), **common)


def named_from_json(claim: dict[str, Any], n_rows: int, n_classes: int) -> Named:
    """Return the multipliers of a claim with their rows and classes, each named once."""
    if any(type(number) is not int for number in [*claim["rows"], *claim["rivals"]]):
        raise Refused("rows and rivals must be whole numbers")
    rows = np.array(claim["rows"], dtype=np.int64)
    rivals = np.array(claim["rivals"], dtype=np.int64)
    multipliers = np.array([float.fromhex(value) for value in claim["multipliers"]])
    if not len(rows) == len(rivals) == len(multipliers):
        raise Refused("every multiplier needs its row and its class")
    if not (((rows >= 0) & (rows < n_rows)).all() and ((rivals >= 0) & (rivals < n_classes)).all()):
        raise Refused("rows and rivals must number rows and classes")
    if len(set(zip(rows.tolist(), rivals.tolist(), strict=True))) != len(rows):
        raise Refused("a row and a class must be named once")
    if not np.isfinite(multipliers).all():
        raise Refused("multipliers must be finite")
    return Named(rows, rivals, multipliers)
