"""How near directions are to Fisher's: their ratios of scatters, proved from the data alone.

docs/methods/fisher.md states what is claimed. Two classes (`FisherDirection`): two codes of the
classes, t_1 and t_2, fitted best along w leave the squared error

    f(w) = k (t_2 - t_1)^2 / (1 + k J(w)), J(w) = (w.(m_2 - m_1))^2 / (w' S_W w), k = N_1 N_2 / N

so the bounds of `least_squares` on f and on min f bound J. Any codes will do.

Several classes (`FisherDirections`): ratios t_k solve S_B v = t S_W v. With the directions V, the
weights w_k ~ C^-1 a_k, a_k = m_k - m, C = S_W / N, and what they lack, r_k = C w_k - a_k:

    t_k >= l    where V'(S_B - l S_W)V is positive semidefinite: along V no ratio is below l
    sum t_k  =  sum_k N_k / N a_k' C^-1 a_k,     a' C^-1 a  =  a'w - r'w + r' C^-1 r

The last term is bounded by a least eigenvalue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from separatrix._sparse import sparse as sp
from separatrix.certificates.class_scatter import (
    ClassScatter,
    class_scatter,
    is_positive,
    quadratic_form,
    times,
    total,
)
from separatrix.certificates.enclosed_sums import ROOM, products
from separatrix.certificates.enclosure import Enclosure, sum_of
from separatrix.certificates.least_squares import LeastSquaresOptimality, check_least_squares
from separatrix.certificates.two_bounds import NO_FILE_FORM, AboutData, Written, are_floats
from separatrix.checker.exact import at_least, at_most
from separatrix.errors import DataError
from separatrix.problem.canonical import codes_of, counted_rows, data_of
from separatrix.problem.fingerprint import fingerprint, named_rows

_SLACK = 1e-12  # of the ratios, so that another order of sums finds the claim true
_STEPS = tuple(10.0**power for power in range(-13, -1))
_SHARES = tuple(10.0**power for power in range(-1, -15, -1))
_ENOUGH = 1e-6


@dataclass(frozen=True)
class FisherDirection(Written):
    """The direction `weights`, its ratio J at least, and a bound no direction exceeds."""

    kind = "fisher"

    weights: tuple[float, ...]
    ratio: float
    bound: float
    squares: LeastSquaresOptimality
    rows_sha256: str = ""  # of rows and classes alone, by which a file names them
    names: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether 1 + k J is within the tolerance of the largest there is."""
        above = self.squares.objective - self.squares.least
        return self.bound < math.inf and above <= self.squares.tolerance * self.squares.objective

    def check(self, X: Any, y: Any, sample_weight: Any = None) -> bool:
        """Prove the bound again from the data; other data are refused."""
        X, y, s = counted_rows(X, y, sample_weight)
        squares, targets = self.squares, _codes(y, s)
        if squares.ridge != 0.0 or not squares.intercept or squares.task != "regression":
            return False
        if type(squares) is not LeastSquaresOptimality:  # the best of some weights bounds no others
            return False
        if len(np.unique(y)) != 2:  # the codes would be those of one class against the rest
            return False
        if len(self.weights) != X.shape[1] or not squares.check(X, targets, s):
            return False
        if (self.rows_sha256, self.names) not in (("", ()), named_rows(X, y, s, self.rows_sha256)):
            return False
        ratio, bound = _ratios(squares.in_its_form(X), targets, s, np.array(self.weights), squares)
        return ratio >= self.ratio and bound <= self.bound

    def spoken_of(self) -> Any:
        """Return what says of which data this is a claim."""
        return self.squares.named(self.rows_sha256, self.names)

    def _sentence(self) -> str:
        ratio = f"the ratio of scatters is at least {at_least(self.ratio, 6)}"
        if self.bound == math.inf:
            return f"no bound was proved; {ratio}"
        return f"proved: {ratio}, and no direction has more than {at_most(self.bound, 6)}"


def _codes(y: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Return about -N/N_1 and N/N_2."""
    upper = y == np.unique(y)[-1]
    # Brought near 1 by a power of two, no sum leaves the range.
    near = np.ldexp(s, -int(np.frexp(s.max(initial=1.0))[1]))
    low, high = float(near[~upper].sum()), float(near[upper].sum())
    with np.errstate(all="ignore"):
        return np.where(upper, np.divide(low + high, high), -np.divide(low + high, low))


def check_fisher(
    X: Any, y: Any, w: np.ndarray, sample_weight: Any = None, tolerance: float = 1e-9
) -> FisherDirection:
    """Bound the ratio of w from below and that of every direction from above."""
    X, y, s = counted_rows(X, y, sample_weight)
    targets = _codes(y, s)
    # What overflows here is no proof, and comes out as a bound of inf.
    with np.errstate(all="ignore"):
        slope, b = _best_fit(X @ w, targets, s)
        fitted = slope * w
    settings: Any = {"sample_weight": s, "task": "regression", "tolerance": tolerance}
    squares = check_least_squares(X, targets, fitted[None], np.array([b]), **settings)
    ratios, named = _ratios(X, targets, s, w, squares, ROOM), named_rows(X, y, s)
    return FisherDirection(tuple(w.tolist()), *ratios, squares, *named)


def _ratios(
    X: Any,
    targets: np.ndarray,
    s: np.ndarray,
    w: np.ndarray,
    squares: LeastSquaresOptimality,
    room: float = 1.0,
) -> tuple[float, float]:
    """Return a bound below J(w), and one above the largest J, from bounds on the squared error.

    The weights that were fitted are a multiple c w, rounded: its residuals are off by what the rows
    make of that, less a mean, which the intercept takes up. A claim takes `room` times that.
    """
    masses = Enclosure.stacked([Enclosure.exact(s[targets == t]).sum() for t in np.unique(targets)])
    fitted, largest = np.array(squares.weights[0][1:]), int(np.argmax(abs(w)))
    with np.errstate(all="ignore"):
        # Less about their mean, entries are rounded once.
        moved = X if sp.issparse(X) else np.subtract(X, X.mean(axis=0, dtype=float), dtype=float)
        away = Enclosure.exact(fitted[largest] / w[largest]) * w - fitted
        off = sum_of(lambda r, c: r.square() * c, products(moved, away, rounded=1), s).root()
    error = (Enclosure.exact(squares.objective).root() + off * room).square()
    k = masses[0] / masses.sum() * masses[1]
    total = k * (Enclosure.exact(targets.max()) - targets.min()).square()
    ratio, bound = ((total / f - 1.0) / k for f in (error, Enclosure.exact(squares.least)))
    if room > 1.0 and ratio.is_finite and bound.is_finite:
        ratio, bound = (each + (each - each) for each in (ratio, bound))
    return max(0.0, float(ratio.low)), float(bound.high)


def _best_fit(scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return the best multiple and offset to within rounding: any will do for a bound."""
    shares = weights / weights.sum()
    moved = scores - shares @ scores
    size = float(np.abs(moved).max(initial=0.0))
    moved = moved / size if size > 0.0 else moved
    square = float(shares @ moved**2)
    slope = float(shares @ (moved * targets)) / square / size if square > 0.0 else 0.0
    return slope, -slope * float(shares @ scores)


@dataclass(frozen=True, eq=False, kw_only=True)
class FisherDirections(Written, AboutData):
    """The k-th largest ratio lies between ``lower[k]`` and ``upper[k]``: proved.

    `directions` has a column a direction, best first, and shows the lower bounds: the span of the
    first k+1 counts, not their lengths. `weights` has a row of scores a class. `moved` is by how
    many standard deviations the class means would have to move for the weights to be exact.
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
            are_floats(self.weights, self.directions)
            and self.weights.shape == (K, d)
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
            again <= claimed and 0.0 <= low <= claimed and posed.is_at_least(k, low)
            for k, (low, claimed, again) in enumerate(
                zip(self.lower, self.upper, upper, strict=True)
            )
        )

    def claim(self) -> dict[str, Any]:
        """Return what is claimed; weights of rows are in no data file."""
        if self.weighted:
            raise DataError(NO_FILE_FORM)
        return super().claim() | {"directions": self.directions.T}

    def _sentence(self) -> str:
        if not self.holds:
            return "not proved: rounding leaves ratios or weights open"
        ratios = ", ".join(at_least(low, 9) for low in self.lower)
        gap, moved = at_most(self.gap, 2), at_most(self.moved, 2)
        return (
            f"proved: the largest ratios are at least {ratios}, each within {gap} of the first; "
            f"the weights belong to means moved by at most {moved} standard deviations"
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
        self.W, self.is_open = found.divided(weights), found.leaves_out(weights)
        V = found.divided(directions.T).T
        # Powers of two bring the lengths near 1, and the directions stay what they are.
        lengths = np.einsum("ij,ij->j", V, self.within.middle @ V)
        self.V = np.ldexp(V, -(np.frexp(np.where(lengths > 0.0, lengths, 1.0))[1] // 2))
        self.lacking = lacking(self.C, self.away, self.W)

    def is_at_least(self, k: int, bound: float) -> bool:
        """Whether the ratio k (from 0) is proved to be at least the bound."""
        if bound <= 0.0:
            return True  # no ratio is below zero
        return is_positive(quadratic_form(self.between - self.within * bound, self.V[:, : k + 1]))

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
        if self.is_open:
            return math.inf
        return max(float(in_deviations(self.C, r).high.max(initial=0.0)) for r in self.lacking)

    def ratios(self) -> np.ndarray:
        """Return about the ratios of the directions: to look at, no claim rests on them."""
        both = self.between.middle, self.within.middle
        apart, wide = (np.einsum("ij,ij->j", self.V, S @ self.V) for S in both)
        return np.asarray(apart / np.where(wide > 0.0, wide, math.inf))


def lacking(C: Enclosure, away: list[Enclosure], W: np.ndarray) -> list[Enclosure]:
    """Enclose C w_k - a_k for every class."""
    product = times(C, np.ascontiguousarray(W.T))
    return [product[:, k] - own for k, own in enumerate(away)]


def in_deviations(C: Enclosure, r: Enclosure) -> Enclosure:
    """Return the sizes of r, each over the standard deviation of its column."""
    return Enclosure.exact(r.size().high) / C.diagonal().root().low


def _least_eigenvalue(C: Enclosure) -> float:
    """Return a lower bound on the least eigenvalue of C with unit diagonal; 0 where none is found.

    C - l diag(C) is positive semidefinite.
    """
    diagonal = C.diagonal().diagonal()
    return next((share for share in _SHARES if is_positive(C - diagonal * share)), 0.0)


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
        data_sha256=fingerprint(data_of(X, codes, K, True)),
        n_rows=X.shape[0],
        n_features=X.shape[1],
        classes=classes,
    )
