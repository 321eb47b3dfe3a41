"""Newton's method for the smooth models on narrow data.

    minimise over w, b    r/2 |w|^2 + p/2 b^2 + sum_i c_i loss(y_i (w.x_i + b))

loss: squared hinge or logistic; b is free (p = 0) unless p is given. Each update solves

    (R + V^T D V) s = -gradient ,     D = diag(c_i loss''(m_i)) ,     V = [1, (X - mean) / spread]

and takes the best step along s. V is never stored: the d x d matrix is summed over blocks of rows
that fit the cache, and rows without curvature are left out. Centring and scaling change the
coordinates in which the system is solved, and not the objective: R is the penalty as it looks in
those coordinates. That is why raw columns of any size cost no further updates.

With ridge r = 0 (maximum likelihood) there is no dual bound: `dual` is then the estimate
primal - decrement, from the last Newton decrement, and `gap` is no proof. Where no maximum exists
(the classes separate) the weights grow until the loss stops falling: ask `separability` first.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.machine import MachineProblem
from separatrix.problem.products import scores
from separatrix.problem.rows import DenseRows
from separatrix.solvers.linear import smooth
from separatrix.solvers.linear.claims import MachineState
from separatrix.solvers.running.drive import Status, one_thread

_BLOCK_BYTES = 1 << 20
# Sparse rows fuller than this, or so few, are laid out densely, block by block.
_FULL, _FEW_ENTRIES = 0.25, 1 << 17
# So are columns without a zero whose mean is so many times their spread: they need centring.
_FAR_FROM_ZERO = 100.0
# A column whose spread is below this share of its size is a constant, up to rounding.
_CONSTANT = 1e-13
# Columns smaller than this add nothing to any margin, and their squares are 0.
_NOTHING = 1e-140
_SINGULAR = 1e-14


class Coordinates(NamedTuple):
    """Where each column is centred, what it is divided by, and whether blocks are laid out."""

    centre: np.ndarray
    spread: np.ndarray
    in_blocks: bool
    constant: np.ndarray  # columns that a free bias makes superfluous
    has_constant: bool


def start(problem: MachineProblem, *, seed: int = 0, **settings: Any) -> MachineState:
    """Lay out a run, as `smooth.begin`. Nothing is random here: `seed` is ignored."""
    state = smooth.begin(problem, **settings)
    if not state.memory.solved:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            state.memory.own = coordinates(state)
            state.memory.superfluous = state.memory.own.constant
        state.passes += 1.0
    return state


def advance(state: MachineState, budget: int) -> Status | None:
    """Make at most `budget` updates."""
    with one_thread():
        return smooth.go(state, budget, step)


def step(state: MachineState) -> None:
    """Make one update."""
    problem, point = state.problem, state.memory
    penalties = Penalties(problem.ridge, problem.bias_penalty, problem.rows.fit_intercept)
    direction, decrement = solved_direction(
        point.own, curvature_matrix(state), smooth.gradient(state), state.w, penalties
    )
    state.passes += 2.0
    if problem.ridge <= 0.0:
        state.dual = state.primal - max(decrement, 0.0)
    u_ahead = problem.ridge * (state.w[1:] + direction[1:])
    gains = scores(point.base, direction[1:])
    gains += direction[0]
    smooth.move(state, direction, gains, u_ahead)


class Penalties(NamedTuple):
    """What |w|^2 / 2 and b^2 / 2 cost, and whether there is a b."""

    ridge: float
    bias: float
    intercept: bool


def solved_direction(
    columns: Coordinates,
    matrix: np.ndarray,
    slopes: tuple[float, np.ndarray],
    w: np.ndarray,
    penalties: Penalties,
) -> tuple[np.ndarray, float]:
    """Return Newton's step [b, w] and its decrement.

    `matrix` holds the second derivatives of the losses in the inner coordinates, its upper triangle
    alone; the penalties are added to it here.
    """
    centre, spread, _, constant, has_constant = columns
    in_bias, in_w = slopes
    size = len(centre) + 1
    right = np.empty(size)
    right[0], right[1:] = in_bias, (in_w - centre * in_bias) / spread
    if has_constant:
        # Known without summing the rows, whose rounding would be the larger part at 1e13.
        right[1:][constant] = penalties.ridge * w[1:][constant] / spread[constant]
    np.einsum("ii->i", matrix)[1:] += penalties.ridge / spread**2
    if penalties.intercept and penalties.bias > 0.0:
        bias = np.concatenate([[1.0], -centre / spread])
        matrix += penalties.bias * np.outer(bias, bias)
    begin = 0 if penalties.intercept else 1
    direction = np.zeros(size)
    direction[begin:] = solve(matrix[begin:, begin:], -right[begin:])
    decrement = -float(right @ direction)
    direction[1:] /= spread
    direction[0] -= float(centre @ direction[1:])
    return direction, decrement


def curvature_matrix(state: MachineState) -> np.ndarray:
    """Return [1 V]^T D [1 V]; the upper triangle counts."""
    point = state.memory
    centre, spread, in_blocks, *_ = point.own
    if not in_blocks:
        return scaled_squares(point.base, point.curvatures, spread)
    n, width = state.problem.X.shape
    height = max(16, min(n, _BLOCK_BYTES // (8 * (width + 1))))
    block = np.empty((height, width + 1))
    matrix = np.zeros((width + 1, width + 1))
    row, inverse = 0, 1.0 / spread
    while row < n:
        row, filled = fill(point.base, point.curvatures, centre, inverse, row, block)
        # NumPy's product of a matrix with itself lets other threads work; SciPy's own does not.
        matrix += block[:filled].T @ block[:filled]
    return matrix


def scaled_squares(base: Any, curvatures: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return the matrix of sparse rows that are not laid out, their columns not centred."""
    matrix = np.zeros((len(spread) + 1, len(spread) + 1))
    sparse_squares(base.values, base.indices, base.starts, curvatures, matrix)
    matrix[1:] /= spread[:, None]
    matrix[:, 1:] /= spread
    return matrix


def fill(
    base: Any,
    curvatures: np.ndarray,
    centre: np.ndarray,
    inverse: np.ndarray,
    row: int,
    block: np.ndarray,
) -> tuple[int, int]:
    """Write the next rows that have curvature to the block; return where to go on and how many."""
    loop: Any = fill_dense if isinstance(base, DenseRows) else fill_sparse
    return loop(*base, curvatures, centre, inverse, row, block)


def solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve a positive system (upper triangle); where it is singular, the shortest solution."""
    if not len(right):
        return right
    dpotrf, dpotrs = _routines()
    sizes = np.sqrt(matrix.diagonal())
    sizes[~(sizes > 0.0)] = 1.0
    scaled = matrix / sizes[:, None] / sizes
    right = right / sizes
    factor, failed = dpotrf(scaled)
    if not failed and factor.diagonal().min() ** 2 > _SINGULAR * len(sizes):
        return np.asarray(dpotrs(factor, right)[0] / sizes)
    return shortest(scaled, right) / sizes


@cache
def _routines() -> tuple[Any, Any]:
    """Return LAPACK's Cholesky factor and solution: a small system takes less than an import."""
    from scipy.linalg.lapack import dpotrf, dpotrs

    return dpotrf, dpotrs


def shortest(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the solution of least norm, directions without curvature left out."""
    from scipy.linalg import eigh

    if not np.isfinite(matrix).all():
        return np.zeros_like(right)
    values, vectors = eigh(matrix, lower=False, check_finite=False)
    known = values > _SINGULAR * len(values) * max(values[-1], 0.0)
    return np.asarray(vectors[:, known] @ ((vectors[:, known].T @ right) / values[known]))


def coordinates(state: MachineState) -> Coordinates:
    """Return where to centre each column and what to divide it by; one pass over X."""
    problem, X = state.problem, state.problem.X
    found = column_spread(state.memory.base, problem.costs > 0.0, X.shape[1])
    entries = X.shape[0] * X.shape[1] if isinstance(state.memory.base, DenseRows) else X.nnz
    return coordinates_of(
        found, X.shape, entries, problem.rows.fit_intercept, problem.has_free_bias
    )


def column_spread(base: Any, used: np.ndarray, width: int) -> tuple[Any, ...]:
    """Return the rows used, and each column's mean, squares about it, largest, entries stored."""
    if isinstance(base, DenseRows):
        found = dense_spread(base.values, used)
        return (*found, np.full(width, float(found[0])))
    return tuple(sparse_spread(base.values, base.indices, base.starts, used, width))


def coordinates_of(
    found: tuple[Any, ...], shape: tuple[int, int], entries: int, intercept: bool, free_bias: bool
) -> Coordinates:
    """Return the coordinates for columns measured by `column_spread`."""
    count, centre, squares, largest, stored = found
    n, width = shape
    offset = (stored == count) & (count * centre**2 > _FAR_FROM_ZERO**2 * squares)
    in_blocks = entries > _FULL * n * width or n * width <= _FEW_ENTRIES or bool(offset.any())
    if not (intercept and in_blocks):
        squares = squares + count * centre**2
        centre = np.zeros(width)
    constant = (squares == 0.0) & (free_bias and in_blocks)
    spread = np.sqrt(squares / max(count, 1))
    flat = ~(spread > _CONSTANT * largest)
    spread[flat] = largest[flat]
    spread[~(spread > _NOTHING)] = 1.0
    return Coordinates(centre, spread, in_blocks, constant, bool(constant.any()))


@compiled
def dense_spread(values, used):  # type: ignore[no-untyped-def]
    """Count the rows used; return each column's mean, squares about it, and largest entry."""
    n, width = values.shape
    count = 0
    mean = np.zeros(width)
    squares = np.zeros(width)
    largest = np.zeros(width)
    for i in range(n):
        if used[i]:
            count += 1
            share = 1.0 / count
            for j in range(width):
                value = np.float64(values[i, j])
                off = value - mean[j]
                mean[j] += off * share
                squares[j] += off * (value - mean[j])
                largest[j] = max(largest[j], abs(value))
    return count, mean, squares, largest


@compiled
def sparse_spread(values, indices, starts, used, width):  # type: ignore[no-untyped-def]
    """Do the same for sparse rows: the zeros are merged in at the end."""
    count = 0
    stored = np.zeros(width)
    mean = np.zeros(width)
    squares = np.zeros(width)
    largest = np.zeros(width)
    for i in range(starts.shape[0] - 1):
        if used[i]:
            count += 1
            for k in range(starts[i], starts[i + 1]):
                j = np.intp(indices[k])
                value = np.float64(values[k])
                stored[j] += 1.0
                off = value - mean[j]
                mean[j] += off / stored[j]
                squares[j] += off * (value - mean[j])
                largest[j] = max(largest[j], abs(value))
    for j in range(width):
        share = stored[j] / max(count, 1)
        squares[j] += mean[j] * mean[j] * stored[j] * (1.0 - share)
        mean[j] *= share
    return count, mean, squares, largest, stored


@compiled
def fill_dense(values, curvatures, centre, inverse, row, block):  # type: ignore[no-untyped-def]
    """Write sqrt(d_i) [1, (x_i - centre) / spread] of the next rows with curvature."""
    n, width = values.shape
    filled = 0
    while row < n and filled < block.shape[0]:
        if curvatures[row] > 0.0:
            root = np.sqrt(curvatures[row])
            block[filled, 0] = root
            for j in range(width):
                block[filled, j + 1] = root * ((values[row, j] - centre[j]) * inverse[j])
            filled += 1
        row += 1
    return row, filled


@compiled
def fill_sparse(values, indices, starts, curvatures, centre, inverse, row, block):  # type: ignore[no-untyped-def]
    """Do the same for sparse rows."""
    n, width = starts.shape[0] - 1, centre.shape[0]
    filled = 0
    while row < n and filled < block.shape[0]:
        if curvatures[row] > 0.0:
            root = np.sqrt(curvatures[row])
            block[filled, 0] = root
            for j in range(width):
                block[filled, j + 1] = -root * centre[j] * inverse[j]
            for k in range(starts[row], starts[row + 1]):
                j = np.intp(indices[k])
                block[filled, j + 1] = root * ((values[k] - centre[j]) * inverse[j])
            filled += 1
        row += 1
    return row, filled


@compiled
def sparse_squares(values, indices, starts, curvatures, matrix):  # type: ignore[no-untyped-def]
    """Add d_i z_i z_i^T of every row to the upper triangle, z_i = [1, x_i]."""
    for i in range(starts.shape[0] - 1):
        bend = curvatures[i]
        if bend > 0.0:
            matrix[0, 0] += bend
            for k in range(starts[i], starts[i + 1]):
                j = np.intp(indices[k]) + 1
                push = bend * values[k]
                matrix[0, j] += push
                for other in range(k, starts[i + 1]):
                    matrix[j, np.intp(indices[other]) + 1] += push * values[other]
