"""Which solver suits a regularised model, and which one to go over to (`model_run` runs them).

    interior_point   hinge and hard margin, narrow data
    newton           squared hinge and logistic (newton_cg where a d x d matrix is too large)
    dual_coordinate  hinge and squared hinge, wide sparse data
    gram             few rows, many columns: the same in the n x n Gram form

Rows on a device are solved there, by the first two of these.

`choose` names the solver; the figures behind it are those of benchmarks/machines.py. Where either
of two may be the faster, `plan` names the other as well, and what it costs; a `Watch` says when to
go over. Work is counted, not timed: the same problem takes the same way.

The hard margin on wide sparse data: soft margins of growing cost.

    min over w, b   1/2 |w|^2   subject to   y_i (w.x_i + b) >= 1

Once the cost of a row exceeds every multiplier of the hard margin, the soft margin is the hard
one. So the soft model is solved by dual coordinate descent for a cost, then for ten times that
cost from where it stood, until w, scaled to a least margin of 1, meets the dual bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from separatrix.problem.losses import HINGE, LOGISTIC, SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import entries_of, on_device
from separatrix.solvers.linear import dual_coordinate
from separatrix.solvers.linear.claims import MachineState, balanced, hard_claim
from separatrix.solvers.running.drive import Status

SOLVERS = ("newton", "interior_point", "dual_coordinate", "gram")

_FEW_ROWS, _VERY_FEW_ROWS, _THIN = 2_000, 100, 0.1
_MODEST = 2_000  # columns
_ITERATIONS, _PASSES = 25, 60
_FEW_ENTRIES = 20_000  # so few are solved at once to all digits
# Few columns, and a row that can move its own margin far: passes over the rows are slow. But where
# one class is rare the interior point may be as slow.
_FAR, _RARE = ((30, 10.0), (100, 300.0)), 0.1
# Newton's method costs about so many passes over sparse rows, where there are many more of them
# than columns, and no row can move its own margin farther than this; there it is the first choice.
# Farther, it costs more by a power of that, up to so many times as much.
_TALL, _NEWTON, _NEAR, _FARTHER, _DEAREST = 4.0, 17.0, 20.0, 0.4, 8.0


def choose(problem: MachineProblem) -> str:
    """Return the solver for a problem, by its shape and loss."""
    n, d = problem.X.shape
    if on_device(problem.X):
        return "interior_point" if problem.loss == HINGE else "newton"
    entries = entries_of(problem.X)
    if _is_short(problem) and (problem.is_hard or entries > _THIN * n * d):
        # On thin sparse rows this costs at least ten times what passes cost. Where all rows can be
        # fitted, a Newton step for the squared hinge changes few rows.
        by_passes = problem.loss == SQUARED_HINGE and not problem.is_hard and n > _VERY_FEW_ROWS
        return "dual_coordinate" if by_passes else "gram"
    if problem.loss == LOGISTIC:
        return "newton"
    by_matrix_alone = "interior_point" if problem.loss == HINGE or problem.is_hard else "newton"
    if problem.loss == HINGE and not problem.is_hard and d <= _MODEST:
        if n * d <= _FEW_ENTRIES:
            return by_matrix_alone
        is_slow = _is_far(problem) and rare_share(problem) > _RARE
        return by_matrix_alone if is_slow else "dual_coordinate"
    if d <= NARROW or (d <= _MODEST and not sp.issparse(problem.X)):
        # Dense columns are seldom scaled, and passes over rows do not converge on raw ones.
        return by_matrix_alone
    if by_matrix_alone == "newton" and sp.issparse(problem.X):
        if n >= d and reach(problem) <= _NEAR:
            return "newton"
        if d > _MODEST:
            return "dual_coordinate"
    by_matrix = _ITERATIONS * PRODUCT * (products(problem) + d**3 / 3.0)
    by_passes = _PASSES * ENTRY * entries
    # Narrow data are hard for coordinate descent at large C: the matrix may cost a good deal more.
    return by_matrix_alone if by_matrix < 4.0 * by_passes else "dual_coordinate"


@dataclass(frozen=True)
class Plan:
    """The solver to begin with, and one to go over to where its passes get nowhere.

    `price` is what that one costs in all, in passes of the first; infinite where it is not known.
    `fixed` is the share of a full pass that an update costs even where it visits few rows.
    """

    solver: str
    other: str | None = None
    price: float = np.inf
    fixed: float = 0.0

    def work(self, passes: float, updates: int) -> float:
        """Return what passes in so many updates cost, in full passes of one update each."""
        return (1.0 - self.fixed) * passes + self.fixed * updates


def plan(problem: MachineProblem) -> Plan:
    """Return the solvers for a problem."""
    solver = choose(problem)
    other = _other_solver(problem, solver)
    if other == "interior_point":
        return Plan(solver, other, *price_of_interior_point(problem))
    if other != "newton":
        return Plan(solver, other)
    n, d = problem.X.shape
    farther = min(_DEAREST, max(1.0, reach(problem) / _NEAR) ** _FARTHER)
    return Plan(solver, other, _NEWTON * farther * max(1.0, _TALL * d / n))


def _is_far(problem: MachineProblem) -> bool:
    """Whether there are few columns, and a row can move its own margin far."""
    how_far = reach(problem)
    return any(problem.X.shape[1] <= columns and how_far > far for columns, far in _FAR)


def _other_solver(problem: MachineProblem, solver: str) -> str | None:
    """Return the solver to use where passes over the rows get nowhere; None if there is none."""
    if solver != "dual_coordinate":
        return None
    by_matrix = problem.loss == HINGE or problem.is_hard
    if not by_matrix and sp.issparse(problem.X):
        return "newton"
    if _is_short(problem):
        return "gram"
    if problem.X.shape[1] > _MODEST:
        return None
    return "interior_point" if by_matrix else "newton"


def _is_short(problem: MachineProblem) -> bool:
    """Whether there are few rows and many more columns."""
    n, d = problem.X.shape
    return n <= _FEW_ROWS and 2 * n < d


# ---- what the interior point costs, in passes of dual coordinate descent; no clock is read

NARROW = 60  # columns, whose matrix costs next to nothing
# Seconds for one multiplication of a d x d product, and for one entry of a coordinate pass.
PRODUCT, ENTRY = 2.5e-10, 3e-9

# Seconds of a pass of coordinate descent for each entry and row; of an update for each row and
# column, and the rest; of an iteration of the interior point for each product and entry (dense,
# sparse), for each product of the factor, each entry of the matrix and each row, and the rest.
# Fitted to 240 generated problems; only their ratio matters.
_OF_PASS = 1.5e-9, 8.5e-8
_OF_UPDATE = 7.2e-8, 2e-8, 8.7e-5
_OF_ITERATION = {False: (1e-10, 1.4e-8), True: (2e-10, 2e-8)}
_OF_FACTOR, _OF_MATRIX, _OF_ROW, _OF_REST = 6e-11, 4e-8, 2.3e-7, 4e-4


def price_of_interior_point(problem: MachineProblem) -> tuple[float, float]:
    """Return about how many passes the interior point costs, and what share of one is fixed."""
    if not 0.0 < float(problem.costs.sum()) < np.inf:
        return np.inf, 0.0
    n, d = problem.X.shape
    is_sparse = sp.issparse(problem.X)
    entries = float(entries_of(problem.X))
    of_row, of_column, rest = _OF_UPDATE
    update = of_row * n + of_column * d + rest
    a_pass = _OF_PASS[0] * entries + _OF_PASS[1] * n + update
    product, entry = _OF_ITERATION[is_sparse]
    iteration = product * products(problem) + entry * entries
    iteration += _OF_FACTOR * d**3 / 3.0 + _OF_MATRIX * d**2 + _OF_ROW * n + _OF_REST
    # Iterations grow with rows and columns, and where one class is rare: a fit to 1,069 generated
    # problems. No look at the data tells more; two thirds are within a factor of 1.7.
    iterations = 1.44 * n**0.16 * d**0.1 * max(rare_share(problem), 1e-4) ** -0.18
    return float(iterations * iteration / a_pass), float(update / a_pass)


def rare_share(problem: MachineProblem) -> float:
    """Return the share of the costs that the rarer class has."""
    mass = float(problem.costs.sum())
    positive = float(problem.costs[problem.signs > 0.0].sum()) / mass if mass > 0.0 else 0.0
    return min(positive, 1.0 - positive)


def reach(problem: MachineProblem) -> float:
    """Return how far one row can move its own margin, C |x|^2, in the mean."""
    entries = problem.X.data if sp.issparse(problem.X) else problem.X.ravel()
    with np.errstate(over="ignore"):
        return float(problem.costs.mean()) * float(entries @ entries) / problem.X.shape[0]


def products(problem: MachineProblem) -> float:
    """Return how many products a d x d matrix of the rows takes."""
    n, d = problem.X.shape
    if not sp.issparse(problem.X):
        return 0.5 * n * d * d
    lengths = np.diff(problem.X.indptr).astype(np.float64)
    return 4.0 * float(lengths @ lengths)  # no vector instructions there


# ---- whether passes are worth going on with, or the other solver would be there sooner

_FIRST, _LEAST, _STEP = 2.0, 8.0, 1.25
_TRIAL = 0.15  # of the price, that is spent before passes are given up
_KEEP = 1.4  # prices that passes still needed may cost: they speed up once the active rows are few
_PATIENCE = 300.0  # passes, where the price of the other solver is not known
_NONE = 0.999  # a gap so large is none: nothing is bounded yet
_ABOVE_TOL = 1.1  # a gap that is hoped for is no proof: it may stay at the tolerance for ever
# The other solver starts from the point reached: for a tenth of the gap it needs so much less of
# its price, down to the last share.
_PER_TENTH, _LAST_SHARE = 0.17, 0.45


class Watch:
    """The gap after some work, look by look; work and price are in passes over all rows.

    Coordinate descent needs ten passes on one problem and ten thousand on the next, and no look at
    the data tells which. The gap does, as it falls: from the gap some passes ago the work still
    needed is extrapolated, and where it is more than the other solver needs from here, that one
    takes over. log(gap / (1 - gap)) is what falls evenly: near 1 the gap itself hardly moves before
    it falls fast. Looks come at growing distances.

    >>> watch = Watch(price=50.0, tol=1e-6)
    >>> watch.is_worth_it(5.0, 0.5), watch.is_worth_it(10.0, 0.1), watch.is_worth_it(20.0, 0.09)
    (True, True, False)
    """

    def __init__(self, price: float, tol: float) -> None:
        self.price, self.tol = price, tol
        self.looks = [(0.0, 1.0)]
        self.passes = 0.0
        self.next = _FIRST if math.isfinite(price) else _PATIENCE

    def is_worth_it(self, passes: float, gap: float, work: float | None = None) -> bool:
        """Note the gap, and say whether to go on until `next`, in passes."""
        if math.isinf(self.price):
            return False  # so many passes should have done
        work, gap = passes if work is None else work, max(gap, _ABOVE_TOL * self.tol)
        since = work - self.looks[-1][0]
        share = min(1.0, (passes - self.passes) / since) if since > 0.0 else 1.0
        self.looks.append((work, gap))
        self.passes, self.next = passes, passes + (_STEP - 1.0) * work * share
        if work < max(_LEAST, _TRIAL * self.price):
            return True
        before, larger = next(look for look in reversed(self.looks) if look[0] <= work / 1.9)
        if not gap < larger:
            return False
        rate = (_height(larger) - _height(gap)) / (work - before)
        left = _height(gap) - _height(self.tol)
        return left <= rate * _KEEP * self.price * _share_left(gap)


def _height(gap: float) -> float:
    """Return log(gap / (1 - gap)), which falls evenly."""
    return math.log(gap / (1.0 - min(gap, _NONE)))


def _share_left(gap: float) -> float:
    """Return the share of its price that the other solver needs from here."""
    return min(1.0, max(_LAST_SHARE, 1.0 + _PER_TENTH * math.log10(gap)))


# ---- the hard margin on wide sparse data: soft margins of growing cost


_GROWTH = 10.0
_LARGEST = 1e12
_FIRST_COST = 1e-290, 1e290  # the first cost: the largest that follows is finite


@dataclass
class Memory:
    """The soft model being solved, its cost, and how it was started."""

    soft: MachineState
    cost: float
    first_cost: float
    seed: int
    max_passes: float
    earlier_updates: int = 0
    earlier_passes: float = 0.0


def start(
    problem: MachineProblem,
    *,
    tol: float,
    first: tuple[np.ndarray | None, np.ndarray | None] | None = None,
    seed: int = 0,
    max_passes: float = np.inf,
) -> MachineState:
    """Begin at the cost at which rows of the mean length reach the margin alone."""
    entries = problem.X.data if hasattr(problem.X, "indptr") else problem.X
    with np.errstate(over="ignore", divide="ignore"):
        mean_square = np.square(entries, dtype=np.float64).sum() / max(1, problem.X.shape[0])
        cost = float(np.clip(1.0 / mean_square, *_FIRST_COST)) if mean_square > 0.0 else 1.0
    soft = dual_coordinate.start(
        _soft(problem, cost), tol=tol, first=first, seed=seed, max_passes=max_passes
    )
    n, d = problem.X.shape
    state = MachineState(problem, tol, np.zeros(d + 1), np.zeros(n))
    state.memory = Memory(soft, cost, cost, seed, max_passes)
    return state


def _soft(problem: MachineProblem, cost: float) -> MachineProblem:
    return replace(problem, costs=np.where(problem.costs > 0.0, cost, 0.0))


def advance(state: MachineState, budget: int) -> Status | None:
    """Make at most `budget` passes."""
    memory: Memory = state.memory
    while True:
        if state.gap <= state.tol:
            return Status.OPTIMAL
        soft = memory.soft
        soft.tol = min(soft.tol, state.tol)
        before = soft.updates
        status = dual_coordinate.advance(soft, min(budget, 1))
        budget -= soft.updates - before
        state.updates = memory.earlier_updates + soft.updates
        state.passes = memory.earlier_passes + soft.passes
        if status is Status.OPTIMAL:
            _look(state)
            if state.gap <= state.tol:
                return Status.OPTIMAL
            if not _grow(state):
                spent = state.passes >= memory.max_passes
                return Status.BUDGET if spent else Status.UNPROVED
        elif status is not None:
            return status
        if budget <= 0:
            return None


def _look(state: MachineState) -> None:
    """Keep what the soft model says of the hard one."""
    problem, soft = state.problem, state.memory.soft
    w = hard_claim(problem, soft.w, problem.X @ soft.w[1:])
    primal = problem.primal(w)
    if primal < state.primal:
        state.w, state.primal = w, primal
    alpha = soft.alpha
    if problem.has_free_bias:
        alpha = balanced(alpha, problem.signs, problem.upper)
    dual = problem.dual(alpha)
    if dual > state.dual:
        state.alpha, state.dual = alpha, dual


def _grow(state: MachineState) -> bool:
    """Raise the cost if a row stands at it, and ask for more accuracy if none does."""
    memory: Memory = state.memory
    soft = memory.soft
    memory.earlier_updates, memory.earlier_passes = state.updates, state.passes
    tol = soft.tol
    if (soft.alpha >= memory.cost).any():
        memory.cost *= _GROWTH
    else:
        tol *= 0.1
    if (
        memory.cost > _LARGEST * memory.first_cost
        or tol < 1e-14
        or state.passes >= memory.max_passes
    ):
        return False
    memory.soft = dual_coordinate.start(
        _soft(state.problem, memory.cost),
        tol=tol,
        first=(soft.w, soft.alpha),
        seed=memory.seed,
        max_passes=memory.max_passes - state.passes,
    )
    return True
