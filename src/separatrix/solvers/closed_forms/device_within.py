"""Rows on a device with the mean of their class taken away: Fisher's matrix, never stored.

    A_i = sqrt(s_i) (x_i - m_k(i)) / scale,      S_W = A'A  (in columns divided by `scale`)

The same columns and units as `problem.within`, which does this on the processor and for sparse
rows; here every product goes over the rows where they are, in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._device import torch_module
from separatrix.problem.centred import NO_SPREAD, WithinRows
from separatrix.problem.device_rows import DeviceRows
from separatrix.problem.signed import FloatArray

__all__ = ["DeviceWithinRows", "within_rows_on"]


@dataclass(frozen=True, eq=False)
class DeviceWithinRows(WithinRows):
    """A as above; `rows` are on the device as they were given."""

    @property
    def is_sparse(self) -> bool:
        """Dense rows only."""
        return False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and columns that vary."""
        return int(self.rows.shape[0]), len(self.kept)

    def _blocks(self) -> Iterator[tuple[int, int, Any]]:
        """Go over A in stretches, in float64."""
        rows: Any = self.rows
        kept = torch_module().as_tensor(self.kept, device=rows.device)
        codes = torch_module().as_tensor(self.codes, device=rows.device)
        units = rows.tensor(np.ldexp(self.spreads, self.exponents))
        means, roots = rows.tensor(self.means), rows.tensor(np.sqrt(self.weights))
        for start, stop, piece in rows.pieces():
            block = piece[:, kept].double() / units
            block -= means[codes[start:stop]]
            block *= roots[start:stop, None]
            yield start, stop, block

    def times(self, V: FloatArray) -> FloatArray:
        """Return A V for a matrix V."""
        rows: Any = self.rows
        right = rows.tensor(V)
        out = right.new_empty((self.shape[0], V.shape[1]))
        for start, stop, block in self._blocks():
            out[start:stop] = block @ right
        return np.asarray(out.cpu().numpy())

    def transposed_times(self, U: FloatArray) -> FloatArray:
        """Return A'U for a matrix U."""
        rows: Any = self.rows
        left = rows.tensor(U)
        out = left.new_zeros((self.shape[1], U.shape[1]))
        for start, stop, block in self._blocks():
            out += block.T @ left[start:stop]
        return np.asarray(out.cpu().numpy())

    def gram(self) -> FloatArray:
        """Return S_W = A'A."""
        rows: Any = self.rows
        total = rows.tensor(np.zeros((self.shape[1], self.shape[1])))
        for _, _, block in self._blocks():
            total += block.T @ block
        return np.asarray(total.cpu().numpy())

    def row_squares(self) -> FloatArray:
        """Return |x_i - m|^2 in the scaled units, without the weights."""
        rows: Any = self.rows
        out = rows.tensor(np.zeros(self.shape[0]))
        for start, stop, block in self._blocks():
            out[start:stop] = block.square_().sum(dim=1)
        return np.asarray(out.cpu().numpy() / self.weights)


def within_rows_on(
    rows: DeviceRows, codes: np.ndarray, weights: FloatArray, n_classes: int
) -> DeviceWithinRows:
    """Lay out A: means of classes and spreads of columns, in three passes over the rows."""
    torch = torch_module()
    n_copies, weights = float(weights.sum()), weights / weights.max()
    kept, largest = _varying(rows)
    exponents = np.frexp(largest[kept])[1].astype(np.int64)
    plain = DeviceWithinRows(
        rows, np.zeros((n_classes, len(kept))), np.zeros(len(kept)), codes, np.ones(len(codes)),
        exponents, np.ones(len(kept)), kept, rows.shape[1], n_copies,
    )  # fmt: skip
    masses = np.bincount(codes, weights, minlength=n_classes)
    share = rows.tensor(weights / masses[codes])
    there = torch.as_tensor(codes, device=rows.device)
    means = rows.tensor(np.zeros((n_classes, len(kept))))
    for start, stop, block in plain._blocks():
        means.index_add_(0, there[start:stop], block * share[start:stop, None])
    squares = rows.tensor(np.zeros(len(kept)))
    part = rows.tensor(weights / weights.sum())
    for start, stop, block in plain._blocks():
        block -= means[there[start:stop]]
        squares += part[start:stop] @ block.square_()
    class_means, within = means.cpu().numpy(), squares.cpu().numpy()
    mean = (masses / masses.sum()) @ class_means
    total = within + (masses / masses.sum()) @ (class_means - mean) ** 2
    spreads = np.sqrt(np.where(within > NO_SPREAD**2 * total, within, total))
    spreads[spreads == 0.0] = 1.0
    return DeviceWithinRows(
        rows, class_means / spreads, mean / spreads, codes, weights, exponents, spreads, kept,
        rows.shape[1], n_copies,
    )  # fmt: skip


def _varying(rows: DeviceRows) -> tuple[np.ndarray, FloatArray]:
    """Return the columns that vary, and the largest entry of each column."""
    torch = torch_module()
    first, same = None, None
    largest = rows.tensor(np.zeros(rows.shape[1]))
    for _, _, piece in rows.pieces():
        first = piece[:1].clone() if first is None else first
        now = (piece == first).all(dim=0)
        same = now if same is None else same & now
        largest = torch.maximum(largest, piece.abs().amax(dim=0).double())
    assert same is not None
    return np.flatnonzero(~same.cpu().numpy()), largest.cpu().numpy()
