"""Certificates from their JSON form, as objects that check themselves against arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.certificates.duality_gap import LOSSES, DualityGap, DualityGaps
from separatrix.certificates.partition import Partition
from separatrix.certificates.refusal import opened
from separatrix.certificates.scaled_gap import ScaledGap
from separatrix.certificates.separation import Separation
from separatrix.certificates.two_bounds import costs_from_json
from separatrix.checker import Refused

__all__ = [
    "about_data",
    "certificate_from_json",
    "duality_gap_from_json",
    "scaled_gap_from_json",
]

_LARGEST_EXPONENT = 1100  # of any float, and a little more


def certificate_from_json(text: str | dict[str, Any]) -> Partition | Separation:
    """Read a certificate of separation, quasi-separation or overlap; it proves nothing by itself.

    Call its ``check(X, y)``.
    """
    with opened(text, "separation", "quasi", "overlap") as whole:
        common = about_data(whole)
        about, claim, kind = whole["data"], whole["claim"], whole["kind"]
        if kind == "separation" and "weights" in claim:
            return _separation(claim, common)
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


def about_data(whole: dict[str, Any]) -> dict[str, Any]:
    """Return what a certificate says of its data."""
    about = whole["data"]
    if type(about["intercept"]) is not bool:
        raise Refused("intercept must be true or false")
    whole_numbers = [*whole["claim"].get("rows", []), *about.get("decimals", [])]
    if any(type(number) is not int for number in whole_numbers):
        raise Refused("rows and decimals must be whole numbers")
    return {
        "intercept": about["intercept"],
        "data_sha256": str(about["sha256"]),
        "n_rows": int(about["rows"]),
        "n_features": int(about["features"]),
        "classes": tuple(str(name) for name in about["classes"]),
    }


def _separation(claim: dict[str, Any], common: dict[str, Any]) -> Separation:
    from fractions import Fraction

    weights = tuple(tuple(float.fromhex(v) for v in row) for row in claim["weights"])
    return Separation(
        holds=False, worst_row=0, worst_margin=Fraction(0), margin=0.0, weights=weights, **common
    )


def duality_gap_from_json(text: str | dict[str, Any]) -> DualityGap:
    """Read the certificate of a machine; it proves nothing by itself: call its ``check(X, y)``."""
    with opened(text, "duality-gap") as whole:
        return _duality_gap(whole["claim"], about_data(whole))


def scaled_gap_from_json(text: str | dict[str, Any]) -> ScaledGap:
    """Read the certificate of machines on divided columns; call its ``check(X, y)``."""
    with opened(text, "scaled-gap") as whole:
        claim = whole["claim"]
        gaps = tuple(
            _duality_gap(one, about_data({"data": whole["data"], "claim": one}))
            for one in claim["machines"]
        )
        exponents = claim["exponents"]
        sound = all(type(e) is int and abs(e) <= _LARGEST_EXPONENT for e in exponents)
        if not gaps or not sound or len(exponents) != gaps[0].n_features:
            raise Refused("exponents must be whole numbers, one a column, of one machine or more")
        inner = gaps[0] if len(gaps) == 1 else DualityGaps(gaps)
        return ScaledGap(np.array(exponents, dtype=np.int64), inner)


def _duality_gap(claim: dict[str, Any], common: dict[str, Any]) -> DualityGap:
    if claim["loss"] not in LOSSES:
        raise Refused(f"no machine has the loss {claim['loss']!r}")
    n = common["n_rows"]
    if not 0 < n < 2**40 or not 0 <= common["n_features"] < 2**40:
        raise Refused("the certificate must say how many rows and features there are")
    costs = costs_from_json(claim["costs"], n)
    rows, multipliers = np.array(claim["rows"], dtype=np.int64), np.zeros(n)
    if len(set(claim["rows"])) != len(rows) or not ((rows >= 0) & (rows < n)).all():
        raise Refused("rows must be different numbers of rows")
    multipliers[rows] = [float.fromhex(value) for value in claim["multipliers"]]
    weights = np.array([float.fromhex(value) for value in claim["weights"]])
    numbers = [float.fromhex(claim[name]) for name in ("primal", "dual", "bias_penalty", "ridge")]
    if len(weights) != common["n_features"] + 1 or not np.isfinite([*numbers, *weights]).all():
        raise Refused("weights and bounds must be finite numbers, one weight a column and the bias")
    if type(claim["positive"]) is not int or numbers[2] < 0.0 or numbers[3] not in (0.0, 1.0):
        raise Refused("positive must number a class, bias_penalty be at least 0, ridge be 0 or 1")
    return DualityGap(
        primal=numbers[0],
        dual=numbers[1],
        loss=claim["loss"],
        weights=weights,
        multipliers=multipliers,
        costs=costs,
        bias_penalty=numbers[2],
        ridge=numbers[3],
        positive=claim["positive"],
        **common,
    )
