"""Fisher's discriminant of several classes: its ratios, proved from the data alone.

The ratios t_1 >= t_2 >= ... solve S_B v = t S_W v, and all but K - 1 of them are zero. With the
directions V = (v_1 ... v_k), the weights w_k ~ C^-1 a_k of the scores, a_k = m_k - m, C = S_W / N,
and what they lack, r_k = C w_k - a_k:

    t_k >= l    where V'(S_B - l S_W)V is positive semidefinite: along V no ratio is below l
    sum t_k  =  sum_k N_k / N a_k' C^-1 a_k,     a' C^-1 a  =  a'w - r'w + r' C^-1 r

The last term is bounded by a least eigenvalue. What the sum leaves beside the lower bounds of the
others bounds each ratio from above. The weights are exact for means moved by r_k: `moved` bounds
that in standard deviations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix.certificates.about_data import Written
from separatrix.certificates.canonical import codes_of, data_of, sha256
from separatrix.certificates.class_scatter import ClassScatter, class_scatter, times, total
from separatrix.certificates.definite import is_positive
from separatrix.certificates.enclosed_sums import ROOM
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.json_form import NO_FILE_FORM
from separatrix.errors import DataError

__all__ = ["FisherDirections", "in_deviations", "lacking", "prove_fisher_directions"]

_SLACK = 1e-12  # of the ratios, so that another order of sums finds the claim true
_STEPS = tuple(10.0**power for power in range(-13, -1))
_SHARES = tuple(10.0**power for power in range(-1, -15, -1))
_ENOUGH = 1e-6


@dataclass(frozen=True, eq=False, kw_only=True)
class FisherDirections(Written):
    """The k-th largest ratio lies between ``lower[k]`` and ``upper[k]``: proved.

    `directions` has a column a direction, best first; `weights` a row of scores a class. `moved` is
    by how many standard deviations the class means would have to move for the weights to be exact.
    """

    directions: np.ndarray
    weights: np.ndarray
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    moved: float
    weighted: bool = False

    kind = "fisher-directions"

    @property
    def gap(self) -> float:
        """The largest share of a ratio that is left open, as a share of the first."""
        if not self.upper or not self.upper[0] > 0.0:
            return math.inf
        return max(u - low for low, u in zip(self.lower, self.upper, strict=True)) / self.upper[0]

    @property
    def holds(self) -> bool:
        """Whether ratios and weights are those of the data to within a millionth."""
        return self.gap <= _ENOUGH and self.moved <= _ENOUGH

    def check(self, X: Any, y: Any, sample_weight: Any = None) -> bool:
        """Prove the claim again from the data; other data are refused."""
        given = self.weighted_problem(X, y, sample_weight)
        d, K = self.n_features, len(self.classes)
        fits = (
            self.weights.shape == (K, d)
            and self.directions.shape == (d, len(self.lower))
            and 0 < len(self.lower) == len(self.upper) <= K - 1
        )
        if given is None or not fits:
            return False
        found = class_scatter(given[0].X, codes_of(given[0]), given[1], K)
        if found is None or self.weighted is not bool((given[1] != 1.0).any()):
            return False
        posed = _Posed(found, self.directions, self.weights)
        upper = posed.upper(self.lower)
        return posed.moved() <= self.moved and all(
            again <= claimed and low <= claimed and posed.is_at_least(k, low)
            for k, (low, claimed, again) in enumerate(
                zip(self.lower, self.upper, upper, strict=True)
            )
        )

    def claim(self) -> dict[str, Any]:
        """Return what is claimed; weights of rows are in no data file."""
        if self.weighted:
            raise DataError(NO_FILE_FORM)
        names = "weights", "lower", "upper", "moved"
        found = {name: getattr(self, name) for name in names}
        return found | {"directions": self.directions.T}

    def __str__(self) -> str:
        """Say in one sentence what is proved."""
        if not self.holds:
            return "not proved: rounding leaves ratios or weights open"
        ratios = ", ".join(f"{low:.9g}" for low in self.lower)
        return (
            f"proved: the largest ratios are {ratios}, each to within {self.gap:.2g} of the first; "
            f"the weights belong to means moved by at most {self.moved:.2g} standard deviations"
        )


class _Posed:
    """S_W, S_B and what the weights lack, in divided columns; directions of length near 1 there."""

    def __init__(self, found: ClassScatter, directions: np.ndarray, weights: np.ndarray) -> None:
        self.within, mean = found.within(), found.mean()
        self.shares = [mass / found.mass() for mass in found.masses]
        self.away = [own - mean for own in found.means]
        self.between = total(
            tuple(a[:, None] * a * mass for a, mass in zip(self.away, found.masses, strict=True))
        )
        self.C = self.within / found.mass()
        self.W = found.divided(weights)
        V = found.divided(directions.T).T
        # Powers of two bring the lengths near 1, and the directions stay what they are.
        lengths = np.einsum("ij,ij->j", V, self.within.middle @ V)
        self.V = np.ldexp(V, -(np.frexp(np.where(lengths > 0.0, lengths, 1.0))[1] // 2))
        self.lacking = lacking(self.C, self.away, self.W)

    def is_at_least(self, k: int, bound: float) -> bool:
        """Whether the ratio k (from 0) is proved to be at least the bound."""
        if bound <= 0.0:
            return True  # no ratio is below zero
        V = self.V[:, : k + 1]
        inner = times(self.between - self.within * bound, V)
        turned = Enclosure(np.ascontiguousarray(inner.low.T), np.ascontiguousarray(inner.high.T))
        return is_positive(times(turned, V))

    def upper(self, lower: tuple[float, ...]) -> list[float]:
        """Bound every ratio from above: by their sum, less the lower bounds of the others."""
        least = _least_eigenvalue(self.C)
        whole = Enclosure.exact(0.0)
        for k, r in enumerate(self.lacking):
            square = (in_deviations(self.C, r).square().sum() / least) if least else math.inf
            own = ((self.away[k] - r) * self.W[k]).sum() + square
            whole = whole + own * self.shares[k]
        known = np.array(lower)
        others = [Enclosure.exact(np.delete(known, k)).sum() for k in range(len(known))]
        return [max(0.0, float((whole - each).high)) for each in others]

    def moved(self) -> float:
        """Return by how many standard deviations the means would have to move, at most."""
        return max(float(in_deviations(self.C, r).high.max(initial=0.0)) for r in self.lacking)

    def ratios(self) -> np.ndarray:
        """Return about the ratios of the directions: to look at, no claim rests on them."""
        apart, wide = (np.einsum("ij,ij->j", self.V, S.middle @ self.V)
                       for S in (self.between, self.within))  # fmt: skip
        return np.asarray(apart / np.where(wide > 0.0, wide, math.inf))


def lacking(C: Enclosure, away: list[Enclosure], W: np.ndarray) -> list[Enclosure]:
    """Enclose C w_k - a_k for every class."""
    product = times(C, np.ascontiguousarray(W.T))
    return [product[:, k] - own for k, own in enumerate(away)]


def in_deviations(C: Enclosure, r: Enclosure) -> Enclosure:
    """Return the sizes of r, each over the standard deviation of its column."""
    spread = Enclosure(np.diag(C.low), np.diag(C.high)).root().low
    return Enclosure.exact(r.size().high) / spread


def _least_eigenvalue(C: Enclosure) -> float:
    """Return a lower bound on the least eigenvalue of C with unit diagonal; 0 where none is found.

    C - l diag(C) is positive semidefinite.
    """
    diagonal = np.eye(len(C.low))
    for share in _SHARES:
        less = C - Enclosure(diagonal * C.low, diagonal * C.high) * share
        if is_positive(less):
            return share
    return 0.0


def prove_fisher_directions(
    X: Any,
    codes: np.ndarray,
    s: np.ndarray,
    directions: np.ndarray,
    weights: np.ndarray,
    classes: tuple[str, ...],
) -> FisherDirections | None:
    """Enclose the ratios of the directions; None where the scatter is too large to form."""
    K = len(classes)
    found = class_scatter(X, codes, s, K)
    if found is None:
        return None
    posed = _Posed(found, directions, weights)
    ratios, lower = posed.ratios().tolist(), list[float]()
    for k, ratio in enumerate(ratios):
        tried = (ratio - step * ratios[0] for step in _STEPS)
        below = next((bound for bound in tried if posed.is_at_least(k, bound)), 0.0)
        lower.append(max(0.0, below - _SLACK * ratios[0]))
    upper = posed.upper(tuple(lower))
    return FisherDirections(
        directions=directions,
        weights=weights,
        lower=tuple(lower),
        upper=tuple(bound + _SLACK * ratios[0] for bound in upper),
        weighted=bool((s != 1.0).any()),
        moved=ROOM * posed.moved(),
        data_sha256=sha256(data_of(X, codes, K, True)),
        n_rows=X.shape[0],
        n_features=X.shape[1],
        classes=classes,
    )
