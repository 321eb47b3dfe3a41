"""Multipliers of rows and rival classes: the dual points of the direct machines.

A multiplier m_ik >= 0 belongs to row i and a class k that is not its own. It gives the row a share
in the weights of its own class and takes as much from class k:

    a_iy = sum_k m_ik,      a_ik = -m_ik,      balance of class k  r_k = sum_i a_ik

They are feasible where no row's exceed its cost together and, for free biases, every r_k is zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.enclosed_sums import dot_error
from separatrix.certificates.two_bounds import TwoBounds, are_floats, require

__all__ = [
    "Named",
    "NamedMultipliers",
    "are_feasible",
    "balances",
    "cancelling",
    "rounded_sum",
    "shares_of",
    "sparse_shares",
]


class Named(NamedTuple):
    """Multiplier t belongs to row ``rows[t]`` and the class number ``rivals[t]``."""

    rows: np.ndarray
    rivals: np.ndarray
    multipliers: np.ndarray

    @classmethod
    def none(cls) -> Named:
        """Return no multipliers at all: a dual point of any machine."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))

    def are_named_once(self, n_rows: int, n_classes: int) -> bool:
        """Whether every multiplier is a number, and has a row and a class that no other has."""
        rows, rivals, multipliers = self
        if rows.ndim != 1 or not rows.shape == rivals.shape == multipliers.shape:
            return False
        if not all(
            (numbers >= 0).all() and (numbers < most).all()
            for numbers, most in ((rows, n_rows), (rivals, n_classes))
        ):
            return False
        places = rows * n_classes + rivals
        in_order = (np.diff(places) > 0).all()  # as they usually come
        return bool(
            np.isfinite(multipliers).all() and (in_order or len(np.unique(places)) == len(places))
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class NamedMultipliers(TwoBounds):
    """A claim whose dual point are multipliers of rows and rival classes; all others are zero."""

    rows: np.ndarray
    rivals: np.ndarray
    multipliers: np.ndarray

    @property
    def _named(self) -> Named:
        return Named(self.rows, self.rivals, self.multipliers)

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        super().require_sound()
        kinds = "".join(getattr(each, "dtype", np.dtype("O")).kind for each in self._named)
        named = kinds == "iif" and are_floats(self.multipliers)
        require(
            named and self._named.are_named_once(self.n_rows, len(self.classes)),
            "every multiplier needs its row and its class, named once",
        )


def are_feasible(named: Named, codes: np.ndarray, costs: np.ndarray, n_classes: int) -> bool:
    """Whether rows and rivals are there, none is of its own class, and costs are not exceeded."""
    return (
        named.are_named_once(len(codes), n_classes)
        and not (codes[named.rows] == named.rivals).any()
        and are_within_costs(named, costs, n_classes)
    )


def are_within_costs(named: Named, costs: np.ndarray, n_classes: int) -> bool:
    """Whether no multiplier is negative, and no row's exceed its cost together."""
    rows, _, multipliers = named
    if not (multipliers >= 0.0).all():
        return False
    if len(rows) == 0:
        return True
    totals = np.bincount(rows, multipliers, minlength=len(costs))
    # Sums of at most n_classes numbers: what rounding leaves open is summed exactly.
    counts = np.bincount(rows, minlength=len(costs))
    if counts.max() >= n_classes:
        return False
    clear = totals + dot_error(counts.astype(np.float64) + 2.0, totals) <= costs
    order = np.argsort(rows, kind="stable")
    ends = np.cumsum(counts)
    values = multipliers[order]
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
    total, kept = np.zeros(len(shares)), np.ones(len(shares), dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):
        for column in shares.T:
            before, total = total, total + column
            # What the sum lost, exactly (Knuth's TwoSum); NaN is a loss.
            back = total - before
            kept &= (before - (total - back)) + (column - back) == 0.0
    kept &= total == 0.0
    for i in np.flatnonzero(~kept):
        kept[i] = rounded_sum(shares[i]) == 0.0
    return kept


def rounded_sum(values: np.ndarray) -> float:
    """Return the sum, rounded once: zero, or of its sign, only if it is."""
    try:
        return math.fsum(values.tolist())
    except (OverflowError, ValueError):
        return math.inf
