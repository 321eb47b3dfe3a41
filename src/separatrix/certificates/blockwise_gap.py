"""The duality gap of a machine whose rows come in blocks: the same bounds, joined block by block.

    primal  <=  1/2 |w|^2 + 1/2 p b^2 + sum over blocks of  sum_i c_i loss(m_i)        from above
    dual    >=  sum over blocks of the gain  -  1/2 |sum over blocks of u|^2            from below

`block_terms` encloses what one block adds, wherever the block is. Those of two blocks are added,
and `gap_of_terms` makes the certificate. The sum of y alpha must be exactly zero where the bias is
free: a block hands its own over as a few floats that add up to it without rounding.
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
from separatrix.certificates.data_pass import one_pass
from separatrix.certificates.duality_gap import LOSSES, DualityGap
from separatrix.certificates.enclosed_sums import WAYS
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.objective_bounds import (
    NOTHING,
    gain,
    half_square,
    is_feasible,
    losses,
    norm,
    start_of,
)
from separatrix.certificates.two_bounds import SLACK, WIDE, stated
from separatrix.checker import Refused
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

    loss: Enclosure  # the sum of c_i loss(m_i)
    gain: Enclosure  # the first sum of the dual
    balance: tuple[float, ...]  # floats whose exact sum is that of y_i a_i
    total: Enclosure  # u

    def __add__(self, other: BlockTerms) -> BlockTerms:
        """Return what both stretches of rows add together."""
        return BlockTerms(
            loss=self.loss + other.loss,
            gain=self.gain + other.gain,
            balance=(*self.balance, *other.balance),
            total=self.total + other.total,
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
    way: str = "plain",
) -> BlockTerms:
    """Enclose what these rows add."""
    if not np.isfinite(costs).all():
        raise Refused("costs of rows that come in blocks must be finite")
    seen = one_pass(X, signs, w, bias, alpha, start_of(loss, costs), way, WIDE if slack else 1.0)
    lost = losses(loss, seen.short, costs)
    if not is_feasible(loss, costs, alpha):
        return BlockTerms(lost, NOTHING, (math.nan,), seen.total)
    return BlockTerms(lost, gain(loss, costs, alpha), exact_parts(signs * alpha), seen.total)


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
    primal, dual = norm(w, bias, penalty or 0.0) + terms.loss, NOTHING
    balance = math.fsum(terms.balance) if not any(map(math.isnan, terms.balance)) else math.nan
    if terms.gain.low > -math.inf and not (penalty == 0.0 and balance != 0.0):
        dual = terms.gain - half_square(terms.total)
        if penalty:
            lacking = Enclosure.exact(np.array(terms.balance)).sum().size()
            dual = dual - (lacking / penalty * lacking).halved()
    above, below = stated(primal, dual, slack)
    return DualityGap(
        primal=above,
        dual=below,
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
    # The plain way first; then compensated sums, in case rounding is what hides the claim.
    return any(_is_found_again(proof, rows, way) for way in WAYS[:2])


def _is_found_again(proof: DualityGap, rows: Any, way: str) -> bool:
    w, bias = proof.weights[1:], float(proof.weights[0]) if proof.intercept else 0.0
    joined, begin = None, 0
    for X, codes in rows.blocks():
        own = slice(begin, begin + len(codes))
        begin = own.stop
        signs = np.where(codes == proof.positive, 1.0, -1.0)
        costs, alpha = np.asarray(proof.costs[own]), np.asarray(proof.multipliers[own])
        terms = block_terms(X, signs, costs, proof.loss, w, bias, alpha, 0.0, way)
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
