"""How far a linear model is from the optimum, proved from the data alone.

The objective at (w, b) bounds the optimum from above, the dual objective at any feasible alpha
bounds it from below (weak duality), whoever proposed the points and however:

    primal(w, b)  =  1/2 |w|^2 + 1/2 p b^2 + sum_i c_i loss(y_i (w.x_i + b))
    dual(a)       =  sum_i -c_i loss*(-a_i/c_i) - 1/2 |sum_i a_i y_i x_i|^2 (- ...)

`terms_of` encloses what one block of rows adds to either, wherever the block is; the terms of two
blocks are added. Rows in one piece are one block.

`ScaledGap` speaks of columns divided by powers of two: a division without rounding, so what is
proved of the divided columns is proved of the model that pays 1/2 sum_j (2^e_j w_j)^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosed_functions import entropy, softplus
from separatrix.certificates.enclosed_sums import WAYS, row_sums, sums_both_ways, ways_for
from separatrix.certificates.enclosure import Enclosure, sum_of
from separatrix.certificates.two_bounds import (
    SLACK,
    WIDE,
    EachMachine,
    Found,
    TwoBounds,
    Written,
    are_arrays,
    are_floats,
    parts_hold,
    require_agreeing,
)
from separatrix.checker.codec import Refused, require
from separatrix.checker.gaps import WITHIN
from separatrix.problem.blocks import Block, Posed, Sums
from separatrix.problem.canonical import numbered
from separatrix.problem.device_rows import blocks
from separatrix.problem.equilibrate import divided_exactly
from separatrix.problem.fingerprint import fingerprint_of_blocks
from separatrix.problem.many_classes import REACH
from separatrix.problem.signed import Violation, as_matrix, entries_of, on_device, violations

# No number at all bounds the objective from below.
NOTHING = Enclosure(np.float64(-math.inf), np.float64(-math.inf))
_MOST_ROWS = 2**36


def start_of(loss: str, costs: np.ndarray) -> float:
    """Return the margin that rows fall short of: 1 for hinges, 0 where the margin itself counts.

    Costs are all finite, or all infinite (a hard margin, which only hinges have).
    """
    hard = bool(np.isinf(costs).any())
    require_agreeing(costs)
    if hard and loss == "logistic":
        raise Refused("infinite costs ask for a hinge: the logistic loss is never zero")
    return 0.0 if hard or loss == "logistic" else 1.0


class Model(NamedTuple):
    """A loss and the point at which the objective is bounded; `bias` is None if there is none."""

    loss: str
    w: np.ndarray
    bias: float | None


@dataclass(frozen=True, eq=False)
class Terms:
    """What a block of rows adds to the two objectives."""

    loss: Enclosure  # sum_i c_i loss(m_i); of a hard margin, minus its least margin
    is_hard: bool
    gain: Enclosure  # the first sum of the dual, or NOTHING where a is not feasible
    balance: tuple[float, ...]  # floats whose exact sum is that of y_i a_i
    total: Enclosure  # u = sum_i a_i y_i x_i

    def __add__(self, other: Terms) -> Terms:
        """Return what the rows of both blocks add together."""
        require(
            not (self.is_hard or other.is_hard), "costs of rows that come in blocks must be finite"
        )
        return Terms(
            loss=self.loss + other.loss,
            is_hard=False,
            gain=self.gain + other.gain,
            balance=(*self.balance, *other.balance),
            total=self.total + other.total,
        )


def terms_of(
    model: Model,
    X: Any,
    signs: np.ndarray,
    costs: np.ndarray,
    alpha: np.ndarray,
    *how: Any,
    share_of: Callable[[Enclosure], float] | None = None,
) -> tuple[Terms, Callable[[], np.ndarray]]:
    """Enclose what these rows add; `how` to sum: the way, and how wide.

    The gain is that of alpha, or of the share of it that `share_of` makes of u. Return about the
    margins too, for those who look at them: no claim rests on these.
    """
    loss, w, bias = model
    start = start_of(loss, costs)
    # The shortfall start - y (b + w.x) is one sum: a margin that is formed first and taken from 1
    # afterwards loses the digits that a slack is made of.
    short, total = sums_both_ways(X, -w, (start * signs, -(bias or 0.0)), signs * alpha, *how)
    short, is_hard = short.times_sign(signs), bool(np.isinf(costs).any())
    lost = most(short[costs > 0.0]) if is_hard else losses(loss, short, costs)
    gain, balance = NOTHING, tuple[float, ...]()
    if is_feasible(loss, costs, alpha):
        gain = _gain(loss, costs, alpha, 1.0 if share_of is None else share_of(total))
        balance = () if bias is None else exact_parts(signs * alpha)
    terms = Terms(lost, is_hard, gain, balance, total)
    return terms, lambda: np.asarray(start - short.middle)


def primal_of(terms: Terms, model: Model, penalty: float, ridge: float = 1.0) -> Enclosure:
    """Enclose the objective at (w, bias); of a hard margin, that of w over its least margin."""
    spent = norm(model.w, model.bias or 0.0, penalty, ridge)
    return hard_margin(spent, terms.loss) if terms.is_hard else spent + terms.loss


def hard_margin(spent: Enclosure, short: Enclosure) -> Enclosure:
    """Enclose what w costs over its least margin, minus `short`: so every margin is at least 1."""
    least = (-short).at_most(1.0)
    return Enclosure(spent.low, (spent / least.square()).high if least.low > 0.0 else math.inf)


def most(values: Enclosure) -> Enclosure:
    """Return the largest of some numbers."""
    return Enclosure(values.low.max(), values.high.max())


def norm(w: np.ndarray, bias: Any, bias_penalty: float, ridge: float = 1.0) -> Enclosure:
    """Enclose 1/2 |w|^2 + 1/2 p b^2."""
    squares = Enclosure.exact(w).square().sum() if ridge else Enclosure.exact(0.0)
    if bias_penalty:
        squares = squares + (Enclosure.exact(bias).square() * bias_penalty).sum()
    return squares.halved()


def losses(loss: str, short: Enclosure, costs: np.ndarray) -> Enclosure:
    """Enclose the sum of all losses, at their costs, from what rows fall short of (`start_of`)."""

    def terms(short: Enclosure, c: np.ndarray) -> Enclosure:
        if loss == "logistic":
            return softplus(short) * c
        slack = short.at_least(0.0)
        return (slack if loss == "hinge" else slack.square()) * c

    return sum_of(terms, short, costs)


def dual_of(terms: Terms, bias_penalty: float | None, box: np.ndarray | None = None) -> Enclosure:
    """Enclose the dual objective; `NOTHING` if alpha is not feasible.

    `bias_penalty` is None where there is no bias, 0 where it is free. With a `box` there is no
    penalty on w: then every w with |w_j| <= box_j has an objective of at least the first sum of the
    dual minus u.w, by the definition of the conjugate.
    """
    balance, value = np.array(terms.balance), terms.gain
    if value.high == -math.inf or (bias_penalty == 0.0 and rounded_sum(balance) != 0.0):
        return NOTHING
    if box is not None and not np.isfinite(box).all():
        return NOTHING
    if bias_penalty and terms.balance:
        value = value - penalty_of_biases(Enclosure.exact(balance).sum(), bias_penalty)
    total = terms.total
    return value - (half_square(total) if box is None else (total.size() * box).sum())


def half_square(values: Enclosure) -> Enclosure:
    """Enclose half the sum of squares."""
    return sum_of(Enclosure.square, values).halved()


def penalty_of_biases(sums: Enclosure, penalty: float) -> Enclosure:
    """Enclose 1/(2p) sum_k r_k^2: what sums of multipliers that do not balance cost the dual."""
    sizes = sums.size()
    return (sizes / penalty * sizes).sum().halved()


def is_feasible(loss: str, costs: np.ndarray, alpha: np.ndarray) -> bool:
    """Whether every multiplier lies within its bounds."""
    upper = np.where(costs > 0.0, np.inf, 0.0) if loss == "squared_hinge" else costs
    return bool(np.isfinite(alpha).all() and (alpha >= 0.0).all() and (alpha <= upper).all())


def exact_parts(values: np.ndarray) -> tuple[float, ...]:
    """Return a few floats that add up to the sum of the values without any rounding.

    >>> exact_parts(np.array([1e16, 1.0, -1e16]))
    (1.0,)
    >>> exact_parts(np.array([1e16, 1.0]))
    (1e+16, 1.0)
    """
    if is_balanced(values):
        return ()
    left, parts = values.tolist(), list[float]()
    try:
        while (part := math.fsum(left)) != 0.0:
            parts.append(part)
            left.append(-part)
    except OverflowError:
        return (math.inf,)
    return tuple(parts)


def is_balanced(values: np.ndarray) -> bool:
    """Whether the values sum to zero, exactly."""
    largest = float(abs(values).max(initial=0.0))
    if largest == 0.0:
        return True
    if not math.isfinite(largest):
        return False
    unit = math.ulp(largest)
    units = values / unit  # a power of two: exact, or so small that it is not whole
    whole = (units == np.rint(units)) & ((units != 0.0) == (values != 0.0))
    if len(values) <= _MOST_ROWS and whole.all():
        # Whole numbers below 2^53 in two halves: sums of 2^36 of either stay below 2^63.
        counts = units.astype(np.int64)
        high, low = counts >> 26, counts & (2**26 - 1)
        return (int(high.sum()) << 26) + int(low.sum()) == 0
    return rounded_sum(values) == 0.0


def rounded_sum(values: np.ndarray) -> float:
    """Return the sum, rounded once: zero, or of its sign, only if it is."""
    try:
        return math.fsum(values.tolist())
    except (OverflowError, ValueError):
        return math.inf


def _gain(loss: str, costs: np.ndarray, alpha: np.ndarray, share: float) -> Enclosure:
    """Enclose the first sum of the dual at a share of alpha."""
    used = alpha > 0.0
    if loss == "logistic" and share == 1.0:
        used &= alpha < costs  # at either end the entropy is zero

    def terms(alpha: Enclosure, c: Enclosure) -> Enclosure:
        a = alpha if share == 1.0 else alpha * share
        if loss == "hinge":
            return a
        if loss == "squared_hinge":
            return a - a * (a / c) * 0.25  # never 4 c, which may overflow
        # The smaller of p and 1 - p, which has all its digits.
        return c * entropy((c - a).at_most(a) / c)

    return sum_of(terms, Enclosure.exact(alpha[used]), Enclosure.exact(costs[used]))


def box_around(X: Any, w: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Bound sizes of coefficients far beyond w from above, as docs/certificates.md states them.

    B_j = 1000 (|w_j| + sum_i a_i / sum_i a_i |x_ij|), without a quotient by 0; w may have a column
    for each class.
    """
    sizes, met = Enclosure.exact(np.zeros(X.shape[1])), np.zeros(X.shape[1], dtype=bool)
    for rows, block in blocks(X, 1 << 20):
        sizes = sizes + row_sums(abs(block), alpha[rows])
        met |= sizes.low > 0.0
        if not met.all():  # a column of zeros, or one whose products vanish
            used = (alpha[rows] > 0.0).astype(np.float64)
            met |= (block != 0.0).astype(np.float64).T @ used > 0.0
    typical = Enclosure.exact(alpha).sum() / sizes
    further = np.where(met, typical.high, 0.0).reshape(-1, *[1] * (w.ndim - 1))
    beyond = Enclosure.exact(abs(w)) + further
    return np.asarray((beyond * REACH).high)


# ---- how far a linear model is from the optimum, proved from the data alone


LOSSES = ("hinge", "squared_hinge", "logistic")
# So few entries on a device are proved by the processor, as any others are.
_FEW_THERE = 1 << 21
_FEW_ROWS = 2048


@dataclass(frozen=True, eq=False, kw_only=True)
class DualityGap(TwoBounds):
    """The least objective lies between `dual` and `primal`: proved, rounding included.

    `weights` are [b, w_1 ... w_d], `multipliers` the dual point, `costs` C times each row's weight.
    `ridge` is 1, or 0 where |w|^2 is not charged for (maximum likelihood); then `dual` bounds all w
    whose coefficients are up to 1000 times those found, or 1000 over the column's mean size.
    Where there are more than two classes, class number `positive` is set against all others.
    """

    kind = "duality-gap"
    _hard_losses: ClassVar[tuple[str, ...]] = LOSSES[:2]

    loss: str
    weights: np.ndarray
    multipliers: np.ndarray
    bias_penalty: float = 0.0
    ridge: float = 1.0
    positive: int = 1
    violations: tuple[Violation, ...] = ()
    margins: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)

    def check(self, X: Any, y: Any = None) -> bool:
        """Prove both bounds again from the data, which may be partitions; others are refused."""
        if not hasattr(X, "stored"):
            return super().check(X, y)
        K, rows, codes = len(X.classes), X, None
        name_like = partial(fingerprint_of_blocks, X.blocks, X.shape, K)
        is_about = self._is_about(X.shape, K, name_like)
        if not (is_about and self.ridge and np.isfinite(self.costs).all()):
            return False
        if X.shape[0] <= _FEW_ROWS:  # a fit brings them together too, and sums what blocks cannot
            parts, numbers = zip(*X.blocks(), strict=True)
            rows = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.vstack(parts)
            rows, codes = as_matrix(rows), np.concatenate(numbers)
        return self._is_found_again(rows, codes)

    def _is_found_again(self, X: Any, codes: np.ndarray | None) -> bool:
        signs = None if codes is None else np.where(codes == self.positive, 1.0, -1.0)
        return super()._is_found_again(X, signs)

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        super().require_sound()
        points, K = (self.weights, self.multipliers), len(self.classes)
        require(
            are_floats(*points)
            and self.weights.shape == (self.n_features + 1,)
            and self.multipliers.shape == (self.n_rows,),
            "there must be a weight for each column and the bias, and a multiplier for each row",
        )
        require(
            self.positive == 1 if K == 2 else 0 <= self.positive < K,
            "positive must number a class: 1, or any where there are more than two",
        )
        require(self.loss in LOSSES, f"no model has the loss {self.loss!r}")
        self._require_penalties()

    def _require_penalties(self) -> None:
        require(
            self.ridge in (0.0, 1.0) and 0.0 <= self.bias_penalty < math.inf,
            "ridge must be 0 or 1, and bias_penalty at least 0",
        )

    @property
    def _model(self) -> Model:
        bias = float(self.weights[0]) if self.intercept else None
        return Model(self.loss, self.weights[1:], bias)

    def _found(self, X: Any, signs: np.ndarray | None, wide: float) -> Iterator[Found]:
        if on_device(X) and X.size <= _FEW_THERE:
            X = as_matrix(X.to_host())
        ways = WAYS[:2] if signs is None else WAYS[:1] if on_device(X) else ways_for(entries_of(X))
        model = self._model
        box = None if self.ridge else box_around(X, model.w, self.multipliers)
        for way in ways:
            joined: Terms | None = None
            for rows, block, own in self._blocks(X, signs):
                costs, alpha = np.asarray(self.costs[rows]), np.asarray(self.multipliers[rows])
                terms, margins = terms_of(model, block, own, costs, alpha, way, wide)
                joined = terms if joined is None else joined + terms
            assert joined is not None, "a claim speaks of one row or more"
            primal, dual = self._objectives(joined, box)
            yield Found(primal, dual, partial(self._shown, terms, margins), "exact" in ways)

    def _blocks(self, X: Any, signs: np.ndarray | None) -> Iterator[tuple[slice, Any, np.ndarray]]:
        """Yield the rows in one piece, or those of partitions block by block."""
        if signs is not None:
            yield slice(None), X, signs
            return
        begin = 0
        for block, codes in X.blocks():
            rows = slice(begin, begin + len(codes))
            begin = rows.stop
            yield rows, block, np.where(codes == self.positive, 1.0, -1.0)

    def _objectives(
        self, terms: Terms, box: np.ndarray | None = None
    ) -> tuple[Enclosure, Enclosure]:
        penalty = self.bias_penalty if self.intercept else None
        primal = primal_of(terms, self._model, penalty or 0.0, self.ridge)
        return primal, dual_of(terms, penalty, box)

    def with_terms(self, terms: Terms) -> DualityGap:
        """Return the claim with the two bounds that the terms of all rows prove."""
        return self.stating(*self._objectives(terms), SLACK)

    def _shown(self, terms: Terms, margins: Callable[[], np.ndarray]) -> dict[str, Any]:
        points, w = (self.costs, self.multipliers, margins()), self._model.w
        missed = violations(self.loss, *points, w, self.ridge, terms.total.middle)
        return {"violations": missed, "margins": points[2]}

    def _sentence(self) -> str:
        return self._in_words(f"hyperplane{'' if self.ridge else WITHIN} lowers")


@dataclass(frozen=True, eq=False)
class DualityGaps(EachMachine):
    """One certificate a machine, where each class is set against all others."""

    def check(self, X: Any, y: Any = None) -> bool:
        """Prove every machine's bounds again."""
        classes = X.classes if hasattr(X, "stored") else numbered(y)[0]
        numbers = [machine.positive for machine in self.machines]
        every = numbers == list(range(len(classes)))
        return every and all(machine.check(X, y) for machine in self.machines)


@dataclass(frozen=True, eq=False)
class PairGaps(EachMachine):
    """One certificate a pair of classes: each speaks of the rows of its two classes."""

    _which: ClassVar[str] = ", one a pair of classes,"

    pairs: tuple[tuple[int, int], ...]

    def check(self, X: Any, y: Any) -> bool:
        """Prove every machine's bounds again, from the rows of its two classes."""
        classes, codes = numbered(y)
        every = tuple(combinations(range(len(classes)), 2))
        whole = self.pairs == every and len(self.machines) == len(every)
        return whole and parts_hold(self.machines, every, X, codes)


def prove_block(block: Block, alpha: np.ndarray, posed: Posed, weights: np.ndarray) -> Sums:
    """Bound what one block of a posed model adds, at the alpha of its rows."""
    bias = float(weights[0]) if posed.intercept else None
    model = Model(LOSSES[posed.loss], weights[1:], bias)
    rows = block.X, block.signs(posed), block.costs(posed), alpha
    return (terms_of(model, *rows, "plain", WIDE)[0],)


@dataclass(frozen=True, eq=False)
class ScaledGap(Written):
    """The gap of machines whose penalty is on the weights of the divided columns."""

    kind = "scaled-gap"

    exponents: np.ndarray
    inner: DualityGap | DualityGaps

    @property
    def gap(self) -> float:
        """The largest relative gap of any machine, rounded up."""
        return self.inner.gap

    @property
    def holds(self) -> bool:
        """Whether both bounds are there at all."""
        return self.inner.holds

    @property
    def machines(self) -> tuple[DualityGap, ...]:
        """The certificates of the divided columns, one a machine."""
        return self.inner.machines if isinstance(self.inner, DualityGaps) else (self.inner,)

    def check(self, X: Any, y: Any) -> bool:
        """Prove both bounds again from the columns as given; other data are refused."""
        X, K = as_matrix(X), len(self.machines[0].classes)
        numbers = [machine.positive for machine in self.machines]
        if not are_arrays(self.exponents) or X.shape[1] != len(self.exponents):
            return False
        if numbers != ([1] if K == 2 else list(range(K))):
            return False
        divided = divided_exactly(X, self.exponents)
        return divided is not None and self.inner.check(divided, y)

    def claim(self) -> dict[str, Any]:
        """Return what is claimed, field by field."""
        claims = [machine.claim() for machine in self.machines]
        return {"exponents": self.exponents, "machines": claims}

    def spoken_of(self) -> DualityGap:
        """Return what says of which data this is a claim: of the divided columns."""
        return self.machines[0]

    def _sentence(self) -> str:
        inner = self.inner.in_words()
        return f"{inner}; each column divided by a power of two"
