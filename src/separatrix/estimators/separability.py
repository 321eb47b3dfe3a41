"""``sx.shatter``: which labelings of a few points can a hyperplane make?

    for every y in {0, 1}^n:   is there w with  z_i.w > 0  for all i,   z_i = (2 y_i - 1) [1, x_i] ?

Labelings come in pairs, since -w makes the opposite of what w makes: half of them are decided and
the others follow.

``sx.separability``: validate, then decide and prove.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from itertools import product
from math import comb
from string import ascii_uppercase
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.certificates.partition import Partition, is_witness, proved_signs
from separatrix.certificates.separation import Separation, check_separation, margin_range
from separatrix.core import separability as core
from separatrix.core.verdict import (
    KINDS,
    Verdict,
    Witness,
    hyperplane_follows,
    separability_of,
    verdict_on,
)
from separatrix.data.partitions import Partitions
from separatrix.errors import DataError
from separatrix.estimators._validate import training_data
from separatrix.problem.exact import SignedRows
from separatrix.problem.exact_sums import modular_rank
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.signed import SignedProblem, refuse_rounded
from separatrix.solvers.separability.ball_simplex import alternative

__all__ = [
    "Labeling",
    "Shattering",
    "cover_count",
    "name_case",
    "separability",
    "shatter",
]


FORMAT = "separatrix-shattering-1"
MOST_POINTS = 12
_LINES_SHOWN = 16
_CLASSES = ("0", "1")
SAME, LINE, TRIANGLE, DIAGONALS = "same point", "on the line", "inside the triangle", "diagonals"
SIMPLEX, HULLS, CANCEL = "inside the simplex", "hulls meet", "vectors cancel"


def shatter(points: Any, fit_intercept: bool = True, *, names: Any = None) -> Shattering:
    """Decide all 2^n labelings of n points, and prove each answer.

    Parameters
    ----------
    points : array
        n points of d coordinates, 12 points at most.
    fit_intercept : bool, default=True
        Whether the hyperplanes may miss the origin.
    names : list of str or None, default=None
        A name for each point; None is A, B, C and so on.

    Returns
    -------
    Shattering
        Every labeling, in the order of counting, each with its verdict and proof.

    See Also
    --------
    separability : the verdict of one labeling.
    bounds.vc : what the VC dimension says about new rows.

    Examples
    --------
    Three points in the plane are shattered, four are not:

    >>> import separatrix as sx
    >>> sx.shatter([[0, 0], [1, 0], [0, 1]]).shattered
    True
    >>> print(sx.shatter([[0, 0], [1, 0], [1, 1], [0, 1]]))
    Not shattered: hyperplanes make 14 of the 16 labelings of these 4 points in 2 dimensions.
    Cover's count in general position is 14: these points are in general position.
      0101  impossible: the diagonals AC and BD of the convex quadrilateral ABCD cross
      1010  impossible: the diagonals AC and BD of the convex quadrilateral ABCD cross
    """
    X = _checked_points(points)
    names = _checked_names(names, len(X))
    half = [
        _decided(X, (0, *rest), fit_intercept, names) for rest in product((0, 1), repeat=len(X) - 1)
    ]
    whole = [*half, *(_mirrored(labeling, X) for labeling in reversed(half))]
    return Shattering(X, names, tuple(whole), fit_intercept)


def _checked_points(points: Any) -> np.ndarray:
    try:
        refuse_rounded(points)
        X = np.array(points, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"points must be rows of numbers, all of one length: {error}.") from error
    if X.ndim != 2 or 0 in X.shape:
        raise DataError(f"points must be rows of coordinates. Got the shape {X.shape} instead.")
    if len(X) > MOST_POINTS:
        raise DataError(
            f"{len(X)} points have 2^{len(X)} labelings, too many to list: shatter takes at most "
            f"{MOST_POINTS} points. Ask sx.separability about single labelings."
        )
    if not np.isfinite(X).all():
        row, column = (int(k) for k in np.argwhere(~np.isfinite(X))[0])
        raise DataError(f"point {row} has {X[row, column]} as coordinate {column}.")
    return X


def _checked_names(names: Any, count: int) -> tuple[str, ...]:
    if names is None:
        return tuple(ascii_uppercase[:count])
    listed = tuple(str(name) for name in names)
    if len(listed) != count or len(set(listed)) != count:
        raise ValueError(f"names must be {count} different texts. Got {list(listed)} instead.")
    return listed


def _decided(
    X: np.ndarray, labels: tuple[int, ...], fit_intercept: bool, names: tuple[str, ...]
) -> Labeling:
    problem = SignedProblem(X, 2.0 * np.array(labels) - 1.0, fit_intercept)
    verdict = verdict_on(problem, _CLASSES)
    certificate = verdict.certificate
    if certificate is None:
        raise DataError(
            "a labeling could not be decided: the coordinates differ by hundreds of orders of "
            "magnitude. Scale them."
        )
    if verdict.kind == "separable":
        return Labeling(
            labels, verdict.kind, verdict.weights, verdict.intercept, None, "", "", certificate
        )
    witness = _fewest_rows(problem, verdict.witness)
    case, reason = _named_case(labels, witness, names, fit_intercept)
    return Labeling(labels, verdict.kind, None, None, witness, case, reason, certificate)


def _named_case(
    labels: tuple[int, ...], witness: Witness, names: tuple[str, ...], fit_intercept: bool
) -> tuple[str, str]:
    """Name the reason that a witness gives, and say it with the names of the points."""
    sides: list[list[str]] = [[], []]
    for row in witness.rows:
        sides[labels[row] ^ labels[0]].append(names[row])  # the opposite labels say the same
    return name_case(sides[0], sides[1], fit_intercept)


def _fewest_rows(problem: SignedProblem, witness: Witness | None) -> Witness:
    """Leave out rows until the others are needed: a basic solution has no row to spare."""
    assert witness is not None, "a checked verdict that no hyperplane separates has a witness"
    rows = np.array(witness.rows)
    integers = SignedRows(problem.X, problem.signs, problem.fit_intercept).integers
    answer = alternative(integers.lists(rows), most_work=np.inf)
    multipliers = None if answer is None else answer.multipliers
    assert multipliers is not None, "the rows of a witness cancel"
    kept = [(int(r), m) for r, m in zip(rows, multipliers, strict=True) if m]
    return Witness(tuple(r for r, _ in kept), tuple(m for _, m in kept))


def _mirrored(labeling: Labeling, X: np.ndarray) -> Labeling:
    """Return the verdict on the opposite labels: -w in place of w, and the same witness."""
    labels = tuple(1 - label for label in labeling.labels)
    proof = labeling.certificate
    problem = SignedProblem(X, 2.0 * np.array(labels) - 1.0, proof.intercept)
    opposite: Partition | Separation
    if isinstance(proof, Partition):
        weights = tuple(-w for w in proof.weights)
        opposite = replace(proof, weights=weights, data_sha256=fingerprint(problem))
    else:
        opposite = check_separation(problem, -np.array(proof.weights[0]), _CLASSES)
    return replace(
        labeling,
        labels=labels,
        weights=None if labeling.weights is None else -labeling.weights,
        intercept=None if labeling.intercept is None else -labeling.intercept,
        certificate=opposite,
    )


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
        """Prove the verdict again from the points, in exact arithmetic.

        The words of `case` and `reason` need the names of the points: `Shattering.check`.
        """
        signs, proof = np.where(np.array(self.labels) == 1, 1.0, -1.0), self.certificate
        problem = SignedProblem(np.asarray(points, dtype=np.float64), signs, proof.intercept)
        if self.kind != KINDS[proof.kind]:
            return False
        if isinstance(proof, Partition) and proved_signs(problem, proof) is None:
            return False
        if (
            isinstance(proof, Separation)
            and not margin_range(problem, np.array(proof.weights))[0] > 0
        ):
            return False
        if self.possible:
            return self.witness is None and hyperplane_follows(self, proof)
        found = self.witness
        if found is None or not is_witness(problem, found.rows, found.multipliers):
            return False
        # The case is named after its points: none of them may be to spare.
        rank = modular_rank(problem.X[list(found.rows)], problem.fit_intercept)
        bare = self.weights is None and self.intercept is None
        return bare and rank == len(found.rows) - 1

    def __str__(self) -> str:
        """Say the verdict in one line."""
        return f"{self.text}  {'possible' if self.possible else f'impossible: {self.reason}'}"


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
        listed = list(product((0, 1), repeat=len(self.points)))
        return [each.labels for each in self.labelings] == listed and all(
            each.certificate.intercept is self.intercept
            and each.check(self.points)
            and (each.case, each.reason) == self._words_of(each)
            for each in self.labelings
        )

    def _words_of(self, labeling: Labeling) -> tuple[str, str]:
        """Return case and reason of a labeling that has been checked."""
        if labeling.witness is None:
            return "", ""
        return _named_case(labeling.labels, labeling.witness, self.names, self.intercept)

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
    return {
        "labels": labeling.text,
        "kind": labeling.kind,
        "case": labeling.case,
        "reason": labeling.reason,
        "witness": labeling.witness and labeling.witness.plain(),
        "certificate": json.loads(labeling.certificate.to_json()),
    }


# ---- ``sx.separability``: validate, then decide and prove


class Separability(core.Separability, BaseEstimator):
    """Gives messages about X and y a name to speak of."""


def separability(
    X: Any, y: Any = None, fit_intercept: bool = True, *, decimal: bool = False
) -> Verdict:
    """Decide whether a hyperplane separates two classes, and prove the answer.

    Parameters
    ----------
    X : array, sparse matrix or partitions
        n rows of d features, or the answer of `sx.open_partitions`.
    y : array or None, default=None
        n labels of two classes; the second in sorted order is the positive one. None for
        partitions, which hold their labels.
    fit_intercept : bool, default=True
        Whether the hyperplane may miss the origin.
    decimal : bool, default=False
        Decide on the shortest decimal of each stored float (0.1 is one tenth) instead of on the
        float: the decimal as written, if that has up to 15 digits.

    Returns
    -------
    Verdict
        `kind` says which; hyperplane, witness and certificate prove it.

    See Also
    --------
    Verdict : the answer.
    shatter : every labeling of a few points.
    LinearProgramHalfspace : a separating hyperplane by linear programming.
    inference : logistic regression where some estimates are infinite.

    Examples
    --------
    >>> import separatrix as sx
    >>> square = [[0, 0], [1, 1], [0, 1], [1, 0]]
    >>> verdict = sx.separability(square, ["same", "same", "other", "other"])
    >>> verdict.kind, verdict.witness.multipliers
    ('overlapping', (1, 1, 1, 1))
    >>> verdict.certificate.check(square, ["same", "same", "other", "other"])
    True
    """
    if isinstance(X, Partitions):
        if decimal:
            raise ValueError("decimal=True is for rows in memory.")
        from separatrix.core.partitioned import local_rows
        from separatrix.core.partitioned_verdict import verdict_on_rows

        return verdict_on_rows(local_rows(X), fit_intercept)
    X, y = training_data(Separability(), X, y)
    return separability_of(X, y, fit_intercept, decimal=decimal)
