"""Least squares with a free intercept, by the factorisation that fits the shape and conditioning.

    min over W, b    sum_i s_i |W x_i + b - t_i|^2  +  ridge |W|^2

and among several minimisers (ridge = 0, dependent columns) the W of least length. Targets t_i are
vectors: 1-of-K codes, signs, or values to be predicted. The closed form (X'X)^-1 X'T of the
lecture is never computed as it stands:

    tall, well conditioned      Cholesky of the normal equations with unit columns, then refined by
                                residuals computed from the rows (corrected seminormal equations)
    tall, ill conditioned       QR with column pivoting, which also shows the rank
    dependent columns           QR again, of the rows that are left (complete orthogonal form)
    wide, ridge > 0             Cholesky of the n x n dual, or the singular value decomposition
    sparse                      Cholesky where the Gram matrix is small and well conditioned, LSMR
                                otherwise

Sparse rows stay sparse: the mean is taken away from products (`problem.centred`). LSMR starts at 0
and stays in the span of the rows, so it tends to the shortest minimiser. It goes on until every
column meets what the certificate will ask,

    |A_j'r - penalty_j V_j|  <=  tol |(A_j, root penalty_j)| |(r, root penalty V)|

or, without a ridge, |r| <= tol |B|.

The leave-one-out error of ridge regression for many ridges at the price of one decomposition.

    e_i(ridge) = (t_i - f(x_i)) / (1 - l_i),    l_i = [1, x_i] (M + ridge I_0)^-1 [1, x_i]'

is the error on row i of the model that has not seen it (M the weighted second moments, I_0
without the intercept). A row of weight k is k copies of which one is left out, and a row of
weight below 1 is left out whole: l_i is multiplied by min(1, s_i). With A = U diag(sigma) V' the
leverages and fits of all ridges follow from U alone. Where l_i = 1 the row is fitted by itself
alone, and the error is inf.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl
from scipy.sparse.linalg import LinearOperator, lsmr

from separatrix.errors import DataError
from separatrix.problem.centred import CentredRows, centred_rows
from separatrix.problem.signed import FloatArray, Matrix
from separatrix.solvers.linear.gram import well_factored

__all__ = [
    "REFINEMENTS",
    "Solution",
    "leave_one_out",
    "solve_least_squares",
]


_EPS = 2.0**-52
_MODERATE_SPREAD = 2.0**40
_MODERATE_EXPONENTS = 100
_LARGEST_PENALTY = 2.0**1000
REFINEMENTS = 2
_SMALL_GRAM = 2000
_CANCELLED = 1e-6
_SPARSE_REFINEMENTS = 3
_MOST_ITERATIONS = 10_000
_FINEST = 1e-16


@dataclass(frozen=True)
class Solution:
    """Weights of every output, and how they were found.

    `rank` is that of the centred columns, None where the method does not show it.
    """

    W: FloatArray
    b: FloatArray
    method: str
    rank: int | None
    n_columns: int
    iterations: int
    passes: float
    converged: bool = True

    @property
    def deficient(self) -> bool:
        """Whether several W fit equally well, so that the shortest was taken."""
        return self.rank is not None and self.rank < self.n_columns


# What overflows is not finite in the end, and the proof says so.
@np.errstate(over="ignore", invalid="ignore")
def solve_least_squares(
    X: Matrix,
    T: FloatArray,
    weights: FloatArray,
    ridge: float = 0.0,
    fit_intercept: bool = True,
    tol: float = 1e-9,
    max_passes: float = np.inf,
) -> Solution:
    """Solve for all outputs (columns of T) at once.

    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> found = solve_least_squares(X, 3.0 * X + 1.0, np.ones(3))
    >>> found.W.round(12).tolist(), found.b.round(12).tolist()
    ([[3.0]], [1.0])
    """
    A = centred_rows(X, weights, fit_intercept)
    scale = np.exp2(-2.0 * A.weight_exponent)
    offset = (A.roots**2 @ T) / A.mass if fit_intercept else np.zeros(T.shape[1])
    B = A.roots[:, None] * (T - offset)
    ridge = ridge * scale
    if A.shape[1] == 0:
        found = _Found(np.zeros((0, T.shape[1])), "constant columns only", 0, 0, 1.0)
    elif A.is_sparse:
        found = _sparse(A, B, ridge, tol, max_passes)
    elif ridge > 0.0 and A.shape[0] < A.shape[1] and np.ptp(A.exponents) < _MODERATE_EXPONENTS:
        found = _wide_ridge(A, B, ridge)
    else:
        found = _tall(A, B, ridge)
    coef = A.scatter(found.V)
    b = offset - A.mean @ found.V
    n_columns = int(X.shape[1])
    rank = found.rank if ridge == 0.0 else None
    return Solution(
        np.ascontiguousarray(coef.T),
        np.asarray(b if fit_intercept else np.zeros(T.shape[1])),
        found.method,
        rank,
        n_columns,
        found.iterations,
        found.passes,
        found.converged,
    )


@dataclass(frozen=True)
class _Found:
    V: FloatArray
    method: str
    rank: int | None
    iterations: int
    passes: float
    converged: bool = True


def penalty_of_columns(A: CentredRows, ridge: float) -> FloatArray:
    """Return the ridge of every column in the units of A: ridge / 4^e, or a finite bound.

    A ridge beyond all bounds leaves a column a weight of 0, to within the least float.
    """
    with np.errstate(over="ignore"):
        penalty = np.ldexp(np.full(A.shape[1], ridge), -2 * A.exponents)
    return np.minimum(penalty, _LARGEST_PENALTY)


def _tall(A: CentredRows, B: FloatArray, ridge: float) -> _Found:
    penalty = penalty_of_columns(A, ridge)
    is_tall = A.shape[0] >= A.shape[1]
    gram = A.gram() if is_tall else None
    squares = A.square_norms() if gram is None else np.diag(gram)
    norms = np.sqrt(squares + penalty)
    norms[norms == 0.0] = 1.0
    penalty = penalty / norms**2
    if gram is not None:
        V = _by_cholesky(A, gram, norms, B, penalty)
        if V is not None:
            return _Found(
                V / norms[:, None], "Cholesky, refined", A.shape[1], REFINEMENTS, 1.0 + 4.0
            )
    unit = A.rows / norms
    if ridge > 0.0:
        unit = np.vstack([unit, np.diag(np.sqrt(penalty))])
        B = np.vstack([B, np.zeros((A.shape[1], B.shape[1]))])
    V, rank = _by_orthogonal(unit, B, norms, A.exponents)
    return _Found(V, "QR with pivoting", rank, 1, 1.0)


def _by_cholesky(
    A: CentredRows, gram: FloatArray, norms: FloatArray, B: FloatArray, penalty: FloatArray
) -> FloatArray | None:
    """Return the weights of columns of length 1; None where too few digits would be left."""
    gram = gram / norms / norms[:, None]
    gram[np.diag_indices_from(gram)] += penalty
    factor = well_factored(gram)
    if factor is None:
        return None
    tall = norms[:, None]
    V = sl.cho_solve((factor, True), A.transposed_times(B) / tall, check_finite=False)
    for _ in range(REFINEMENTS):
        pull = A.transposed_times(B - A.times(V / tall)) / tall
        V = V + sl.cho_solve((factor, True), pull - penalty[:, None] * V, check_finite=False)
    return np.asarray(V)


def _by_orthogonal(
    unit: FloatArray, B: FloatArray, norms: FloatArray, exponents: np.ndarray
) -> tuple[FloatArray, int]:
    """Solve by QR with pivoting: weights in the units of A, and the rank of the unit columns."""
    Q, R, order = sl.qr(unit, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(R))
    rank = int((diagonal > max(unit.shape) * _EPS * diagonal[0]).sum())
    rotated = Q[:, :rank].T @ B
    if rank == unit.shape[1]:
        V = np.empty((rank, B.shape[1]))
        V[order] = sl.solve_triangular(R, rotated, check_finite=False)
        return V / norms[:, None], rank
    lengths = np.log2(norms) + exponents  # of the columns as given, which say what is short
    with np.errstate(over="ignore", under="ignore"):
        scale = np.exp2(lengths - lengths.max())[order]
    if scale.min() * _MODERATE_SPREAD >= 1.0:
        short = _shortest(R[:rank] * scale, rotated)
        pivoted = short * scale[:, None]
    else:
        pivoted = _shortest_of_spread(R, rank, rotated, lengths[order])
    V = np.empty_like(pivoted)
    V[order] = pivoted
    return V / norms[:, None], rank


def _shortest(R: FloatArray, rotated: FloatArray) -> FloatArray:
    """Return the shortest w with R w = rotated, R having independent rows."""
    Q, L = sl.qr(R.T, mode="economic", check_finite=False)
    return np.asarray(Q @ sl.solve_triangular(L, rotated, trans="T", check_finite=False))


def _shortest_of_spread(
    R: FloatArray, rank: int, rotated: FloatArray, lengths: FloatArray
) -> FloatArray:
    """Do the same where the lengths of columns (as powers of two) differ beyond all precision.

    All solutions are y + N z; z makes them short in the units of the columns as given. Rows are
    sorted by size, which keeps every row accurate in a QR of rows so unlike each other.
    """
    square = R[:rank, :rank]
    some = sl.solve_triangular(square, rotated, check_finite=False)
    rest = sl.solve_triangular(square, R[:rank, rank:], check_finite=False)
    free = R.shape[1] - rank
    y = np.vstack([some, np.zeros((free, rotated.shape[1]))])
    N = np.vstack([-rest, np.eye(free)])
    with np.errstate(under="ignore"):
        weigh = np.exp2(lengths.min() - lengths)[:, None]  # a long column needs a small weight
    rows = np.argsort(-weigh[:, 0], kind="stable")
    matrix = (weigh * N)[rows]
    unit = np.linalg.norm(matrix, axis=0)
    unit[unit == 0.0] = 1.0
    z, *_ = sl.lstsq(matrix / unit, -(weigh * y)[rows], cond=_EPS, lapack_driver="gelsy")
    return np.asarray(y + N @ (z / unit[:, None]))


def _wide_ridge(A: CentredRows, B: FloatArray, ridge: float) -> _Found:
    """Solve (A A' + ridge I) a = B in the units of the columns as given; then w = A'a."""
    top = A.top
    with np.errstate(under="ignore"):
        rows = np.ldexp(A.rows, A.exponents - top)
        scaled_ridge = float(np.ldexp(ridge, -2 * top))
    gram = rows @ rows.T
    gram[np.diag_indices_from(gram)] += scaled_ridge
    factor = well_factored(gram)
    if factor is not None:
        dual = sl.cho_solve((factor, True), B, check_finite=False)
        for _ in range(REFINEMENTS):
            missing = B - rows @ (rows.T @ dual) - scaled_ridge * dual
            dual = dual + sl.cho_solve((factor, True), missing, check_finite=False)
        V, method, steps = rows.T @ dual, "Cholesky of the dual, refined", REFINEMENTS
    else:
        U, sigma, Vt = sl.svd(rows, full_matrices=False, check_finite=False)
        with np.errstate(divide="ignore", invalid="ignore"):
            shrunk = np.where(sigma > 0.0, sigma / (sigma**2 + scaled_ridge), 0.0)
        V, method, steps = Vt.T @ (shrunk[:, None] * (U.T @ B)), "singular values", 1
    # rows v = A w 2^-top: the weights in the units of A.
    with np.errstate(under="ignore"):
        V = np.ldexp(V, (A.exponents - top)[:, None])
    return _Found(V, method, None, steps, 1.0 + 2.0 * steps)


# ---- least squares on sparse rows, without ever making them dense


def _sparse(A: CentredRows, B: FloatArray, ridge: float, tol: float, max_passes: float) -> _Found:
    """Return the weights in the units of A."""
    if A.shape[1] <= min(_SMALL_GRAM, A.shape[0]):
        V = _by_gram(A, B, ridge, tol)
        if V is not None:
            steps = _SPARSE_REFINEMENTS
            return _Found(V, "Cholesky, refined", A.shape[1], steps, 1.0 + 2.0 * steps)
    return _by_lsmr(A, B, ridge, tol, max_passes)


def _by_gram(A: CentredRows, B: FloatArray, ridge: float, tol: float) -> FloatArray | None:
    gram, penalty = A.gram(), penalty_of_columns(A, ridge)
    squares = np.diag(gram).copy()
    raw = squares + A.mass * A.mean**2
    if (squares <= _CANCELLED * raw).any():
        return None
    norms = np.sqrt(squares + penalty)
    gram[np.diag_indices_from(gram)] += penalty
    gram /= norms
    gram /= norms[:, None]
    factor = well_factored(gram)
    if factor is None:
        return None
    V = np.zeros((A.shape[1], B.shape[1]))
    for _ in range(1 + _SPARSE_REFINEMENTS):
        gradient = A.transposed_times(B - A.times(V)) - penalty[:, None] * V
        V = V + sl.cho_solve((factor, True), gradient / norms[:, None]) / norms[:, None]
    met = [_is_met(A, B[:, k], V[:, k], penalty, tol) for k in range(B.shape[1])]
    return V if all(met) else None


def _is_met(
    A: CentredRows, target: FloatArray, v: FloatArray, penalty: FloatArray, tol: float
) -> bool:
    """Whether the weights meet what the certificate will ask, with half of it to spare."""
    with np.errstate(over="ignore", invalid="ignore"):
        residual = target - A.times(v)
        gradient = A.transposed_times(residual) - penalty * v
        norms = np.sqrt(A.square_norms() + penalty)
        length = np.sqrt(residual @ residual + (penalty * v) @ v)
        if np.linalg.norm(residual) <= 0.5 * tol * np.linalg.norm(target) and not penalty.any():
            return True
        return bool((np.abs(gradient) <= 0.5 * tol * norms * length).all())


def _by_lsmr(A: CentredRows, B: FloatArray, ridge: float, tol: float, max_passes: float) -> _Found:
    # One power of two for all columns: LSMR's shortest weights are then those of X as given.
    top = A.top
    with np.errstate(under="ignore"):
        scale = np.exp2((A.exponents - top).astype(np.float64))
        damp = float(np.ldexp(np.sqrt(ridge), -top))
    operator = LinearOperator(
        A.shape,
        matvec=lambda v: A.times(scale * v.ravel()),
        rmatvec=lambda u: scale * A.transposed_times(u.ravel()),
        dtype=np.float64,
    )
    penalty = penalty_of_columns(A, ridge)
    V, spent, converged = np.zeros((A.shape[1], B.shape[1])), 0, True
    allowed = int(min(_MOST_ITERATIONS, max(1.0, max_passes / 2.0)))
    for k in range(B.shape[1]):
        found, used, good = _one_output(operator, A, B[:, k], (damp, penalty, scale), tol, allowed)
        V[:, k], spent, converged = scale * found, spent + used, converged and good
    return _Found(V, "LSMR", None, spent, 2.0 * spent, converged)


def _one_output(
    operator: LinearOperator,
    A: CentredRows,
    target: FloatArray,
    penalties: tuple[float, FloatArray, FloatArray],
    tol: float,
    allowed: int,
) -> tuple[FloatArray, int, bool]:
    """Run LSMR, more finely each time, until every column is met or the iterations are spent."""
    damp, penalty, scale = penalties
    v, spent, fineness = np.zeros(A.shape[1]), 0, 0.1 * tol
    if not target.any():
        return v, 0, True
    while spent < allowed:
        # From v instead of 0, LSMR would lose its directions and damp the wrong thing.
        limits = {"atol": fineness, "btol": fineness, "maxiter": allowed - spent}
        answer = lsmr(operator, target, damp=damp, conlim=0.0, **limits)
        v, spent = answer[0], spent + answer[2]
        if _is_met(A, target, scale * v, penalty, tol):
            return v, spent, True
        if fineness <= _FINEST:
            break
        fineness = max(_FINEST, 1e-3 * fineness)
    return v, spent, False


# ---- the leave-one-out error of ridge regression for many ridges at the price of one decomposition


_LARGEST = 6000
_ROWS_AT_A_TIME = 4096
_ALONE = 1e-9
_COARSE = 1e-9


@dataclass(frozen=True)
class LeaveOneOut:
    """For each ridge: the mean squared error, and the outputs on rows left out."""

    errors: FloatArray
    outputs: list[np.ndarray]


# What overflows is not finite in the end, and the proof says so.
@np.errstate(over="ignore", invalid="ignore")
def leave_one_out(
    X: Matrix, T: FloatArray, weights: FloatArray, ridges: FloatArray, fit_intercept: bool
) -> LeaveOneOut:
    """Compute the error of every ridge.

    >>> X, t = np.array([[0.0], [1.0], [3.0]]), np.array([[0.0], [1.0], [5.0]])
    >>> found = leave_one_out(X, t, np.ones(3), np.array([0.0]), True)
    >>> found.outputs[0].round(9).tolist()  # lines through the other two points
    [[-1.0], [1.666666667], [3.0]]
    """
    A = centred_rows(X, weights, fit_intercept)
    offset = (A.roots**2 @ T) / A.mass if fit_intercept else np.zeros(T.shape[1])
    top = A.top
    least = float(np.ldexp(float(min(ridges)), -2 * (top + A.weight_exponent)))
    U, sigma = _left_vectors(A, top, least)
    rotated = U.T @ (A.roots[:, None] * (T - offset))
    own = A.roots**2 / A.mass if fit_intercept else np.zeros(len(T))
    with np.errstate(over="ignore"):
        copies = np.minimum(1.0, 1.0 / weights)[:, None]  # the share of its weight a copy has
    errors, outputs = [], []
    for ridge in ridges:
        penalty = np.ldexp(float(ridge), -2 * (top + A.weight_exponent))
        with np.errstate(divide="ignore", invalid="ignore"):
            kept = np.where(sigma > 0.0, sigma**2 / (sigma**2 + penalty), 0.0)
        fitted = (U @ (kept[:, None] * rotated)) / A.roots[:, None] + offset
        leverage = copies * (own + (U**2) @ kept)[:, None]
        left = np.where(1.0 - leverage > _ALONE, 1.0 - leverage, np.nan)
        out = T - (T - fitted) / left
        outputs.append(out)
        square = ((T - out) ** 2).sum(axis=1)
        mean = float(weights @ np.where(np.isnan(square), np.inf, square) / weights.sum())
        errors.append(mean)
    return LeaveOneOut(np.array(errors), outputs)


def _left_vectors(A: CentredRows, top: int, least: float) -> tuple[FloatArray, FloatArray]:
    """Return U and sigma of A in the units of the columns as given, divided by 2^top."""
    with np.errstate(under="ignore"):
        scale = np.exp2((A.exponents - top).astype(np.float64))
    if A.shape[1] == 0:
        return np.zeros((A.shape[0], 0)), np.zeros(0)
    if not A.is_sparse:
        rows = A.rows * scale
        if 2 * A.shape[0] <= A.shape[1]:
            squares, U = sl.eigh(rows @ rows.T)
            if least > _COARSE * squares[-1]:  # all that squaring loses is far below the ridge
                return U, np.sqrt(np.maximum(squares, 0.0))
        U, sigma, _ = sl.svd(rows, full_matrices=False, check_finite=False)
        sigma[sigma <= max(A.shape) * 2.0**-52 * sigma[0]] = 0.0
        return U, sigma
    if min(A.shape) > _LARGEST:
        raise DataError(
            f"leave-one-out errors need a decomposition, and {A.shape[0]:,} x {A.shape[1]:,} "
            "sparse data are too large for it. Give one ridge, or choose it by cross-validation."
        )
    if A.shape[0] <= A.shape[1]:
        squares, U = sl.eigh(_scaled_outer(A, scale))
    else:
        squares, V = sl.eigh(scale[:, None] * A.gram() * scale)
        U = np.empty((A.shape[0], A.shape[1]))
        for begin in range(0, A.shape[0], _ROWS_AT_A_TIME):
            rows = slice(begin, begin + _ROWS_AT_A_TIME)
            part = A.rows[rows] @ (scale[:, None] * V) - A.mean @ (scale[:, None] * V)
            U[rows] = A.roots[rows, None] * part
    good = squares > max(A.shape) * 2.0**-52 * squares[-1]
    sigma, U = np.sqrt(squares[good]), U[:, good]
    return (U if A.shape[0] <= A.shape[1] else U / sigma), sigma


def _scaled_outer(A: CentredRows, scale: FloatArray) -> FloatArray:
    scaled = A.rows.multiply(scale[None, :]).tocsr()
    return CentredRows(
        scaled,
        A.mean * scale,
        A.roots,
        A.exponents,
        A.kept,
        A.n_columns,
        A.weight_exponent,
        A.fit_intercept,
    ).outer_gram()
