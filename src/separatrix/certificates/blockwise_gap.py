"""The duality gap of a machine whose rows come in blocks: the same bounds, joined block by block.

    primal  <=  1/2 |w|^2 + 1/2 p b^2 + sum over blocks of  sum_i c_i loss(m_i)        from above
    dual    >=  sum over blocks of the gain  -  1/2 |sum over blocks of u|^2            from below

`block_terms` bounds what one block adds; it may run wherever the block is. Those of two blocks are
added, and `gap_of_terms` makes the certificate. The sum of y alpha must be exactly zero where the
bias is free: a block hands its own over as a few floats that add up to it without rounding.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from separatrix.certificates.canonical import sha256_of_blocks
from separatrix.certificates.data_pass import LEAST, UNIT, one_pass, ways
from separatrix.certificates.duality_gap import LOSSES, DualityGap
from separatrix.certificates.objective_bounds import (
    gain_from_below,
    is_feasible,
    loss_from_above,
    penalty_from_above,
    sum_from_above,
)
from separatrix.certificates.two_bounds import SLACK, stated
from separatrix.problem.blocks import Block, Posed, Sums

__all__ = [
    "BlockTerms",
    "block_terms",
    "gap_of_terms",
    "json_pieces",
    "prove_block",
]

_AT_A_TIME = 10_000


@dataclass(frozen=True, eq=False)
class BlockTerms:
    """What a stretch of rows adds to the two bounds."""

    loss: float  # at least the sum of c_i loss(m_i)
    gain: float  # at most the first sum of the dual
    balance: tuple[float, ...]  # floats whose exact sum is that of y_i a_i
    total: np.ndarray  # u
    total_errors: np.ndarray
    spread: float

    def __add__(self, other: BlockTerms) -> BlockTerms:
        """Return what both stretches of rows add together."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = self.total + other.total
            errors = self.total_errors + other.total_errors + (UNIT * abs(total) + LEAST)
            return BlockTerms(
                loss=(self.loss + other.loss) * (1.0 + 2.0 * UNIT),
                gain=_down(self.gain + other.gain),
                balance=(*self.balance, *other.balance),
                total=total,
                total_errors=errors * (1.0 + 4.0 * UNIT),
                spread=(self.spread + other.spread) * (1.0 + 2.0 * UNIT),
            )


def prove_block(block: Block, alpha: np.ndarray, posed: Posed, weights: np.ndarray) -> Sums:
    """Bound what one block of a posed machine adds, at the alpha of its rows."""
    bias = float(weights[0]) if posed.intercept else 0.0
    signs, costs = block.signs(posed), block.costs(posed)
    return (block_terms(block.X, signs, costs, LOSSES[posed.loss], weights[1:], bias, alpha),)


def block_terms(
    X: Any,
    signs: np.ndarray,
    costs: np.ndarray,
    loss: str,
    w: np.ndarray,
    bias: float,
    alpha: np.ndarray,
    slack: float = SLACK,
) -> BlockTerms:
    """Bound what these rows add, with every rounding error counted."""
    way = next(way for way in ways(X) if way != "exact")
    seen = one_pass(X, signs, w, bias, alpha, way)
    if slack:
        seen = seen.widened()
    used = costs > 0.0
    gain = lost = math.inf
    with np.errstate(over="ignore", invalid="ignore"):
        lower = (seen.margins - seen.margin_errors)[used]
        if np.isfinite(lower).all():
            terms = costs[used] * loss_from_above(loss, lower)
            lost = sum_from_above(terms) * (1.0 + 2.0 * UNIT) + int(used.sum()) * LEAST
        gain = gain_from_below(loss, costs, alpha) if is_feasible(loss, costs, alpha) else -math.inf
    balance = exact_parts(signs * alpha) if math.isfinite(gain) else (math.nan,)
    total = np.asarray(seen.total)
    return BlockTerms(lost, gain, balance, total, seen.total_errors, seen.spread)


def exact_parts(values: np.ndarray) -> tuple[float, ...]:
    """Return a few floats that add up to the sum of the values without any rounding.

    >>> exact_parts(np.array([1e16, 1.0, -1e16]))
    (1.0,)
    >>> exact_parts(np.array([1e16, 1.0]))
    (1e+16, 1.0)
    """
    left, parts = values.tolist(), list[float]()
    while (part := math.fsum(left)) != 0.0:
        parts.append(part)
        left.append(-part)
    return tuple(parts)


def _down(value: float) -> float:
    return value - 2.0 * UNIT * abs(value) - LEAST if math.isfinite(value) else value


def gap_of_terms(
    terms: BlockTerms,
    *,
    alpha: np.ndarray,
    costs: np.ndarray,
    loss: str,
    weights: np.ndarray,
    intercept: bool,
    bias_penalty: float,
    positive: int,
    data_sha256: str,
    classes: tuple[str, ...],
    slack: float = SLACK,
) -> DualityGap:
    """State the two bounds that the terms of all rows prove."""
    w, bias = np.asarray(weights[1:]), float(weights[0]) if intercept else 0.0
    penalty = bias_penalty if intercept else None
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.append(w * w, (penalty or 0.0) * bias * bias)
        norm = 0.5 * sum_from_above(squares) * (1.0 + 4.0 * UNIT) + len(squares) * LEAST
        primal = (norm + terms.loss) * (1.0 + 2.0 * UNIT)
        balance = math.fsum(terms.balance) if not any(map(math.isnan, terms.balance)) else math.nan
        dual = -math.inf
        if not (penalty == 0.0 and balance != 0.0):
            lost = penalty_from_above(
                terms.total, terms.total_errors, terms.spread, penalty, balance
            )
            dual = _down(terms.gain - lost)
    primal = primal if math.isfinite(primal) else math.inf
    dual = dual if math.isfinite(dual) else -math.inf
    primal, dual = stated(primal, dual, slack)
    return DualityGap(
        primal=primal,
        dual=dual,
        loss=loss,
        weights=np.asarray(weights),
        multipliers=alpha,
        costs=costs,
        intercept=intercept,
        bias_penalty=bias_penalty,
        ridge=1.0,
        positive=positive,
        data_sha256=data_sha256,
        n_rows=len(alpha),
        n_features=len(w),
        classes=classes,
    )


def check_again(proof: DualityGap, rows: Any) -> bool:
    """Prove a certificate again from partitions; other data are refused.

    `rows` has `shape`, `classes`, and `blocks()` that yields (X, class numbers).
    """
    shape, n_classes = rows.shape, len(rows.classes)
    if proof.ridge != 1.0 or not proof._fits(_Shaped(shape), n_classes):
        return False
    if not proof._is_about(lambda: sha256_of_blocks(rows.blocks, shape, n_classes)):
        return False
    w, bias = proof.weights[1:], float(proof.weights[0]) if proof.intercept else 0.0
    joined, begin = None, 0
    for X, codes in rows.blocks():
        own = slice(begin, begin + len(codes))
        begin = own.stop
        signs = np.where(codes == proof.positive, 1.0, -1.0)
        costs, alpha = np.asarray(proof.costs[own]), np.asarray(proof.multipliers[own])
        terms = block_terms(X, signs, costs, proof.loss, w, bias, alpha, slack=0.0)
        joined = terms if joined is None else joined + terms
    if joined is None:
        return False
    again = gap_of_terms(
        joined,
        alpha=proof.multipliers,
        costs=proof.costs,
        loss=proof.loss,
        weights=proof.weights,
        intercept=proof.intercept,
        bias_penalty=proof.bias_penalty,
        positive=proof.positive,
        data_sha256=proof.data_sha256,
        classes=proof.classes,
        slack=0.0,
    )
    return proof._is_found_again(again)


@dataclass(frozen=True)
class _Shaped:
    shape: tuple[int, int]


def json_pieces(proof: DualityGap, about: dict[str, Any] | None = None) -> Iterator[bytes]:
    """Yield the certificate as `to_json` writes it, a stretch of rows at a time.

    `about` adds to what is said of the data.
    """
    rows = np.flatnonzero(proof.multipliers)
    # With no row at all, everything else is short: its lists are then filled in.
    short = replace(proof, multipliers=np.zeros(len(proof.multipliers)))
    whole = json.loads(short.to_json())
    whole["data"] |= about or {}
    text = json.dumps(whole, indent=1)
    before, between, after = re.split(r'(?<="rows": \[)\]|(?<="multipliers": \[)\]', text)
    yield before.encode()
    yield from _listed(map(str, rows.tolist()))
    yield ("]" + between).encode()
    yield from _listed(f'"{float(proof.multipliers[row]).hex()}"' for row in rows)
    yield ("]" + after + "\n").encode()


def _listed(words: Iterable[str]) -> Iterator[bytes]:
    """Yield words with commas between them, many at a time."""
    words, comma = iter(words), ""
    while some := list(islice(words, _AT_A_TIME)):
        yield (comma + ", ".join(some)).encode()
        comma = ",\n "
