"""``sx.bounds``: what errors on training rows say about new rows, and when they say nothing.

Vapnik's inequality, with probability at least `confidence` = 1 - eta over the L rows drawn:

    R  <=  R_emp + R_str(h, L),    R_str = sqrt((h (ln(2 L / h) + 1) - ln(eta / 4)) / L)

for every rule of a class with VC dimension h at once. Every answer is an object: the number, the
assumptions it stands on in words, and whether it says anything at all (a bound of 1 or more does
not). Only the standard library is imported here; a binomial interval imports SciPy.

See Also
--------
SealedTest : an error with an exact interval, from rows that chose nothing.
shatter : every labeling of a few points.

Examples
--------
>>> bound = vc(errors=3, n=1000, capacity=halfspace_dimension(2))
>>> round(bound.value, 3), bound.is_vacuous
(0.167, False)
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from separatrix.checker.exact import at_least, at_most

__all__ = [
    "Bound",
    "Interval",
    "SampleSize",
    "StructuralRisk",
    "binomial",
    "consistent",
    "halfspace_dimension",
    "margin",
    "margin_capacity",
    "sample_size",
    "structural_risk",
    "vc",
]

_DRAWN = "the rows were drawn independently, from the distribution that new rows will come from"
_FIXED = "the class of rules was fixed before the rows were seen"
_UNSEEN = "the rule was fixed before it met these rows, neither trained nor chosen on them"
_STRUCTURAL = "sqrt((h (ln(2 L / h) + 1) - ln(eta / 4)) / L)"
_CONSISTENT = "2 (h log2(2 e L / h) + log2(2 / eta)) / L"
_MOST_ROWS = 10**18


@dataclass(frozen=True)
class Bound:
    """An upper bound on the error on new rows.

    `value` is `empirical` + `structural`: the error seen and what the class's capacity may hide.
    It is not cut at 1, so that bounds can be compared; at 1 or more it says nothing (`is_vacuous`).
    """

    value: float
    empirical: float
    structural: float
    capacity: int
    n: int
    confidence: float
    formula: str
    assumptions: tuple[str, ...]
    name: str = ""

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound says no more than that an error rate is at most 1."""
        return self.value >= 1.0

    def __str__(self) -> str:
        """Say what is bounded, or that nothing is, and on which assumptions."""
        parts = f"{self.empirical:.4g} on {self.n} rows + {self.structural:.4g} for capacity"
        if self.is_vacuous:
            head = (
                f"The bound is {self.value:.4g}, which says nothing: every error rate is at most 1 "
                f"({parts} {self.capacity})."
            )
        else:
            head = (
                f"With probability {at_least(Fraction(repr(self.confidence)), 6)} the error on "
                f"new rows is at most {at_most(self.value, 4)} ({parts} {self.capacity}), for "
                "every rule of the class at once."
            )
        return f"{head} Provided that {'; '.join(self.assumptions)}."


@dataclass(frozen=True)
class Interval:
    """Where an error rate lies, from the errors of one fixed rule on rows it has not seen."""

    lower: float
    upper: float
    errors: int
    n: int
    confidence: float
    assumptions: tuple[str, ...]

    @property
    def rate(self) -> float:
        """The error rate seen."""
        return self.errors / self.n

    @property
    def value(self) -> float:
        """The upper end."""
        return self.upper

    @property
    def is_vacuous(self) -> bool:
        """Whether the interval leaves no error rate out."""
        return self.lower <= 0.0 and self.upper >= 1.0

    def __str__(self) -> str:
        """Say where the rate lies and on which assumptions."""
        return (
            f"{self.errors} errors in {self.n} rows: with confidence "
            f"{at_least(Fraction(repr(self.confidence)), 6)} the error rate lies between "
            f"{at_least(self.lower, 4)} and {at_most(self.upper, 4)}. Provided that "
            f"{'; '.join(self.assumptions)}."
        )


@dataclass(frozen=True)
class SampleSize:
    """How many rows make the capacity term no larger than `error`."""

    value: int
    error: float
    capacity: int
    confidence: float
    consistent: bool
    formula: str
    assumptions: tuple[str, ...]

    def __str__(self) -> str:
        """Say how many rows are enough for what."""
        if self.consistent:
            what = (
                f"every rule without training errors errs on new rows at a rate of {self.error:g}"
            )
        else:
            what = f"the error on new rows exceeds that on the training rows by {self.error:g}"
        return (
            f"{self.value} rows are enough: with probability {self.confidence:g} {what} at most. "
            f"Provided that {'; '.join(self.assumptions)}."
        )


@dataclass(frozen=True)
class StructuralRisk:
    """Nested classes, each with its bound, and the one whose bound is least."""

    bounds: tuple[Bound, ...]
    confidence: float

    @property
    def chosen(self) -> Bound:
        """The class of least bound; of equals, the smallest class."""
        return min(self.bounds, key=lambda bound: bound.value)

    @property
    def is_vacuous(self) -> bool:
        """Whether no class has a bound that says anything."""
        return self.chosen.is_vacuous

    def table(self) -> list[dict[str, float | int | str | bool]]:
        """Return a row for each class."""
        return [
            {
                "class": bound.name,
                "capacity": bound.capacity,
                "empirical": bound.empirical,
                "structural": bound.structural,
                "bound": bound.value,
                "chosen": bound is self.chosen,
            }
            for bound in self.bounds
        ]

    def __str__(self) -> str:
        """Write the table, and below it the choice."""
        width = max(5, *(len(bound.name) for bound in self.bounds))
        lines = [f"{'class':<{width}}  capacity  training error  capacity term   bound"]
        for bound in self.bounds:
            mark = "  <- least" if bound is self.chosen else ""
            lines.append(
                f"{bound.name:<{width}}  {bound.capacity:>8}  {bound.empirical:>14.4f}  "
                f"{bound.structural:>13.4f}  {bound.value:>6.4f}{mark}"
            )
        lines.append(
            "No bound is below 1: they say nothing about new rows, though they may be compared."
            if self.is_vacuous
            else f"With probability {self.confidence:g} all bounds hold at once; the least is that "
            f"of {self.chosen.name}."
        )
        return "\n".join(lines)


# ---- capacities


def halfspace_dimension(features: int, intercept: bool = True) -> int:
    """Return the VC dimension of halfspaces: d + 1, or d for those through the origin.

    Parameters
    ----------
    features : int
        The number of columns, d.
    intercept : bool, default=True
        Whether hyperplanes may miss the origin.

    Returns
    -------
    int

    >>> halfspace_dimension(2), halfspace_dimension(2, intercept=False)
    (3, 2)
    """
    _whole("features", features, 1)
    return int(features) + bool(intercept)


def margin_capacity(radius: float, margin: float, features: int | None = None) -> int:
    """Return the capacity of hyperplanes with a margin: ``h <= min(R^2 / m^2, D) + 1``.

    The rows lie in a ball of that radius, and the margin is the distance from the hyperplane to the
    nearest row. The quotient is computed without rounding and its whole part taken.

    Parameters
    ----------
    radius, margin : float
        Above 0.
    features : int or None, default=None
        The number of columns, D; None where it does not count.

    Returns
    -------
    int

    >>> margin_capacity(radius=3.0, margin=1.0), margin_capacity(3.0, 1.0, features=2)
    (10, 3)
    """
    _positive("radius", radius)
    _positive("margin", margin)
    capacity = math.floor(Fraction(radius) ** 2 / Fraction(margin) ** 2)
    if features is not None:
        _whole("features", features, 1)
        capacity = min(capacity, int(features))
    return capacity + 1


# ---- bounds


def vc(
    errors: int, n: int, capacity: int, confidence: float = 0.95, *, strict: bool = False
) -> Bound:
    """Bound the error on new rows from the errors on n training rows, by Vapnik's inequality.

    Parameters
    ----------
    errors, n : int
        The errors on n training rows.
    capacity : int
        The VC dimension of the class (`halfspace_dimension`).
    confidence : float, default=0.95
        With what probability the bound is to hold.
    strict : bool, default=False
        Add the 1 / n that Vapnik's proof of 1998 carries and most texts leave out.

    Returns
    -------
    Bound

    >>> bound = vc(errors=3, n=1000, capacity=3)
    >>> round(bound.value, 4), bound.is_vacuous
    (0.167, False)
    >>> vc(errors=0, n=50, capacity=30).is_vacuous
    True
    """
    _counts(errors, n)
    _whole("capacity", capacity, 1)
    eta = _eta(confidence)
    structural = _structural(capacity, n, eta) + (1.0 / n if strict else 0.0)
    formula = f"R_emp + {_STRUCTURAL}" + " + 1 / L" * strict
    rate = errors / n
    about = (int(capacity), int(n), confidence, formula, (_DRAWN, _FIXED))
    return Bound(rate + structural, rate, structural, *about)


def margin(
    errors: int,
    n: int,
    radius: float,
    margin: float,
    features: int | None = None,
    confidence: float = 0.95,
) -> Bound:
    """Bound the error on new rows of hyperplanes with a margin.

    The capacity is `margin_capacity`, whatever the number of features.

    Parameters
    ----------
    errors, n : int
        The errors on n training rows; a row inside the margin counts as one.
    radius, margin, features
        As in `margin_capacity`.
    confidence : float, default=0.95
        With what probability the bound is to hold.

    Returns
    -------
    Bound

    >>> margin(errors=0, n=10_000, radius=5.0, margin=1.0).capacity
    26
    """
    bound = vc(errors, n, margin_capacity(radius, margin, features), confidence)
    return replace(
        bound,
        formula=f"{bound.formula}, h = min(R^2 / m^2, D) + 1",
        assumptions=(
            _DRAWN,
            "radius and margin were fixed before the rows were seen (one that was measured on the "
            "training rows is not: let structural_risk choose among margins fixed in advance)",
            "all rows, new ones too, lie in the ball of that radius",
            "training rows closer to the hyperplane than the margin are counted as errors",
        ),
    )


def consistent(n: int, capacity: int, confidence: float = 0.95) -> Bound:
    """Bound the error on new rows of every rule without a training error.

    ``R <= 2 (h log2(2 e n / h) + log2(2 / eta)) / n`` (Blumer et al. 1989): of order h / n where
    Vapnik's general bound is of order sqrt(h / n).

    Parameters
    ----------
    n, capacity : int
        Training rows, and the VC dimension of the class.
    confidence : float, default=0.95
        With what probability the bound is to hold.

    Returns
    -------
    Bound

    >>> consistent(n=1000, capacity=3).value < vc(0, 1000, 3).value
    True
    """
    _whole("n", n, 1)
    _whole("capacity", capacity, 1)
    structural = _consistent(capacity, n, _eta(confidence))
    assumed = (_DRAWN, _FIXED, "the rule makes no training error, and that is proved")
    about = (int(capacity), int(n), confidence, _CONSISTENT, assumed)
    return Bound(structural, 0.0, structural, *about)


def sample_size(
    capacity: int, error: float, confidence: float = 0.95, *, consistent: bool = False
) -> SampleSize:
    """Return how many rows make the capacity term at most `error`.

    Parameters
    ----------
    capacity : int
        The VC dimension of the class.
    error : float
        What the capacity term may come to.
    confidence : float, default=0.95
        With what probability the bound is to hold.
    consistent : bool, default=False
        For rules without training errors: far fewer rows are enough.

    Returns
    -------
    SampleSize

    >>> sample_size(capacity=3, error=0.05).value
    13916
    >>> sample_size(capacity=3, error=0.05, consistent=True).value
    1593
    """
    _whole("capacity", capacity, 1)
    _positive("error", error)
    eta = _eta(confidence)
    term = _consistent if consistent else _structural
    # The terms fall as rows are added.
    rows = range(1, _MOST_ROWS)
    place = bisect_left(rows, True, key=lambda n: term(capacity, n, eta) <= error)
    if place == len(rows):
        raise ValueError(f"error={error!r} would need more than {_MOST_ROWS:.0e} rows.")
    formula = f"least L with {_CONSISTENT if consistent else _STRUCTURAL} <= error"
    last = ("the rule makes no training error",) if consistent else ()
    return SampleSize(
        rows[place], error, int(capacity), confidence, consistent, formula, (_DRAWN, _FIXED, *last)
    )


def structural_risk(
    classes: Iterable[tuple[str, int, int]], n: int, confidence: float = 0.95
) -> StructuralRisk:
    """Compare nested classes, given as (name, capacity, errors), by their bounds.

    Parameters
    ----------
    classes : iterable of (str, int, int)
        Name, capacity and training errors of each, from the smallest class on.
    n : int
        The number of training rows.
    confidence : float, default=0.95
        With what probability all bounds hold at once: each gets an equal share of the rest.

    Returns
    -------
    StructuralRisk

    >>> risk = structural_risk([("line", 3, 180), ("conic", 6, 20), ("cubic", 10, 18)], n=1000)
    >>> risk.chosen.name
    'conic'
    """
    listed = list(classes)
    if not listed:
        raise ValueError("structural_risk needs at least one class.")
    eta = _eta(confidence)
    capacities = [capacity for _, capacity, _ in listed]
    if sorted(capacities) != capacities:
        raise ValueError(
            f"classes must be nested, so their capacities may not fall. Got {capacities} instead."
        )
    assumed = (_DRAWN, "the classes were fixed before the rows were seen")
    bounds = (
        replace(vc(errors, n, h, 1.0 - eta / len(listed)), name=str(name), assumptions=assumed)
        for name, h, errors in listed
    )
    return StructuralRisk(tuple(bounds), confidence)


def binomial(errors: int, n: int, confidence: float = 0.95) -> Interval:
    """Return the exact (Clopper-Pearson) interval for an error rate, from a test set.

    Parameters
    ----------
    errors, n : int
        The errors on n rows that the rule had not met.
    confidence : float, default=0.95
        The interval covers the true rate with at least this probability, whatever the rate; both
        sides share the rest equally.

    Returns
    -------
    Interval

    >>> interval = binomial(errors=0, n=100)
    >>> interval.lower, round(interval.upper, 4)
    (0.0, 0.0362)
    """
    from scipy.special import betaincinv

    _counts(errors, n)
    tail = _eta(confidence) / 2.0
    lower = float(betaincinv(errors, n - errors + 1, tail)) if errors > 0 else 0.0
    # By symmetry, so that the far tail is never computed as one minus nearly one.
    upper = 1.0 - float(betaincinv(n - errors, errors + 1, tail)) if errors < n else 1.0
    return Interval(lower, upper, int(errors), int(n), confidence, (_DRAWN, _UNSEEN))


# ---- formulas


def _structural(capacity: int, n: int, eta: float) -> float:
    """Return R_str; no class makes more than 2^(2 L) labelings, so h never counts for more."""
    spread = capacity * (math.log(2.0 * n / capacity) + 1.0) if capacity < 2 * n else 2.0 * n
    return math.sqrt((spread - math.log(eta / 4.0)) / n)


def _consistent(capacity: int, n: int, eta: float) -> float:
    ratio = 2.0 * math.e * n / capacity
    spread = capacity * math.log2(ratio) if capacity < 2 * n else 2.0 * n * math.log2(math.e)
    # The inequality is proved for n >= 8 / R only.
    return max(2.0 * (spread + math.log2(2.0 / eta)) / n, 8.0 / n)


def _eta(confidence: float) -> float:
    if not (isinstance(confidence, int | float) and 0.0 < confidence < 1.0):
        raise ValueError(f"confidence must lie between 0 and 1. Got {confidence!r} instead.")
    return 1.0 - confidence


def _counts(errors: int, n: int) -> None:
    _whole("n", n, 1)
    _whole("errors", errors, 0)
    if errors > n:
        raise ValueError(f"errors must be at most n = {n}. Got {errors} instead.")


def _whole(name: str, value: int, least: int) -> None:
    """Accept Python's and NumPy's whole numbers, and nothing else."""
    is_whole = hasattr(value, "__index__") and not isinstance(value, bool)
    if not is_whole or value < least:
        raise ValueError(f"{name} must be a whole number, {least} or more. Got {value!r} instead.")


def _positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(f"{name} must be a number above 0. Got {value!r} instead.")
