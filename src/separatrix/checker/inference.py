"""Estimates, standard errors, interval ends and tests of a logistic regression.

Every number that is claimed is enclosed again, from the data and the points of the certificate:

- the estimate is the root of the score, and concavity makes it the maximum (mle, ridge); Firth's is
  a maximum next to its point, and where that is claimed the highest of all;
- a standard error is the root of a diagonal element of the inverse information there;
- the fit with a coefficient at zero gives the likelihood ratio and its p-value;
- an end of an interval is a root of score and level together, the value falling outwards;
- separated classes (mle): along a direction in whole numbers no margin is below zero, so that the
  rows of margin zero decide the supremum. A direction that moves a coefficient leaves its interval
  without an end there.

Tail and quantile of the chi-squared distribution with one degree of freedom, in fractions.

    tail(s) = erfc(t),   t = sqrt(s / 2)
    up to t^2 = 40:  1 - 2/sqrt(pi) e^(-t^2) sum_n t (2 t^2)^n / (2n + 1)!!      (all terms above 0)
    beyond:          e^(-t^2) / (sqrt(pi) (t + (1/2)/(t + 1/(t + (3/2)/(t + ...)))))

Neighbours among the convergents of the fraction lie on either side of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, cached_property
from math import frexp, isqrt
from operator import mul
from typing import Any

from .balls import ONE, Ball, NotProved, P, ends, exact, minus, positive_inverse
from .codec import Claim, Refused, require, words
from .exact import Data
from .likelihood import Look, Rows
from .roots import Root, falling, is_highest, root
from .squares import independent

_MOST_COLUMNS = 60
_MOST_WORK = 500_000_000  # about twenty minutes
_STEEPEST = 64  # a ridge in the units of a column has no more bits
_TOO_LARGE = "the data are too large for this checker: separatrix verify proves it"
Bounds = tuple[Fraction, Fraction]
POINTS = ("null", "lower_point", "upper_point", "direction", "runs_down", "runs_up")
SIDES = (("lower", "runs_down", -1), ("upper", "runs_up", 1))


def check_inference(data: Data, claim: Claim, intercept: bool) -> str:
    """Claim: every number of every coefficient lies within its two floats."""
    model = _Model(data, claim, intercept)
    try:
        model.require_all()
    except NotProved as reason:
        raise Refused(f"not proved: {reason}") from None
    return said(claim)


def said(claim: Any) -> str:
    """Say how many numbers are claimed: those that are left out are not."""

    def many(*names: str) -> int:
        return sum(any(getattr(each, name) for name in names) for each in claim.coefficients)

    ends = many("lower", "runs_down") + many("upper", "runs_up")
    where = "" if claim.maximum == "global" else ", as a maximum next to its point"
    return (
        f"{many('estimate')} estimates, {many('std_error')} standard errors, {ends} interval ends "
        f"and {many('lr', 'p_value')} tests of {len(claim.coefficients)} coefficients "
        f"({claim.method}){where}"
    )


class _Model:
    """The columns of the model and the labels, and what is proved of them."""

    def __init__(self, data: Data, claim: Claim, intercept: bool) -> None:
        self.claim, n = claim, len(data.rows)
        require(data.n_classes == 2, "two classes are needed")
        require(0.0 < claim.level < 1.0 and claim.C > 0.0, "the level or C is not in its range")
        require(all(j < data.n_features for j in claim.columns), "a column is not in the data")
        require(claim.method == "mle" or not any(claim.direction), "only mle has a direction")
        width = self.width = int(intercept) + len(claim.columns)
        if not (width == len(claim.point) == len(claim.coefficients)):
            raise Refused("the point has one number for each coefficient")
        work = (n + 30 * width) * width**4 if claim.method == "firth" else n * width**3
        require(width <= _MOST_COLUMNS, _TOO_LARGE)
        self.whole = [[1 << -data.exponent] * n] * intercept
        named = {j: [0] * n for j in claim.columns}  # of a billion columns there may be
        for i, row in enumerate(data.whole):
            for j, x in zip(*row, strict=True):
                if j in named:
                    named[j][i] = x
        self.whole += [named[j] for j in claim.columns]
        sizes = [max(map(abs, column), default=0).bit_length() for column in self.whole]
        if claim.method == "ridge":  # in units so large that it is none of too many digits
            least = (frexp(1.0 / claim.C)[1] - _STEEPEST) // 2 - data.exponent
            sizes[intercept:] = [max(bits, least) for bits in sizes[intercept:]]
        fine = self.fine = max(sizes, default=0)
        require(work * words(fine) <= _MOST_WORK, _TOO_LARGE)
        self.shifts = [bits + data.exponent for bits in sizes]
        scaled = [[x << fine - bits for x in c] for c, bits in zip(self.whole, sizes, strict=True)]
        self.signs = [2 * code - 1 for code in data.codes]
        ridge = [(0, 0)] * width
        if claim.method == "ridge":
            one = Fraction(1.0 / claim.C)  # the float64 next to 1 / C
            of_columns = [exact(one * _power(-2 * s)) for s in self.shifts[intercept:]]
            ridge = [(0, 0)] * intercept + of_columns
        self.rows = Rows(scaled, list(data.codes), ridge, claim.method == "firth", fine)

    # ---- what all coefficients share

    def theta(self, point: Sequence[float]) -> list[int]:
        """Return a point in the scale of the columns, rounded: it is only a start."""
        require(len(point) == self.width, "a point has one number for each coefficient")
        return [
            round(Fraction(b) * _power(shift + P))
            for b, shift in zip(point, self.shifts, strict=True)
        ]

    def counted(self, direction: Sequence[int]) -> list[int]:
        """Return the rows of margin zero; a margin below zero is refused."""
        if not any(direction):
            return list(range(len(self.signs)))
        margins = self._margins(direction)
        return [i for i, margin in enumerate(margins) if margin == 0]

    def _margins(self, direction: Sequence[int]) -> list[int]:
        require(len(direction) == self.width, "a direction has one number for each coefficient")
        rows = zip(*self.whole, strict=True)
        found = [s * sum(map(mul, direction, x)) for s, x in zip(self.signs, rows, strict=True)]
        require(min(found) >= 0, "a direction has rows on the wrong side")
        return found

    def _spanning(self, rows: Sequence[int], point: Sequence[float], last: int = -1) -> list[int]:
        """Return columns that span the others on these rows, those that the point uses first."""
        order = sorted((j for j in range(self.width) if j != last), key=lambda j: not point[j])
        order += [last] * (last >= 0)
        kept = independent([[self.whole[j][i] for i in rows] for j in order])
        return [order[k] for k in kept]

    def _part(
        self, rows: Sequence[int], point: Sequence[float], last: int = -1
    ) -> tuple[Rows, list[int]]:
        """Return the rows that count and columns that span them, `last` at the end if it does."""
        if not any(self.claim.direction):
            return self.rows, list(range(self.width))
        columns = self._spanning(rows, point, last)
        return self.rows.part(rows, columns), columns

    @cached_property
    def main(self) -> tuple[Rows, list[int]]:
        """The rows and columns of the estimate."""
        return self._part(self.counted(self.claim.direction), self.claim.point)

    @cached_property
    def top(self) -> Root | None:
        """The maximum; None where no row counts, and the supremum is 0."""
        part, columns = self.main
        theta = self.theta(self.claim.point)
        if not part.y:
            return None
        return root(part, [theta[j] for j in columns], list(range(len(columns))))

    @property
    def value(self) -> Ball:
        """The largest value, or the supremum."""
        return (0, 0) if self.top is None else self.top.value

    @cached_property
    def level(self) -> Ball:
        """The value at the ends of intervals."""
        low, high = quantile(self.claim.level, self.claim.quantile)
        m, r = exact((low + high) / 4)
        wide = exact((high - low) / 4)
        return minus(self.value, (m, r + wide[0] + wide[1]))

    def require_all(self) -> None:
        """Refuse a maximum or a number that is not proved."""
        top = self.top
        for j, each in enumerate(self.claim.coefficients):
            for name in ("estimate", "std_error", "lower", "upper", "lr", "p_value"):
                pair = getattr(each, name)
                if len(pair) not in (0, 2) or (pair and not pair[0] <= pair[1]):
                    raise Refused(f"coefficient {j}, {name}: expected two numbers in order")
            for name in POINTS:
                if len(getattr(each, name)) not in (0, self.width):
                    raise Refused(f"coefficient {j}, {name}: expected a number a coefficient")
            self._require_estimate(j, each)
            self._require_test(j, each)
            for side in SIDES:
                self._require_end(j, each, *side)
        if self.claim.maximum == "global" and self.rows.firth and top is not None:
            require(is_highest(self.rows, top), "the maximum is not proved to be the highest")

    # ---- one coefficient

    def _within(self, j: int, name: str, found: Bounds, pair: Sequence[float]) -> None:
        if pair and not Fraction(pair[0]) <= found[0] <= found[1] <= Fraction(pair[1]):
            raise Refused(f"coefficient {j}, {name}: the number is not within its bounds")

    def _scaled(self, j: int, middle: int, off: int) -> Bounds:
        unit = _power(-self.shifts[j] - P)
        return (middle - off) * unit, (middle + off) * unit

    def _require_estimate(self, j: int, each: Claim) -> None:
        if not (each.estimate or each.std_error):
            return
        columns, found = self.main[1], self.top
        if found is None or j not in columns:
            raise Refused(f"coefficient {j} has no finite estimate")
        if any(self.claim.direction):
            rows = self.counted(self.claim.direction)
            require(j in self._spanning(rows, self.claim.point, j), f"coefficient {j} runs off")
        k = columns.index(j)
        estimate = self._scaled(j, found.theta[k], found.off[k])
        self._within(j, "estimate", estimate, each.estimate)
        if each.std_error:
            low, high = ends(positive_inverse(found.look.information)[0][k][k])
            unit = _power(-2 * self.shifts[j])
            squares = [Fraction(max(end, 0.0)) ** 2 for end in each.std_error]
            if not squares[0] <= low * unit <= high * unit <= squares[1]:
                raise Refused(f"coefficient {j}, std_error: the number is not within its bounds")

    def _require_test(self, j: int, each: Claim) -> None:
        if not (each.lr or each.p_value):
            return
        low, high = ends(minus(self.value, self._at_zero(j, each)))
        if high < 0:
            raise NotProved("the fit with the coefficient at zero is higher than the maximum")
        found = max(2 * low, Fraction(0)), 2 * high
        self._within(j, "lr", found, each.lr)
        if each.p_value:
            self._within(j, "p_value", (tail(found[1])[0], tail(found[0])[1]), each.p_value)

    def _counted_without(self, j: int, each: Claim) -> list[int]:
        """Return the rows that decide the supremum with the coefficient held."""
        if any(each.direction):
            require(any(self.claim.direction), "classes that overlap have no direction")
            require(each.direction[j] == 0, "the direction must leave the coefficient alone")
        return self.counted(each.direction)

    def _at_zero(self, j: int, each: Claim) -> Ball:
        """Return the largest value with the coefficient at zero."""
        rows = self._counted_without(j, each)
        if not rows:
            return (0, 0)
        theta = self.theta(each.null)
        require(each.null[j] == 0.0, "the coefficient must be zero")
        part, columns = self._part(rows, each.null, j)
        free = [place for place, k in enumerate(columns) if k != j]
        return root(part, [theta[k] for k in columns], free).value

    def _require_end(self, j: int, each: Claim, name: str, runs: str, side: int) -> None:
        pair, away = getattr(each, name), getattr(each, runs)
        if away:
            require(self.claim.method == "mle" and not pair, "only mle has intervals without end")
            self._margins(away)
            require(away[j] * side > 0, "the direction does not move the coefficient outwards")
        if not pair:
            return
        point = getattr(each, f"{name}_point")
        theta = self.theta(point)
        rows = self._counted_without(j, each)
        require(rows, "the profile is flat")
        part, columns = self._part(rows, point, j)
        require(j in columns, "the profile is flat")
        place, theta = columns.index(j), [theta[k] for k in columns]
        free = [k for k in range(len(columns)) if k != place]
        try:
            found = root(part, theta, free, self.level, place)
        except NotProved:
            self._require_end_by_ridge(j, part, theta, place, pair, side)
            return
        slope, off = found.score[place]
        require(abs(slope) > off, "the value does not fall at the end")
        require((slope < 0) == (side > 0), "the value does not fall outwards at the end")
        self._within(j, name, self._scaled(j, found.theta[place], found.off[place]), pair)

    def _require_end_by_ridge(
        self, j: int, rows: Rows, theta: list[int], place: int, pair: Sequence[float], side: int
    ) -> None:
        """Prove an end by the ridge alone, which bounds every value: no likelihood is above 1."""
        ridge = rows.ridge[place]
        if ridge == (0, 0):
            raise NotProved(f"no end of coefficient {j} next to its point")
        inner, outer = (Fraction(t) * _power(self.shifts[j]) for t in pair[::side])
        least = Fraction(ridge[0] - ridge[1], ONE)
        low, high = ends(self.level)
        near = list(theta)
        near[place] = round(inner * ONE)
        near[place] += side * (side * near[place] < side * inner * ONE)  # not farther in
        if not (-least * outer**2 / 2 < low and ends(Look(rows, near).value)[0] >= high):
            raise NotProved(f"no end of coefficient {j} next to its point")
        require(side * outer > 0, "the value does not fall outwards at the end")


def _power(exponent: int) -> Fraction:
    """Return a power of two."""
    return Fraction(1 << exponent) if exponent >= 0 else Fraction(1, 1 << -exponent)


# ---- tail and quantile of the chi-squared distribution with one degree of freedom, in fractions


_Q = 640  # bits of fractions that are rounded
_FAR = 40
_CLOSE = Fraction(1, 1 << 46)
_FINE = Fraction(1, 1 << 280), Fraction(1, 1 << 96)


def _root(value: Fraction) -> Bounds:
    """Return fractions below and above the square root."""
    low = isqrt((value.numerator << 2 * _Q) // value.denominator)
    return Fraction(low, 1 << _Q), Fraction(low + 1, 1 << _Q)


@cache
def _root_of_pi() -> Bounds:
    """Return bounds on sqrt(pi); pi = 16 arctan(1/5) - 4 arctan(1/239), to 2**-620."""

    def arctan(k: int) -> int:
        term, total, n = (1 << _Q) // k, 0, 1
        while term:
            total += term // n if n % 4 == 1 else -(term // n)
            term, n = term // (k * k), n + 2
        return total

    near, off = 16 * arctan(5) - 4 * arctan(239), 1 << 14
    return _root(Fraction(near - off, 1 << _Q))[0], _root(Fraction(near + off, 1 << _Q))[1]


def tail(s: Fraction) -> Bounds:
    """Return fractions below and above the probability of more than s.

    >>> low, high = tail(Fraction(3.841458820694124))
    >>> low < high, abs(float(low) - 0.05) < 1e-15
    (True, True)
    """
    if s <= 0:
        return Fraction(1), Fraction(1)
    x = s / 2
    roots = _root(x)
    # The tail falls with t: the lower bound is that of the larger root.
    low, high = (_near(x, t) if x <= _FAR else _far(x, t) for t in reversed(roots))
    return max(low[0], Fraction(0)), high[1]


def _near(x: Fraction, t: Fraction) -> Bounds:
    """Return bounds by the series, rounded to integers."""
    unit, twice = 1 << _Q, 2 * x
    top, bottom = twice.as_integer_ratio()
    term, total, n = unit, unit, 0
    while term:
        n += 1
        term = term * top // (bottom * (2 * n + 1))
        total += term
    # Each term is rounded down, by a share of itself and one unit; what is left out is less than 2.
    high = total + total * n // (1 << 440) + 4 * n + 4
    sums = Fraction(total, unit) * t, Fraction(high, unit) * t
    fall, pi = falling(x), _root_of_pi()
    return 1 - 2 * fall[1] * sums[1] / pi[0], 1 - 2 * fall[0] * sums[0] / pi[1]


def _far(x: Fraction, t: Fraction) -> Bounds:
    """Return bounds by two convergents of the continued fraction."""
    values = []
    for depth in (120, 121):
        value = t
        for k in range(depth, 0, -1):
            value = t + Fraction(k, 2) / value
            value = Fraction(value.numerator * (1 << _Q) // value.denominator, 1 << _Q)
        values.append(value)
    # A step multiplies an error by k / (2 v^2) < 2, two steps together by less than 1.
    off = Fraction(242, 1 << _Q)
    fall, pi = falling(x), _root_of_pi()
    return fall[0] / (pi[1] * (max(values) + off)), fall[1] / (pi[0] * (min(values) - off))


def quantile(level: float, guess: float) -> Bounds:
    """Return bounds on what is exceeded with probability 1 - level; the guess must be close."""
    beyond = 1 - Fraction(level)
    require(0 < beyond < 1 and guess > 0.0, "the level must be between 0 and 1")
    q = Fraction(guess)
    for _ in range(4):
        low, high = tail(q)
        slope = falling(q / 2)[0] / (2 * _root_of_pi()[0] * _root(q / 2)[0])
        require(slope > 0, "the quantile is too large")
        q += ((low + high) / 2 - beyond) / slope
        q = Fraction(round(q * (1 << 320)), 1 << 320)
        require(q > 0, "the quantile is not that of the level")
    for fine in _FINE:
        found = q * (1 - fine), q * (1 + fine)
        if tail(found[0])[0] > beyond > tail(found[1])[1]:
            break
    else:
        raise Refused("the quantile of the level is not proved")
    if not found[1] * (1 - _CLOSE) <= Fraction(guess) <= found[0] * (1 + _CLOSE):
        raise Refused("the quantile is not that of the level")
    return found
