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
from typing import Any

import numpy as np

from separatrix._device import torch_module
from separatrix._device_precision import product_precision
from separatrix.problem.device_rows import DeviceRows

__all__ = ["DOUBLE", "ROUGH", "SINGLE", "Scaled", "scaled_on"]

ROUGH, SINGLE, DOUBLE = "rough", "single", "double"

# Rows without weight are left out of a product where at least this share of them have none.
_WORTH_LEAVING_OUT = 0.1


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
        """Return V v; v has a column a machine."""
        shrunk = v / self.scale[:, None]
        out = v.new_empty((self.rows.shape[0], v.shape[1]))
        for start, stop, block in self.blocks():
            out[start:stop] = block @ shrunk
        return out

    def sums(self, shares: Any) -> Any:
        """Return V^T shares; shares have a column a machine."""
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
        """Return the diagonal of V^T diag(weights) V, a column a machine."""
        out = weights.new_zeros((self.width, weights.shape[1]))
        for start, stop, block in self.blocks():
            out += block.square_().T @ weights[start:stop]
        return out / self.scale[:, None] ** 2

    def plain(self, v: Any, bias: Any) -> tuple[Any, Any]:
        """Return (w, b) for the columns as given; v has a column a machine."""
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
    return mean, rows.tensor(_powers_of_two((squares / max(1, n)).sqrt().cpu().numpy()))


def _powers_of_two(spread: np.ndarray) -> np.ndarray:
    """Round to powers of two, so that scaling rounds nothing; empty columns get 1."""
    usable = (spread > 0.0) & np.isfinite(spread)
    exponents = np.frexp(np.where(usable, spread, 0.5))[1]
    return np.ldexp(1.0, np.clip(exponents, -400, 400))
