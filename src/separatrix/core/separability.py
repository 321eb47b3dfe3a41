"""Separability of rows in memory: decide, prove, tell."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np

from separatrix.certificates.canonical import sha256
from separatrix.certificates.partition import (
    Integers,
    Partition,
    margin_signs,
    proved_signs,
    proves_gordan,
)
from separatrix.certificates.separation import Separation, check_separation, margin_range
from separatrix.core.checks import two_classes
from separatrix.core.verdict import Verdict, Witness
from separatrix.problem.decimals import decimal_places, times_powers_of_ten
from separatrix.problem.exact import SignedRows
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.separability.decide import (
    MOST_ENTRIES,
    Claim,
    decide,
    infinite_coefficients,
    larger_margin,
)

__all__ = ["Separability", "separability_of", "verdict_on"]


class Separability:
    """Gives messages about X and y a name to speak of."""


def separability_of(
    X: Any, y: Any, fit_intercept: bool = True, *, decimal: bool = False
) -> Verdict:
    """Decide whether a hyperplane separates two classes; X holds finite numbers, y labels.

    `decimal` decides on the decimals as written instead of on the stored floats.

    >>> separability_of(np.array([[0.0], [1.0], [2.0]]), np.array(["a", "b", "a"])).kind
    'overlapping'
    """
    classes, signs = two_classes(Separability(), y, "Set one class against all others: y == {0!r}.")
    names = tuple(str(name) for name in classes)
    problem = SignedProblem(X.astype(np.float64, copy=False), signs, fit_intercept)
    if not decimal:
        return verdict_on(problem, names)
    places = decimal_places(problem.X)
    scaled = SignedProblem(times_powers_of_ten(problem.X, places), signs, fit_intercept)
    verdict = verdict_on(scaled, names, places)
    stored = verdict_on(problem, names)
    if stored.kind != verdict.kind:
        verdict.note = (
            f"This is true of the decimals as written; the stored floats are {stored.kind}."
        )
    return verdict


def verdict_on(problem: SignedProblem, classes: tuple[str, ...], places: Integers = ()) -> Verdict:
    """Decide a signed problem; ``certificates`` checks every claim before it is returned."""
    rows = SignedRows(problem.X, problem.signs, problem.fit_intercept)
    claim = decide(rows)
    about = _About(problem, classes, places)
    builders = {"separable": _separable, "quasi-separable": _partition, "overlapping": _partition}
    verdict = builders[claim.kind](about, rows, claim) if claim.kind in builders else None
    if verdict is not None:
        return verdict
    bound = claim.bound if claim.bound is not None else 0.0
    witness = None if places else _checked_witness(problem, claim)
    return Verdict(
        "undecided", bound=bound, witness=witness, classes=classes, n_rows=problem.n_samples
    )


class _About:
    """What every certificate of one problem says about its data."""

    def __init__(self, problem: SignedProblem, classes: tuple[str, ...], places: Integers) -> None:
        self.problem, self.classes, self.places = problem, classes, places

    def partition(self, kind: str, claim: Claim, fingerprint: str = "") -> Partition:
        """State a claim as a certificate."""
        problem = self.problem
        return Partition(
            kind=kind,
            weights=_whole(claim.direction, problem.fit_intercept) if kind != "overlap" else (),
            rows=tuple(claim.rows or ()),
            multipliers=tuple(claim.multipliers or ()),
            others=claim.others,
            intercept=problem.fit_intercept,
            data_sha256=fingerprint,
            n_rows=problem.n_samples,
            n_features=problem.X.shape[1],
            classes=self.classes,
            decimals=self.places,
        )

    def original(self, w: np.ndarray) -> np.ndarray:
        """Turn weights of scaled decimals into weights of the columns as they are."""
        if not self.places:
            return w
        return np.concatenate([w[:1], w[1:] * 10.0 ** np.array(self.places)])


def _whole(direction: list[Fraction] | None, intercept: bool) -> Integers:
    """Write a direction as integers ``[b, w_1, ..., w_d]``."""
    values = [*([] if intercept else [Fraction(0)]), *(direction or [])]
    common = lcm(*(v.denominator for v in values))
    return tuple(v.numerator * (common // v.denominator) for v in values)


def _floats(weights: Integers) -> np.ndarray:
    size = max(max(abs(w).bit_length() for w in weights) - 1, 0)
    return np.array([w / (1 << size) for w in weights])


def _infinite(rows: SignedRows, claim: Claim) -> Callable[[], np.ndarray]:
    overlapping = claim.kind == "overlapping"

    def work_out() -> np.ndarray:
        found = infinite_coefficients(rows, claim.direction, claim.basis, overlapping)
        return found if rows.fit_intercept else np.concatenate([[0.0], found])

    return work_out


def _separable(about: _About, rows: SignedRows, claim: Claim) -> Verdict | None:
    problem = about.problem
    weights = _whole(claim.direction, problem.fit_intercept)
    w = _floats(weights)
    least, _ = margin_range(problem, w[None])
    if least > 0 and problem.n_samples * problem.dimension <= MOST_ENTRIES and not about.places:
        w, least = _widened(rows, problem, w, least)
    certificate: Callable[[], Partition | Separation]
    if least > 0 and not about.places:
        certificate = lambda: check_separation(problem, w, about.classes)  # noqa: E731
    elif (margin_signs(problem, weights) > 0).all():
        certificate = lambda: about.partition("separation", claim, sha256(problem))  # noqa: E731
    else:
        return None
    original = about.original(w)
    largest = float(np.abs(original[1:]).max(initial=0.0))
    margin = None
    if least > 0 and largest > 0.0:
        length = float(np.linalg.norm(original[1:] / largest))  # neither over- nor underflows
        margin = float(least / Fraction(largest)) / length
    return Verdict(
        "separable",
        weights=original[1:],
        intercept=float(original[0]),
        margin=margin,
        infinite=_infinite(rows, claim),
        certificate=certificate,
        classes=about.classes,
        n_rows=problem.n_samples,
    )


def _widened(
    rows: SignedRows, problem: SignedProblem, w: np.ndarray, least: Fraction
) -> tuple[np.ndarray, Fraction]:
    """Look for a larger margin, and take it if it is proved to separate."""
    start = 0 if rows.fit_intercept else 1
    found = np.concatenate([np.zeros(start), larger_margin(rows, w[start:])])
    if not np.isfinite(found).all():
        return w, least
    proved, _ = margin_range(problem, found[None])
    return (found, proved) if proved > 0 else (w, least)


def _partition(about: _About, rows: SignedRows, claim: Claim) -> Verdict | None:
    problem = about.problem
    kind = "overlap" if claim.kind == "overlapping" else "quasi"
    certificate = about.partition(kind, claim)
    signs = proved_signs(problem, certificate)
    if signs is None:
        return None
    witness = _checked_witness(problem, claim)
    weights = intercept = None
    if kind == "quasi":
        original = about.original(_floats(certificate.weights))
        weights, intercept = original[1:], float(original[0])
    return Verdict(
        claim.kind,
        weights=weights,
        intercept=intercept,
        witness=witness,
        boundary=np.flatnonzero(signs == 0),
        infinite=_infinite(rows, claim),
        certificate=lambda: about.partition(kind, claim, sha256(problem)),
        classes=about.classes,
        n_rows=problem.n_samples,
    )


def _checked_witness(problem: SignedProblem, claim: Claim) -> Witness | None:
    if claim.witness is None:
        return None
    chosen, multipliers = claim.witness
    part = SignedProblem(problem.X[chosen], problem.signs[chosen], problem.fit_intercept)
    if not proves_gordan(part, tuple(multipliers)):
        return None
    order = np.argsort(chosen, kind="stable").tolist()
    return Witness(tuple(chosen[i] for i in order), tuple(multipliers[i] for i in order))
