"""How far a multinomial model is from the optimum, proved from the data alone.

`problem/many_classes.py` states the objective and its dual, docs/methods/multinomial.md the dual
point: softmax of the scores. Without a ridge the pulls u take sum_jk |u_jk| B_jk in place of
1/2 sum |u|^2, for weights of sizes up to B (`box_around`). Where the biases are free, a small share
t of one distribution v mends sums r_k that are not 0, with t v_k sum_i c_i = t N_k + (1 - t) r_k
>= 0, N_k the sum of c_i in class k.

In one pass row i gives every class but its own the probability q_ik of softmax, as it is rounded,
and its own class what is left of 1. Any such numbers are a dual point if they leave something of 1,
which is checked: so only what is summed from them has an error. exp and log are trusted to
`TRUSTED` units, for there are as many values as rows and classes.

Rows may be NumPy's, SciPy's sparse, or on a device (torch): they are met with operators and a few
functions that have the same names in both libraries, where they lie, in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix._device import on_host, torch_module
from separatrix._sparse import sparse as sp
from separatrix.certificates.duality_gap import (
    NOTHING,
    WITHIN,
    box_around,
    half_square,
    penalty_of_biases,
)
from separatrix.certificates.enclosed_functions import TRUSTED_UNITS, exp, require_functions
from separatrix.certificates.enclosed_sums import dot_error
from separatrix.certificates.enclosure import LEAST, LEAST_NORMAL, Enclosure, sum_of
from separatrix.certificates.multiclass_gap import WeightsByClass, losses_of
from separatrix.certificates.two_bounds import Found
from separatrix.checker.codec import require
from separatrix.problem.device_rows import blocks
from separatrix.problem.signed import on_device

_ENTRIES_AT_A_TIME = 1 << 18
_SPARSE_ENTRIES = 1 << 22
_DEVICE_ENTRIES = 1 << 26
_ROWS_AT_A_TIME = 1 << 14


@dataclass(frozen=True, eq=False)
class SoftmaxPass:
    """What one pass tells, with a_ik = c_i (1[k = y_i] - q_ik) and a centre m."""

    losses: np.ndarray  # from above
    entropies: np.ndarray  # from below
    others: np.ndarray  # sum of q_ik over the other classes, from above
    pulls: Enclosure  # sum_i a_ik (x_i - m), d x K
    excess: Enclosure  # sum_i a_ik
    all_rows: Enclosure  # sum_i c_i (x_i - m)
    members: Enclosure  # the same over each class, d x K


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxGap(WeightsByClass):
    """Two bounds for the weights of the multinomial model.

    `ridge` is 1, or 0 where no |w_k|^2 is charged for (maximum likelihood); then `dual` bounds all
    weights up to 1000 times those found, or 1000 over the column's mean size.
    """

    kind = "softmax-gap"

    ridge: float = 1.0

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        super().require_sound()
        require(self.ridge in (0.0, 1.0), "ridge must be 0 or 1")

    def _sentence(self) -> str:
        return self._in_words(
            f"{len(self.classes)} weight vectors{'' if self.ridge else WITHIN} lower"
        )

    def _found(self, X: Any, codes: np.ndarray, wide: float) -> Iterator[Found]:
        """Bound errors for all classes at once, which is cheaper, and then class by class.

        A claim is made of exact softmax too, which the stand-alone checker has, if that is enough.
        """
        penalty, costs = self._penalty, self.costs
        box = None if self.ridge else box_around(X, self._W, costs)
        ways = [(False, False), (True, False)]
        if wide != 1.0:
            ways = [(False, True), (True, True), (True, False)]
        for by_column, of_exact in ways:
            enclosed = self.one_pass(X, codes, by_column, wide, of_exact=of_exact)
            losses = Enclosure(np.zeros(len(codes)), enclosed.losses)
            primal = self._primal(losses, self.ridge)
            if penalty == 0.0:
                dual = _mended_dual(enclosed, codes, costs, wide, box)
            else:  # that of softmax itself
                dual = gain_of(enclosed, costs) - _spent(enclosed.pulls, box)
                if penalty:
                    dual = dual - penalty_of_biases(enclosed.excess, penalty)
            yield Found(primal, dual.at_least(0.0))  # no loss is below 0

    def one_pass(
        self,
        X: Any,
        codes: np.ndarray,
        by_column: bool,
        wide: float = 1.0,
        share: float = 1.0,
        of_exact: bool = False,
    ) -> SoftmaxPass:
        """Return what weights and biases come to on the data, in float64.

        Errors are bounded for every class by itself where it says `by_column`, else by the largest
        size of an entry for all classes, which is cheaper; and made `wide` times as large. The
        other classes of a row get a share of what softmax gives them: as it is computed, or
        `of_exact` softmax too, so that whoever computes it in another way finds the same.
        """
        require_functions()
        n, K = X.shape[0], len(self.weights)
        xp, put = _home(X)

        def sizes_of(factors: Any) -> Any:
            return abs(factors) if by_column else xp.amax(abs(factors), axis=1)[:, None]

        weights, biases = put(self._W), put(self._biases)
        weight_sizes, bias_sizes = sizes_of(weights), sizes_of(biases[None])
        centred = self._penalty == 0.0 and not sp.issparse(X)
        centre = put(_mean(X, xp, n)) if centred else None
        own_classes, costs = put(codes), put(self.costs)
        per_row: list[tuple[Any, ...]] = []
        sums: list[Any] = []
        heights = []
        for rows, block in _blocks(X, xp, K):
            own, cost, sizes = own_classes[rows], costs[rows], _sizes(block)
            reach = xp.amax(sizes @ weight_sizes + bias_sizes, axis=1)
            # Scores are rounded again where the own one is taken off, and the largest.
            far = dot_error(_most_entries(block) + 8.0, reach)
            shares, *each = _tile(xp, block, own, cost, weights, biases, share)
            doubt = _doubt(xp, far, cost, K) if of_exact else xp.zeros_like(far)
            per_row.append((*each, far, doubt))
            if centre is not None:
                block = block - centre
                sizes = abs(block)
            wider = None
            if of_exact:  # a sum of so many terms is taken to err by a larger share of their sizes
                wider = (1.0 + doubt / dot_error(float(block.shape[0]), 1.0))[:, None]
            found = _sums(xp, block, sizes, own, cost, shares, sizes_of(shares), wider)
            sums = [a + b for a, b in zip(sums, found, strict=True)] if sums else found
            heights.append(block.shape[0])
        whole = [on_host(xp.concatenate(parts)) for parts in zip(*per_row, strict=True)]
        loss, entropy, others, far, doubt = whole
        losses, entropies, taken = np.empty(n), np.empty(n), np.empty(n)
        for begin in range(0, n, _ROWS_AT_A_TIME):
            part = slice(begin, begin + _ROWS_AT_A_TIME)
            losses[part] = _from_above(loss[part], far[part], K, wide)
            entropies[part], taken[part] = _from_below(
                entropy[part], others[part], K, wide * doubt[part]
            )
        # No product is added up more often than a block has rows and the data have blocks.
        pulls, *rest = _enclosed(sums, n, float(max(heights) + len(heights)), wide)
        if not (taken <= 1.0).all():
            pulls = Enclosure.around(pulls.middle, math.inf)
        return SoftmaxPass(losses, entropies, taken, pulls, *rest)


def gain_of(enclosed: SoftmaxPass, costs: np.ndarray) -> Enclosure:
    """Bound sum_i c_i H(q_i) from below; no entropy is below 0."""
    entropies = np.where(np.isnan(enclosed.entropies), 0.0, np.maximum(enclosed.entropies, 0.0))
    return losses_of(Enclosure.exact(entropies), costs)


class Mending(NamedTuple):
    """What makes the sums of softmax zero: the share t of one distribution v for all rows."""

    share: Enclosure
    rest: Enclosure
    mix: Enclosure  # t v_k

    def of(self, pulls: Enclosure, members: Enclosure, rows: Enclosure) -> Enclosure:
        """Return the pulls on columns with the sums mended."""
        return pulls * self.rest + members * self.share - rows[:, None] * self.mix


def mending(
    enclosed: SoftmaxPass, codes: np.ndarray, costs: np.ndarray, wide: float
) -> Mending | None:
    """Return how the sums of softmax are mended; None where they cannot be."""
    K, excess = len(enclosed.excess.low), enclosed.excess
    # Numbers of two bytes are sorted by counting.
    order = np.argsort(codes.astype(np.uint16) if K < 1 << 16 else codes, kind="stable")
    by_class = np.split(costs[order], np.bincount(codes, minlength=K).cumsum()[:-1])
    masses = Enclosure.stacked([Enclosure.exact(own).sum() for own in by_class])  # N_k
    if not (excess.is_finite and (masses.low > 0.0).all()):
        return None
    # t N_k + (1 - t) r_k >= 0 for every k, whatever r_k is within its enclosure.
    lacking = (-excess).at_least(0.0)
    shares = lacking / (masses + lacking)
    share = Enclosure.exact(min(1.0, float(shares.high.max())))
    if wide != 1.0:
        # Sums added up otherwise may be known better, and be mended by a smaller share.
        share = Enclosure(np.minimum(share.low, max(0.0, float(shares.low.max()))), share.high)
    rest = 1.0 - share
    return Mending(share, rest, (masses * share + excess * rest) / masses.sum())


def _mended_dual(
    enclosed: SoftmaxPass, codes: np.ndarray, costs: np.ndarray, wide: float, box: Any = None
) -> Enclosure:
    """Enclose the dual objective of softmax with its sums mended."""
    mended = mending(enclosed, codes, costs, wide)
    if mended is None:
        return NOTHING
    sums = enclosed.pulls, enclosed.members, enclosed.all_rows
    if box is None:
        spent = sum_of(lambda *parts: mended.of(*parts).square(), *sums).halved()
    else:
        spent = _spent(mended.of(*sums), box)
    return gain_of(enclosed, costs) * mended.rest - spent


def _spent(pulls: Enclosure, box: np.ndarray | None) -> Enclosure:
    """Enclose what pulls on the weights take from the dual: with a ridge, or over a box."""
    if box is None:
        return half_square(pulls)
    return (pulls.size() * box).sum() if np.isfinite(box).all() else Enclosure.exact(math.inf)


def _tile(
    xp: Any, block: Any, own: Any, cost: Any, W: Any, bias: Any, share: float
) -> tuple[Any, Any, Any, Any]:
    """Return a (rows x K), and as computed: losses, entropies of the others, and their sums."""
    K, own = W.shape[1], _places(xp, own)
    scores = block @ W
    scores += bias
    scores -= scores[own][:, None]
    scores[own] = -math.inf
    top = xp.amax(scores, axis=1)
    top = xp.where(top > 0.0, top, 0.0 * cost)
    scores -= top[:, None]
    parts = xp.exp(scores)
    beside = parts.sum(axis=1)
    whole = beside + xp.exp(-top)
    loss = xp.where(top > 0.0, top + xp.log(whole), xp.log1p(beside))
    # Divided by more than their sum, the others never take all of 1 and more.
    parts *= (share / (whole + dot_error(2.0 * K + TRUSTED_UNITS, whole)))[:, None]
    others = parts.sum(axis=1)
    scores = xp.log(xp.maximum(parts, xp.full_like(parts[:1, :1], LEAST)), out=scores)
    scores *= parts  # p log p; of p = 0 it is 0
    entropy = -scores.sum(axis=1)
    parts *= -cost[:, None]
    parts[own] = cost * others
    return parts, loss, entropy, others


def _from_above(losses: np.ndarray, off: np.ndarray, K: int, wide: float) -> np.ndarray:
    """Return losses that scores off by so much do not exceed.

    A computed loss is a logarithm of K powers, and lacks a least number for every power that
    vanished. With every score off by e it grows by 2e at most, and to e^(2e) of itself at most.
    """
    lost = wide * dot_error(4.0 * (K + TRUSTED_UNITS), abs(losses))
    true = Enclosure.around(losses, lost).at_least(0.0)
    twice = Enclosure.exact(off) * (2.0 * wide)
    grown = (true + twice).at_most(true * exp(twice)).high
    return np.where(np.isfinite(grown), grown, math.inf)


def _doubt(xp: Any, off: Any, cost: Any, K: int) -> Any:
    """Return by what share of itself a computed softmax can be off: its scores are, by so much.

    It is infinite where nothing is known, and 0 for rows that do not count.
    """
    share = xp.expm1(2.0 * off) + dot_error(4.0 * (K + TRUSTED_UNITS), 1.0)
    share = xp.where(share < 0.5, share, xp.full_like(share, math.inf))
    return xp.where(cost > 0.0, share, xp.zeros_like(share))


def _from_below(
    entropy: np.ndarray, others: np.ndarray, K: int, doubt: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return entropies from below, and from above what the other classes of each row take.

    A computed entropy is a sum of K products with a logarithm; the own class has q = 1 - others.
    Every q of the other classes may be off by a share of itself, its `doubt`. Then -q log q is off
    by at most that share of -q log q + 2 q.
    """
    off = doubt * others
    taken = Enclosure.around(others, dot_error(float(K), others)).at_least(0.0)
    # The others of exact softmax never take more than 1.
    far = Enclosure.around(others, off).at_least(0.0).at_most(1.0)
    taken = Enclosure(np.minimum(taken.low, far.low), np.maximum(taken.high, far.high))
    own = _own_entropy(taken.low).at_most(_own_entropy(taken.high))  # it is concave
    lost = dot_error(K + TRUSTED_UNITS, entropy) + doubt * entropy + 2.0 * off
    return (Enclosure.around(entropy, lost) + own).low, taken.high


def _own_entropy(others: np.ndarray) -> Enclosure:
    """Enclose -q log q for q = 1 - others."""
    left = np.minimum(others, 1.0)
    found = -(1.0 - left) * np.log1p(-np.where(left < 1.0, left, 0.0))
    return Enclosure.around(found, dot_error(TRUSTED_UNITS + 3.0, found))


def _sums(
    xp: Any, block: Any, sizes: Any, own: Any, cost: Any, shares: Any, share_sizes: Any, wider: Any
) -> list[Any]:
    """Return the sums of one block as computed: pulls, excess and members, each with its size.

    A product that vanished is as good as a least normal number. Sizes of shares are made `wider`
    where the shares themselves are in doubt.
    """
    height, own_sizes = float(block.shape[0]), abs(shares)
    if wider is not None:
        lost = (cost * LEAST_NORMAL)[:, None]  # of a probability that vanished
        share_sizes, own_sizes = share_sizes * wider + lost, own_sizes * wider + lost
    pulls = block.T @ shares, sizes.T @ (share_sizes + LEAST_NORMAL)
    excess = shares.sum(axis=0), own_sizes.sum(axis=0) + height * LEAST_NORMAL
    return [*pulls, *excess, _class_sums(xp, block, own, cost, shares), sizes.T @ cost]


def _enclosed(sums: list[Any], n: int, depth: float, wide: float) -> list[Enclosure]:
    """Enclose `pulls`, `excess`, `all_rows`, `members` of n rows.

    `depth` is how often a product is added up at the most. The share of a row's own class is a
    rounded sum of K terms, the others are rounded products, and a centred row is rounded once.
    """
    pulls, pull_sizes, excess, excess_sizes, members, reach = map(on_host, sums)
    rounded = len(excess) + 3.0

    def around(value: Any, size: Any, rounded: float) -> Enclosure:
        return Enclosure.around(value, wide * dot_error(depth + rounded, size + n * LEAST_NORMAL))

    return [
        around(pulls, pull_sizes, rounded),
        around(excess, excess_sizes, rounded),
        around(members.sum(axis=0), reach, rounded),
        around(members.T, reach[:, None], 1.0),
    ]


def _class_sums(xp: Any, block: Any, own: Any, cost: Any, room: Any) -> Any:
    """Return sum c_i x_i over each class, K x d; `room` (rows x K) is written over."""
    K = room.shape[1]
    if xp is np:
        marks = sp.csr_array((cost, (own, np.arange(len(own)))), shape=(K, len(own)))
        sums = marks @ block
        return np.asarray(sums.toarray() if sp.issparse(sums) else sums)
    # A product with ones in their places is many times faster there than adding row by row.
    room.zero_()
    room[_places(xp, own)] = cost
    return (block.T @ room).T


def _places(xp: Any, own: Any) -> tuple[Any, Any]:
    """Return where each row's own class stands."""
    return (np.arange(len(own)) if xp is np else xp.arange(len(own), device=own.device)), own


def _sizes(block: Any) -> Any:
    """Return absolute entries; sparse rows without a negative one are their own."""
    return block if sp.issparse(block) and not block.data.min(initial=0.0) < 0.0 else abs(block)


def _most_entries(block: Any) -> float:
    """Return how many entries the fullest row has.

    Zeros round nothing: the same rows stored densely have the same bound.
    """
    if sp.issparse(block):
        return float(np.diff(block.indptr).max(initial=0))
    if isinstance(block, np.ndarray) and np.count_nonzero(block) < 0.9 * block.size:
        return float(np.count_nonzero(block, axis=1).max(initial=0))
    return float(block.shape[1])


def _mean(X: Any, xp: Any, n: int) -> np.ndarray:
    """Return about the mean of the rows: any centre is right, and a near one loses no digits."""
    sums = [on_host(block.sum(axis=0)) for _, block in _blocks(X, xp, 1)]
    mean = np.sum(sums, axis=0) / max(n, 1)
    return np.where(np.isfinite(mean), mean, 0.0)


def _blocks(X: Any, xp: Any, K: int) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of rows in float64, on the device where they lie."""
    n, d = X.shape
    if xp is np:
        entries = _SPARSE_ENTRIES if sp.issparse(X) else _ENTRIES_AT_A_TIME
        yield from blocks(X, max(1, entries * d // max(d, K)))
        return
    step = max(1, _DEVICE_ENTRIES // max(d, K))
    for begin in range(0, n, step):
        rows = slice(begin, min(n, begin + step))
        yield rows, X[rows].to(dtype=xp.float64)


def _home(X: Any) -> tuple[Any, Any]:
    """Return the library whose arrays X are, and what puts an array beside X."""
    if not on_device(X):
        return np, lambda array: array
    xp = torch_module()
    return xp, lambda array: xp.asarray(array, device=X.device)
