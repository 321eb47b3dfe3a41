"""What a run of the direct model claims: its best primal point and its best dual.

Neither falls behind: a new claim replaces the last one only where it is better. Where the biases
are free, the dual point must balance: sum_i a_ik = 0 for every class k (see
`problem/many_classes.py`). `rebalance` repairs that on a copy, to rounding; `exactly_feasible`
puts the masses on one grid, on which sums are exact, and settles what is left in integers.

`on_this_face` computes the last digits. Given the classes that hold mass of each row, it finds
masses and biases such that these classes have the same slope g_ik = w_k.x_i + b_k + 1[k != y_i].
Every row with several such classes has one of them for reference r; one unknown t_p for each other
class k moves mass from r to k. With e_p = unit vector k - unit vector r this is a linear system
with the matrix (x_i.x_j)(e_p.e_q). The answer is taken if no mass is below zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from separatrix._compiled import compiled
from separatrix.problem.many_classes import DirectProblem, KernelDirect
from separatrix.solvers.many_classes.class_pass import WEIGHT, all_scores, total_loss, total_of
from separatrix.solvers.running.drive import Status, relative_gap

__all__ = [
    "DirectState", "all_at_home", "exactly_feasible", "on_this_face", "take_dual", "take_primal",
    "transferred",
]  # fmt: skip

_HALVINGS = 10
_MOST_UNITS = 2.0**62

_MOST_UNKNOWN = 400
_MOST_PRODUCTS = 20_000_000


@dataclass
class DirectState:
    """The best claims so far, the two objectives that bracket the optimum, and the run itself."""

    problem: DirectProblem
    tol: float
    setup: Any  # the solver's own
    memory: Any
    max_passes: float
    W: np.ndarray  # of the best primal point, and its biases
    bias: np.ndarray
    masses: np.ndarray  # the best dual point, balanced to rounding
    primal: float = np.inf
    dual: float = 0.0
    updates: int = 0
    passes: float = 0.0
    row: int = -1
    rows: Any = field(default=None, repr=False)
    bound: float = np.inf

    @property
    def w(self) -> np.ndarray:
        """The weights of the best point, class after class, each with its bias first."""
        return np.column_stack([self.bias, self.W.T]).ravel()

    @property
    def gap(self) -> float:
        """(primal - dual) / primal: 1 at the start, 0 at the optimum."""
        return relative_gap(self.primal, self.dual)

    def verdict(self) -> Status | None:
        """Return why the run is over, if it is."""
        if self.gap <= self.tol:
            return Status.OPTIMAL
        return Status.BUDGET if self.passes >= self.max_passes else None


def all_at_home(problem: DirectProblem | KernelDirect) -> np.ndarray:
    """Return the masses with which every run begins: all on the rows' own classes."""
    masses = np.zeros((len(problem.codes), problem.n_classes))
    masses[np.arange(len(masses)), problem.codes] = problem.costs
    return masses


def transferred(masses: np.ndarray, problem: DirectProblem) -> np.ndarray:
    """Return masses claimed for other costs, scaled row by row to these."""
    masses = np.maximum(masses, 0.0)
    totals = masses.sum(axis=1)
    known = totals > 0.0
    scaled = (
        masses * np.divide(problem.costs, totals, out=np.zeros_like(totals), where=known)[:, None]
    )
    return np.where(known[:, None], scaled, all_at_home(problem))


# ---- the primal point


def take_primal(state: Any, W: np.ndarray, bias: np.ndarray, scores: np.ndarray) -> None:
    """Move the best primal point to the best of the segment to (W, bias) with these scores."""
    problem, best = state.problem, state.memory.scores
    penalty = problem.bias_penalty if problem.fit_intercept else 0.0
    scores += bias
    t = 1.0
    if np.isfinite(state.primal):
        square = _inner(state.W, state.W) + penalty * float(state.bias @ state.bias)
        product = _inner(state.W, W) + penalty * float(state.bias @ bias)
        other = _inner(W, W) + penalty * float(bias @ bias)
        t = float(best_share(best, scores, problem.codes, problem.costs, square, product, other))
    if t == 1.0:
        point, its_bias, its_scores = W.copy(), bias.copy(), scores
    else:
        point, its_bias = state.W + t * (W - state.W), state.bias + t * (bias - state.bias)
        its_scores = best + t * (scores - best)
    primal = _objective(problem, point, its_bias, its_scores)
    if primal < state.primal:
        state.primal, state.W, state.bias = primal, point, its_bias
        best[:] = its_scores
    scores -= bias


def measure_primal(state: Any) -> None:
    """Compute the objective at the best point afresh: along segments rounding adds up."""
    memory = state.memory
    all_scores(state.setup.base, state.W, memory.scores, memory.listed)
    memory.scores[:] += state.bias
    state.primal = _objective(state.problem, state.W, state.bias, memory.scores)


def _objective(
    problem: DirectProblem, W: np.ndarray, bias: np.ndarray, scores: np.ndarray
) -> float:
    penalty = problem.bias_penalty * float(bias @ bias) if problem.fit_intercept else 0.0
    loss = total_loss(scores, np.zeros_like(bias), problem.codes, problem.costs)
    return 0.5 * (_inner(W, W) + penalty) + float(loss)


def _inner(first: np.ndarray, second: np.ndarray) -> float:
    return float(inner(first.ravel(), second.ravel()))


@compiled
def inner(first, second):  # type: ignore[no-untyped-def]
    """Return the sum of products, whatever the number of threads of the linear algebra."""
    total = 0.0
    for j in range(first.shape[0]):
        total += first[j] * second[j]
    return total


@compiled
def best_share(scores, others, codes, costs, square, product, other_square):  # type: ignore[no-untyped-def]
    """Return the t of the best point on the segment between two points, to 1e-3.

    The squares are |W_0|^2, W_0.W_1 and |W_1|^2; the scores hold their biases.
    """
    low, high, t = 0.0, 1.0, 1.0
    cross, across = product - square, square - 2.0 * product + other_square
    for _ in range(_HALVINGS):
        slope = cross + t * across
        for i in range(scores.shape[0]):
            own = codes[i]
            mine = scores[i, own] + t * (others[i, own] - scores[i, own])
            highest, at = mine, own
            for k in range(scores.shape[1]):
                score = scores[i, k] + t * (others[i, k] - scores[i, k]) + 1.0
                if k != own and score > highest:
                    highest, at = score, k
            change = (others[i, at] - scores[i, at]) - (others[i, own] - scores[i, own])
            slope += costs[i] * change
        if slope > 0.0:
            high = t
        else:
            low = t
        if high - low < 1e-3:
            break
        t = 0.5 * (low + high)
    return t


# ---- the dual point


def take_dual(state: Any, masses: np.ndarray) -> None:
    """Repair the balance on a copy, and keep it if its dual objective is the best so far."""
    problem, setup, memory = state.problem, state.setup, state.memory
    if problem.has_free_bias:
        masses = masses.copy()
        rebalance(masses, problem.shares(masses).sum(axis=0))
    u, balance = np.empty_like(memory.W), np.empty_like(memory.balance)
    gain = total_of(setup.base, problem.codes, masses, u, balance)
    dual = float(gain) - 0.5 * _inner(u, u)
    if problem.fit_intercept and not problem.has_free_bias:
        dual -= 0.5 * float(memory.numbers[WEIGHT]) * float(balance @ balance)
    if dual > state.dual:
        state.dual = dual
        state.masses[:] = masses


@compiled
def rebalance(masses, balance):  # type: ignore[no-untyped-def]
    """Move mass between classes, in proportion to what is there, until every balance is zero."""
    n_classes = balance.shape[0]
    for sharing in (True, False):
        # First in rows that have mass on both classes, so that those with none keep none; then all.
        for low in range(n_classes):
            for high in range(n_classes):
                amount = min(-balance[low], balance[high])
                if not amount > 0.0:
                    continue
                there = 0.0
                for i in range(masses.shape[0]):
                    if not sharing or masses[i, high] > 0.0:
                        there += masses[i, low]
                if not there > 0.0:
                    continue
                share, moved = min(1.0, amount / there), 0.0
                for i in range(masses.shape[0]):
                    if not sharing or masses[i, high] > 0.0:
                        step = share * masses[i, low]
                        masses[i, high] += step
                        masses[i, low] = max(0.0, masses[i, low] - step)
                        moved += step
                balance[low] += moved
                balance[high] -= moved


def exactly_feasible(masses: np.ndarray, problem: DirectProblem | KernelDirect) -> np.ndarray:
    """Return the masses off the own classes, no row's above its cost, all balances exactly zero.

    >>> problem = DirectProblem(np.ones((3, 1)), np.arange(3), 3, np.ones(3))
    >>> masses = np.array([[0.4, 0.3, 0.3], [0.2, 0.6, 0.2], [0.4, 0.1, 0.5]])
    >>> off = exactly_feasible(masses, problem)
    >>> [math.fsum([*off[k], *-off[:, k]]) for k in range(3)]
    [0.0, 0.0, 0.0]
    """
    codes, costs = problem.codes, problem.costs
    off = np.maximum(masses, 0.0)
    own = np.arange(len(off)), codes
    off[own] = 0.0
    if not problem.has_free_bias:
        totals = off.sum(axis=1)
        over = totals > costs * (1.0 - 1e-15 * off.shape[1])
        off[over] *= (costs[over] / totals[over] * (1.0 - 1e-15 * off.shape[1]))[:, None]
        return off
    largest = float(off.max(initial=0.0))
    if largest == 0.0:
        return off
    # Sums of all rows must fit the 53 bits of a float on this grid.
    grid = math.ulp(float(off.sum()) + largest)
    units = np.floor(off / grid).astype(np.int64)
    with np.errstate(over="ignore"):  # beyond all units a cost limits nothing
        most = np.minimum(np.floor(costs / grid), _MOST_UNITS).astype(np.int64)
    over = np.flatnonzero(units.sum(axis=1) > most)
    for i in over:
        k = int(np.argmax(units[i]))
        units[i, k] -= min(units[i, k], units[i].sum() - most[i])
    if not _settled(units, codes, most):
        return np.zeros_like(off)
    return units * grid


def _settled(units: np.ndarray, codes: np.ndarray, most: np.ndarray) -> bool:
    """Make all balances zero, in place; whether that was possible."""
    rows = np.arange(len(codes))
    while True:
        balance = -units.sum(axis=0)
        np.add.at(balance, codes, units.sum(axis=1))
        low, high = int(np.argmin(balance)), int(np.argmax(balance))
        if balance[high] == 0 and balance[low] == 0:
            return True
        # Mass goes from class `low` to class `high`: in the row that has most of it.
        there = units[:, low].copy()
        at_home = codes == low
        there[at_home] = (most - units.sum(axis=1))[at_home]
        # Where a row holds some of both, none of its masses leaves or meets zero.
        both = np.where(codes == high, most - units.sum(axis=1), units[:, high]) > 0
        row = (
            int(np.argmax(np.where(both, there, 0)))
            if (both & (there > 0)).any()
            else int(np.argmax(there))
        )
        step = min(-balance[low], balance[high], there[row])
        if step <= 0:
            return False
        if codes[row] != low:
            units[rows[row], low] -= step
        if codes[row] != high:
            units[rows[row], high] += step


# ---- the exact optimum of the direct model on a face: what passes leave of the last digits


def on_this_face(
    problem: DirectProblem, masses: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return (W, biases, masses) of the optimum with the same classes in use; None if none is."""
    held = masses > 0.0
    shared = np.flatnonzero(held.sum(axis=1) > 1)
    reference = np.where(
        held[np.arange(len(held)), problem.codes], problem.codes, held.argmax(axis=1)
    )
    others = held[shared].copy()
    others[np.arange(len(shared)), reference[shared]] = False
    at, classes = np.nonzero(others)
    rows, count = shared[at], len(at)
    if not 0 < count <= _MOST_UNKNOWN or count**2 * problem.X.shape[1] > _MOST_PRODUCTS:
        return None
    start = np.zeros_like(masses)
    start[np.arange(len(start)), reference] = problem.costs
    moves = np.zeros((count, problem.n_classes))  # the vectors e_p
    moves[np.arange(count), classes] = 1.0
    moves[np.arange(count), reference[rows]] -= 1.0
    found = _solved(problem, start, rows, moves)
    if found is None:
        return None
    t, bias = found
    result = start
    np.add.at(result, (rows, classes), t)
    np.add.at(result, (rows, reference[rows]), -t)
    slack = 1e-9 * float(problem.costs[shared].min())
    if (result < -slack).any():
        return None
    result = np.maximum(result, 0.0)
    W = np.asarray(problem.X.T @ problem.shares(result))
    if problem.fit_intercept and not problem.has_free_bias:
        bias = problem.shares(result).sum(axis=0) / problem.bias_penalty
    return W, bias, result


def _solved(
    problem: DirectProblem, start: np.ndarray, rows: np.ndarray, moves: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Solve for the masses moved and, where they are free, the biases."""
    X = problem.X[rows]
    X = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
    shares = problem.shares(start)
    balance = shares.sum(axis=0)
    slopes = X @ np.asarray(problem.X.T @ shares) + 1.0
    slopes[np.arange(len(rows)), problem.codes[rows]] -= 1.0
    across = moves @ moves.T
    matrix = (X @ X.T) * across
    if problem.fit_intercept and not problem.has_free_bias:
        matrix = matrix + across / problem.bias_penalty
        slopes = slopes + balance / problem.bias_penalty
    right = (slopes * moves).sum(axis=1)
    count, K = moves.shape
    if problem.has_free_bias:
        # The biases are K more unknowns, of the size of the others, and the balance K more rows.
        size = float(np.sqrt(np.trace(matrix) / count)) or 1.0
        matrix = np.block([[matrix, -size * moves], [-size * moves.T, np.zeros((K, K))]])
        right = np.concatenate([right, -size * balance])
    scale = 1.0 / np.sqrt(np.maximum(np.abs(matrix).max(axis=1), np.finfo(float).tiny))
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            solution = scipy.linalg.lstsq(
                matrix * np.outer(scale, scale), scale * right, lapack_driver="gelsy"
            )[0]
            solution = scale * solution
    except (np.linalg.LinAlgError, ValueError):
        return None
    bias = size * solution[count:] if problem.has_free_bias else np.zeros(K)
    return solution[:count], bias - bias.mean()
