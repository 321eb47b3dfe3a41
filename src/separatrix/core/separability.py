"""Separability of rows in memory: decide, and prove what was decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any

import numpy as np

from separatrix.certificates.partition import (
    Integers,
    Partition,
    margin_signs,
    proved_signs,
    proves_gordan,
)
from separatrix.certificates.separation import (
    Separation,
    check_separation,
    divide_down,
    margin_at_most,
    margin_range,
)
from separatrix.core.checks import two_classes
from separatrix.problem.exact import SignedRows, decimal_places, times_powers_of_ten
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.signed import SignedProblem

# Solvers are loaded when rows are decided: to read a verdict needs none of them.
if TYPE_CHECKING:
    from separatrix.solvers.separability.decide import Claim

_ROWS_SHOWN = 6
_DIGITS_SHOWN = 7
_LEAST_SHARE = 1e-9  # of the largest multiplier
_WIDE = 1.5  # bounds farther apart than this say little about the largest margin


@dataclass(frozen=True)
class Witness:
    """Rows whose positive integer multiples ``y_i [1, x_i]`` sum to zero: no w separates them."""

    rows: tuple[int, ...]
    multipliers: tuple[int, ...]

    def plain(self) -> dict[str, Any]:
        """Return the witness as JSON can hold it."""
        return {"rows": list(self.rows), "multipliers": [hex(m) for m in self.multipliers]}

    def __str__(self) -> str:
        """Say it in words: the rows, and their multipliers where these are short."""
        digits = _digits(max(self.multipliers, default=0))
        if digits > _DIGITS_SHOWN:
            return (
                f"{_listed(self.rows)} cannot be separated: positive whole multiples of them, of "
                f"up to {digits} digits, sum to 0; the certificate holds them"
            )
        terms = [
            f"{m} x row {r}"
            for m, r in zip(self.multipliers[:_ROWS_SHOWN], self.rows, strict=False)
        ]
        more = len(self.rows) - len(terms)
        if more > 0:
            terms.append(f"{more} more")
        return f"{_listed(self.rows)} cannot be separated: {' + '.join(terms)} = 0"


def _digits(number: int) -> int:
    """Return how many digits a number has; about so many where it is long.

    >>> _digits(1234567), _digits(10**71)
    (7, 71)
    """
    bits = number.bit_length()
    return len(str(number)) if bits <= 64 else round(bits * 0.30103)


def _listed(rows: tuple[int, ...]) -> str:
    if len(rows) == 1:
        return f"Row {rows[0]}"
    shown = [str(row) for row in rows[:_ROWS_SHOWN]]
    if len(rows) > _ROWS_SHOWN:
        return f"Rows {', '.join(shown)} and {len(rows) - _ROWS_SHOWN} more"
    return f"Rows {', '.join(shown[:-1])} and {shown[-1]}"


@dataclass(frozen=True)
class Widest:
    """Bounds on the largest margin, and the rows and multipliers that prove the upper one."""

    low: float
    high: float
    rows: tuple[int, ...]
    multipliers: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Decision:
    """What was decided, and proved; `Verdict` explains the fields.

    `infinite` and `certificate` take their time, and are worked out when they are called.
    """

    kind: str
    weights: np.ndarray | None = None
    intercept: float | None = None
    margin: float | None = None
    widest: Widest | None = None
    witness: Witness | None = None
    boundary: np.ndarray | None = None
    infinite: Callable[[], np.ndarray] | None = None
    certificate: Callable[[], Partition | Separation] | None = None
    bound: float | None = None
    classes: tuple[str, ...] = ()
    n_rows: int = 0
    note: str = ""


class Separability:
    """Gives messages about X and y a name to speak of."""


def decided_labels(
    X: Any, y: Any, fit_intercept: bool = True, *, decimal: bool = False
) -> Decision:
    """Decide whether a hyperplane separates two classes; X holds finite numbers, y labels.

    `decimal` decides on the shortest decimal of each stored float: the one written, if that has up
    to 15 digits.
    """
    classes, signs = two_classes(Separability(), y, "Set one class against all others: y == {0!r}.")
    names = tuple(str(name) for name in classes)
    problem = SignedProblem(X.astype(np.float64, copy=False), signs, fit_intercept)
    if not decimal:
        return decided_rows(problem, names)
    places = decimal_places(problem.X)
    scaled = SignedProblem(times_powers_of_ten(problem.X, places), signs, fit_intercept)
    decision, stored = decided_rows(scaled, names, places), decided_rows(problem, names)
    if stored.kind == decision.kind:
        return decision
    note = f"This is true of the decimals as written; the stored floats are {stored.kind}."
    return replace(decision, note=note)


def decided_rows(
    problem: SignedProblem, classes: tuple[str, ...], places: Integers = ()
) -> Decision:
    """Decide a signed problem; ``certificates`` checks every claim before it is returned."""
    from separatrix.solvers.separability.decide import decide

    rows = SignedRows(problem.X, problem.signs, problem.fit_intercept)
    claim = decide(rows)
    about = _About(problem, classes, places)
    builders = {"separable": _separable, "quasi-separable": _partition, "overlapping": _partition}
    decision = builders[claim.kind](about, rows, claim) if claim.kind in builders else None
    if decision is not None:
        return decision
    bound = claim.bound if claim.bound is not None else 0.0
    witness = None if places else checked_witness(problem, claim)
    return Decision(
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
            weights=as_integers(claim.direction, problem.fit_intercept)
            if kind != "overlap"
            else (),
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


def as_integers(direction: list[Fraction] | None, intercept: bool) -> Integers:
    """Write a direction as integers ``[b, w_1, ..., w_d]``."""
    values = [*([] if intercept else [Fraction(0)]), *(direction or [])]
    common = lcm(*(v.denominator for v in values))
    return tuple(v.numerator * (common // v.denominator) for v in values)


def as_floats(weights: Integers) -> np.ndarray:
    """Write integers as floats of a moderate size: the same direction, rounded."""
    size = max(max(abs(w).bit_length() for w in weights) - 1, 0)
    return np.array([w / (1 << size) for w in weights])


def _infinite(rows: SignedRows, claim: Claim) -> Callable[[], np.ndarray]:
    overlapping = claim.kind == "overlapping"

    def work_out() -> np.ndarray:
        from separatrix.solvers.separability.decide import decide
        from separatrix.solvers.separability.infinite import infinite_coefficients

        found = infinite_coefficients(rows, claim.direction, claim.basis, overlapping, decide)
        return found if rows.fit_intercept else np.concatenate([[0.0], found])

    return work_out


def _separable(about: _About, rows: SignedRows, claim: Claim) -> Decision | None:
    problem = about.problem
    weights = as_integers(claim.direction, problem.fit_intercept)
    w = as_floats(weights)
    least, _ = margin_range(problem, w[None])
    widest = None
    if least > 0:
        w, least, widest = _widened(about, rows, w, least)
    certificate: Callable[[], Partition | Separation]
    if least > 0 and not about.places:
        certificate = lambda: check_separation(problem, w, about.classes)  # noqa: E731
    elif (margin_signs(problem, weights) > 0).all():
        certificate = lambda: about.partition("separation", claim, fingerprint(problem))  # noqa: E731
    else:
        return None
    original = about.original(w)
    return Decision(
        "separable",
        weights=original[1:],
        intercept=float(original[0]),
        margin=None if widest is None else widest.low,
        widest=widest,
        infinite=_infinite(rows, claim),
        certificate=certificate,
        classes=about.classes,
        n_rows=problem.n_samples,
    )


def _widened(
    about: _About, rows: SignedRows, w: np.ndarray, least: Fraction
) -> tuple[np.ndarray, Fraction, Widest | None]:
    """Look for the largest margin where it is cheap; take what is proved, with its bounds."""
    from separatrix.solvers.separability.decide import MOST_ENTRIES, larger_margin

    problem = about.problem
    if about.places or problem.n_samples * problem.dimension > MOST_ENTRIES:
        return w, least, None
    start = 0 if rows.fit_intercept else 1
    found, slack = larger_margin(rows, w[start:])
    found = np.concatenate([np.zeros(start), found])
    if np.isfinite(found).all():
        proved, _ = margin_range(problem, found[None])
        w, least = (found, proved) if proved > 0 else (w, least)
    chosen = np.flatnonzero(slack > _LEAST_SHARE * slack.max(initial=0.0))
    high = margin_at_most(problem, chosen, slack[chosen])
    low = divide_down(least, w[1:]) if w[1:].any() else 0.0
    if high is None or not 0.0 < low <= high <= _WIDE * low:
        return w, least, None
    return w, least, Widest(low, high, tuple(chosen.tolist()), tuple(slack[chosen].tolist()))


def _partition(about: _About, rows: SignedRows, claim: Claim) -> Decision | None:
    problem = about.problem
    kind = "overlap" if claim.kind == "overlapping" else "quasi"
    certificate = about.partition(kind, claim)
    signs = proved_signs(problem, certificate)
    if signs is None:
        return None
    witness = checked_witness(problem, claim)
    weights = intercept = None
    if kind == "quasi":
        original = about.original(as_floats(certificate.weights))
        weights, intercept = original[1:], float(original[0])
    return Decision(
        claim.kind,
        weights=weights,
        intercept=intercept,
        witness=witness,
        boundary=np.flatnonzero(signs == 0),
        infinite=_infinite(rows, claim),
        certificate=lambda: about.partition(kind, claim, fingerprint(problem)),
        classes=about.classes,
        n_rows=problem.n_samples,
    )


def checked_witness(
    problem: SignedProblem, claim: Claim, numbers: np.ndarray | None = None
) -> Witness | None:
    """Return the witness of a claim, if it is one; `numbers` are those of the rows in the data."""
    if claim.witness is None:
        return None
    chosen, multipliers = claim.witness
    part = SignedProblem(problem.X[chosen], problem.signs[chosen], problem.fit_intercept)
    if not proves_gordan(part, tuple(multipliers)):
        return None
    named = chosen if numbers is None else numbers[chosen].tolist()
    order = np.argsort(named, kind="stable").tolist()
    return Witness(tuple(named[i] for i in order), tuple(multipliers[i] for i in order))
