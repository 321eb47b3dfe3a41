"""Can a hyperplane separate the signed rows? The order of attack.

    separable        some w has  z_i.w > 0  for all i
    quasi-separable  none has, but some w has  z_i.w >= 0  for all i, and > 0 for some
    overlapping      z_i.w >= 0 for all i  only where  z_i.w = 0  for all i

1. A sample: overlap of full rank on few rows is overlap of all. 2. Peel, column by column. 3. What
remains goes to the engine and to facial reduction. Every claim made here is exact, and is checked
again from the data by ``certificates``, which share nothing with this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from separatrix.problem.exact import SignedRows
from separatrix.solvers.facial_reduction import Partition, Undecided, partition, whole
from separatrix.solvers.peeling import Level, merge, peel
from separatrix.solvers.row_generation import working_size

__all__ = ["Claim", "decide"]

SAMPLE = 1000


@dataclass(frozen=True)
class Claim:
    """What was found, in Python integers, over [intercept, features] and row numbers.

    ``direction`` (up to a positive factor) has no negative margin. ``multipliers`` on ``rows`` and
    the multiplier ``others`` on every other row with margin 0 sum to exactly zero. ``witness`` is
    a small Gordan witness. With ``others == 0`` the listed rows have full rank.
    """

    kind: str
    direction: list[Fraction] | None = None
    rows: list[int] | None = None
    multipliers: list[int] | None = None
    others: int = 0
    witness: tuple[list[int], list[int]] | None = None
    bound: float | None = None


def decide(rows: SignedRows, seed: int = 0) -> Claim:
    """Decide separability of signed rows, or say honestly that no proof was found."""
    sampled = _from_sample(rows, seed)
    if sampled is not None:
        return sampled
    levels, live = peel(rows)
    try:
        return _settle(rows, levels, live, seed)
    except Undecided as reached:
        return Claim("undecided", bound=reached.bound)


def _from_sample(rows: SignedRows, seed: int) -> Claim | None:
    size = max(SAMPLE, working_size(rows.width))
    if len(rows) <= 3 * size:
        return None
    chosen = np.sort(np.random.default_rng(seed).permutation(len(rows))[:size])
    from separatrix.solvers.facial_reduction import full_rank_overlap
    from separatrix.solvers.row_generation import RawView, propose

    sample = rows.take(chosen)
    proposal = propose(RawView(sample), seed)
    if proposal.separated:
        return None
    found = full_rank_overlap(sample, proposal)
    return None if found is None else _overlap(found, chosen)


def _overlap(found: Partition, numbers: np.ndarray) -> Claim:
    rows = numbers[found.tight.rows].tolist()
    small = found.small or (found.tight.rows, found.tight.multipliers)
    witness = (numbers[small[0]].tolist(), small[1])
    return Claim("overlapping", None, rows, found.tight.multipliers, 0, witness)


def _settle(rows: SignedRows, levels: list[Level], live: np.ndarray, seed: int) -> Claim:
    if live.size == 0:
        return Claim("separable", _dense(merge(rows, levels, {}), rows.width))
    core = rows.take(live) if live.size < len(rows) else rows
    found = partition(core, seed)
    if found.spans_all and not levels:
        return _overlap(found, live)
    direction = {} if found.direction is None else dict(enumerate(found.direction))
    off_levels = levels
    if not off_levels and found.direction is None:
        total = None
    else:
        total = _dense(merge(rows, off_levels, direction), rows.width)
    if found.tight_rows.size == 0:
        return Claim("separable", total)
    others = found.tight.cover(found.tight_rows)
    small = found.small or (found.tight.rows, found.tight.multipliers)
    witness = (live[small[0]].tolist(), small[1])
    kind = "overlapping" if total is None else "quasi-separable"
    return Claim(
        kind, total, live[found.tight.rows].tolist(), found.tight.multipliers, others, witness
    )


def _dense(direction: dict[int, Fraction], width: int) -> list[Fraction]:
    return [direction.get(j, Fraction(0)) for j in range(width)]
