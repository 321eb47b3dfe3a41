"""Rows on a device with centred and scaled columns, which are never stored.

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

from separatrix._device import product_precision, torch_module
from separatrix.problem.device_rows import DeviceRows
from separatrix.solvers.linear.scaled_rows import powers_of_two

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
