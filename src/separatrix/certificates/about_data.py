"""What every certificate says of its data, and its JSON form.

JSON holds the fields that the checker's table names, in its order. Floats are C99 hexadecimal text,
so that they come back with the same bits; `reading` is the other direction.
"""

from __future__ import annotations

import json
import math
from collections import UserString
from collections.abc import Sequence
from dataclasses import dataclass, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix.checker.kinds import CLAIMS, FORMAT, KERNEL, WITNESS
from separatrix.problem.canonical import Problem, counted_rows, n_classes_of, problem_from
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.kernels import Kernel

# Their integers may have thousands of bits, and are written in hexadecimal.
_LONG = {"multipliers", "others", "integers", "unit", "denominator"}
_LONG |= {"direction", "runs_down", "runs_up"}
NO_FILE_FORM = (
    "This certificate has no file form: it speaks of sample weights, of values instead of classes, "
    "or of more than 2,000,000 entries. certificate_.check(X, y) proves it."
)


@dataclass(frozen=True, eq=False, kw_only=True)
class AboutData:
    """A claim about so many rows, features and classes; `str` says it in one sentence."""

    intercept: bool = True
    data_sha256: str | UserString = ""
    n_rows: int
    n_features: int
    classes: tuple[str, ...] = ("0", "1")

    def speaks_of(self, shape: tuple[int, int], n_classes: int) -> bool:
        """Whether the data have so many rows, features and classes."""
        return (*shape, n_classes) == (self.n_rows, self.n_features, len(self.classes))

    def problem(self, X: Any, y: Any) -> Problem | None:
        """Return the problem that labels y set, if these are the data spoken of."""
        found = problem_from(X, y, self.intercept)
        same = self.speaks_of(found.X.shape, n_classes_of(found))
        name = self.data_sha256
        return found if same and fingerprint(found, name) == name else None

    def weighted_problem(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Problem, np.ndarray] | None:
        """Return the problem of the rows that count and their weights, if it is the one meant."""
        X, y, s = counted_rows(X, y, sample_weight)
        found = self.problem(X, y)
        return None if found is None or self.intercept is not True else (found, s)


def are_rows(rows: Sequence[int], values: Sequence[Any], count: int) -> bool:
    """Whether these are different numbers of so many rows, one or more, with a value each."""
    different = len(rows) == len(values) == len(set(rows)) > 0
    return different and min(rows) >= 0 and max(rows) < count


class Written:
    """A claim of a kind that is written as JSON."""

    kind = ""

    def claim(self) -> dict[str, Any]:
        """Return what is claimed: the fields that the checker's table names."""
        _, names, optional = CLAIMS[self.kind]
        claim: dict[str, Any] = {name: getattr(self, name, None) for name in names}
        if claim.get("rows", 0) is None:  # there is a number for every row, and no 0 is written
            name = "shares" if "shares" in claim else "multipliers"
            claim["rows"] = np.flatnonzero(claim[name])
            claim[name] = claim[name][claim["rows"]]
        absent = None, (), math.inf, -math.inf
        return {name: v for name, v in claim.items() if name not in optional or v not in absent}

    def spoken_of(self) -> Any:
        """Return what says of which data this is a claim."""
        return self

    def to_json(self) -> str:
        """Write the certificate in the format of docs/certificates.md."""
        proof = self.spoken_of()
        about = {
            "rows": proof.n_rows,
            "features": proof.n_features,
            "intercept": proof.intercept,
            "classes": list(proof.classes),
            "sha256": str(proof.data_sha256),
        }
        if getattr(proof, "decimals", ()):
            about["decimals"] = list(proof.decimals)
        whole = {"format": FORMAT, "kind": self.kind, "data": about, "claim": _plain(self.claim())}
        return json.dumps(whole, indent=1)


def _plain(value: Any, name: str = "") -> Any:
    """Return the numbers, arrays and records of a field of this name as JSON has them."""
    if isinstance(value, float):
        return value.hex() if math.isfinite(value) else str(value)
    if type(value) is int:
        return hex(value) if name in _LONG else value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif isinstance(value, Fraction):
        value = value.as_integer_ratio()
    elif isinstance(value, Kernel):
        value = {each: getattr(value, each) for each in KERNEL}
    elif is_dataclass(value):
        value = vars(value)
    elif name == "witnesses" and isinstance(value, tuple):
        value = [dict(zip(WITNESS, each, strict=True)) for each in value]
    if isinstance(value, dict):
        return {each: _plain(part, each) for each, part in value.items()}
    if name == "loads":
        return [[witness, hex(load)] for witness, load in value]
    if isinstance(value, list | tuple):
        return [_plain(each, name) for each in value]
    return value
