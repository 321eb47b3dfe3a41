"""Maximum likelihood where the classes are separated: estimates at infinity, finite ends.

The recession cone holds the directions d with y_i x_i'd >= 0 for all rows. Along them the
likelihood never falls. Rows that some such d puts strictly on its own side no longer count in the
limit; the others, on the boundary of every d, decide the supremum and the finite coefficients.

With one coefficient held the same is true of the columns without its own: the rows that count do
not depend on the value held. So the profile is that of these rows, and it is finite on a side
unless the cone has a direction there. All of these questions are decided exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from separatrix.core.separability import decided_rows
from separatrix.problem.exact import SignedRows
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.separability.peeling import peel

_CLASSES = ("0", "1")


@dataclass(frozen=True, eq=False)
class Face:
    """The rows that count in the limit, and a direction that proves that no others do."""

    kind: str
    rows: np.ndarray  # true where a row counts
    direction: tuple[int, ...] = ()  # of the columns, in whole numbers; none where all rows count


def face_of(X: np.ndarray, signs: np.ndarray) -> Face:
    """Decide which rows no direction of the cone puts strictly on its own side."""
    n = len(signs)
    if X.shape[1] == 0:
        return Face("overlapping", np.ones(n, dtype=bool))
    decision = decided_rows(SignedProblem(X, signs, fit_intercept=False), _CLASSES)
    counted = np.ones(n, dtype=bool)
    direction: tuple[int, ...] = ()
    if decision.kind == "separable":
        counted[:] = False
    elif decision.kind == "quasi-separable":
        assert decision.boundary is not None, "a quasi-separation names its boundary"
        counted[:] = False
        counted[decision.boundary] = True
    if decision.kind in ("separable", "quasi-separable") and decision.certificate is not None:
        direction = _whole(decision.certificate().weights)
    return Face(decision.kind, counted, direction)


def boundary_of_columns(X: np.ndarray, signs: np.ndarray, intercept: bool) -> np.ndarray:
    """Return the rows that no direction of single columns puts strictly on its own side, exactly.

    A zero cell of a table is such a column.
    """
    _, live = peel(SignedRows(X, signs, intercept))
    left = np.zeros(len(signs), dtype=bool)
    left[live] = True
    return left


def _whole(weights: object) -> tuple[int, ...]:
    """Return the weights of a certificate, without the intercept, as whole numbers."""
    flat = np.asarray(weights, dtype=object).ravel().tolist()[1:]
    exact = [Fraction(v) for v in flat]
    scale = lcm(*(v.denominator for v in exact))
    return tuple(int(v * scale) for v in exact)


def runs_to(X: np.ndarray, signs: np.ndarray, column: int, side: float) -> Face | None:
    """Return a face whose direction moves one coefficient to this side; None where none does.

    A row more, of that coefficient alone, is strictly on its own side of just such a direction.
    """
    extra = np.zeros((1, X.shape[1]))
    extra[0, column] = 1.0
    face = face_of(np.vstack([X, extra]), np.append(signs, side))
    return None if face.rows[-1] else face
