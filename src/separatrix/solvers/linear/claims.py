"""What the solvers of the regularised models share: the run in progress, and what it may claim.

Each solver is a module with

    start(problem, *, tol, first=None, seed=0, max_passes=inf) -> MachineState
    advance(state, budget) -> Status | None

as `drive` wants them. One update is one iteration (of Newton or of the interior point) or one
pass (of dual coordinate descent). `first` is a claim to start from, (w, alpha), either of which may
be None: for the next C of a path, or the same rows with other costs.

From what a solver holds to what it may claim:

    best_bias    min over b   sum_i c_i max(0, 1 - y_i (f_i + b))            f_i = w.x_i
    evened       a near alpha in the box with sum_i y_i a_i = 0, to rounding
    hard_claim   the multiple of w whose least margin is 1, after the b that centres the gap
    balanced     a near alpha in the box with sum_i y_i a_i = 0, exactly

The first two take NumPy arrays or tensors on a device.

A dual point for a w that is nearly optimal: least squares on the rows of the margin.

    min over alpha_F   | w - sum_i alpha_i y_i x_i |^2
    subject to         0 <= alpha_F <= c,   and  sum_i y_i alpha_i = 0  where b is free

Rows clearly within the margin have alpha = c (squared hinge: 2 c (1 - margin)) and those clearly
beyond it 0; what is left, F, is fitted. An interior point multiplies the rounding of its margins by
weights that grow without bound, and Newton's method by high costs: so where the margin is very thin
their alpha is rough while their w is exact, and this makes up for it.

`on_the_faces` goes from the interior of the box to its faces. At the optimum a row with a margin
above 1 has alpha = 0, and one below 1 has all it may. Each row's distance from a bound, as a share
of the box, is compared with its distance from the margin of 1; where the margin says it more
clearly, alpha goes to the bound. To first order this raises the dual objective.

`on_this_face` computes the last digits once the face is known: the free rows lie on the margin, w
is a sum of rows, and what is left is one linear system.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.linalg.lapack import dgetrf, dgetrs

from separatrix._compiled import compiled, inlined
from separatrix.problem.losses import SQUARED_HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.rows import rows_of
from separatrix.problem.signed import FloatArray
from separatrix.solvers.running.drive import relative_gap

# exp(-750) is 0 in float64, and so is the logistic loss: nothing lies beyond.
_FAR = 750.0


@dataclass
class MachineState:
    """The best claims so far: w and alpha, and the two objectives that bracket the optimum."""

    problem: MachineProblem
    tol: float
    w: np.ndarray  # [b, w_1 ... w_d]
    alpha: np.ndarray  # feasible: 0 <= alpha (<= cost), balanced to rounding
    primal: float = np.inf
    dual: float = 0.0
    updates: int = 0
    passes: float = 0.0
    row: int = -1
    memory: Any = field(default=None, repr=False)  # the solver's own

    @property
    def answer(self) -> np.ndarray:
        """The weights the method would hand over now."""
        return self.w

    @property
    def rows(self) -> Any:
        """The signed rows, laid out for the loops."""
        return rows_of(self.problem.rows)

    @property
    def gap(self) -> float:
        """(primal - dual) / primal: 1 at the start, 0 at the optimum."""
        return relative_gap(self.primal, self.dual)

    @property
    def bound(self) -> float:
        """No margin is known to be impossible here (`drive` asks)."""
        return np.inf


def is_solved_at_once(state: MachineState) -> bool:
    """Rows of one class need nothing but a bias that is free; no rows need nothing."""
    problem = state.problem
    signs = problem.signs[problem.costs > 0.0]
    alone = signs.size > 0 and bool((signs == signs[0]).all())
    if signs.size and not (alone and problem.has_free_bias):
        return False
    if signs.size:
        # The logistic loss has no minimum here, only the infimum 0: the nearest b that has it.
        state.w[0] = signs[0] * (1.0 if problem.loss == SQUARED_HINGE else _FAR)
    state.primal = state.dual = 0.0
    return True


# ---- biases and margins

_FLAT = 1e-12
_FEW, _REACH = 1 << 12, 0.03


def hinge_bias_interval(
    scores: Any, signs: Any, costs: Any, near: float | None = None
) -> tuple[float, float]:
    """Return the ends of the interval of best biases; inf where nothing holds it (one class alone).

    The slope in b starts at minus the cost of all positive rows and grows by c_i where b passes
    y_i - f_i; the objective is least where the slope changes sign. Where a bias `near` the best is
    known (and all costs are finite), only what is about there is sorted.

    >>> hinge_bias_interval(np.array([-3.0, 3.0]), np.array([-1.0, 1.0]), np.ones(2))
    (-2.0, 2.0)
    """
    turns, steps, positive, used = signs - scores, costs, signs > 0.0, costs > 0.0
    if not bool(used.all()):
        turns, steps, positive = turns[used], steps[used], positive[used]
    is_host = isinstance(turns, np.ndarray)
    # Sums of costs are rounded: a slope this small is level ground.
    level, first = _FLAT * float(steps.sum()), -float(steps[positive].sum())
    if near is not None and len(turns) > _FEW:
        turns, steps, first = _about(near, turns, steps, first, level)
    order = turns.argsort(kind="stable") if is_host else turns.argsort(stable=True)
    turns = turns[order]
    slopes = steps[order].cumsum(0) + first
    low, high = int((slopes < -level).sum()), int((slopes <= level).sum())
    return (
        float(turns[min(low, len(turns) - 1)]) if bool(positive.any()) else -np.inf,
        float(turns[min(high, len(turns) - 1)]) if not bool(positive.all()) else np.inf,
    )


def _about(
    near: float, turns: Any, steps: Any, first: float, level: float
) -> tuple[Any, Any, float]:
    """Return the turns in an interval around `near` where the slope changes sign, and it before."""
    reach, least, most = _REACH, float(turns.min()), float(turns.max())
    while near - reach > least or near + reach < most:
        before, within = turns < near - reach, turns <= near + reach
        slope = first + float((steps * before).sum())
        if slope < -level and first + float((steps * within).sum()) > level:
            here = within & ~before
            return turns[here], steps[here], slope
        reach *= 4.0
    return turns, steps, first


def best_bias(scores: Any, signs: Any, costs: Any) -> float:
    """Return the middle of the biases of least total hinge loss.

    >>> best_bias(np.array([2.0, -1.0]), np.array([1.0, -1.0]), np.ones(2))
    -0.5
    """
    if not (costs > 0.0).any():
        return 0.0
    ends = [end for end in hinge_bias_interval(scores, signs, costs) if np.isfinite(end)]
    return sum(ends) / len(ends)


def with_bias(w: FloatArray, bias: float) -> FloatArray:
    """Return w with another bias."""
    w = w.copy()
    w[0] = bias
    return w


def evened(alpha: Any, signs: Any, costs: Any, xp: Any = np) -> Any:
    """Make the classes weigh the same; `xp` is the array module.

    The rows far from both ends of the box take the difference: their margin is nearly 1, and the
    dual value hardly changes. Where they have not the room, the heavier class is shrunk.
    """
    excess = float(signs @ alpha)
    room = xp.minimum(alpha, costs - alpha)
    total = float(room.sum())
    if abs(excess) < 0.5 * total:
        alpha = alpha - signs * room * (excess / total)
    plus = signs > 0.0
    heavy, light = float(alpha[plus].sum()), float(alpha[~plus].sum())
    if heavy == light:
        return alpha
    if heavy > light:
        return xp.where(plus, alpha * (light / heavy), alpha)
    return xp.where(plus, alpha, alpha * (heavy / light))


def hard_claim(problem: MachineProblem, w: FloatArray, scores: FloatArray) -> FloatArray:
    """Return the multiple of w with margins of at least 1; w itself where no multiple has them."""
    used = problem.costs > 0.0
    signs, scores = problem.signs[used], scores[used]
    w = w.copy()
    if not len(signs):
        return w
    if problem.has_free_bias:
        plus, minus = scores[signs > 0.0], scores[signs < 0.0]
        if not len(plus) or not len(minus):
            return with_bias(np.zeros_like(w), float(signs[0]))
        w[0] = -0.5 * (plus.min() + minus.max())
    least = float(problem.rows.margins(w)[used].min())
    if not least > 0.0:
        return w
    for extra in (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-10, 1e-8):
        grown = w * ((1.0 + extra) / least)
        if float(problem.rows.margins(grown)[used].min()) >= 1.0:
            return grown
    return grown


# ---- an alpha whose signed sum is exactly zero
#
# A free bias demands this balance of the dual, and floating point leaves a residual. It is spread
# over the rows that are free to move; then every multiplier is put on one grid, on which sums are
# exact, and what is left is taken from a few rows. Of the rows' number only the answer is made.

_HALF = 2.0**26  # sums of the rows' high and low halves stay far below 2^53


def balanced(alpha: np.ndarray, signs: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return multipliers within their bounds whose signed sum is exactly zero.

    >>> import math
    >>> a = balanced(np.array([0.1, 0.2, 0.3]), np.array([1.0, 1.0, -1.0]), np.full(3, 0.3))
    >>> math.fsum([a[0], a[1], -a[2]])
    0.0
    """
    alpha = np.maximum(alpha, 0.0)
    np.minimum(alpha, upper, out=alpha)
    # First rows strictly between their bounds, so that those at a bound stay there; then all.
    _shift(alpha, signs, upper, True)
    _shift(alpha, signs, upper, False)
    if alpha.any() and not _exact(alpha, signs, upper):
        alpha[:] = 0.0
    return alpha


@inlined
def _unit(largest):  # type: ignore[no-untyped-def]
    """Return the distance from a number to the next."""
    return np.nextafter(largest, np.inf) - largest


@compiled
def _residual(alpha, signs):  # type: ignore[no-untyped-def]
    """Return sum_i y_i alpha_i; where all are on the grid of the largest, 0 only if the sum is."""
    largest = 0.0
    for i in range(alpha.shape[0]):
        largest = max(largest, alpha[i])
    if largest == 0.0:
        return 0.0
    grid, high, low = _unit(largest), 0.0, 0.0
    for i in range(alpha.shape[0]):
        units = alpha[i] / grid
        halves = np.floor(units / _HALF)
        high += signs[i] * halves
        low += signs[i] * (units - halves * _HALF)
    # Off the grid the low halves round, which the grid puts right; on it all of this is exact.
    whole = np.floor(low)
    return (high * _HALF + whole) * grid + (low - whole) * grid


@inlined
def _room(a, sign, bound, residual, inside_only):  # type: ignore[no-untyped-def]
    """Return how far a row can move against the residual; where nothing bounds it, its size."""
    if inside_only and not (a > 0.0 and a < bound):
        return 0.0
    if sign * residual > 0.0:
        return a
    return max(a, abs(residual)) if bound == np.inf else bound - a


@compiled
def _shift(alpha, signs, upper, inside_only):  # type: ignore[no-untyped-def]
    """Move rows, each in proportion to its room, as far as the balance asks."""
    residual = _residual(alpha, signs)
    if residual == 0.0:
        return
    total = 0.0
    for i in range(alpha.shape[0]):
        total += _room(alpha[i], signs[i], upper[i], residual, inside_only)
    if total == 0.0:
        return
    share = min(1.0, abs(residual) / total)
    if residual < 0.0:
        share = -share
    for i in range(alpha.shape[0]):
        room = _room(alpha[i], signs[i], upper[i], residual, inside_only)
        alpha[i] = min(max(alpha[i] - signs[i] * (room * share), 0.0), upper[i])


@compiled
def _exact(alpha, signs, upper):  # type: ignore[no-untyped-def]
    """Put all on the grid of the largest, then take what is left from few rows; False: no room."""
    largest = 0.0
    for i in range(alpha.shape[0]):
        largest = max(largest, alpha[i])
    grid = _unit(largest)
    for i in range(alpha.shape[0]):
        alpha[i] = np.floor(alpha[i] / grid) * grid
    while True:
        residual = _residual(alpha, signs)
        if residual == 0.0:
            return True
        row, room = _roomiest(alpha, signs, upper, residual, grid)
        if room == 0.0:
            return False
        step = min(room, abs(residual))
        alpha[row] -= signs[row] * (step if residual > 0.0 else -step)


@compiled
def _roomiest(alpha, signs, upper, residual, grid):  # type: ignore[no-untyped-def]
    """Return the row that can move furthest on the grid; one at a bound only if no other can."""
    best, most, is_inside = 0, 0.0, False
    for i in range(alpha.shape[0]):
        room = np.floor(_room(alpha[i], signs[i], upper[i], residual, False) / grid) * grid
        if not signs[i] * residual > 0.0:
            # Beyond the binade of the largest, the grid is too fine for a float.
            room = min(room, grid * 2.0**53 - alpha[i])
        inside = room > 0.0 and alpha[i] > 0.0 and alpha[i] < upper[i]
        if room > 0.0 and ((inside and not is_inside) or (inside == is_inside and room > most)):
            best, most, is_inside = i, room, inside
    return best, most


# ---- a dual point for a w that is nearly optimal: least squares on the rows of the margin


_BANDS = (1e-9, 1e-7, 1e-5, 1e-3)
_MOST_FREE, _CROWD, _COPIES = 1_000, 2, 8
_MOST_PRODUCTS = 20_000_000  # some milliseconds
_STEPS, _MOST_STEP_PRODUCTS = 200, 2_000_000_000  # of all steps together: about a second
_BOLDNESS = (1.0, 0.1, 0.01)
# Of a matrix scaled to entries of 1: a smaller pivot may be rounding, a larger residual is none.
_DEPENDENT, _SOLVED, _DUST = 1e-8, 1e-14, 1e-15


def fitted_alphas(problem: MachineProblem, w: FloatArray) -> list[FloatArray]:
    """Return a candidate for each width of the band that counts as the margin."""
    margins = problem.rows.margins(w)
    most = 4 * len(w) + 200
    # A step is a least-squares fit: so many rows that a few steps take no longer than a second.
    most = min(most, math.isqrt(_MOST_STEP_PRODUCTS // (4 * len(w))))
    found: list[FloatArray] = []
    before = -1
    for band in _BANDS:
        free = np.flatnonzero((np.abs(margins - 1.0) <= band) & (problem.costs > 0.0))
        if before < len(free) <= most:
            found.append(_fitted(problem, w, margins, free, band))
        before = max(before, len(free))
    return found


@np.errstate(over="ignore", invalid="ignore")  # a proof decides what becomes of it
def _fitted(
    problem: MachineProblem, w: FloatArray, margins: FloatArray, free: np.ndarray, band: float
) -> FloatArray:
    signs, costs = problem.signs, problem.upper
    full = 2.0 * problem.costs * (1.0 - margins) if problem.loss == SQUARED_HINGE else costs
    alpha = np.zeros(len(signs)) if problem.is_hard else np.where(margins < 1.0 - band, full, 0.0)
    alpha[free] = 0.0
    if not len(free):
        return alpha
    rows = problem.X[free]
    rows = rows.toarray() if sp.issparse(rows) else rows
    centre = rows.mean(axis=0, dtype=np.float64) if problem.has_free_bias else 0.0
    share = signs * alpha
    target = w[1:] - (share @ problem.X - share.sum() * centre)
    columns = (signs[free, None] * (rows - centre)).T
    if problem.rows.fit_intercept:
        # The balance as one more equation; a heavy one, as it must hold to rounding.
        weight = 1.0 if problem.bias_penalty > 0.0 else float(np.abs(columns).max(initial=1.0))
        columns = np.vstack([columns, weight * signs[free]])
        bias = w[0] * problem.bias_penalty
        target = np.append(target, weight * (bias - share.sum()))
    size = float(np.abs(target).max(initial=0.0)) or 1.0
    upper = costs[free] / size
    # Costs that vanish beside the target leave no room between the two bounds.
    room = upper > 0.0
    if not room.any():
        return alpha
    free, upper, columns = free[room], upper[room], columns[:, room]
    from scipy.optimize import lsq_linear  # slow to load, and seldom needed

    steps = max(4, min(_STEPS, _MOST_STEP_PRODUCTS // (columns.size * len(free))))
    fit = lsq_linear(columns, target / size, (0.0, upper), method="bvls", tol=1e-15, max_iter=steps)
    alpha[free] = np.minimum(np.maximum(fit.x, 0.0) * size, costs[free])
    return alpha


# ---- the exact optimum on a face of the box: what a solver leaves of the last digits


def near_face(
    problem: MachineProblem, alpha: np.ndarray, margins: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (w, alpha) of the optimum on the face that a point inside the box is near."""
    most = float(alpha.max(initial=0.0))
    near = _put_to_bounds(alpha, problem.upper, margins, most, 1.0)
    # As many rows lie on a margin as there are unknowns: of more the face is not known yet.
    if np.count_nonzero((near > 0.0) & (near < problem.upper)) > _CROWD * (problem.X.shape[1] + 1):
        return None
    found = on_this_face(problem, near)
    if found is None or not problem.has_free_bias:
        return found
    return found[0], balanced(found[1], problem.signs, problem.upper)


def on_this_face(
    problem: MachineProblem, alpha: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return (w, alpha) of the optimum with the same free rows; None if there is none."""
    upper, signs = problem.upper, problem.signs
    free = np.flatnonzero((alpha > 0.0) & (alpha < upper))
    d = problem.X.shape[1]
    # With many more free rows than unknowns the face is far from unique, and nothing is gained.
    if not 0 < len(free) <= min(_MOST_FREE, _COPIES * (d + 2)):
        return None
    if len(free) ** 2 * d > _MOST_PRODUCTS:
        return None
    fixed = alpha.copy()
    fixed[free] = 0.0
    share = signs * fixed
    sums = np.asarray(share @ problem.X)
    rows = problem.X[free]
    rows = (rows.toarray() if sp.issparse(rows) else rows).astype(np.float64) * signs[free, None]
    found = _solved(problem, rows, signs[free], sums, float(share.sum()))
    if found is None:
        return None
    inside, bias = found
    inside[abs(inside) <= _DUST * abs(inside).max()] = 0.0  # such a row carries nothing
    slack = 1e-9 * float(upper[free].min() if np.isfinite(upper[free]).all() else inside.max())
    if (inside < -slack).any() or (inside > upper[free] + slack).any():
        return None
    fixed[free] = np.minimum(np.maximum(inside, 0.0), upper[free])
    return np.concatenate([[bias], sums + inside @ rows]), fixed


def _solved(
    problem: MachineProblem, rows: np.ndarray, signs: np.ndarray, sums: np.ndarray, balance: float
) -> tuple[np.ndarray, float] | None:
    """Solve for the free multipliers and the bias: margins of 1, and the balance."""
    n = len(signs)
    penalty, intercept = problem.bias_penalty, problem.rows.fit_intercept
    matrix, right = rows @ rows.T, 1.0 - rows @ sums
    if intercept and penalty > 0.0:
        matrix = matrix + np.outer(signs, signs) / penalty
        right = right - signs * balance / penalty
    if problem.has_free_bias:
        # The bias is one more unknown, of the size of the others, and the balance one more row.
        size = float(np.sqrt(np.trace(matrix) / n)) or 1.0
        bordered = np.zeros((n + 1, n + 1))
        bordered[:n, :n], bordered[:n, n], bordered[n, :n] = matrix, size * signs, size * signs
        matrix = bordered
        right = np.append(right, -size * balance)
    scale = 1.0 / np.sqrt(np.maximum(np.abs(matrix).max(axis=1), np.finfo(float).tiny))
    solution = _least(matrix * np.outer(scale, scale), scale * right)
    if solution is None:
        return None
    solution *= scale
    inside = solution[:n]
    if problem.has_free_bias:
        return inside, size * float(solution[n])
    bias = (balance + float(signs @ inside)) / penalty if intercept else 0.0
    return inside, bias


def _least(matrix: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """Return the solution; where copies of rows leave several, the shortest."""
    factors, pivots, singular = dgetrf(matrix)
    size = float(abs(right).max(initial=0.0))
    if not singular and abs(factors.diagonal()).min() > _DEPENDENT:
        solution = dgetrs(factors, pivots, right)[0]
        if abs(matrix @ solution - right).max() <= _SOLVED * size:
            return np.asarray(solution)
    try:
        return np.asarray(scipy.linalg.lstsq(matrix, right)[0])
    except (np.linalg.LinAlgError, ValueError):
        return None


# ---- from the interior of the box to its faces: which rows are support vectors, and which are not


def on_the_faces(
    problem: MachineProblem,
    w: np.ndarray,
    margins: np.ndarray,
    alpha: np.ndarray,
    least_dual: float,
) -> np.ndarray | None:
    """Return multipliers put to their bounds as boldly as `least_dual` allows; None if it never."""
    for candidate in _candidates(problem, w, margins, alpha):
        if problem.has_free_bias:
            candidate = balanced(candidate, problem.signs, problem.upper)
        if problem.dual(candidate) >= least_dual:
            return candidate
    return None


def _candidates(
    problem: MachineProblem, w: np.ndarray, margins: np.ndarray, alpha: np.ndarray
) -> Iterator[np.ndarray]:
    most = float(alpha.max(initial=0.0))
    for boldness in _BOLDNESS:
        yield _put_to_bounds(alpha, problem.upper, margins, most, boldness)
    yield from fitted_alphas(problem, w)


@compiled
def _put_to_bounds(alpha, upper, margins, most, boldness):  # type: ignore[no-untyped-def]
    """Return alpha with 0 or all where the margin says so; a box without an end is `most` wide."""
    found = alpha.copy()
    for i in range(alpha.shape[0]):
        box = most if math.isinf(upper[i]) else upper[i]
        share = alpha[i] / box if box > 0.0 else 0.0
        if share < boldness * (margins[i] - 1.0):
            found[i] = 0.0
        elif 1.0 - share < boldness * (1.0 - margins[i]) and not math.isinf(upper[i]):
            found[i] = upper[i]
    return found
