"""How far sparse weights are from the optimum, and which columns are zero there: both proved.

    primal(w, b)  =  l |w|_1 + r/2 |w|^2 + sum_i c_i loss(y_i (w.x_i + b))
    dual(a)       =  sum_i -c_i loss*(-a_i/c_i) - sum_j max(0, |u_j| - l)^2 / (2r)

u = sum_i a_i y_i x_i, and without a ridge r every |u_j| must be at most l. The dual point is a
`share` of the multipliers, which makes it feasible without rounding. Where columns have groups, the
root mean square over the group of column j stands in place of |w_j| and |u_j|, and N_j below is
the mean over the group.

Two dual points whose values differ by less than the gap are near each other, because the dual is
strongly concave: with a_i* the best point and p = a/c,

    squared hinge   sum_i (a_i - a_i*)^2 / c_i          <=  4 gap
    logistic        sum_i (a_i - a_i*)^2 / (c_i v_i)    <=  2 gap

v_i is the largest p (1 - p) between p_i and p_i*: at most 1/4, and less after a few rounds, for
|p_i - p_i*| <= sqrt(2 gap v_i / c_i). So u_j* is within sqrt(4 gap N_j) or sqrt(2 gap N_j) of u_j,
N_j the sum of c_i x_ij^2 or c_i v_i x_ij^2, about the weighted mean of the column where b is free.
Where u_j* cannot come to l, weight j is zero in every optimal w.

What rows add to both objectives of a logistic model, with one error bound for all of them.

    sum_i c_i log(1 + e^z_i)    changes by sum_i c_i d at most where every z_i changes by d
    sum_i c_i H(p_i)            changes by sum_i c_i H(d) at most where every p_i changes by d

The slope of log(1 + e^z) is at most 1. The entropy H of p and 1 - p is concave, and 0 at 0 and 1:
so H(p + d) <= H(p) + H(d), and the same from 1 - p - d on.

The bounds are wider than those of `duality_gap.terms_of`, and cost a third: the sizes of sums
are bounded from the sizes of columns, and functions are enclosed once for all rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.column_sizes import Sized, column_lengths, group_means
from separatrix.certificates.duality_gap import (
    NOTHING,
    DualityGap,
    Model,
    Terms,
    exact_parts,
    is_feasible,
    norm,
    terms_of,
)
from separatrix.certificates.enclosed_functions import entropies, entropy, softplus_values
from separatrix.certificates.enclosed_sums import dot_error, function_terms, ways_for
from separatrix.certificates.enclosure import (
    LEAST,
    Enclosure,
    above,
    below,
    require_denormals,
    safely,
    sum_of,
)
from separatrix.certificates.two_bounds import SLACK, WIDE, Found, TwoBounds, are_arrays, require
from separatrix.problem.signed import entries_of

# A check goes as far as docs/certificates.md says. To find what is claimed, half the rounds do.
ROUNDS_TO_CHECK, ROUNDS_TO_FIND = 4, 2
CLEARLY = 1e-9  # of l: what is claimed is found again by other sums
_ROUNDINGS = 16.0
_FEWER = 3  # times fewer columns are taken out of their block
ROUGH = "rough"  # to sum with one error bound for all rows: the first way of all


class Near(NamedTuple):
    """A dual point, as one way to sum encloses it: what tells how near it the best one is."""

    data: Sized
    sizes: Enclosure  # of u, by column
    bound: float  # no more than the dual objective
    factor: Enclosure  # by which the gap is multiplied, rows weighted by c_i or c_i v_i
    p: tuple[np.ndarray, np.ndarray] | None = None  # from and to; None of the squared hinge


@dataclass(frozen=True, eq=False, kw_only=True)
class SparseClaim(TwoBounds):
    """Two bounds, and the columns that are zero in every optimum."""

    _one: ClassVar[str] = "one"  # an optimal what

    weights: np.ndarray
    ridge: float = 1.0
    bias_penalty: float = 0.0
    l1: float
    share: float = math.nan  # found while proving
    groups: tuple[int, ...] = field(default=(), repr=False)
    zeros: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64), repr=False)

    @classmethod
    def proved(
        cls, X: Any, sides: np.ndarray, *, slack: float = SLACK, tol: float = 0.0, **points: Any
    ) -> Self:
        """Return the claim that the data prove at these points, with the columns proved zero.

        `find_zeros=False` leaves the columns out: they cost as much as both bounds.
        """
        find_zeros, X = points.pop("find_zeros", True), Sized.of(X)
        points_only, bounds = cls._proving(X, sides, slack, tol, points)
        shown = bounds.shown()
        near = shown.pop("near", None)
        claim = points_only.stating(bounds.primal, bounds.dual, slack, **shown)
        if near is None or not (claim.holds and find_zeros):
            return claim
        found = claim._proved_zero(near, WIDE if slack else 1.0, CLEARLY if slack else 0.0)
        if (found & np.atleast_2d(claim.weights)[:, 1:].any(axis=0)).any():  # rounding left it
            points["weights"] = np.where(np.append(False, found), 0.0, claim.weights)
            return cls.proved(X, sides, slack=slack, tol=tol, **points)
        return replace(claim, zeros=np.flatnonzero(found))

    def _require_sparse(self) -> None:
        """Refuse penalties, a share, groups or zeros that no such claim has."""
        groups, zeros, width = self.groups, self.zeros, self.n_features
        require(
            0.0 < self.l1 < math.inf and 0.0 <= self.ridge < math.inf and self.bias_penalty == 0.0,
            "l1 must be above 0, ridge at least 0, and the bias free",
        )
        require(0.0 <= self.share <= 1.0, "share must be between 0 and 1")
        require(
            not groups
            or (
                len(groups) == width
                and all(type(number) is int for number in groups)
                and sorted(set(groups)) == list(range(len(set(groups))))
            ),
            "groups must number the group of each column, from 0 without a gap",
        )
        require(
            are_arrays(zeros)
            and zeros.dtype == np.int64
            and zeros.ndim == 1
            and bool((zeros[:-1] < zeros[1:]).all())
            and (not len(zeros) or (zeros[0] >= 0 and zeros[-1] < width))
            and not self.weights[..., 1:][..., zeros].any(),
            "zeros must number columns whose weight is 0, in their order",
        )

    def _is_within(self, found: Found) -> bool:
        if not super()._is_within(found):
            return False
        if not len(self.zeros):
            return True
        return bool(self._proved_zero(found.shown()["near"], 1.0, 0.0)[self.zeros].all())

    def _proved_zero(self, near: Near, wide: float, clearly: float) -> np.ndarray:
        """Return for which columns no dual point as good as the best has a size of l."""
        # A bound below 0 may be stated as 0, which is not that of this point.
        gap = (Enclosure.exact(self.primal) - min(self.dual, near.bound)).at_least(0.0)
        with np.errstate(invalid="ignore"):
            room = (self.l1 * (1.0 - clearly) - near.sizes).low
        data, costs, bias = near.data, np.asarray(self.costs), bool(self.intercept)
        numbers = np.array(self.groups) if self.groups else None
        most = costs if near.p is None else above(0.25 * costs)
        found = _reach(data.lengths(most, bias, wide), gap * near.factor, numbers) < room
        # All columns of a group have the same room and the same reach.
        left = np.flatnonzero(~found & (room > 0.0))
        if near.p is None or not len(left):
            return found
        weights = _row_weights(costs, gap, *near.p, ROUNDS_TO_FIND if clearly else ROUNDS_TO_CHECK)
        few = _FEWER * len(left) < data.shape[1] and not sp.issparse(data.X)
        lengths = column_lengths(data, weights, bias, wide, left if few else None)
        lengths = lengths if few else lengths[left]
        if numbers is not None:
            numbers = np.unique(numbers[left], return_inverse=True)[1]
        found[left] = _reach(lengths, gap * near.factor, numbers) < room[left]
        return found

    def _in_words(self, what: str, assuming: str = "") -> str:
        said = super()._in_words(what, assuming)
        if not (self.holds and len(self.zeros)):
            return said
        count = f"{len(self.zeros):,} of {self.n_features:,} columns"
        return f"{said}; {count} are zero in every optimal {self._one}"


@dataclass(frozen=True, eq=False, kw_only=True)
class SparseGap(SparseClaim, DualityGap):
    """The least objective lies between `dual` and `primal`, and columns `zeros` are zero there.

    `l1` is the factor of |w|_1 and `ridge` that of 1/2 |w|^2. The dual point is `share` times the
    multipliers. A column in `zeros` has the weight 0 in every optimal w, not only in this one.
    `groups` numbers the group of each column; it is empty where there are none.
    """

    kind = "sparse-gap"
    _hard_losses: ClassVar[tuple[str, ...]] = ()

    @property
    def radius(self) -> float:
        """How far the best dual point can be, rows weighted by 1/c: the radius of the sphere."""
        gap = (Enclosure.exact(self.primal) - self.dual).at_least(0.0)
        return float((gap * (4.0 if self.loss == "squared_hinge" else 0.5)).root().high)

    def check(self, X: Any, y: Any = None) -> bool:
        """Prove both bounds and every zero again from the data; partitions are refused."""
        return not hasattr(X, "stored") and super().check(X, y)

    def _require_penalties(self) -> None:
        require(self.loss != "hinge", "sparse weights have the squared hinge or the logistic loss")
        self._require_sparse()

    def _sizes(self, values: Enclosure) -> Enclosure:
        """Enclose |v_j| of every column, or the root mean square over its group."""
        if not self.groups:
            return values.size()
        return root_means(values.square(), np.array(self.groups))

    def _found(self, X: Any, signs: np.ndarray | None, wide: float) -> Iterator[Found]:
        assert signs is not None, "partitions are refused"
        data, share_of, is_logistic = Sized.of(X), cache(self._share_of), self.loss == "logistic"
        points, ways = (signs, self.costs, self.multipliers), ways_for(entries_of(data.X))
        if is_logistic and data.is_summed_whole:
            ways = (ROUGH, *ways)
        for way in ways:
            if way == ROUGH:
                found = rough_terms(self._model, data, *points, wide, share_of)
            else:
                found = terms_of(self._model, data.X, *points, way, wide, share_of=share_of)
            terms, margins = found
            share, sizes = share_of(terms.total), self._sizes(terms.total)
            dual = self._dual(terms, sizes, share)
            near = Near(data, sizes * share, dual.low, Enclosure.exact(4.0))
            if is_logistic:
                p = self.multipliers / self.costs * share
                near = near._replace(factor=Enclosure.exact(2.0), p=(p, p))
            shown = {"share": share, "margins": margins(), "near": near}
            yield Found(self._primal(terms), dual, partial(dict, shown))

    def _share_of(self, u: Enclosure) -> float:
        """Return the share that is claimed, or the largest up to 1 that is feasible."""
        if not math.isnan(self.share) or self.ridge:
            return 1.0 if math.isnan(self.share) else self.share
        sizes = self._sizes(u)
        if self._is_feasible(sizes, 1.0):
            return 1.0
        share = float((Enclosure.exact(self.l1) / float(sizes.high.max())).low)
        # The product by a share is rounded, too: by many units where it is below normal numbers.
        step = share - float(below(share))
        while share > 0.0 and not self._is_feasible(sizes, share):
            share, step = share - step, 2.0 * step
        return max(0.0, share)

    def _primal(self, terms: Terms) -> Enclosure:
        w = self._model.w
        used = w if self.groups else w[w != 0.0]
        lasso = self._sizes(Enclosure.exact(used)).sum() * self.l1
        spent = norm(used, 0.0, 0.0) * self.ridge if self.ridge else Enclosure.exact(0.0)
        return lasso + spent + terms.loss

    def _dual(self, terms: Terms, sizes: Enclosure, share: float) -> Enclosure:
        if terms.gain.high == -math.inf or math.fsum(terms.balance) != 0.0:
            return NOTHING
        if self._is_feasible(sizes, share):
            return terms.gain
        if self.ridge:
            excess = sum_of(Enclosure.square, (sizes * share - self.l1).at_least(0.0))
            return terms.gain - (excess / self.ridge).halved()
        if _most_of(sizes.low, share).low <= self.l1:  # a tighter way to sum may prove it
            return Enclosure(-math.inf, terms.gain.high)
        return NOTHING

    def _is_feasible(self, sizes: Enclosure, share: float) -> bool:
        """Whether a share of every size of u is at most l."""
        return bool(_most_of(sizes.high, share).high <= self.l1)

    def _sentence(self) -> str:
        return self._in_words("hyperplane lowers")


def _most_of(sizes: np.ndarray, share: float) -> Enclosure:
    """Enclose a share of the largest size: none of the others is above."""
    largest = Enclosure.exact(float(sizes.max(initial=0.0)))
    return largest if share == 1.0 else largest * share


def _reach(lengths: Enclosure, gap: Enclosure, numbers: np.ndarray | None) -> np.ndarray:
    """Return at least sqrt(gap N_j), N_j the lengths or their means over groups."""
    lengths = lengths if numbers is None else group_means(lengths, numbers)
    return np.asarray((Enclosure.exact(lengths.high) * gap.high).root().high)


def root_means(values: Enclosure, groups: np.ndarray) -> Enclosure:
    """Enclose the roots of the means over the group of every column."""
    return group_means(values, groups).root()


def _row_weights(
    costs: np.ndarray, gap: Enclosure, low: np.ndarray, high: np.ndarray, rounds: int
) -> np.ndarray:
    """Return at least c_i v_i; p itself lies between `low` and `high`, but for two roundings."""
    found = np.array(costs)
    used = found > 0.0
    costs, low, high = costs[used], low[used], high[used]
    largest, off = np.full(len(costs), 0.25), dot_error(_ROUNDINGS, 1.0)
    with np.errstate(over="ignore"):  # a gap that is many times a cost tells nothing of its row
        double = above(float(gap.high) * 2.0) / costs
        for _ in range(rounds):
            away = np.sqrt(double * largest)
            near = np.clip(0.5, low - away, high + away)
            # Unless it is 1/2, no number is above 1 here: few roundings are off by few units.
            np.minimum(largest, near * (1.0 - near) + off, out=largest)
    found[used] = above(costs * largest)
    return found


# ---- what rows add to both objectives of a logistic model, with one error bound for all of them


# No less than the entropy moves where p was rounded: a_i, a share of it, over c_i.
_ENTROPY_OF_ROUNDING = float(entropy(dot_error(4.0, 1.0)).high)


def rough_terms(
    model: Model,
    data: Sized,
    signs: np.ndarray,
    costs: np.ndarray,
    alpha: np.ndarray,
    wide: float,
    share_of: Callable[[Enclosure], float],
) -> tuple[Terms, Callable[[], np.ndarray]]:
    """Enclose what these rows add, as `duality_gap.terms_of` does; the errors `wide` times."""
    require_denormals()
    loss, w, bias = model
    b, n = bias or 0.0, float(len(signs))
    all_costs = float(Enclosure.exact(costs).sum().high)
    with np.errstate(all="ignore"):
        largest, sums = data.sizes
        size = float(safely(largest @ abs(w) + abs(b)))
        margins = np.asarray(data.X @ w)
        margins += b
        margins *= signs
        doubt = wide * dot_error(data.longest_row + 1.0, size) + 4.0 * LEAST
        lost = float(softplus_values(-margins) @ costs)
        error = wide * dot_error(function_terms(n), lost) + float(safely(doubt * all_costs))
        losses = Enclosure.around(np.float64(lost), error)
        a = signs * alpha
        far = dot_error(n, safely(sums * float(alpha.max(initial=0.0))))
        total = Enclosure.around(np.asarray(data.X.T @ a), wide * far)
    gain, balance = NOTHING, tuple[float, ...]()
    if is_feasible(loss, costs, alpha):
        gain = _gain(costs, alpha, share_of(total), wide, all_costs)
        balance = () if bias is None else exact_parts(a)
    return Terms(losses, False, gain, balance, total), lambda: margins


def _gain(
    costs: np.ndarray, alpha: np.ndarray, share: float, wide: float, all_costs: float
) -> Enclosure:
    """Enclose the first sum of the dual at a share of alpha."""
    used = costs > 0.0
    if not used.all():
        costs, alpha = costs[used], alpha[used]
    with np.errstate(all="ignore"):
        p = alpha / costs
        p *= share
        found = float(entropies(np.minimum(p, 1.0 - p)) @ costs)  # 1 - p is exact beyond 1/2
        off = _ENTROPY_OF_ROUNDING * all_costs
        error = dot_error(function_terms(float(len(p))), found) + safely(off)
        return Enclosure.around(np.float64(found), wide * error)
