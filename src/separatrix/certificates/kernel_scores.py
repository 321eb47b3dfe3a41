"""Scores of a kernel machine, g_i = sum_j s_j K(x_j, x_i), in float64 with their errors bounded.

Nothing here is shared with the solvers, kernel values least of all. A sum of k products errs by at
most k u / (1 - k u) times the sum of the absolute products, whatever the order (Higham, section
3.1); Cauchy's inequality turns that into lengths of rows. What is trusted: exp and tanh are right
to eight units in the last place, and a kernel given as a function or a matrix is what it returns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.certificates.data_pass import LEAST, UNIT
from separatrix.problem.kernels import Kernel

__all__ = ["KernelRowsInProof", "Scores", "kernel_scores"]

_HEIGHT, _WIDTH = 256, 512
_TRUSTED = 8.0 * UNIT
_TASKS = 16


@dataclass(frozen=True, eq=False)
class Scores:
    """One column of scores a machine, and by how much each may be wrong."""

    values: np.ndarray
    errors: np.ndarray


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
        values = self.X[left] @ right.turned
        if sp.issparse(values):
            values = values.toarray()
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

    def right(self, rows: np.ndarray) -> Right:
        """Return rows laid out as the right-hand side of products."""
        if self.is_given:
            return Right(rows, None, np.zeros(0))
        if self.kernel.name == "callable":
            return Right(rows, self.X[rows], np.zeros(0))
        part = self.X[rows]
        dense_enough = sp.issparse(part) and part.shape[1] <= 4096
        turned = part.toarray().T if dense_enough else part.T
        return Right(rows, np.ascontiguousarray(turned) if dense_enough else turned, self.squares[rows])

    def bounds(self, support: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return, for every row, bounds on the error and the size of its values with `support`."""
        kernel, d = self.kernel, float(self.X.shape[1])
        if self.is_given:
            return _given_bounds(self.X, support)
        if kernel.name == "callable":
            return np.full(self.n, np.nan), np.full(self.n, np.nan)
        inner = _gamma(d + 2.0)
        squares = self.squares * (1.0 + inner) + (d + 2.0) * LEAST
        largest = float(squares[support].max(initial=0.0))
        if kernel.name == "rbf":
            exponent = kernel.gamma * (2.0 * inner + 16.0 * UNIT) * (squares + largest)
            with np.errstate(over="ignore"):
                error = np.expm1(exponent) * (1.0 + _TRUSTED) + 2.0 * _TRUSTED
            return error + LEAST, np.ones(self.n) + error
        reach = np.sqrt(squares * largest) * (1.0 + 4.0 * UNIT) + math.sqrt(LEAST)
        if kernel.name == "linear":
            return inner * reach, reach * (1.0 + inner)
        size = kernel.gamma * reach + abs(kernel.coef0)
        wrong = kernel.gamma * inner * reach + 4.0 * UNIT * size
        if kernel.name == "sigmoid":
            return wrong + _TRUSTED, np.ones(self.n) + wrong
        with np.errstate(over="ignore", invalid="ignore"):
            whole, degree = size + wrong, kernel.degree
            rounded = 2.0 * degree * UNIT * whole**degree
            moved = degree * wrong * whole ** max(degree - 1, 0)
            return (rounded + moved) * 1.01 + LEAST, whole**degree * 1.01


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


def kernel_scores(rows: KernelRowsInProof, shares: np.ndarray, workers: int = 1) -> Scores:
    """Return the scores of every row for every column of `shares`, one a machine."""
    n, machines = shares.shape
    support = np.flatnonzero(shares.any(axis=1))
    others = np.setdiff1d(np.arange(n), support)
    values, largest = np.zeros((n, machines)), np.zeros(n)
    parts = [support[k : k + _WIDTH] for k in range(0, len(support), _WIDTH)]
    rights = [rows.right(part) for part in parts]
    is_function = rows.kernel.name == "callable"

    def between(task: int) -> tuple[np.ndarray, np.ndarray]:
        """Add up values between support rows, each block for both its sides."""
        total, most = np.zeros((len(support), machines)), np.zeros(len(support))
        for i in range(task, len(parts), _TASKS):
            at = slice(i * _WIDTH, i * _WIDTH + len(parts[i]))
            for j in range(i + 1):
                beside = slice(j * _WIDTH, j * _WIDTH + len(parts[j]))
                block = rows.values(parts[i], rights[j])
                total[at] += block @ shares[parts[j]]
                if j < i:
                    total[beside] += block.T @ shares[parts[i]]
                if is_function:
                    size = abs(block)
                    most[at] = np.maximum(most[at], size.max(axis=1))
                    most[beside] = np.maximum(most[beside], size.max(axis=0))
        return total, most

    def beyond(begin: int) -> None:
        """Add up values of rows that carry nothing with those that do."""
        left = others[begin : begin + _HEIGHT]
        total = np.zeros((len(left), machines))
        for part, right in zip(parts, rights, strict=True):
            block = rows.values(left, right)
            total += block @ shares[part]
            if is_function:
                largest[left] = np.maximum(largest[left], abs(block).max(axis=1))
        values[left] = total

    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for total, most in _each(between, range(min(_TASKS, len(parts))), workers):
            values[support] += total
            largest[support] = np.maximum(largest[support], most)
        _each(beyond, range(0, len(others), _HEIGHT), workers)
        errors = _score_errors(rows, shares, support, largest)
    return Scores(values, errors)


def _score_errors(
    rows: KernelRowsInProof, shares: np.ndarray, support: np.ndarray, largest: np.ndarray
) -> np.ndarray:
    wrong, size = rows.bounds(support)
    if rows.kernel.name == "callable":
        wrong, size = _TRUSTED * largest, largest
    total = abs(shares).sum(axis=0) * (1.0 + _gamma(len(shares) + 2.0))
    terms = _WIDTH + _TASKS + len(support) / _WIDTH + 4.0
    return np.outer(wrong + _gamma(terms) * (size + wrong), total) * 1.01 + LEAST


def _each(work: Callable[[int], Any], items: Any, workers: int) -> list[Any]:
    if workers == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))


def _gamma(terms: float) -> float:
    return 1.01 * terms * UNIT / (1.0 - terms * UNIT)
