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
from separatrix.certificates.enclosed_sums import dot_error
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.kernel_values import DEEP, TRUSTED, KernelRowsInProof, Right

__all__ = ["Expected", "KernelRowsInProof", "Scores", "kernel_scores", "score_errors"]

_HEIGHT, _WIDTH, _NARROW = 256, 512, 256
_UNIT_32 = 2.0**-24
# The bias may yet move a little.
_ROOM, _ROOM_FOR_BIAS = 1.01, 1e-3
_WORTH_SCREENING = 1 << 22  # entries
_LARGEST_SHARE, _VANISHED = 0.05, 1e-18
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
    """Settle in float32 the rows whose margins are clear; return the others.

    With E_ij = c (|x_i|^2 + |x_j|^2) bounding the error of the exponent, values err by at most
    E_ij + 20 u of themselves, so sums of values, plain and times |x_j|^2, bound the scores' errors.
    """
    machines, squares = shares.shape[1], rows.squares
    terms = d = float(rows.X.shape[1])
    if sp.issparse(rows.X):
        terms = float(np.diff(rows.X.indptr).max(initial=0))
    elif d > DEEP:
        terms = DEEP + d / DEEP + 1.0
    share = rows.kernel.gamma * (2.0 * _gamma_32(terms + 6.0) + 26.0 * _UNIT_32)
    # Shares are rounded to float32, and so are the sums over a block.
    rest = _gamma_32(_NARROW + 6.0) + 20.0 * _UNIT_32
    reach, weight = float(squares.max(initial=0.0)), abs(shares)
    in_range = _LEAST_32 < reach < _MOST_32 and _LEAST_32 < float(weight.max()) < _MOST_32
    if not (in_range and share * 2.0 * reach <= _LARGEST_SHARE):
        return others
    small = rows.in_float32()
    columns = np.hstack([shares, weight, weight * squares[:, None]]).astype(np.float32)
    parts = [support[k : k + _NARROW] for k in range(0, len(support), _NARROW)]
    rights = [small.right(part) for part in parts]

    def work(begin: int) -> np.ndarray:
        left = others[begin : begin + _HEIGHT]
        sums = np.zeros((len(left), 3 * machines))
        for part, right in zip(parts, rights, strict=True):
            sums += small.values(left, right) @ columns[part]
        values, plain, weighted = np.hsplit(sums, 3)
        errors = (share * squares[left][:, None] + rest) * plain + share * weighted
        errors *= 1.2  # for second orders, and for sums that are themselves rounded
        errors += _VANISHED  # values and shares below the least float32
        scores.values[left], scores.errors[left] = values, errors
        return left[~expected.are_clear(values, errors, left)]

    first = range(0, min(len(others), _TRIAL * _HEIGHT), _HEIGHT)
    open_rows = np.concatenate(_each(work, first, workers))
    tried = min(len(others), _TRIAL * _HEIGHT)
    if len(open_rows) > _TOO_MANY * tried:
        return np.concatenate([open_rows, others[tried:]])
    later = _each(work, range(tried, len(others), _HEIGHT), workers)
    return np.concatenate([open_rows, *later])


def _gamma_32(terms: float) -> float:
    """Return the relative error of a sum of so many terms in float32 (Higham, section 3.1)."""
    return 1.01 * terms * _UNIT_32 / (1.0 - terms * _UNIT_32)


def _each(work: Callable[[int], Any], items: Any, workers: int) -> list[Any]:
    if workers == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))
