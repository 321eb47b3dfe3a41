"""Fewest errors from both sides: branch and cut on Gordan witnesses.

    min  sum of s_i over E   subject to  E meets every witness (equivalently: the rest is separable)

A node takes some rows to be wrong and some to be right. Its bound is that of the relaxed hitting
set; witnesses that the relaxation violates are looked for among the rows that it hits little, and
tighten it. The node of least bound is divided next, at a row that the relaxation leaves undecided.
Whatever the time allows, the tree as it stands proves the least bound of its leaves.
(Parker and Ryan 1996; Amaldi, Pfetsch and Trotter 2003.)

Witnesses that floats propose are made exact at once, in integers; where that fails, the slow and
exact decision on all rows in question takes over.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from fractions import Fraction
from time import perf_counter

import numpy as np

from separatrix.problem.exact import SignedRows
from separatrix.solvers.separability.decide import decide
from separatrix.solvers.separability.witness import exact_multipliers
from separatrix.solvers.zero_one.hitting_set import (
    SEPARATED,
    STALLED,
    WITNESS,
    Pool,
    Relaxed,
    Rows,
    nearest_point,
    total_of,
)
from separatrix.solvers.zero_one.search import walk

__all__ = ["Branching", "ExactWitnesses", "Node", "Witness"]

_SURE = 1e-5
_ROOT_ROUNDS = 60
_NODE_ROUNDS = 4
_THRESHOLDS = (0.02, 0.15, 0.34, 0.55)
_PACKINGS = 6
_SOFT = 0.15
_BRINK = 1e-5
Witness = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(eq=False)
class Node:
    """Rows taken to be wrong and right, the bound, and once divided the row and its two cases."""

    wrong: Rows
    right: Rows
    relaxed: Relaxed
    row: int = -1
    cases: tuple[Node, Node] | None = None


class Branching:
    """Signed rows of length one with whole weights; bounds that close in on the fewest errors."""

    def __init__(
        self, rows: np.ndarray, masses: np.ndarray, witnesses: ExactWitnesses, seed: int
    ) -> None:
        self.rows, self.masses, self.witnesses = rows, masses, witnesses
        self.rng = np.random.default_rng(seed)
        self.pool = Pool(masses)
        width = rows.shape[1]
        self._corral, self._weights = np.empty(width + 2, dtype=np.int64), np.empty(width + 2)
        self._x = np.empty(width)
        self.cost, self.w = int(masses.sum()), np.zeros(width)
        self.right: np.ndarray | None = None  # in exact arithmetic, where floats fall short
        self.root: Node | None = None
        self.lower, self.nodes = 0, 0

    def accept(self, w: np.ndarray) -> None:
        """Take weights that make fewer errors than those known."""
        cost = int(self.masses[~(self.rows @ w > 0.0)].sum())
        if cost < self.cost:
            self.cost, self.w, self.right = cost, w.copy(), None

    def _accept_exact(self) -> None:
        """Take the rows that an exact separator has right, in a cell too thin for floats."""
        if self.witnesses.separator is None:
            return
        right = self.witnesses.right_rows()
        cost = int(self.masses[~right].sum())
        if cost < self.cost:
            self.cost, self.right = cost, right

    def bound_root(self, end: float) -> None:
        """Bound all cases at once."""
        self._pack(end)
        self.root = self._node(frozenset(), frozenset(), _ROOT_ROUNDS, end)
        self.lower = max(self.lower, _whole(min(self.root.relaxed.bound, float(self.cost))))

    def run(self, end: float) -> None:
        """Divide nodes until the bounds meet or the time is spent."""
        if self.root is None:
            self.bound_root(end)
        assert self.root is not None
        heap = [(self.root.relaxed.bound, 0, self.root)]
        number = 0
        while heap:
            bound, _, node = heap[0]
            self.lower = max(self.lower, _whole(min(bound, float(self.cost))))
            if self.lower >= self.cost or perf_counter() > end:
                return
            row = self._undecided(node.relaxed.x, node.wrong | node.right)
            if row < 0:
                return
            wrong = self._node(node.wrong | {row}, node.right, _NODE_ROUNDS, end)
            right = self._node(node.wrong, node.right | {row}, _NODE_ROUNDS, end)
            self._inherit(wrong, node, row)
            self._inherit(right, node, -1)
            heapq.heappop(heap)
            node.row, node.cases = row, (wrong, right)
            for case in node.cases:
                number += 1
                heapq.heappush(heap, (max(case.relaxed.bound, bound), number, case))

    def _node(self, wrong: Rows, right: Rows, rounds: int, end: float) -> Node:
        """Bound a case, and tighten the bound by new witnesses while that helps."""
        self.nodes += 1
        relaxed = self.pool.relaxed(wrong, right, end)
        for _ in range(rounds):
            if relaxed.bound > self.cost - 1 + _SURE or perf_counter() > end:
                break
            if not self._separate(relaxed.x, right):
                break
            tighter = self.pool.relaxed(wrong, right, end)
            # A witness of no use now may be later; but a bound is never given up.
            relaxed = tighter if tighter.bound >= relaxed.bound else relaxed
        return Node(wrong, right, relaxed)

    def _inherit(self, case: Node, node: Node, wrong: int) -> None:
        """Keep the proof of the node divided where its case found none better in time.

        Witnesses that hold the row now wrong drop out, and load it no more than it weighs.
        """
        dual = node.relaxed.dual
        loads = tuple((k, v) for k, v in dual.loads if wrong not in self.pool.sets[k])
        kept = replace(dual, loads=loads)
        forced = sum(int(self.masses[i]) for i in case.wrong)
        bound = float(forced + total_of(kept))
        if bound > case.relaxed.bound:
            case.relaxed = Relaxed(bound, kept, case.relaxed.x)

    def _undecided(self, x: np.ndarray, decided: Rows) -> int:
        """Return the row that the relaxation leaves most undecided; -1 if there is none."""
        doubt = np.minimum(x, 1.0 - x) + 1e-9 * x
        doubt[list(decided)] = -1.0
        row = int(np.argmax(doubt))
        return row if doubt[row] > 0.0 or (x[row] <= 0.0 and doubt[row] >= 0.0) else -1

    # ---- witnesses

    def _nearest(self, rows: np.ndarray, alive: np.ndarray, scale: np.ndarray | None) -> int:
        """Look for a witness among the rows alive, and leave it in `_chosen`."""
        outcome, size = nearest_point(rows, alive, self._corral, self._weights, self._x)
        if outcome == SEPARATED:
            return SEPARATED
        if outcome == WITNESS:
            order = np.argsort(self._corral[:size])
            chosen = self._corral[:size][order]
            weights = self._weights[:size][order].copy()
            key = tuple(chosen.tolist())
            self.witnesses.propose(key, weights if scale is None else weights * scale[chosen])
            # As many rows as there can be, none at the brink, leave no doubt; others may cancel to
            # within rounding only.
            sure = size > rows.shape[1] and weights.min() > _BRINK
            if sure or self.witnesses.exact(key) is not None:
                self._chosen = chosen
                return WITNESS
        found = self.witnesses.among(alive)
        if found is None:
            self._accept_exact()
            return STALLED
        self._chosen = np.array(found)
        return WITNESS

    def _pack(self, end: float) -> None:
        """Collect disjoint witnesses, from all rows and from random parts of them."""
        for number in range(_PACKINGS):
            alive = self.rng.random(len(self.rows)) < (1.0 if number == 0 else 0.7)
            while perf_counter() < end and self._nearest(self.rows, alive, None) == WITNESS:
                self.pool.add(self._chosen)
                alive[self._chosen] = False

    def _separate(self, x: np.ndarray, right: Rows) -> bool:
        """Add witnesses that x hits by less than one; say whether there were any."""
        found = False
        # Shorter rows are taken less readily: those that x hits, and at random.
        scale = _SOFT / (_SOFT + x) * (0.6 + 0.4 * self.rng.random(len(x)))
        scaled = self.rows * scale[:, None]
        for threshold in _THRESHOLDS:
            alive = x < threshold
            alive[list(right)] = True
            outcome = self._nearest(scaled, alive, scale)
            if outcome == SEPARATED:
                self._try(self._x)
            while outcome == WITNESS:
                chosen = self._chosen
                if x[chosen].sum() < 1.0 - 1e-4:
                    found = self.pool.add(chosen) or found
                alive[chosen] = False
                outcome = self._nearest(scaled, alive, scale)
        return found

    def _try(self, w: np.ndarray) -> None:
        """Count the errors of a separator of many rows, and of what a short walk makes of it."""
        cost = int(self.masses[~(self.rows @ w > 0.0)].sum())
        if cost <= self.cost + 2:
            moved = w.copy()
            directions = self.rng.normal(size=(24, len(w)))
            directions[::3] = 0.0
            walk(self.rows, self.masses.astype(np.float64), moved, directions)
            self.accept(moved)
        self.accept(w)

    def leaves(self) -> list[Node]:
        """Return the leaves of the tree."""
        found, open_nodes = [], [] if self.root is None else [self.root]
        while open_nodes:
            node = open_nodes.pop()
            if node.cases is None:
                found.append(node)
            else:
                open_nodes += node.cases
        return found

    def proof(self) -> tuple[int, dict[int, int]]:
        """Return what the tree as it stands proves, and the numbers of the witnesses it needs.

        A witness that cannot be made exact is left out, with what it would have proved.
        """
        leaves = self.leaves()
        used = sorted({k for leaf in leaves for k, _ in leaf.relaxed.dual.loads})
        kept = [k for k in used if self.witnesses.exact(self.pool.sets[k]) is not None]
        place = {k: number for number, k in enumerate(kept)}
        bounds = [float(self.cost)]
        for leaf in leaves:
            loads = sum(v for k, v in leaf.relaxed.dual.loads if k in place)
            forced = sum(int(self.masses[i]) for i in leaf.wrong)
            bounds.append(forced + loads / leaf.relaxed.dual.denominator)
        return (_whole(min(bounds)) if leaves else 0), place


def _whole(bound: float) -> int:
    """Return the least whole number that a bound proves, with room for rounding."""
    return int(np.ceil(bound - _SURE))


# ---- witnesses that floats propose, made exact: ``sum lambda_i z_i = 0`` in integers


class ExactWitnesses:
    """Exact witnesses by their rows; `lengths` are those that float rows were divided by."""

    def __init__(self, points: np.ndarray, signs: np.ndarray, lengths: np.ndarray) -> None:
        self.rows = SignedRows(points, signs)
        self.lengths = lengths
        self.known: dict[tuple[int, ...], Witness | None] = {}
        self.guesses: dict[tuple[int, ...], np.ndarray] = {}
        self.separator: list[Fraction] | None = None

    def propose(self, rows: tuple[int, ...], weights: np.ndarray) -> None:
        """Remember multipliers of float rows of length one."""
        self.guesses.setdefault(rows, weights)

    def exact(self, rows: tuple[int, ...]) -> Witness | None:
        """Return integer multipliers of the rows, or None if there are none near those proposed."""
        if rows not in self.known:
            chosen = np.array(rows)
            # Shifting and scaling columns changes no multiplier: only the lengths of rows do.
            guess = self.guesses[rows] / self.lengths[chosen]
            part = self.rows.take(chosen)
            found = exact_multipliers(part.integers.lists(np.arange(len(rows))), guess)
            self.known[rows] = None if found is None else (rows, tuple(found.multipliers))
        return self.known[rows]

    def right_rows(self) -> np.ndarray:
        """Return which rows the separator has strictly on their own side, in fractions."""
        assert self.separator is not None
        slopes, intercept = self.separator[1:], self.separator[0]
        points = self.rows.X.tolist()
        scores = [
            intercept + sum(v * Fraction(x) for v, x in zip(slopes, point, strict=True))
            for point in points
        ]
        signs = self.rows.signs
        return np.array([score * int(s) > 0 for score, s in zip(scores, signs, strict=True)])

    def among(self, alive: np.ndarray) -> tuple[int, ...] | None:
        """Decide exactly whether the rows alive hold a witness; return its rows.

        If they are separable instead, `separator` holds the direction.
        """
        numbers = np.flatnonzero(alive)
        claim = decide(self.rows.take(numbers))
        self.separator = claim.direction if claim.kind == "separable" else None
        if claim.witness is None:
            return None
        pairs = sorted(zip(numbers[claim.witness[0]].tolist(), claim.witness[1], strict=True))
        rows = tuple(row for row, _ in pairs)
        self.known[rows] = (rows, tuple(m for _, m in pairs))
        return rows
