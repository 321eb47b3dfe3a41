"""Every labeling of a few points, each with its verdict: what ``sx.shatter`` returns."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from separatrix.certificates.partition import Partition, is_witness, margin_signs
from separatrix.certificates.separation import Separation, margin_range
from separatrix.core.verdict import Witness
from separatrix.problem.signed import SignedProblem

__all__ = ["Labeling", "Shattering", "cover_count", "name_case"]

FORMAT = "separatrix-shattering-1"
_LINES_SHOWN = 16

SAME, LINE, TRIANGLE, DIAGONALS = "same point", "on the line", "inside the triangle", "diagonals"
SIMPLEX, HULLS, CANCEL = "inside the simplex", "hulls meet", "vectors cancel"


def cover_count(n_points: int, dimension: int) -> int:
    """Return in how many ways a hyperplane divides points in general position (Cover 1965).

    `dimension` is the number of free weights: d + 1 with an intercept, d without.

    >>> [cover_count(n, 3) for n in (3, 4, 5)]
    [8, 14, 22]
    """
    return 2 * sum(comb(n_points - 1, k) for k in range(min(dimension, n_points)))


def name_case(own: list[str], rival: list[str], intercept: bool) -> tuple[str, str]:
    """Name the reason why two groups of points cannot be separated, and say it with their names.

    The groups are minimal: no proof needs fewer points.

    >>> name_case(["D"], ["A", "B", "C"], True)
    ('inside the triangle', 'D lies inside the triangle ABC')
    >>> name_case(["A", "C"], ["B", "D"], True)
    ('diagonals', 'the diagonals AC and BD of the convex quadrilateral ABCD cross')
    """
    few, many = sorted((own, rival), key=len)
    few_text, many_text, size = _joined(few), _joined(many), (len(few), len(many))
    if not intercept:
        return CANCEL, f"positive multiples of {', '.join(own + rival)}, signed, sum to zero"
    if size == (1, 1):
        return SAME, f"{few_text} and {many_text} are the same point"
    if size == (1, 2):
        return LINE, f"{few_text} lies on the line {many_text}, between {many[0]} and {many[1]}"
    if size == (1, 3):
        return TRIANGLE, f"{few_text} lies inside the triangle {many_text}"
    if size == (2, 2):
        around = _joined([few[0], many[0], few[1], many[1]])
        return (
            DIAGONALS,
            f"the diagonals {few_text} and {many_text} of the convex quadrilateral {around} cross",
        )
    if len(few) == 1:
        return SIMPLEX, f"{few_text} lies inside the simplex {many_text}"
    return HULLS, f"the hulls of {few_text} and {many_text} meet"


def _joined(names: list[str]) -> str:
    return ("" if all(len(name) == 1 for name in names) else ", ").join(names)


@dataclass(frozen=True, eq=False)
class Labeling:
    """One way to label the points, and why a hyperplane can or cannot do it.

    `weights` and `intercept` do it where it is `possible`. Where it is not, `witness` holds the
    fewest rows that prove it, `case` names the reason and `reason` says it with the points' names.
    `kind` is the verdict of ``sx.separability`` and `certificate` its proof.
    """

    labels: tuple[int, ...]
    kind: str
    weights: np.ndarray | None
    intercept: float | None
    witness: Witness | None
    case: str
    reason: str
    certificate: Partition | Separation

    @property
    def possible(self) -> bool:
        """Whether some hyperplane labels the points so, strictly."""
        return self.kind == "separable"

    @property
    def text(self) -> str:
        """The labels as the lecture writes them: ``0101``."""
        return "".join(str(label) for label in self.labels)

    def check(self, points: Any) -> bool:
        """Prove the verdict again from the points, in exact arithmetic."""
        signs = np.where(np.array(self.labels) == 1, 1.0, -1.0)
        problem = SignedProblem(
            np.asarray(points, dtype=np.float64), signs, self.certificate.intercept
        )
        if not self.possible:
            return self.witness is not None and _witness_holds(problem, self.witness)
        if isinstance(self.certificate, Partition):
            return bool((margin_signs(problem, self.certificate.weights) > 0).all())
        return margin_range(problem, np.array(self.certificate.weights))[0] > 0

    def __str__(self) -> str:
        """Say the verdict in one line."""
        return f"{self.text}  {'possible' if self.possible else f'impossible: {self.reason}'}"


def _witness_holds(problem: SignedProblem, witness: Witness) -> bool:
    return is_witness(problem, witness.rows, witness.multipliers)


@dataclass(frozen=True, eq=False)
class Shattering:
    """Every labeling of some points with its verdict.

    Attributes
    ----------
    points : array, n x d
    names : tuple of str
    labelings : tuple of Labeling
        All 2^n, in the order of counting: 000, 001, 010, ...
    intercept : bool
        Whether the hyperplanes may miss the origin.
    """

    points: np.ndarray
    names: tuple[str, ...]
    labelings: tuple[Labeling, ...]
    intercept: bool

    @property
    def count(self) -> int:
        """How many labelings are possible."""
        return sum(labeling.possible for labeling in self.labelings)

    @property
    def shattered(self) -> bool:
        """Whether every labeling is possible."""
        return self.count == len(self.labelings)

    @property
    def cover(self) -> int:
        """How many there would be for as many points in general position (Cover's count)."""
        return cover_count(len(self.points), self.points.shape[1] + self.intercept)

    @property
    def general_position(self) -> bool:
        """Whether the points are in general position: exactly then Cover's count is reached."""
        return self.count == self.cover

    @property
    def impossible(self) -> tuple[Labeling, ...]:
        """The labelings that no hyperplane makes."""
        return tuple(labeling for labeling in self.labelings if not labeling.possible)

    def __getitem__(self, labels: str | tuple[int, ...]) -> Labeling:
        """Return a labeling by its labels: ``result["0101"]``."""
        text = labels if isinstance(labels, str) else "".join(str(label) for label in labels)
        if len(text) != len(self.points) or not set(text) <= {"0", "1"}:
            raise KeyError(f"labels must be {len(self.points)} of 0 and 1. Got {text!r} instead.")
        return self.labelings[int(text, 2)]

    def check(self) -> bool:
        """Prove every verdict again from the points, in exact arithmetic."""
        return all(labeling.check(self.points) for labeling in self.labelings)

    def __str__(self) -> str:
        """Say what was found, with a line for each impossible labeling."""
        n, d = self.points.shape
        total = len(self.labelings)
        head = (
            f"{'Shattered' if self.shattered else 'Not shattered'}: hyperplanes"
            f"{'' if self.intercept else ' through the origin'} make {self.count} of the {total} "
            f"labelings of these {n} points in {d} dimension{'s' if d > 1 else ''}."
        )
        general = (
            f"Cover's count in general position is {self.cover}: these points are "
            f"{'' if self.general_position else 'not '}in general position."
        )
        lines = [f"  {labeling}" for labeling in self.impossible[:_LINES_SHOWN]]
        more = len(self.impossible) - len(lines)
        if more > 0:
            lines.append(f"  and {more} more that are impossible")
        return "\n".join([head, general, *lines])

    def __repr__(self) -> str:
        """Return the counts."""
        return f"Shattering({self.count} of {len(self.labelings)} labelings, Cover {self.cover})"

    def to_json(self) -> str:
        """Write all labelings with their proofs; floats in hexadecimal, unrounded."""
        whole = {
            "format": FORMAT,
            "sentence": str(self).splitlines()[0],
            "names": list(self.names),
            "points": [[v.hex() for v in row] for row in self.points.tolist()],
            "intercept": self.intercept,
            "count": self.count,
            "cover": self.cover,
            "shattered": self.shattered,
            "labelings": [_as_json(labeling) for labeling in self.labelings],
        }
        return json.dumps(whole, indent=1)


def _as_json(labeling: Labeling) -> dict[str, Any]:
    witness = labeling.witness
    return {
        "labels": labeling.text,
        "kind": labeling.kind,
        "case": labeling.case,
        "reason": labeling.reason,
        "witness": witness
        and {"rows": list(witness.rows), "multipliers": [hex(m) for m in witness.multipliers]},
        "certificate": json.loads(labeling.certificate.to_json()),
    }
