"""Scores of a kernel machine, g_i = sum_j s_j K(x_j, x_i), in float64 with their errors bounded.

Nothing here is shared with the solvers, kernel values least of all. Sums err by the plain bound of
`enclosed_sums`; Cauchy's inequality turns it into lengths of rows. What is trusted: exp and tanh
are right to eight units in the last place (tried before the first proof), and a kernel given as a
function or a matrix is what it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosed_functions import TRUSTED, TRUSTED_UNITS
from separatrix.certificates.enclosed_sums import dot_error, dot_error_32
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.kernel_values import DEEP, KernelRowsInProof, Right

__all__ = ["Expected", "KernelRowsInProof", "Scores", "kernel_scores", "score_errors"]

_HEIGHT, _WIDTH, _NARROW = 256, 512, 256
# The bias may yet move a little.
_ROOM, _ROOM_FOR_BIAS = 1.1, 1e-3
_WORTH_SCREENING = 1 << 22  # entries
_LARGEST_SHARE = 0.05
_LEAST_32, _MOST_32 = 1e-12, 1e12  # between these, nothing here leaves the range of float32
_TRIAL, _TOO_MANY = 4, 0.4
_TASKS = 16


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
    rows: KernelRowsInProof,
    shares: np.ndarray,
    workers: int = 1,
    expected: Expected | None = None,
) -> Scores:
    """Return the scores of every row for every column of `shares`, one a machine.

    Rows without a share matter only if their margin is below 1. Where `expected` says how margins
    come about, such rows are computed in float32 first, and in float64 only where that, with its
    error bounded, leaves it open.
    """
    n, machines = shares.shape
    support = np.flatnonzero(shares.any(axis=1))
    others = np.setdiff1d(np.arange(n), support)
    scores = Scores(np.zeros((n, machines)), np.zeros((n, machines)), np.zeros(n, dtype=bool))
    parts = [support[k : k + _WIDTH] for k in range(0, len(support), _WIDTH)]
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        rights = [rows.right(part) for part in parts]
        largest = _between(rows, shares, parts, rights, scores, workers)
        worth_it = 0 < len(support) * len(others) >= _WORTH_SCREENING
        if expected is not None and rows.kernel.name == "rbf" and worth_it:
            others = _screened(rows, shares, support, others, scores, expected, workers)
        _beyond(rows, shares, parts, rights, others, scores.values, largest, workers)
        wrong, size = rows.bounds(support)
        if rows.kernel.name == "callable":
            wrong, size = TRUSTED * largest, largest
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
    return np.asarray((each[:, None] * np.array(sums)).high)


def _between(
    rows: KernelRowsInProof,
    shares: np.ndarray,
    parts: list[np.ndarray],
    rights: list[Right],
    scores: Scores,
    workers: int,
) -> np.ndarray:
    """Add up values between support rows, each block for both its sides; return sizes."""
    sizes = np.zeros(rows.n)
    support = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    is_function = rows.kernel.name == "callable"

    def work(task: int) -> tuple[np.ndarray, np.ndarray]:
        total, most = np.zeros((len(support), shares.shape[1])), np.zeros(len(support))
        for i in range(task, len(parts), _TASKS):
            at = slice(i * _WIDTH, i * _WIDTH + len(parts[i]))
            for j in range(i + 1):
                beside = slice(j * _WIDTH, j * _WIDTH + len(parts[j]))
                block = rows.values(parts[i], rights[j])
                total[at] += block @ shares[parts[j]]
                if j < i:
                    total[beside] += block.T @ shares[parts[i]]
                if is_function:
                    most[at] = np.maximum(most[at], abs(block).max(axis=1))
                    most[beside] = np.maximum(most[beside], abs(block).max(axis=0))
        return total, most

    for total, most in _each(work, range(min(_TASKS, len(parts))), workers):
        scores.values[support] += total
        sizes[support] = np.maximum(sizes[support], most)
    return sizes


def _beyond(
    rows: KernelRowsInProof,
    shares: np.ndarray,
    parts: list[np.ndarray],
    rights: list[Right],
    others: np.ndarray,
    values: np.ndarray,
    sizes: np.ndarray,
    workers: int,
) -> None:
    """Add up values of rows that carry nothing with those that do."""

    def work(begin: int) -> None:
        left = others[begin : begin + _HEIGHT]
        total = np.zeros((len(left), shares.shape[1]))
        for part, right in zip(parts, rights, strict=True):
            block = rows.values(left, right)
            total += block @ shares[part]
            if rows.kernel.name == "callable":
                sizes[left] = np.maximum(sizes[left], abs(block).max(axis=1))
        values[left] = total

    _each(work, range(0, len(others), _HEIGHT), workers)


def _screened(
    rows: KernelRowsInProof,
    shares: np.ndarray,
    support: np.ndarray,
    others: np.ndarray,
    scores: Scores,
    expected: Expected,
    workers: int,
) -> np.ndarray:
    """Settle in float32 the rows whose margins are clear; return the others."""
    weight = abs(shares)
    filter_ = _Filter(rows, float(weight.max()), float(len(support)))
    if not filter_.is_worth_it:
        return others
    small = rows.in_float32()
    columns = np.hstack([shares, weight, weight * rows.squares[:, None]]).astype(np.float32)
    parts = [support[k : k + _NARROW] for k in range(0, len(support), _NARROW)]
    rights = [small.right(part) for part in parts]

    def work(left: np.ndarray) -> np.ndarray:
        sums = np.zeros((len(left), columns.shape[1]))
        for part, right in zip(parts, rights, strict=True):
            sums += small.values(left, right) @ columns[part]
        return sums

    def left_open(tried: np.ndarray) -> np.ndarray:
        tiles = [tried[k : k + _HEIGHT] for k in range(0, len(tried), _HEIGHT)]
        values, plain, weighted = np.hsplit(np.vstack(_each(work, tiles, workers)), 3)
        errors = filter_.errors(plain, weighted, rows.squares[tried][:, None])
        scores.values[tried], scores.errors[tried] = values, errors
        return tried[~expected.are_clear(values, errors, tried)]

    first, later = others[: _TRIAL * _HEIGHT], others[_TRIAL * _HEIGHT :]
    open_rows = left_open(first)
    if len(later) == 0 or len(open_rows) > _TOO_MANY * len(first):
        return np.concatenate([open_rows, later])
    return np.concatenate([open_rows, left_open(later)])


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
        elif d > DEEP:
            terms = DEEP + d / DEEP + 1.0
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


def _each(work: Callable[[Any], Any], items: Any, workers: int) -> list[Any]:
    if workers == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))
