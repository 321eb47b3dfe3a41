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
from typing import Any, ClassVar, Self

import numpy as np

from separatrix.certificates.column_sizes import Sized, group_means, out_of_reach
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
from separatrix.certificates.enclosed_sums import dot_error, function_terms, row_sums, ways_for
from separatrix.certificates.enclosure import (
    LEAST,
    Enclosure,
    above,
    below,
    require_denormals,
    safely,
    sum_of,
)
from separatrix.certificates.two_bounds import SLACK, WIDE, Found, require

# A check goes as far as docs/certificates.md says. To find what is claimed, half the rounds do.
ROUNDS_TO_CHECK, ROUNDS_TO_FIND = 4, 2
CLEARLY = 1e-9  # of l: what is claimed is found again by other sums
_ROUNDINGS = 16.0
ROUGH = "rough"  # to sum with one error bound for all rows: the first way of all


@dataclass(frozen=True, eq=False, kw_only=True)
class SparseGap(DualityGap):
    """The least objective lies between `dual` and `primal`, and columns `zeros` are zero there.

    `l1` is the factor of |w|_1 and `ridge` that of 1/2 |w|^2. The dual point is `share` times the
    multipliers. A column in `zeros` has the weight 0 in every optimal w, not only in this one.
    `groups` numbers the group of each column; it is empty where there are none.
    """

    kind = "sparse-gap"
    _hard_losses: ClassVar[tuple[str, ...]] = ()

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
        u = shown.pop("u")
        claim = points_only.stating(bounds.primal, bounds.dual, slack, **shown)
        if not (claim.holds and find_zeros):
            return claim
        found = _proved_zero(claim, X, u, WIDE if slack else 1.0, CLEARLY if slack else 0.0)
        if (found & (claim.weights[1:] != 0.0)).any():  # what rounding left of them
            points["weights"] = np.where(np.append(False, found), 0.0, claim.weights)
            return cls.proved(X, sides, slack=slack, tol=tol, **points)
        return replace(claim, zeros=np.flatnonzero(found))

    @property
    def radius(self) -> float:
        """How far the best dual point can be, rows weighted by 1/c: the radius of the sphere."""
        gap = Enclosure.exact(self.primal) - self.dual
        return float((gap.at_least(0.0) * _factor(self.loss, 0.25)).root().high)

    def check(self, X: Any, y: Any = None) -> bool:
        """Prove both bounds and every zero again from the data; partitions are refused."""
        return not hasattr(X, "stored") and super().check(X, y)

    def _require_penalties(self) -> None:
        l1, ridge, zeros = self.l1, self.ridge, self.zeros
        require(self.loss != "hinge", "sparse weights have the squared hinge or the logistic loss")
        require(
            0.0 < l1 < math.inf and 0.0 <= ridge < math.inf and self.bias_penalty == 0.0,
            "l1 must be above 0, ridge at least 0, and the bias free",
        )
        share = self.share
        require(math.isnan(share) or 0.0 <= share <= 1.0, "share must be between 0 and 1")
        require_groups(self.groups, self.n_features)
        require_zeros(zeros, self.n_features, self.weights[1:])

    def _sizes(self, values: Enclosure) -> Enclosure:
        """Enclose |v_j| of every column, or the root mean square over its group."""
        if not self.groups:
            return values.size()
        return root_means(values.square(), np.array(self.groups))

    def _is_found_again(self, X: Any, codes: np.ndarray | None) -> bool:
        if codes is None or math.isnan(self.share) or not super()._is_found_again(X, codes):
            return False
        if not len(self.zeros):
            return True
        u = row_sums(X, np.where(codes == self.positive, 1.0, -1.0) * self.multipliers)
        return bool(_proved_zero(self, Sized(X), u, 1.0, 0.0)[self.zeros].all())

    def _found(self, X: Any, signs: np.ndarray | None, wide: float) -> Iterator[Found]:
        assert signs is not None, "partitions are refused"
        data, share_of = Sized.of(X), cache(self._share_of)
        points = signs, self.costs, self.multipliers
        for way in (ROUGH, *ways_for(data.entries)):
            if way != ROUGH:
                found = terms_of(self._model, data.X, *points, way, wide, share_of=share_of)
            elif self.loss == "logistic" and data.is_summed_whole:
                found = rough_terms(self._model, data, *points, wide, share_of)
            else:
                continue
            terms, margins = found
            share = share_of(terms.total)
            shown = {"share": share, "margins": margins, "u": terms.total}
            yield Found(self._primal(terms), self._dual(terms, share), _made(shown))

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

    def _dual(self, terms: Terms, share: float) -> Enclosure:
        balanced = not self.intercept or math.fsum(terms.balance) == 0.0
        if terms.gain.high == -math.inf or not balanced:
            return NOTHING
        sizes = self._sizes(terms.total)
        if self._is_feasible(sizes, share):
            return terms.gain
        if self.ridge:
            u = sizes * share
            excess = sum_of(Enclosure.square, (u - self.l1).at_least(0.0))
            return terms.gain - (excess / self.ridge).halved()
        if _most_of(sizes.low, share).low <= self.l1:  # a tighter way to sum may prove it
            return Enclosure(-math.inf, terms.gain.high)
        return NOTHING

    def _is_feasible(self, sizes: Enclosure, share: float) -> bool:
        """Whether a share of every size of u is at most l."""
        return bool(_most_of(sizes.high, share).high <= self.l1)

    def __str__(self) -> str:
        return f"{self._in_words('hyperplane lowers')}{self._zeros_in_words()}"

    def _zeros_in_words(self) -> str:
        if not (self.holds and len(self.zeros)):
            return ""
        return f"; {len(self.zeros):,} of {self.n_features:,} columns are zero in every optimal one"


def _most_of(sizes: np.ndarray, share: float) -> Enclosure:
    """Enclose a share of the largest size: none of the others is above."""
    largest = Enclosure.exact(float(sizes.max(initial=0.0)))
    return largest if share == 1.0 else largest * share


def _made(shown: dict[str, Any]) -> Any:
    return lambda: {name: value() if callable(value) else value for name, value in shown.items()}


def require_groups(groups: tuple[int, ...], width: int) -> None:
    """Refuse what does not number the group of each column."""
    require(
        not groups
        or (
            len(groups) == width
            and all(type(number) is int for number in groups)
            and sorted(set(groups)) == list(range(len(set(groups))))
        ),
        "groups must number the group of each column, from 0 without a gap",
    )


def require_zeros(zeros: Any, width: int, weights: np.ndarray) -> None:
    """Refuse what does not number columns without a weight; the last axis of weights is columns."""
    require(
        getattr(zeros, "dtype", None) == np.int64
        and zeros.ndim == 1
        and bool((zeros[:-1] < zeros[1:]).all())
        and (not len(zeros) or (zeros[0] >= 0 and zeros[-1] < width))
        and not weights[..., zeros].any(),
        "zeros must number columns whose weight is 0, in their order",
    )


def root_means(values: Enclosure, groups: np.ndarray) -> Enclosure:
    """Enclose the roots of the means over the group of every column."""
    return group_means(values, groups).root()


def _factor(loss: str, largest: float) -> float:
    """Return by what the gap is multiplied, rows weighted by c and p (1 - p) at most so large."""
    return 4.0 if loss == "squared_hinge" else 2.0 * largest


def _proved_zero(
    claim: SparseGap, data: Sized, u: Enclosure, wide: float, clearly: float
) -> np.ndarray:
    """Return for which columns no dual point as good as the best has |u_j| = l."""
    gap = (Enclosure.exact(claim.primal) - claim.dual).at_least(0.0)
    with np.errstate(invalid="ignore"):
        sizes = Enclosure.exact(claim._sizes(u).high) * claim.share
        room = (claim.l1 * (1.0 - clearly) - sizes).low
    most, weights = np.asarray(claim.costs), None
    if claim.loss == "logistic":
        rounds = ROUNDS_TO_FIND if clearly else ROUNDS_TO_CHECK
        most, weights = above(0.25 * most), partial(_row_weights, claim, gap, rounds)
    gap = gap * _factor(claim.loss, 1.0)
    return out_of_reach(data, gap, room, most, weights, claim.groups, bool(claim.intercept), wide)


def _row_weights(claim: SparseGap, gap: Enclosure, rounds: int) -> np.ndarray:
    """Return at least c_i v_i."""
    costs, alpha = claim.costs, claim.multipliers
    used = costs > 0.0
    if not used.all():
        found = np.zeros(len(costs))
        found[used] = _row_weights(
            replace(claim, costs=costs[used], multipliers=alpha[used]), gap, rounds
        )
        return found
    largest, off = np.full(len(costs), 0.25), dot_error(_ROUNDINGS, 1.0)
    with np.errstate(over="ignore"):  # a gap that is many times a cost tells nothing of its row
        p, double = alpha * claim.share / costs, above(float(gap.high) * 2.0) / costs
        for _ in range(rounds):
            away = np.sqrt(double * largest)
            near = np.clip(0.5, p - away, p + away)
            # Unless it is 1/2, no number is above 1 here: few roundings are off by few units.
            np.minimum(largest, near * (1.0 - near) + off, out=largest)
    return np.asarray(above(costs * largest))


# ---- what rows add to both objectives of a logistic model, with one error bound for all of them


_ROUNDINGS_OF_TERMS = 4.0  # of a_i, a share of it, over c_i


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
        size = float(safely(data.largest @ abs(w) + abs(b)))
        margins = np.asarray(data.X @ w)
        margins += b
        margins *= signs
        doubt = wide * dot_error(data.longest_row + 1.0, size) + 4.0 * LEAST
        lost = float(softplus_values(-margins) @ costs)
        error = wide * dot_error(function_terms(n), lost) + float(safely(doubt * all_costs))
        losses = Enclosure.around(np.float64(lost), error)
        a = signs * alpha
        largest = float(alpha.max(initial=0.0))
        total = Enclosure.around(
            np.asarray(data.X.T @ a), wide * dot_error(n, safely(data.sums * largest))
        )
    gain, balance = NOTHING, tuple[float, ...]()
    if is_feasible(loss, costs, alpha):
        gain = _gain(costs, alpha, share_of(total), wide, all_costs)
        balance = () if bias is None else exact_parts(a)
    return Terms(losses, False, gain, balance, total), lambda: margins


@cache
def _entropy_of_rounding() -> float:
    """Return no less than the entropy moves where p was rounded."""
    return float(entropy(dot_error(_ROUNDINGS_OF_TERMS, 1.0)).high)


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
        off = _entropy_of_rounding() * all_costs
        error = dot_error(function_terms(float(len(p))), found) + safely(off)
        return Enclosure.around(np.float64(found), wide * error)
