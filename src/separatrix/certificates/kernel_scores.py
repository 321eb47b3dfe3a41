"""Scores of a kernel model, g_i = sum_j s_j K(x_i, x_j), in float64 with their errors bounded.

Nothing here is shared with the solvers, kernel values least of all. Sums err by the plain bound of
`enclosed_sums`, whatever their order and on whatever device; Cauchy's inequality turns it into
lengths of rows. What is trusted: exp and tanh are right to eight units in the last place (those of
NumPy are tried before the first proof), and a kernel given as a function or a matrix is what it
returns.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix._device import torch_module
from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosed_functions import TRUSTED, TRUSTED_UNITS, require_functions
from separatrix.certificates.enclosed_sums import dot_error, dot_error_32
from separatrix.certificates.enclosure import LEAST, Enclosure, require_denormals
from separatrix.problem.kernels import Kernel

_DEEP = 64  # float32 products are added up over so many columns at a time
_HEIGHT, _WIDTH, _NARROW = 256, 512, 256
# The bias may yet move a little.
_ROOM, _ROOM_FOR_BIAS = 1.1, 1e-3
_WORTH_SCREENING = 1 << 22  # entries
_LARGEST_SHARE = 0.05
_LEAST_32, _MOST_32 = 1e-12, 1e12  # between these, nothing here leaves the range of float32
_TASKS = 16
_WIDTH_THERE, _ENTRIES_THERE = 4096, 1 << 25


class Right(NamedTuple):
    """Rows on the right of a product: their numbers, themselves turned, their squares."""

    rows: np.ndarray
    turned: Any
    squares: np.ndarray


class KernelRowsInProof:
    """The rows of X, ready for products; distances are taken from rows moved to their centre.

    Each x_j - c_j is rounded once, so the move costs a few units in the last place of distances.
    Sparse rows stay where they are, unless most of their entries are stored.
    """

    def __init__(self, kernel: Kernel, X: Any) -> None:
        require_denormals()
        require_functions()
        self.kernel, self.n, self.X, self.squares = kernel, X.shape[0], X, np.zeros(X.shape[0])
        self.is_given = kernel.name == "precomputed"
        if self.is_given and sp.issparse(X):
            self.X = X.toarray()
        if self.is_given or kernel.name == "callable":
            return
        with np.errstate(over="ignore", invalid="ignore"):
            if sp.issparse(X) and kernel.name == "rbf" and X.shape[0] * X.shape[1] <= 4 * X.nnz:
                X = X.toarray()
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
        if self.is_given:
            return np.asarray(self.X[np.ix_(left, right.rows)], dtype=np.float64)
        if self.kernel.name == "callable":
            return self.kernel.block(self.X[left], right.turned)
        products = self._products(self.X[left], right.turned)
        return np.asarray(_values(np, self.kernel, products, self.squares[left], right.squares))

    def _products(self, left: Any, turned: Any) -> np.ndarray:
        """Return products of rows; in float32 over a few columns at a time, to bound the error."""
        d = left.shape[1]
        if left.dtype == np.float64 or d <= _DEEP or sp.issparse(left):
            values = left @ turned
            return np.asarray(values.toarray() if sp.issparse(values) else values)
        values = left[:, :_DEEP] @ turned[:_DEEP]
        for begin in range(_DEEP, d, _DEEP):
            values += left[:, begin : begin + _DEEP] @ turned[begin : begin + _DEEP]
        return np.asarray(values)

    def right(self, rows: np.ndarray) -> Right:
        """Return rows laid out as the right-hand side of products."""
        if self.is_given:
            return Right(rows, None, self.squares)
        part = self.X[rows]
        if self.kernel.name == "callable":
            return Right(rows, part, self.squares)
        dense_enough = sp.issparse(part) and part.shape[1] <= 4096
        turned = np.ascontiguousarray(part.toarray().T) if dense_enough else part.T
        return Right(rows, turned, self.squares[rows])

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
        before = power
        for _ in range(kernel.degree):
            before, power = power, power * whole
        moved = before * off * float(kernel.degree)
        lost = dot_error(kernel.degree + 2.0, power.at_least(1.0).high)
        return (moved + lost).high, power.high

    def in_float32(self) -> KernelRowsInProof:
        """Return the same rows with float32 values, for rows that need no more."""
        other = copy.copy(self)
        other.X, other.squares = self.X.astype(np.float32), self.squares.astype(np.float32)
        return other


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


def _values(xp: Any, kernel: Kernel, products: Any, own: Any, other: Any) -> Any:
    """Return a kernel's values from products of rows and their squares, NumPy's or torch's."""
    values = products
    if kernel.name == "rbf":
        values *= 2.0
        values -= own[:, None]
        values -= other
        xp.clip(values, None, 0.0, out=values)
        values *= kernel.gamma
        xp.exp(values, out=values)
    elif kernel.name != "linear":
        values *= kernel.gamma
        values += kernel.coef0
        if kernel.name == "sigmoid":
            xp.tanh(values, out=values)
        else:
            base, values = values, xp.ones_like(values)
            for _ in range(kernel.degree):  # as the bound has it: a product a degree
                values *= base
    return values


@dataclass(frozen=True, eq=False)
class Scores:
    """One column of scores a machine, and by how much each may be wrong.

    Rows that are `clear` have margins above 1 for certain, errors (of float32) included.
    """

    values: np.ndarray
    errors: np.ndarray
    clear: np.ndarray

    def enclosed(self, wide: float = 1.0) -> Enclosure:
        """Return enclosures of the scores, `wide` times as wide as need be.

        Another check computes clear rows in float64: their claim need not be wider.
        """
        wider = np.where(self.clear[:, None], 1.0, wide)
        with np.errstate(all="ignore"):
            return Enclosure.around(self.values, self.errors * wider)

    def of(self, machine: int) -> Scores:
        """Return the scores of one machine."""
        one = slice(machine, machine + 1)
        return Scores(self.values[:, one], self.errors[:, one], self.clear)


@dataclass(frozen=True, eq=False)
class Expected:
    """Where margins are expected: signs (0: not in the machine) and biases, a column a machine."""

    signs: np.ndarray
    biases: np.ndarray

    def are_clear(self, values: np.ndarray, errors: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return which rows have margins above 1 by so much that their errors do not matter."""
        signs = self.signs[rows]
        margins = signs * (values + self.biases)
        clear = margins - _ROOM * errors > 1.0 + _ROOM_FOR_BIAS * (1.0 + abs(self.biases))
        return np.asarray((clear | (signs == 0.0)).all(axis=1))


def kernel_scores(
    rows: KernelRowsInProof, shares: np.ndarray, workers: int = 1, expected: Expected | None = None
) -> Scores:
    """Return the scores of every row for every column of `shares`, one a machine.

    Rows without a share matter only if their margin is below 1. Where `expected` says how margins
    come about, such rows are computed in float32 first, and in float64 only where that, with its
    error bounded, leaves it open.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        sums = _Sums(rows, shares, workers)
        support, parts, scores = sums.support, sums.parts, sums.scores
        sums.add_between()
        others = np.setdiff1d(np.arange(rows.n), support)
        worth_it = 0 < len(support) * len(others) >= _WORTH_SCREENING
        if expected is not None and rows.kernel.name == "rbf" and worth_it:
            others = sums.screened(others, expected)
        sums.add_beyond(others)
        wrong, size = rows.bounds(support)
        if rows.kernel.name == "callable":
            wrong, size = TRUSTED * sums.sizes, sums.sizes
        terms = min(_WIDTH, len(support)) + min(_TASKS, len(parts)) + len(parts) + 4.0
        errors = score_errors(wrong, size, terms, shares)
        exact = np.concatenate([support, others])
        scores.clear[:] = True
        scores.clear[exact] = False
        scores.errors[exact] = errors[exact]
    return scores


def score_errors(
    wrong: np.ndarray, size: np.ndarray, terms: float, shares: np.ndarray
) -> np.ndarray:
    """Bound the errors of sums of kernel values of such errors and sizes, n x machines."""
    each = Enclosure.exact(wrong) + dot_error(terms, (Enclosure.exact(size) + wrong).high)
    sums = [Enclosure.exact(abs(column)).sum().high for column in shares.T]
    # What products of tiny shares lose is no share of them.
    vanished = dot_error(float(len(shares)), 0.0)
    return np.asarray((each[:, None] * np.array(sums) + vanished).high)


def _tiles(rows: np.ndarray, width: int) -> list[np.ndarray]:
    return [rows[begin : begin + width] for begin in range(0, len(rows), width)]


class _Sums:
    """Scores added up tile by tile; `sizes` are the largest values of a kernel function."""

    def __init__(self, rows: KernelRowsInProof, shares: np.ndarray, workers: int) -> None:
        self.rows, self.shares, self.workers = rows, shares, workers
        self.support = np.flatnonzero(shares.any(axis=1))
        self.parts = _tiles(self.support, _WIDTH)
        self.rights = [rows.right(part) for part in self.parts]
        n = len(shares)
        self.sizes, self.is_function = np.zeros(n), rows.kernel.name == "callable"
        self.scores = Scores(np.zeros(shares.shape), np.zeros(shares.shape), np.zeros(n, bool))

    def each(self, work: Callable[[Any], Any], items: Any) -> list[Any]:
        if self.workers == 1:
            return [work(item) for item in items]
        with ThreadPoolExecutor(self.workers) as pool:
            return list(pool.map(work, items))

    def add_between(self) -> None:
        """Add up values between support rows, each block for both its sides.

        A function may not be symmetric: K(x, x_j) is what scores of x are made of.
        """
        shares, parts, support = self.shares, self.parts, self.support

        def work(task: int) -> tuple[np.ndarray, np.ndarray]:
            total, most = np.zeros((len(support), shares.shape[1])), np.zeros(len(support))
            for i in range(task, len(parts), _TASKS):
                at = slice(i * _WIDTH, i * _WIDTH + len(parts[i]))
                for j in range(i + 1):
                    beside = slice(j * _WIDTH, j * _WIDTH + len(parts[j]))
                    block = self.rows.values(parts[i], self.rights[j])
                    total[at] += block @ shares[parts[j]]
                    mirror = block.T
                    if self.is_function:
                        mirror = self.rows.values(parts[j], self.rights[i])
                        most[at] = np.maximum(most[at], abs(block).max(axis=1))
                        most[beside] = np.maximum(most[beside], abs(mirror).max(axis=1))
                    if j < i:
                        total[beside] += mirror @ shares[parts[i]]
            return total, most

        for total, most in self.each(work, range(min(_TASKS, len(parts)))):
            self.scores.values[support] += total
            self.sizes[support] = np.maximum(self.sizes[support], most)

    def add_beyond(self, others: np.ndarray) -> None:
        """Add up values of rows that carry nothing with those that do."""

        def work(left: np.ndarray) -> None:
            total = np.zeros((len(left), self.shares.shape[1]))
            for part, right in zip(self.parts, self.rights, strict=True):
                block = self.rows.values(left, right)
                total += block @ self.shares[part]
                if self.is_function:
                    self.sizes[left] = np.maximum(self.sizes[left], abs(block).max(axis=1))
            self.scores.values[left] = total

        self.each(work, _tiles(others, _HEIGHT))

    def screened(self, others: np.ndarray, expected: Expected) -> np.ndarray:
        """Settle in float32 the rows whose margins are clear; return the others."""
        rows, weight = self.rows, abs(self.shares)
        filter_ = _Filter(rows, float(weight.max()), float(len(self.support)))
        if not filter_.is_worth_it:
            return others
        small = rows.in_float32()
        columns = np.hstack([self.shares, weight, weight * rows.squares[:, None]])
        columns = columns.astype(np.float32)
        parts = _tiles(self.support, _NARROW)
        rights = [small.right(part) for part in parts]

        def work(left: np.ndarray) -> np.ndarray:
            sums = np.zeros((len(left), columns.shape[1]))
            for part, right in zip(parts, rights, strict=True):
                sums += small.values(left, right) @ columns[part]
            return sums

        found = np.vstack(self.each(work, _tiles(others, _HEIGHT)))
        values, plain, weighted = np.hsplit(found, 3)
        errors = filter_.errors(plain, weighted, rows.squares[others][:, None])
        self.scores.values[others], self.scores.errors[others] = values, errors
        return others[~expected.are_clear(values, errors, others)]


class _Filter:
    """Errors of scores whose kernel values, exp(-gamma |x_i - x_j|^2), are computed in float32.

    The exponent is off by E_ij = c (|x_i|^2 + |x_j|^2): twice the product of two rows, which were
    rounded, their squares, and six more roundings of what is at most twice as large. So a value is
    off by (E + E^2) of itself, E being at most 1, and by what exp is trusted to.
    """

    def __init__(self, rows: KernelRowsInProof, most: float, count: float) -> None:
        terms = d = float(rows.X.shape[1])
        if sp.issparse(rows.X):
            terms = float(np.diff(rows.X.indptr).max(initial=0))
        elif d > _DEEP:
            terms = _DEEP + d / _DEEP + 1.0
        self.share = Enclosure.exact(rows.kernel.gamma) * dot_error_32(2.0 * terms + 38.0, 1.0)
        reach = float(rows.squares.max(initial=0.0))
        self.largest = self.share * reach * 2.0
        in_range = _LEAST_32 < reach < _MOST_32 and _LEAST_32 < most < _MOST_32
        self.is_worth_it = bool(in_range and self.largest.high <= _LARGEST_SHARE)
        # Values, shares and exponents below the least float32.
        vanished = dot_error_32(terms, 0.0) * (1.0 + rows.kernel.gamma)
        self.vanished = Enclosure.exact(vanished) * (1.0 + most) * count

    def errors(self, plain: np.ndarray, weighted: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """Bound them from the sums of absolute terms, and of these times |x_j|^2."""
        # Terms are rounded to float32, and summed over a block there.
        plain, weighted = (v + dot_error_32(_NARROW + 6.0, v) for v in (plain, weighted))
        exponents = self.share * (Enclosure.exact(plain) * squares + weighted)
        rest = dot_error_32(_NARROW + 6.0 + TRUSTED_UNITS, plain)
        return (exponents * (1.0 + self.largest) + rest + self.vanished).high


def device_scores(rows: KernelRowsInProof, shares: np.ndarray, device: Any) -> Scores:
    """Return the same scores as `kernel_scores`, summed on a device, whose exp and tanh it trusts.

    The bounds hold whatever the order of sums: products and sums only have to follow IEEE 754.
    """
    torch = torch_module()

    def there(array: Any) -> Any:
        return torch.as_tensor(array, dtype=torch.float64, device=device)

    support, values = np.flatnonzero(shares.any(axis=1)), np.zeros(shares.shape)
    parts = _tiles(support, _WIDTH_THERE)
    X, squares, turned = there(rows.X), there(rows.squares), []
    for part in parts:
        places = torch.as_tensor(part, device=device)
        turned.append((X[places].T, squares[places], there(shares[part])))
    step = max(1, _ENTRIES_THERE // min(_WIDTH_THERE, max(1, len(support))))
    for begin in range(0, len(shares), step):
        left, own = X[begin : begin + step], squares[begin : begin + step]
        total = there(np.zeros((len(left), shares.shape[1])))
        for right, other, share in turned:
            total += _values(torch, rows.kernel, left @ right, own, other) @ share
        values[begin : begin + step] = total.cpu().numpy()
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        terms = min(_WIDTH_THERE, len(support)) + len(parts) + 5.0
        errors = score_errors(*rows.bounds(support), terms, shares)
    return Scores(values, errors, np.zeros(len(shares), dtype=bool))
