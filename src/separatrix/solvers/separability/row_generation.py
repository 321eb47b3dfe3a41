"""Run the engine on few of the rows, and add rows until its answer holds for all.

A witness on some rows is a witness for all, so only a separator has to be tried on every row.
Columns, then rows, are scaled by powers of two: exact, and the engine's thresholds keep a meaning.

The squared hinge without a penalty: the engine that proposes separators and witnesses.

    minimise over w    1/2 sum_i max(0, 1 - z_i.w)^2

The minimum is always attained (a convex piecewise quadratic; the logistic one is not). There,
``lambda_i = max(0, 1 - z_i.w)`` satisfies ``sum_i lambda_i z_i = 0``: if lambda is 0 the rows are
separated, otherwise it is a Gordan witness, and it vanishes on every row that some direction can
put strictly off the boundary. (Mangasarian 2002, finite Newton.) Floats only: proposals, no proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.linalg import qr

from separatrix.problem.exact import SignedRows

__all__ = [
    "Proposal",
    "QuotientView",
    "RawView",
    "minimise",
    "numerical_rank",
    "propose",
    "spanning_set",
    "vertex",
    "working_size",
]


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


# ---- the squared hinge without a penalty: the engine that proposes separators and witnesses


DAMPING = 1e-12
SEPARATED_BY = 1e-10
LARGE = 100_000  # entries


@dataclass(frozen=True)
class Minimum:
    """Where the engine stopped: weights, margins and multipliers of the rows it was given."""

    w: np.ndarray
    margins: np.ndarray
    multipliers: np.ndarray
    separated: bool
    iterations: int


class _Gram:
    """The Gram matrix of the active rows, kept up to date where few of many rows change."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows = rows
        self.active = np.zeros(len(rows), dtype=bool)
        self.matrix = np.zeros((0, 0))

    def of(self, active: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return ``chosen.T @ chosen``, where chosen are the active rows."""
        if self.rows.size < LARGE:
            return chosen.T @ chosen
        changed = np.flatnonzero(active != self.active)
        if not self.matrix.size or 2 * len(changed) > len(chosen):
            self.matrix = chosen.T @ chosen
        else:
            came, left = (self.rows[changed[active[changed] == now]] for now in (True, False))
            self.matrix += came.T @ came - left.T @ left
        self.active = active
        return self.matrix.copy()


def _direction(gram: _Gram, mask: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Return the Newton step; through the smaller of the two Gram matrices."""
    active, slack = gram.rows[mask], slack[mask]
    many, width = active.shape
    if many >= width:
        matrix = gram.of(mask, active)
        right = active.T @ slack
    else:
        matrix = active @ active.T
        right = slack
    diagonal = np.einsum("ii->i", matrix)
    floor = np.finfo(float).tiny if not diagonal.size else diagonal.max() * 1e-300
    diagonal += DAMPING * diagonal + floor
    try:
        step = _cholesky_solve(matrix, right)
    except np.linalg.LinAlgError:
        step = np.linalg.lstsq(matrix, right, rcond=None)[0]
    return step if many >= width else active.T @ step


def _cholesky_solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    from scipy.linalg.lapack import dposv

    _, solution, failed = dposv(matrix, right)
    if failed:
        raise np.linalg.LinAlgError("not positive definite")
    return np.asarray(solution)


def _best_step(slack: np.ndarray, gain: np.ndarray) -> float:
    """Minimise sum max(0, slack - t gain)^2 over t >= 0: the slope is piecewise linear in t."""
    moving = gain != 0.0
    slack, gain = slack[moving], gain[moving]
    active = (slack > 0.0) | ((slack == 0.0) & (gain < 0.0))
    turn = slack / gain
    leaving = active & (gain > 0.0)
    entering = ~active & (gain < 0.0)
    changing = leaving | entering
    order = np.flatnonzero(changing)
    order = order[np.argsort(turn[order], kind="stable")]
    change = np.where(leaving[order], -1.0, 1.0)
    # slope(t) = t * curvature - pull
    pull = np.cumsum(np.append((gain * slack)[active].sum(), change * (gain * slack)[order]))
    curvature = np.cumsum(np.append((gain * gain)[active].sum(), change * (gain * gain)[order]))
    ends = turn[order]
    reached = ends * curvature[:-1] - pull[:-1] >= 0.0
    at = int(np.argmax(reached)) if reached.any() else len(ends)
    if curvature[at] <= 0.0:
        return float(ends[at - 1]) if at else 1.0
    step = pull[at] / curvature[at]
    low = float(ends[at - 1]) if at else 0.0
    return float(max(low, step if at == len(ends) else min(step, ends[at])))


def minimise(rows: np.ndarray, w: np.ndarray | None = None, iterations: int = 100) -> Minimum:
    """Minimise the squared hinge over the rows; stop as soon as w separates them.

    >>> minimise(np.array([[1.0, 2.0], [-1.0, 1.0]])).separated
    True
    >>> found = minimise(np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]]))
    >>> (found.multipliers > 0).tolist()
    [True, True, False]
    """
    w = np.zeros(rows.shape[1]) if w is None else w.copy()
    margins = rows @ w
    with np.errstate(all="ignore"):  # whatever overflows is no proposal
        return _newton(rows, w, margins, iterations)


def _newton(rows: np.ndarray, w: np.ndarray, margins: np.ndarray, iterations: int) -> Minimum:
    best, stalled, gram = np.inf, 0, _Gram(rows)
    for done in range(iterations):
        if _is_separated(w, margins):
            return Minimum(w, margins, np.zeros(len(rows)), True, done)
        slack = 1.0 - margins
        active = slack > 0.0
        value = float(slack[active] @ slack[active])
        stalled = stalled + 1 if value >= best * (1.0 - 1e-13) else 0
        best = min(best, value)
        if stalled >= 2:
            break
        direction = _direction(gram, active, slack)
        gain = rows @ direction
        step = _best_step(slack, gain)
        if not np.isfinite(step) or not np.isfinite(gain).all():
            break
        w = w + step * direction
        margins = rows @ w
    return Minimum(w, margins, np.maximum(0.0, 1.0 - margins), False, done + 1)


def _is_separated(w: np.ndarray, margins: np.ndarray) -> bool:
    low = margins.min()
    return bool(low > 0.0 and low > SEPARATED_BY * min(1.0, np.abs(w).max()))
