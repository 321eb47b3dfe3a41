"""Kernel values of rows in float64, with bounds on their errors: for proofs, and nothing else.

Products err by the lengths of rows (Cauchy), as `kernel_scores` says. NumPy's exp and tanh are
trusted to eight units in the last place (`enclosed_functions`).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosed_functions import TRUSTED, require_functions
from separatrix.certificates.enclosed_sums import dot_error
from separatrix.certificates.enclosure import LEAST, Enclosure
from separatrix.problem.kernels import Kernel

__all__ = ["DEEP", "KernelRowsInProof", "Right"]

DEEP = 64  # float32 products are added up over so many columns at a time
_WIDTH = 512


class KernelRowsInProof:
    """The rows of X, ready for products; distances are taken from rows moved to their centre.

    Each x_j - c_j is rounded once, so the move costs a few units in the last place of distances.
    """

    def __init__(self, kernel: Kernel, X: Any) -> None:
        require_functions()
        self.kernel, self.n = kernel, X.shape[0]
        self.is_given = kernel.name == "precomputed"
        self.X = X
        with np.errstate(over="ignore", invalid="ignore"):
            if kernel.name == "callable" or self.is_given:
                self.squares = np.zeros(self.n)
                return
            if sp.issparse(X):
                self.X = sp.csr_array(X, dtype=np.float64)
                self.squares = np.asarray(self.X.power(2).sum(axis=1)).ravel()
                return
            self.X = np.asarray(X, dtype=np.float64)
            if kernel.name == "rbf":
                self.X = self.X - self.X.mean(axis=0)
            self.squares = np.einsum("ij,ij->i", self.X, self.X)

    def values(self, left: np.ndarray, right: Right) -> np.ndarray:
        """Return the kernel's values of rows `left` with the rows of `right`."""
        kernel = self.kernel
        if self.is_given:
            return np.asarray(self.X[np.ix_(left, right.rows)], dtype=np.float64)
        if kernel.name == "callable":
            return kernel.block(self.X[left], right.turned)
        values = self._products(self.X[left], right.turned)
        if kernel.name == "rbf":
            values *= 2.0
            values -= self.squares[left][:, None]
            values -= right.squares[None, :]
            np.minimum(values, 0.0, out=values)
            values *= kernel.gamma
            np.exp(values, out=values)
        elif kernel.name != "linear":
            values *= kernel.gamma
            values += kernel.coef0
            if kernel.name == "sigmoid":
                np.tanh(values, out=values)
            else:
                base = values.copy()
                values[:] = 1.0
                for _ in range(kernel.degree):
                    values *= base
        return np.asarray(values)

    def _products(self, left: Any, turned: Any) -> np.ndarray:
        """Return products of rows; in float32 over a few columns at a time, to bound the error."""
        d = left.shape[1]
        if left.dtype == np.float64 or d <= DEEP or sp.issparse(left):
            values = left @ turned
            return np.asarray(values.toarray() if sp.issparse(values) else values)
        values = left[:, :DEEP] @ turned[:DEEP]
        for begin in range(DEEP, d, DEEP):
            values += left[:, begin : begin + DEEP] @ turned[begin : begin + DEEP]
        return np.asarray(values)

    def right(self, rows: np.ndarray) -> Right:
        """Return rows laid out as the right-hand side of products."""
        if self.is_given:
            return Right(rows, None, np.zeros(0))
        if self.kernel.name == "callable":
            return Right(rows, self.X[rows], np.zeros(0))
        part = self.X[rows]
        dense_enough = sp.issparse(part) and part.shape[1] <= 4096
        turned = part.toarray().T if dense_enough else part.T
        return Right(
            rows, np.ascontiguousarray(turned) if dense_enough else turned, self.squares[rows]
        )

    def bounds(self, support: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return, for every row, bounds on the error and the size of its values with `support`."""
        kernel, d = self.kernel, float(self.X.shape[1])
        if self.is_given:
            return _given_bounds(self.X, support)
        found = Enclosure.around(self.squares, dot_error(d, self.squares))
        squares = Enclosure.exact(np.maximum(found.high, 0.0))
        largest = float(squares.high[support].max(initial=0.0))
        if kernel.name == "rbf":
            # Two products of rows, their squares, four roundings, and rows moved to their centre
            # (four units of the squares): 2 d + 16 units of both squares together.
            off = Enclosure.exact(dot_error(2.0 * d + 32.0, (squares + largest).high))
            off = off * kernel.gamma
            # e^E - 1 <= E + E^2 up to E = 1, and values lie within [0, 1].
            share = (off + off.square()).at_most(1.0) + TRUSTED + LEAST
            return share.high, np.ones(self.n)
        reach = (squares * largest).root().high
        if kernel.name == "linear":
            wrong = dot_error(d, reach)
            return wrong, (Enclosure.exact(reach) + wrong).high
        size = Enclosure.exact(reach) * kernel.gamma + abs(kernel.coef0)
        off = Enclosure.exact(dot_error(d, reach)) * kernel.gamma + dot_error(8.0, size.high)
        if kernel.name == "sigmoid":
            return (off + TRUSTED).high, np.ones(self.n)
        # A power moves by at most m E (|z| + E)^(m - 1), and is rounded m times; what a product
        # loses below the least normal number may grow with the rest.
        whole, power = size + off, Enclosure.exact(np.ones(self.n))
        for _ in range(kernel.degree - 1):
            power = power * whole
        moved, power = power * off * float(kernel.degree), power * whole
        lost = dot_error(kernel.degree + 2.0, power.at_least(1.0).high)
        return (moved + lost).high, power.high

    def in_float32(self) -> KernelRowsInProof:
        """Return the same rows with float32 values, for rows that need no more."""
        other = copy.copy(self)
        other.X, other.squares = self.X.astype(np.float32), self.squares.astype(np.float32)
        kernel = self.kernel
        gamma, coef0 = np.float32(kernel.gamma), np.float32(kernel.coef0)
        other.kernel = Kernel(kernel.name, gamma, kernel.degree, coef0)  # type: ignore[arg-type]
        return other


@dataclass(frozen=True, eq=False)
class Right:
    """Rows on the right of a product: their numbers, themselves turned, their squares."""

    rows: np.ndarray
    turned: Any
    squares: np.ndarray


def _given_bounds(X: np.ndarray, support: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Take K as (K + K^T) / 2: half of what its two halves differ by is an error."""
    n = X.shape[0]
    error, size = np.zeros(n), np.zeros(n)
    for begin in range(0, n, _WIDTH):
        part = slice(begin, begin + _WIDTH)
        block = np.asarray(X[part][:, support], dtype=np.float64)
        mirror = np.asarray(X[support][:, part], dtype=np.float64).T
        error[part] = abs(block - mirror).max(axis=1, initial=0.0)
        size[part] = abs(block).max(axis=1, initial=0.0)
    return error, size
