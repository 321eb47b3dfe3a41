"""Fewest training errors over all hyperplanes.

    min over w  sum_i s_i [ w.z_i <= 0 ]        z_i = y_i [1, x_i],  s_i whole

Hard in general (Johnson and Preparata 1978). In one to three dimensions all cells are looked at
(``cells``). Otherwise bounds close in from both sides: a local search finds a w with few
errors (``search``), and Gordan witnesses, each of which holds a row that is wrong for
every w, tell how many cannot be avoided (``branch``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from separatrix.solvers.zero_one.branch import Branching, ExactWitnesses, Node, Witness
from separatrix.solvers.zero_one.cells import best_sides, turns_needed
from separatrix.solvers.zero_one.hitting_set import Dual
from separatrix.solvers.zero_one.search import few_errors

__all__ = ["Found", "fewest_errors"]

_TURNS_A_SECOND = 2e6
_MOST_IN_SPACE = 200  # points: so that the exact recount of a plane's turns stays within seconds
_SEARCH_SHARE = 0.15
_WIDE_GAP = 5  # errors between what is attained and what the root proves
_STALE = 600


@dataclass(frozen=True)
class Case:
    """A row is wrong, or it is right."""

    row: int
    wrong: Case | Dual
    right: Case | Dual


@dataclass
class Found:
    """Sides of all points for the best hyperplane, and what bounds the errors from below.

    `by` is "cells" where all cells were looked at; otherwise `tree` over `witnesses` proves
    `lower`, `believed` is what the solver holds without proof, and `w` are weights that have, in
    floats, the sides, or nearly so where the cell is thinner than rounding.
    """

    sides: np.ndarray
    cost: int
    by: str
    lower: int = 0
    believed: int = 0
    witnesses: list[Witness] = field(default_factory=list)
    tree: Case | Dual | None = None
    rounds: int = 0
    w: np.ndarray | None = None


def fewest_errors(
    points: np.ndarray, signs: np.ndarray, masses: np.ndarray, seconds: float, seed: int = 0
) -> Found:
    """Find sides with few errors and witnesses that prove them few; the points are different."""
    end = perf_counter() + seconds
    count, dimensions = points.shape
    if count == 0:
        return Found(np.zeros(0), 0, "witnesses")
    few = dimensions < 3 or count <= _MOST_IN_SPACE
    if few and turns_needed(count, dimensions) <= _TURNS_A_SECOND * seconds:
        sides = best_sides(points, np.where(signs < 0, masses, 0), np.where(signs > 0, masses, 0))
        cost = int(masses[sides != signs].sum())
        return Found(sides, cost, "cells", cost, cost, rounds=1)
    columns = _Columns.of(points)
    homogeneous = columns.standardised(points)
    lengths = np.linalg.norm(homogeneous, axis=1)
    rows = np.ascontiguousarray(homogeneous * (signs / lengths)[:, None])
    witnesses = ExactWitnesses(points, signs, lengths)
    branching = Branching(rows, masses, witnesses, seed)
    branching.accept(few_errors(rows, masses, _SEARCH_SHARE * seconds, seed)[1])
    branching.bound_root(end)
    if branching.cost - branching.lower >= _WIDE_GAP:
        # Far from a proof: fewer errors are worth more than the first cases.
        left = min(_SEARCH_SHARE * seconds, end - perf_counter())
        branching.accept(few_errors(rows, masses, left, seed + 1, _STALE, branching.w)[1])
    branching.run(end)
    right = rows @ branching.w > 0.0 if branching.right is None else branching.right
    sides = np.where(right, signs, -signs)
    cost = int(masses[sides != signs].sum())
    found = Found(sides, cost, "witnesses", believed=branching.lower, rounds=branching.nodes)
    found.w = columns.weights(branching.w)
    found.lower, place = branching.proof()
    found.witnesses = [w for k in place if (w := witnesses.exact(branching.pool.sets[k]))]
    if branching.root is not None:
        found.tree = _tree(branching.root, place)
    return found


@dataclass(frozen=True)
class _Columns:
    """Columns divided by powers of two, then shifted and scaled to like size; nothing overflows."""

    exponents: np.ndarray
    middle: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray) -> _Columns:
        exponents = np.frexp(np.abs(points).max(axis=0))[1]
        part = np.ldexp(points, -exponents)
        spread = part.std(axis=0)
        return cls(exponents, part.mean(axis=0), np.where(spread > 0.0, spread, 1.0))

    def standardised(self, points: np.ndarray) -> np.ndarray:
        """Return homogeneous rows."""
        scaled = (np.ldexp(points, -self.exponents) - self.middle) / self.spread
        return np.column_stack([np.ones(len(points)), scaled])

    def weights(self, w: np.ndarray) -> np.ndarray:
        """Return weights of the columns as they are."""
        inner = w[1:] / self.spread
        with np.errstate(over="ignore"):
            return np.concatenate([[w[0] - inner @ self.middle], np.ldexp(inner, -self.exponents)])


def _tree(node: Node, place: dict[int, int]) -> Case | Dual:
    """Write the tree of nodes in the numbers of the witnesses kept."""
    if node.cases is None:
        dual = node.relaxed.dual
        loads = tuple((place[k], v) for k, v in dual.loads if k in place)
        return Dual(loads, dual.denominator)
    return Case(node.row, _tree(node.cases[0], place), _tree(node.cases[1], place))
