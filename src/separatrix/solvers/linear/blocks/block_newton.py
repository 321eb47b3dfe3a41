"""The models on rows in blocks, by Newton's method; the hinge by a smoothing driven to zero.

    min over w, b   1/2 |w|^2 + 1/2 p b^2 + sum_i c_i loss(y_i (w.x_i + b))

Squared hinge and logistic loss are smooth as they are. The hinge is smoothed over a band of
half-width t about the margin (`smoothed_terms`); its alpha is feasible for the hinge, so that
every point brackets the optimum of the problem as given:

    primal - dual  =  1/2 |w - u|^2  +  sum_i c_i (h(z_i) - p_i z_i)  +  what balancing costs
                      how far from the smoothed optimum    what smoothing costs

The second part falls with t, and with how near the centres of the band are to the p of the optimum.
As soon as the first part is the smaller, narrow data have t lowered: where the rows in the band
stay the same, one linear system leads to the optimum of the next t. Wide data, whose system is
solved by rounds, have the band put about the p that is found, which leaves the system as it is.

All that is carried from one update to the next is (w, b, t) and the centres, which are kept here:
there is nothing to lose when a worker dies, and a checkpoint is these vectors.
"""

from __future__ import annotations

import io
import time
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from separatrix._write_aside import write_whole
from separatrix.problem.blocks import Block, Engine, Posed, Sums
from separatrix.problem.losses import HINGE, LOGISTIC, SQUARED_HINGE
from separatrix.solvers.linear.blocks import passes
from separatrix.solvers.linear.blocks.passes import (
    ALPHA,
    GAIN,
    GAIN_BEND,
    GAIN_SLOPE,
    LOSS,
    SMOOTHED,
)
from separatrix.solvers.linear.blocks.systems import Measured, RoundsSystem, system_for
from separatrix.solvers.linear.claims import balanced
from separatrix.solvers.running.drive import Status

_FIRST_WIDTH, _LEAST_WIDTH = 2.0, 1e-12
_SHRINK_MOST, _SHRINK_LEAST, _NO_SHRINKING = 0.1, 0.5, 0.97
_FIRST_SHARE, _SHORT = 0.3, 0.05
# Centred anew, a band that loses more than this share of what it did is too wide.
_GAINS, _NARROWER = 0.3, 0.3
_ENOUGH = 1e-4
# Factors so close to 1 leave the three terms of the logistic gain right to 2e-7 of alpha.
_NEAR_ONE = 0.01
_STEPS = 0.5 ** np.arange(24.0)
_PATIENCE = 3
# The share of the time of a run that may go into writing.
_SHARE = 0.05
_KEPT = ("w", "width", "updates", "centre", "settled", "pace")


@dataclass(frozen=True, eq=False)
class Point:
    """Where a run stands: w = [b, w_1 ... w_d], the width of the band (0: none) and its centres."""

    w: np.ndarray
    width: float
    updates: int = 0
    centre: np.ndarray | None = None
    settled: np.ndarray | None = None  # w of the last width that was done with, and that width
    pace: tuple[float, float] | None = None  # `share` and `lost_before` of the run


class Lower(NamedTuple):
    """The point of the greatest dual, and its class factors; `p` once its centre is gone."""

    w: np.ndarray
    width: float
    factors: tuple[float, float]
    p: np.ndarray | None = None


@dataclass
class Run:
    """One model being solved on the blocks of an engine."""

    engine: Engine
    posed: Posed
    tol: float
    first: Point | None = None
    primal: float = np.inf
    dual: float = 0.0
    updates: int = 0
    stalled: int = 0
    share: float = _FIRST_SHARE  # how far the width is lowered at once
    settled: Measured | None = None  # where the last width was done with
    best: Point = field(init=False)  # of least objective
    lower: Lower | None = None
    lost_before: float = np.inf  # by smoothing, when the band was last put about its p

    def __post_init__(self) -> None:
        self.system = system_for(self.engine, self.posed)
        width = _FIRST_WIDTH if self.posed.loss == HINGE else 0.0
        start = self.first or Point(np.zeros(self.engine.n_features + 1), width)
        self.updates, self.best = start.updates, start
        if start.centre is not None:
            self.system.recentre(start.centre)
        if start.pace is not None:
            self.share, self.lost_before = start.pace
        if start.settled is not None:
            self.settled = self._measured(start.settled[:-1], float(start.settled[-1]))
        self.at = self._measured(start.w, start.width)

    @property
    def gap(self) -> float:
        """(primal - dual) / primal."""
        return (self.primal - self.dual) / self.primal if self.primal > 0.0 else 0.0

    @property
    def passes(self) -> float:
        """Times that all rows were read."""
        return self.system.passes

    @property
    def point(self) -> Point:
        """Where the run stands: enough to go on from."""
        settled = None
        if self.settled is not None:
            settled = np.append(self.settled.w, self.settled.width)
        pace = self.share, self.lost_before
        return Point(self.at.w, self.at.width, self.updates, self.system.centre, settled, pace)

    def lower_alpha(self, costs: np.ndarray) -> np.ndarray:
        """Return the alpha of the greatest dual, before its class factors."""
        lower = self.lower
        assert lower is not None
        return np.asarray(costs * (self._p_of(lower) if lower.p is None else lower.p))

    def _p_of(self, at: Lower | Measured) -> np.ndarray:
        """Ask the blocks for alpha / c of every row."""
        smoothing = at.width, at.width
        (pieces,) = self.system.reduce(passes.multipliers, self.posed, at.w, smoothing)
        return np.concatenate(pieces)

    def go_on(
        self,
        tol: float,
        deadline: float = np.inf,
        max_passes: float = np.inf,
        report: Callable[[Run], None] | None = None,
    ) -> Status:
        """Solve to a relative gap as floating point sees it, or to the end of a budget."""
        self.tol = tol
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            while self.gap > self.tol:
                if time.perf_counter() >= deadline or self.passes >= max_passes:
                    return Status.BUDGET
                if self.stalled >= _PATIENCE:
                    return Status.UNPROVED
                self._iterate()
                if report is not None:
                    report(self)
        return Status.OPTIMAL

    # ---- one update

    def _iterate(self) -> None:
        if self._should_narrow():
            if isinstance(self.system, RoundsSystem):
                self._recentre()
            else:
                self.settled, self.share = self.at, max(self.share**2, _SHRINK_MOST)
                self._narrow()
            return
        self.updates += 1
        direction = self.system.direction(self.at)
        in_bias, in_w = self.system.slopes(self.at)
        slope = float(in_w @ direction[1:]) + in_bias * direction[0]
        before = self._smoothed(self.at)
        if np.isfinite(direction).all() and slope < 0.0:
            ahead = self._measured(self.at.w + direction, self.at.width)
            if self._smoothed(ahead) <= before + _ENOUGH * slope:
                self._accept(ahead, before)
                return
            ahead, step = self._searched(direction)
            worth_it = step >= _SHORT or self.settled is None or self.share >= _NO_SHRINKING
            if self._smoothed(ahead) < before and worth_it:
                self._accept(ahead, before)
                return
        if self.settled is not None and self.share < _NO_SHRINKING:
            # Too many rows left the band at once: back to the wider one, and a shorter way.
            self.share = float(np.sqrt(self.share))
            self._narrow()
        else:
            self.stalled = _PATIENCE

    def _accept(self, ahead: Measured, before: float) -> None:
        gained = before - self._smoothed(ahead)
        self.stalled = self.stalled + 1 if not gained > 1e-15 * abs(before) else 0
        self.at = ahead

    def _searched(self, direction: np.ndarray) -> tuple[Measured, float]:
        """Measure the best of many steps, all tried in one pass over the rows."""
        w, width, posed = self.at.w, self.at.width, self.posed
        arguments = posed, w, (width, width), direction, _STEPS
        (losses,) = self.system.reduce(passes.along, *arguments)
        self.system.passes += 1.0
        values = losses + np.array([self._penalty(w + t * direction) for t in _STEPS])
        best = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
        return self._measured(w + _STEPS[best] * direction, width), float(_STEPS[best])

    # ---- the band of the smoothed hinge

    def _should_narrow(self) -> bool:
        if self.at.width == 0.0 or self.at.width <= _LEAST_WIDTH:
            return False
        lost = self._lost_by_smoothing(self.at)
        if lost <= 0.25 * self.tol * self.primal:
            return False
        primal, dual, _ = self._bracket(self.at)
        return primal - dual - lost <= 0.5 * lost

    def _recentre(self) -> None:
        """Put every row's band about the p that it has now; narrow it where that gains too little.

        This is a step of the proximal point method on the dual: the system stays as well
        conditioned as it was, which is what its solution by rounds needs.
        """
        lost = self._lost_by_smoothing(self.at)
        p = self._p_of(self.at)
        if self.lower is not None and self.lower.p is None:
            mine = self.lower.w is self.at.w and self.lower.width == self.at.width
            self.lower = self.lower._replace(p=p if mine else self._p_of(self.lower))
        self.system.recentre(p)
        width = self.at.width
        if lost > _GAINS * self.lost_before:
            width = max(_NARROWER * width, _LEAST_WIDTH)
        self.lost_before = lost
        self.at = self._measured(self.at.w, width)

    def _narrow(self) -> None:
        """Lower the width from where the wider problem was settled.

        While the same rows are in the band, the optimum of the next width is one linear system
        away: that of the rows which were in it.
        """
        here = self.settled
        assert here is not None
        lost = max(self._lost_by_smoothing(here), 1e-300)
        target = float(np.sqrt(0.2 * self.tol * self.primal / lost))
        share = max(min(target, _SHRINK_LEAST), self.share)
        width = max(share * here.width, _LEAST_WIDTH)
        self.stalled = 0
        inside = self.system.measure(here.w, width, here.width)
        direction = self.system.direction(inside)
        if np.isfinite(direction).all():
            ahead = self._measured(here.w + direction, width)
            if self._smoothed(ahead) <= self._smoothed(inside):
                self.at = ahead
                return
        self.at = self._measured(here.w, width)

    def _lost_by_smoothing(self, at: Measured) -> float:
        used = float(at.w[1:] @ at.u) + (at.w[0] * at.balance if self.posed.intercept else 0.0)
        return float(at.sums[LOSS] - at.sums[ALPHA] - at.sums[ALPHA + 1] + used)

    # ---- objectives

    def _measured(self, w: np.ndarray, width: float) -> Measured:
        """Measure a point and keep what it claims where that is the best so far."""
        at = self.system.measure(w, width, width)
        primal, dual, factors = self._bracket(at)
        point = Point(w, width, self.updates)
        if primal < self.primal:
            self.primal, self.best = primal, point
        if dual >= self.dual:
            self.dual, self.lower = dual, Lower(w, width, factors)
        return at

    def _penalty(self, w: np.ndarray) -> float:
        bias = self.posed.bias_penalty * w[0] ** 2 if self.posed.intercept else 0.0
        return 0.5 * (float(w[1:] @ w[1:]) + bias)

    def _smoothed(self, at: Measured) -> float:
        value = self._penalty(at.w) + float(at.sums[SMOOTHED])
        return value if np.isfinite(value) else np.inf

    def _bracket(self, at: Measured) -> tuple[float, float, tuple[float, float]]:
        """Return the objective, the dual, and the class factors that make alpha balanced."""
        posed, sums = self.posed, at.sums
        plus, minus = float(sums[ALPHA]), float(sums[ALPHA + 1])
        factors = (1.0, 1.0)
        if posed.has_free_bias and plus != minus:
            factors = (minus / plus, 1.0) if plus > minus else (1.0, plus / minus)
        gain = 0.0
        for side, factor in enumerate(factors):
            off = factor - 1.0
            if posed.loss == LOGISTIC and off < -_NEAR_ONE:
                # The entropy is concave and 0 at alpha = 0: no less than this share of it is left.
                gain += factor * sums[GAIN + side]
                continue
            gain += sums[GAIN + side] + off * sums[GAIN_SLOPE + side]
            gain -= 0.5 * off * off * sums[GAIN_BEND + side]
        u = factors[0] * at.by_class[0] + factors[1] * at.by_class[1]
        with np.errstate(over="ignore"):
            dual = float(gain) - 0.5 * float(u @ u)
        if posed.intercept and posed.bias_penalty > 0.0:
            dual -= at.balance * at.balance / (2.0 * posed.bias_penalty)
        primal = self._penalty(at.w) + float(sums[LOSS])
        return primal, dual if np.isfinite(dual) else -np.inf, factors


# ---- what a run on blocks hands over for proof: w, and an alpha that is exactly feasible


class RowFacts:
    """The class number of every row, and its weight where rows have weights."""

    def __init__(self, codes: np.ndarray, weights: np.ndarray | None) -> None:
        self.codes, self.weights = codes, weights

    def costs(self, posed: Posed) -> np.ndarray:
        """Return c_i of every row; where all are alike, one number seen n times."""
        if self.weights is None and (posed.costs == posed.costs[0]).all():
            return np.broadcast_to(np.float64(posed.costs[0]), self.codes.shape)
        costs = posed.costs[self.codes]
        return np.asarray(costs if self.weights is None else costs * self.weights)

    def signs(self, posed: Posed) -> np.ndarray:
        """Return y_i of every row."""
        return np.where(self.codes == posed.positive, 1.0, -1.0)


def facts_of(block: Block, narrow: bool) -> Sums:
    """Return the class numbers and weights of a block, in lists."""
    codes = block.codes.astype(np.int8 if narrow else np.int32)
    return [codes], [] if block.weights is None else [block.weights]


def row_facts(engine: Engine, n_classes: int) -> RowFacts:
    """Collect what is known of every row."""
    codes, weights = engine.reduce(facts_of, n_classes < 128)
    return RowFacts(np.concatenate(codes), np.concatenate(weights) if weights else None)


def claimed_alpha(run: Run, facts: RowFacts) -> np.ndarray:
    """Return the alpha of the best lower bound, exactly feasible."""
    posed = run.posed
    if run.lower is None:
        return np.zeros(run.engine.n_rows)
    alpha = run.lower_alpha(facts.costs(posed))
    factors = run.lower.factors
    if not posed.has_free_bias:
        return alpha
    positive = facts.codes == posed.positive
    alpha[positive] *= factors[0]
    alpha[~positive] *= factors[1]
    upper = facts.costs(posed)
    if posed.loss == SQUARED_HINGE:
        upper = np.where(upper > 0.0, np.inf, 0.0)
    return balanced(alpha, facts.signs(posed), upper)


# ---- where a run stands, kept in a file: whole, or the one before


class Checkpoint:
    """The last point of a run; `key` says of which problem, so that no other goes on from it."""

    def __init__(self, path: str | Path, key: str) -> None:
        self.path, self.key = Path(path), key
        self._written, self._cost, self._warned = 0.0, 0.0, False

    def load(self) -> Point | None:
        """Return the point to go on from, or None where there is none for this problem."""
        try:
            with np.load(self.path, allow_pickle=False) as held:
                if str(held["key"]) != self.key:
                    return None
                more = {name: held[name] for name in ("centre", "settled") if name in held.files}
                pace = float(held["pace"][0]), float(held["pace"][1])
                width, updates = float(held["width"]), int(held["updates"])
                return Point(held["w"], width, updates, pace=pace, **more)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def save(self, point: Point) -> None:
        """Keep a point, unless one was kept just now; a full disk leaves the one before."""
        now = time.perf_counter()
        if now - self._written < self._cost / _SHARE:
            return
        held = io.BytesIO()
        arrays: dict[str, Any] = {name: getattr(point, name) for name in _KEPT}
        arrays = {name: value for name, value in arrays.items() if value is not None}
        np.savez(held, key=self.key, **arrays)
        try:
            write_whole(self.path, held.getvalue())
        except OSError as error:
            if not self._warned:
                warnings.warn(
                    f"the checkpoint could not be written ({error}); the one before stands, and "
                    "the fit goes on. Free some space, or choose another place.",
                    RuntimeWarning,
                    stacklevel=2,
                )
                self._warned = True
        self._written = time.perf_counter()
        self._cost = self._written - now

    def clear(self) -> None:
        """Remove the file: the fit is done."""
        self.path.unlink(missing_ok=True)
