"""Ways to forge a certificate of separation, quasi-separation or overlap.

Every forgery is false or unproved by construction: a certificate altered so that it might still be
true (all multipliers doubled, say) is no forgery.
"""

import copy

import numpy as np

from separatrix import checker
from separatrix.problem.canonical import as_checker_data, problem_from


def forge(whole, rng):
    """Return the name of the way and a forged copy of a genuine certificate."""
    ways = [way for way in WAYS if way is not None]
    for at in rng.permutation(len(ways)):
        forged = copy.deepcopy(whole)
        if ways[at](forged, rng):
            return ways[at].__name__, forged
    raise AssertionError("no way applies")


def _hex(value):
    return hex(value)


def another_fingerprint(whole, rng):
    digest = whole["data"]["sha256"]
    at = int(rng.integers(len(digest)))
    whole["data"]["sha256"] = digest[:at] + ("0" if digest[at] != "0" else "1") + digest[at + 1 :]
    return True


def another_kind(whole, rng):
    others = [k for k in ("separation", "quasi", "overlap") if k != whole["kind"]]
    whole["kind"] = others[int(rng.integers(len(others)))]
    return True


def unknown_kind(whole, rng):
    whole["kind"] = "surely"
    return True


def another_format(whole, rng):
    whole["format"] = "separatrix-certificate-2"
    return True


def no_intercept_flag(whole, rng):
    whole["data"]["intercept"] = "yes"
    return True


def negated_weights(whole, rng):
    claim = whole["claim"]
    if "integers" in claim:
        claim["integers"] = [_hex(-int(v, 16)) for v in claim["integers"]]
        return True
    if "weights" in claim:
        claim["weights"] = [[(-float.fromhex(v)).hex() for v in row] for row in claim["weights"]]
        return True
    return False


def zero_weights(whole, rng):
    claim = whole["claim"]
    if "integers" in claim:
        claim["integers"] = ["0x0"] * len(claim["integers"])
        return True
    if "weights" in claim:
        claim["weights"] = [[(0.0).hex() for _ in row] for row in claim["weights"]]
        return True
    return False


def weights_cut_short(whole, rng):
    claim = whole["claim"]
    if "integers" in claim:
        claim["integers"].pop()
        return True
    if "weights" in claim:
        claim["weights"][0].pop()
        return True
    return False


def not_a_number(whole, rng):
    claim = whole["claim"]
    if "weights" in claim:
        claim["weights"][0][0] = ["nan", "inf", "-inf", "0x1p+5000", "zz"][int(rng.integers(5))]
        return True
    key = "integers" if "integers" in claim else "multipliers"
    if not claim.get(key):
        return False
    claim[key][0] = ["nan", "inf", "1.5", None, 3][int(rng.integers(5))]
    return True


def multiplier_raised(whole, rng):
    multipliers = whole["claim"].get("multipliers")
    if not multipliers or len(multipliers) < 2:
        return False
    at = int(rng.integers(len(multipliers)))
    multipliers[at] = _hex(int(multipliers[at], 16) + 1 + int(rng.integers(5)))
    return whole["data"]["intercept"]  # otherwise the row may be zero, and any multiple as good


def multiplier_made_negative(whole, rng):
    multipliers = whole["claim"].get("multipliers")
    if not multipliers:
        return False
    at = int(rng.integers(len(multipliers)))
    multipliers[at] = _hex(-int(multipliers[at], 16))
    return True


def multiplier_made_zero(whole, rng):
    multipliers = whole["claim"].get("multipliers")
    if not multipliers:
        return False
    multipliers[int(rng.integers(len(multipliers)))] = "0x0"
    return True


def row_named_twice(whole, rng):
    claim = whole["claim"]
    if len(claim.get("rows", [])) < 2:
        return False
    claim["rows"][0] = claim["rows"][1]
    return True


def row_that_is_not_there(whole, rng):
    claim = whole["claim"]
    if not claim.get("rows"):
        return False
    claim["rows"][0] = [-1, whole["data"]["rows"], 10**9, "0", None, 0.5][int(rng.integers(6))]
    return True


def row_left_out(whole, rng):
    claim = whole["claim"]
    if len(claim.get("rows", [])) < 2 or not whole["data"]["intercept"]:
        return False
    claim["rows"].pop()
    claim["multipliers"].pop()
    # With a common multiplier for rows not named, the row may still be counted just enough.
    return int(claim["others"], 16) == 0


def others_made_negative(whole, rng):
    claim = whole["claim"]
    if int(claim.get("others", "0x0"), 16) == 0:
        return False
    claim["others"] = _hex(-int(claim["others"], 16))
    return True


def part_missing(whole, rng):
    claim = whole["claim"]
    keys = [k for k in ("rows", "multipliers", "others", "integers", "weights") if k in claim]
    del claim[keys[int(rng.integers(len(keys)))]]
    return True


WAYS = [
    another_fingerprint,
    another_kind,
    unknown_kind,
    another_format,
    no_intercept_flag,
    negated_weights,
    zero_weights,
    weights_cut_short,
    not_a_number,
    multiplier_raised,
    multiplier_made_negative,
    multiplier_made_zero,
    row_named_twice,
    row_that_is_not_there,
    row_left_out,
    others_made_negative,
    part_missing,
]


def _case(data, intercept, kind, claim, genuine):
    about = {"rows": len(data.rows), "features": data.n_features, "intercept": intercept}
    name = data.fingerprint("")  # of version 0.1, which rows in disorder have too
    about |= {"classes": ["0", "1"], "sha256": name}
    whole = {"format": checker.FORMAT, "data": about, "kind": kind, "claim": claim}
    return whole, data, genuine


def hand_made():
    """Claims that a single line of the checker refuses: (certificate, data, whether it is true)."""
    sums = {"rows": [0, 1], "multipliers": ["0x1", "0x1"]}
    pair = sums | {"others": "0x0"}
    line = as_checker_data(problem_from(np.array([[0.0], [0.0], [1.0]]), [0, 1, 1], True))
    quasi = pair | {"integers": ["0x0", "0x1"]}
    cases = [
        _case(line, True, "overlap", pair, False),
        _case(line, True, "quasi", quasi, True),
        _case(line, True, "quasi", quasi | {"rows": [0, 2]}, False),
        _case(line, True, "quasi", quasi | {"integers": ["0x0", "0x0"]}, False),
        _case(line, True, "quasi", quasi | {"integers": ["0x0", "-0x1"]}, False),
        _case(line, True, "gordan", sums, True),
        _case(line, True, "gordan", pair, False),
        _case(line, True, "gordan", sums | {"rows": [-3, -2]}, False),
        _case(
            line,
            True,
            "gordan",
            {"rows": [0, 0, 1], "multipliers": ["0x1", "0x1", "0x2"]},
            False,
        ),
    ]
    # Without an intercept: rows that cancel, but leave a direction free.
    for scale in (1.0, 3.0):
        X = np.array([[scale, 0.0], [scale, 0.0], [0.0, 0.0], [0.0, 1.0]])
        flat = as_checker_data(problem_from(X, [0, 1, 1, 1], False))
        named = {"rows": [2, 0, 1], "multipliers": ["0x1"] * 3, "others": "0x0"}
        cases.append(_case(flat, False, "overlap", named, False))
        cases.append(_case(flat, False, "overlap", pair, False))
        off = named | {"integers": ["0x0", "0x0", "0x1"]}
        cases.append(_case(flat, False, "quasi", off, True))
        cases.append(
            _case(flat, False, "quasi", off | {"rows": [0, 1], "multipliers": ["0x1"] * 2}, False)
        )
    # Columns named twice, out of order, or not there.
    for columns in ([0, 0], [1, 0], [-1, 0], [0, 2]):
        odd = checker.Data([(columns, [1.0, 1.0])] * 2, [0, 1], 2, 2)
        cases.append(_case(odd, True, "gordan", sums, False))
    return cases
