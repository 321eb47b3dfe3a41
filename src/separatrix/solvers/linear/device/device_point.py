"""Where smooth models on a device stand, and what may be claimed there; a column a model.

At (w, b) with margins m every row has alpha_i = -c_i loss'(m_i). One product with the rows gives
the slope of the objective and, with the same alpha, the dual bound. A free bias asks for a balanced
alpha: the heavier class is scaled down to the lighter one, which keeps alpha feasible.

Rows on a device with centred and scaled columns, which are never stored.

    V = (X - 1 mean^T) / scale,     scale_j a power of two near the spread of column j

A solver that works with v_j = scale_j w_j and b' = b + mean.w meets columns of like size, whatever
their units, and the objective stays the user's: |w|^2 = sum_j v_j^2 / scale_j^2. Columns are
centred only where the bias is free to take up the shift. Margins and sums of rows are float64; of
the d x d products of rows, which say where to go and not where the optimum is, a GPU may make
early ones in float32.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._device import product_precision, torch_module
from separatrix.problem.device_rows import DeviceRows
from separatrix.problem.losses import LOGISTIC
from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear.scaled_rows import powers_of_two

# So many updates without a better primal or dual: what is left is rounding.
PATIENCE = 4
_DIGIT, _BALANCED = 1e-15, 1e-14
_ROUNDS = 200


# ---- what each row adds to the smooth models, from margins alone; a column a model


def loss_of(loss: int, margins: Any, costs: Any) -> Any:
    """Return the sum of c_i loss(m_i), one a model."""
    if loss == LOGISTIC:
        return (costs * ((-margins.abs()).exp().log1p() + (-margins).clamp(min=0.0))).sum(dim=0)
    return (costs * (1.0 - margins).clamp(min=0.0).square()).sum(dim=0)


def derivatives(loss: int, margins: Any, costs: Any) -> tuple[Any, Any]:
    """Return alpha = -c loss'(m) and c loss''(m)."""
    torch = torch_module()
    if loss == LOGISTIC:
        small = (-margins.abs()).exp()
        part = small / (1.0 + small)
        rate = torch.where(margins > 0.0, part, 1.0 / (1.0 + small))
        return costs * rate, costs * (part / (1.0 + small))
    short = (1.0 - margins).clamp(min=0.0)
    return 2.0 * costs * short, 2.0 * costs * (short > 0.0)


def gain_of(loss: int, alpha: Any, costs: Any) -> Any:
    """Return the sum of -c_i loss*(-alpha_i / c_i), one a model; rows of cost 0 add nothing."""
    torch = torch_module()
    share = torch.where(costs > 0.0, alpha / costs, torch.zeros_like(alpha))
    if loss != LOGISTIC:
        return (alpha * (1.0 - 0.25 * share)).sum(dim=0)
    share = share.clamp(max=1.0)
    terms = torch.xlogy(share, share) + torch.special.xlog1py(1.0 - share, -share)
    return -(costs * terms).sum(dim=0)


def best_step(
    loss: int,
    margins: Any,
    gains: Any,
    costs: Any,
    first: Any,
    second: Any,
    guess: float,
    enough: Any,
) -> Any:
    """Return the t of each model where the slope is at most `enough`, or that of least slope.

    Newton's method in one variable inside a bracket, as in `row_terms`.
    """
    torch = torch_module()
    t = torch.full_like(first, guess)
    low, high = torch.full_like(t, -torch.inf), torch.full_like(t, torch.inf)
    best, least = torch.zeros_like(t), torch.full_like(t, torch.inf)
    going = torch.ones_like(t, dtype=torch.bool)
    for _ in range(_ROUNDS):
        alpha, bends = derivatives(loss, margins + t * gains, costs)
        slope = first + second * t - (alpha * gains).sum(dim=0)
        bend = second + (bends * gains * gains).sum(dim=0)
        better = going & (slope.abs() < least)
        best, least = torch.where(better, t, best), torch.where(better, slope.abs(), least)
        going &= slope.abs() > enough
        if not bool(going.any()):
            break
        low = torch.where(going & (slope < 0.0), t, low)
        high = torch.where(going & (slope >= 0.0), t, high)
        # Where the curvature is gone Newton leaps; from afar a few doublings come back sooner.
        reach = 8.0 * (1.0 + t.abs())
        leap = torch.where(slope > 0.0, -reach, reach)
        step = torch.where(bend > 0.0, (-slope / bend).clamp(min=-reach, max=reach), leap)
        ahead = t + step
        ahead = torch.where((low < ahead) & (ahead < high), ahead, 0.5 * (low + high))
        going &= (ahead != t) & (low < ahead) & (ahead < high)
        t = torch.where(going, ahead, t)
    return best


@dataclass
class Point:
    """Where models on the same rows stand, a column each: all of it on the device."""

    scaled: Scaled
    signs: Any
    costs: Any  # one column for all, or one each
    loss: int
    has_bias: bool
    bias_penalty: float
    tol: float
    v: Any
    bias: Any
    margins: Any
    alpha: Any  # -c loss'(m), not balanced
    bends: Any
    slope: Any  # of the objective in v
    balance: Any  # the sum of y alpha
    primal: Any
    least: Any
    dual: Any  # of `claimed`
    claimed: Any  # the alpha of the greatest dual so far, balanced to rounding
    stalled: Any
    fresh: bool = True  # whether the margins were computed from the weights, not carried along
    current: bool = False  # whether alpha, curvatures and slopes are those of the margins
    passes: float = 0.0
    updates: int = 0

    @property
    def has_free_bias(self) -> bool:
        """Whether b costs nothing, so that alpha must balance."""
        return self.has_bias and self.bias_penalty == 0.0

    @property
    def gap(self) -> Any:
        """(primal - dual) / primal, one a model."""
        return (self.primal - self.dual) / self.primal.clamp(min=1e-300)

    @property
    def penalties(self) -> Any:
        """What v_j^2 / 2 costs."""
        return (1.0 / self.scaled.scale.square())[:, None]

    @property
    def is_done(self) -> Any:
        """Which models are solved, or get no further."""
        return (self.gap <= self.tol) | (self.stalled >= PATIENCE)


def placed(problems: list[MachineProblem], tol: float, weights: Any) -> Point:
    """Return the models at these weights, [b, w] a column each, or at 0."""
    torch = torch_module()
    one = problems[0]
    rows, count = one.X, len(problems)
    scaled = scaled_on(rows, one.has_free_bias)
    costs = [problem.costs for problem in problems]
    same = all(each is costs[0] for each in costs)
    signs = rows.tensor(np.column_stack([problem.signs for problem in problems]))
    v, bias = signs.new_zeros((rows.shape[1], count)), signs.new_zeros(count)
    if weights is not None:
        given = rows.tensor(weights)
        v, bias = scaled.inner(given[1:], given[0] if one.rows.fit_intercept else bias)
    zeros = torch.zeros_like(signs)
    nothing = torch.full_like(bias, -torch.inf)
    point = Point(
        scaled, signs, rows.tensor(costs[0][:, None] if same else np.column_stack(costs)),
        one.loss, one.rows.fit_intercept, one.bias_penalty, tol, v, bias, zeros, zeros, zeros,
        v, bias, -nothing, -nothing, nothing, zeros.clone(), torch.zeros_like(bias),
    )  # fmt: skip
    refresh(point)
    if weights is None or point.loss == LOGISTIC:
        centre_bias(point)
    evaluate(point)
    return point


def refresh(point: Point) -> None:
    """Compute the margins from the weights; one pass, or none where these are 0."""
    scores = torch_module().zeros_like(point.signs)
    if bool(point.v.any()):
        scores = point.scaled.dots(point.v)
        point.passes += 1.0
    point.margins = point.signs * (scores + point.bias)
    point.fresh = True


def centre_bias(point: Point) -> None:
    """Set each b to its best value for these weights: no pass over X."""
    torch = torch_module()
    if not point.has_bias:
        return
    alpha, _ = derivatives(point.loss, point.margins, point.costs)
    penalty = torch.full_like(point.bias, point.bias_penalty)
    shift = best_step(
        point.loss, point.margins, point.signs, point.costs,
        penalty * point.bias, penalty, 0.0, _BALANCED * alpha.sum(dim=0),
    )  # fmt: skip
    point.bias = point.bias + shift
    point.margins = point.margins + shift * point.signs


def evaluate(point: Point) -> None:
    """Compute both objectives, alpha, the slope and the curvatures; one pass."""
    point.alpha, point.bends = derivatives(point.loss, point.margins, point.costs)
    point.primal = primal_of(point)
    better = point.primal < point.least * (1.0 - _DIGIT)
    point.least = point.primal.minimum(point.least)
    pulled, better_dual = claim(point, point.alpha)
    point.slope = point.penalties * point.v - pulled
    point.balance = (point.signs * point.alpha).sum(dim=0)
    point.stalled = (point.stalled + 1.0) * ~(better | better_dual)
    point.current = True


def primal_of(point: Point) -> Any:
    """Return the objectives at the present margins."""
    bias = point.bias_penalty * point.bias.square() if point.has_bias else 0.0
    loss = loss_of(point.loss, point.margins, point.costs)
    return 0.5 * ((point.penalties * point.v.square()).sum(dim=0) + bias) + loss


def claim(point: Point, alpha: Any) -> tuple[Any, Any]:
    """Balance alpha, and keep it where its dual is the best so far; return V^T y alpha as it was.

    The heavier class is scaled down to the lighter one, which keeps alpha feasible.
    """
    torch = torch_module()
    positive = point.signs > 0.0
    sides = torch.cat([alpha * positive, alpha * ~positive], dim=1)
    count = alpha.shape[1]
    pulled = point.scaled.sums(sides)
    point.passes += 1.0
    heavy, light = pulled[:, :count], pulled[:, count:]
    factors = factors_of(point, alpha)
    balanced = alpha * torch.where(positive, factors[0], factors[1])
    dual = dual_of(point, balanced, factors[0] * heavy - factors[1] * light)
    better = dual > point.dual + _DIGIT * dual.abs()
    kept = dual >= point.dual
    point.dual = torch.where(kept, dual, point.dual)
    point.claimed = torch.where(kept, balanced, point.claimed)
    return heavy - light, better


def factors_of(point: Point, alpha: Any) -> Any:
    """Return what brings the heavier class down to the lighter one, where b is free."""
    torch = torch_module()
    positive = point.signs > 0.0
    sums = torch.stack([(alpha * positive).sum(dim=0), (alpha * ~positive).sum(dim=0)])
    if not point.has_free_bias:
        return torch.ones_like(sums)
    least = sums.amin(dim=0)
    return torch.where(sums > least, least / sums, torch.ones_like(sums))


def dual_of(point: Point, alpha: Any, pulled: Any) -> Any:
    """Return the dual objectives of alpha, whose V^T y alpha is `pulled`."""
    penalty = 0.5 * (pulled.square() / point.penalties).sum(dim=0)
    if point.has_bias and point.bias_penalty > 0.0:
        penalty = penalty + (point.signs * alpha).sum(dim=0).square() / (2.0 * point.bias_penalty)
    return gain_of(point.loss, alpha, point.costs) - penalty


# ---- rows on a device with centred and scaled columns, which are never stored


ROUGH, SINGLE, DOUBLE = "rough", "single", "double"

# Rows without weight are left out of a product where at least this share of them have none.
_WORTH_LEAVING_OUT = 0.1
# Tried in turn where the matrix is not positive in floating point.
_ADDED = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
_SINGULAR = 1e-14


class Scaled:
    """V, and the products that the solvers ask for."""

    def __init__(self, rows: DeviceRows, mean: Any, scale: Any) -> None:
        self.rows, self.mean, self.scale = rows, mean, scale

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.rows.shape[1]

    def blocks(self) -> Iterator[tuple[int, int, Any]]:
        """Go over x - mean in float64, as (start, stop, block); a block may be written to."""
        for start, stop, piece in self.rows.pieces():
            yield start, stop, piece - self.mean

    def dots(self, v: Any) -> Any:
        """Return V v; v has a column a model."""
        shrunk = v / self.scale[:, None]
        out = v.new_empty((self.rows.shape[0], v.shape[1]))
        for start, stop, block in self.blocks():
            out[start:stop] = block @ shrunk
        return out

    def sums(self, shares: Any) -> Any:
        """Return V^T shares; shares have a column a model."""
        out = shares.new_zeros((self.width, shares.shape[1]))
        for start, stop, block in self.blocks():
            out += block.T @ shares[start:stop]
        return out / self.scale[:, None]

    def squares(self, weights: Any, precision: str = DOUBLE) -> Any:
        """Return [V 1]^T diag(weights) [V 1], of the order d + 1.

        Rows held in float32 may be multiplied as such (`SINGLE`), and with TF32 on a GPU (`ROUGH`);
        the products of stretches of rows are added up in float64.
        """
        d = self.width
        out = weights.new_zeros((d + 1, d + 1))
        in_single = precision != DOUBLE and self.rows.dtype.itemsize == 4
        inverse = 1.0 / self.scale
        with product_precision(fast=precision == ROUGH):
            for start, stop, piece in self.rows.pieces():
                roots = weights[start:stop].sqrt()
                kept = roots.nonzero().squeeze(1)
                if len(kept) <= (1.0 - _WORTH_LEAVING_OUT) * len(roots):
                    piece, roots = piece[kept], roots[kept]
                block = (piece - self.mean).mul_(inverse).mul_(roots[:, None])
                out[:d, d] += block.T @ roots
                out[d, d] += roots @ roots
                if in_single:
                    block = block.float()
                out[:d, :d] += block.T @ block
        out[d, :d] = out[:d, d]
        return out

    def column_squares(self, weights: Any) -> Any:
        """Return the diagonal of V^T diag(weights) V, a column a model."""
        out = weights.new_zeros((self.width, weights.shape[1]))
        for start, stop, block in self.blocks():
            out += block.square_().T @ weights[start:stop]
        return out / self.scale[:, None] ** 2

    def plain(self, v: Any, bias: Any) -> tuple[Any, Any]:
        """Return (w, b) for the columns as given; v has a column a model."""
        w = v / self.scale[:, None]
        return w, bias - self.mean @ w

    def inner(self, w: Any, bias: Any) -> tuple[Any, Any]:
        """Return (v, b') for weights of the columns as given."""
        return w * self.scale[:, None], bias + self.mean @ w


def scaled_on(rows: DeviceRows, centre: bool) -> Scaled:
    """Measure the columns once; every class, fold and C after that finds them measured."""
    # Rows keep the measures alone: what kept the rows too would keep them from being freed.
    return Scaled(rows, *rows.once(f"scaled, {centre}", lambda: _measured(rows, centre)))


def _measured(rows: DeviceRows, centre: bool) -> tuple[Any, Any]:
    """Return the mean of every column (0 unless `centre`) and its spread as a power of two."""
    torch = torch_module()
    n, d = rows.shape
    mean = torch.zeros(d, dtype=torch.float64, device=rows.device)
    squares = torch.zeros_like(mean)
    if centre:
        for _, _, piece in rows.pieces():
            mean += piece.sum(dim=0, dtype=torch.float64)
        mean /= max(1, n)
    for _, _, piece in rows.pieces():
        squares += (piece - mean).square_().sum(dim=0)
    return mean, rows.tensor(powers_of_two((squares / max(1, n)).sqrt().cpu().numpy()))


# ---- a symmetric positive system, solved by Cholesky on a unit diagonal


@dataclass(frozen=True, eq=False)
class Factor:
    """A lower triangle L with L L^T = S M S, and M scaled for a refinement."""

    lower: Any
    scale: Any
    matrix: Any

    def solve(self, right: Any) -> Any:
        """Solve for one right-hand side, and refine once."""
        right = (right * self.scale)[:, None]
        x = self._solve(right)
        x = x + self._solve(right - self.matrix @ x)
        return x[:, 0] * self.scale

    def _solve(self, right: Any) -> Any:
        return torch_module().cholesky_solve(right, self.lower)


def factored(matrix: Any) -> Factor | None:
    """Factor M, with a little added to its diagonal if need be; None where nothing helps."""
    torch = torch_module()
    diagonal = matrix.diagonal()
    scale = torch.where(diagonal > 0.0, diagonal, torch.ones_like(diagonal)).rsqrt()
    scaled = matrix * scale * scale[:, None]
    if not bool(scaled.isfinite().all()):
        return None
    for added in _ADDED:
        raised = scaled + added * torch.eye(len(scaled), dtype=scaled.dtype, device=scaled.device)
        lower, failed = torch.linalg.cholesky_ex(raised)
        if not bool(failed):
            return Factor(lower, scale, scaled)
    return None


def solved(matrix: Any, right: Any) -> Any:
    """Solve M x = right; where M is singular, the shortest solution; NaN where M is not finite."""
    torch = torch_module()
    factor = factored(matrix)
    if factor is not None:
        least = factor.lower.diagonal().square().amin()
        if float(least) > _SINGULAR * len(right):
            return factor.solve(right)
    if not bool(matrix.isfinite().all()):
        return torch.full_like(right, torch.nan)
    scale = torch.where(matrix.diagonal() > 0.0, matrix.diagonal(), 1.0).rsqrt()
    values, vectors = torch.linalg.eigh(matrix * scale * scale[:, None])
    known = values > _SINGULAR * len(values) * values[-1].clamp(min=0.0)
    inner = torch.where(known, 1.0 / torch.where(known, values, 1.0), 0.0)
    return scale * (vectors @ (inner * (vectors.T @ (scale * right))))
