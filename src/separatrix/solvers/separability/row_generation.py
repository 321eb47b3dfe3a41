"""Run the engine on few of the rows, and add rows until its answer holds for all.

A witness on some rows is a witness for all, so only a separator has to be tried on every row.
Columns, then rows, are scaled by powers of two: exact, and the engine's thresholds keep a meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import qr

from separatrix.problem.exact import SignedRows
from separatrix.solvers.separability.squared_hinge_newton import minimise

__all__ = [
    "Proposal", "QuotientView", "RawView", "numerical_rank", "propose", "spanning_set", "vertex",
    "working_size",
]  # fmt: skip

SUPPORT = 1e-7
RANK = 1e-9
ROUNDS = 60
FEW_ENTRIES = 400_000
_EMPTY = -(2**40)
LEAST = 1e-10
MANY = 300
ABUNDANT = 10
EXACT = 1e-13

Guess = tuple[np.ndarray, np.ndarray]


class View(Protocol):
    """Rows in floats: some of them scaled for the engine, all of them for trying a direction."""

    exponents: np.ndarray

    def __len__(self) -> int: ...
    def scaled(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows scaled by powers of two, and the exponent each row was divided by."""

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Return the margins of all rows for w in scaled columns."""


def _column_exponents(size: np.ndarray) -> np.ndarray:
    exponents = np.frexp(size)[1].astype(np.int64)
    return np.where(size > 0.0, exponents, 0)


def _scale_rows(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    size = np.abs(matrix).max(axis=1, initial=0.0)
    exponents = _column_exponents(size)
    return _times_powers(matrix, -exponents[:, None]), exponents


def _times_powers(matrix: np.ndarray, exponents: np.ndarray) -> np.ndarray:
    """Multiply by powers of two; ``ldexp`` only where a power alone would leave the floats."""
    if np.abs(exponents).max(initial=0) < 1000:
        return matrix * np.ldexp(1.0, exponents)
    return np.ldexp(matrix, exponents)


class RawView:
    """The data themselves, columns scaled by their largest entry."""

    def __init__(self, rows: SignedRows, live: np.ndarray | None = None) -> None:
        self.rows = rows if live is None or len(live) == len(rows) else rows.take(live)
        size = _largest_entries(self.rows.X)
        exponents = _column_exponents(size)
        self.exponents = np.concatenate([[0], exponents]) if rows.fit_intercept else exponents

    def __len__(self) -> int:
        return len(self.rows)

    def scaled(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows scaled by powers of two, and the exponent each row was divided by."""
        dense = self.rows.dense(rows)
        return _scale_rows(_times_powers(dense, -self.exponents))

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Return the margins of all rows for w in scaled columns."""
        return self.rows.margins(np.ldexp(w, -self.exponents))


class QuotientView:
    """Rows given as (fraction, exponent), whose exponents may be far out of float range."""

    def __init__(self, fraction: np.ndarray, exponent: np.ndarray) -> None:
        known = np.where(fraction != 0.0, exponent, _EMPTY)
        top = known.max(axis=0, initial=_EMPTY)
        self.exponents = np.where(top == _EMPTY, 0, top)
        relative = np.where(fraction != 0.0, known - self.exponents, _EMPTY)
        row_top = relative.max(axis=1, initial=_EMPTY)
        self.row_exponents = np.where(row_top == _EMPTY, 0, row_top)
        power = np.maximum(relative - self.row_exponents[:, None], -2000)
        self.matrix = np.ldexp(fraction, power)

    def __len__(self) -> int:
        return len(self.matrix)

    def scaled(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows scaled by powers of two, and the exponent each row was divided by."""
        return self.matrix[rows], self.row_exponents[rows]

    def margins(self, w: np.ndarray) -> np.ndarray:
        """Return the margins of all rows (scaled) for w in scaled columns."""
        return self.matrix @ w


def _largest_entries(X: np.ndarray) -> np.ndarray:
    if isinstance(X, np.ndarray):
        return np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0))
    size = np.zeros(X.shape[1])
    np.maximum.at(size, X.indices, np.abs(X.data))
    return size


@dataclass(frozen=True)
class Proposal:
    """What floats suggest: a separator in scaled columns, or rows with positive multipliers.

    The multiplier of support row i is ``multipliers[i] * 2**shift[i]``.
    """

    separated: bool
    w: np.ndarray
    is_partial: bool = False
    support: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    multipliers: np.ndarray = field(default_factory=lambda: np.zeros(0))
    shift: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    matrix: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    @cached_property
    def ranked(self) -> tuple[np.ndarray, int]:
        """The support ordered by pivoted QR, heavy rows first, and its numerical rank."""
        weights = self.multipliers
        preference = np.maximum(weights, 1e-3 * weights.max(initial=0.0))
        triangle, order = qr((self.matrix * preference[:, None]).T, mode="r", pivoting=True)
        sizes = np.abs(np.diagonal(triangle))
        return order, int((sizes > RANK * sizes.max(initial=0.0)).sum())


def working_size(width: int) -> int:
    """Return how many rows a sample holds."""
    return max(300, 6 * width)


def propose(view: View, seed: int = 0, support: float = SUPPORT) -> Proposal:
    """Propose a separator of all rows, or the support of a witness."""
    with np.errstate(all="ignore"):  # whatever overflows is no proposal
        return _propose(view, seed, support)


def _propose(view: View, seed: int, support: float) -> Proposal:
    count, width = len(view), len(view.exponents)
    size = working_size(width)
    rng = np.random.default_rng(seed)
    if count <= 3 * size or count * width <= FEW_ENTRIES:
        working = np.arange(count)
    else:
        working = np.sort(rng.permutation(count)[:size])
    w = np.zeros(width)
    for _ in range(ROUNDS):
        matrix, shifts = view.scaled(working)
        found = minimise(matrix, w)
        w = found.w
        if not found.separated:
            break
        if len(working) == count:
            return Proposal(True, w)
        margins = view.margins(w)
        margins[working] = np.inf
        violators = np.flatnonzero(~(margins > 0.0))
        if violators.size == 0:
            return Proposal(True, w)
        if violators.size > size:
            worst = violators[np.argpartition(margins[violators], size // 2)[: size // 2]]
            violators = np.union1d(worst, rng.choice(violators, size // 2, replace=False))
        working = np.union1d(working, violators)
    multipliers = found.multipliers
    kept = np.flatnonzero(multipliers > support * multipliers.max(initial=0.0))
    order = kept[np.argsort(-multipliers[kept], kind="stable")]
    return Proposal(
        found.separated,
        w,
        len(working) < count,
        working[order],
        multipliers[order],
        -shifts[order],
        matrix[order],
    )


# ---- fewer rows for the same proof: a vertex of the witnesses, or few rows that span them all


def _non_negative(matrix: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """Solve ``matrix x = target`` with x >= 0; where columns abound, every other one may do."""
    height, count = matrix.shape
    if count > ABUNDANT * height:
        half = _least_squares(matrix[:, ::2], target)
        if half is not None and half[1] <= EXACT * np.linalg.norm(target):
            x = np.zeros(count)
            x[::2] = half[0]
            return x
    whole = _least_squares(matrix, target)
    return None if whole is None else whole[0]


def _least_squares(matrix: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, float] | None:
    from scipy.optimize import nnls  # slow to load, and needed only where classes overlap

    try:
        x, residual = nnls(matrix, target)
    except RuntimeError:
        return None
    return np.asarray(x), float(residual)


def vertex(proposal: Proposal) -> Guess | None:
    """Return at most width + 1 rows (positions in the support) with multipliers of zero sum."""
    matrix = proposal.matrix
    if not matrix.size:
        return None
    target = np.zeros(matrix.shape[1] + 1)
    target[-1] = 1.0
    guess = _non_negative(np.vstack([matrix.T, np.ones(len(matrix))]), target)
    if guess is None:
        return None
    chosen = np.flatnonzero(guess > LEAST * guess.max(initial=0.0))
    return (chosen, guess[chosen]) if chosen.size else None


def numerical_rank(proposal: Proposal) -> int:
    """Return the rank of the support, as floats see it."""
    return proposal.ranked[1] if proposal.matrix.size else 0


def spanning_set(proposal: Proposal) -> Guess | None:
    """Return at most twice the rank many rows with positive multipliers that span the support.

    Rows E of a basis keep their multipliers; the others are solved for anew, on few rows:
    ``sum_i mu_i z_i = - sum_E lambda_i z_i`` with mu >= 0, which lambda itself satisfies.
    """
    matrix, weights = proposal.matrix, proposal.multipliers
    if not matrix.size:
        return None
    order, rank = proposal.ranked
    basis = order[:rank]
    if len(matrix) <= 2 * rank and rank > MANY:
        return order, weights[order]  # few enough as they are, and anything else takes long
    mu = _non_negative(matrix.T, -(matrix[basis].T @ weights[basis]))
    if mu is None:
        return None
    extra = np.setdiff1d(np.flatnonzero(mu > LEAST * mu.max(initial=0.0)), basis)
    kept = mu.copy()
    kept[basis] += weights[basis]
    chosen = np.concatenate([basis, extra])
    return chosen, kept[chosen]
