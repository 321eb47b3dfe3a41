"""The hinge machine on dense rows that are on a device, by a primal-dual interior point.

    min over w, b   1/2 |w|^2 + 1/2 p b^2 + sum_i c_i max(0, 1 - y_i (w.x_i + b))

    max over alpha  sum_i alpha_i - 1/2 |u|^2 - (sum_i y_i alpha_i)^2 / (2p)
    subject to      0 <= alpha_i <= c_i,   and  sum_i y_i alpha_i = 0  where p = 0
                    with u = sum_i alpha_i y_i x_i

The algorithm of `solvers.interior_point` and `solvers.predictor_corrector` (Mehrotra's, with
Gondzio's corrections): every iteration makes and factors one matrix of d + 1 columns, which is all
but the whole cost, and what a GPU does best. Rows of cost 0 stay where they are and get no weight.
All of it is float64, but for the first matrices of rows held in float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._device import torch_module
from separatrix.errors import DeviceError
from separatrix.problem.machine import MachineProblem
from separatrix.solvers.linear.contract import MachineState
from separatrix.solvers.linear.device.claims import dual_of, middle_bias, primal_of
from separatrix.solvers.linear.device.predictor_corrector import Run, laid_out, step
from separatrix.solvers.running.drive import Status

__all__ = ["advance", "start"]

# A matrix of so many columns fills 2 GiB, and takes a GPU seconds to factor.
WIDEST = 16_384
# So many iterations without a gap a tenth smaller: rounding is all that is left.
_PATIENCE = 20
_REFRESH = 8
_DRIFTS, _ROUGH = 1e-4, 1e-8


def start(
    problem: MachineProblem,
    *,
    tol: float,
    first: Any = None,
    seed: int = 0,
    max_passes: float = np.inf,
) -> MachineState:
    """Lay out a run at w = 0, in the middle of the box. Nothing here is random.

    A claim to start from is kept while it is the best known, but does not move the start: an
    interior point begun near an optimum of other costs makes short steps.
    """
    n, d = problem.X.shape
    if d > WIDEST:
        raise DeviceError(
            f"The hinge on a device makes a matrix of the columns, and {d:,} are too many (at most "
            f"{WIDEST:,}). Use loss='squared_hinge', which needs none, or device='cpu'."
        )
    state = MachineState(problem, tol, np.zeros(d + 1), np.zeros(n))
    used = np.flatnonzero(problem.costs > 0.0)
    signs = problem.signs[used]
    if not len(used) or (problem.has_free_bias and bool((signs == signs[0]).all())):
        state.w[0] = signs[0] if len(used) else 0.0
        state.primal = state.dual = 0.0
        return state
    state.memory = laid_out(problem, used, max_passes)
    _first_claims(state, first)
    _report(state)
    return state


def advance(state: MachineState, budget: int) -> Status | None:
    """Make at most `budget` iterations."""
    run: Run | None = state.memory
    if run is None:
        return Status.OPTIMAL
    for made in range(budget + 1):
        if state.gap <= state.tol:
            return Status.OPTIMAL
        if run.failed or run.since_best >= _PATIENCE:
            return Status.UNPROVED
        if run.passes >= run.max_passes:
            return Status.BUDGET
        if made < budget:
            _iterate(run, state.tol)
            _report(state)
    return None


def _report(state: MachineState) -> None:
    """Tell the state what its drivers and watchers ask; alpha stays on the device."""
    run: Run = state.memory
    w, b = run.scaled.plain(run.best_v[:-1, None], run.best_v[-1:])
    bias = b.cpu().numpy() if run.has_bias else np.zeros(1)
    state.w = np.concatenate([bias, w[:, 0].cpu().numpy()])
    state.primal, state.dual = run.primal, run.dual
    state.updates, state.passes = run.updates, run.passes


# ---- claims


def _first_claims(state: MachineState, first: Any) -> None:
    """Begin with w = 0 and its best bias, and with the claim handed over where it is better."""
    run: Run = state.memory
    _claim_primal(run, run.best_v, state.tol)
    w, alpha = (None, None) if first is None else first
    if w is not None:
        given = run.scaled.rows.tensor(w)
        v, bias = run.scaled.inner(given[1:, None], given[0] * run.has_bias)
        _claim_primal(run, torch_module().cat([v[:, 0], bias.reshape(1)]), state.tol)
    if alpha is not None:
        given = run.scaled.rows.tensor(alpha)[run.used].clamp(min=0.0)
        _claim_dual(run, torch_module().minimum(given, run.pairs.costs))


def _claim_primal(run: Run, v: Any, tol: float) -> None:
    """Take v over if its value is the best so far; with the best bias if that makes it enough."""
    scores = run.scores(v[:-1]) if bool(v[:-1].any()) else v.new_zeros(len(run.signs))
    bias = v[-1] * run.has_bias
    found = primal_of(run, v, scores, bias)
    if run.has_free_bias and found - run.dual > tol * found:
        best = v.new_full((), middle_bias(scores, run.signs, run.pairs.costs))
        if (other := primal_of(run, v, scores, best)) < found:
            bias, found = best, other
    if found < run.primal:
        run.primal = found
        run.best_v = torch_module().cat([v[:-1], bias.reshape(1)])


def _claim_dual(run: Run, alpha: Any) -> None:
    """Balance alpha, and keep it if its dual is the best so far."""
    if run.has_free_bias:
        alpha = _balanced(alpha, run.signs, run.pairs.costs)
    value = dual_of(run, alpha)
    if value > run.dual:
        run.dual, run.best_alpha = value, alpha


def _balanced(alpha: Any, signs: Any, costs: Any) -> Any:
    """Make the classes weigh the same; rows far from both ends of the box take the difference."""
    torch = torch_module()
    excess = signs @ alpha
    room = torch.minimum(alpha, costs - alpha)
    total = room.sum()
    if abs(float(excess)) < 0.5 * float(total):
        alpha = alpha - signs * room * (excess / total)
    plus = signs > 0.0
    heavy, light = float(alpha[plus].sum()), float(alpha[~plus].sum())
    if heavy > light:
        return torch.where(plus, alpha * (light / heavy), alpha)
    return torch.where(plus, alpha, alpha * (heavy / light)) if light > heavy else alpha


# ---- one iteration


def _iterate(run: Run, tol: float) -> None:
    run.failed = not step(run)
    run.updates += 1
    primal, dual = run.objectives()
    # Near the optimum the rounding of long steps is what the next step has to mend.
    if run.updates % _REFRESH == 0 or primal - dual <= _DRIFTS * abs(primal):
        run.refresh()
        primal, dual = run.objectives()
    run.last_gap = (primal - dual) / abs(primal) if primal else 0.0
    if run.last_gap <= max(2.0 * tol, _ROUGH) or run.failed or run.updates % _REFRESH == 0:
        _claim_dual(run, torch_module().minimum(run.pairs.alpha, run.pairs.costs))
        _claim_primal(run, run.v, tol)
    if primal - dual < 0.9 * run.least_gap:
        run.least_gap, run.since_best = primal - dual, 0
    else:
        run.since_best += 1
