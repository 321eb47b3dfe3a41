"""How far weights can be from the least-squares optimum, from the data and with rounding bounded.

    f(W, b) = sum_i s_i |W x_i + b - t_i|^2 + ridge |W|^2

Write A for the rows sqrt(s_i) [x_i - m, 1] (any m: the intercept takes it up) with the rows
root(ridge) [e_j, 0] below, r for the residual of one output and g = A'r. Two facts are proved.

1. Stewart (1977): the weights solve *exactly* the least-squares problem of the columns
   A_j - r (r.A_j) / |r|^2, each of which differs by |g_j| / (|A_j| |r|) of its length.
   Where |r| is small against the targets, they instead solve exactly the problem of targets
   changed by |r| / |t|. `perturbation` is the smaller of the two.

2. f - min f = g' (A'A)^-1 g <= sum_j (g_j / |A_j|)^2 / c, where c is a proved lower bound on the
   least eigenvalue of A'A with unit columns: its Cholesky decomposition, shifted by c and all
   rounding, exists (Rump, 2006). Where none is found, f - min f <= f is all that is said. This
   bounds the perturbation too: by root (f - min f) / |w| (the weights of unit columns).

Nothing here knows how the weights were found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from typing import Any, ClassVar, TypeVar

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.class_scatter import MOST_COLUMNS, least_eigenvalue, total
from separatrix.certificates.column_sizes import LARGEST, MovedRows, moved_rows
from separatrix.certificates.enclosed_sums import (
    ROOM,
    dot_error,
    products,
    row_sums,
    sums_both_ways,
)
from separatrix.certificates.enclosure import Enclosure, sum_of
from separatrix.certificates.two_bounds import NO_FILE_FORM, Written
from separatrix.checker.exact import at_most
from separatrix.checker.squares import error_in_words
from separatrix.errors import DataError
from separatrix.problem.canonical import counted_rows, targets_of
from separatrix.problem.device_rows import blocks, with_data
from separatrix.problem.fingerprint import fingerprint_of_squares, named_rows
from separatrix.problem.signed import as_matrix

Claim = TypeVar("Claim", bound="SquaresClaim")

_SMALL_EXCESS = 1e-12
_ENTRIES_AT_A_TIME = 1 << 17


@dataclass(frozen=True)
class SquaresClaim(Written):
    """Weights, and how far from the optimum of `task` they can be at the most.

    `perturbation`: they are the exact solution of data that differ by no more than this share; a
    ridge counts as rows sqrt(ridge) e_j with targets 0, which may differ too.
    `gap`: the objective is above its minimum by no more than this share of itself (1 says nothing).
    `objective` is rounded up, and `least` is below every objective there is.
    """

    has_file_form: ClassVar[bool] = True

    weights: tuple[tuple[float, ...], ...]
    ridge: float
    intercept: bool
    task: str
    objective: float
    least: float
    perturbation: float
    gap: float
    tolerance: float
    dense: bool
    data_sha256: str
    n_rows: int
    n_features: int
    rows_sha256: str = ""  # of rows and classes alone, by which a file names them
    names: tuple[str, ...] = ()

    @staticmethod
    def bounds() -> type[SquaresBounds]:
        """Return what encloses the bounds."""
        raise NotImplementedError

    @property
    def holds(self) -> bool:
        """Whether either bound is within the tolerance."""
        return min(self.perturbation, self.gap) <= self.tolerance

    def check(self, X: Any, y: Any, sample_weight: Any = None) -> bool:
        """Prove both bounds again from the data; other data are refused."""
        X, y, T, s = given_squares(self.in_its_form(X), y, sample_weight, self.task)
        W = np.array(self.weights)
        fits = (self.n_rows, self.n_features) == X.shape and W.shape == (T.shape[1], X.shape[1] + 1)
        # Without an intercept no bias is summed, and below zero the ridge bounds nothing.
        sound = self.ridge >= 0.0 and (self.intercept or (fits and not W[:, 0].any()))
        if (
            not (fits and sound)
            or fingerprint_of_squares(X, T, s, self.data_sha256) != self.data_sha256
        ):
            return False
        if self.rows_sha256 or self.names:
            labelled = self.task == "classification" and y.ndim == 1
            named = named_rows(X, y, s, self.rows_sha256) if labelled else None
            if (self.rows_sha256, self.names) != named:
                return False
        found = self.bounds().prove(X, T, s, W, self.ridge, self.intercept)
        objective, least, perturbation, gap = found
        return bool(
            objective <= self.objective
            and least >= self.least
            and perturbation <= self.perturbation
            and gap <= self.gap
        )

    def spoken_of(self) -> Any:
        """Return what says of which data this is a claim."""
        return self.named(self.rows_sha256, self.names)

    def named(self, rows_sha256: str, names: tuple[str, ...]) -> Any:
        """Return what a file says of the data: the fingerprint of rows and classes alone."""
        if not rows_sha256:
            raise DataError(NO_FILE_FORM)
        return SimpleNamespace(**vars(self) | {"classes": names, "data_sha256": rows_sha256})

    def in_its_form(self, X: Any) -> Any:
        """Return X dense or sparse, as it was: sparse rows are not moved, and round otherwise."""
        if sp.issparse(X) == self.dense:
            return X.toarray() if self.dense else sp.csr_array(X)
        return X


@dataclass(frozen=True)
class LeastSquaresOptimality(SquaresClaim):
    """The claim about all weights there are."""

    kind = "least-squares"

    @staticmethod
    def bounds() -> type[SquaresBounds]:
        """Return what encloses the bounds."""
        return SquaresBounds

    def _sentence(self) -> str:
        data = "data, the rows of the ridge among them," if self.ridge else "data"
        moved = at_most(self.perturbation, 2)
        said = f"the exact solution of {data} that differ by at most {moved}"
        if self.gap < 1.0:
            error = error_in_words(self.ridge)
            said += f"; {error} is within {at_most(self.gap, 2)} of the least possible"
        return f"proved: {said}" if self.holds else f"not to the tolerance, but proved: {said}"


def check_least_squares(*data: Any, **settings: Any) -> LeastSquaresOptimality:
    """Compute the bounds from the data, rounding outwards; arguments of `check_squares`."""
    return check_squares(LeastSquaresOptimality, *data, **settings)


def check_squares(
    kind: type[Claim],
    X: Any,
    y: Any,
    coef: np.ndarray,
    intercept: np.ndarray,
    *,
    sample_weight: Any = None,
    ridge: float = 0.0,
    fit_intercept: bool = True,
    task: str = "classification",
    tolerance: float = 1e-9,
) -> Claim:
    """Compute both bounds from the data, rounding outwards."""
    X, y, T, s = given_squares(X, y, sample_weight, task)
    W = np.column_stack([intercept, coef])
    found = kind.bounds().prove(X, T, s, W, ridge, fit_intercept, ROOM)
    objective, least, perturbation, gap = found
    labelled = kind.has_file_form and task == "classification" and y.ndim == 1
    rows_sha256, names = named_rows(X, y, s) if labelled else ("", ())
    return kind(
        weights=tuple(tuple(row) for row in W.tolist()),
        ridge=float(ridge),
        intercept=fit_intercept,
        task=task,
        objective=objective,
        least=least,
        perturbation=perturbation,
        gap=gap,
        tolerance=float(tolerance),
        dense=not sp.issparse(X),
        data_sha256=fingerprint_of_squares(X, T, s),
        n_rows=len(T),
        n_features=int(X.shape[1]),
        rows_sha256=rows_sha256,
        names=names,
    )


def given_squares(
    X: Any, y: Any, sample_weight: Any, task: str
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows, labels, targets and weights; rows of weight 0 are not there."""
    X, y, s = counted_rows(as_matrix(X).astype(np.float64, copy=False), y, sample_weight)
    return X, y, targets_of(y, task), s


class SquaresBounds:
    """Residuals and gradients of all outputs in columns that are easily compared, enclosed.

    Columns are those of `column_sizes`: the intercept is b + m.w there.
    """

    def __init__(
        self,
        rows: MovedRows,
        T: np.ndarray,
        s: np.ndarray,
        W: np.ndarray,
        ridge: float,
    ) -> None:
        self.T, self.s, self.ridge, self.intercept = T, s, ridge, rows.has_ones
        self.w = Enclosure.exact(W[:, 1:].T).scaled(rows.exponents[:, None])
        penalty = Enclosure.exact(np.full(len(rows.mean), ridge)).scaled(-2 * rows.exponents)
        self.penalty = penalty.at_least(0.0)
        bias = self._moved_bias(rows, W[:, 0]) if self.intercept else None
        # A column is absent only if all its entries are exactly zero.
        real = rows.varied | (self.penalty.high > 0.0)
        if not real.all():
            rows, self.w, self.penalty = rows.of(real), self.w[real], self.penalty[real]
        if bias is not None:
            self.w = Enclosure.joined([self.w, bias])
            self.penalty = Enclosure.joined([self.penalty, Enclosure.exact(np.zeros(1))])
        self.rows = rows
        self._sum_up()
        # Squared lengths of the residuals, the rows of the ridge included.
        penalised = (Enclosure.exact(W[:, 1:].T).square() * ridge).column_sums()
        self.squares = _weighted_squares(self.residual, s) + penalised

    def _moved_bias(self, rows: MovedRows, bias: np.ndarray) -> Enclosure:
        """Return the intercept of the moved columns, b + m.w."""
        given = Enclosure.joined([self.w, Enclosure.exact(bias[None])])
        return products(np.append(rows.mean, 1.0)[None], given, way="compensated")

    def _sum_up(self) -> None:
        """Enclose residuals, gradients and squared lengths, in one pass over the rows."""
        parts, pull = [], self.w * self.penalty[:, None]
        squares = np.zeros(self.rows.shape[1])
        for own, block in self.rows.blocks():
            found, pulled = self._of_block(block, self.T[own], self.s[own, None])
            pull = pull + pulled
            squares += _weighted_squares_of(block, self.s[own])
            parts.append(found)
        self.residual, self.gradient = Enclosure.joined(parts), pull
        self.square_lengths = _square_lengths(squares, len(self.s)) + self.penalty
        self.is_hidden = not (self.square_lengths.low > 0.0).all()

    def _of_block(self, block: Any, T: np.ndarray, s: np.ndarray) -> tuple[Enclosure, Enclosure]:
        """Enclose the residuals of some rows, and the gradient of their part of the objective."""
        scores, pull = sums_both_ways(
            block, self.w, (), lambda rows, found: (found - T[rows]) * s[rows], "each", rounded=1
        )
        return scores - T, pull

    @classmethod
    def prove(
        cls,
        X: Any,
        T: np.ndarray,
        s: np.ndarray,
        W: np.ndarray,
        ridge: float,
        intercept: bool,
        room: float = 1.0,
    ) -> tuple[float, float, float, float]:
        """Return f rounded up, a bound below min f, the perturbation, and the gap.

        A `room` above 1 widens the claim: f's enclosure by its own width, the rest by this factor.
        """
        with np.errstate(all="ignore"):
            # Weights near 1, by a power of two: products with them do not vanish.
            power = int(np.frexp(s.max(initial=1.0))[1])
            scaled, penalty = np.ldexp(s, -power), math.ldexp(float(ridge), -power)
            rows = moved_rows(X, scaled, intercept)
            exact = (np.ldexp(scaled, power) == s).all() and math.ldexp(penalty, power) == ridge
            if not exact or rows is None or not cls.admits(W):
                return math.inf, 0.0, math.inf, 1.0
            bounds = cls(rows, T, scaled, W, penalty)
            squares, least, perturbation, gap = bounds.squares.sum(), math.nan, math.inf, 1.0
            if room > 1.0 and squares.is_finite:
                squares = squares + (squares - squares)
            if not bounds.is_hidden:
                excess = float((Enclosure.exact(bounds.excess()) * room).high)
                least = float((squares - excess).scaled(power).low)
                perturbation = float((Enclosure.exact(bounds.perturbation(excess)) * room).high)
                gap = float((Enclosure.exact(excess) / squares).high)
        # A comparison with NaN is false: what overflowed is no proof.
        perturbation = perturbation if 0.0 <= perturbation < math.inf else math.inf
        least = least if least >= 0.0 else 0.0
        gap = gap if 0.0 <= gap < 1.0 else 1.0
        return float(squares.scaled(power).high), least, perturbation, gap

    @staticmethod
    def admits(W: np.ndarray) -> bool:
        """Whether such weights are allowed at all."""
        return True

    def perturbation(self, excess: float) -> float:
        """Bound by how much the data differ of which the weights are the exact solution."""
        squares, gradient = self._about_the_mean()
        lengths, residuals = squares.root(), self.squares.root()
        shares = (gradient / lengths[:, None]).size().high
        angle = Enclosure.exact(shares.max(axis=0, initial=0.0)) / residuals
        features = slice(0, len(lengths.low) - self.intercept)
        units = (self.w[features] * lengths[features][:, None]).square().column_sums().root()
        targets = residuals / self.spread_of_targets()
        best = angle.at_most(targets).at_most(Enclosure.exact(excess).root() / units)
        return float(best.high.max(initial=0.0))

    def _about_the_mean(self) -> tuple[Enclosure, Enclosure]:
        """Enclose squared lengths and gradient of columns moved by their exact mean.

        What they are moved by is that mean rounded: of a column whose numbers differ in their last
        digits alone, the rest is as large as the column.
        """
        if not self.intercept or self.rows.is_sparse:
            return self.square_lengths, self.gradient
        mass, rest = self._mass_and_mean
        squares = (self.square_lengths[:-1] - rest.square() * mass).at_least(0.0)
        gradient = self.gradient[:-1] - rest[:, None] * self.gradient[-1:]
        return (
            Enclosure.joined([squares, self.square_lengths[-1:]]),
            Enclosure.joined([gradient, self.gradient[-1:]]),
        )

    @cached_property
    def _mass_and_mean(self) -> tuple[Enclosure, Enclosure]:
        """Enclose the sum of the weights, and the mean of the columns, the ones left out."""
        mass = Enclosure.exact(self.s).sum()
        sums = [row_sums(block, self.s[own], rounded=1) for own, block in self.rows.blocks()]
        return mass, (total(tuple(sums)) / mass)[:-1]

    def spread_of_targets(self) -> Enclosure:
        """Enclose |t|; where there is an intercept, that of t less its mean, which it takes up."""
        if not self.intercept:
            return _weighted_squares(Enclosure.exact(self.T), self.s).root()
        mean, mass = (self.s / self.s.sum()) @ self.T, Enclosure.exact(self.s).sum()
        # Targets of one value have no spread to compare with: their size serves.
        level = (self.T[0] == self.T).all(axis=0)
        moved = Enclosure.exact(self.T) - np.where(level, 0.0, mean)
        off = (moved * self.s[:, None]).column_sums().square() / mass
        return (_weighted_squares(moved, self.s) - off * np.where(level, 0.0, 1.0)).root()

    @property
    def is_small(self) -> bool:
        """Whether there are few enough columns to form A'A."""
        return len(self.penalty.low) <= MOST_COLUMNS + self.intercept

    def excess(self) -> float:
        """Bound f - min f, in the cheapest way that gives a small number."""
        excess = self._excess_by_ridge()
        if not self.is_small:
            return excess
        objective = float(self.squares.sum().low)
        for way in self._ways():
            if excess <= _SMALL_EXCESS * objective:
                break
            found = way()
            excess = min(excess, found) if found >= 0.0 else excess
        return excess

    def _ways(self) -> tuple[Callable[[], float], ...]:
        """Return ways to bound f - min f by A'A, the cheapest first."""
        return self._excess_by_columns, self._excess_by_triangle

    def _counted(self, gradient: Enclosure) -> Enclosure:
        """Return what of a gradient of all columns, or of the features alone, can lower f."""
        return gradient

    def _excess_by_ridge(self) -> float:
        """Bound f - min f by the ridge alone.

        With the mean m of the columns taken up by the intercept, A'A + ridge falls into the
        columns, where it is at least the ridge, and the intercept, where it is sum s.
        """
        if not self.ridge > 0.0:
            return math.inf
        if not self.intercept:
            return float((self._counted(self.gradient).square() / self.penalty[:, None]).sum().high)
        (mass, mean), own = self._mass_and_mean, self.gradient[-1:]
        columns = self._counted(self.gradient[:-1] - mean[:, None] * own)
        moved = columns.square() / self.penalty[:-1, None]
        return float((moved.sum() + (own.square() / mass).sum()).high)

    def _excess_by_columns(self) -> float:
        """Bound f - min f by the least eigenvalue of A'A with unit columns."""
        lengths = self.square_lengths.root()
        sizes = lengths.middle
        gram = _gram(self.rows.blocks(), self.s, lengths, sizes, rounded=2)
        if self.ridge:
            gram = gram + (self.penalty / sizes / sizes).diagonal()
        gradient = self._counted(self.gradient)
        return _sum_of_squares(gradient / sizes[:, None], least_eigenvalue(gram))

    def _excess_by_triangle(self) -> float:
        """Bound f - min f = (C'g)' (B'B)^-1 (C'g) with B = A C and any C: here the inverse of R.

        B is nearly orthogonal even where A is far from it, and C'g is computed as B'r.
        """
        n, columns = self.rows.shape
        if self.rows.is_sparse or self.ridge or n < columns:
            return math.inf
        A = self.rows.whole()
        try:
            C = np.linalg.inv(np.linalg.qr(np.sqrt(self.s)[:, None] * A, mode="r"))
        except np.linalg.LinAlgError:
            return math.inf
        found = products(A, C, way="each", rounded=1)
        B, wrong = found.middle, found.radius
        lengths = _square_lengths(_weighted_squares_of(B, self.s), n).root()
        in_blocks, largest = blocks(B, _ENTRIES_AT_A_TIME), float(abs(B).max(initial=1.0))
        gram = _gram(in_blocks, self.s, lengths, np.ones(columns), largest=largest)
        least = Enclosure.exact(least_eigenvalue(gram))
        # sigma_min of the exact A C is at least that of B, less the norm of what is wrong with B.
        away = _weighted_squares(Enclosure.exact(wrong), self.s).sum().root()
        least = (least.root() - away).at_least(0.0).square()
        weighted = self.residual * self.s[:, None]
        off = row_sums(wrong, weighted.size().high, way="each").high
        pulled = row_sums(B, weighted, way="each") + Enclosure(-off, off)
        return _sum_of_squares(pulled, float(least.low))


def _weighted_squares(values: Enclosure, s: np.ndarray) -> Enclosure:
    """Enclose sum_i s_i v_ik^2 for every column."""
    columns = range(values.shape[1])
    return Enclosure.stacked(
        [sum_of(lambda v, weight: v.square() * weight, values[:, k], s) for k in columns]
    )


def _weighted_squares_of(A: Any, s: np.ndarray) -> np.ndarray:
    """Return about sum_i s_i a_ij^2."""
    squares = with_data(A, A.data**2) if sp.issparse(A) else A * A
    return np.asarray(s @ squares)


def _square_lengths(squares: np.ndarray, n: int) -> Enclosure:
    """Enclose sum_i s_i a_ij^2, s below 1, from its sum as computed, for entries rounded once.

    So a square is rounded three times, and one that vanished is off by less than a least number.
    """
    return Enclosure.around(squares, dot_error(n + 4.0, squares)).at_least(0.0)


def _gram(
    rows: Iterator[tuple[slice, Any]],
    s: np.ndarray,
    lengths: Enclosure,
    sizes: np.ndarray,
    rounded: int = 0,
    largest: float = LARGEST,
) -> Enclosure:
    """Enclose A'SA, s below 1, for blocks of rows, and columns divided by sizes.

    The absolute terms of a sum add up to two lengths (Cauchy). Both entries together were rounded
    so many times, the sum twice by division. A product s a that vanished is off by less than a
    least number, times the other entry.
    """
    found = np.zeros((len(sizes), len(sizes)))
    # Where all rows weigh the same power of two, the sums are multiplied instead of the rows.
    is_level = bool((s == s[0]).all()) and math.frexp(s[0])[0] == 0.5
    for own, A in rows:
        product = (A if is_level else _weighted(A, s[own])).T @ A
        found += product.toarray() if sp.issparse(product) else product
    found *= s[0] if is_level else 1.0
    terms = len(s) + rounded + 4.0
    vanished = Enclosure.exact(largest * dot_error(terms, 0.0)) / sizes / sizes[:, None]
    units = (lengths / sizes).high
    errors = dot_error(terms, units[:, None] * units) + vanished.high
    return Enclosure.around(found / sizes / sizes[:, None], errors)


def _weighted(A: Any, s: np.ndarray) -> Any:
    """Return rows times their weights."""
    if sp.issparse(A):
        return with_data(A, A.data * np.repeat(s, np.diff(A.indptr)))
    return A * s[:, None]


def _sum_of_squares(values: Enclosure, over: float) -> float:
    """Return the sum of squares over something, rounded up; infinite where that is 0."""
    return float((values.square().sum() / over).high) if over > 0.0 else math.inf
