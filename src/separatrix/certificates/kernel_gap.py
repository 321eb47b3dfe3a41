"""How far a kernel model is from the optimum, proved from the data alone.

docs/certificates.md states both bounds, for two classes (`KernelGap`) and for all classes at once
(Crammer-Singer, `KernelMulticlassGap`). With shares a of rows, scores g = K a and |w|^2 = sum a g:

    objective at (a, b)    1/2 |w|^2 + the losses of g + b at their costs      from above
    lower bound            sum of the multipliers - 1/2 |w|^2                  from below

The second needs a positive semidefinite kernel. Where it is not one, only a stationary point is
claimed of two classes: no pair of multipliers is out of order by more than `violation`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from separatrix.certificates.duality_gap import (
    NOTHING,
    hard_margin,
    is_balanced,
    is_feasible,
    losses,
    most,
    start_of,
)
from separatrix.certificates.enclosure import Enclosure, sum_of
from separatrix.certificates.kernel_scores import KernelRowsInProof, Scores, kernel_scores
from separatrix.certificates.multiclass_gap import (
    NamedMultipliers,
    are_feasible,
    balances,
    cancelling,
    losses_of,
    shares_of,
    shortfalls,
)
from separatrix.certificates.two_bounds import EachMachine, Found, TwoBounds, are_floats
from separatrix.checker.codec import require
from separatrix.checker.exact import at_most
from separatrix.problem.canonical import data_of, numbered, signs_of
from separatrix.problem.fingerprint import fingerprint
from separatrix.problem.kernels import ASYMMETRY, MOST_DEGREE, Kernel
from separatrix.problem.signed import as_matrix

_SAMPLE = 256
_NEGATIVE = -1e-8
_SAME = 1e-9  # two computations of one eigenvalue differ by far less


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelClaim(TwoBounds):
    """Two bounds on the objective of models with one kernel.

    `smallest` is the least eigenvalue of a sample of kernel values, as a share of the largest: NaN
    where theory makes it needless. `margins` are as computed, for those who look at them.
    """

    _wide: ClassVar[float] = 4.0  # rows that float32 settles are summed in another order

    kernel: Kernel
    smallest: float = math.nan
    margins: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        super().require_sound()
        kernel = self.kernel
        require(
            kernel.is_sound,
            f"degree must lie between 0 and {MOST_DEGREE}, gamma above 0, and coef0 be finite",
        )
        require(
            kernel.name != "precomputed" or self.n_rows == self.n_features,
            "a precomputed kernel needs as many columns as rows",
        )
        require(self.intercept is True, "the biases of kernel models are free")
        require(
            not kernel.is_positive or math.isnan(self.smallest),
            "smallest must be nan: theory says that this kernel is positive",
        )

    @property
    def is_convex(self) -> bool:
        """Whether the kernel is positive, or was not seen to be otherwise."""
        return bool(self.kernel.is_positive) or not self.smallest < _NEGATIVE

    def _is_refuted(self, shares: np.ndarray, scores: Enclosure) -> bool:
        """Whether a square below zero shows that a kernel is not positive that seemed to be.

        The scores are as narrow as any check has them: a claim that it refutes is not made.
        """
        seems = self.is_convex and not self.kernel.is_positive
        return bool(seems and square_of(shares, scores).high < 0.0)

    def _is_of_spectrum(self, smallest: float) -> bool:
        """Whether the eigenvalue claimed is the one found again, or there is none."""
        none = math.isnan(smallest) and math.isnan(self.smallest)
        return none or abs(smallest - self.smallest) <= _SAME

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the proof takes for granted."""
        said = []
        if self.kernel.name in ("rbf", "sigmoid"):
            said.append("exp and tanh are right to eight units in the last place")
        if self.kernel.name == "callable":
            said.append("values of the kernel function are right to eight units in the last place")
        if not self.kernel.is_positive:
            said.append("the kernel is positive, which theory does not say and no value refuted")
        return tuple(said)

    @property
    def gap(self) -> float:
        """(primal - dual) / primal, rounded up; inf where nothing bounds the best from below."""
        both = self.is_convex and math.isfinite(self.primal) and math.isfinite(self.dual)
        return super().gap if both else math.inf

    def _in_words(self, what: str, assuming: str = "") -> str:
        """Say what two bounds prove, and under which assumptions."""
        if self.assumptions:
            assuming = f" (assuming that {' and that '.join(self.assumptions)})"
        return super()._in_words(what, assuming)


def least_eigenvalue(rows: KernelRowsInProof, support: np.ndarray) -> float:
    """Return the least eigenvalue of values among up to 256 rows, over the largest in size.

    It is NaN where theory makes it needless.
    """
    if rows.kernel.is_positive or len(support) == 0:
        return math.nan
    sample = support[np.unique(np.linspace(0, len(support) - 1, _SAMPLE).astype(int))]
    values = rows.values(sample, rows.right(sample))
    if not np.isfinite(values).all():
        return math.nan
    # Near 1, so that no sum leaves the range.
    values = np.ldexp(values, -math.frexp(float(abs(values).max()))[1])
    largest = float(abs(values).max())
    if rows.kernel.name == "callable" and abs(values - values.T).max() > ASYMMETRY * largest:
        return -1.0  # what is not symmetric is no kernel
    spectrum = np.linalg.eigvalsh(0.5 * (values + values.T))
    largest = float(abs(spectrum).max())
    return float(spectrum[0]) / largest if largest > 0.0 else 0.0


def square_of(shares: np.ndarray, scores: Enclosure) -> Enclosure:
    """Enclose |w|^2 = sum shares * scores: below zero for certain, the kernel is not positive."""
    used = np.flatnonzero(shares)
    return sum_of(lambda g, s: g * s, scores[used], shares[used])


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelGap(KernelClaim):
    """Two bounds for a model of two classes with a kernel: its `multipliers` and `bias`.

    Class `positive` is set against class `negative`, or against all others where that is -1.
    """

    kind = "kernel-gap"
    _hard_losses: ClassVar[tuple[str, ...]] = ("hinge",)

    violation: float = math.nan
    bias: float
    multipliers: np.ndarray
    positive: int = 1
    negative: int = -1
    curved: bool = False  # whether the solver met negative curvature

    @property
    def is_convex(self) -> bool:
        """Whether the kernel is positive, or was not seen to be otherwise."""
        return super().is_convex and bool(self.kernel.is_positive or not self.curved)

    @property
    def holds(self) -> bool:
        """Whether there is a claim at all: both bounds, or a stationary point."""
        return math.isfinite(self.gap if self.is_convex else self.violation)

    def check(self, X: Any, y: Any = None) -> bool:
        """Prove the claim again from the data; other data are refused."""
        return _check_all((self,), X, y)

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        super().require_sound()
        require(
            are_two_sides(self.positive, self.negative, len(self.classes)),
            "positive and negative must number two classes, of two the second being positive",
        )
        require(
            are_floats(self.multipliers) and self.multipliers.shape == (self.n_rows,),
            "there must be a multiplier for each row",
        )
        require(isinstance(self.bias, float) and math.isfinite(self.bias), "bias must be finite")

    def _found(self, scores: Scores, signs: np.ndarray, wide: float) -> Iterator[Found]:
        """Enclose both objectives from one column of scores, without the bias."""
        mine = slice(None) if signs.all() else np.flatnonzero(signs)
        y, c, a, g = signs[mine], self.costs[mine], self.multipliers[mine], scores.enclosed(wide)
        g = g[:, 0][mine]
        start = start_of("hinge", c)
        square, total = square_of(y * a, g), Enclosure.exact(a).sum()
        half = square.at_least(0.0).halved()
        # start - y (g + b): the slack, or a margin with its sign turned.
        short = (g + self.bias - start * y).times_sign(-y)
        if start:
            primal, dual = half + losses("hinge", short, c), total - half
        else:  # no cost limits a: the best multiple of it bounds as well
            primal = hard_margin(half, most(short[c > 0.0]))
            dual = (total / half * total).halved().halved()
        is_all = np.count_nonzero(self.multipliers) == np.count_nonzero(a)
        is_refuted = self._is_refuted(y * a, scores.enclosed()[:, 0][mine])
        if is_refuted or not (is_all and is_feasible("hinge", c, a) and is_balanced(y * a)):
            dual = NOTHING

        yield Found(primal, dual, lambda: {"violation": _most_out_of_order(y, c, a, g)})

    def _is_proved(self, scores: Scores, signs: np.ndarray, smallest: float) -> bool:
        """Whether the claim is found again: both bounds, or a feasible point that is stationary."""
        found = next(self._found(scores, signs, 1.0))
        return (
            self.holds
            and found.is_feasible
            and not self.costs[signs == 0.0].any()
            and self._is_of_spectrum(smallest)
            and self._is_within(found)
            and bool(found.shown()["violation"] <= self.violation)
        )

    def _sentence(self) -> str:
        if not self.is_convex:
            return (
                "the kernel is not positive, so only this is proved: no pair of multipliers is out "
                f"of order by more than {at_most(self.violation, 2)}; better models may exist"
            )
        return self._in_words("model with this kernel lowers")


@dataclass(frozen=True, eq=False)
class KernelGaps(EachMachine):
    """One certificate a machine, where there are several classes."""

    _what: ClassVar[str] = "model with this kernel"

    def check(self, X: Any, y: Any) -> bool:
        """Prove every machine's claim again."""
        k = len(numbered(y)[0])
        pairs = [(machine.positive, machine.negative) for machine in self.machines]
        rest = [(i, -1) for i in range(k)]
        each = [(j, i) for i in range(k) for j in range(i + 1, k)]
        return pairs in (rest, each) and _check_all(self.machines, X, y)

    def _sentence(self) -> str:
        bent = [machine for machine in self.machines if not machine.is_convex]
        return bent[0].in_words() if bent else super()._sentence()


def _check_all(machines: tuple[KernelGap, ...], X: Any, y: Any) -> bool:
    """Prove machines of one kernel again, with one pass over its values."""
    classes, codes = numbered(y)
    X, K, first = as_matrix(X), len(classes), machines[0]
    one = all((m.kernel, m.data_sha256) == (first.kernel, first.data_sha256) for m in machines)
    if not one or codes.shape != X.shape[:1]:
        return False
    name = fingerprint(data_of(X, codes, K, True), first.data_sha256)
    if not all(machine._is_about(X.shape, K, lambda _: name) for machine in machines):
        return False
    signs = [signs_of(codes, machine.positive, machine.negative) for machine in machines]
    shares = np.column_stack([s * m.multipliers for s, m in zip(signs, machines, strict=True)])
    rows = KernelRowsInProof(first.kernel, X)
    together = kernel_scores(rows, shares)

    def is_proved(k: int, scores: Scores) -> bool:
        smallest = least_eigenvalue(rows, np.flatnonzero(machines[k].multipliers))
        return machines[k]._is_proved(scores, signs[k], smallest)

    # One bound on rounding serves all models at once; alone, each has a tighter one.
    return all(
        is_proved(k, together.of(k))
        or (len(machines) > 1 and is_proved(k, kernel_scores(rows, shares[:, [k]])))
        for k in range(len(machines))
    )


def are_two_sides(positive: int, negative: int, K: int) -> bool:
    """Whether these number two of K classes (-1: all others); of two the second is positive."""
    named = 0 <= positive < K and -1 <= negative < K and positive != negative
    return named and (K > 2 or (positive, negative) in ((1, -1), (1, 0)))


def _most_out_of_order(
    signs: np.ndarray, costs: np.ndarray, alpha: np.ndarray, scores: Enclosure
) -> float:
    """Return by how much a row that may fall stands above one that may grow, at the most."""
    if not np.isfinite(alpha).all():
        return math.inf
    above, below = alpha > 0.0, alpha < costs
    grows = np.where(signs > 0.0, below, above)
    falls = np.where(signs > 0.0, above, below)
    if not (grows.any() and falls.any()):
        return 0.0
    away = scores - signs
    apart = Enclosure.exact(away.high[falls].max()) - away.low[grows].min()
    return max(0.0, float(apart.high))


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelMulticlassGap(NamedMultipliers, KernelClaim):
    """Two bounds for a model of all classes with a kernel: its multipliers and `biases`.

    `margins` say by how much each row's own class beats the best other, as computed.
    """

    kind = "kernel-multiclass-gap"

    biases: np.ndarray

    def require_sound(self) -> None:
        """Refuse by name what makes this no claim, whatever the data."""
        super().require_sound()
        require(
            are_floats(self.biases)
            and self.biases.shape == (len(self.classes),)
            and np.isfinite(self.biases).all(),
            "biases must be finite numbers, one for each class",
        )

    def _is_found_again(self, X: Any, codes: np.ndarray) -> bool:
        rows = KernelRowsInProof(self.kernel, X)
        shares = shares_of(codes, *self._named, len(self.classes))
        smallest = least_eigenvalue(rows, np.flatnonzero(shares.any(axis=1)))
        known = self._is_of_spectrum(smallest) and self.is_convex
        return known and super()._is_found_again(kernel_scores(rows, shares), codes)

    def _found(self, scores: Scores, codes: np.ndarray, wide: float) -> Iterator[Found]:
        """Enclose both objectives from the scores of the shares (`shares_of`), n x K."""
        named, K = self._named, len(self.biases)
        primal, dual = Enclosure(0.0, math.inf), NOTHING
        if are_feasible(named, codes, self.costs, K):
            shares, found = shares_of(codes, *named, K), scores.enclosed(wide)
            squares = [square_of(shares[:, k], found[:, k]) for k in range(K)]
            square = sum((each.at_least(0.0) for each in squares), start=Enclosure.exact(0.0))
            short = shortfalls(found + self.biases, codes)
            primal = square.halved() + losses_of(short, self.costs)
            # No share may be a rounded number: w is then one and the same in both lines.
            tight = scores.enclosed()
            refuted = any(self._is_refuted(shares[:, k], tight[:, k]) for k in range(K))
            is_out = any(balances(named, codes, K)) or refuted
            if not is_out and cancelling(shares).all():
                dual = Enclosure.exact(self.multipliers).sum() - square.halved()

        yield Found(primal, dual)

    def _sentence(self) -> str:
        if not self.is_convex:
            return "not proved: the kernel is not positive, and better models may exist"
        many = f"{len(self.classes)} weight vectors"
        return self._in_words(f"model of {many} with this kernel lowers")
