"""Newton's model of the sparse multinomial model on a large working set, without its matrix.

    min over V, v    1/2 D' H D + G' D + h'v + l sum_g sqrt(K p_g) |V_g| + r/2 |V|^2,   D = V - W

One column after another, or one group of columns, goes to the minimum of a parabola that lies above
the model; the biases follow after each round. This finds the columns that are zero. Where no group
is at zero the model is smooth: conjugate gradients on the nonzero columns and the biases finish.

What is kept is M_i (D x_i + v) of every row, with M_i = c_i (diag p_i - p_i p_i').
"""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix._compiled import compiled
from separatrix.problem.sparse_penalty import SparseSoftmaxProblem
from separatrix.solvers.sparse.class_point import bias_curvature
from separatrix.solvers.sparse.columns import WorkingSet

__all__ = ["minimised"]

_ROUNDS, _EPOCHS, _HALVINGS = 12, 4, 12
_MOST_CG, _ENOUGH_CG = 120, 0.01  # of the first residual


def minimised(
    problem: SparseSoftmaxProblem,
    part: WorkingSet,
    p: np.ndarray,
    gradient: tuple[np.ndarray, np.ndarray],
    W: np.ndarray,
    share: float,
    little: float,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return V, the change of the biases, and how many times the columns were passed over.

    Stops where a round lowers the model by less than a share of the first one, or by little.
    """
    model = _Model(problem, part, p, gradient, W)
    first, passes = 0.0, 1.0
    for number in range(_ROUNDS):
        fall, least = 0.0, little if number else 0.0  # rounds alone may be slow, and fall little
        for _ in range(_EPOCHS):
            fall = model.round()
            passes += 1.0
            first = max(first, fall)
            if fall <= max(share * first, least):
                return model.V, model.rise, passes
        passes += model.along_the_face()
    return model.V, model.rise, passes


class _Model:
    """The model at V: what its rows keep, and the steps that lower it."""

    def __init__(
        self,
        problem: SparseSoftmaxProblem,
        part: WorkingSet,
        p: np.ndarray,
        gradient: tuple[np.ndarray, np.ndarray],
        W: np.ndarray,
    ) -> None:
        self.part, self.p, self.costs = part, np.ascontiguousarray(p), problem.costs
        (self.G, self.h), self.V = gradient, W.copy()
        (n, m), K = part.shape, problem.n_classes
        self.ridge, self.has_bias, self.rise = problem.ridge, problem.has_free_bias, np.zeros(K)
        groups = np.arange(m) if problem.groups is None else problem.groups
        self.order = np.argsort(groups, kind="stable")
        self.ends = np.append(0, np.cumsum(np.bincount(groups)))
        self.groups = groups
        self.bounds = problem.l1 * np.sqrt(K * np.diff(self.ends))
        self.curved = np.zeros((n, K))
        self.columns = part.columns
        steep, self.diagonal = _steepness(*self.columns, self.p, self.costs)
        floor = max(1e-14 * float(steep.max(initial=0.0)), 1e-300)
        self.steep = np.maximum(np.bincount(groups, steep), floor) + self.ridge
        self.diagonal = np.maximum(self.diagonal, floor)
        self.across = bias_curvature(p, self.costs) if self.has_bias else np.eye(K)

    def round(self) -> float:
        """Take every group down, and then the biases; return how far the model fell at least."""
        penalties = self.bounds, self.steep, self.ridge
        layout = *self.columns, self.order, self.ends
        model = self.p, self.costs, self.G, self.V, self.curved
        fall = float(_descend(*layout, *model, *penalties))
        if self.has_bias:
            slope = self.h + self.curved.sum(axis=0)
            step = -np.linalg.solve(self.across, slope)
            self.rise += step
            _add_curved(self.p, self.costs, np.zeros_like(self.curved), step, self.curved)
            fall += 0.5 * float(-slope @ step)
        return fall

    def along_the_face(self) -> float:
        """Take one Newton step on the nonzero columns and the biases; return the passes."""
        lengths = self._lengths(self.V)
        alive = lengths[self.groups] > 0.0
        if not alive.any():
            return 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            bend = np.where(lengths > 0.0, self.bounds / lengths, 0.0)[self.groups]
            along = np.where(alive, 1.0 / lengths[self.groups], 0.0)[:, None] * self.V
        smooth = self.G + self.part.combination(self.curved) + self.ridge * self.V
        slope = (smooth + bend[:, None] * self.V) * alive[:, None]
        lacking = self.h + self.curved.sum(axis=0) if self.has_bias else np.zeros_like(self.h)

        def product(S: np.ndarray, s: np.ndarray) -> tuple[Any, Any, np.ndarray]:
            curved = np.zeros_like(self.curved)
            _add_curved(self.p, self.costs, self.part.scores(S), s, curved)
            inward = np.bincount(self.groups, np.einsum("jk,jk->j", along, S), len(lengths))
            found = self.part.combination(curved) + (self.ridge + bend[:, None]) * S
            found -= (bend * inward[self.groups])[:, None] * along
            return found * alive[:, None], curved.sum(axis=0) * self.has_bias, curved

        inverse = alive[:, None] / (self.diagonal + self.ridge + bend[:, None])
        step, rise, used = self._conjugate(product, (-slope, -lacking), inverse)
        return used + self._search(product, (step, rise), smooth, lacking)

    def _conjugate(
        self, product: Any, residual: tuple[np.ndarray, np.ndarray], inverse: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Solve for the step by preconditioned conjugate gradients."""
        R, r = residual
        step, rise = np.zeros_like(R), np.zeros_like(r)
        across = np.linalg.inv(self.across)
        Z, z = inverse * R, across @ r
        A, a, size = Z, z, float(np.vdot(R, Z) + r @ z)
        enough, used = _ENOUGH_CG**2 * size, 0.0
        while used < _MOST_CG and size > enough:
            B, b, _ = product(A, a)
            used += 2.0
            bend = float(np.vdot(A, B) + a @ b)
            if not bend > 0.0:
                break
            length = size / bend
            step, rise = step + length * A, rise + length * a
            R, r = R - length * B, r - length * b
            Z, z = inverse * R, across @ r
            new = float(np.vdot(R, Z) + r @ z)
            A, a, size = Z + new / size * A, z + new / size * a, new
        return step, rise, used

    def _search(
        self,
        product: Any,
        step: tuple[np.ndarray, np.ndarray],
        smooth: np.ndarray,
        lacking: np.ndarray,
    ) -> float:
        """Go as far along the step as the model falls; return the passes."""
        S, s = step
        _, _, curved = product(S, s)
        moved = self.part.scores(S) + s
        bend = float(np.vdot(moved, curved)) + self.ridge * float(np.vdot(S, S))
        linear = float(np.vdot(smooth, S) + lacking @ s)
        before, size = float(self.bounds @ self._lengths(self.V)), 1.0
        for _ in range(_HALVINGS):
            after = float(self.bounds @ self._lengths(self.V + size * S))
            if size * linear + 0.5 * size * size * bend + after - before < 0.0:
                self.V, self.rise = self.V + size * S, self.rise + size * s
                self.curved += size * curved
                break
            size *= 0.5
        return 3.0

    def _lengths(self, V: np.ndarray) -> np.ndarray:
        return np.sqrt(np.bincount(self.groups, np.einsum("jk,jk->j", V, V), len(self.bounds)))


@compiled
def _steepness(starts, indices, values, places, p, costs):  # type: ignore[no-untyped-def]
    """Return at least the largest eigenvalue of sum_i x_ij^2 M_i, and its diagonal (m x K)."""
    m, K = places.shape[0], p.shape[1]
    steep, diagonal, masses = np.zeros(m), np.zeros((m, K)), np.zeros(K)
    for a in range(m):
        masses[:] = 0.0
        for t in range(starts[places[a]], starts[places[a] + 1]):
            i = indices[t]
            part = costs[i] * values[t] * values[t]
            for k in range(K):
                masses[k] += part * p[i, k]
                diagonal[a, k] += part * p[i, k] * (1.0 - p[i, k])
        # Gershgorin's bound, and M_i is at most c_i diag p_i.
        steep[a] = min(2.0 * diagonal[a].max(), masses.max())
    return steep, diagonal


@compiled
def _descend(  # type: ignore[no-untyped-def]
    starts, indices, values, places, order, ends, p, costs, G, V, curved, bounds, steep, ridge
):
    """Take one group after another down; return how far the model fell at least."""
    K = p.shape[1]
    fall = 0.0
    for g in range(bounds.shape[0]):
        begin, size, bend = ends[g], ends[g + 1] - ends[g], steep[g]
        target, length = np.empty((size, K)), 0.0
        for b in range(size):
            a = order[begin + b]
            for k in range(K):
                target[b, k] = G[a, k] + ridge * V[a, k]
            for t in range(starts[places[a]], starts[places[a] + 1]):
                for k in range(K):
                    target[b, k] += values[t] * curved[indices[t], k]
            for k in range(K):
                target[b, k] = V[a, k] - target[b, k] / bend
                length += target[b, k] * target[b, k]
        length = np.sqrt(length)
        shrink = max(0.0, 1.0 - bounds[g] / (bend * length)) if length > 0.0 else 0.0
        moved = 0.0
        for b in range(size):
            a = order[begin + b]
            for k in range(K):
                step = shrink * target[b, k] - V[a, k]
                moved += step * step
                target[b, k] = step
                V[a, k] += step
            if moved > 0.0:
                for t in range(starts[places[a]], starts[places[a] + 1]):
                    i = indices[t]
                    mean = 0.0
                    for k in range(K):
                        mean += p[i, k] * target[b, k]
                    part = costs[i] * values[t]
                    for k in range(K):
                        curved[i, k] += part * p[i, k] * (target[b, k] - mean)
        fall += 0.5 * bend * moved
    return fall


@compiled
def _add_curved(p, costs, gains, rise, curved):  # type: ignore[no-untyped-def]
    """Add M_i (gains_i + rise) to what every row keeps."""
    n, K = p.shape
    for i in range(n):
        mean = 0.0
        for k in range(K):
            mean += p[i, k] * (gains[i, k] + rise[k])
        for k in range(K):
            curved[i, k] += costs[i] * p[i, k] * (gains[i, k] + rise[k] - mean)
