"""Primal-dual interior point for the direct model on narrow data.

    min over w_k, b_k, xi   1/2 sum_k |w_k|^2 + p/2 sum_k b_k^2 + sum_i c_i xi_i
    subject to              s_ik = xi_i + (f_y(x_i) - f_k(x_i)) - 1[k != y_i] >= 0   for all k

The multipliers of the constraints are the masses m_ik of `problem/many_classes.py`. A Newton step
on m_ik s_ik = mu leaves, once the rows are eliminated, one system for the weights,

    ( R + sum_i  (diag(D_i) - D_i D_i^T / sum D_i)  (x)  x_i x_i^T )  dw  =  ...,

with D_ik = m_ik / s_ik and K (d + 1) unknowns: 15 to 40 systems, whatever C and however the columns
are scaled, where passes over the rows would be thousands. Mehrotra's predictor and corrector.
Columns are scaled inside, and centred where the bias is free; the objective stays the user's. The
last digits, and which masses are zero, come from `on_this_face`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from separatrix.problem.many_classes import DirectProblem
from separatrix.solvers.many_classes.class_claims import (
    DirectState,
    all_at_home,
    on_this_face,
    rebalance,
)
from separatrix.solvers.running.drive import Status, advanced

__all__ = ["advance", "start", "suits"]

_MOST_UNKNOWN = 700
_MOST_ENTRIES = 20_000_000
_TO_THE_BOUND = 0.995
_STALLED = 60  # iterations, after which what is left is rounding
_FINISH_AT = 1e-2


@dataclass
class Interior:
    """The rows that count, in scaled columns with the bias first, and the iterate."""

    rows: np.ndarray
    X: np.ndarray
    ridge: np.ndarray
    centre: np.ndarray
    scale: np.ndarray
    codes: np.ndarray
    costs: np.ndarray
    wrong: np.ndarray  # 1[k != y_i]
    V: np.ndarray
    xi: np.ndarray
    s: np.ndarray
    m: np.ndarray


def suits(problem: DirectProblem) -> bool:
    """Whether the system is small enough."""
    (n, d), K = problem.X.shape, problem.n_classes
    return (d + 1) * K <= _MOST_UNKNOWN and n * max(d + 1, K) <= _MOST_ENTRIES


def start(
    problem: DirectProblem,
    *,
    tol: float,
    first: np.ndarray | None = None,
    seed: int = 0,
    max_passes: float = np.inf,
) -> DirectState:
    """Begin well inside; `first` is not of use there."""
    d, K = problem.X.shape[1], problem.n_classes
    rows = np.flatnonzero(problem.costs > 0.0)
    X = problem.X[rows]
    X = (X.toarray() if sp.issparse(X) else X).astype(np.float64)
    centre = X.mean(axis=0) if problem.has_free_bias else np.zeros(d)
    X = X - centre
    scale = np.sqrt(np.mean(X * X, axis=0))
    scale[scale == 0.0] = 1.0
    X /= scale
    ridge = 1.0 / scale**2
    if problem.fit_intercept:
        X = np.column_stack([np.ones(len(rows)), X])
        ridge = np.concatenate([[problem.bias_penalty], ridge])
    codes, costs = problem.codes[rows], problem.costs[rows]
    wrong = np.ones((len(rows), K))
    wrong[np.arange(len(rows)), codes] = 0.0
    xi = np.full(len(rows), 2.0)
    memory = Interior(
        rows=rows,
        X=np.ascontiguousarray(X),
        ridge=ridge,
        centre=centre,
        scale=scale,
        codes=codes,
        costs=costs,
        wrong=wrong,
        V=np.zeros((X.shape[1], K)),
        xi=xi,
        s=xi[:, None] - wrong,
        m=np.repeat(costs[:, None] / K, K, axis=1),
    )
    state = DirectState(
        problem, tol, None, memory, max_passes, np.zeros((d, K)), np.zeros(K), all_at_home(problem)
    )
    state.primal = problem.primal(state.W, state.bias)
    return state


def advance(state: DirectState, budget: int) -> Status | None:
    """Make at most `budget` iterations."""
    return advanced(state, budget, _verdict, _update)


def _verdict(state: DirectState) -> Status | None:
    status = state.verdict()
    return Status.UNPROVED if status is None and state.updates >= _STALLED else status


def _update(state: DirectState) -> None:
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        state.updates = state.updates + 1 if _iterate(state.memory) else _STALLED
        _claim(state)
    state.passes += 1.0


def _iterate(it: Interior) -> bool:
    """Make one step of predictor and corrector; whether there was one to make."""
    D = it.m / it.s
    sums = D.sum(axis=1)
    factor = _factored(it, D, sums)
    if factor is None:
        return False
    scores = it.X @ it.V
    own = np.arange(len(it.codes)), it.codes
    missed = it.xi[:, None] + scores[own][:, None] - scores - it.wrong - it.s
    products = it.m * it.s
    mu = float(products.mean())
    if not mu > 0.0:  # products too small for a float: there is no step to make
        return False
    step = _step(it, factor, D, sums, missed, -products)
    if step is None:
        return False
    length = min(1.0, _reach(it, step))
    after = (it.m + length * step[2]) * (it.s + length * step[3])
    target = mu * min(1.0, max(0.0, float(after.mean()) / mu)) ** 3
    second = _step(it, factor, D, sums, missed, target - products - step[2] * step[3])
    step = step if second is None else second
    length = min(1.0, _TO_THE_BOUND * _reach(it, step))
    if not length > 1e-12:
        return False
    for value, change in zip((it.V, it.xi, it.m, it.s), step, strict=True):
        value += length * change
    return True


def _factored(it: Interior, D: np.ndarray, sums: np.ndarray) -> np.ndarray | None:
    """Return the Cholesky factor of the system for the weights."""
    q, K = it.V.shape
    H = np.empty((K, q, K, q))
    for k in range(K):
        for other in range(k + 1):
            weights = -D[:, k] * D[:, other] / sums
            if k == other:
                weights += D[:, k]
            block = (it.X * weights[:, None]).T @ it.X
            if k == other:
                block[np.diag_indices(q)] += it.ridge
            H[k, :, other, :] = block
            H[other, :, k, :] = block.T
    free = np.flatnonzero(it.ridge == 0.0)
    if len(free):
        # The same bias for all classes changes nothing: their sum is held at zero.
        H[:, free, :, free] += float(np.trace(H[:, 0, :, 0])) / K
    matrix = H.reshape(K * q, K * q)
    size = np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
    matrix /= np.outer(size, size)
    for ridge in (0.0, 1e-14, 1e-11, 1e-8):
        try:
            matrix[np.diag_indices(K * q)] += ridge
            factor, _ = scipy.linalg.cho_factor(matrix, lower=True, check_finite=True)
            return np.concatenate([factor, size[None, :]])
        except (np.linalg.LinAlgError, ValueError):
            continue
    return None


def _step(
    it: Interior,
    factor: np.ndarray,
    D: np.ndarray,
    sums: np.ndarray,
    missed: np.ndarray,
    change: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the changes of V, xi, m and s for which m s changes by `change`, to first order."""
    q, K = it.V.shape
    own = np.arange(len(it.codes)), it.codes
    shares = -it.m
    shares[own] += it.costs
    right = it.X.T @ shares - it.ridge[:, None] * it.V
    lacking = it.costs - it.m.sum(axis=1)
    rho = (change - it.m * missed) / it.s
    mean = (rho.sum(axis=1) - lacking) / sums
    right -= it.X.T @ (rho - D * mean[:, None])
    size = factor[-1]
    flat = scipy.linalg.cho_solve((factor[:-1], True), right.T.ravel() / size, check_finite=False)
    dV = np.ascontiguousarray((flat / size).reshape(K, q).T)
    g = it.X @ dV
    eta = mean + (D * g).sum(axis=1) / sums
    dm = rho - D * (eta[:, None] - g)
    dxi = eta - g[own]
    ds = eta[:, None] - g + missed
    if not (np.isfinite(dm).all() and np.isfinite(ds).all() and np.isfinite(dV).all()):
        return None
    return dV, dxi, dm, ds


def _reach(it: Interior, step: tuple[np.ndarray, ...]) -> float:
    """Return how far the step can be gone before a mass or a slack is used up."""
    reach = np.inf
    for value, change in ((it.m, step[2]), (it.s, step[3])):
        falling = change < 0.0
        if falling.any():
            reach = min(reach, float((value[falling] / -change[falling]).min()))
    return reach


def _claim(state: DirectState) -> None:
    """Bring the claims up to date."""
    problem, it = state.problem, state.memory
    W, bias = _unscaled(problem, it)
    _take_primal(state, W, bias)
    masses = np.zeros_like(state.masses)
    masses[it.rows] = it.m
    _take_dual(state, masses)
    if state.gap > _FINISH_AT:
        return
    # Complementary: of a mass and its slack one vanishes. Guess which, and compute the rest.
    held = masses.copy()
    held[it.rows] = np.where(it.m / it.costs[:, None] > it.s, it.m, 0.0)
    held[it.rows, it.codes] += np.where(held[it.rows].any(axis=1), 0.0, it.costs)
    found = on_this_face(problem, held)
    if found is not None:
        _take_primal(state, found[0], found[1])
        _take_dual(state, found[2])
    lost = it.costs - held[it.rows].sum(axis=1)
    held[it.rows, held[it.rows].argmax(axis=1)] += lost
    if (held >= 0.0).all():
        _take_dual(state, held, 0.1 * state.tol * state.primal)


def _unscaled(problem: DirectProblem, it: Interior) -> tuple[np.ndarray, np.ndarray]:
    V = it.V[1:] if problem.fit_intercept else it.V
    W = V / it.scale[:, None]
    bias = it.V[0] if problem.fit_intercept else np.zeros(V.shape[1])
    return W, bias - it.centre @ W


def _take_primal(state: DirectState, W: np.ndarray, bias: np.ndarray) -> None:
    primal = state.problem.primal(W, bias)
    if primal < state.primal:
        state.primal, state.W, state.bias = primal, W, bias


def _take_dual(state: DirectState, masses: np.ndarray, loss: float = 0.0) -> None:
    problem = state.problem
    if problem.has_free_bias:
        masses = masses.copy()
        rebalance(masses, problem.shares(masses).sum(axis=0))
    dual = problem.dual(masses)
    if dual > state.dual - loss:
        state.dual, state.masses = dual, masses
