"""Least squares by the normal equations of rows on a device, in float64, refined.

    min over W, b    sum_i s_i |W x_i + b - t_i|^2  +  ridge |W|^2

Tall rows whose columns are well conditioned: the d x d matrix of centred columns of unit length is
made there, factored here (it is small), and the solution is refined twice by residuals of the rows,
as `solvers.least_squares` does. Anything else is that solver's: None says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.linalg as sl
from scipy.linalg import lapack

from separatrix._device import torch_module
from separatrix.problem.device_rows import DeviceRows
from separatrix.problem.signed import FloatArray
from separatrix.solvers.closed_forms.least_squares import REFINEMENTS, WELL_CONDITIONED, Solution

__all__ = ["least_squares_on"]


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
    size = float(np.abs(gram).sum(axis=0).max())
    factor, failed = lapack.dpotrf(gram, lower=1)
    if failed or not lapack.dpocon(factor, size, uplo="L")[0] > WELL_CONDITIONED:
        return None
    return np.asarray(factor)


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
