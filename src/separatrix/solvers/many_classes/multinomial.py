"""Newton's method for the multinomial model, by conjugate gradients, on a processor or a device.

    min over w_k, b_k   r/2 sum_k |w_k|^2 + p/2 sum_k b_k^2
                        + sum_i c_i (log sum_k exp z_ik - z_iy),     z_ik = w_k.x_i + b_k

A step solves (curvature) s = -gradient roughly, whitened by the scatter of the rows (`Whitening`).
The gradient is always that of all rows; the curvature, of which a rough idea is enough, may be that
of a tenth of them: a million rows are then read about ten times, not sixty. When a step falls short
of what it should bring, the sample grows until it is all of the rows.

With the softmax q of a point whose pulls on the biases are zero, primal - dual = 1/2 |gradient|^2:
the gap costs nothing. Without a ridge (r = 0) it is sum |gradient| B over weights of sizes up to B
(docs/certificates.md), and a small system is solved at once from the first step on. Before a run
ends the biases are set right by Newton's method of their own.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.problem.many_classes import REACH, SoftmaxProblem
from separatrix.solvers.many_classes.softmax_rows import (
    SoftmaxRows,
    Whitening,
    exact_step,
    is_small,
    is_tiny,
    most_columns,
)
from separatrix.solvers.running.drive import Status, advanced

__all__ = ["advance", "start"]

_SHARE = 0.2  # of the gradient's length that the solution of the system may leave
_ROUNDS, _MANY_ROUNDS = 100, 20
_FEW_ROWS, _FIRST_SAMPLE, _LEAST_SAMPLE = 20_000, 0.1, 10_000
_SLOW = 0.35  # a step that leaves more of the gradient asks for a larger sample
_ARMIJO = 1e-4
_HALVINGS = 40
# What a step brings of what it should; how many times its length the radius is after a good one.
_POOR, _GOOD, _WIDER = 0.25, 0.75, 3.0
_NOISE = {True: 1e-7, False: 1e-13}  # of an objective summed from single or double precision
_PATIENCE = 4  # updates without a better objective or gap: what is left is rounding
_UNBALANCED = 1e-3  # of the tolerance, that unbalanced biases may cost
_BIAS_STEPS = 8


@dataclass
class MultinomialState:
    """A run: the point, its gradient, and the two objectives that bracket the optimum.

    W (d x K) and the biases are in float64 beside the rows; `shifted` are the biases of rows whose
    mean is taken away.
    """

    problem: SoftmaxProblem
    tol: float
    reader: SoftmaxRows
    W: Any
    shifted: Any
    masses: Any  # what the rows of each class cost together
    max_passes: float
    random: np.random.Generator
    slope: Any = None
    pull: Any = None
    primal: float = np.inf
    away: float = np.inf  # primal - dual
    updates: int = 0
    passes: float = 0.0
    sampled: float = 1.0
    stalled: int = 0
    best: float = np.inf
    least: float = np.inf
    radius: float = np.inf
    whole: bool = False  # whether steps are solved for at once
    solved: bool = False
    row: int = -1
    rows: Any = field(default=None, repr=False)
    bound: float = np.inf
    typical: Any = 0.0  # without a ridge: 1 over the mean size of each column
    moves: Any = None  # without a ridge, beside free biases: 1 for a column that varies, 0 if none

    @property
    def weights(self) -> np.ndarray:
        """One row [b, w] a class."""
        bias = self.shifted - self.reader.centre @ self.W
        if self.problem.has_free_bias:
            # One number added to all changes nothing: that of mean 0 is the one shown.
            bias = bias - bias.mean()
        return np.column_stack([self.reader.back(bias), self.reader.back(self.W).T])

    @property
    def w(self) -> np.ndarray:
        """The weights, class after class, each with its bias first."""
        return self.weights.ravel()

    @property
    def gap(self) -> float:
        """(primal - dual) / primal as floating point finds it, the biases taken as balanced."""
        if self.primal == 0.0:
            return 0.0
        return self.away / self.primal if np.isfinite(self.primal) else np.inf

    @property
    def imbalance(self) -> float:
        """What mending the sums of the softmax would take, as a share of a row."""
        if not self.problem.has_free_bias:
            return 0.0
        return _lacking(self, self.pull)


# What overflows ends in an objective that is not finite: the run says so.
@np.errstate(all="ignore")
def start(
    problem: SoftmaxProblem,
    *,
    tol: float,
    first: np.ndarray | None = None,
    seed: int = 0,
    max_passes: float = np.inf,
    pool: Executor | None = None,
    precise: bool = False,
    at_once: bool = False,
) -> MultinomialState:
    """Lay out a run at the weights `first` (a row [b, w] a class), or at 0 with fitting biases.

    Rows in single precision are worked with as they are, or, where it must be `precise`, in double.
    With `at_once` the system of a step is solved at once where it is tiny: fewer steps, other bits.
    """
    reader = SoftmaxRows(problem, pool, precise)
    masses = np.maximum(np.bincount(problem.codes, problem.costs, problem.n_classes), 1e-300)
    if first is not None:
        W, bias = (
            reader.placed(np.ascontiguousarray(first[:, 1:].T)),
            reader.placed(first[:, 0].copy()),
        )
        shifted = bias + reader.centre @ W
    else:
        W = reader.zeros(reader.d, reader.K)
        logs = np.log(masses / masses.sum())
        shifted = reader.placed((logs - logs.mean()) * problem.has_free_bias)
    if not problem.fit_intercept:
        shifted = reader.zeros(reader.K)
    state = MultinomialState(
        problem=problem,
        tol=tol,
        reader=reader,
        W=W,
        shifted=shifted,
        masses=reader.placed(masses),
        max_passes=max_passes,
        random=np.random.default_rng(seed),
    )
    if reader.n > _FEW_ROWS:
        state.sampled = max(_FIRST_SAMPLE, _LEAST_SAMPLE / reader.n)
    state.whole = at_once and is_tiny(reader)
    if not problem.ridge:
        state.whole = is_small(reader)
        state.typical = _typical(problem)
        state.moves = _moves(problem) if problem.has_free_bias else None
    _look(state, W, shifted, *_at(state, W, shifted))
    return state


def _typical(problem: SoftmaxProblem) -> np.ndarray:
    """Return sum_i c_i / sum_i c_i |x_ij| for every column; 0 for a column of zeros."""
    sizes = np.asarray(abs(problem.X).T @ problem.costs, dtype=np.float64)
    return np.where(sizes > 0.0, problem.costs.sum() / np.where(sizes > 0.0, sizes, 1.0), 0.0)


def _moves(problem: SoftmaxProblem) -> np.ndarray:
    """Return 1 for each column that varies, else 0: a bias does what a constant column would."""
    most, least = problem.X.max(axis=0), problem.X.min(axis=0)
    if sp.issparse(most):
        most, least = most.toarray().ravel(), least.toarray().ravel()
    return (np.asarray(most) > np.asarray(least)).astype(np.float64)


@np.errstate(all="ignore")
def advance(state: MultinomialState, budget: int) -> Status | None:
    """Make at most `budget` updates."""
    return advanced(state, budget, _ended, _step)


def _ended(state: MultinomialState) -> Status | None:
    if state.gap <= state.tol:
        if state.imbalance <= _UNBALANCED * state.tol or state.solved:
            return Status.OPTIMAL
        _balance(state)
        state.solved = True
        return Status.OPTIMAL
    if state.passes >= state.max_passes:
        return Status.BUDGET
    return Status.UNPROVED if state.stalled >= _PATIENCE else None


def _at(state: MultinomialState, W: Any, shifted: Any) -> tuple[float, Any, Any]:
    """Return the objective and its gradient; one pass."""
    problem, reader = state.problem, state.reader
    state.passes += 1.0
    loss, slope, pull = reader.gradient(W, shifted)
    primal = 0.5 * problem.ridge * float((W * W).sum()) + loss
    if problem.fit_intercept and problem.bias_penalty > 0.0:
        primal += 0.5 * problem.bias_penalty * float((shifted * shifted).sum())
        pull = pull + problem.bias_penalty * shifted
    if not problem.fit_intercept:
        pull = 0.0 * pull
    slope = slope if state.moves is None else slope * state.moves[:, None]
    return primal, slope + problem.ridge * W, pull


def _look(
    state: MultinomialState, W: Any, shifted: Any, primal: float, slope: Any, pull: Any
) -> None:
    """Move to a point whose gradient is known."""
    state.W, state.shifted, state.primal, state.slope, state.pull = W, shifted, primal, slope, pull
    away = 0.5 * float((slope * slope).sum())
    if not state.problem.ridge:
        sizes = abs(W - W.mean(axis=1)[:, None]) + state.typical[:, None]
        away = REACH * float((abs(slope) * sizes).sum())
    if state.problem.bias_penalty > 0.0 and state.problem.fit_intercept:
        away += 0.5 * float((pull * pull).sum()) / state.problem.bias_penalty
    state.away = away
    better = away < 0.9 * state.best or primal < (1.0 - 1e-6) * state.least
    state.best, state.least = min(away, state.best), min(primal, state.least)
    state.stalled = 0 if better else state.stalled + 1
    state.solved = False


def _step(state: MultinomialState) -> None:
    """Make one update."""
    reader, state.updates = state.reader, state.updates + 1
    _draw(state)
    size = float((state.slope * state.slope).sum())
    S, s, long = _direction(state)
    falls = float((S * state.slope).sum() + (s * state.pull).sum())
    noise = _NOISE[reader.is_single] * abs(state.primal)
    length = 1.0
    for _ in range(_HALVINGS):
        W, shifted = state.W + length * S, state.shifted + length * s
        primal, slope, pull = _at(state, W, shifted)
        if primal <= state.primal + _ARMIJO * length * falls + noise:
            break
        # The parabola through both values and the slope says where its least is.
        bend = primal - state.primal - length * falls
        length *= min(0.5, max(0.1, -0.5 * length * falls / bend if bend > 0.0 else 0.1))
    else:
        state.stalled = _PATIENCE
        return
    gained = (state.primal - primal) / max(-falls * length * (1.0 - 0.5 * length), 1e-300)
    if length < 1.0:
        state.radius = 2.0 * length * long
    elif gained < _POOR:
        state.radius = 0.5 * long
    elif gained > _GOOD:
        state.radius = max(state.radius, _WIDER * long)
    _look(state, W, shifted, primal, slope, pull)
    left = float((slope * slope).sum()) / size if size > 0.0 else 0.0
    if left > _SLOW**2 and gained > _POOR and long < state.radius:
        state.sampled = min(1.0, 2.0 * state.sampled)


def _direction(state: MultinomialState) -> tuple[Any, Any, float]:
    """Return a step and its length: by rounds, or at once where few unknowns need many rounds."""
    reader, problem = state.reader, state.problem
    if state.whole:
        state.passes += 1.0
        S, s = exact_step(
            reader,
            state.slope,
            state.pull,
            problem.fit_intercept,
            problem.bias_penalty,
            problem.ridge,
            state.moves,
        )
        falls = float((S * state.slope).sum() + (s * state.pull).sum())
        long = float(np.sqrt(max(-falls, 0.0)))
        share = min(1.0, state.radius / long) if long > 0.0 else 1.0
        return share * S, share * s, share * long
    scatter, classes = reader.spread(reader.d <= most_columns)
    if state.moves is not None:
        scatter = scatter * state.moves
        scatter = scatter if scatter.ndim == 1 else scatter * state.moves[:, None]
    whiten = Whitening(reader.xp, scatter, classes, state.masses, problem)
    before = state.passes
    found = _conjugate_gradients(state, whiten)
    state.whole = is_small(reader) and state.passes - before > _MANY_ROUNDS
    return found


def _draw(state: MultinomialState) -> None:
    """Choose the rows whose curvature is used."""
    n = state.reader.n
    count = int(state.sampled * n)
    if count >= n // 2:
        state.reader.sample(None)
        return
    state.reader.sample(np.sort(state.random.choice(n, count, replace=False)))


def _conjugate_gradients(state: MultinomialState, whiten: Whitening) -> tuple[Any, Any, float]:
    """Solve the system of a step roughly, no further than the radius; return the step's length.

    Lengths are those of the preconditioner, and follow from the rounds themselves (Steihaug 1983).
    """
    reader, problem = state.reader, state.problem
    cost = 1.0 if reader.chosen is None else state.sampled
    G, g = -state.slope, -state.pull
    S, s = 0.0 * G, 0.0 * g
    Z, z = whiten(G, g)
    D, e = Z, z
    size = first = float((G * Z).sum() + (g * z).sum())
    whole, along, ahead = 0.0, 0.0, size  # |s|^2, s.d and |d|^2
    for _ in range(_ROUNDS):
        if not size > _SHARE**2 * first:
            break
        B, b = reader.curved(D, e)
        state.passes += cost
        B, b = B + problem.ridge * D, b + problem.bias_penalty * e
        if not problem.fit_intercept:
            b = 0.0 * b
        bend = float((D * B).sum() + (e * b).sum())
        share = size / bend if bend > 0.0 else np.inf
        reached = whole + share * (2.0 * along + share * ahead)
        if not reached < state.radius**2:
            room = max(state.radius**2 - whole, 0.0)
            share = room / (along + np.sqrt(along * along + ahead * room)) if room > 0.0 else 0.0
            return S + share * D, s + share * e, state.radius
        S, s = S + share * D, s + share * e
        G, g = G - share * B, g - share * b
        Z, z = whiten(G, g)
        following = float((G * Z).sum() + (g * z).sum())
        turn = following / size
        D, e = Z + turn * D, z + turn * e
        whole, along = reached, turn * (along + share * ahead)
        ahead, size = following + turn * turn * ahead, following
    return S, s, float(np.sqrt(whole))


def _balance(state: MultinomialState) -> None:
    """Set the biases right for the weights as they are, so that the sums of the softmax fit.

    Other biases multiply the probabilities kept, so that a step reads no row.
    """
    reader, xp = state.reader, state.reader.xp
    pull, moved = state.pull, 0.0 * state.shifted
    for _ in range(_BIAS_STEPS):
        if _lacking(state, pull) <= _UNBALANCED * state.tol:
            break
        curvature = reader.balanced_curvature()
        # Adding one number to all biases changes nothing: that direction is held fast.
        curvature = curvature + xp.mean(xp.diagonal(curvature)) / reader.K
        try:
            step = xp.linalg.solve(curvature, -pull)
        except (np.linalg.LinAlgError, RuntimeError):  # torch's error is a RuntimeError
            break
        if not bool(xp.isfinite(step).all()):
            break
        moved = moved + step
        if not reader.keeps:
            break
        pull = reader.lean(step) - state.masses
    # The objective falls by this, and W's gradient hardly moves: the proof will see both anew.
    state.shifted, state.pull = state.shifted + moved, pull


def _lacking(state: MultinomialState, pull: Any) -> float:
    """Return what mending sums that pull so would take, as a share of a row."""
    lacking = state.reader.back(pull) / state.reader.back(state.masses)
    return float(np.maximum(lacking, 0.0).max(initial=0.0))
