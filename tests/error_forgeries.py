"""Small problems for fewest errors, and ways to forge a certificate of them.

Every forgery is false or unproved by construction. A way returns False where it does not apply.
"""

import numpy as np

from separatrix.certificates.reading import from_json
from separatrix.checker import Refused


def small_problem(seed, dimensions=None):
    """Points of every kind with at most 14 rows: X, signs, and sample weights or None."""
    rng = np.random.default_rng(seed)
    d, n = dimensions or 1 + seed % 3, int(rng.integers(2, 15))
    draw = [
        lambda: rng.integers(-2, 3, size=(n, d)).astype(float),
        lambda: rng.normal(size=(n, d)),
        lambda: np.round(rng.normal(size=(n, d)), 1),
        lambda: rng.integers(-1, 2, size=(n, d)).astype(float),
        lambda: rng.integers(-3, 4, size=(n, d)) * 10.0 ** rng.integers(-9, 10, size=d),
    ][seed // 3 % 5]
    X, signs = draw(), rng.choice([-1.0, 1.0], size=n)
    signs[:2] = -1.0, 1.0
    weights = rng.integers(0, 4, size=n) if seed % 4 == 0 else None
    if weights is not None:
        weights[:2] = 1
    return X, signs, weights


def thin_problem(seed, dimensions):
    """Decimals collinear as written and not as stored: cells thinner than rounding."""
    rng = np.random.default_rng(seed + 10**6)
    n = int(rng.integers(6, 15))
    X = rng.integers(-3, 4, size=(n, dimensions)) * 10.0 ** rng.integers(-9, 10, size=dimensions)
    if seed % 3 == 1:
        X = X / 3
    if seed % 3 == 2:
        X = X + 0.1 * rng.integers(-3, 4, size=dimensions)
    signs = rng.choice([-1.0, 1.0], size=n)
    signs[:2] = -1.0, 1.0
    return X, signs


def accepted(whole, X, signs, weights):
    try:
        return from_json(whole, "errors").check(X, signs, weights)
    except (Refused, ValueError):
        return False


def _leaves(tree):
    if "row" not in tree:
        return [tree]
    return _leaves(tree["wrong"]) + _leaves(tree["right"])


def fewer_errors(whole, rng):
    whole["claim"]["errors"] -= 1
    return True


def more_errors(whole, rng):
    whole["claim"]["errors"] += 1
    return True


def higher_bound(whole, rng):
    """Claim that one error more is needed than is attained."""
    whole["claim"]["lower"] = whole["claim"]["errors"] + 1
    return True


def another_fingerprint(whole, rng):
    digest = whole["data"]["sha256"]
    whole["data"]["sha256"] = ("0" if digest[0] != "0" else "1") + digest[1:]
    return True


def other_sample_weights(whole, rng):
    digest = whole["claim"]["sample_weight_sha256"]
    whole["claim"]["sample_weight_sha256"] = "" if digest else "00"
    return True


def another_kind(whole, rng):
    whole["kind"] = "separation"
    return True


def another_way(whole, rng):
    """A bound above 0 is not proved by nothing, nor by a way that is not known."""
    whole["claim"]["by"] = "surely" if whole["claim"]["lower"] == 0 else "nothing"
    return True


def another_unit(whole, rng):
    whole["claim"]["unit"] = ["0x2", "0x1"]
    return True


def _weights_key(claim):
    return "integers" if "integers" in claim else "weights"


def negated_weights(whole, rng):
    """All rows on the other side: as many errors only if half of the weight is wrong."""
    claim = whole["claim"]
    if "integers" in claim:
        claim["integers"] = [hex(-int(v, 16)) for v in claim["integers"]]
    else:
        claim["weights"] = [(-float.fromhex(v)).hex() for v in claim["weights"]]
    claim["errors"] -= 1
    return True


def weights_of_zero(whole, rng):
    claim = whole["claim"]
    key = _weights_key(claim)
    claim[key] = [(0.0).hex() if key == "weights" else "0x0"] * len(claim[key])
    return claim["errors"] == 0  # otherwise every row may have been an error before


def weights_cut_short(whole, rng):
    whole["claim"][_weights_key(whole["claim"])].pop()
    return True


def floats_and_integers(whole, rng):
    claim = whole["claim"]
    other = {"weights": "integers", "integers": "weights"}[_weights_key(claim)]
    claim[other] = ["0x1"] * len(claim[_weights_key(claim)])
    return True


def integers_in_place_of_weights(whole, rng):
    """Integers that put every row on the boundary or one side, in place of weights that do not."""
    claim = whole["claim"]
    length = len(claim.pop(_weights_key(claim)))
    claim["integers"] = [["0x0"] * length, [], ["1.5"] * length, None][int(rng.integers(4))]
    return claim["errors"] == 0 or not claim["integers"] or claim["integers"][0] != "0x0"


def not_a_number(whole, rng):
    key = _weights_key(whole["claim"])
    whole["claim"][key][0] = ["nan", "inf", "zz", None, 3][int(rng.integers(5))]
    return True


def _some_witness(whole, rng):
    """Return a witness that a leaf needs: without it the bound is not proved."""
    claim = whole["claim"]
    if claim["by"] != "witnesses" or not claim["witnesses"]:
        return None
    return claim["witnesses"][int(rng.integers(len(claim["witnesses"])))]


def multiplier_raised(whole, rng):
    witness = _some_witness(whole, rng)
    if witness is None:
        return False
    witness["multipliers"][0] = hex(int(witness["multipliers"][0], 16) + 1)
    return True


def multiplier_made_negative(whole, rng):
    witness = _some_witness(whole, rng)
    if witness is None:
        return False
    witness["multipliers"] = [hex(-int(m, 16)) for m in witness["multipliers"]]
    return True


def row_left_out(whole, rng):
    witness = _some_witness(whole, rng)
    if witness is None:
        return False
    witness["rows"].pop()
    witness["multipliers"].pop()
    return True


def row_named_twice(whole, rng):
    witness = _some_witness(whole, rng)
    if witness is None:
        return False
    witness["rows"][0] = witness["rows"][1]
    return True


def row_that_is_not_there(whole, rng):
    witness = _some_witness(whole, rng)
    if witness is None:
        return False
    witness["rows"][0] = [-1, whole["data"]["rows"], "0", None, 0.5][int(rng.integers(5))]
    return True


def no_tree(whole, rng):
    if whole["claim"]["by"] != "witnesses":
        return False
    whole["claim"]["tree"] = None
    return True


def overloaded(whole, rng):
    """Load a witness with more than its rows weigh together, one of them being open."""
    tree = whole["claim"]["tree"]
    if tree is None or "row" in tree or not tree["loads"]:
        return False
    total = 10**9 * int(tree["denominator"], 16)
    tree["loads"][0][1] = hex(total)
    return True


def negative_load(whole, rng):
    for leaf in _leaves(whole["claim"]["tree"] or {"loads": []}):
        if leaf["loads"]:
            leaf["loads"][0][1] = "-0x1"
            return True
    return False


def witness_that_is_not_there(whole, rng):
    for leaf in _leaves(whole["claim"]["tree"] or {"loads": []}):
        if leaf["loads"]:
            leaf["loads"][0][0] = [-1, len(whole["claim"]["witnesses"]), None][int(rng.integers(3))]
            return True
    return False


def loaded_twice(whole, rng):
    for leaf in _leaves(whole["claim"]["tree"] or {"loads": []}):
        if leaf["loads"]:
            leaf["loads"].append(list(leaf["loads"][0]))
            return True
    return False


def unloaded(whole, rng):
    """A leaf without loads proves only what its wrong rows weigh: at the root, nothing."""
    tree = whole["claim"]["tree"]
    if tree is None or "row" in tree or whole["claim"]["lower"] == 0:
        return False
    tree["loads"] = []
    return True


def denominator_of_zero(whole, rng):
    tree = whole["claim"]["tree"]
    if tree is None:
        return False
    for leaf in _leaves(tree):
        leaf["denominator"] = "0x0"
    return True


def part_missing(whole, rng):
    keys = ["errors", "lower", "unit", _weights_key(whole["claim"]), "by", "witnesses", "tree"]
    del whole["claim"][keys[int(rng.integers(len(keys)))]]
    return True


WAYS = [
    fewer_errors,
    more_errors,
    higher_bound,
    another_fingerprint,
    other_sample_weights,
    another_kind,
    another_way,
    another_unit,
    negated_weights,
    weights_of_zero,
    weights_cut_short,
    floats_and_integers,
    integers_in_place_of_weights,
    not_a_number,
    multiplier_raised,
    multiplier_made_negative,
    row_left_out,
    row_named_twice,
    row_that_is_not_there,
    no_tree,
    overloaded,
    negative_load,
    witness_that_is_not_there,
    loaded_twice,
    unloaded,
    denominator_of_zero,
    part_missing,
]
