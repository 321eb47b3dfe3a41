"""The columns of X laid out for the sparse solvers, and a working set of them.

Scores need the columns of the working set alone; a look at all columns costs one pass over X.

The course of a run on working sets: when it ends, its next penalty, its next columns.

One update takes Newton steps on a working set, and then looks at all columns again. Both solvers
of sparse weights, that of one hyperplane and that of all classes, share it, and when the Newton
steps end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix._compiled import compiled
from separatrix.problem.signed import Matrix
from separatrix.solvers.running.drive import Status, one_thread, relative_gap
from separatrix.solvers.sparse.by_columns import combined, scored

__all__ = [
    "Columns",
    "FIRST_SET",
    "LEAST_FLOOR",
    "WorkingSet",
    "advanced",
    "chosen",
    "steps",
]


_NEAR = 256  # columns whose matrix fits a near cache
_ROUNDED = 2.0**-50
_MUCH = 8.0  # a working set of so large a part of all entries is found in the rows as they are


class Columns:
    """The columns that may be nonzero: `numbers` name them among all columns of X."""

    def __init__(self, rows: Any) -> None:
        X, self._once = rows.X, rows.once
        self._X: Any = rows.once("columns", lambda: _by_columns(X))
        self._rows: Any = X if sp.issparse(X) and X.dtype == np.float64 else None
        self.numbers = np.arange(X.shape[1])
        self.entries = float(X.nnz) if sp.issparse(X) else float(X.size)
        self.entries_now = self.entries

    def combination(self, shares: np.ndarray) -> np.ndarray:
        """Return sum_i s_i x_i, of these columns; for shares by class, a column a class."""
        X = self._X
        if not sp.issparse(X) or len(self.numbers) == X.shape[1]:
            return np.asarray(X.T @ shares)
        loop = combined if shares.ndim == 1 else _combined_by_class
        found: np.ndarray = loop(X.indptr, X.indices, X.data, self.numbers, shares)
        return found

    def spreads(self, costs: np.ndarray, has_bias: bool) -> np.ndarray:
        """Return the length of every column, weighted by the costs; about its mean, with a bias."""
        largest = float(costs.max(initial=0.0))
        if not 0.0 < largest < np.inf:
            return self._spreads(costs, has_bias)
        # The same for all values of C, but for the rounding of the costs.
        unit = (costs / largest).astype(np.float32)
        name = "spreads", has_bias, unit.tobytes()
        found = self._once(name, lambda: self._spreads(unit.astype(np.float64), has_bias))
        return np.asarray(np.sqrt(largest) * found)

    def _spreads(self, costs: np.ndarray, has_bias: bool) -> np.ndarray:
        X = self._X
        if sp.issparse(X):
            squares, sums = _moments(X.indptr, X.indices, X.data, costs)
        else:
            squares, sums = np.einsum("ij,ij,i->j", X, X, costs), X.T @ costs
        if has_bias:  # far from zero, all digits of a small spread may be lost: it is not 0
            least = _ROUNDED * squares
            squares = np.maximum(squares - sums * sums / costs.sum(), 0.0) + least
        return np.asarray(np.sqrt(squares))

    def keep(self, places: np.ndarray) -> None:
        """Leave out all columns but those at these places."""
        self.numbers, X = self.numbers[places], self._X
        if sp.issparse(X):  # which stay where they are: a copy costs as much as a few looks
            self.entries_now = float((X.indptr[self.numbers + 1] - X.indptr[self.numbers]).sum())
        else:
            self._X = X[:, places]
            self.entries_now = float(self._X.size)

    def working_set(self, places: np.ndarray) -> WorkingSet:
        """Return the columns at these places."""
        if not sp.issparse(self._X):
            return WorkingSet(np.ascontiguousarray(self._X[:, places]))
        X, numbers = self._X, self.numbers[places]
        found = WorkingSet(None, (X.indptr, X.indices, X.data, numbers), X.shape[0])
        if self._rows is not None and _MUCH * found.entries >= self.entries:
            found.all_rows = self._rows
        return found


class WorkingSet:
    """A few columns: a dense block, or columns of a CSC matrix and the places of these."""

    def __init__(self, block: Any, columns: Any = None, n_rows: int = 0) -> None:
        self._block, self._columns, self._n_rows = block, columns, n_rows
        self.all_rows: Any = None  # where these columns are found without a copy, if they are many
        if columns is None:
            self.shape = block.shape
            self.entries = float(block.size)
        else:
            starts, _, _, places = columns
            self.shape = n_rows, len(places)
            self.entries = float((starts[places + 1] - starts[places]).sum())

    @cached_property
    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The arrays of a CSC matrix, and the places of these columns in it."""
        if self._columns is not None:
            found: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] = self._columns
            return found
        n, m = self.shape
        starts = np.arange(0, n * m + 1, n, dtype=np.int64)
        indices = np.tile(np.arange(n, dtype=np.int32), m)
        return starts, indices, np.ascontiguousarray(self._block.T).ravel(), np.arange(m)

    @cached_property
    def by_rows(self) -> Any:
        """The sparse columns, laid out by rows."""
        starts, indices, values, places = self.columns
        whole = sp.csc_array((values, indices, starts), shape=(self._n_rows, len(starts) - 1))
        return whole[:, places].tocsr()

    @property
    def matrix_cost(self) -> float:
        """What the matrix of all pairs of columns costs, in passes over these columns."""
        n, m = self.shape
        if self._columns is None:
            return 0.125 * m  # by vector instructions
        # Rows have about so many entries each; a matrix out of the nearest cache costs more.
        each = self.entries / max(n, 1)
        return each * (0.7 if m <= _NEAR else 4.0) + 2.0

    def combination(self, shares: np.ndarray) -> np.ndarray:
        """Return sum_i s_i x_i; for shares by class, a column a class."""
        if self._columns is None:
            return np.asarray(self._block.T @ shares)
        if shares.ndim == 2:  # a row of shares is read once, where it lies
            return np.asarray(self.by_rows.T @ shares)
        found: np.ndarray = combined(*self.columns, shares)
        return found

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Return w.x_i of every row; for weights by class, a column a class."""
        if self._columns is None:
            return np.asarray(self._block @ w)
        if w.ndim == 2:
            return np.asarray(self.by_rows @ w)
        found: np.ndarray = scored(*self.columns, w, self._n_rows)
        return found

    def dense(self) -> np.ndarray:
        """Return the columns as a dense block."""
        if self._columns is None:
            return np.asarray(self._block)
        return np.asarray(self.by_rows.toarray())

    def curvature(
        self, bends: np.ndarray, shares: np.ndarray, has_bias: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return X' D X, D the curvatures, the bias eliminated; the mean of columns, and X' s."""
        total, m = float(bends.sum()), self.shape[1]
        centred = has_bias and total > 0.0
        if self._columns is None:
            mean = self.combination(bends) / total if centred else np.zeros(m)
            # Centred before it is squared: raw columns far from zero keep their digits.
            half = (self._block - mean) * np.sqrt(bends)[:, None]
            return half.T @ half, mean, self.combination(shares)
        matrix, sums = np.zeros((m, m)), np.zeros((2, m))
        if self.all_rows is not None:
            rows, place = self.all_rows, np.full(self.all_rows.shape[1], -1, dtype=np.int32)
            place[self._columns[3]] = np.arange(m)
            arrays = rows.indptr, rows.indices, rows.data
            _add_pairs_at(*arrays, place, bends, shares, matrix, sums)
        else:
            rows = self.by_rows
            _add_pairs(rows.indptr, rows.indices, rows.data, bends, shares, matrix, sums)
        matrix += np.triu(matrix, 1).T
        mean = sums[0] / total if centred else np.zeros(m)
        return matrix - total * np.outer(mean, mean), mean, sums[1]


@compiled
def _combined_by_class(starts, indices, values, places, shares):  # type: ignore[no-untyped-def]
    """Return sum_i s_ik x_ij for the columns j at these places, and every class k."""
    K = shares.shape[1]
    found = np.zeros((places.shape[0], K))
    for a in range(places.shape[0]):
        for t in range(starts[places[a]], starts[places[a] + 1]):
            for k in range(K):
                found[a, k] += values[t] * shares[indices[t], k]
    return found


def _by_columns(X: Matrix) -> Any:
    found = X.tocsc() if sp.issparse(X) else X
    return found if found.dtype == np.float64 else found.astype(np.float64)


@compiled
def _moments(starts, indices, values, costs):  # type: ignore[no-untyped-def]
    """Return the sums of c_i x_ij^2 and of c_i x_ij."""
    squares, sums = np.zeros(starts.shape[0] - 1), np.zeros(starts.shape[0] - 1)
    for j in range(starts.shape[0] - 1):
        for k in range(starts[j], starts[j + 1]):
            part = costs[indices[k]] * values[k]
            sums[j] += part
            squares[j] += part * values[k]
    return squares, sums


@compiled
def _add_pairs(starts, indices, values, bends, shares, matrix, sums):  # type: ignore[no-untyped-def]
    """Add the products of all pairs of entries of a row, times its curvature; indices ascend.

    Sums of entries are added too, times the curvature and times the share of their row.
    """
    for i in range(bends.shape[0]):
        bend = bends[i]
        if bend > 0.0:
            for k in range(starts[i], starts[i + 1]):
                part = bend * values[k]
                sums[0, indices[k]] += part
                sums[1, indices[k]] += shares[i] * values[k]
                row = matrix[indices[k]]
                for other in range(k, starts[i + 1]):
                    row[indices[other]] += part * values[other]


@compiled
def _add_pairs_at(starts, indices, values, place, bends, shares, matrix, sums):  # type: ignore[no-untyped-def]
    """Add the same of the columns that have a place in the matrix, -1 for none."""
    here, parts = np.empty(matrix.shape[0], dtype=np.int32), np.empty(matrix.shape[0])
    for i in range(bends.shape[0]):
        bend = bends[i]
        if bend > 0.0:
            m = 0
            for k in range(starts[i], starts[i + 1]):
                at = place[indices[k]]
                if at >= 0:
                    here[m], parts[m] = at, values[k]
                    m += 1
            for a in range(m):
                part = bend * parts[a]
                sums[0, here[a]] += part
                sums[1, here[a]] += shares[i] * parts[a]
                row = matrix[here[a]]
                for b in range(a, m):
                    row[here[b]] += part * parts[b]


# ---- a run on working sets: when it stops, its next penalty, its next columns


FIRST_SET = 20
_STALLS, _NEARER, _MARKEDLY = 6, 0.95, 0.01
_CREEPING = 1e-3  # of the gap: a fall so small would take a thousand updates
_FAR_OFF = 5.0  # times the penalty
_NARROW = 128  # columns
_WIDER = 3  # than the nonzero weights: the most that a working set grows

_NEWTON_STEPS = 20
# Of the promised fall: below the first the curvatures get a floor, above the second less of one.
_POOR, _GOOD, _FIRST_FLOOR = 0.1, 0.3, 1e-3
# Of the curvature of a row, as a share of its largest: at first, and where all goes well.
LEAST_FLOOR, _LAST_FLOOR = 1e-6, 1e-14
# A model that is exact keeps half of the fall that it promises to first order.
_HALF, _EXACTLY = 0.5, 0.02
_SLOW = 3
_ON_THE_WAY = 0.1  # of the objective

Work = Callable[[Any, Any], None]
Look = Callable[[Any], None]


def advanced(state: Any, budget: int, work: Work, look: Look) -> Status | None:
    """Make at most `budget` updates: `work` on a problem, then `look` at all columns."""
    with one_thread(), np.errstate(over="ignore", under="ignore", invalid="ignore"):
        for _ in range(budget):
            ended = _outcome(state)
            if ended is not None:
                return ended
            _update(state, work, look)
        return _outcome(state)


def _outcome(state: Any) -> Status | None:
    memory = state.memory
    if memory.solved or state.gap <= state.tol:
        return Status.OPTIMAL
    if memory.stalls >= _STALLS:
        return Status.UNPROVED
    return Status.BUDGET if state.passes >= memory.max_passes else None


def _update(state: Any, work: Work, look: Look) -> None:
    """Take Newton steps on a working set, and look at all columns again."""
    memory = state.memory
    before = min(memory.primal, state.primal)
    problem = _next_stop(state)
    work(state, problem)
    state.updates += 1
    look(state)
    least = max(_MARKEDLY * state.tol, _CREEPING * min(1.0, relative_gap(state.primal, state.dual)))
    fallen = state.primal < before * (1.0 - least)
    nearer = state.gap < _NEARER * memory.gap or _is_nearer(state, problem)
    memory.stalls = 0 if fallen or nearer else memory.stalls + 1
    memory.gap, memory.primal = min(memory.gap, state.gap), min(before, state.primal)


def _next_stop(state: Any) -> Any:
    """Return the problem, or one with a larger penalty on the way to it.

    Few weights are nonzero at a large penalty, and Newton's method is sure there.
    """
    memory = state.memory
    problem, largest = memory.open, _largest(state)
    near = largest <= _FAR_OFF * problem.l1 or len(memory.u) <= _NARROW
    # A stop that was of no use is not made again.
    return problem if near or memory.stalls else replace(problem, l1=largest / _FAR_OFF)


def _is_nearer(state: Any, stop: Any) -> bool:
    """Whether a stop with a larger penalty brought the sums of columns down."""
    before = _FAR_OFF * stop.l1
    return bool(stop.l1 > state.problem.l1 and _largest(state) < _NEARER * before)


def _largest(state: Any) -> float:
    return float(state.memory.open.sizes(state.memory.u).max(initial=0.0))


def chosen(
    room: np.ndarray, spreads: np.ndarray, nonzero: np.ndarray, stalls: int, groups: Any
) -> np.ndarray:
    """Return the places of the columns that are nonzero, beyond their bound or nearest to it.

    `room` is how far the sum of a column is below its bound; `spreads` are the columns' lengths.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        room = room / spreads
    room[spreads == 0.0] = np.inf
    room[nonzero] = -np.inf
    support = int(np.count_nonzero(nonzero))
    size = min(int(np.count_nonzero(room <= 0.0)), FIRST_SET + _WIDER * support)
    size += max(FIRST_SET, support // 4) * (1 + stalls)
    if size >= len(room):
        return np.arange(len(room))
    found = np.argpartition(room, size - 1)[:size]
    found = found[room[found] < np.inf]
    if groups is not None:  # whole groups
        return np.flatnonzero(np.isin(groups, groups[found]))
    return np.sort(found)


def steps(
    state: Any,
    part: Any,
    step: Callable[[float, float], tuple[float, float]],
    gap_of: Callable[[], tuple[float, float]],
    on_the_way: bool,
    is_exact: bool,
) -> None:
    """Take Newton steps on a working set, until its own gap is small beside that of all columns.

    `step` takes the relative gap so far and the gap that is enough. It returns the share of the
    promised fall that was kept, and the passes made. `gap_of` returns the gap of the working set
    and its objective. `is_exact`: the model itself is minimised exactly.
    """
    memory = state.memory
    enough = max(0.1 * max(state.primal - state.dual, 0.0), 0.2 * state.tol * state.primal)
    cost = part.entries / max(memory.columns.entries, 1.0)
    passes, last, slow = 0.0, np.inf, 0
    off = 1.0 if on_the_way else relative_gap(state.primal, state.dual)
    for _ in range(_NEWTON_STEPS):
        kept, used = step(off, enough)
        passes += cost * (2.0 + used)
        if kept < _POOR and memory.floor < 1.0:
            memory.floor = min(1.0, max(_FIRST_FLOOR, 10.0 * memory.floor))
            if not kept:
                continue
        elif not kept:
            break
        elif kept >= _GOOD:
            memory.floor = max(_LAST_FLOOR, 0.1 * memory.floor)
        if is_exact and abs(kept - _HALF) <= _EXACTLY:
            break  # the minimum is found, and a look at all columns tells how well
        gap, value = gap_of()
        off = relative_gap(value, value - gap)
        if on_the_way:
            enough = _ON_THE_WAY * value
        if gap <= enough or state.passes + passes >= memory.max_passes:
            break
        slow = slow + 1 if gap > 0.9 * last else 0
        last = min(gap, last)
        if slow == _SLOW:
            break
    state.passes += passes
