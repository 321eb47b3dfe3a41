"""What every certificate says of its data: rows, features, classes, and their fingerprint."""

from __future__ import annotations

from collections import UserString
from dataclasses import dataclass
from typing import Any

from separatrix.certificates.canonical import Problem, n_classes_of, problem_from, sha256
from separatrix.certificates.json_form import certificate_json

__all__ = ["AboutData"]


@dataclass(frozen=True, eq=False, kw_only=True)
class AboutData:
    """A claim about data. With `kind` it is written as JSON, by the fields of `claim`."""

    kind = ""

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

    def claim(self) -> dict[str, Any]:
        """Return what is claimed, field by field."""
        raise NotImplementedError

    def to_json(self) -> str:
        """Write the certificate in the format of docs/certificates.md."""
        return certificate_json(self.kind, self, self.claim())
