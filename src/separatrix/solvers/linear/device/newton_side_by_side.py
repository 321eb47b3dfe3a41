"""Newton's method for the smooth models on dense rows that are on a device.

    minimise over w, b    1/2 |w|^2 + p/2 b^2 + sum_i c_i loss(y_i (w.x_i + b))

loss: squared hinge or logistic; b is free (p = 0) unless p is given. Each update solves

    (R + [V 1]^T D [V 1]) s = -gradient ,     D = diag(c_i loss''(m_i)) ,    V = (X - mean) / scale

by Cholesky (by conjugate gradients where d x d is too large or models are many) and takes the best
step along s. Models on the same rows, each class against the rest, are solved side by side:
margins and gradients of all are one product each, and a model that is done is left alone.

Gradients, objectives and the gap are float64. The matrix may be made in float32 while the gap is
wide, with TF32 while it is very wide. That changes the steps, not the answer.

Conjugate gradients multiply with the rows twice a round, for all models together. Where the d x d
products of all rows can be made, their eigenvectors, found once for every class, fold and C,
precondition all models; else the diagonal does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from separatrix._device import free_bytes, torch_module
from separatrix.problem.losses import HINGE, LOGISTIC
from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear.claims import MachineState, is_solved_at_once
from separatrix.solvers.linear.device.device_point import (
    DOUBLE,
    PATIENCE,
    ROUGH,
    SINGLE,
    Point,
    Scaled,
    best_step,
    centre_bias,
    claim,
    dual_of,
    evaluate,
    factors_of,
    placed,
    primal_of,
    refresh,
    solved,
)
from separatrix.solvers.running.drive import Status, advanced

if TYPE_CHECKING:
    from separatrix.solvers.linear.device.device_point import Point

# Beyond so many columns the matrix costs more than rounds of products with the rows.
WIDEST_MATRIX = 4096
# While the gap is above these, the matrix may be made of TF32 and of float32 products.
_ROUGH, _SINGLE = 0.1, 1e-5
# So many models are served by rounds in less time than it takes to make a matrix for each.
MANY_MACHINES = 4
# A model keeps about so many numbers a row while it is solved.
_VECTORS = 24
_SHARE = 0.3
_MOST_ON_CPU = 16
_MOST_UPDATES = 100
# Beyond so many columns neither the matrix of all rows nor its eigenvectors are made.
WIDEST_SPECTRUM = 4096
_ROUNDS = 250
_LOOSEST, _TIGHTEST = 0.1, 1e-10


# ---- the direction by conjugate gradients


def direction_by_rounds(point: Point, in_bias: Any, going: Any) -> tuple[Any, Any]:
    """Return (dv, db) of the models that are going; 0 for the others."""
    torch = torch_module()
    chosen = going.nonzero().squeeze(1)
    bends = point.bends[:, chosen]
    right = -torch.cat([point.slope, in_bias[None]])[:, chosen]
    # The gap is a square of the distance: its root says how far the residual must fall.
    target = (point.gap[chosen].clamp(min=0.0).sqrt() * _LOOSEST).clamp(_TIGHTEST, _LOOSEST)
    found = torch.zeros_like(torch.cat([point.v, in_bias[None]]))
    if point.scaled.width > WIDEST_SPECTRUM:
        ease = _by_diagonal(point, bends)
    else:
        ease = _by_spectrum(point, bends)
    found[:, chosen] = _by_rounds(point, bends, right, target, ease)
    return found[:-1], found[-1]


def _by_rounds(
    point: Point, bends: Any, right: Any, target: Any, ease: Callable[[Any], Any]
) -> Any:
    """Iterate until every residual falls by its `target`, in the norm of the preconditioner."""
    torch = torch_module()
    found, rest = torch.zeros_like(right), right.clone()
    search = ease(rest)
    size = (rest * search).sum(dim=0)
    enough = size * target.square()
    for _ in range(_ROUNDS):
        busy = size > enough
        if not bool(busy.any()):
            break
        moved = _times(point, bends, search)
        along = (search * moved).sum(dim=0)
        step = torch.where(busy & (along > 0.0), size / along, torch.zeros_like(size))
        if not bool((step > 0.0).any()):
            break
        found += step * search
        rest -= step * moved
        eased = ease(rest)
        following = (rest * eased).sum(dim=0)
        search = eased + torch.where(busy, following / size, torch.zeros_like(size)) * search
        size = torch.where(busy, following, size)
    return found


def _times(point: Point, bends: Any, x: Any) -> Any:
    """Return the second derivatives times x, through the rows."""
    torch = torch_module()
    v, bias = x[:-1], x[-1]
    shares = bends * (point.scaled.dots(v) + bias * point.has_bias)
    point.passes += 2.0
    last = shares.sum(dim=0) + point.bias_penalty * bias if point.has_bias else bias
    return torch.cat([point.scaled.sums(shares) + point.penalties * v, last[None]])


# ---- preconditioners


def _by_diagonal(point: Point, bends: Any) -> Callable[[Any], Any]:
    torch = torch_module()
    columns = point.scaled.column_squares(bends) + point.penalties
    point.passes += 1.0
    inverse = 1.0 / torch.cat([columns, _curvature_of_bias(point, bends)[None]])
    return lambda rest: inverse * rest


def _by_spectrum(point: Point, bends: Any) -> Callable[[Any], Any]:
    """Invert R + t V^T V by its eigenvectors, t the mean curvature of each model."""
    torch, scaled = torch_module(), point.scaled
    values, vectors = scaled.rows.once(
        f"spectrum, {point.has_free_bias}", lambda: _spectrum(scaled)
    )
    shrunk = 1.0 / (1.0 + values[:, None] * bends.mean(dim=0))
    roots = point.penalties.rsqrt()
    inverse = 1.0 / _curvature_of_bias(point, bends)

    def ease(rest: Any) -> Any:
        inner = vectors.T @ (roots * rest[:-1])
        return torch.cat([roots * (vectors @ (shrunk * inner)), (inverse * rest[-1])[None]])

    return ease


def _spectrum(scaled: Scaled) -> tuple[Any, Any]:
    """Return the eigenvalues and eigenvectors of X^T X, centred as the rows are."""
    torch = torch_module()
    ones = scaled.mean.new_ones(scaled.rows.shape[0])
    products = scaled.squares(ones, SINGLE)[:-1, :-1]
    products = products * scaled.scale * scaled.scale[:, None]
    values, vectors = torch.linalg.eigh(products)
    return values.clamp(min=0.0), vectors


def _curvature_of_bias(point: Point, bends: Any) -> Any:
    torch = torch_module()
    if not point.has_bias:
        return torch.ones_like(bends[0])
    total = bends.sum(dim=0) + point.bias_penalty
    return torch.where(total > 0.0, total, torch.ones_like(total))


class Begun(NamedTuple):
    """Where a run that went before ended: a start that counts its work."""

    w: np.ndarray
    alpha: np.ndarray
    updates: int
    passes: float


def start(
    problem: MachineProblem,
    *,
    tol: float,
    first: Any = None,
    seed: int = 0,
    max_passes: float = np.inf,
) -> MachineState:
    """Lay out a run. Nothing is random here: `seed` is ignored."""
    n, width = problem.X.shape
    state = MachineState(problem, tol, np.zeros(width + 1), np.zeros(n))
    state.dual = -np.inf
    if is_solved_at_once(state):
        return state
    weights = None if first is None or first[0] is None else np.asarray(first[0])[:, None]
    point = placed([problem], tol, weights)
    if first is not None and first[1] is not None and bool((point.gap > tol).any()):
        # A neighbour's alpha is rarely enough, but that of a run side by side is.
        alpha = problem.X.tensor(np.clip(first[1], 0.0, problem.upper))
        claim(point, alpha[:, None])
    if isinstance(first, Begun):
        point.updates, point.passes = first.updates, point.passes + first.passes
    state.memory = point, max_passes
    _report(state)
    return state


def advance(state: MachineState, budget: int) -> Status | None:
    """Make at most `budget` updates."""
    if state.memory is None:
        return Status.OPTIMAL
    state.memory[0].tol = state.tol
    return advanced(state, budget, _verdict, _iterate)


def _verdict(state: MachineState) -> Status | None:
    point, max_passes = state.memory
    if bool(point.is_done.all()):
        return Status.OPTIMAL if state.gap <= state.tol else Status.UNPROVED
    return Status.BUDGET if point.passes >= max_passes else None


def _iterate(state: MachineState) -> None:
    update(state.memory[0])
    _report(state)


def _report(state: MachineState) -> None:
    """Tell the state what its drivers and watchers ask; alpha stays on the device."""
    point: Point = state.memory[0]
    w, b = point.scaled.plain(point.v, point.bias)
    state.w = np.concatenate([b.cpu().numpy(), w[:, 0].cpu().numpy()])
    state.primal, state.dual = float(point.primal[0]), float(point.dual[0])
    state.updates, state.passes = point.updates, point.passes


# ---- one update


def update(point: Point) -> None:
    """Make one Newton step of every model that is not done."""
    torch = torch_module()
    if not point.current:
        evaluate(point)
    going = ~point.is_done
    dv, db = direction(point, going)
    gains = point.signs * (point.scaled.dots(dv) + db)
    point.passes += 1.0
    point.updates += 1
    sound = going & dv.isfinite().all(dim=0) & db.isfinite() & gains.isfinite().all(dim=0)
    dv, db = torch.where(sound, dv, 0.0), torch.where(sound, db, 0.0)
    gains = torch.where(sound, gains, 0.0)
    step = torch.where(sound, best_along(point, dv, db, gains), 0.0)
    ahead = point.alpha - point.bends * gains
    feasible = (ahead >= 0.0).all(dim=0)
    if point.loss == LOGISTIC:
        feasible &= (ahead <= point.costs).all(dim=0)
    v_ahead = point.v + dv
    point.v, point.bias = point.v + step * dv, point.bias + step * db
    point.margins = point.margins + step * gains
    point.fresh = point.current = False
    if point.loss == LOGISTIC:
        centre_bias(point)
    _claim_ahead(point, ahead, v_ahead, feasible & sound)
    if not bool(((point.gap <= point.tol) | ~going).all()):
        evaluate(point)
    if not point.fresh and bool((point.gap <= point.tol).all()):
        refresh(point)
        point.primal = primal_of(point)
        if bool((point.gap > point.tol).any()):
            evaluate(point)


def _claim_ahead(point: Point, ahead: Any, v_ahead: Any, worth: Any) -> None:
    """Claim the alpha that Newton's step itself leads to, if that would end the run.

    It lies nearer the best one than the alpha of the new margins, which are 1 less a little where
    costs are high; and it saves the gradient there.
    """
    torch = torch_module()
    primal = primal_of(point)
    factors = factors_of(point, ahead)
    positive = point.signs > 0.0
    balanced = ahead.clamp(min=0.0) * torch.where(positive, factors[0], factors[1])
    dual = dual_of(point, balanced, point.penalties * v_ahead)
    settled = point.gap <= point.tol
    hopeful = worth & (primal - dual <= point.tol * primal)
    if bool((hopeful | settled | (point.stalled >= PATIENCE)).all()) and bool(hopeful.any()):
        claim(point, torch.where(hopeful, ahead, point.claimed))
        point.primal = torch.where(hopeful, primal, point.primal)


def best_along(point: Point, dv: Any, db: Any, gains: Any) -> Any:
    """Return the best step of each model."""
    penalty = point.bias_penalty if point.has_bias else 0.0
    first = (point.penalties * point.v * dv).sum(dim=0) + penalty * point.bias * db
    second = (point.penalties * dv.square()).sum(dim=0) + penalty * db.square()
    in_bias = penalty * point.bias - point.balance if point.has_bias else 0.0
    slope = ((point.slope * dv).sum(dim=0) + in_bias * db).abs()
    enough = (1e-2 if point.loss == LOGISTIC else 1e-9) * slope
    return best_step(point.loss, point.margins, gains, point.costs, first, second, 1.0, enough)


def _precision(gap: float) -> str:
    """Return how exact the matrix is to be: early ones need little."""
    if gap > _ROUGH:
        return ROUGH
    return SINGLE if gap > _SINGLE else DOUBLE


def direction(point: Point, going: Any) -> tuple[Any, Any]:
    """Return Newton's direction of the models that are going; 0 for the others."""
    torch = torch_module()
    in_bias = point.bias_penalty * point.bias - point.balance
    if not point.has_bias:
        in_bias = torch.zeros_like(in_bias)
    if point.scaled.width > WIDEST_MATRIX or int(going.sum()) >= MANY_MACHINES:
        return direction_by_rounds(point, in_bias, going)
    dv, db = torch.zeros_like(point.v), torch.zeros_like(point.bias)
    gaps = point.gap.tolist()
    for k in going.nonzero().squeeze(1).tolist():
        matrix = point.scaled.squares(point.bends[:, k], _precision(gaps[k]))
        point.passes += 1.0 / len(gaps)
        places = torch.arange(len(matrix) - 1, device=matrix.device)
        matrix[places, places] += point.penalties[:, 0]
        matrix[-1, -1] += point.bias_penalty
        if not point.has_bias:
            matrix[-1, :] = 0.0
            matrix[:, -1] = 0.0
            matrix[-1, -1] = 1.0
        found = solved(matrix, -torch.cat([point.slope[:, k], in_bias[k : k + 1]]))
        dv[:, k], db[k] = found[:-1], found[-1]
    return dv, db


# ---- models on the same rows, each class against the rest, solved side by side


def side_by_side(
    problems: list[MachineProblem], tol: float, firsts: list[Any], deadline: float = np.inf
) -> list[Any]:
    """Return where each model may start: (weights, alpha) near its optimum.

    The hinge is left as it is: its interior point makes a matrix of its own for every model.
    """
    if problems[0].loss == HINGE:
        return firsts
    rows = problems[0].X
    room = _SHARE * free_bytes(rows.device) / (8.0 * _VECTORS * max(1, rows.shape[0]))
    height = max(1, int(min(room, len(problems)))) if np.isfinite(room) else _MOST_ON_CPU
    found: list[Any] = []
    for begin in range(0, len(problems), height):
        part = problems[begin : begin + height]
        if time.perf_counter() >= deadline:
            return [*found, *firsts[begin:]]
        found += _solved(part, tol, firsts[begin : begin + height], deadline)
    return found


def _solved(
    problems: list[MachineProblem], tol: float, firsts: list[Any], deadline: float
) -> list[Any]:
    weights = None
    if all(first is not None and first[0] is not None for first in firsts):
        weights = np.column_stack([first[0] for first in firsts])
    point = placed(problems, tol, weights)
    while not bool(point.is_done.all()) and point.updates < _MOST_UPDATES:
        if time.perf_counter() >= deadline:
            break
        update(point)
    w, b = point.scaled.plain(point.v, point.bias)
    alphas, w, b = (values.cpu().numpy() for values in (point.claimed, w, b))
    return [
        Begun(np.append(b[k], w[:, k]), alphas[:, k].copy(), point.updates, point.passes)
        for k in range(len(problems))
    ]
