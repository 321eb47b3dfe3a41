"""Kernel values of rows in float64, with bounds on their errors: for proofs, and nothing else.

Products err by the lengths of rows (Cauchy), as `kernel_scores` says; exp and tanh are trusted to
eight units in the last place.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.certificates.data_pass import LEAST, UNIT
from separatrix.problem.kernels import Kernel

__all__ = ["DEEP", "KernelRowsInProof", "Right", "gamma_bound"]

DEEP = 64  # float32 products are added up over so many columns at a time
_WIDTH = 512


class KernelRowsInProof:
    """The rows of X, ready for products; distances are taken from rows moved to their centre.

    Each x_j - c_j is rounded once, so the move costs a few units in the last place of distances.
    """

    def __init__(self, kernel: Kernel, X: Any) -> None:
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
        inner = gamma_bound(d + 6.0)
        squares = self.squares * (1.0 + gamma_bound(d + 2.0)) + (d + 2.0) * LEAST
        largest = float(squares[support].max(initial=0.0))
        if kernel.name == "rbf":
            exponent = kernel.gamma * (2.0 * inner + 24.0 * UNIT) * (squares + largest)
            with np.errstate(over="ignore"):
                share = np.minimum(np.expm1(exponent) * (1.0 + 8.0 * UNIT), 1.0) + 16.0 * UNIT
            return share + LEAST, np.ones(self.n)
        reach = np.sqrt(squares * largest) * (1.0 + 4.0 * UNIT) + math.sqrt(LEAST)
        if kernel.name == "linear":
            return inner * reach, reach * (1.0 + inner)
        size = kernel.gamma * reach + abs(kernel.coef0)
        wrong = kernel.gamma * inner * reach + 6.0 * UNIT * size
        if kernel.name == "sigmoid":
            return wrong + 8.0 * UNIT, np.ones(self.n)
        with np.errstate(over="ignore", invalid="ignore"):
            whole, degree = size + wrong, kernel.degree
            rounded = 2.0 * degree * UNIT * whole**degree
            moved = degree * wrong * whole ** max(degree - 1, 0)
            return (rounded + moved) * 1.01 + LEAST, whole**degree * 1.01

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


def gamma_bound(terms: float, unit: float = UNIT) -> float:
    """Return the relative error of a sum of so many terms (Higham, section 3.1)."""
    return 1.01 * terms * unit / (1.0 - terms * unit)
