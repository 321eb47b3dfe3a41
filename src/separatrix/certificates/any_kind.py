"""A certificate of any kind from its JSON form, proved again from arrays."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from separatrix import checker
from separatrix.certificates.canonical import as_checker_data
from separatrix.certificates.errors import FewestErrors
from separatrix.certificates.kernel_reading import (
    kernel_gap_from_json,
    kernel_multiclass_gap_from_json,
)
from separatrix.certificates.multiclass_reading import multiclass_gap_from_json
from separatrix.certificates.reading import (
    certificate_from_json,
    duality_gap_from_json,
    scaled_gap_from_json,
)
from separatrix.certificates.separation import problem_from
from separatrix.certificates.softmax_reading import softmax_gap_from_json
from separatrix.checker import Refused
from separatrix.problem.decimals import times_powers_of_ten

__all__ = ["NOT_THESE", "prove_again"]

NOT_THESE = "the claim does not hold for these data"
_ENTRIES = 2_000_000
_MOST_DECIMALS = 400  # of any float as it is written
_READERS = {
    "duality-gap": duality_gap_from_json,
    "multiclass-gap": multiclass_gap_from_json,
    "softmax-gap": softmax_gap_from_json,
    "scaled-gap": scaled_gap_from_json,
    "kernel-gap": kernel_gap_from_json,
    "kernel-multiclass-gap": kernel_multiclass_gap_from_json,
    "errors": FewestErrors.from_json,
}


def prove_again(whole: Any, X: Any, labels: Any) -> str:
    """Return what is proved, in a sentence; raise `Refused` where it is not.

    Verdicts and margins are checked by `separatrix.checker`; for large data by the same check in
    NumPy with exact integers. The others are checked as docs/certificates.md says.
    """
    about = whole.get("data") if isinstance(whole, dict) else None
    if not isinstance(about, dict) or type(about.get("intercept")) is not bool:
        raise Refused("not a well-formed certificate")
    _require_about(about, X, labels)
    kind = whole.get("kind")
    if isinstance(kind, str) and kind in _READERS:
        proof: Any = _READERS[kind](whole)
        if not proof.check(X, labels):
            raise Refused(NOT_THESE)
        return str(proof).removeprefix("proved: ")
    if getattr(X, "nnz", X.size) > _ENTRIES and kind != "margin-bounds":
        if not certificate_from_json(whole).check(X, labels):
            raise Refused(NOT_THESE)
        return f"{kind}, checked on {X.shape[0]} rows"
    if about.get("decimals"):
        try:
            X = times_powers_of_ten(problem_from(X, labels, True).X, tuple(about["decimals"]))
        except (ValueError, TypeError) as error:
            raise Refused(str(error)) from error
    return checker.check(whole, as_checker_data(problem_from(X, labels, about["intercept"])))


def _require_about(about: dict[str, Any], X: Any, labels: Any) -> None:
    """Refuse what a certificate says of its data where it is not so, whatever its kind claims."""
    names = [str(name) for name in np.unique(np.asarray(labels))]
    if about.get("classes") != names:
        raise Refused(f"the certificate is about other classes than {', '.join(names[:8])}")
    for name, found in zip(("rows", "features"), X.shape, strict=True):
        told = about.get(name)
        if type(told) is not int or told != found:
            raise Refused(f"the certificate is about another number of {name} than {found}")
    decimals = about.get("decimals", [])
    if not isinstance(decimals, list) or not all(
        type(places) is int and 0 <= places <= _MOST_DECIMALS for places in decimals
    ):
        raise Refused("decimals must be whole numbers from 0 on, one a column")
    if not re.fullmatch("[0-9a-f]{64}", str(about.get("sha256"))):
        raise Refused("the certificate does not name its data by a SHA-256")
