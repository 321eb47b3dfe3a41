"""Fewest training errors over all hyperplanes.

    min over w  sum_i s_i [ w.z_i <= 0 ]        z_i = y_i [1, x_i],  s_i whole

Hard in general (Johnson and Preparata 1978). In one to three dimensions all cells are looked at
(``zero_one_cells``). Otherwise bounds close in from both sides: a local search finds a w with few
errors; every Gordan witness found among the rows that a w gets right holds a row that must be
wrong, so the rows that are wrong hit all witnesses, and the smallest set that hits those known is
a lower bound. Rows outside a hitting set that can be separated end the search: it is a smallest
set. Otherwise they hold new witnesses (Parker and Ryan 1996; Amaldi, Pfetsch and Trotter 2003).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from separatrix.problem.exact import SignedRows
from separatrix.solvers.hitting_set import Dual, Hitting, Node
from separatrix.solvers.min_norm import SEPARATED, WITNESS, nearest_point
from separatrix.solvers.witness import exact_multipliers
from separatrix.solvers.zero_one_cells import best_sides, turns_needed
from separatrix.solvers.zero_one_search import few_errors

__all__ = ["Found", "fewest_errors"]

Witness = tuple[tuple[int, ...], tuple[int, ...]]

_TURNS_A_SECOND = 2e6
_SEARCH_SHARE = 0.15
_PROOF_SHARE = 0.25
_PACKINGS = 8


@dataclass
class Found:
    """Sides of all points for the best hyperplane, and what bounds the errors from below.

    `by` is "cells" where all cells were looked at; otherwise `tree` over `witnesses` proves
    `lower`, and `believed` is what the solver holds without proof.
    """

    sides: np.ndarray
    cost: int
    by: str
    lower: int = 0
    believed: int = 0
    witnesses: list[Witness] = field(default_factory=list)
    tree: Node | None = None
    rounds: int = 0


def fewest_errors(
    points: np.ndarray, signs: np.ndarray, masses: np.ndarray, seconds: float, seed: int = 0
) -> Found:
    """Find sides with few errors and witnesses that prove them few; the points are different."""
    end = perf_counter() + seconds
    count, dimensions = points.shape
    if count == 0:
        return Found(np.zeros(0), 0, "witnesses")
    if turns_needed(count, dimensions) <= _TURNS_A_SECOND * seconds:
        sides = best_sides(points, np.where(signs < 0, masses, 0), np.where(signs > 0, masses, 0))
        cost = int(masses[sides != signs].sum())
        return Found(sides, cost, "cells", cost, cost, rounds=1)
    return _Pincers(points, signs, masses, end, seed).run()


class _Pincers:
    """Bounds from both sides, closing in."""

    def __init__(
        self, points: np.ndarray, signs: np.ndarray, masses: np.ndarray, end: float, seed: int
    ) -> None:
        self.points, self.signs, self.masses, self.end = points, signs, masses, end
        self.rows = _standardised(points, signs)
        self.rng = np.random.default_rng(seed)
        self.hitting = Hitting(masses)
        self.multipliers: dict[tuple[int, ...], np.ndarray] = {}
        width = self.rows.shape[1]
        self._corral, self._weights = np.empty(width + 2, dtype=np.int64), np.empty(width + 2)
        self._x = np.empty(width)
        self.cost, self.sides = int(masses.sum()), -signs
        self.lower = 0

    def run(self) -> Found:
        """Close in until the bounds meet or the time is spent; then prove what can be proved."""
        seconds = self.end - perf_counter()
        proof_time = _PROOF_SHARE * seconds
        _, w = few_errors(
            self.rows, self.masses, _SEARCH_SHARE * seconds, int(self.rng.integers(2**31))
        )
        self._accept(np.where(self.rows @ w > 0.0, self.signs, -self.signs))
        stop = self.end - proof_time
        self._pack()
        rounds = 0
        while self.lower < self.cost and perf_counter() < stop:
            rounds += 1
            if self._more_witnesses(self.hitting.greedy(self.rng)):
                continue
            mask, bound = self.hitting.optimum(stop - perf_counter())
            self.lower = max(self.lower, int(np.ceil(bound - 1e-6)))
            if mask is None or self.lower >= self.cost:
                break
            if not self._more_witnesses(mask):
                break
        witnesses, tree, proved = self._proved()
        return Found(
            self.sides, self.cost, "witnesses", proved, self.lower, witnesses, tree, rounds
        )

    def _accept(self, sides: np.ndarray) -> None:
        cost = int(self.masses[sides != self.signs].sum())
        if cost < self.cost:
            self.cost, self.sides = cost, sides

    def _nearest(self, alive: np.ndarray) -> tuple[int, np.ndarray]:
        outcome, size = nearest_point(self.rows, alive, self._corral, self._weights, self._x)
        chosen = self._corral[:size].copy()
        if outcome == WITNESS:
            order = np.argsort(chosen)
            key = tuple(chosen[order].tolist())
            self.multipliers.setdefault(key, self._weights[:size][order].copy())
        return int(outcome), chosen

    def _pack(self) -> None:
        """Collect disjoint witnesses, from all rows and from random parts of them."""
        for number in range(_PACKINGS):
            share = 1.0 if number == 0 else 0.7
            alive = self.rng.random(len(self.rows)) < share
            self._disjoint(alive)
            if perf_counter() > self.end:
                return

    def _disjoint(self, alive: np.ndarray) -> int:
        """Add witnesses of the rows alive, each time taking its rows away; return how many."""
        added = 0
        while True:
            outcome, chosen = self._nearest(alive)
            if outcome != WITNESS:
                return added
            added += self.hitting.add(chosen)
            alive[chosen] = False

    def _more_witnesses(self, mask: np.ndarray) -> bool:
        """Look for witnesses outside a hitting set; if there are none, its rows are all errors."""
        outcome, _ = self._nearest(~mask)
        if outcome == SEPARATED:
            margins = self.rows @ self._x
            sides = np.where(margins > 0.0, self.signs, -self.signs)
            if int(self.masses[sides != self.signs].sum()) <= int(self.masses[mask].sum()):
                self._accept(sides)
            return False
        return outcome == WITNESS and self._disjoint(~mask) > 0

    def _proved(self) -> tuple[list[Witness], Node | None, int]:
        """Make witnesses exact, and build a tree that proves as much as time allows."""
        for _ in range(3):
            tree, proved = self._best_tree()
            used = sorted(_used(tree))
            exact = {k: self._exact(self.hitting.sets[k]) for k in used}
            if all(found is not None for found in exact.values()):
                place = {k: number for number, k in enumerate(used)}
                listed = [found for found in exact.values() if found is not None]
                return listed, _renumbered(tree, place), proved
            bad = {k for k, found in exact.items() if found is None}
            self.hitting.sets = [s for k, s in enumerate(self.hitting.sets) if k not in bad]
        return [], None, 0

    def _best_tree(self) -> tuple[Node | None, int]:
        if not self.hitting.sets:
            return None, 0
        relaxed = self.hitting.relaxed()
        if relaxed is None:
            return None, 0
        tree: Node = relaxed[1]
        proved = int(np.ceil(relaxed[0] - 1e-5))
        for target in range(max(self.lower, proved), proved, -1):
            finer = self.hitting.proof(target, self.end)
            if finer is not None:
                return finer, target
            if perf_counter() > self.end:
                break
        return tree, proved

    def _exact(self, rows: tuple[int, ...]) -> Witness | None:
        """Turn a witness in floats into one in integers."""
        chosen = np.array(rows)
        part = SignedRows(self.points[chosen], self.signs[chosen])
        guess = self._guess(part, self.multipliers[rows])
        found = exact_multipliers(part.integers.lists(np.arange(len(rows))), *guess)
        return None if found is None else (rows, tuple(found.multipliers))

    def _guess(self, part: SignedRows, weights: np.ndarray) -> tuple[np.ndarray, None]:
        """Return multipliers of the rows as they are, not scaled to length one."""
        lengths = np.linalg.norm(_homogeneous(part.X, self.points), axis=1)
        return weights / lengths, None


def _scale(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a middle and a size of every column, computed where nothing overflows."""
    exponent = np.frexp(np.abs(points).max(axis=0))[1]
    part = np.ldexp(points, -exponent)
    spread = part.std(axis=0)
    return part.mean(axis=0), np.where(spread > 0.0, spread, 1.0)


def _homogeneous(part: np.ndarray, points: np.ndarray) -> np.ndarray:
    exponent = np.frexp(np.abs(points).max(axis=0))[1]
    middle, spread = _scale(points)
    scaled = (np.ldexp(part, -exponent) - middle) / spread
    return np.column_stack([np.ones(len(part)), scaled])


def _standardised(points: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Return signed homogeneous rows with columns of like size, of length one each."""
    rows = _homogeneous(points, points) * signs[:, None]
    return np.ascontiguousarray(rows / np.linalg.norm(rows, axis=1)[:, None])


def _used(tree: Node | None) -> set[int]:
    if tree is None:
        return set()
    if isinstance(tree, Dual):
        return {k for k, _ in tree.loads}
    return _used(tree.wrong) | _used(tree.right)


def _renumbered(tree: Node | None, place: dict[int, int]) -> Node | None:
    if tree is None:
        return None
    if isinstance(tree, Dual):
        return replace(tree, loads=tuple((place[k], v) for k, v in tree.loads))
    wrong, right = _renumbered(tree.wrong, place), _renumbered(tree.right, place)
    assert wrong is not None, "a case has two branches"
    assert right is not None, "a case has two branches"
    return replace(tree, wrong=wrong, right=right)
