"""The relaxed smallest hitting set of witnesses: every witness holds a row that is wrong.

    min  s.x   subject to  sum_{i in W} x_i >= 1 for every witness W,   x >= 0
    max  sum y_W   subject to  sum_{W with i} y_W <= s_i for every row i,   y >= 0

A lower bound on the errors of any hyperplane, whatever witnesses are known, also where some rows
are taken to be wrong (their witnesses are hit) or right (they hit nothing). HiGHS solves the second
problem; its y, rounded to fractions that overload no row, is a proof anyone can check.

The point of the convex hull of rows that is nearest the origin, by Wolfe's method.

    min |x|  subject to  x in conv {z_i : i alive}

If it is the origin, the few rows that carry it are a Gordan witness from which no row can be left
out; if not, x itself separates all rows. Fast on few columns and in floating point: what it says is
a proposal, made exact by ``solvers.witness`` and checked by ``certificates``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from time import perf_counter

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from separatrix._compiled import compiled

__all__ = [
    "Dual",
    "Pool",
    "Relaxed",
    "SEPARATED",
    "STALLED",
    "WITNESS",
    "nearest_point",
    "total_of",
]


Rows = frozenset[int]

_DENOMINATOR = 2**30
_VIOLATED = 1e-6
_NEARLY_TIGHT = 0.1
_AT_A_TIME = 150
_ROUNDS = 25


@dataclass(frozen=True)
class Dual:
    """Weights on witnesses, ``numerator / denominator``."""

    loads: tuple[tuple[int, int], ...]
    denominator: int


@dataclass(frozen=True)
class Relaxed:
    """A bound, its proof, and the relaxed hitting set."""

    bound: float
    dual: Dual
    x: np.ndarray


@dataclass
class Pool:
    """Witnesses as sets of rows, with the whole weight of every row."""

    masses: np.ndarray
    sets: list[tuple[int, ...]] = field(default_factory=list)
    known: dict[tuple[int, ...], int] = field(default_factory=dict)
    active: list[int] = field(default_factory=list)
    _matrix: sp.csr_array | None = None

    def add(self, rows: np.ndarray) -> bool:
        """Add a witness; say whether it is new."""
        key = tuple(sorted(rows.tolist()))
        if key in self.known:
            return False
        self.known[key] = len(self.sets)
        self.sets.append(key)
        return True

    def matrix(self) -> sp.csr_array:
        """Return the incidence of witnesses (rows) and data rows (columns)."""
        done = 0 if self._matrix is None else self._matrix.shape[0]
        if done < len(self.sets):
            new = self.sets[done:]
            starts = np.concatenate([[0], np.cumsum([len(s) for s in new])]).astype(np.int64)
            columns = np.array([i for s in new for i in s], dtype=np.int64)
            shape = (len(new), len(self.masses))
            added = sp.csr_array((np.ones(len(columns)), columns, starts), shape=shape)
            parts = [added] if self._matrix is None else [self._matrix, added]
            self._matrix = sp.csr_array(sp.vstack(parts))
        assert self._matrix is not None, "there is at least one witness"
        return self._matrix

    def relaxed(self, wrong: Rows, right: Rows, end: float) -> Relaxed:
        """Solve the relaxation where some rows are wrong and some right, as far as time allows.

        Only witnesses that matter are handed over: those that the last answer violates are added
        until there is none. Disjoint witnesses are a bound that needs no solving.
        """
        forced = sum(int(self.masses[i]) for i in wrong)
        nothing = np.zeros(len(self.masses))
        nothing[list(wrong)] = 1.0
        if not self.sets:
            return Relaxed(float(forced), Dual((), 1), nothing)
        matrix = self.matrix()
        blocked = np.ones(len(self.masses))
        blocked[list(right)] = 0.0
        hit = (matrix @ nothing) > 0.0
        impossible = np.flatnonzero(~hit & ((matrix @ blocked) == 0.0))
        if impossible.size:  # all rows of a witness right: the case cannot be
            return Relaxed(
                np.inf, Dual(((int(impossible[0]), int(self.masses.sum()) + 1),), 1), nothing
            )
        x, solved = nothing, None
        last = chosen = [k for k in self.active if not hit[k]]
        for _ in range(_ROUNDS):
            short = matrix @ x
            short[hit] = 1.0
            violated = np.flatnonzero(short < 1.0 - _VIOLATED)
            if violated.size == 0:
                break
            worst = violated[np.argsort(short[violated], kind="stable")[:_AT_A_TIME]]
            chosen = sorted({*chosen, *worst.tolist()})
            answer = self._solve(matrix[chosen], blocked > 0.0, end - perf_counter())
            if answer is None:
                chosen = last
                break
            solved, last, x = answer, chosen, nothing + answer[1]
        packed = self._packed(hit, right)
        if solved is None:
            return Relaxed(float(forced + total_of(packed)), packed, nothing)
        weights = solved[0]
        tight = matrix[chosen] @ x < 1.0 + _NEARLY_TIGHT
        self.active = [k for k, near in zip(chosen, tight.tolist(), strict=True) if near]
        dual = self._in_fractions(chosen, weights, right)
        dual = max(dual, packed, key=total_of)
        return Relaxed(float(forced + total_of(dual)), dual, x)

    def _packed(self, hit: np.ndarray, right: Rows) -> Dual:
        """Load witnesses one after another with what their rows have left."""
        room = self.masses.tolist()
        loads = []
        for k in np.flatnonzero(~hit).tolist():
            open_rows = [i for i in self.sets[k] if i not in right]
            amount = min(room[i] for i in open_rows)
            if amount > 0:
                loads.append((k, amount))
                for i in open_rows:
                    room[i] -= amount
        return Dual(tuple(loads), 1)

    def _solve(
        self, matrix: sp.csr_array, free: np.ndarray, seconds: float
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Start from x = 0, where HiGHS's dual simplex has nothing to repair."""
        found = linprog(
            self.masses[free].astype(np.float64),
            A_ub=-matrix.tocsc()[:, free],
            b_ub=-np.ones(matrix.shape[0]),
            method="highs-ds",
            options={"presolve": False, "time_limit": max(0.01, seconds)},
        )
        if found.status != 0:
            return None
        x = np.zeros(len(self.masses))
        x[free] = found.x
        return np.maximum(-found.ineqlin.marginals, 0.0), x

    def _in_fractions(self, chosen: list[int], weights: np.ndarray, right: Rows) -> Dual:
        """Round weights down to fractions, and further until no row is overloaded."""
        loads = {k: int(v * _DENOMINATOR) for k, v in zip(chosen, weights, strict=True) if v > 1e-9}
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


def total_of(dual: Dual) -> Fraction:
    """Return the sum of the weights."""
    return Fraction(sum(v for _, v in dual.loads), dual.denominator)


# ---- the point of the convex hull of rows that is nearest the origin, by Wolfe's method


SEPARATED, WITNESS, STALLED = 1, 0, -1

_ORIGIN = 1e-20  # square length of what counts as the origin; rows have length one
_GAIN = 1e-12
_POSITIVE = 1e-11
_CYCLES = 2000


@compiled
def _affine_minimum(rows, corral, size, system, out):  # type: ignore[no-untyped-def]
    """Solve (1 1' + S S') u = 1 by Cholesky; u over its sum is the nearest affine combination."""
    for a in range(size):
        for b in range(a + 1):
            total = 1.0
            for j in range(rows.shape[1]):
                total += rows[corral[a], j] * rows[corral[b], j]
            for k in range(b):
                total -= system[a, k] * system[b, k]
            if a == b:
                if total <= 1e-14:
                    return False
                system[a, a] = np.sqrt(total)
            else:
                system[a, b] = total / system[b, b]
    for a in range(size):
        total = 1.0
        for k in range(a):
            total -= system[a, k] * out[k]
        out[a] = total / system[a, a]
    for a in range(size - 1, -1, -1):
        total = out[a]
        for k in range(a + 1, size):
            total -= system[k, a] * out[k]
        out[a] = total / system[a, a]
    total = 0.0
    for a in range(size):
        total += out[a]
    for a in range(size):
        out[a] /= total
    return True


@compiled
def _shrink(corral, weights, target, size):  # type: ignore[no-untyped-def]
    """Go towards the target until a weight vanishes; drop those that have. Return the new size."""
    step = 1.0
    for a in range(size):
        if target[a] <= _POSITIVE:
            step = min(step, weights[a] / (weights[a] - target[a]))
    least, first = np.inf, 0
    for a in range(size):
        weights[a] += step * (target[a] - weights[a])
        if target[a] <= _POSITIVE and weights[a] < least:
            least, first = weights[a], a
    kept = 0
    for a in range(size):
        if a != first and weights[a] > _POSITIVE:
            corral[kept], weights[kept] = corral[a], weights[a]
            kept += 1
    return kept


@compiled
def nearest_point(rows, alive, corral, weights, x):  # type: ignore[no-untyped-def]
    """Find the nearest point x of the hull of the rows alive; rows have length one.

    Returns (outcome, size): the first `size` entries of `corral` and `weights` make x.
    """
    count, width = rows.shape
    system, target = np.empty((width + 2, width + 2)), np.empty(width + 2)
    size = 0
    for i in range(count):
        if alive[i]:
            corral[0], weights[0], size = i, 1.0, 1
            break
    if size == 0:
        return SEPARATED, 0
    for j in range(width):  # ``x[:] = rows[corral[0]]`` takes numba seconds to compile
        x[j] = rows[corral[0], j]
    for _ in range(_CYCLES):
        length = 0.0
        for j in range(width):
            length += x[j] * x[j]
        if length < _ORIGIN:
            return WITNESS, size
        worst, least = -1, np.inf
        for i in range(count):
            if alive[i]:
                total = 0.0
                for j in range(width):
                    total += rows[i, j] * x[j]
                if total < least:
                    worst, least = i, total
        if least > length * (1.0 - 1e-6) or (least > 0.0 and least > length - _GAIN):
            return SEPARATED, size
        for a in range(size):
            if corral[a] == worst:
                return (SEPARATED if least > 0.0 else STALLED), size
        if size > width:
            return STALLED, size
        corral[size], weights[size] = worst, 0.0
        size += 1
        while True:
            if not _affine_minimum(rows, corral, size, system, target):
                return STALLED, size
            smallest = np.inf
            for a in range(size):
                smallest = min(smallest, target[a])
            if smallest > _POSITIVE:
                break
            size = _shrink(corral, weights, target, size)
            if size == 0:
                return STALLED, 0
        for a in range(size):
            weights[a] = target[a]
        for j in range(width):
            total = 0.0
            for a in range(size):
                total += weights[a] * rows[corral[a], j]
            x[j] = total
    return STALLED, size
