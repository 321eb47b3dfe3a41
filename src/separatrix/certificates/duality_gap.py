"""How far a linear model is from the optimum, proved from the data alone.

The objective at (w, b) bounds the optimum from above, the dual objective at any feasible alpha
bounds it from below (weak duality). Both are enclosed here, whoever proposed the points and
however. Rows may come in blocks (`prove_block`).

`ScaledGap` speaks of columns divided by powers of two: a division without rounding, so what is
proved of the divided columns is proved of the model that pays 1/2 sum_j (2^e_j w_j)^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from separatrix._device import on_host
from separatrix._sparse import sparse as sp
from separatrix.certificates.about_data import Written
from separatrix.certificates.enclosed_sums import WAYS, ways_for
from separatrix.certificates.enclosure import Enclosure
from separatrix.certificates.objective_bounds import (
    Model,
    Terms,
    box_around,
    dual_of,
    primal_of,
    terms_of,
)
from separatrix.certificates.two_bounds import (
    SLACK,
    WIDE,
    EachMachine,
    Found,
    TwoBounds,
    are_floats,
    parts_hold,
)
from separatrix.checker.codec import require
from separatrix.problem.blocks import Block, Posed, Sums
from separatrix.problem.equilibrate import divided_exactly
from separatrix.problem.fingerprint import fingerprint_of_blocks
from separatrix.problem.optimality import Violation, violations
from separatrix.problem.signed import as_matrix, on_device
from separatrix.problem.softmax import REACH

LOSSES = ("hinge", "squared_hinge", "logistic")
# So few entries on a device are proved by the processor, as any others are.
_FEW_THERE = 1 << 21
_FEW_ROWS = 2048


@dataclass(frozen=True, eq=False, kw_only=True)
class DualityGap(TwoBounds):
    """The least objective lies between `dual` and `primal`: proved, rounding included.

    `weights` are [b, w_1 ... w_d], `multipliers` the dual point, `costs` C times each row's weight.
    `ridge` is 1, or 0 where |w|^2 is not charged for (maximum likelihood); then `dual` bounds all w
    whose coefficients are up to 1000 times those found, or 1000 over the column's mean size.
    Where there are more than two classes, class number `positive` is set against all others.
    """

    kind = "duality-gap"
    _hard_losses: ClassVar[tuple[str, ...]] = LOSSES[:2]

    loss: str
    weights: np.ndarray
    multipliers: np.ndarray
    bias_penalty: float = 0.0
    ridge: float = 1.0
    positive: int = 1
    violations: tuple[Violation, ...] = ()
    margins: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)

    def check(self, X: Any, y: Any = None) -> bool:
        """Prove both bounds again from the data, which may be partitions; others are refused."""
        if not hasattr(X, "stored"):
            return super().check(X, y)
        K, rows, codes = len(X.classes), X, None
        if not (
            self._is_about(
                X.shape, K, lambda name: fingerprint_of_blocks(X.blocks, X.shape, K, name)
            )
            and self.ridge
            and np.isfinite(self.costs).all()
        ):
            return False
        if X.shape[0] <= _FEW_ROWS:  # a fit brings them together too, and sums what blocks cannot
            parts, numbers = zip(*X.blocks(), strict=True)
            rows = sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.vstack(parts)
            rows, codes = as_matrix(rows), np.concatenate(numbers)
        return self._is_found_again(rows, codes)

    def _is_found_again(self, X: Any, codes: np.ndarray | None) -> bool:
        signs = None if codes is None else np.where(codes == self.positive, 1.0, -1.0)
        return super()._is_found_again(X, signs)

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        super().require_sound()
        points, K = (self.weights, self.multipliers), len(self.classes)
        require(
            are_floats(*points)
            and self.weights.shape == (self.n_features + 1,)
            and self.multipliers.shape == (self.n_rows,),
            "there must be a weight for each column and the bias, and a multiplier for each row",
        )
        require(
            self.positive == 1 if K == 2 else 0 <= self.positive < K,
            "positive must number a class: 1, or any where there are more than two",
        )
        require(self.loss in LOSSES, f"no model has the loss {self.loss!r}")
        self._require_penalties()

    def _require_penalties(self) -> None:
        require(
            self.ridge in (0.0, 1.0) and 0.0 <= self.bias_penalty < math.inf,
            "ridge must be 0 or 1, and bias_penalty at least 0",
        )

    @property
    def _model(self) -> Model:
        bias = float(self.weights[0]) if self.intercept else None
        return Model(self.loss, self.weights[1:], bias)

    def _found(self, X: Any, signs: np.ndarray | None, wide: float) -> Iterator[Found]:
        if on_device(X) and X.size <= _FEW_THERE:
            X = as_matrix(X.to_host())
        ways: tuple[str, ...] = WAYS[:1]
        if signs is None:
            ways = WAYS[:2]
        elif not on_device(X):
            ways = ways_for(X.nnz if hasattr(X, "nnz") else X.shape[0] * X.shape[1])
        model = self._model
        box = None if self.ridge else box_around(X, model.w, self.multipliers, REACH)
        for way in ways:
            joined: Terms | None = None
            for rows, block, own in self._blocks(X, signs):
                costs, alpha = np.asarray(self.costs[rows]), np.asarray(self.multipliers[rows])
                terms, margins = terms_of(model, block, own, costs, alpha, way, wide)
                joined = terms if joined is None else joined + terms
            assert joined is not None, "a claim speaks of one row or more"
            primal, dual = self._objectives(joined, box)
            yield Found(primal, dual, partial(self._shown, terms, margins), "exact" in ways)

    def _blocks(self, X: Any, signs: np.ndarray | None) -> Iterator[tuple[slice, Any, np.ndarray]]:
        """Yield the rows in one piece, or those of partitions block by block."""
        if signs is not None:
            yield slice(None), X, signs
            return
        begin = 0
        for block, codes in X.blocks():
            rows = slice(begin, begin + len(codes))
            begin = rows.stop
            yield rows, block, np.where(codes == self.positive, 1.0, -1.0)

    def _objectives(
        self, terms: Terms, box: np.ndarray | None = None
    ) -> tuple[Enclosure, Enclosure]:
        penalty = self.bias_penalty if self.intercept else None
        primal = primal_of(terms, self._model, penalty or 0.0, self.ridge)
        return primal, dual_of(terms, penalty, box)

    def with_terms(self, terms: Terms) -> DualityGap:
        """Return the claim with the two bounds that the terms of all rows prove."""
        return self.stating(*self._objectives(terms), SLACK)

    def _shown(self, terms: Terms, margins: Callable[[], np.ndarray]) -> dict[str, Any]:
        points, w, found = (self.costs, self.multipliers, margins()), self._model.w, terms.total
        missed = violations(self.loss, *points, w, self.ridge, found.middle)
        return {"violations": missed, "margins": points[2]}

    def __str__(self) -> str:
        reach = "" if self.ridge else f" up to {REACH:.0f} times as steep"
        return self._in_words(f"hyperplane{reach} lowers")


@dataclass(frozen=True, eq=False)
class DualityGaps(EachMachine):
    """One certificate a machine, where each class is set against all others."""

    def check(self, X: Any, y: Any = None) -> bool:
        """Prove every machine's bounds again."""
        classes = X.classes if hasattr(X, "stored") else np.unique(np.asarray(on_host(y)))
        numbers = [machine.positive for machine in self.machines]
        return numbers == list(range(len(classes))) and all(
            machine.check(X, y) for machine in self.machines
        )


@dataclass(frozen=True, eq=False)
class PairGaps(EachMachine):
    """One certificate a pair of classes: each speaks of the rows of its two classes."""

    _which: ClassVar[str] = ", one a pair of classes,"

    pairs: tuple[tuple[int, int], ...]

    def check(self, X: Any, y: Any) -> bool:
        """Prove every machine's bounds again, from the rows of its two classes."""
        classes, codes = np.unique(np.asarray(on_host(y)), return_inverse=True)
        every = tuple(combinations(range(len(classes)), 2))
        if self.pairs != every or len(self.machines) != len(every):
            return False
        return parts_hold(self.machines, every, X, codes)


def prove_block(block: Block, alpha: np.ndarray, posed: Posed, weights: np.ndarray) -> Sums:
    """Bound what one block of a posed model adds, at the alpha of its rows."""
    bias = float(weights[0]) if posed.intercept else None
    model = Model(LOSSES[posed.loss], weights[1:], bias)
    rows = block.X, block.signs(posed), block.costs(posed), alpha
    return (terms_of(model, *rows, "plain", WIDE)[0],)


@dataclass(frozen=True, eq=False)
class ScaledGap(Written):
    """The gap of machines whose penalty is on the weights of the divided columns."""

    kind = "scaled-gap"

    exponents: np.ndarray
    inner: DualityGap | DualityGaps

    @property
    def gap(self) -> float:
        """The largest relative gap of any machine, rounded up."""
        return self.inner.gap

    @property
    def holds(self) -> bool:
        """Whether both bounds are there at all."""
        return self.inner.holds

    @property
    def machines(self) -> tuple[DualityGap, ...]:
        """The certificates of the divided columns, one a machine."""
        if isinstance(self.inner, DualityGaps):
            return self.inner.machines
        return (self.inner,)

    def check(self, X: Any, y: Any) -> bool:
        """Prove both bounds again from the columns as given; other data are refused."""
        X = as_matrix(X)
        if X.shape[1] != len(self.exponents):
            return False
        divided = divided_exactly(X, self.exponents)
        return divided is not None and self.inner.check(divided, y)

    def claim(self) -> dict[str, Any]:
        """Return what is claimed, field by field."""
        claims = [machine.claim() for machine in self.machines]
        return {"exponents": self.exponents, "machines": claims}

    def spoken_of(self) -> DualityGap:
        """Return what says of which data this is a claim: of the divided columns."""
        return self.machines[0]

    def __str__(self) -> str:
        return f"{self.inner}; each column divided by a power of two near its largest entry"
