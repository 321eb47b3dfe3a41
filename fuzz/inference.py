"""Inference on generated problems: every number within its enclosure when recomputed at 300 bits.

    python -m fuzz.inference --problems 10000 [--seed 0]

Problems are separated, quasi-separated, overlapping, collinear, of rare events, heavy-tailed, or
have columns of sizes 1e-8 to 1e8; methods take turns. What is counted as wrong: a fit that did not
converge, a number outside its enclosure, or its enclosure without the number at 300 bits; a number
without an enclosure; a certificate that does not hold. Separated rows that do not count in the
limit are left out at 300 bits by the direction of the certificate, in exact arithmetic.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from typing import Any

import numpy as np
from tests.inference_problems import KINDS, NAMES, drawn, kind_of, method_of, recomputed
from tests.naive import inference as naive

import separatrix as sx

__all__ = ["run"]


def run(problems: int, seed: int = 0, say: Any = print, most_seconds: float = np.inf) -> Any:
    """Try so many problems; return the counts of what was tried and of what went wrong."""
    counts: Counter[str] = Counter()
    begun = time.monotonic()
    for number in range(seed, seed + problems):
        if time.monotonic() - begun > most_seconds:
            break
        for name in _wrong(number, counts):
            counts[name.split(":")[0]] += 1
            say(f"problem {number}: {name}")
        counts["problems"] += 1
    return counts


def _wrong(number: int, counts: Counter[str]) -> list[str]:
    (X, y), kind, method = drawn(number), kind_of(number), method_of(number)
    try:
        found = sx.inference(X, y, method)
    except ArithmeticError as error:
        return [f"an error: {error!r}"]
    counts[f"{kind}"] += 1
    wrong = [f"did not converge: {note}" for note in found.notes if "not found" in note
             or "stopped" in note]  # fmt: skip
    kept = [j for j, name in enumerate(found.names) if name not in found.aliased]
    for name in NAMES:
        low, high = (ends[kept] for ends in found.enclosures[name])
        value = found.table[name][kept]
        infinite = np.isinf(value) | (np.isinf(found.estimate[kept]) & (name == "std_error"))
        bare = np.isnan(low) & ~infinite
        if bare.any():
            wrong.append(f"no enclosure: {name} {method} {kind}")
        if not ((low <= value) & (value <= high) | np.isnan(low)).all():
            wrong.append(f"outside its own enclosure: {name}")
    if found.certificate is None or not found.certificate.check(X, y):
        return [*wrong, "the certificate does not hold: "]
    D = np.c_[np.ones(len(y)), X][:, kept]
    try:
        for name, j, number_ in recomputed(found, D, y, kept):
            counts["numbers at 300 bits"] += 1
            low, high = found.enclosures[name]
            if not naive.inside(number_, low[j], high[j]):
                wrong.append(f"300 bits are outside: {name}, coefficient {j}")
    except (ArithmeticError, ZeroDivisionError) as error:
        wrong.append(f"no root at 300 bits: {error}")
    return wrong


def main() -> None:
    """Run as a command; the exit status is 1 where anything was wrong."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--problems", type=int, default=1000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--seconds", type=float, default=np.inf)
    chosen = options.parse_args()
    counts = run(chosen.problems, chosen.seed, most_seconds=chosen.seconds)
    right = {"problems", "numbers at 300 bits", *KINDS}
    for name, count in counts.items():
        print(f"{count:8,} {name}")
    wrong = sum(count for name, count in counts.items() if name not in right)
    print(f"{wrong} wrong")
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
