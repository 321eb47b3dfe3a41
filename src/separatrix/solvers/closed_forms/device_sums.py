"""Least squares by the normal equations of rows on a device, in float64, refined.

    min over W, b    sum_i s_i |W x_i + b - t_i|^2  +  ridge |W|^2

Tall rows whose columns are well conditioned: the d x d matrix of centred columns of unit length is
made there, factored here (it is small), and the solution is refined twice by residuals of the rows,
as `least_squares` does. Anything else is that solver's: None says so.

`DeviceWithinRows` takes the mean of its class away from every row: Fisher's matrix, never stored,
in the columns and units of `problem.within`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl

from separatrix._device import torch_module
from separatrix.problem.centred import NO_SPREAD, WithinRows
from separatrix.problem.device_rows import DeviceRows
from separatrix.problem.signed import FloatArray
from separatrix.solvers.closed_forms.least_squares import REFINEMENTS, Solution
from separatrix.solvers.linear.gram import well_factored

__all__ = ["least_squares_on", "within_rows_on"]


def least_squares_on(
    rows: DeviceRows, T: FloatArray, weights: FloatArray, ridge: float, fit_intercept: bool
) -> Solution | None:
    """Solve for all outputs at once, or return None where another method is called for."""
    n, d = rows.shape
    if n < d or d == 0:
        return None
    largest = float(weights.max())
    shares = rows.tensor(weights / largest)
    whole = _Columns(rows, shares, fit_intercept)
    offset = (whole.mass_shares @ rows.tensor(T)) if fit_intercept else rows.tensor(T[0]) * 0.0
    B = rows.tensor(T) - offset
    penalty = ridge / largest
    norms = (whole.spread + penalty).sqrt()
    if not bool(((norms > 0.0) | whole.constant).all() and norms.isfinite().all()):
        return None  # a column so small or so large that its square leaves the range
    norms[whole.constant] = 1.0
    gram, cross = whole.normal_equations(B, norms)
    factor = _factored(gram.cpu().numpy(), (penalty / norms**2).cpu().numpy(), whole.left_out)
    if factor is None:
        return None
    V = sl.cho_solve((factor, True), cross.cpu().numpy(), check_finite=False)
    shrunk = (penalty / norms**2).cpu().numpy()[:, None]
    for _ in range(REFINEMENTS):
        gradient = whole.transposed_residual(B, rows.tensor(V), norms).cpu().numpy() - shrunk * V
        gradient[whole.left_out] = 0.0
        V = V + sl.cho_solve((factor, True), gradient, check_finite=False)
    W = V / norms.cpu().numpy()[:, None]
    W[whole.left_out] = 0.0
    b = offset.cpu().numpy() - whole.mean.cpu().numpy() @ W
    return Solution(
        np.ascontiguousarray(W.T),
        np.asarray(b if fit_intercept else np.zeros(T.shape[1])),
        f"Cholesky on {rows.device}, refined",
        None if ridge else d - int(whole.left_out.sum()),
        d,
        REFINEMENTS,
        3.0 + REFINEMENTS,
    )


def _factored(gram: FloatArray, penalty: FloatArray, left_out: np.ndarray) -> FloatArray | None:
    """Return the factor of the matrix, or None where too few digits would be left to refine."""
    gram = gram + np.diag(penalty)
    gram[left_out], gram[:, left_out] = 0.0, 0.0
    gram[left_out, left_out] = 1.0
    return well_factored(gram)


class _Columns:
    """What one pass and a second tell of the columns: means, spreads, and which do not vary."""

    def __init__(self, rows: DeviceRows, shares: Any, centre: bool) -> None:
        torch = torch_module()
        self.rows, self.shares = rows, shares
        self.mass_shares = shares / shares.sum()
        d = rows.shape[1]
        self.mean = torch.zeros(d, dtype=torch.float64, device=rows.device)
        first: Any = None
        same: Any = None
        for start, stop, piece in rows.pieces():
            first = piece[:1].clone() if first is None else first
            now = (piece == first).all(dim=0)
            same = now if same is None else same & now
            if centre:
                self.mean += self.mass_shares[start:stop] @ piece.double()
        if centre:  # the first mean is rounded; what is left of it is small
            rest = torch.zeros_like(self.mean)
            for start, stop, block in self._blocks():
                rest += self.mass_shares[start:stop] @ block
            self.mean += rest
        self.constant = same if centre else same & (first[0] == 0.0)
        self.left_out = self.constant.cpu().numpy()
        self.spread = torch.zeros_like(self.mean)
        for start, stop, block in self._blocks():
            self.spread += shares[start:stop] @ block.square_()

    def _blocks(self) -> Iterator[tuple[int, int, Any]]:
        for start, stop, piece in self.rows.pieces():
            yield start, stop, piece - self.mean

    def normal_equations(self, B: Any, norms: Any) -> tuple[Any, Any]:
        """Return A'A and A'B for columns of unit length."""
        d = self.rows.shape[1]
        gram, cross = norms.new_zeros((d, d)), norms.new_zeros((d, B.shape[1]))
        for start, stop, block in self._blocks():
            block /= norms
            weighed = block * self.shares[start:stop, None]
            gram += block.T @ weighed
            cross += weighed.T @ B[start:stop]
        cross[self.constant] = 0.0
        return gram, cross

    def transposed_residual(self, B: Any, V: Any, norms: Any) -> Any:
        """Return A'(B - A V), computed from the rows."""
        total = norms.new_zeros(V.shape)
        for start, stop, block in self._blocks():
            block /= norms
            missing = (B[start:stop] - block @ V) * self.shares[start:stop, None]
            total += block.T @ missing
        return total


# ---- rows on a device with the mean of their class taken away: Fisher's matrix, never stored


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
