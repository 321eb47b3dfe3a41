"""A symmetric positive system on a device, solved by Cholesky on a unit diagonal.

M x = right
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from separatrix._device import torch_module

__all__ = ["Factor", "factored", "solved"]

# Tried in turn where the matrix is not positive in floating point.
_ADDED = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6)
_SINGULAR = 1e-14


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
