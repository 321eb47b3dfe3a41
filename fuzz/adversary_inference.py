"""What the adversary presents of inference: altered claims, and enclosures that are just false.

An end of an enclosure is put on the wrong side of the number at 300 bits, by as little as floats
allow. Neither the library nor the stand-alone checker may accept that. Other fields are altered;
what is accepted must hold at 300 bits.
"""

from __future__ import annotations

import copy
import json
import math
import warnings
from collections import Counter
from typing import Any

import numpy as np
from tests.inference_problems import drawn, holds_at_300_bits, method_of, recomputed

import separatrix as sx
from fuzz.checker_agreement import altered, by_checker, by_library

__all__ = ["run"]

_EACH = 12


def run(candidates: int, rng: Any, say: Any = print) -> Counter[str]:
    """Present so many claims; return the counts."""
    counts: Counter[str] = Counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        while counts["presented"] < candidates:
            number = int(rng.integers(10**6))
            X, y = drawn(number)
            found = sx.inference(X, y, method_of(number))
            if found.certificate is None:
                continue
            for what, other in _claims(rng, found, X, y):
                counts["presented"] += 1
                counts["forged"] += what == "forged"
                if not (by_library(*other) or by_checker(*other) == ""):
                    continue
                counts["true"] += 1
                if what == "forged" or not holds_at_300_bits(*other):
                    counts["false"] += 1
                    say(f"FALSE inference: problem {number}, {what}", flush=True)
    return counts


def _claims(rng: Any, found: Any, X: np.ndarray, y: np.ndarray) -> Any:
    """Yield what was done to a genuine certificate, and the outcome with its data."""
    whole = json.loads(found.certificate.to_json())
    kept = [j for j, name in enumerate(found.names) if name not in found.aliased]
    D = np.c_[np.ones(len(y)), X][:, kept]
    try:
        numbers = [(name, kept.index(j), v) for name, j, v in recomputed(found, D, y, kept)]
    except ArithmeticError:  # `fuzz.inference` tells of those
        numbers = []
    for _ in range(_EACH):
        if numbers and rng.random() < 0.5:
            forged = _forged(rng, whole, numbers[int(rng.integers(len(numbers)))])
            if forged is not None:
                yield "forged", (forged, X, y)
        else:
            what, other = altered(rng, (whole, X, y))
            yield what, other


def _forged(rng: Any, whole: Any, number: tuple[str, int, Any]) -> Any:
    """Return the certificate with an enclosure that leaves the number out; None if it has none."""
    name, place, value = number
    ends = whole["claim"]["coefficients"][place][name]
    near = float(value)
    if not ends or not math.isfinite(near):
        return None
    whole, up = copy.deepcopy(whole), bool(rng.integers(2))
    while (near <= value) if up else (near >= value):
        near = math.nextafter(near, math.inf if up else -math.inf)
    low, high = map(float.fromhex, ends)
    ends = [near, max(near, high)] if up else [min(low, near), near]
    whole["claim"]["coefficients"][place][name] = [v.hex() for v in ends]
    return whole
