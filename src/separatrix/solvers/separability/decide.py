"""Can a hyperplane separate the signed rows? The order of attack.

    separable        some w has  z_i.w > 0  for all i
    quasi-separable  none has, but some w has  z_i.w >= 0  for all i, and > 0 for some
    overlapping      z_i.w >= 0 for all i  only where  z_i.w = 0  for all i

1. A sample: overlap of full rank on few rows is overlap of all. 2. Peel, column by column. 3. What
remains goes to the engine and to facial reduction. 4. Equal rows of opposite signs, if there are
any, are the witness to show. 5. Where no proof was found, one linear program is the last resort.
Every claim made here is exact, and is checked again from the data by ``certificates``, which share
nothing with this file.

`larger_margin` raises C in 1/2 |w|^2 + C/2 sum_i max(0, 1 - z_i.(b, w))^2, in floats.

Where Newton's method and exact multipliers left a set undecided: one linear program (HiGHS).

    maximise t   subject to   z_i.w >= t for all i,   -1 <= w_j <= 1,   t <= 1

It is always feasible. With t > 0 its w is tried in integers on every row. Otherwise t = 0, and its
dual variables are multipliers of at most d + 1 rows of zero sum, which are made exact: the classes
are not separable, whatever else stays open. What HiGHS says is only a proposal.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from separatrix.problem.exact import SignedRows
from separatrix.solvers.running.drive import one_thread
from separatrix.solvers.separability.facial_reduction import (
    Partition,
    Undecided,
    full_rank_overlap,
    opposite_duplicates,
    partition,
    smaller_witness,
    strictly_off,
)
from separatrix.solvers.separability.peeling import Level, merge, peel
from separatrix.solvers.separability.row_generation import RawView, propose, working_size
from separatrix.solvers.separability.witness import exact_multipliers

__all__ = [
    "Claim",
    "MOST_ENTRIES",
    "by_linear_program",
    "decide",
    "larger_margin",
]


SAMPLE = 1000
ENTRIES = 100_000
MANY_THREADS = 300  # columns
MOST_ENTRIES = 100_000
STRENGTHS = (1e0, 1e2, 1e4, 1e6, 1e8, 1e10)
ITERATIONS = 12


@dataclass(frozen=True)
class Claim:
    """What was found, in Python integers, over [intercept, features] and row numbers.

    ``direction`` (up to a positive factor) has no negative margin. ``multipliers`` on ``rows`` and
    the multiplier ``others`` on every other row with margin 0 sum to exactly zero. ``witness`` is
    a small Gordan witness. With ``others == 0`` the listed rows have full rank. ``basis`` names
    rows that span those of margin 0.
    """

    kind: str
    direction: list[Fraction] | None = None
    rows: list[int] | None = None
    multipliers: list[int] | None = None
    others: int = 0
    witness: tuple[list[int], list[int]] | None = None
    basis: list[int] = field(default_factory=list)
    bound: float | None = None


def decide(rows: SignedRows, seed: int = 0) -> Claim:
    """Decide separability of signed rows, or say honestly that no proof was found."""
    if rows.width > MANY_THREADS:
        return _decide(rows, seed)
    with one_thread():
        return _decide(rows, seed)


def _decide(rows: SignedRows, seed: int) -> Claim:
    claim = _from_sample(rows, seed)
    if claim is None:
        levels, live = peel(rows)
        try:
            claim = _settle(rows, levels, live, seed)
        except Undecided as reached:
            claim = _left_open(rows, live, reached)
    if claim.witness is not None and len(claim.witness[0]) > 2:
        pair = opposite_duplicates(rows)
        if pair is not None:
            claim = replace(claim, witness=(list(pair), [1, 1]))
    return claim


def _left_open(rows: SignedRows, live: np.ndarray, reached: Undecided) -> Claim:
    """Return what is known where no proof was found: a small witness says "not separable"."""
    small = reached.witness
    if small is not None:
        return Claim("undecided", bound=0.0, witness=(live[small[0]].tolist(), small[1]))
    pair = opposite_duplicates(rows)
    if pair is not None:
        return Claim("undecided", bound=reached.bound, witness=(list(pair), [1, 1]))
    direction, small = by_linear_program(rows)
    if direction is not None:
        return Claim("separable", direction)
    return Claim("undecided", bound=reached.bound, witness=small)


def _from_sample(rows: SignedRows, seed: int) -> Claim | None:
    size = max(SAMPLE, working_size(rows.width))
    if len(rows) <= 3 * size or len(rows) * rows.width <= ENTRIES:
        return None
    chosen = np.sort(np.random.default_rng(seed).permutation(len(rows))[:size])
    sample = rows.take(chosen)
    if peel(sample)[0]:  # some direction helps: no overlap of full rank in these rows
        return None
    proposal = propose(RawView(sample), seed)
    found = None if proposal.separated else full_rank_overlap(sample, proposal)
    return None if found is None else _tight("overlapping", found, chosen, None, 0)


def _settle(rows: SignedRows, levels: list[Level], live: np.ndarray, seed: int) -> Claim:
    if live.size == 0:
        return Claim("separable", _dense(merge(rows, levels, {}), rows.width))
    found = partition(rows.take(live) if live.size < len(rows) else rows, seed)
    if found.spans_all and not levels:
        return _tight("overlapping", found, live, None, 0)
    core = {} if found.direction is None else dict(enumerate(found.direction))
    direction = _dense(merge(rows, levels, core), rows.width) if levels or core else None
    if found.tight_rows.size == 0:
        return Claim("separable", direction)
    # The witness first: covering the other rows changes the multipliers it may be read from.
    small = found.small or smaller_witness(found.tight)
    others = found.tight.cover(found.tight_rows)
    kind = "overlapping" if direction is None else "quasi-separable"
    return _tight(kind, replace(found, small=small), live, direction, others)


def _tight(
    kind: str, found: Partition, numbers: np.ndarray, direction: list[Fraction] | None, others: int
) -> Claim:
    """Claim what a partition found, in the numbers of the original rows."""
    tight = found.tight
    small, multipliers = found.small or smaller_witness(tight)
    return Claim(
        kind,
        direction,
        numbers[tight.rows].tolist(),
        tight.multipliers,
        others,
        (numbers[small].tolist(), multipliers),
        numbers[tight.basis_rows].tolist(),
    )


def _dense(direction: dict[int, Fraction], width: int) -> list[Fraction]:
    return [direction.get(j, Fraction(0)) for j in range(width)]


# ---- a larger margin for rows that are separable, where it is cheap


def larger_margin(rows: SignedRows, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weights of a larger geometric margin over [intercept, features], or w; and slacks.

    The slacks of the widest run are multipliers that nearly balance the two classes.
    """
    slack = np.zeros(len(rows))
    with np.errstate(all="ignore"):
        matrix = rows.dense()
        first = int(rows.fit_intercept)
        unit = float(np.median(np.linalg.norm(matrix[:, first:], axis=1)))
        if not np.isfinite(unit) or unit == 0.0:
            return w, slack
        best, best_margin = w, _margin(matrix, w, first)
        matrix[:, first:] /= unit
        penalty = np.ones(matrix.shape[1])
        penalty[:first] = 1e-9
        v, widest = np.zeros(matrix.shape[1]), 0.0
        for strength in STRENGTHS:
            v = _newton(matrix, v, penalty, strength)
            margin = _margin(matrix, v, first) * unit
            if margin > widest:
                widest, slack = margin, np.maximum(0.0, 1.0 - matrix @ v)
            if margin > best_margin:
                best, best_margin = np.concatenate([v[:first], v[first:] / unit]), margin
    return best, slack


def _margin(matrix: np.ndarray, w: np.ndarray, first: int) -> float:
    length = float(np.linalg.norm(w[first:]))
    return float((matrix @ w).min()) / length if length > 0.0 else -np.inf


def _newton(matrix: np.ndarray, v: np.ndarray, penalty: np.ndarray, strength: float) -> np.ndarray:
    for _ in range(ITERATIONS):
        slack = 1.0 - matrix @ v
        active = matrix[slack > 0.0]
        gradient = penalty * v - strength * (active.T @ slack[slack > 0.0])
        hessian = strength * (active.T @ active) + np.diag(penalty)
        try:
            step = np.linalg.solve(hessian, -gradient)
        except np.linalg.LinAlgError:
            return v
        if not np.isfinite(step).all():
            return v
        size = _step(matrix, v, step, penalty, strength)
        v = v + size * step
        if np.abs(size * step).max() <= 1e-10 * np.abs(v).max():
            break
    return v


def _step(
    matrix: np.ndarray, v: np.ndarray, step: np.ndarray, penalty: np.ndarray, strength: float
) -> float:
    """Halve the step until the objective falls."""
    margins, gain = matrix @ v, matrix @ step

    def value(t: float) -> float:
        slack = np.maximum(0.0, 1.0 - margins - t * gain)
        moved = v + t * step
        return float(0.5 * (penalty * moved) @ moved + 0.5 * strength * slack @ slack)

    start, t = value(0.0), 1.0
    while value(t) > start and t > 1e-6:
        t *= 0.5
    return t


# ---- where Newton's method and exact multipliers left a set undecided: one linear program (HiGHS)


SECONDS = 60.0
_MOST_FOR_INTEGERS = 20_000_000
LEAST = 1e-9  # of the largest dual variable

Small = tuple[list[int], list[int]]


def by_linear_program(rows: SignedRows) -> tuple[list[Fraction] | None, Small | None]:
    """Return a direction that separates the rows, or a small Gordan witness; each checked."""
    stored = rows.X.nnz if rows.is_sparse else rows.X.size
    if stored > _MOST_FOR_INTEGERS:
        return None, None
    exponents = RawView(rows).exponents
    w, duals = _solved(rows, exponents)
    if w is not None and w.any():
        direction = [
            Fraction(v) / Fraction(2) ** int(e) for v, e in zip(w.tolist(), exponents, strict=True)
        ]
        if strictly_off(rows, direction):
            return direction, None
    chosen = np.flatnonzero(duals > LEAST * duals.max(initial=0.0))
    if chosen.size == 0:
        return None, None
    chosen = chosen[np.argsort(-duals[chosen], kind="stable")]
    lists = rows.take(chosen).integers.lists(np.arange(len(chosen)))
    exact = exact_multipliers(lists, duals[chosen])
    return None, None if exact is None else _positive(chosen, exact.multipliers)


def _solved(rows: SignedRows, exponents: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Return w in scaled columns, and the dual variables of the rows."""
    from scipy import sparse
    from scipy.optimize import linprog

    first = int(rows.fit_intercept)
    matrix = sparse.csr_array(rows.X, dtype=np.float64, copy=True)
    matrix.data = np.ldexp(matrix.data, -exponents[first:][matrix.indices])
    matrix.data *= np.repeat(rows.signs, np.diff(matrix.indptr))
    ones = np.ones((len(rows), 1))
    columns = [sparse.csr_array(rows.signs[:, None])] if first else []
    table = sparse.csr_array(sparse.hstack([*columns, matrix, -ones]))
    result = linprog(
        np.concatenate([np.zeros(rows.width), [-1.0]]),
        A_ub=-table,
        b_ub=np.zeros(len(rows)),
        bounds=[(-1.0, 1.0)] * rows.width + [(None, 1.0)],
        method="highs",
        options={"time_limit": SECONDS, "primal_feasibility_tolerance": 1e-10},
    )
    if result.x is None:
        return None, np.zeros(len(rows))
    return np.asarray(result.x[:-1]), -np.asarray(result.ineqlin.marginals)


def _positive(chosen: np.ndarray, multipliers: list[int]) -> Small:
    kept = [i for i, m in enumerate(multipliers) if m > 0]
    return chosen[kept].tolist(), [multipliers[i] for i in kept]
