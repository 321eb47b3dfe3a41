"""Ways to forge the certificate of a machine: each alters its JSON so that it is false.

A way returns False where it does not apply, or where what it made might be true after all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from tests import forgeries

__all__ = ["MACHINE_WAYS", "SOFTMAX_WAYS", "number_of", "row_left_out"]


def number_of(claim: dict[str, Any], name: str) -> float:
    return float.fromhex(claim[name])


def crossed_from_below(whole: Any, rng: Any) -> bool:
    """No bound from below is above an objective that is attained."""
    claim = whole["claim"]
    primal = number_of(claim, "primal")
    if not np.isfinite(primal):
        return False
    claim["dual"] = (primal + (1e-6 + rng.random()) * max(1e-3, abs(primal))).hex()
    return True


def crossed_from_above(whole: Any, rng: Any) -> bool:
    claim = whole["claim"]
    dual = number_of(claim, "dual")
    if not np.isfinite(dual) or dual <= 0.0:
        return False
    claim["primal"] = (dual * (1.0 - 1e-6 - 0.9 * rng.random())).hex()
    return True


def negative_multiplier(whole: Any, rng: Any) -> bool:
    values = whole["claim"]["multipliers"]
    at = int(rng.integers(len(values)))
    values[at] = (-float.fromhex(values[at])).hex()
    return float.fromhex(values[at]) != 0.0


def multiplier_above_its_cost(whole: Any, rng: Any) -> bool:
    claim = whole["claim"]
    costs = [float.fromhex(value) for value in claim["costs"]]
    if claim.get("loss") == "squared_hinge" or not np.isfinite(costs).all():
        return False
    claim["multipliers"][0] = (2.0 * max(costs) * (1.0 + rng.random())).hex()
    return True


def out_of_balance(whole: Any, rng: Any) -> bool:
    """With a free bias the signed multipliers must sum to zero exactly."""
    claim = whole["claim"]
    if number_of(claim, "bias_penalty") if "bias_penalty" in claim else 0.0:
        return False
    values = claim["multipliers"]
    at = int(rng.integers(len(values)))
    old = float.fromhex(values[at])
    values[at] = (old * (1.0 - 2.0**-20)).hex()
    return float.fromhex(values[at]) != old and whole["kind"] != "multiclass-gap"


def no_number(whole: Any, rng: Any) -> bool:
    claim = whole["claim"]
    names = [n for n in ("primal", "dual", "bias", "bias_penalty", "ridge") if n in claim]
    odd = ["nan", "zz", None, 3, [], "0x1p+5000", ""]
    claim[names[int(rng.integers(len(names)))]] = odd[int(rng.integers(len(odd)))]
    return True


def row_named_twice(whole: Any, rng: Any) -> bool:
    claim = whole["claim"]
    if len(claim["rows"]) < 2:
        return False
    claim["rows"][0] = claim["rows"][1]
    if "rivals" in claim:
        claim["rivals"][0] = claim["rivals"][1]
    return True


def row_that_is_not_there(whole: Any, rng: Any) -> bool:
    claim = whole["claim"]
    if not claim["rows"]:
        return False
    claim["rows"][0] = [-1, whole["data"]["rows"], 10**12, "0", None, 0.5][int(rng.integers(6))]
    return True


def row_left_out(whole: Any, rng: Any) -> bool:
    """As many multipliers as rows."""
    if not whole["claim"]["rows"]:
        return False
    whole["claim"]["rows"].pop()
    return True


def part_missing(whole: Any, rng: Any) -> bool:
    claim = whole["claim"]
    del claim[sorted(claim)[int(rng.integers(len(claim)))]]
    return True


def another_class(whole: Any, rng: Any) -> bool:
    claim = whole["claim"]
    if "positive" not in claim or len(whole["data"]["classes"]) != 2:
        return False
    claim["positive"] = [0, 2, -1, "1", None, 1.0][int(rng.integers(6))]
    return True


def other_rows_or_features(whole: Any, rng: Any) -> bool:
    name = ["rows", "features"][int(rng.integers(2))]
    whole["data"][name] += [1, 2**39, -(10**6)][int(rng.integers(3))]
    return True


def other_kernel(whole: Any, rng: Any) -> bool:
    if "kernel" not in whole["claim"]:
        return False
    odd = [("name", "callable"), ("name", "x"), ("degree", -1), ("gamma", "-0x1p+0")]
    name, value = odd[int(rng.integers(len(odd)))]
    whole["claim"]["kernel"][name] = value
    return True


def other_biases(whole: Any, rng: Any) -> bool:
    """One bias a class, all finite; one that is far off loses more than was claimed."""
    claim = whole["claim"]
    if "biases" not in claim:
        return False
    at = int(rng.integers(len(claim["biases"])))
    if rng.random() < 0.3:
        del claim["biases"][at]
    else:
        odd = ["nan", "inf", None, 0, (1e9 * (1.0 + rng.random())).hex()]
        claim["biases"][at] = odd[int(rng.integers(len(odd)))]
    return True


def another_rival(whole: Any, rng: Any) -> bool:
    """A multiplier for another class leaves two classes out of balance."""
    claim = whole["claim"]
    if "biases" not in claim:
        return False
    at = int(rng.integers(len(claim["rivals"])))
    claim["rivals"][at] = (claim["rivals"][at] + 1) % len(claim["biases"])
    return float.fromhex(claim["multipliers"][at]) != 0.0


def another_eigenvalue(whole: Any, rng: Any) -> bool:
    """Of a kernel that theory calls positive none is claimed."""
    claim = whole["claim"]
    if "biases" not in claim:
        return False
    claim["smallest"] = [(0.5).hex(), None, 0.5, "least"][int(rng.integers(4))]
    return True


MACHINE_WAYS = [
    forgeries.another_fingerprint,
    forgeries.another_format,
    forgeries.no_intercept_flag,
    crossed_from_below,
    crossed_from_above,
    negative_multiplier,
    multiplier_above_its_cost,
    out_of_balance,
    no_number,
    row_named_twice,
    row_that_is_not_there,
    row_left_out,
    part_missing,
    another_class,
    other_rows_or_features,
    other_kernel,
    other_biases,
    another_rival,
    another_eigenvalue,
]


def weights_of_another_machine(whole: Any, rng: Any) -> bool:
    """Three times the best weights have a larger objective than the one claimed."""
    rows = whole["claim"]["weights"]
    size = max(abs(float.fromhex(value)) for row in rows for value in row[1:])
    for row in rows:
        row[1:] = [(3.0 * float.fromhex(value)).hex() for value in row[1:]]
    return size > 0.1


SOFTMAX_WAYS = [
    forgeries.another_fingerprint,
    forgeries.another_format,
    forgeries.no_intercept_flag,
    crossed_from_below,
    crossed_from_above,
    no_number,
    part_missing,
    other_rows_or_features,
    weights_of_another_machine,
]
