"""Model files altered in some values and sealed again: refused, or nothing false is proved.

`fuzz.altered_models` alters every value once. Here some values are altered together, and a number
that stands in several places is changed in all of them alike, as a forger would.
"""

from __future__ import annotations

import warnings
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from fuzz.altered_models import ROWS, fault_of, models, other_arrays, others_of
from fuzz.exact_certificates import Book
from fuzz.honest_claims import of_certificate
from fuzz.model_files import copied, joined, parts, places
from fuzz.nasty import Nasty
from separatrix.storage.model_file import from_bytes, to_bytes

__all__ = ["Sealed"]


@cache
def seeds() -> list[tuple[str, Any, np.ndarray, Any, bytes]]:
    """Return kind, model, labels, and the file's header and arrays: made once a process."""
    found = []
    for kind, (model, labels) in models().items():
        contents = to_bytes(model)
        found.append((kind, from_bytes(contents).model, labels, *parts(contents)))
    return found


class Sealed:
    """Files of every kind of model, altered at random."""

    def run(self, candidates: int, rng: Any, say: Any = print) -> Counter[str]:
        """Present so many files; return the counts."""
        counts: Counter[str] = Counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(candidates):
                kind, original, labels, header, tail = seeds()[int(rng.integers(len(seeds())))]
                where, contents = self.altered(header, tail, rng)
                counts["presented"] += 1
                counts["files"] += 1
                fault = fault_of(kind, original, contents, labels)
                if fault is not None and is_true(contents, labels):
                    counts["true"] += 1  # another model, for which the same claim is true
                elif fault is not None:
                    counts["false"] += 1
                    say(f"FALSE model-files: {kind}: {where}: {fault}", flush=True)
        return counts

    def altered(self, header: Any, tail: bytes, rng: Any) -> tuple[str, bytes]:
        """Return what was altered, and the file sealed again."""
        header, arrays, where = copied(header), load(tail), []
        for _ in range(int(rng.choice([1, 1, 2, 3]))):
            if arrays and rng.random() < 0.4:
                where.append(self._in_arrays(arrays, header, rng))
            else:
                where.append(self._in_header(header, arrays, rng))
        return ", ".join(where), joined(header, save(arrays))

    def _in_header(self, header: Any, arrays: dict[str, np.ndarray], rng: Any) -> str:
        found = places(header)
        path = found[int(rng.integers(len(found)))]
        node = header
        for key in path[:-1]:
            node = node[key]
        changed = others_of(node[path[-1]], path)
        if not changed:
            return "nothing"
        before, after = node[path[-1]], changed[int(rng.integers(len(changed)))]
        node[path[-1]] = after
        if isinstance(before, str) and before.startswith(("0x", "-0x")) and rng.random() < 0.5:
            _everywhere(header, arrays, before, after)
        return "/".join(map(str, path))

    def _in_arrays(self, arrays: dict[str, np.ndarray], header: Any, rng: Any) -> str:
        name = sorted(arrays)[int(rng.integers(len(arrays)))]
        array = arrays[name]
        changed = other_arrays(array)
        if not changed:
            return "nothing"
        other = changed[int(rng.integers(len(changed)))]
        off = np.flatnonzero(array.ravel() != other.ravel())
        arrays[name] = other
        if len(off) == 1 and array.dtype.kind == "f" and rng.random() < 0.5:
            before, after = (float(each.ravel()[off[0]]).hex() for each in (array, other))
            _everywhere(header, arrays, before, after)
        return f"array {name}"


def is_true(contents: bytes, labels: np.ndarray) -> bool:
    """Whether exact arithmetic confirms the claim of an altered model about its own weights.

    The bias of a hinge may lie anywhere in an interval, and weights that make as few errors are as
    good: such a model says otherwise, and what is proved of it is true.
    """
    names, codes = np.unique(labels, return_inverse=True)
    given, book = Nasty(ROWS, labels, None, ROWS, codes, len(names), "float64"), Book()
    proof = getattr(from_bytes(contents).model, "certificate_", None)
    try:
        of_certificate(book, proof, given, None)
    except (AttributeError, KeyError, TypeError, ValueError):
        return False  # a kind without an exact judge
    return book.compared > 0 and not book.false


def _everywhere(node: Any, arrays: dict[str, np.ndarray], before: str, after: Any) -> None:
    """Exchange a number for another wherever it stands."""
    items = list(node.items() if isinstance(node, dict) else enumerate(node))
    for key, value in items:
        if isinstance(value, dict | list):
            _everywhere(value, {}, before, after)
        elif value == before:
            node[key] = after
    for name, array in arrays.items():
        if array.dtype.kind == "f" and "p" in before and isinstance(after, str):
            old, new = float.fromhex(before), float.fromhex(after)
            arrays[name] = np.where(array == old, new, array).astype(array.dtype)
