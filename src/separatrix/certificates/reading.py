"""Certificates from their JSON form, as objects that check themselves against arrays."""

from __future__ import annotations

import json
from typing import Any

from separatrix.certificates import checker
from separatrix.certificates.checker import Refused
from separatrix.certificates.partition import Partition
from separatrix.certificates.separation import Separation

__all__ = ["certificate_from_json"]


def certificate_from_json(text: str | dict[str, Any]) -> Partition | Separation:
    """Read a certificate of separation, quasi-separation or overlap; it proves nothing by itself.

    Call its ``check(X, y)``.
    """
    whole = json.loads(text) if isinstance(text, str) else text
    try:
        if whole["format"] != checker.FORMAT:
            raise Refused(f"the format must be {checker.FORMAT!r}")
        about, claim, kind = whole["data"], whole["claim"], whole["kind"]
        if type(about["intercept"]) is not bool:
            raise Refused("intercept must be true or false")
        whole_numbers = [*claim.get("rows", []), *about.get("decimals", [])]
        if any(type(number) is not int for number in whole_numbers):
            raise Refused("rows and decimals must be whole numbers")
        common: dict[str, Any] = {
            "intercept": about["intercept"],
            "data_sha256": str(about["sha256"]),
            "n_rows": int(about["rows"]),
            "n_features": int(about["features"]),
            "classes": tuple(str(name) for name in about["classes"]),
        }
        if kind == "separation" and "weights" in claim:
            return _separation(claim, common)
        if kind not in ("separation", "quasi", "overlap"):
            raise Refused(f"no verdict has a certificate of the kind {kind!r}")
        return Partition(
            kind=kind,
            weights=() if kind == "overlap" else tuple(int(v, 16) for v in claim["integers"]),
            rows=() if kind == "separation" else tuple(claim["rows"]),
            multipliers=()
            if kind == "separation"
            else tuple(int(v, 16) for v in claim["multipliers"]),
            others=0 if kind == "separation" else int(claim["others"], 16),
            decimals=tuple(about.get("decimals", [])),
            **common,
        )
    except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise Refused(f"not a well-formed certificate: {error}") from error


def _separation(claim: dict[str, Any], common: dict[str, Any]) -> Separation:
    from fractions import Fraction

    weights = tuple(tuple(float.fromhex(v) for v in row) for row in claim["weights"])
    return Separation(
        holds=False, worst_row=0, worst_margin=Fraction(0), margin=0.0, weights=weights, **common
    )
