"""What ``sx.bounds`` answers: numbers, the assumptions they stand on, and when they say nothing.

A bound on an error rate that is 1 or more is true of everything: `is_vacuous` says so, and so does
the sentence.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Bound", "Interval", "SampleSize", "StructuralRisk"]


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
                f"With probability {self.confidence:g} the error on new rows is at most "
                f"{self.value:.4g} ({parts} {self.capacity}), for every rule of the class at once."
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
            f"{self.errors} errors in {self.n} rows: with confidence {self.confidence:g} the error "
            f"rate lies between {self.lower:.4g} and {self.upper:.4g}. Provided that "
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
