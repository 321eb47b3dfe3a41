"""Exact proof of how few errors a hyperplane makes, and how few any hyperplane can make.

    attained   sum of s_i over the rows with  w.z_i <= 0,  signs decided in exact arithmetic
    at least   (witnesses) each Gordan witness holds a row that is wrong for every w; weights on
               witnesses that load no row beyond s_i bound the errors from below, and a tree of
               cases (row right, row wrong) sharpens that; or (cells) an exact recount of all cells

Equal rows of one class share their fate, so their weights s_i are added up first. Nothing here
knows how hyperplane, witnesses and tree were found; `checker.errors` checks a tree.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from separatrix import checker
from separatrix.certificates.about_data import AboutData, Written
from separatrix.certificates.cells import MOST_DIMENSIONS, fewest_by_cells
from separatrix.certificates.partition import is_witness, margin_signs
from separatrix.checker.errors import Book, refuse_case
from separatrix.problem.equal_rows import equal_rows, locations, weights_fingerprint, whole_weights
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.signed import SignedProblem

Witness = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Leaf:
    """Weights ``numerator / denominator`` on witnesses, that load no row beyond its own weight."""

    loads: tuple[tuple[int, int], ...]
    denominator: int


@dataclass(frozen=True)
class Split:
    """Two cases: the row is wrong, or it is right."""

    row: int
    wrong: Tree | None
    right: Tree | None


Tree = Leaf | Split


def tree_of(case: Any) -> Tree | None:
    """Return a tree as the checker reads it, or None, as one of ours."""
    if hasattr(case, "row"):
        return Split(case.row, tree_of(case.wrong), tree_of(case.right))
    return None if case is None else Leaf(tuple(case.loads), case.denominator)


@dataclass(frozen=True)
class LowerBound:
    """A lower bound as a solver claims it; for "cells" the value is recounted."""

    by: str
    value: int = 0
    witnesses: tuple[Witness, ...] = ()
    tree: Tree | None = None


@dataclass(frozen=True, kw_only=True)
class FewestErrors(Written, AboutData):
    """Weights make `errors` training errors, and no hyperplane makes fewer than `lower`.

    Errors are sums of sample weights, counted in the unit `unit` (1 if there are none).
    `by` says how the lower bound is proved: ``"witnesses"`` (with `witnesses` and `tree`),
    ``"cells"`` (an exact recount in one to three dimensions) or ``"nothing"`` (the bound is 0).
    Where floats are too short, `integers` hold the weights and `weights` is empty.
    """

    kind = "errors"

    errors: int
    lower: int
    unit: Fraction
    weights: tuple[float, ...] = ()
    by: str
    witnesses: tuple[Witness, ...]
    tree: Tree | None = None
    weights_sha256: str
    integers: tuple[int, ...] = ()
    holds: bool = True

    @property
    def sample_weight_sha256(self) -> str:
        """The name of the sample weights, as a file calls it."""
        return self.weights_sha256

    def check(self, X: Any, y: Any, sample_weight: Any = None) -> bool:
        """Prove both numbers again from the data, whatever `holds` says; other data are refused."""
        problem = self.problem(X, y)
        if not isinstance(problem, SignedProblem):
            return False
        try:
            masses, unit = whole_weights(sample_weight, problem.n_samples)
        except ValueError:
            return False
        if weights_fingerprint(sample_weight, masses, unit) != self.weights_sha256:
            return False
        return unit == self.unit and self.intercept is True and proves_errors(problem, masses, self)

    def __str__(self) -> str:
        found, least = (f"{float(n * self.unit):g}" for n in (self.errors, self.lower))
        how = {"cells": "all cells recounted", "nothing": "no proof of more"}.get(
            self.by, f"{len(self.witnesses)} witnesses"
        )
        if self.errors == self.lower:
            return f"proved: {found} training errors, and no hyperplane makes fewer ({how}, exact)"
        return (
            f"proved: {found} training errors, and every hyperplane makes {least} or more ({how})"
        )


def certify_errors(
    problem: SignedProblem,
    masses: np.ndarray,
    unit: Fraction,
    weights: np.ndarray | tuple[int, ...],
    lower: LowerBound,
    sample_weight: Any = None,
    classes: tuple[str, ...] = ("0", "1"),
) -> FewestErrors:
    """Count the errors of the weights, prove the lower bound, and state both.

    Weights are an array of floats, or a tuple of integers where floats are too short. A lower
    bound that is not proved is replaced by 0.
    """
    claim = FewestErrors(
        errors=errors_of(problem, masses, weights),
        lower=lower.value,
        unit=unit,
        weights=() if isinstance(weights, tuple) else tuple(weights.tolist()),
        integers=weights if isinstance(weights, tuple) else (),
        by=lower.by,
        witnesses=lower.witnesses,
        tree=lower.tree,
        data_sha256=fingerprint(problem),
        weights_sha256=weights_fingerprint(sample_weight, masses, unit),
        n_rows=problem.n_samples,
        n_features=int(problem.X.shape[1]),
        classes=classes,
    )
    if lower.by == "cells":
        return replace(claim, lower=_recounted(problem, masses))
    if lower.by == "witnesses" and _proves_by_witnesses(problem, masses, claim):
        return claim
    return replace(claim, lower=0, by="nothing", witnesses=(), tree=None)


def wrong_rows(problem: SignedProblem, weights: Any) -> np.ndarray:
    """Return which rows are not strictly on their own side, exactly; weights may be integers."""
    exact = all(isinstance(v, int) for v in weights)
    numbers = weights if exact else checker.integers([float(v) for v in weights])[0]
    return np.asarray(margin_signs(problem, tuple(numbers)) <= 0)


def errors_of(problem: SignedProblem, masses: np.ndarray, weights: Any) -> int:
    """Return the weight of all rows that are not strictly on their own side, exactly."""
    return int(masses[wrong_rows(problem, weights)].sum())


def proves_errors(problem: SignedProblem, masses: np.ndarray, claim: FewestErrors) -> bool:
    """Check every part of the claim exactly, except the fingerprints of the data."""
    weights = claim.integers or claim.weights
    if len(weights) != problem.dimension or not np.isfinite(claim.weights).all():
        return False
    if errors_of(problem, masses, weights) != claim.errors:
        return False
    if claim.by == "nothing":
        return claim.lower == 0 and not claim.witnesses and claim.tree is None
    if claim.by == "cells":
        if not 1 <= problem.X.shape[1] <= MOST_DIMENSIONS:
            return False
        return claim.lower <= _recounted(problem, masses)
    return claim.by == "witnesses" and _proves_by_witnesses(problem, masses, claim)


def _recounted(problem: SignedProblem, masses: np.ndarray) -> int:
    kept = masses > 0
    if not kept.any():
        return 0
    return fewest_by_cells(*locations(problem.X[kept], problem.signs[kept], masses[kept]))


def _proves_by_witnesses(problem: SignedProblem, masses: np.ndarray, claim: FewestErrors) -> bool:
    if not all(is_witness(problem, *witness) for witness in claim.witnesses):
        return False
    numbers = equal_rows(problem.X, problem.signs)
    room = np.bincount(numbers, weights=masses.astype(np.float64)).astype(np.int64)
    sets = [frozenset(numbers[list(rows)].tolist()) for rows, _ in claim.witnesses]
    try:
        refuse_case(Book(room.tolist(), sets, numbers.tolist(), claim.lower), claim.tree)
    except (checker.Refused, RecursionError):
        return False
    return True
