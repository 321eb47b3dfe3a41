"""How far the Crammer-Singer model is from the optimum, proved from the data alone.

`problem/many_classes.py` states the objective and its dual. Here a multiplier m_ik >= 0 belongs
to row i and a class k that is not its own. It gives the row a share in the weights of its own
class, and takes as much from class k:

    a_iy = sum_k m_ik,   a_ik = -m_ik,   u_k = sum_i a_ik x_i,   balance  r_k = sum_i a_ik

They are feasible where no row's exceed c_i together and, for free biases (p = 0), every r_k is
exactly zero. The multinomial model has the same weights, costs and penalties (`WeightsByClass`),
and the model with a kernel the same multipliers (`NamedMultipliers`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.duality_gap import (
    NOTHING,
    half_square,
    norm,
    penalty_of_biases,
    rounded_sum,
)
from separatrix.certificates.enclosed_sums import dot_error, sums_both_ways
from separatrix.certificates.enclosure import Enclosure, sum_of
from separatrix.certificates.two_bounds import Found, TwoBounds, are_arrays, are_floats
from separatrix.checker.codec import require
from separatrix.problem.signed import Violation, violations_by_class


class Named(NamedTuple):
    """The multipliers of such rows and rival classes."""

    rows: np.ndarray
    rivals: np.ndarray
    multipliers: np.ndarray

    def are_named_once(self, n_rows: int, n_classes: int) -> bool:
        """Whether every multiplier is a number, and has a row and a class that no other has."""
        rows, rivals, multipliers = self
        if rows.ndim != 1 or not rows.shape == rivals.shape == multipliers.shape:
            return False
        for numbers, most in ((rows, n_rows), (rivals, n_classes)):
            if not ((numbers >= 0).all() and (numbers < most).all()):
                return False
        places = rows * n_classes + rivals
        once = (np.diff(places) > 0).all() or len(np.unique(places)) == len(places)
        return bool(np.isfinite(multipliers).all() and once)


@dataclass(frozen=True, eq=False, kw_only=True)
class NamedMultipliers(TwoBounds):
    """A claim whose dual point are multipliers; all that are not named are zero.

    Multiplier t belongs to row ``rows[t]`` and the class number ``rivals[t]``.
    """

    rows: np.ndarray
    rivals: np.ndarray
    multipliers: np.ndarray

    @property
    def _named(self) -> Named:
        return Named(self.rows, self.rivals, self.multipliers)

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        super().require_sound()
        are_numbers = all(are_arrays(each) and each.dtype.kind == "i" for each in self._named[:2])
        require(
            are_numbers
            and are_floats(self.multipliers)
            and self._named.are_named_once(self.n_rows, len(self.classes)),
            "every multiplier needs its row and its class, named once",
        )


def are_feasible(named: Named, codes: np.ndarray, costs: np.ndarray, n_classes: int) -> bool:
    """Whether rows and rivals are there, none is of its own class, and costs are not exceeded."""
    rows, rivals, multipliers = named
    named_once = named.are_named_once(len(codes), n_classes)
    if not named_once or (codes[rows] == rivals).any() or not (multipliers >= 0.0).all():
        return False
    totals = np.bincount(rows, multipliers, minlength=len(costs))
    # Sums of at most n_classes numbers: what rounding leaves open is summed exactly.
    counts = np.bincount(rows, minlength=len(costs))
    clear = totals + dot_error(counts.astype(np.float64) + 2.0, totals) <= costs
    values, ends = multipliers[np.argsort(rows, kind="stable")], np.cumsum(counts)
    for row in np.flatnonzero(~clear & (counts > 0)):
        mine = values[ends[row] - counts[row] : ends[row]]
        if rounded_sum(np.append(mine, -costs[row])) > 0.0:
            return False
    return True


def sparse_shares(named: Named, codes: np.ndarray, n_classes: int) -> Any:
    """Return a_ik as a sparse matrix; the shares in own classes are sums in some order."""
    rows, rivals, multipliers = named
    places = np.concatenate([rows, rows]), np.concatenate([codes[rows], rivals])
    values = np.concatenate([multipliers, -multipliers])
    return sp.csr_array(sp.coo_array((values, places), shape=(len(codes), n_classes)))


def balances(named: Named, codes: np.ndarray, n_classes: int) -> list[float]:
    """Return every r_k: the exact sum, rounded once."""
    rows, rivals, multipliers = named
    classes = np.concatenate([codes[rows], rivals])
    values = np.concatenate([multipliers, -multipliers])
    order = np.argsort(classes, kind="stable")
    cuts = np.searchsorted(classes[order], np.arange(1, n_classes))
    return [rounded_sum(part) for part in np.split(values[order], cuts)]


def shares_of(
    codes: np.ndarray, rows: np.ndarray, rivals: np.ndarray, multipliers: np.ndarray, n_classes: int
) -> np.ndarray:
    """Return a_ik, n x K; a share in the own class is the exact sum, rounded once.

    >>> shares_of(np.array([0, 1, 2]), np.array([0, 0]), np.array([1, 2]), np.array([0.5, 0.25]), 3)
    array([[ 0.75, -0.5 , -0.25],
           [ 0.  ,  0.  ,  0.  ],
           [ 0.  ,  0.  ,  0.  ]])
    """
    shares: np.ndarray = sparse_shares(Named(rows, rivals, multipliers), codes, n_classes).toarray()
    for i in np.flatnonzero(~cancelling(shares)):
        # The order of the sum may have mattered: whoever checks must find the same number.
        shares[i, codes[i]] = 0.0
        shares[i, codes[i]] = -rounded_sum(shares[i])
    return shares


def cancelling(shares: np.ndarray) -> np.ndarray:
    """Return which rows' shares add up to zero exactly: their sums lost nothing to rounding."""
    kept = np.asarray(~shares.any(axis=1))
    for i in np.flatnonzero(~kept):
        kept[i] = rounded_sum(shares[i]) == 0.0
    return kept


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightsByClass(TwoBounds):
    """Two bounds on the objective of `weights`: one row [b, w_1 ... w_d] a class."""

    weights: np.ndarray
    bias_penalty: float = 0.0

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        super().require_sound()
        require(
            are_floats(self.weights)
            and self.weights.shape == (len(self.classes), self.n_features + 1),
            "weights must be one list a class: the bias, and one number a column",
        )
        require(0.0 <= self.bias_penalty < math.inf, "bias_penalty must be at least 0")

    @property
    def _W(self) -> np.ndarray:
        return np.ascontiguousarray(self.weights[:, 1:].T, dtype=np.float64)

    @property
    def _biases(self) -> np.ndarray:
        return self.weights[:, 0] if self.intercept else np.zeros(len(self.weights))

    @property
    def _penalty(self) -> float | None:
        """What biases cost: None where there are none."""
        return self.bias_penalty if self.intercept else None

    def _primal(self, losses: Enclosure, ridge: float = 1.0) -> Enclosure:
        """Enclose the objective, given the loss of every row."""
        spent = norm(self.weights[:, 1:], self._biases, self._penalty or 0.0, ridge)
        return spent + losses_of(losses, self.costs)

    def _sentence(self) -> str:
        return self._in_words(f"{len(self.classes)} weight vectors lower")


def losses_of(losses: Enclosure, costs: np.ndarray) -> Enclosure:
    """Enclose the sum of all losses times their costs."""
    return sum_of(lambda loss, c: loss * c, losses, costs)


def shortfalls(scores: Enclosure, codes: np.ndarray) -> Enclosure:
    """Enclose how far rows fall short of a margin of 1 over every other class."""
    own = np.arange(len(codes)), codes
    away = scores + 1.0 - scores[own][:, None]
    for end in (away.low, away.high):
        end[own] = 0.0  # a row is at no distance from its own class
    return away.column_max()


@dataclass(frozen=True, eq=False, kw_only=True)
class MulticlassGap(NamedMultipliers, WeightsByClass):
    """Two bounds for weights and multipliers of the Crammer-Singer model."""

    kind = "multiclass-gap"

    violations: tuple[Violation, ...] = ()
    slack: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)

    @property
    def margins(self) -> np.ndarray:
        """By how much each row's own class beats the others, at least; 1 stands for all above."""
        return 1.0 - self.slack

    def _found(self, X: Any, codes: np.ndarray, wide: float) -> Iterator[Found]:
        """One bound serves all classes first; then each has its own."""
        K, named = len(self.weights), self._named
        feasible = are_feasible(named, codes, self.costs, K)
        if not feasible:  # no multipliers at all are a dual point of any model
            named = Named(*(each[:0] for each in named))
        shares, balance = sparse_shares(named, codes, K), balances(named, codes, K)
        feasible = feasible and not (self._penalty == 0.0 and any(balance))
        spent = Enclosure.exact(0.0)
        if self._penalty:  # each balance is an exact sum rounded once
            spent = penalty_of_biases(Enclosure.around(np.array(balance), 0.0), self._penalty)
        gain = Enclosure.exact(named.multipliers).sum()
        for way in ("plain", "each"):
            # A share in a row's own class is a sum of up to K multipliers, and rounded as often.
            scores, totals = sums_both_ways(X, self._W, (), shares, way, wide, rounded=K)
            scores = scores + self._biases
            short = shortfalls(scores, codes)
            dual = gain - half_square(totals) - spent if feasible else NOTHING
            shown = partial(self._shown, scores.middle, short.high, codes, named, totals.middle)
            yield Found(self._primal(short), dual, shown)

    def _shown(
        self, scores: np.ndarray, short: np.ndarray, codes: np.ndarray, named: Named, sums: Any
    ) -> dict[str, Any]:
        slopes = scores + 1.0
        slopes[np.arange(len(codes)), codes] -= 1.0
        found = violations_by_class(self.costs, *named, slopes, codes, self._W, sums)
        return {"violations": found, "slack": np.maximum(short, 0.0)}
