"""One pass over the data for the multinomial machine: losses, entropies, and sums of rows.

At weights W and biases b row i gives every class but its own the probability q_ik that softmax
gives it, rounded as the machine rounds it, and its own class what is left of 1. Any such numbers
are a point of the dual problem (`softmax_gap`): so only what is summed from them has an error, and
of softmax itself nothing is trusted. Each error is bounded as in `data_pass`.

Rows may be NumPy's, SciPy's sparse, or on a device (torch): they are met with operators and a few
functions that have the same names in both libraries, where they lie, in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._device import torch_module
from separatrix._sparse import sparse as sp
from separatrix.certificates.data_pass import Total, blocks, gamma
from separatrix.certificates.enclosure import LEAST, UNIT, Enclosure, exp
from separatrix.problem.device_rows import on_device

__all__ = ["SoftmaxPass", "softmax_pass"]

_ENTRIES_AT_A_TIME = 1 << 20
_DEVICE_ENTRIES = 1 << 26


@dataclass(frozen=True, eq=False)
class SoftmaxPass:
    """What one pass tells; per row from above or from below, sums with a bound on their error.

    With a_ik = c_i (1[k = y_i] - q_ik) and a centre m: `pulls` is sum_i a_ik (x_i - m), d x K, and
    `excess` is sum_i a_ik. `spread` bounds the length of the error of `pulls` as one long vector,
    beyond `errors`. `members` and `all_rows` are sum c_i (x_i - m) over a class and over all.
    """

    losses: np.ndarray  # from above
    entropies: np.ndarray  # from below
    pulls: np.ndarray
    errors: np.ndarray | float
    spread: float
    excess: np.ndarray
    excess_errors: np.ndarray
    members: np.ndarray
    all_rows: np.ndarray
    reach: float  # at least sum_i c_i |x_i - m|
    height: float  # rows in the largest block


def softmax_pass(
    X: Any,
    codes: np.ndarray,
    costs: np.ndarray,
    W: np.ndarray,
    bias: np.ndarray,
    centred: bool,
    by_column: bool,
    wide: float = 1.0,
) -> SoftmaxPass:
    """Return what W (d x K) and the biases come to on the data, in float64.

    By column, every entry's own absolute sum bounds its error; otherwise lengths of rows do. Losses
    lie above the true ones by `wide` times what rounding can do.
    """
    (n, d), K = X.shape, W.shape[1]
    xp, told = _home(X)
    put = told(W), told(bias)
    centre = told(_mean(X, xp, n) if centred and not sp.issparse(X) else np.zeros(d))
    losses, entropies, lengths, pushes = (np.empty(n) for _ in range(4))
    pulls, excess = Total((d, K)), Total(K)
    for total in (pulls, excess):
        total.value, total.carried = told(total.value), told(total.carried)
    members, sizes = told(np.zeros((K, d))), told(np.zeros((d, K)))
    excess_sizes = told(np.zeros(K))
    most = 0.0
    length_W = np.sqrt((W * W).sum(axis=0)).max(initial=0.0) * (1.0 + gamma(d + 4.0))
    length_W += math.sqrt(LEAST) * (d + 2.0)
    for rows, block, entries in _blocks(X, xp, K):
        height = float(rows.stop - rows.start)
        most = max(most, height)
        own, cost = told(codes[rows]), told(costs[rows])
        far = _off(xp, block, put, entries, length_W, by_column)
        shares, loss, entropy = _tile(xp, block, own, cost, *put)
        losses[rows] = _from_above(_back(loss), _back(far), K, wide)
        entropies[rows] = _back(entropy)
        if not sp.issparse(block):
            block = block - centre
        lengths[rows] = _lengths(xp, block, d)
        pushes[rows] = np.sqrt(_back((shares * shares).sum(axis=1)))
        pulls.add(block.T @ shares)
        excess.add(shares.sum(axis=0))
        excess_sizes += abs(shares).sum(axis=0)
        if by_column:
            sizes += abs(block).T @ abs(shares)
        members += _class_sums(xp, block, own, cost, shares)
    # The share of a row's own class is a rounded sum of K terms; the centred row is rounded once.
    share = gamma(most + K + 8.0) + pulls.share
    errors: np.ndarray | float = 0.0
    spread = 8.0 * (n + 2.0) * (d + 2.0) * K * LEAST
    reach = float(costs @ lengths) * (1.0 + gamma(n + 4.0))
    pulled = _back(pulls.value + pulls.carried)
    if by_column:
        errors = 1.01 * (share * _back(sizes) + 2.0 * UNIT * abs(pulled))
    else:
        spread += 1.02 * share * float(pushes @ lengths) * (1.0 + gamma(n + K + 8.0))
        spread += 4.0 * UNIT * float(np.linalg.norm(pulled))
    sums = _back(members)
    return SoftmaxPass(
        losses=losses,
        entropies=entropies,
        pulls=pulled,
        errors=errors,
        spread=spread,
        excess=_back(excess.value + excess.carried),
        excess_errors=1.01 * (gamma(most + K + 8.0) + excess.share) * _back(excess_sizes)
        + LEAST * n,
        members=sums,
        all_rows=sums.sum(axis=0),
        reach=reach,
        height=most,
    )


def _tile(xp: Any, block: Any, own: Any, cost: Any, W: Any, bias: Any) -> tuple[Any, Any, Any]:
    """Return a (rows x K), the losses as computed, and entropies from below."""
    K = W.shape[1]
    scores = block @ W
    scores += bias
    rows = xp.arange(len(own), **_where(xp, scores))
    scores -= scores[rows, own][:, None]
    scores[rows, own] = -math.inf
    top = xp.amax(scores, axis=1)
    top = xp.where(top > 0.0, top, 0.0 * cost)
    scores -= top[:, None]
    parts = xp.exp(scores)
    beside = parts.sum(axis=1)
    whole = beside + xp.exp(-top)
    loss = xp.where(top > 0.0, top + xp.log(whole), xp.log1p(beside))
    # Scaled down by more than rounding, so that the others never take all of 1 and more.
    parts *= ((1.0 - (K + 8.0) * UNIT) / whole)[:, None]
    others = parts.sum(axis=1)
    scores = xp.log(xp.maximum(parts, xp.full_like(parts[:1, :1], LEAST)), out=scores)
    scores *= parts  # p log p; of p = 0 it is 0
    entropy = -scores.sum(axis=1) * (1.0 - 2.0 * (K + 16.0) * UNIT)
    wide = gamma(K + 4.0)
    low, high = _own_entropy(xp, others * (1.0 - wide)), _own_entropy(xp, others * (1.0 + wide))
    entropy += xp.where(low < high, low, high) * (1.0 - 32.0 * UNIT)
    parts *= -cost[:, None]
    parts[rows, own] = cost * others
    return parts, loss, entropy


def _own_entropy(xp: Any, others: Any) -> Any:
    """Return -q log q of the own class, q being what the others leave of 1."""
    left = xp.where(others < 1.0, others, 0.0 * others)
    return -(1.0 - left) * xp.log1p(-left)


def _from_above(losses: np.ndarray, off: np.ndarray, K: int, wide: float) -> np.ndarray:
    """Return losses that scores off by so much do not exceed.

    A computed loss lacks a few units, and a least number for every power that vanished. With every
    score off by e it grows by 2e at most, and to e^(2e) of itself at most.
    """
    with np.errstate(all="ignore"):
        lost = wide * ((4.0 * K + 64.0) * UNIT * abs(losses) + (K + 4.0) * LEAST)
        true = Enclosure.around(losses, lost).at_least(0.0)
        twice = Enclosure.exact(off) * (2.0 * wide)
        grown = (true + twice).at_most(true * exp(twice)).high
    return np.where(np.isfinite(grown), grown, math.inf)


def _off(
    xp: Any, block: Any, put: tuple[Any, Any], entries: float, length_W: float, by_column: bool
) -> Any:
    """Return how far any computed score of a row may be from the true one."""
    W, bias = put
    if by_column:
        size = xp.amax(abs(block) @ abs(W) + abs(bias), axis=1)
    else:
        size = _row_lengths(xp, block) * length_W + float(abs(bias).max()) * 1.01
    return 1.02 * gamma(entries + 16.0) * size + 8.0 * (block.shape[1] + 2.0) * LEAST


def _row_lengths(xp: Any, block: Any) -> Any:
    if sp.issparse(block):
        return np.sqrt(np.asarray(block.multiply(block).sum(axis=1)).ravel())
    return xp.sqrt((block * block).sum(axis=1))


def _lengths(xp: Any, block: Any, d: int) -> np.ndarray:
    """Return lengths of rows, from above."""
    lengths = _back(_row_lengths(xp, block))
    return np.asarray(lengths * (1.0 + gamma(d + 4.0)) + math.sqrt(LEAST) * (d + 2.0))


def _class_sums(xp: Any, block: Any, own: Any, cost: Any, room: Any) -> Any:
    """Return sum c_i x_i over each class, K x d; `room` (rows x K) is written over."""
    K = room.shape[1]
    if xp is np:
        marks = sp.csr_array((cost, (own, np.arange(len(own)))), shape=(K, len(own)))
        sums = marks @ block
        return np.asarray(sums.toarray() if sp.issparse(sums) else sums)
    # A product with ones in their places is many times faster there than adding row by row.
    room.zero_()
    room[xp.arange(len(own), device=own.device), own] = cost
    return (block.T @ room).T


def _mean(X: Any, xp: Any, n: int) -> np.ndarray:
    """Return about the mean of the rows: any centre is right, and a near one loses no digits."""
    sums = [_back(block.sum(axis=0)) for _, block, _ in _blocks(X, xp, 1)]
    mean = np.sum(sums, axis=0) / max(n, 1)
    return np.where(np.isfinite(mean), mean, 0.0)


def _blocks(X: Any, xp: Any, K: int) -> Iterator[tuple[slice, Any, float]]:
    """Yield blocks of rows in float64, on the device where they lie."""
    if xp is np:
        yield from blocks(X, max(1, _ENTRIES_AT_A_TIME * X.shape[1] // max(X.shape[1], K)))
        return
    n, d = X.shape
    step = max(1, _DEVICE_ENTRIES // max(d, K))
    for begin in range(0, n, step):
        rows = slice(begin, min(n, begin + step))
        yield rows, X[rows].to(dtype=xp.float64), float(d)


def _home(X: Any) -> tuple[Any, Any]:
    """Return the library whose arrays X are, and what puts an array beside X."""
    if not on_device(X):
        return np, lambda array: array
    xp = torch_module()
    return xp, lambda array: xp.asarray(array, device=X.device)


def _where(xp: Any, array: Any) -> dict[str, Any]:
    return {} if xp is np else {"device": array.device}


def _back(array: Any) -> np.ndarray:
    """Return the array as NumPy's, in this machine's memory."""
    return np.asarray(array if isinstance(array, np.ndarray) else array.cpu().numpy())
