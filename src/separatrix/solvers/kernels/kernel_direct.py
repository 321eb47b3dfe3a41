"""Dual block descent by chunks: the direct model of many classes with a kernel.

    max over m    sum_i sum_(k != y_i) m_ik  -  1/2 sum_k sum_ij a_ik a_jk K_ij
    subject to    m_ik >= 0,   sum_k m_ik = c_i,   r_k = sum_i a_ik = 0 for every k

with a_ik = c_i 1[k = y_i] - m_ik (`problem/machine.py`). As in `chunking`, about a thousand
rows that violate optimality most are worked on together; as in `crammer_singer`, a visit gives a
row its best masses, the others held, and r = 0 is reached by an augmented Lagrangian: multipliers
b_0 and a penalty s/2 |r|^2, with b = b_0 + s r. Kernel values are those of `CentredRows`.

One update is one chunk. Kernel values may be float32; masses and scores are float64 always. What
float32 hides, `resume` repairs from scores computed otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.many_classes import KernelDirect
from separatrix.solvers.kernels.kernel_rows import CentredRows
from separatrix.solvers.kernels.smo import CHUNK, choose_worst
from separatrix.solvers.many_classes.class_claims import all_at_home, rebalance
from separatrix.solvers.many_classes.class_pass import project
from separatrix.solvers.running import drive
from separatrix.solvers.running.drive import Status, shuffle

__all__ = ["State", "advance", "balanced", "carry_over", "kernel_bias", "resume", "start"]

_SHARE = 0.1  # how far a chunk lowers its violation
_VISITS = 12
_VISITS_OF_ALL = 5  # to a chunk that holds all rows, before the biases are looked at again
_FIRST_WEIGHT = 0.1  # of the mean diagonal
_LEAST_VIOLATION = 1e-14
# A gap that has not fallen by a tenth in so many chunks will not.
_FALLING, _PATIENCE = 0.9, 300
# Places in the numbers of a run: the widest spread of slopes in the last visits, and the steps.
WIDEST, STEPS = range(2)


@dataclass
class State:
    """A run in progress: masses, scores (class by class) and biases."""

    machine: KernelDirect
    kernel_rows: CentredRows
    tol: float
    size: int
    masses: np.ndarray
    scores: np.ndarray
    multipliers: np.ndarray
    weight: float
    balance: np.ndarray
    violations: np.ndarray
    primal: float = np.inf
    shortfall: float = np.inf
    off_balance: float = np.inf
    last_balance: float = np.inf
    least_gap: float = np.inf
    least_at: int = 0  # the update at which the gap was last seen to fall
    updates: int = 0
    status: Status | None = None
    last: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)
    numbers: np.ndarray = field(default_factory=lambda: np.zeros(2), repr=False)
    dice: np.ndarray = field(default_factory=lambda: drive.seeded_dice(0), repr=False)

    @property
    def w(self) -> np.ndarray:
        """The masses: `drive` looks whether they are finite."""
        return self.masses

    @property
    def bias(self) -> np.ndarray:
        """The biases, of which a common part is of no account."""
        bias = self.multipliers + self.weight * self.balance
        return np.asarray(bias - bias.mean())

    @property
    def steps(self) -> int:
        """How many rows were given other masses, counted as often as they were."""
        return int(self.numbers[STEPS])

    @property
    def gap(self) -> float:
        """What the masses fall short by, as a share of the objective; balanced or not."""
        missing = self.shortfall + self.off_balance
        return missing / self.primal if self.primal > 0.0 else 0.0


def start(
    machine: KernelDirect, *, kernel_rows: CentredRows, tol: float = 1e-3, size: int = CHUNK
) -> State:
    """Begin with all mass on the own classes."""
    n, K = len(machine.codes), machine.n_classes
    used = machine.costs > 0.0
    mean = float(kernel_rows.diagonal[used].mean()) if used.any() else 0.0
    state = State(
        machine,
        kernel_rows,
        tol,
        min(size, kernel_rows.capacity),
        all_at_home(machine),
        np.zeros((K, n)),
        np.zeros(K),
        _FIRST_WEIGHT * mean if mean > 0.0 else 1.0,
        np.zeros(K),
        np.zeros(n),
    )
    _measure(state)
    return state


def resume(state: State, masses: np.ndarray, scores: np.ndarray, tol: float) -> None:
    """Go on from masses that balance, with the kernel's own scores of them in float64."""
    state.multipliers = state.bias
    state.masses = masses.copy()
    offsets = np.asarray(state.machine.shares(masses).T @ state.kernel_rows.products)
    state.scores = np.ascontiguousarray(scores.T - offsets[:, None])
    state.tol = tol
    _begin_again(state)


def carry_over(state: State, machine: KernelDirect) -> None:
    """Go on with costs that are nowhere lower: what they grow by lies on the own classes."""
    own = np.arange(len(machine.codes)), machine.codes
    state.masses[own] = 0.0
    state.masses[own] = np.maximum(0.0, machine.costs - state.masses.sum(axis=1))
    state.machine = machine
    _begin_again(state)


def _begin_again(state: State) -> None:
    state.status, state.last_balance = None, np.inf
    state.least_gap, state.least_at = np.inf, state.updates
    _measure(state)


def balanced(state: State) -> np.ndarray:
    """Return the masses with every r_k zero, to rounding."""
    masses = state.masses.copy()
    rebalance(masses, state.machine.shares(masses).sum(axis=0))
    return masses


def kernel_bias(state: State, masses: np.ndarray) -> np.ndarray:
    """Return the biases that go with the kernel as it is, not seen from the middle."""
    shares = state.machine.shares(masses)
    bias = state.bias - shares.T @ state.kernel_rows.products
    return np.asarray(bias - bias.mean())


def advance(state: State, budget: int) -> Status | None:
    """Work on at most `budget` chunks."""
    for _ in range(budget):
        if state.status is not None:
            break
        _work_on_a_chunk(state)
    return state.status


def _work_on_a_chunk(state: State) -> None:
    machine = state.machine
    whole = len(machine.codes) <= state.size
    if whole:
        rows = np.flatnonzero(machine.costs > 0.0)
    else:
        rows = choose_worst(state.violations, state.last, state.size)
    state.last = rows
    before, scores = state.masses[rows], np.ascontiguousarray(state.scores[:, rows])
    masses, order = before.copy(), np.arange(len(rows))
    K, diagonal = state.kernel_rows.block(rows), state.kernel_rows.diagonal[rows]
    chunk = Chunk(K, diagonal, machine.codes[rows], machine.costs[rows], masses, scores, order)
    first = float(state.violations[rows].max(initial=0.0))
    target = _SHARE * first
    for _ in range(_VISITS_OF_ALL if whole else _VISITS):
        biases = state.multipliers, state.weight, state.balance
        visit_rows(chunk, *biases, target, state.numbers, state.dice)
        widest = float(state.numbers[WIDEST])
        if not whole and widest <= 2.0 * _SHARE * first:
            break
        target = _SHARE * widest
    state.updates += 1
    state.masses[rows] = masses
    _add(state, rows, before - masses)
    _measure(state)


def _add(state: State, rows: np.ndarray, steps: np.ndarray) -> None:
    """Bring the scores of all rows up to date, class by class."""
    for k in range(state.machine.n_classes):
        moved = np.flatnonzero(steps[:, k])
        if len(moved):
            state.kernel_rows.add(rows[moved], steps[moved, k], state.scores[k])


def _measure(state: State) -> None:
    """Look where the run stands, end it where that is near enough, and renew the multipliers."""
    _look(state)
    if state.gap <= state.tol and state.balance.any():
        _settle_balance(state)
    size = float(abs(state.balance).sum())
    widest = float(state.violations.max(initial=0.0))
    least = _LEAST_VIOLATION * (1.0 + float(abs(state.scores).max(initial=0.0)))
    if state.gap < _FALLING * state.least_gap:
        state.least_gap, state.least_at = state.gap, state.updates
    if state.gap <= state.tol:
        state.status = Status.OPTIMAL
    elif (widest <= least and size <= least) or state.updates - state.least_at > _PATIENCE:
        state.status = Status.SETTLED
    else:
        _renew(state, size)


def _look(state: State) -> None:
    machine = state.machine
    shares = machine.shares(state.masses)
    state.balance = shares.sum(axis=0)
    bias = state.bias
    state.shortfall, loss = look(
        state.scores, bias, machine.codes, machine.costs, state.masses, state.violations
    )
    square = max(0.0, float(np.vdot(shares.T, state.scores)))
    state.primal = 0.5 * square + float(loss)
    # To balance, mass must move between classes whose slopes differ by a margin or so.
    size = float(abs(state.balance).sum())
    state.off_balance = 0.5 * size * (1.0 + float(abs(bias).max(initial=0.0)))


def _settle_balance(state: State) -> None:
    """Balance the masses, to rounding, and look again: scores moved a little may cost much."""
    state.multipliers = state.bias
    masses = balanced(state)
    steps = state.masses - masses
    rows = np.flatnonzero(steps.any(axis=1))
    state.masses = masses
    for begin in range(0, len(rows), state.size):
        part = rows[begin : begin + state.size]
        _add(state, part, steps[part])
    state.last_balance = np.inf
    _look(state)


def _renew(state: State, size: float) -> None:
    """Let b_0 take what the penalty has found; weigh r more where it alone is what is missing."""
    state.multipliers = state.multipliers + state.weight * state.balance
    if state.shortfall < 0.1 * state.off_balance and size > 0.25 * state.last_balance:
        state.weight *= 4.0
    state.last_balance = size


# ---- the loops: visits to the rows of a chunk, and a look at all rows


class Chunk(NamedTuple):
    """The rows that are worked on: their kernel values, and where their dual variables stand."""

    K: np.ndarray
    diagonal: np.ndarray
    codes: np.ndarray
    costs: np.ndarray
    masses: np.ndarray
    scores: np.ndarray
    order: np.ndarray


@compiled
def visit_rows(chunk, multipliers, weight, balance, target, numbers, dice):  # type: ignore[no-untyped-def]
    """Visit every row once, in random order; where slopes spread by more than `target`, step."""
    K, diagonal, codes, costs, masses, scores, order = chunk
    shuffle(order, dice)
    n_classes, n_rows = scores.shape
    slopes, heights = np.empty(n_classes), np.empty(n_classes)
    widest = 0.0
    for place in range(n_rows):
        i = order[place]
        own, mass = codes[i], costs[i]
        highest, lowest = -np.inf, np.inf
        for k in range(n_classes):
            slopes[k] = scores[k, i] + multipliers[k] + weight * balance[k]
            if k != own:
                slopes[k] += 1.0
            highest = max(highest, slopes[k])
            if masses[i, k] > 0.0:
                lowest = min(lowest, slopes[k])
        widest = max(widest, highest - lowest)
        if not highest - lowest > target:
            continue
        square = diagonal[i] + weight
        for k in range(n_classes):
            heights[k] = (slopes[k] - highest) + square * masses[i, k]
        level = project(heights, n_classes, square * mass)
        row = K[i]
        for k in range(n_classes):
            step = max(0.0, (heights[k] - level) / square) - masses[i, k]
            if step != 0.0:
                masses[i, k] += step
                balance[k] -= step
                own_scores = scores[k]
                for j in range(n_rows):
                    own_scores[j] -= step * row[j]
        numbers[STEPS] += 1.0
    numbers[WIDEST] = widest


@compiled
def look(scores, bias, codes, costs, masses, violations):  # type: ignore[no-untyped-def]
    """Set how far each row's slopes spread; return what the masses fall short by, and the loss."""
    n_classes = scores.shape[0]
    shortfall, loss = 0.0, 0.0
    slopes = np.empty(n_classes)
    for i in range(codes.shape[0]):
        own = codes[i]
        highest, lowest = -np.inf, np.inf
        for k in range(n_classes):
            slopes[k] = scores[k, i] + bias[k] + (1.0 if k != own else 0.0)
            highest = max(highest, slopes[k])
            if masses[i, k] > 0.0:
                lowest = min(lowest, slopes[k])
        for k in range(n_classes):
            shortfall += masses[i, k] * (highest - slopes[k])
        loss += costs[i] * (highest - slopes[own])
        violations[i] = highest - lowest if costs[i] > 0.0 else 0.0
    return shortfall, loss
