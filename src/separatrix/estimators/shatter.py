"""``sx.shatter``: which labelings of a few points can a hyperplane make?

    for every y in {0, 1}^n:   is there w with  z_i.w > 0  for all i,   z_i = (2 y_i - 1) [1, x_i] ?

Labelings come in pairs, since -w makes the opposite of what w makes: half of them are decided and
the others follow.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from string import ascii_uppercase
from typing import Any

import numpy as np

from separatrix.certificates.canonical import sha256
from separatrix.certificates.partition import Partition
from separatrix.certificates.separation import Separation, check_separation
from separatrix.core.separability import verdict_on
from separatrix.core.verdict import Witness
from separatrix.errors import DataError
from separatrix.estimators.shattering import Labeling, Shattering, name_case
from separatrix.problem.exact import SignedRows
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.separability.ball_simplex import alternative

__all__ = ["shatter"]

MOST_POINTS = 12
_CLASSES = ("0", "1")


def shatter(points: Any, fit_intercept: bool = True, *, names: Any = None) -> Shattering:
    """Decide all 2^n labelings of n points, and prove each answer.

    Parameters
    ----------
    points : array, n points x d coordinates, 12 points at most
    fit_intercept : bool
        Whether the hyperplanes may miss the origin.
    names : n texts, or None for A, B, C, ...

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
    sides: list[list[str]] = [[], []]
    for row in witness.rows:
        sides[labels[row]].append(names[row])
    case, reason = name_case(sides[0], sides[1], fit_intercept)
    return Labeling(labels, verdict.kind, None, None, witness, case, reason, certificate)


def _fewest_rows(problem: SignedProblem, witness: Witness | None) -> Witness:
    """Leave out rows until the others are needed: a basic solution has no row to spare."""
    assert witness is not None, "a checked verdict that no hyperplane separates has a witness"
    rows = np.array(witness.rows)
    integers = SignedRows(problem.X, problem.signs, problem.fit_intercept).integers
    answer = alternative(integers.lists(rows), seconds=np.inf)
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
        opposite = replace(proof, weights=weights, data_sha256=sha256(problem))
    else:
        opposite = check_separation(problem, -np.array(proof.weights[0]), _CLASSES)
    return replace(
        labeling,
        labels=labels,
        weights=None if labeling.weights is None else -labeling.weights,
        intercept=None if labeling.intercept is None else -labeling.intercept,
        certificate=opposite,
    )
