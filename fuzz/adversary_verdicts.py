"""What the adversary presents of verdicts in files: one number or word of them is altered.

The sentence always follows from the other fields, and the data are named anew. What `check` then
accepts must be true, from the kind to the last digit of the margin.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

import separatrix as sx
from fuzz.adversary_exact import Partitions
from fuzz.adversary_gaps import Presented
from fuzz.adversary_points import Point
from fuzz.exact_certificates import Book
from fuzz.honest_claims import of_verdict
from fuzz.nasty import Nasty, laid_out
from separatrix.problem.canonical import problem_from
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.signed import as_matrix

__all__ = ["VERDICTS"]

_FACTORS = (1.0 + 2.0**-52, 1.0 - 2.0**-53, 1.0 + 1e-12, 1.0 + 1e-9, 1.0 + 5e-7, 0.5, 2.0, -1.0)
_NUMBERS = ("0.0", "-inf", "inf", "nan", "open", "unknown")
_KINDS = ("separable", "quasi-separable", "overlapping", "separation", "quasi", "overlap")
_FIXED = {"format", "sentence", "sha256", "classes"}  # put right, or of other tests
_BOTH = 0.5  # of the tries alter both places where the margin stands


class Verdicts(Partitions):
    """Verdicts as files hold them."""

    def genuine(self, point: Point) -> Any:
        return json.loads(sx.separability(point["X"], point["codes"], point["intercept"]).to_json())

    def altered(self, proof: Any, rng: Any) -> Any:
        whole = json.loads(json.dumps(proof))
        widest = whole["widest"]
        if isinstance(widest, dict) and isinstance(whole["margin"], str) and rng.random() < _BOTH:
            margin = float.fromhex(whole["margin"]) * float(rng.choice(_FACTORS))
            whole["margin"] = widest["low"] = margin.hex()
        else:
            _alter_one(whole, rng)
        return whole

    def made_up(self, p: Point, rng: Any) -> Any:
        """Return the verdict on other data of the same shape."""
        X = p["X"][rng.permutation(len(p["X"]))] * 2.0 ** int(rng.integers(-2, 3))
        return self.genuine(p | {"X": X})

    def claim(self, p: Point) -> Presented:
        X, dense, name = laid_out(np.random.default_rng(p["layout"]), p["X"])
        given = Nasty(X, p["codes"], None, dense, p["codes"], 2, name)
        whole = json.loads(json.dumps(p["proof"]))
        proof = whole["certificate"]
        data = proof.get("data") if isinstance(proof, dict) else None
        if isinstance(data, dict):
            data["sha256"] = fingerprint(problem_from(as_matrix(X), p["codes"], p["intercept"]))
        whole["sentence"] = sx.Verdict.from_json(json.dumps(whole)).in_words()
        verdict = sx.Verdict.from_json(json.dumps(whole))
        return Presented(verdict, given, ())

    def false_if_accepted(self, proof: Any, given: Nasty) -> str:
        book, inner = Book(), proof.certificate
        of_verdict(book, proof, given, inner.intercept)
        book.true("rows", proof.n_rows == len(given.dense))
        book.true("classes", tuple(proof.classes) == ("0", "1"))
        book.true("bound", proof.bound is None)
        if hasattr(inner, "multipliers"):
            book.true("certificate", not super().false_if_accepted(inner, given))
        return "; ".join(book.false)

    def room(self, proof: Any, given: Nasty) -> float:
        inner = proof.certificate
        return math.inf if inner is None else super().room(inner, given)


def _alter_one(whole: Any, rng: Any) -> None:
    """Alter one number or word, or lengthen, shorten or reorder a list."""
    places = [(holder, key) for holder, key in _places(whole) if key not in _FIXED]
    holder, key = places[int(rng.integers(len(places)))]
    holder[key] = _other(holder[key], rng)


def _places(node: Any) -> list[tuple[Any, Any]]:
    """Return where every value of a nested structure stands."""
    found = []
    for key in node if isinstance(node, dict) else range(len(node)):
        found.append((node, key))
        if isinstance(node[key], dict | list) and key not in _FIXED:
            found += _places(node[key])
    return found


def _other(value: Any, rng: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-2, -1, 1, 2]))
    if isinstance(value, list) and value:
        i, j = (int(k) for k in rng.integers(len(value), size=2))
        way, values = int(rng.integers(4)), list(value)
        if way == 0:
            values[i], values[j] = values[j], values[i]
        elif way == 1:
            values[i] = values[j]
        elif way == 2:
            del values[i]
        else:
            values.append(values[j])
        return values
    if not isinstance(value, str):
        return None if rng.random() < 0.5 else "0x1.0p-1"
    if value in _KINDS:
        return str(rng.choice(_KINDS))
    if value in _NUMBERS or not value:
        return str(rng.choice(_NUMBERS))
    if "p" in value:
        return (float.fromhex(value) * float(rng.choice(_FACTORS))).hex()
    return hex(int(value, 16) * int(rng.choice([-1, 1, 2])) + int(rng.choice([-1, 0, 1])))


VERDICTS: dict[str, Any] = {"verdict": Verdicts()}
