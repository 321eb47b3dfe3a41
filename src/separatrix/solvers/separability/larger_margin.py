"""A larger margin for rows that are separable, where it is cheap.

    minimise over w, b   1/2 |w|^2 + C/2 sum_i max(0, 1 - z_i.(b, w))^2      for growing C

whose solutions approach the largest margin as C grows, by Newton's method with halved steps; b goes
unpenalised but for a trace. Floats only: the margin of what comes out is proved elsewhere.
"""

from __future__ import annotations

import numpy as np

from separatrix.problem.exact import SignedRows

__all__ = ["MOST_ENTRIES", "larger_margin"]

MOST_ENTRIES = 100_000
STRENGTHS = (1e0, 1e2, 1e4, 1e6, 1e8, 1e10)
ITERATIONS = 12


def larger_margin(rows: SignedRows, w: np.ndarray) -> np.ndarray:
    """Return w or weights of a larger geometric margin, both over [intercept, features]."""
    with np.errstate(all="ignore"):
        matrix = rows.dense()
        first = int(rows.fit_intercept)
        unit = float(np.median(np.linalg.norm(matrix[:, first:], axis=1)))
        if not np.isfinite(unit) or unit == 0.0:
            return w
        best, best_margin = w, _margin(matrix, w, first)
        matrix[:, first:] /= unit
        penalty = np.ones(matrix.shape[1])
        penalty[:first] = 1e-9
        v = np.zeros(matrix.shape[1])
        for strength in STRENGTHS:
            v = _newton(matrix, v, penalty, strength)
            margin = _margin(matrix, v, first) * unit
            if margin > best_margin:
                best, best_margin = np.concatenate([v[:first], v[first:] / unit]), margin
    return best


def _margin(matrix: np.ndarray, w: np.ndarray, first: int) -> float:
    length = float(np.linalg.norm(w[first:]))
    return float((matrix @ w).min()) / length if length > 0.0 else -np.inf


def _newton(matrix: np.ndarray, v: np.ndarray, penalty: np.ndarray, strength: float) -> np.ndarray:
    for _ in range(ITERATIONS):
        slack = 1.0 - matrix @ v
        active = matrix[slack > 0.0]
        gradient = penalty * v - strength * (active.T @ slack[slack > 0.0])
        hessian = strength * (active.T @ active) + np.diag(penalty)
        try:
            step = np.linalg.solve(hessian, -gradient)
        except np.linalg.LinAlgError:
            return v
        if not np.isfinite(step).all():
            return v
        size = _step(matrix, v, step, penalty, strength)
        v = v + size * step
        if np.abs(size * step).max() <= 1e-10 * np.abs(v).max():
            break
    return v


def _step(
    matrix: np.ndarray, v: np.ndarray, step: np.ndarray, penalty: np.ndarray, strength: float
) -> float:
    """Halve the step until the objective falls."""
    margins, gain = matrix @ v, matrix @ step

    def value(t: float) -> float:
        slack = np.maximum(0.0, 1.0 - margins - t * gain)
        moved = v + t * step
        return float(0.5 * (penalty * moved) @ moved + 0.5 * strength * slack @ slack)

    start, t = value(0.0), 1.0
    while value(t) > start and t > 1e-6:
        t *= 0.5
    return t
