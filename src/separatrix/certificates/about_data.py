"""What every certificate says of its data: rows, features, classes, and their fingerprint."""

from __future__ import annotations

from collections import UserString
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.certificates.canonical import Problem, n_classes_of, problem_from, sha256
from separatrix.certificates.json_form import certificate_json
from separatrix.problem.signed import as_matrix

__all__ = ["AboutData", "Written"]


@dataclass(frozen=True, eq=False, kw_only=True)
class AboutData:
    """A claim about so many rows, features and classes, and what they are."""

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
        return found if same and sha256(found) == self.data_sha256 else None

    def weighted_problem(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Problem, np.ndarray] | None:
        """Return the problem of the rows that count and their weights, if it is the one meant."""
        y = np.asarray(y)
        s = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        used = s > 0.0
        found = self.problem(as_matrix(X)[used], y[used])
        return None if found is None or self.intercept is not True else (found, s[used])


class Written(AboutData):
    """A claim of a kind that is written as JSON, by the fields of `claim`."""

    kind = ""

    def claim(self) -> dict[str, Any]:
        """Return what is claimed, field by field."""
        raise NotImplementedError

    def to_json(self) -> str:
        """Write the certificate in the format of docs/certificates.md."""
        return certificate_json(self.kind, self, self.claim())
