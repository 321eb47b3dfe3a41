"""Smallest hitting sets of witnesses: every witness holds a row that is wrong.

    min  s.x   subject to  sum_{i in W} x_i >= 1 for every witness W,   x in {0, 1}^n

A lower bound on the errors of any hyperplane, whatever witnesses are known. Three ways: greedily
(for candidates), by HiGHS (the optimum, in floats), and as a tree whose leaves are solutions of the
dual of the relaxation, rounded to fractions: that is a proof anyone can check.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from time import perf_counter

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

__all__ = ["Case", "Dual", "Hitting", "Node"]

_DENOMINATOR = 2**30
_SURE = 1e-5


@dataclass(frozen=True)
class Dual:
    """Weights on witnesses, ``numerator / denominator``."""

    loads: tuple[tuple[int, int], ...]
    denominator: int


@dataclass(frozen=True)
class Case:
    """A row is wrong, or it is right."""

    row: int
    wrong: Node
    right: Node


Node = Dual | Case


@dataclass
class Hitting:
    """Witnesses as sets of rows, with the weight of every row."""

    masses: np.ndarray
    sets: list[tuple[int, ...]] = field(default_factory=list)
    known: set[tuple[int, ...]] = field(default_factory=set)

    def add(self, rows: np.ndarray) -> bool:
        """Add a witness; say whether it is new."""
        key = tuple(sorted(rows.tolist()))
        if key in self.known:
            return False
        self.known.add(key)
        self.sets.append(key)
        return True

    def matrix(self, chosen: list[int] | None = None) -> sp.csr_array:
        """Return the incidence of witnesses (rows) and data rows (columns)."""
        sets = self.sets if chosen is None else [self.sets[k] for k in chosen]
        starts = np.concatenate([[0], np.cumsum([len(s) for s in sets])]).astype(np.int64)
        columns = np.array([i for s in sets for i in s], dtype=np.int64)
        values = np.ones(len(columns))
        return sp.csr_array((values, columns, starts), shape=(len(sets), len(self.masses)))

    def greedy(self, rng: np.random.Generator) -> np.ndarray:
        """Return a hitting set, as a mask, from which no row can be left out; ties are random."""
        incidence = self.matrix()
        by_row = incidence.T.tocsr()
        open_sets = np.ones(len(self.sets), dtype=bool)
        chosen: list[int] = []
        counts = np.asarray(incidence.sum(axis=0)).ravel()
        noise = 1.0 + 0.3 * rng.random(len(self.masses))
        while open_sets.any():
            row = int(np.argmax(counts * noise / self.masses))
            chosen.append(row)
            hit = by_row.indices[by_row.indptr[row] : by_row.indptr[row + 1]]
            for k in hit[open_sets[hit]].tolist():
                counts[list(self.sets[k])] -= 1.0
            open_sets[hit] = False
        times = np.asarray(incidence[:, chosen].sum(axis=1)).ravel() if chosen else np.zeros(0)
        mask = np.zeros(len(self.masses), dtype=bool)
        for row in chosen[::-1]:
            hit = by_row.indices[by_row.indptr[row] : by_row.indptr[row + 1]]
            if (times[hit] > 1.0).all():
                times[hit] -= 1.0
            else:
                mask[row] = True
        return mask

    def optimum(self, seconds: float) -> tuple[np.ndarray | None, float]:
        """Return a smallest hitting set by HiGHS, if one was found in time, and a lower bound."""
        found = milp(
            self.masses.astype(np.float64),
            constraints=LinearConstraint(self.matrix(), lb=1.0),
            integrality=np.ones(len(self.masses)),
            bounds=Bounds(0.0, 1.0),
            options={"time_limit": max(0.05, seconds)},
        )
        bound = found.mip_dual_bound if found.mip_dual_bound is not None else 0.0
        mask = None if found.x is None else np.asarray(found.x > 0.5)
        return mask, float(bound)

    def relaxed(
        self, wrong: frozenset[int] = frozenset(), right: frozenset[int] = frozenset()
    ) -> tuple[float, Dual, np.ndarray] | None:
        """Solve the dual of the relaxation where some rows are wrong and some are right.

        Returns the bound, the exact weights on witnesses, and the relaxed hitting set.
        """
        alive = [k for k, s in enumerate(self.sets) if not wrong.intersection(s)]
        forced = float(sum(int(self.masses[i]) for i in wrong))
        for k in alive:
            if right.issuperset(self.sets[k]):  # all of its rows right: the case cannot be
                return np.inf, Dual(((k, int(self.masses.sum()) + 1),), 1), self.masses * 0.0
        if not alive:
            return forced, Dual((), 1), self.masses * 0.0
        keep = np.array([i not in right for i in range(len(self.masses))])
        matrix = self.matrix(alive).T.tocsr()[keep]
        room = self.masses[keep].astype(np.float64)
        found = linprog(-np.ones(len(alive)), A_ub=matrix, b_ub=room, method="highs-ds")
        if found.x is None:
            return None
        dual = self._in_fractions(alive, found.x, right)
        x = np.zeros(len(self.masses))
        x[keep] = -found.ineqlin.marginals
        total = Fraction(sum(v for _, v in dual.loads), dual.denominator)
        return forced + float(total), dual, x

    def _in_fractions(self, alive: list[int], weights: np.ndarray, right: frozenset[int]) -> Dual:
        """Round weights down to fractions, and further until no row is overloaded."""
        loads = {k: int(v * _DENOMINATOR) for k, v in zip(alive, weights, strict=True) if v > 1e-9}
        used: dict[int, int] = {}
        for k, amount in loads.items():
            for i in self.sets[k]:
                used[i] = used.get(i, 0) + amount
        excess = max(
            (
                Fraction(amount, int(self.masses[i]) * _DENOMINATOR)
                for i, amount in used.items()
                if i not in right
            ),
            default=Fraction(0),
        )
        if excess > 1:
            loads = {k: int(amount / excess) for k, amount in loads.items()}
        return Dual(tuple((k, v) for k, v in sorted(loads.items()) if v > 0), _DENOMINATOR)

    def proof(self, target: int, end: float) -> Node | None:
        """Return a tree that proves the cost of every hitting set to be `target` or more."""
        return self._proof(target, end, frozenset(), frozenset())

    def _proof(
        self, target: int, end: float, wrong: frozenset[int], right: frozenset[int]
    ) -> Node | None:
        if perf_counter() > end:
            return None
        solved = self.relaxed(wrong, right)
        if solved is None:
            return None
        bound, dual, x = solved
        if bound > target - 1 + _SURE:
            return dual
        fractional = np.minimum(x, 1.0 - x)
        row = int(np.argmax(fractional))
        if fractional[row] < 1e-6:  # a whole hitting set that is too cheap: there is no proof
            return None
        first = self._proof(target, end, wrong | {row}, right)
        if first is None:
            return None
        second = self._proof(target, end, wrong, right | {row})
        return None if second is None else Case(row, first, second)
