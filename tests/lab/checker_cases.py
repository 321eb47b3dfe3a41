"""Certificates, true and spoilt, for two checkers that must agree: Python's and the page's."""

import json
import math
import warnings

import numpy as np

import separatrix as sx
from separatrix.checker import Data, Refused, check


def case(certificate, rows, codes, n_classes):
    return {
        "certificate": certificate,
        "data": {
            "rows": rows,
            "codes": codes,
            "nFeatures": len(rows[0]),
            "nClasses": n_classes,
        },
    }


def data_of(about):
    rows = [([j for j, x in enumerate(r) if x], [x for x in r if x]) for r in about["rows"]]
    return Data(rows, about["codes"], about["nFeatures"], about["nClasses"])


def by_python(one):
    """Return whether the trusted kernel accepts, and what it says."""
    try:
        return True, check(one["certificate"], data_of(one["data"]))
    except Refused as reason:
        return False, str(reason)


def rows_and_codes(dice, n_classes):
    n, d = int(dice.integers(n_classes, 12)), int(dice.integers(1, 4))
    kind = dice.integers(5)
    X = dice.integers(-3, 4, size=(n, d)).astype(float)
    if kind == 1:
        X = dice.normal(size=(n, d))
    elif kind == 2:
        X = X / 8.0 + dice.integers(-1, 2) * 2.0**-30
    elif kind == 3:
        X = X * 2.0 ** dice.integers(-40, 40, size=(n, d)).astype(float)
    codes = np.concatenate([np.arange(n_classes), dice.integers(0, n_classes, n - n_classes)])
    if kind == 4:  # separable more often than not
        X[:, 0] += 5.0 * codes
    return X, codes


def certificates(dice):
    """Return one set of data and what the library claims of it."""
    n_classes = 2 if dice.random() < 0.8 else 3
    X, codes = rows_and_codes(dice, n_classes)
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if n_classes == 2:
            verdict = sx.separability(X, codes, fit_intercept=bool(dice.random() < 0.8))
            if verdict.certificate is not None:
                found.append(json.loads(verdict.to_json())["certificate"])
            if verdict.witness is not None:
                claim = {"rows": list(verdict.witness.rows)}
                claim["multipliers"] = [hex(m) for m in verdict.witness.multipliers]
                found.append({**found[0], "kind": "gordan", "claim": claim})
            proof = sx.Kozinec(epsilon=0.3, max_updates=60).fit(X, codes).certificate_
        else:
            proof = sx.Perceptron(max_updates=60).fit(X, codes).certificate_
        found.append(json.loads(proof.to_json()))
    return X.tolist(), codes.tolist(), n_classes, found


def spoilt(dice, certificate, rows, codes, n_classes):
    """Return a copy with one thing changed: often no longer true, sometimes still so."""
    one = json.loads(json.dumps(case(certificate, rows, codes, n_classes)))
    proof, data = one["certificate"], one["data"]
    claim, what = proof["claim"], int(dice.integers(14))
    lists = [key for key in ("rows", "multipliers", "integers") if claim.get(key)]
    if what == 0 and lists:
        key = lists[dice.integers(len(lists))]
        del claim[key][dice.integers(len(claim[key]))]
    elif what == 1 and claim.get("multipliers"):
        nudge(dice, claim["multipliers"])
    elif what == 2 and claim.get("weights"):
        nudge(dice, claim["weights"][dice.integers(len(claim["weights"]))])
    elif what == 3 and claim.get("rows"):
        claim["rows"][dice.integers(len(claim["rows"]))] = int(dice.integers(-1, len(rows) + 1))
    elif what == 4:
        row = data["rows"][dice.integers(len(rows))]
        place = dice.integers(len(row))
        row[place] = math.nextafter(row[place], math.inf) if dice.random() < 0.5 else -row[place]
    elif what == 5:
        data["codes"][dice.integers(len(codes))] = int(dice.integers(n_classes))
    elif what == 6:
        proof["kind"] = ["separation", "gordan", "overlap", "quasi", "margin-bounds", "none"][
            dice.integers(6)
        ]
    elif what == 7:
        proof["data"]["intercept"] = [False, True, None, 1][dice.integers(4)]
    elif what == 8 and "others" in claim:
        claim["others"] = ["0x0", "0x1", "-0x1", "0x3"][dice.integers(4)]
    elif what == 9 and claim:
        del claim[sorted(claim)[dice.integers(len(claim))]]
    elif what == 10 and "lower" in claim:
        nudge_bound(dice, claim)
    elif what == 11 and "weights" in claim:
        power = int(dice.integers(-3, 4))
        claim["weights"] = [[scaled(x, power) for x in w] for w in claim["weights"]]
    elif what == 12 and lists and lists[-1] != "rows":
        claim[lists[-1]][0] = claim[lists[-1]][0].replace("0x", "")
    elif what == 13 and "weights" in claim:
        claim["weights"] = [[x] for w in claim["weights"] for x in w]
    if dice.random() < 0.9 and proof.get("data"):
        proof["data"]["sha256"] = data_of(data).fingerprint()
    return one


def nudge(dice, values):
    place = dice.integers(len(values))
    if "p" in values[place]:
        x = float.fromhex(values[place])
        changes = [-x, 0.0, math.nextafter(x, math.inf), math.nextafter(x, -math.inf), 2.0 * x]
        values[place] = changes[dice.integers(len(changes))].hex()
    else:
        m = int(values[place], 16)
        values[place] = hex([m + 1, m - 1, -m, 2 * m, 0][dice.integers(5)])


def nudge_bound(dice, claim):
    key = ["lower", "upper"][dice.integers(2)]
    x = float.fromhex(claim[key])
    changes = [math.nextafter(x, math.inf), math.nextafter(x, -math.inf), x + 0.1, x - 0.1, -x]
    claim[key] = changes[dice.integers(len(changes))].hex()


def scaled(text, power):
    return math.ldexp(float.fromhex(text), power).hex()


def cases(count, seed=0):
    """Return so many cases, about a sixth of them as the library made them."""
    dice, made = np.random.default_rng(seed), []
    while len(made) < count:
        rows, codes, n_classes, found = certificates(dice)
        for certificate in found:
            made.append(case(certificate, rows, codes, n_classes))
            made += [spoilt(dice, certificate, rows, codes, n_classes) for _ in range(5)]
    return made[:count]


def disagreements(made, answers):
    """Return the cases of which the two checkers say different things."""
    bad = []
    for one, (holds, words) in zip(made, answers, strict=True):
        expected, sentence = by_python(one)
        same_words = words == sentence or one["certificate"].get("kind") == "margin-bounds"
        if holds != expected or (holds and not same_words):
            bad.append((one, expected, sentence, holds, words))
    return bad
