"""Verdicts against the simplex in fractions, and certificates against forgers, in large numbers.

    python -m benchmarks.verdicts --problems 10000 --certificates 100000

Counts wrong verdicts and undecided ones, genuine certificates refused and forged ones accepted, by
both checkers (``checker.py`` and the NumPy one). Exits with 1 if any count that must be 0 is not.
"""

import argparse
import collections
import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.degenerate import degenerate
from tests.forgeries import forge
from tests.naive.separability import kind

import separatrix as sx
from separatrix import checker
from separatrix.certificates.reading import VERDICTS, from_json
from separatrix.problem.canonical import as_checker_data, problem_from


def compare(count):
    """Compare verdicts with the naive ones."""
    found, wrong = collections.Counter(), []
    begin = time.perf_counter()
    for seed in range(count):
        X, signs, fit_intercept = degenerate(seed)
        verdict = sx.separability(X, signs, fit_intercept=fit_intercept)
        found[verdict.kind] += 1
        if verdict.kind == "undecided":
            continue
        if verdict.kind != kind(X.tolist(), signs.tolist(), fit_intercept):
            wrong.append(seed)
    print(f"{count} problems in {time.perf_counter() - begin:.0f} s: {dict(found)}")
    print(f"wrong verdicts: {len(wrong)} {wrong[:10]}; undecided: {found['undecided']}")
    return not wrong


def _accepted(whole, X, signs):
    try:
        data = as_checker_data(problem_from(X, signs, bool(whole["data"]["intercept"])))
        plain = bool(checker.check(whole, data))
    except checker.Refused:
        plain = False
    try:
        fast = from_json(whole, *VERDICTS).check(X, signs)
    except (ValueError, TypeError):
        fast = False
    return plain, fast


def _same_claim(whole, rng):
    """Vary a genuine certificate without changing what it proves: order and common factor."""
    claim = whole["claim"]
    factor = int(rng.integers(1, 1000))
    if "integers" in claim:
        claim["integers"] = [hex(int(v, 16) * factor) for v in claim["integers"]]
    if "weights" in claim:
        power = 2.0 ** int(rng.integers(-4, 5))
        values = [float.fromhex(v) for row in claim["weights"] for v in row]
        if any(v * power / power != v for v in values):
            power = 1.0  # the least floats cannot be scaled exactly
        claim["weights"] = [[(float.fromhex(v) * power).hex() for v in r] for r in claim["weights"]]
    if "rows" in claim:
        order = rng.permutation(len(claim["rows"])).tolist()
        claim["rows"] = [claim["rows"][i] for i in order]
        claim["multipliers"] = [hex(int(claim["multipliers"][i], 16) * factor) for i in order]
        claim["others"] = hex(int(claim["others"], 16) * factor)
    return whole


def attack(count, per_problem=10):
    """Check genuine and forged certificates, each by both checkers."""
    rng = np.random.default_rng(0)
    refused = accepted = done = 0
    ways = collections.Counter()
    begin = time.perf_counter()
    seed = -1
    while done < count:
        seed += 1
        X, signs, fit_intercept = degenerate(seed)
        proof = sx.separability(X, signs, fit_intercept=fit_intercept).certificate
        if proof is None:  # undecided
            continue
        text = proof.to_json()
        for _ in range(per_problem):
            if _accepted(_same_claim(json.loads(text), rng), X, signs) != (True, True):
                refused += 1
            done += 1
            way, forged = forge(json.loads(text), rng)
            ways[way] += 1
            if _accepted(forged, X, signs) != (False, False):
                accepted += 1
                print("accepted:", way, seed)
    print(f"{done} genuine and {done} forged in {time.perf_counter() - begin:.0f} s")
    print(f"genuine refused: {refused}; forged accepted: {accepted}; ways: {dict(ways)}")
    return refused == accepted == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--certificates", type=int, default=1000)
    chosen = parser.parse_args()
    good = compare(chosen.problems)
    good &= attack(chosen.certificates)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
