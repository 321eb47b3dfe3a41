"""The certificate of a table of coefficients: ``kind`` is "inference"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.certificates.about_data import AboutData, Written
from separatrix.certificates.inference import Bounds, Coefficient, Integers, Vector, holds
from separatrix.certificates.likelihood_bounds import NoProof, Rows
from separatrix.problem.canonical import counted_rows, problem_from
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.signed import SignedProblem


@dataclass(frozen=True, eq=False, kw_only=True)
class InferenceProof(Written, AboutData):
    """Bounds on estimates, errors, ends and tests, with the points that prove them."""

    kind = "inference"

    method: str
    level: float
    C: float
    quantile: float
    columns: Integers  # of X, in the order of the coefficients
    point: Vector
    direction: Integers
    maximum: str  # "global": no other is as high; "local": there is one next to the point
    coefficients: tuple[Coefficient, ...]

    def check(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> bool:
        """Prove every bound again from the data; other data are refused where they have a name."""
        X, y, weights = counted_rows(X, y, sample_weight)
        problem = problem_from(X, y, self.intercept)
        if not isinstance(problem, SignedProblem):
            return False
        if not self.speaks_of(problem.X.shape, 2):
            return False
        named = problem if self.intercept else problem_from(X, y, True)
        if self.data_sha256 and fingerprint(named, self.data_sha256) != self.data_sha256:
            return False
        try:
            bounds = self._bounds(problem, weights, offset)
            if not holds(bounds, self.coefficients):
                return False
            return self.maximum != "global" or bounds.is_global
        except (NoProof, ArithmeticError, ValueError, IndexError):
            return False

    def _bounds(self, problem: SignedProblem, weights: np.ndarray, offset: Any) -> Bounds:
        chosen = list(self.columns)
        if any(not 0 <= j < problem.X.shape[1] for j in chosen):
            raise NoProof("the claim names columns that are not there")
        X: Any = problem.X[:, chosen]
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        if self.intercept:
            X = np.column_stack([np.ones(len(X)), X])
        ridge = np.zeros(X.shape[1])
        if self.method == "ridge":
            ridge[int(self.intercept) :] = 1.0 / self.C
        if len(self.point) != X.shape[1] or (any(self.direction) and self.method != "mle"):
            raise NoProof("the point has one number for each coefficient")
        y = (problem.signs > 0.0).astype(np.float64)
        off = np.zeros(len(y)) if offset is None else np.asarray(offset, dtype=np.float64)
        rows = Rows(np.ascontiguousarray(X), y, weights, off, ridge)
        point = np.array(self.point, dtype=np.float64)
        return Bounds(rows, self.method, self.level, self.quantile, point, self.direction)

    def __str__(self) -> str:
        where = "" if self.maximum == "global" else ", as a maximum next to its point"
        return (
            f"proved: estimates, standard errors, interval ends and tests of "
            f"{len(self.coefficients)} coefficients ({self.method}){where}"
        )

    def to_json(self) -> str:
        """Write the certificate; it needs data that a file can name."""
        if not self.data_sha256:
            raise ValueError(
                "This certificate has no file form: it speaks of sample weights, of an offset, or "
                "of more than 2,000,000 entries. certificate.check(X, y) proves it."
            )
        return super().to_json()
