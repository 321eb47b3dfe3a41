"""Estimates, errors, interval ends and tests of a logistic regression, enclosed from the data.

A claim holds points: the estimate, the fit with each coefficient at zero, and that at each end of
each interval. From them and the data alone `Bounds` proves what is claimed of the maximum, of the
standard errors, of the ends and of the likelihood-ratio tests.

- mle, ridge: the log-likelihood is concave, so that a bound on the maximum next to a point is one
  on the only maximum. An end lies between two values of the coefficient if the likelihood reaches
  the level at the inner one, and no fit reaches it at the outer one.
- firth: the score has one root next to the point, and it is a maximum. The equations of an end have
  one root next to theirs. Elsewhere there may be others: the proof is local.
- separated classes: a direction in whole numbers has no margin below zero. The rows of margin zero
  decide the supremum. A direction that moves a coefficient proves that its interval has no end
  there.

The certificate of a table of coefficients: ``kind`` is "inference".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np

from separatrix.certificates.enclosed_functions import exp, quantile, tails
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.firth_bounds import (
    END,
    FREE,
    NULL,
    Near,
    Profile,
    Roots,
    is_only_maximum,
)
from separatrix.certificates.likelihood_bounds import (
    At,
    Metric,
    NoProof,
    Rows,
    Top,
    metric_at,
    spreads,
    top_near,
    up,
)
from separatrix.certificates.partition import margin_signs
from separatrix.certificates.separation import are_all
from separatrix.certificates.two_bounds import AboutData, Written
from separatrix.checker.inference import said
from separatrix.problem.canonical import counted_rows, problem_from
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.signed import SignedProblem

Pair = tuple[float, ...]  # (low, high), or () where there is no number
Vector = tuple[float, ...]
Integers = tuple[int, ...]
NO_ROWS = Top(Enclosure.exact(np.float64(0.0)), 0.0, 0.0)  # the supremum where no row counts
_NEAR = 1.0  # of two linear predictors that share a metric
_FIRST_STEP, _LAST_STEP = 1e-11, 1e-3  # of a standard error, from an end to either side


@dataclass(frozen=True)
class Coefficient:
    """Bounds on the numbers of one coefficient, and the points that prove them."""

    estimate: Pair = ()
    std_error: Pair = ()
    lower: Pair = ()
    upper: Pair = ()
    lr: Pair = ()
    p_value: Pair = ()
    null: Vector = ()
    lower_point: Vector = ()
    upper_point: Vector = ()
    direction: Integers = ()  # without this coefficient; () where all rows count
    runs_down: Integers = ()  # along which its likelihood never falls
    runs_up: Integers = ()


@dataclass(eq=False)
class Bounds:
    """Proves numbers of one model; `rows` are those of its columns, the intercept among them."""

    rows: Rows
    method: str
    level: float
    guess: float  # of the quantile
    point: np.ndarray
    direction: Integers = ()
    known: Metric | None = None  # the metric of the point, where it is at hand
    _faces: dict[Integers, np.ndarray] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """How many coefficients there are."""
        return self.rows.X.shape[1]

    # ---- the maximum

    def counted(self, direction: Integers) -> np.ndarray:
        """Return which rows a direction leaves at margin zero; refuse one with a margin below."""
        if not any(direction):
            return np.ones(len(self.rows.y), dtype=bool)
        if direction not in self._faces:
            self._faces[direction] = self._signs(direction) == 0
        return self._faces[direction]

    def _signs(self, direction: Integers) -> np.ndarray:
        if len(direction) != self.width:
            raise NoProof("a direction has one number for each coefficient")
        labels = np.where(self.rows.y > 0.5, 1.0, -1.0)
        problem = SignedProblem(self.rows.X, labels, fit_intercept=False)
        found = margin_signs(problem, (0, *direction))
        if (found < 0).any():
            raise NoProof("the direction has rows on the wrong side")
        return found

    def part(self, direction: Integers, last: int | None = None) -> tuple[Rows, np.ndarray]:
        """Return the rows that count and columns that span them, `last` at the end.

        A column of zeros adds nothing. Neither does one that the direction, at margin zero, writes
        as a combination of the others.
        """
        counted = self.counted(direction)
        X = self.rows.X[counted]
        columns = [j for j in range(self.width) if j != last and X[:, j].any()]
        if any(direction):
            moving = [j for j in columns if direction[j]]
            if moving:
                columns.remove(moving[-1])
        if last is not None:
            columns.append(last)
        chosen = np.array(columns, dtype=np.int64)
        return self.rows.part(counted, chosen), chosen

    @cached_property
    def _main(self) -> tuple[Rows, np.ndarray]:
        if not any(self.direction):
            return self.rows, np.arange(self.width)
        return self.part(self.direction)

    @cached_property
    def metric(self) -> Metric:
        """The metric of the estimate."""
        if self.known is not None:
            return self.known
        rows, columns = self._main
        return metric_at(rows, self.point[columns])

    @cached_property
    def _roots(self) -> Roots:
        return Roots(self.rows, self.metric)

    def expect(self, listed: Sequence[Coefficient]) -> None:
        """Look at all points of Firth's fits together, which is faster than one by one."""
        if self.method != "firth":
            return
        near = [Near(FREE, tuple(self.point.tolist()))]
        for j, each in enumerate(listed):
            kinds = ((NULL, each.null), (END, each.lower_point), (END, each.upper_point))
            near += [Near(kind, point, j) for kind, point in kinds if len(point) == self.width]
        self._roots.add(near)

    @cached_property
    def top(self) -> Top:
        """Bounds on the largest value."""
        if self.method == "firth":
            root = self._roots.root(Near(FREE, tuple(self.point.tolist())))
            radius = up(Enclosure.exact(root.radius) / self.metric.shrunk)
            far = up(Enclosure.exact(self.metric.longest) * radius)
            return Top(root.value, radius, far)
        if not self.counted(self.direction).any():
            return NO_ROWS
        return top_near(self.metric.at, self.metric)

    @cached_property
    def is_global(self) -> bool:
        """Whether no other maximum is as high as the one that is proved."""
        return self.method != "firth" or is_only_maximum(self.rows, self.metric)

    @cached_property
    def threshold(self) -> Enclosure:
        """The level at the ends of intervals."""
        found = Enclosure(*map(np.float64, quantile(self.level, self.guess)))
        return self.top.value - found.halved()

    def estimate(self, j: int) -> tuple[Pair, Pair]:
        """Enclose an estimate and its standard error; () where it is infinite."""
        places = np.flatnonzero(self._main[1] == j)
        if not len(places) or (any(self.direction) and self.direction[j]):
            return (), ()
        found, errors = (each[places[0]] for each in self._estimates)
        return _pair(found), _pair(errors)

    @cached_property
    def _estimates(self) -> tuple[Enclosure, Enclosure]:
        """The estimates of the columns that span the rows, and their standard errors."""
        top, metric = self.top, self.metric
        room = metric.spans * top.radius
        if self.method != "firth":
            room = room / metric.shrunk
        half, spread = exp(Enclosure.exact(top.rho).halved()), spreads(metric)
        found = Enclosure.around(self.point[self._main[1]], room.high)
        return found, Enclosure((spread / half).low, (spread * half).high)

    # ---- a coefficient held

    def null_top(self, j: int, each: Coefficient) -> Top:
        """Bound the largest value with a coefficient at zero."""
        null = np.array(each.null)
        if len(null) and null[j] != 0.0:
            raise NoProof("the coefficient must be zero")
        if self.method == "firth":
            root = self._roots.root(Near(NULL, each.null, j))
            return Top(root.value, root.radius, 0.0)
        if not any(self.direction):
            at = At(self.rows, null)
            return top_near(at, self._near(at, null), held=j)
        self._require_free(j, each.direction)
        if not self.counted(each.direction).any():
            return NO_ROWS
        rows, columns = self.part(each.direction, last=j)
        metric = metric_at(rows.part(slice(None), slice(-1)), null[columns[:-1]])
        return top_near(metric.at, metric)

    def lr(self, j: int, each: Coefficient) -> tuple[Pair, Pair]:
        """Enclose the likelihood-ratio statistic and its p-value."""
        null = self.null_top(j, each)
        found = (self.top.value - null.value).scaled(1)
        if found.high < 0.0:
            raise NoProof("the fit with the coefficient at zero is higher than the maximum")
        low, high = max(float(found.low), 0.0), float(found.high)
        return (low, high), tails(low, high)

    def _near(self, at: At, beta: np.ndarray) -> Metric:
        """Return the estimate's metric where it serves, else the point's own."""
        if up((at.eta - self.metric.at.eta).size()) < _NEAR:
            return self.metric
        return metric_at(at.rows, beta)

    def _require_free(self, j: int, direction: Integers) -> None:
        if any(direction) and direction[j]:
            raise NoProof("the direction must leave the coefficient alone")

    def firth_end(self, j: int, side: float, point: Sequence[float]) -> Pair:
        """Enclose an end of Firth's profile, from which the value falls outwards."""
        root = self._roots.root(Near(END, tuple(point), j), self.threshold)
        if not root.slope * side < 0.0:
            raise NoProof("the value does not fall outwards at the end")
        return _pair(Enclosure.around(np.float64(point[j]), root.reach))

    def end_between(
        self, j: int, side: float, point: Sequence[float], pair: Pair, direction: Integers
    ) -> bool:
        """Whether the end of the profile lies between two values; the point is next to it."""
        return self._between(self._end_tools(j, np.array(point), direction), side, pair)

    def find_end(self, j: int, side: float, point: Sequence[float], direction: Integers) -> Pair:
        """Return two values between which the end is proved to lie; () where none are found."""
        tools = self._end_tools(j, np.array(point), direction)
        at, unit = float(tools.beta[tools.place]), tools.unit
        step = _FIRST_STEP
        while step < _LAST_STEP:
            off = step * unit + abs(at) * 4.0 * np.spacing(1.0)
            pair = (float(at - off), float(at + off))
            if self._between(tools, side, pair):
                return pair
            step *= 8.0
        return ()

    def _end_tools(self, j: int, beta: np.ndarray, direction: Integers) -> Profile:
        rows, place = self.rows, j
        if any(self.direction):
            self._require_free(j, direction)
            rows, columns = self.part(direction, last=j)
            beta, place = beta[columns], len(columns) - 1
        if not len(rows.y):
            raise NoProof("the profile is flat")
        try:
            at = At(rows, beta)
            metric = self._near(at, beta) if rows is self.rows else metric_at(rows, beta)
        except NoProof:
            if not rows.ridge[place] > 0.0:
                raise
            metric = None
        return Profile(beta, rows, metric, place)

    def _between(self, tools: Profile, side: float, pair: Pair) -> bool:
        inner, outer = pair if side > 0.0 else pair[::-1]
        low, high = float(self.threshold.low), float(self.threshold.high)
        return bool(tools.moved(inner).value.low >= high) and tools.highest(outer, low) < low

    def runs(self, j: int, direction: Integers, side: float) -> bool:
        """Whether a direction proves that the interval has no end on this side: without penalty."""
        if self.method != "mle" or not any(direction):
            return False
        self._signs(direction)
        return direction[j] > 0 if side > 0.0 else direction[j] < 0


def holds(bounds: Bounds, listed: Sequence[Coefficient]) -> bool:
    """Whether the maximum and every number that is claimed of the coefficients are proved."""
    if len(listed) != bounds.width:
        return False
    bounds.expect(listed)
    proved = bounds.top.value.is_finite
    return proved and all(_coefficient_holds(bounds, j, each) for j, each in enumerate(listed))


def _coefficient_holds(bounds: Bounds, j: int, each: Coefficient) -> bool:
    for place, part in enumerate(fields(each)):  # six pairs, three points, three directions
        value = getattr(each, part.name)
        if len(value) not in (0, 2 if place < 6 else bounds.width):
            return False
        if not are_all(float if place < 9 else int, value):
            return False
        if value and place < 6 and not value[0] <= value[1]:
            return False
    if any(each.direction) and not any(bounds.direction):
        return False
    if each.estimate or each.std_error:
        estimate, error = bounds.estimate(j)
        if not (_within(estimate, each.estimate) and _within(error, each.std_error)):
            return False
    if each.lr or each.p_value:
        lr, p = bounds.lr(j, each)
        if not (_within(lr, each.lr) and _within(p, each.p_value)):
            return False
    ends = (
        (-1.0, each.lower, each.lower_point, each.runs_down),
        (1.0, each.upper, each.upper_point, each.runs_up),
    )
    for side, pair, point, runs in ends:
        if runs and not (bounds.runs(j, runs, side) and not pair):
            return False
        if not pair:
            continue
        if bounds.method == "firth":
            if not _within(bounds.firth_end(j, side, point), pair):
                return False
        elif not bounds.end_between(j, side, point, pair, each.direction):
            return False
    return True


def _pair(found: Enclosure) -> Pair:
    return float(found.low), float(found.high)


def _within(found: Pair, claimed: Pair) -> bool:
    """Whether what was found lies within what is claimed; nothing may be claimed."""
    if not claimed:
        return True
    return bool(found) and claimed[0] <= found[0] and found[1] <= claimed[1]


# ---- the certificate of a table of coefficients: ``kind`` is "inference"


@dataclass(frozen=True, eq=False, kw_only=True)
class InferenceProof(Written, AboutData):
    """Bounds on estimates, errors, ends and tests, with the points that prove them."""

    kind = "inference"

    method: str
    level: float
    C: float
    quantile: float
    columns: Integers  # of X, in the order of the coefficients
    point: Vector
    direction: Integers
    maximum: str  # "global": no other is as high; "local": there is one next to the point
    coefficients: tuple[Coefficient, ...]

    def check(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> bool:
        """Prove every bound again from the data; other data are refused where they have a name."""
        n, given = len(np.asarray(y)), 0.0 if offset is None else offset
        off = np.broadcast_to(np.asarray(given, dtype=np.float64), n)
        if sample_weight is not None:
            off = off[np.broadcast_to(sample_weight, n) > 0.0]
        X, y, weights = counted_rows(X, y, sample_weight)
        problem = problem_from(X, y, self.intercept)
        if not (isinstance(problem, SignedProblem) and self.speaks_of(problem.X.shape, 2)):
            return False
        if not (self._is_sound() and (problem.signs < 0.0).any()):  # labels of one class are all +1
            return False
        named = problem if self.intercept else problem_from(X, y, True)
        if self.data_sha256 and fingerprint(named, self.data_sha256) != self.data_sha256:
            return False
        try:
            bounds = self._bounds(problem, weights, off)
            if not holds(bounds, self.coefficients):
                return False
            return self.maximum != "global" or bounds.is_global
        except (ArithmeticError, ValueError, IndexError):
            return False

    def _is_sound(self) -> bool:
        """Whether this is a claim at all, whatever the data."""
        if not are_all(float, [self.C, self.level, self.quantile, *self.point]):
            return False
        if self.method not in ("mle", "firth", "ridge") or self.maximum not in ("global", "local"):
            return False
        whole = are_all(int, [*self.columns, *self.direction])
        return whole and self.C > 0.0 and 0.0 < self.level < 1.0

    def _bounds(self, problem: SignedProblem, weights: np.ndarray, off: np.ndarray) -> Bounds:
        chosen = list(self.columns)
        if any(not 0 <= j < problem.X.shape[1] for j in chosen):
            raise NoProof("the claim names columns that are not there")
        X: Any = problem.X[:, chosen]
        X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        if self.intercept:
            X = np.column_stack([np.ones(len(X)), X])
        ridge = np.zeros(X.shape[1])
        if self.method == "ridge":
            ridge[int(self.intercept) :] = 1.0 / self.C
        if len(self.point) != X.shape[1] or (any(self.direction) and self.method != "mle"):
            raise NoProof("the point has one number for each coefficient")
        y = (problem.signs > 0.0).astype(np.float64)
        rows = Rows(np.ascontiguousarray(X), y, weights, off, ridge)
        point = np.array(self.point, dtype=np.float64)
        return Bounds(rows, self.method, self.level, self.quantile, point, self.direction)

    def _sentence(self) -> str:
        return f"proved: {said(self)}"

    def to_json(self) -> str:
        """Write the certificate; it needs data that a file can name."""
        if not self.data_sha256:
            raise ValueError(
                "This certificate has no file form: it speaks of sample weights, of an offset, or "
                "of more than 2,000,000 entries. certificate.check(X, y) proves it."
            )
        return super().to_json()
