"""Kernel models: linear and polynomial kernels exactly, rbf and sigmoid enclosed.

With shares s_j of rows, g_i = sum_j s_j K(x_j, x_i) and N = sum_i s_i g_i, the squared length of
the weights in the kernel's space.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property

from .codec import Claim, Refused, require, require_work, words
from .enclosed import BITS, exp, tanh
from .exact import Data, at_least, at_most, distinct, integers, ratio, square
from .gaps import all_costs, between, class_losses, class_shares, hard_norm

_LONGEST = 1 << 16  # bits of one value of a polynomial kernel: a millisecond each


class Kernel:
    """Values of a kernel as integers in units of ``2**unit``, each off by at most `off` units."""

    def __init__(self, data: Data, claim: Claim):
        self.data, self.name, self.degree = data, claim.name, claim.degree
        self.gamma, self.coef0 = Fraction(claim.gamma), Fraction(claim.coef0)
        if self.name == "callable":
            raise Refused("the kernel was a Python function, which is not in the file")
        require(self.gamma > 0, "gamma must be above 0")
        if self.name == "precomputed" and len(data.rows) != data.n_features:
            raise Refused("a precomputed kernel needs as many columns as rows")
        self.unit, self.off, self._each = 2 * data.exponent, 0, 1  # the last: work for a value
        if self.name == "poly":
            (g, c), small = integers([claim.gamma, claim.coef0])
            self.scaled = g, c << -self.unit
            # No product is larger than the largest square (Cauchy and Schwarz).
            longest = (g * max(self._squares) + abs(self.scaled[1])).bit_length()
            if self.degree * max(longest, -self.unit - small) > _LONGEST:
                raise Refused("the values of this polynomial kernel are too long to be computed")
            self.unit = self.degree * (self.unit + small)
            self._each = 1 + (words(self.degree * longest) ** 2 >> 6)
        elif self.name == "precomputed":
            self.unit = data.exponent - 1
        elif self.name != "linear":
            self.unit, self.off, self._each = -BITS, 512, 128

    @property
    def is_positive(self) -> bool:
        """Whether theory says that every matrix of values is positive semidefinite."""
        return self.name in ("linear", "rbf") or (self.name == "poly" and self.coef0 >= 0)

    def values(self, number: int) -> Iterator[int]:
        """Yield the values of one row with every row."""
        data = self.data
        if self.name == "precomputed":  # (K + K') / 2
            total = [0] * len(data.rows)
            for places, values in (data.whole[number], self._columns[number]):
                for place, x in zip(places, values, strict=True):
                    total[place] += x
            yield from total
            return
        products = data.products(number)
        if self.name == "linear":
            yield from products
        elif self.name == "poly":
            g, c = self.scaled
            yield from ((g * product + c) ** self.degree for product in products)
        else:
            top, bottom = self.gamma.as_integer_ratio()
            bottom <<= -2 * data.exponent
            if self.name == "sigmoid":
                extra, deep = self.coef0.as_integer_ratio()
                for product in products:
                    yield tanh((top * product * deep + extra * bottom << BITS) // (bottom * deep))
                return
            own = self._squares[number]
            for product, other in zip(products, self._squares, strict=True):
                low, high, s = exp((top * (2 * product - own - other) << BITS) // bottom)
                yield (low + high) >> (s - BITS + 1)

    @cached_property
    def _columns(self) -> dict[int, tuple[list[int], list[int]]]:
        """The columns of a matrix of values, as rows are held."""
        found = defaultdict[int, tuple[list[int], list[int]]](lambda: ([], []))
        for i, row in enumerate(self.data.whole):
            for j, x in zip(*row, strict=True):
                found[j][0].append(i)
                found[j][1].append(x)
        return found

    @cached_property
    def _squares(self) -> list[int]:
        return [square(x) for _, x in self.data.whole]

    def scores(self, shares: list[dict[int, int]]) -> list[list[int]]:
        """Return g of every row, one list for each set of shares; each off by off * sum |s|."""
        named = sorted({row for each in shares for row, s in each.items() if s})
        n = len(self.data.rows)
        require_work(len(named) * (self.data.work + n * (self._each + len(shares))), "the kernel")
        totals = [[0] * n for _ in shares]
        for j in named:
            carried = [(g, s[j]) for g, s in zip(totals, shares, strict=True) if s.get(j)]
            for i, value in enumerate(self.values(j)):
                for g, s in carried:
                    g[i] += s * value
        return totals

    def square(self, shares: dict[int, int], scores: list[int], bent: bool = False) -> int:
        """Return at least N, in units of the values and twice those of the shares.

        Below zero it is refused, but for a kernel that is known to be `bent`.
        """
        total = sum(s * scores[row] for row, s in shares.items())
        most = total + self.off * sum(map(abs, shares.values())) ** 2
        refuted = "the kernel is not positive semidefinite: a square is below zero"
        require(most >= 0 or bent, refuted)
        return max(0, most)

    def said(self, sentence: str, smallest: float | None) -> str:
        """Add the assumption under which two bounds prove something."""
        if self.is_positive:
            if smallest is not None:
                raise Refused("smallest must be nan: theory says that this kernel is positive")
            return sentence
        return (
            f"if the {self.name} kernel is positive semidefinite on these rows, which is assumed "
            f"and not proved (nor is its least eigenvalue, smallest), then {sentence}"
        )


def check_kernel_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the least objective of the kernel model lies between dual and primal.

    Of a kernel that is not positive semidefinite, only that no pair of multipliers is out of order
    by more than `violation`.
    """
    kernel = Kernel(data, claim.kernel)
    signs = signs_of(data, claim, intercept)
    costs = all_costs(claim.costs, len(signs))
    distinct(claim.rows, claim.multipliers, len(signs))
    alpha = [0.0] * len(signs)
    for row, a in zip(claim.rows, claim.multipliers, strict=True):
        alpha[row] = a
    for row, (y, a, c) in enumerate(zip(signs, alpha, costs, strict=True)):
        if not 0.0 <= a <= c or (y == 0 and c):
            raise Refused(f"row {row}: the multiplier must lie between 0 and the cost, and a row "
                          "of no class here has neither")  # fmt: skip
    whole_a, unit = integers(alpha)
    shares = {row: y * a for row, (y, a) in enumerate(zip(signs, whole_a, strict=True)) if a}
    if sum(shares.values()):
        raise Refused("the multipliers of the two classes must have the same sum")
    scores, off = kernel.scores([shares])[0], kernel.off * sum(whole_a)
    unit_g = kernel.unit + unit
    worst = _violation(signs, alpha, costs, scores, off, unit_g)
    if worst > Fraction(claim.violation):
        raise Refused("a pair of multipliers is out of order by more than the violation claimed")
    bent = not kernel.is_positive and (claim.curved or (claim.smallest or 0.0) < -1e-8)
    N = ratio(kernel.square(shares, scores, bent), unit_g + unit)
    (bias,), unit_b = integers([claim.bias])
    unit_m, bias, off = unit_g + unit_b, bias << -unit_g, off << -unit_b
    margins = [y * ((g << -unit_b) + bias) - off for y, g in zip(signs, scores, strict=True)]
    total, one = ratio(sum(whole_a), unit), 1 << -unit_m
    if math.inf in costs:
        used = [m for m, c in zip(margins, costs, strict=True) if c]
        primal = hard_norm(N / 2, used, unit_m)
        require(N, "a margin is not positive, and its row's cost is infinite")
        dual = total**2 / N / 2  # stretched to where it is largest
    else:
        whole_c, unit_c = integers(costs)
        short = sum(c * max(0, one - m) for m, c in zip(margins, whole_c, strict=True))
        primal, dual = N / 2 + ratio(short, unit_m + unit_c), total - N / 2
    said = between(claim, primal, dual, "model with this kernel")
    if bent:  # the bounds are those of other kernels
        return (
            "the kernel is not positive semidefinite, so only this is proved: no pair of "
            f"multipliers is out of order by more than {at_most(claim.violation, 3)}"
        )
    return kernel.said(said, claim.smallest)


def signs_of(data: Data, claim: Claim, intercept: bool) -> list[int]:
    """Return +1 for the positive class, -1 for the negative one (-1: every other), else 0."""
    K, positive, negative = data.n_classes, claim.positive, claim.negative
    require(intercept is True, "the biases of kernel models are free")
    if not (positive < K and -1 <= negative < K and positive != negative):
        raise Refused("positive and negative must number two classes")
    if K == 2 and (positive, negative) not in ((1, -1), (1, 0)):
        raise Refused("of two classes the second is the positive one")
    others = -1 if negative < 0 else 0
    known = {positive: 1, negative: -1}
    return [known.get(code, others) for code in data.codes]


def _violation(
    signs: list[int], alpha: list[float], costs: list[float], g: list[int], off: int, unit: int
) -> Fraction:
    """Return by how much a row that may fall stands above one that may grow, at the most."""
    one, falls, grows = 1 << -unit, list[int](), list[int]()
    for y, a, c, score in zip(signs, alpha, costs, g, strict=True):
        above, below = (a > 0.0, a < c) if y > 0 else (a < c, a > 0.0)
        if y and above:
            falls.append(score - y * one)
        if y and below:
            grows.append(score - y * one)
    apart = max(falls) - min(grows) + 2 * off if falls and grows else 0
    return ratio(max(0, apart), unit)


def check_kernel_multiclass_gap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: the same bounds for Crammer and Singer's model with a kernel."""
    kernel, K = Kernel(data, claim.kernel), data.n_classes
    costs = all_costs(claim.costs, len(data.rows))
    if math.inf in costs or len(claim.biases) != K or intercept is not True:
        raise Refused("costs must be finite, and there must be a free bias for each class")
    whole_c, unit_c = integers(costs)
    listed, unit = class_shares(data, claim, costs)
    shares = [dict(each) for each in listed]
    if any(sum(each.values()) for each in shares):
        raise Refused("the multipliers of a class and those named for it must have one sum")
    scores, unit_g = kernel.scores(shares), kernel.unit + unit
    N = ratio(sum(kernel.square(s, g) for s, g in zip(shares, scores, strict=True)), unit_g + unit)
    biases, unit_b = integers(claim.biases)
    unit_all = unit_g + unit_b
    offs = [kernel.off * sum(map(abs, each.values())) << -unit_b for each in shares]
    moved = (
        [(z << -unit_b) + (b << -unit_g) for z, b in zip(g, biases, strict=True)]
        for g in zip(*scores, strict=True)
    )
    losses = class_losses(zip(whole_c, data.codes, moved, strict=True), offs, unit_all)
    primal = N / 2 + ratio(losses, unit_all + unit_c)
    dual = ratio(sum(integers(claim.multipliers)[0]), unit) - N / 2
    what = f"model of {K} weight vectors with this kernel"
    return kernel.said(between(claim, primal, dual, what), claim.smallest)


def check_kernel_separation(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: at least `right` rows have y f(x) > 0, f(x) = sum_j s_j K(x_j, x) + b.

    And of margins in the coordinates [1, phi(x)]: that of f is at least `lower`, and none is above
    `upper`, the length of a mean of signed rows.
    """
    if data.n_classes != 2 or intercept is not True or len(claim.rows) != len(claim.shares):
        raise Refused("two classes and a bias are needed, and one share for each row named")
    distinct(claim.rows, claim.shares, len(data.rows))
    kernel, signs = Kernel(data, claim.kernel), [1 if code == 1 else -1 for code in data.codes]
    listed, unit = integers([*claim.shares, claim.bias])
    bias, shares = listed.pop(), dict(zip(claim.rows, listed, strict=True))
    size = sum(map(abs, shares.values()))
    scores, unit_g, off = kernel.scores([shares])[0], kernel.unit + unit, kernel.off * size
    moved = bias << -kernel.unit
    margins = [y * (g + moved) - off for y, g in zip(signs, scores, strict=True)]
    if sum(margin > 0 for margin in margins) < claim.right:
        raise Refused("fewer rows are on their own side than the certificate says")
    said = f"at least {claim.right} of {len(signs)} rows are strictly on their own side"
    if claim.lower is None and claim.upper is None:
        return said
    if not kernel.is_positive:
        raise Refused("no theory says that this kernel is positive: there is no margin to bound")
    square = ratio(kernel.square(shares, scores), unit_g + unit)
    if claim.lower is not None:
        # y f / |(b, w)| >= lower, squared: both sides are above zero.
        length, least = square + ratio(bias, unit) ** 2, ratio(min(margins), unit_g)
        if claim.lower <= 0 or least <= 0 or least**2 < Fraction(claim.lower) ** 2 * length:
            raise Refused("a margin lies below the lower bound")
        said += f"; the largest margin is at least {at_least(claim.lower, 9)}"
    if claim.upper is not None:
        if not size or any(signs[row] * share < 0 for row, share in shares.items()):
            raise Refused("the upper bound needs shares with the signs of their classes")
        total = square + ratio(sum(shares.values()), unit) ** 2
        if claim.upper < 0 or total > (Fraction(claim.upper) * ratio(size, unit)) ** 2:
            raise Refused("the shares do not prove the upper bound")
        said += f"; no margin is above {at_most(claim.upper, 9)}"
    return said


def check_kernel_overlap(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: no hyperplane in the kernel's space has a margin above `margin`.

    Multipliers a >= 0 that have one sum in both classes make two points of the hulls, and a
    hyperplane lies between them: its margin is at most |sum a y phi| / sum a. Where equal rows
    cancel, that is 0 whatever the kernel.
    """
    signs = signs_of(data, claim, intercept)
    distinct(claim.rows, claim.multipliers, len(signs))
    listed, unit = integers(claim.multipliers)
    shares = {row: signs[row] * a for row, a in zip(claim.rows, listed, strict=True)}
    if min(listed, default=0) < 0 or not any(listed) or sum(shares.values()):
        raise Refused("multipliers must not be below 0, and have one sum in both classes")
    if any(a and not signs[row] for row, a in zip(claim.rows, listed, strict=True)):
        raise Refused("a multiplier belongs to a row of neither class")
    groups = Counter[tuple[object, ...]]()
    for row, share in shares.items():
        groups[(*data.rows[row][0], None, *data.rows[row][1])] += share
    kernel = Kernel(data, claim.kernel)
    if any(groups.values()):
        require(kernel.name != "sigmoid", "this kernel has no space, and so no hulls")
        (scores,) = kernel.scores([shares])
        square = ratio(kernel.square(shares, scores), kernel.unit + 2 * unit)
        if claim.margin < 0 or square > (Fraction(claim.margin) * ratio(sum(listed), unit)) ** 2:
            raise Refused("the multipliers do not prove the bound on the margin")
    require(claim.margin >= 0, "no margin is below 0")
    said = f"no hyperplane in the kernel's space has a margin above {at_most(claim.margin, 9)}"
    if not kernel.is_positive and any(groups.values()):
        return f"if the {kernel.name} kernel is positive semidefinite on these rows, {said}"
    return said
