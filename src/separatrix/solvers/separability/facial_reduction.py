"""Split rows into those on the boundary of every halfspace and those some halfspace puts off it.

Gordan, again and again: either a direction has all margins > 0, and all live rows are off; or
multipliers prove some rows tight (margin 0 for every w with no negative margin), and the search
goes on among the w that keep them tight, in an exact basis of that space, where the rows they span
vanish. Each round loses a dimension, so it ends. Floats propose, integers decide.

Rows proved to lie on the boundary of every halfspace that holds all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Any

import flint
import numpy as np

from separatrix.problem.exact import SignedRows
from separatrix.solvers.separability.ball_simplex import LONG, alternative, alternative_in_balls
from separatrix.solvers.separability.row_generation import (
    Proposal,
    QuotientView,
    RawView,
    numerical_rank,
    propose,
    spanning_set,
    vertex,
)
from separatrix.solvers.separability.witness import (
    Basis,
    basis_of,
    exact_multipliers,
    independent_rows,
    primitive,
    vanish,
)

__all__ = [
    "Partition",
    "Tight",
    "Undecided",
    "full_rank_overlap",
    "opposite_duplicates",
    "partition",
    "smaller_witness",
    "strictly_off",
]


VERTEX_WIDTH = 150
SIMPLEX_CELLS = 60_000
MOST_CELLS = 30_000_000  # of exact directions: Python integers, some gigabytes of them

Small = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Partition:
    """Rows put off by a direction (exact), rows proved tight, and a small Gordan witness.

    ``direction`` has margin > 0 on ``off`` and 0 on every other row; None when no row is off.
    ``spans_all`` says that the tight rows have full rank, so that no further row need be looked at.
    """

    direction: list[Fraction] | None
    off: np.ndarray
    tight_rows: np.ndarray
    tight: Tight
    small: tuple[list[int], list[int]] | None
    spans_all: bool


def partition(rows: SignedRows, seed: int = 0) -> Partition:
    """Find the partition of the rows; raise ``Undecided`` where no proof was found."""
    everything = np.arange(len(rows))
    view = RawView(rows)
    proposal = propose(view, seed)
    if proposal.separated:
        w = [
            Fraction(v) / Fraction(2) ** int(e)
            for v, e in zip(proposal.w.tolist(), view.exponents, strict=True)
        ]
        if strictly_off(rows, w):
            return Partition(w, everything, everything[:0], Tight(None, rows.width), None, False)
    else:
        pair = None if proposal.is_partial else opposite_duplicates(rows)
        found = full_rank_overlap(rows, proposal, None if pair is None else (list(pair), [1, 1]))
        if found is not None:
            return found
    return _Reduction(rows, seed).run(proposal)


def full_rank_overlap(
    rows: SignedRows, proposal: Proposal, small: Small | None = None
) -> Partition | None:
    """Try to prove overlap from the support alone, without a look at the other rows.

    ``small`` is a small witness, if one is known.
    """
    support = proposal.support
    if numerical_rank(proposal) < rows.width:
        return None
    found = _witness(
        lambda chosen: rows.take(support[chosen]).integers.lists(np.arange(len(chosen))),
        proposal,
        small is None,
    )
    if found is None:
        return None
    chosen, multipliers = support[found.spanning[0]], found.spanning[1]
    tight = Tight(rows.take(chosen).integers, rows.width)
    tight.add(list(range(len(chosen))), multipliers, found.basis)
    if len(tight.basis_rows) < rows.width:
        return None
    tight.rows = chosen[tight.rows].tolist()
    tight.basis_rows = chosen[tight.basis_rows].tolist()
    if small is None and found.small is not None:
        small = (support[found.small[0]].tolist(), found.small[1])
    nothing = np.zeros(0, dtype=np.int64)
    return Partition(None, nothing, nothing, tight, small, True)


class _Reduction:
    """The rounds: live rows, the tight ones, and the exact directions that keep those tight."""

    def __init__(self, rows: SignedRows, seed: int) -> None:
        self.rows, self.seed = rows, seed
        self.integers = rows.integers
        self.tight = Tight(self.integers, rows.width)
        self.live = np.flatnonzero(_has_entries(rows))
        self.vectors: list[list[int]] | None = None
        self.small: tuple[list[int], list[int]] | None = None

    def run(self, proposal: Proposal | None) -> Partition:
        everything = np.arange(len(self.rows))
        if len(self.live) < len(self.rows):
            proposal = None
            zero = np.setdiff1d(everything, self.live)
            self.small = ([int(zero[0])], [1])
            self.tight.add(*self.small)
        view: Any = RawView(self.rows, self.live)
        while self.live.size:
            proposal = propose(view, self.seed) if proposal is None else proposal
            direction = self._advance(view, proposal)
            if direction is not None:
                tight_rows = np.setdiff1d(everything, self.live)
                return Partition(direction, self.live, tight_rows, self.tight, self.small, False)
            left = self.rows.width - len(self.tight.basis_rows)
            if left * self.rows.width > MOST_CELLS:
                # Not separable is proved; the exact directions that are left would not fit.
                raise Undecided(0.0, self.small or smaller_witness(self.tight))
            self.vectors = self.tight.null_space()
            if not self.vectors:
                break
            quotient = self.integers.part(self.live).times(self.vectors)
            moving = np.flatnonzero(quotient.signs().any(axis=1))
            self.live = self.live[moving]
            view, proposal = QuotientView(*quotient.take(moving).floats()), None
        full = len(self.tight.basis_rows) == self.rows.width
        return Partition(None, self.live[:0], everything, self.tight, self.small, full)

    def _advance(self, view: Any, proposal: Proposal) -> list[Fraction] | None:
        """Return a direction that puts all live rows off, or prove some of them tight."""
        if proposal.separated:
            direction = self._exact(proposal.w, view.exponents)
            if self._is_off(direction):
                return self._original(direction)
        else:
            support = self.live[proposal.support]
            if self.small is None and self.vectors is None:
                pair = opposite_duplicates(self.rows)
                self.small = None if pair is None else (list(pair), [1, 1])
            found = _witness(
                lambda chosen: self._lists(support[chosen]), proposal, self.small is None
            )
            if found is not None:
                self._add(found)
                return None
        answer = self._by_simplex(proposal)
        if answer.direction is not None:
            return self._original(self._combined(answer.direction))
        chosen = [i for i, m in enumerate(answer.multipliers) if m]
        multipliers = [answer.multipliers[i] for i in chosen]
        self._add(_Found((chosen, multipliers), (chosen, multipliers), np.arange(len(self.live))))
        return None

    def _by_simplex(self, proposal: Proposal) -> Any:
        width = self.rows.width if self.vectors is None else len(self.vectors)
        answer = None
        if len(self.live) * width <= SIMPLEX_CELLS:
            lists = self._lists(self.live)
            if max(abs(v) for row in lists for v in row).bit_length() > LONG:
                answer = alternative_in_balls(lists)
            answer = alternative(lists) if answer is None else answer
        if answer is None:
            matrix, weights = proposal.matrix, proposal.multipliers
            residual = (
                np.abs(matrix.T @ weights).max(initial=0.0) / weights.sum() if weights.size else 0.0
            )
            raise Undecided(float(residual))
        return answer

    def _add(self, found: _Found) -> None:
        rows = self.live[found.rows]
        chosen, multipliers = found.spanning
        self.tight.add(rows[chosen].tolist(), multipliers, found.basis)
        if self.small is None and self.vectors is None and found.small is not None:
            self.small = (rows[found.small[0]].tolist(), found.small[1])

    def _lists(self, rows: np.ndarray) -> list[list[int]]:
        lists = self.integers.lists(rows)
        if self.vectors is None:
            return lists
        return products(lists, self.vectors)

    def _exact(self, w: np.ndarray, exponents: np.ndarray) -> list[int]:
        """Write ``w / 2**exponents`` as integers up to a common factor."""
        fraction, power = np.frexp(w)
        shift = power.astype(np.int64) - exponents
        low = int(shift[w != 0.0].min(initial=0))
        whole = (fraction * 2.0**53).astype(np.int64).tolist()
        if self.vectors is None:
            # Columns of the integers are those of the data divided by their own powers of two.
            shift = shift + self.integers.exponents
            low = int(shift[w != 0.0].min(initial=0))
        numbers = [
            v << int(s - low) if v else 0 for v, s in zip(whole, shift.tolist(), strict=True)
        ]
        return self._combined(numbers)

    def _combined(self, numbers: list[int]) -> list[int]:
        if self.vectors is None:
            return primitive(numbers)
        return primitive(
            products([numbers], [list(column) for column in zip(*self.vectors, strict=True)])[0]
        )

    def _is_off(self, direction: list[int]) -> bool:
        return bool((self.integers.part(self.live).times([direction]).signs() > 0).all())

    def _original(self, direction: list[int]) -> list[Fraction]:
        return [
            Fraction(v) / Fraction(2) ** int(e)
            for v, e in zip(direction, self.integers.exponents, strict=True)
        ]


@dataclass(frozen=True)
class _Found:
    """Exact multipliers: a spanning set and a small one, as positions in ``rows``."""

    spanning: tuple[Any, list[int]]
    small: tuple[Any, list[int]] | None
    rows: np.ndarray
    basis: list[int] | None = None


def _witness(lists: Any, proposal: Proposal, want_small: bool = True) -> _Found | None:
    """Make the proposed multipliers exact: on a vertex (few rows), and on rows that span all.

    ``lists`` gives the integer rows of positions in the support.
    """
    width = proposal.matrix.shape[1]
    guess = vertex(proposal) if want_small and width <= VERTEX_WIDTH else None
    small, basis = _made_exact(lists, guess, proposal)
    if small is not None and len(small[0]) == width + 1:
        return _Found(small, small, proposal.support, basis)
    spanning, basis = _made_exact(lists, spanning_set(proposal), proposal)
    if spanning is not None:
        return _Found(spanning, small, proposal.support, basis)
    return None if small is None else _Found(small, small, proposal.support)


def _made_exact(
    lists: Any, guess: tuple[np.ndarray, np.ndarray] | None, proposal: Proposal
) -> tuple[tuple[list[int], list[int]] | None, list[int]]:
    """Return exact (positions, multipliers), if there are any, and which are a basis."""
    if guess is None or guess[0].size == 0:
        return None, []
    chosen, weights = guess
    exact = exact_multipliers(lists(chosen), weights, proposal.shift[chosen])
    return (None, []) if exact is None else ((chosen.tolist(), exact.multipliers), exact.basis)


def smaller_witness(tight: Tight) -> tuple[list[int], list[int]]:
    """Return rows and multipliers of zero sum, width + 1 of them at most where that is quick."""
    lists = tight.lists
    answer = alternative(lists) if len(lists) * tight.width <= SIMPLEX_CELLS // 20 else None
    if len(lists) <= tight.width + 1 or answer is None or answer.multipliers is None:
        return tight.rows, tight.multipliers
    chosen = [i for i, m in enumerate(answer.multipliers) if m]
    return [tight.rows[i] for i in chosen], [answer.multipliers[i] for i in chosen]


def strictly_off(rows: SignedRows, w: list[Fraction]) -> bool:
    """Whether every margin is positive; integers only where floats leave a doubt."""
    sizes = [v.numerator.bit_length() - v.denominator.bit_length() for v in w if v]
    unit = Fraction(2) ** max(sizes, default=0)
    floats = np.array([float(v / unit) for v in w])
    faithful = max(sizes, default=0) - min(sizes, default=0) < 900  # no weight was rounded to 0
    magnitude = SignedRows(abs(rows.X), np.ones(len(rows)), rows.fit_intercept)
    with np.errstate(over="ignore", invalid="ignore"):
        margins = rows.margins(floats)
        doubt = (rows.width + 4) * 2.0**-52 * magnitude.margins(np.abs(floats))
    unsure = np.flatnonzero(~(margins > doubt) | ~(doubt > 1e-290) | (not faithful))
    if unsure.size == 0:
        return True
    integers = rows.take(unsure).integers
    scaled = [v * Fraction(2) ** int(e) for v, e in zip(w, integers.exponents, strict=True)]
    return bool((integers.times([whole(scaled)]).signs() > 0).all())


def whole(values: list[Fraction]) -> list[int]:
    """Scale fractions to integers without a common divisor."""
    common = lcm(*(v.denominator for v in values))
    return primitive([v.numerator * (common // v.denominator) for v in values])


def products(rows: list[list[int]], vectors: list[list[int]]) -> list[list[int]]:
    """Multiply every row by every vector, exactly."""
    left, right = flint.fmpz_mat(rows), flint.fmpz_mat(vectors).transpose()
    return [[int(v) for v in row] for row in (left * right).tolist()]


def _has_entries(rows: SignedRows) -> np.ndarray:
    if rows.fit_intercept:
        return np.ones(len(rows), dtype=bool)
    if rows.is_sparse:
        return np.asarray(abs(rows.X).sum(axis=1)).ravel() > 0.0
    return rows.X.any(axis=1)


# ---- rows proved to lie on the boundary of every halfspace that holds all rows


MOST_ENTRIES = 50_000_000


class Undecided(Exception):
    """No proof found; carries the bound reached, and a witness if strict separation is out."""

    def __init__(self, bound: float, witness: tuple[list[int], list[int]] | None = None) -> None:
        super().__init__(bound)
        self.bound, self.witness = bound, witness


@dataclass
class Tight:
    """Rows proved tight: positive multipliers with zero sum, and a basis of the space they span."""

    integers: Any
    width: int
    rows: list[int] = field(default_factory=list)
    multipliers: list[int] = field(default_factory=list)
    basis_rows: list[int] = field(default_factory=list)
    lists: list[list[int]] = field(default_factory=list)
    basis: Basis = field(init=False)

    def __post_init__(self) -> None:
        self.basis = Basis([], self.width)

    def add(self, rows: list[int], multipliers: list[int], basis: list[int] | None = None) -> None:
        """Add rows whose weighted sum lies in the span: correct the old multipliers, scaled up.

        ``basis`` names positions in ``rows`` that are a basis of them, if that is known.
        """
        lists = self.integers.lists(np.array(rows, dtype=np.int64))
        total = flint.fmpz_mat([multipliers]) * flint.fmpz_mat(lists)
        scale = self._absorb([int(v) for v in total.entries()])
        self.lists += lists
        self.multipliers += [m * scale for m in multipliers]
        self.rows += rows
        self.multipliers = primitive(self.multipliers)
        candidates = self.basis_rows + rows
        if basis is not None and not self.basis_rows:
            kept = basis
        else:
            kept = independent_rows(self.basis.rows + lists)
        self.basis_rows = [candidates[i] for i in kept]
        self.basis = Basis([(self.basis.rows + lists)[i] for i in kept], self.width)

    def null_space(self) -> list[list[int]]:
        """Return vectors that span all w of product 0 with every row.

        Where the prime hid a row, the basis is found again.
        """
        vectors = self.basis.null_space()
        if not vanish(self.lists, vectors):
            kept, self.basis, vectors = basis_of(self.lists, self.width)
            self.basis_rows = [self.rows[i] for i in kept]
        return vectors

    def _absorb(self, total: list[int]) -> int:
        """Change the multipliers so that their sum cancels ``total * scale``; return the scale."""
        solved = self.basis.combination([-t for t in total])
        if solved is None:
            raise Undecided(0.0)
        mu, scale = solved
        place = {row: i for i, row in enumerate(self.rows)}
        at = [place[row] for row in self.basis_rows]
        factor = 1
        for i, correction in zip(at, mu, strict=True):
            if correction < 0:
                factor = max(factor, -correction // self.multipliers[i] + 1)
        self.multipliers = [m * factor for m in self.multipliers]
        for i, correction in zip(at, mu, strict=True):
            self.multipliers[i] += correction
        return scale

    def cover(self, rows: np.ndarray) -> int:
        """Give all of these rows one common multiplier; return it."""
        outside = np.setdiff1d(rows, np.array(self.rows, dtype=np.int64))
        if outside.size == 0:
            return 0
        scale = self._absorb(self.integers.total(outside))
        reduced = primitive([scale, *self.multipliers])
        self.multipliers = reduced[1:]
        return reduced[0]


# ---- two identical points with opposite labels: the smallest witness there is


def opposite_duplicates(rows: SignedRows) -> tuple[int, int] | None:
    """Return the first two equal rows of X of opposite signs; None if none, or if X is large.

    >>> X = np.array([[1.0, 2.0], [0.0, 2.0], [1.0, 2.0]])
    >>> opposite_duplicates(SignedRows(X, np.array([1.0, 1.0, -1.0])))
    (0, 2)
    """
    X = rows.X
    if (X.nnz if rows.is_sparse else X.size) > MOST_ENTRIES:
        return None
    hashes = _sparse_hashes(X) if rows.is_sparse else _dense_hashes(X)
    order = np.argsort(hashes, kind="stable")
    begins = np.flatnonzero(np.diff(hashes[order], prepend=hashes[order[:1]] ^ np.uint64(1)))
    signs = rows.signs[order]
    low = np.minimum.reduceat(signs, begins)
    high = np.maximum.reduceat(signs, begins)
    ends = np.append(begins[1:], len(order))
    for group in np.flatnonzero(low != high)[:100].tolist():
        members = np.sort(order[begins[group] : ends[group]])
        first = int(members[0])
        other = members[rows.signs[members] != rows.signs[first]]
        pair = np.array([first, int(other[0])])
        a, b = rows.take(pair).dense()
        if np.array_equal(a, -b):
            return first, int(other[0])
    return None


@lru_cache(maxsize=4)
def _keys(count: int) -> np.ndarray:
    return np.random.default_rng(1).integers(1, 2**63, size=count, dtype=np.uint64) * np.uint64(
        2
    ) + np.uint64(1)


def _bits(values: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(values + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    return bits ^ (bits >> np.uint64(29))


def _dense_hashes(X: np.ndarray) -> np.ndarray:
    total = np.zeros(X.shape[0], dtype=np.uint64)
    for column, key in zip(X.T, _keys(X.shape[1]), strict=True):
        total += _bits(column) * key
    return total


def _sparse_hashes(X: Any) -> np.ndarray:
    """Sum over the stored entries; stored zeros have no bits and count for nothing."""
    terms = _bits(X.data) * _keys(X.shape[1])[X.indices]
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
    return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
