"""What every kind of certificate claims, set against the exact value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb, fmpq

from fuzz import exact_halfspaces as halfspaces
from fuzz import exact_judge as judge
from fuzz import exact_kernels as kernels
from fuzz import exact_squares as squares
from fuzz.exact_judge import Claim, exact, vector
from fuzz.exact_softmax import dual_of_softmax, least_found
from fuzz.nasty import Nasty

__all__ = [
    "Book",
    "Facts",
    "duality_gap",
    "fewest_errors",
    "fisher",
    "fisher_directions",
    "kernel_gap",
    "kernel_multiclass_gap",
    "least_squares",
    "margin_bounds",
    "multiclass_gap",
    "partition",
    "separation",
    "signed_rows",
    "softmax_gap",
]


class Book:
    """What was compared, and what was found false."""

    def __init__(self) -> None:
        self.compared = 0
        self.false: list[str] = []
        self.claims: dict[str, Claim] = {}

    def at_least(self, name: str, claimed: float, truth: Callable[[], Any]) -> None:
        self._judge(Claim(name, ">=", claimed, truth))

    def at_most(self, name: str, claimed: float, truth: Callable[[], Any]) -> None:
        self._judge(Claim(name, "<=", claimed, truth))

    def _judge(self, claim: Claim) -> None:
        self.claims[claim.name] = claim
        self._say(claim.verdict())

    def true(self, name: str, fact: bool) -> None:
        self._say("" if fact else name)

    def _say(self, wrong: str) -> None:
        self.compared += 1
        if wrong:
            self.false.append(wrong)

    def near(self, name: str, claimed: Any, truth: Any, room: Any) -> None:
        """Compare a number that is stated as computed: off by no more than `room`."""
        if not math.isfinite(float(claimed)):
            self.true(
                f"{name}: {claimed} stands for {judge.shown(truth)}", abs(truth) > exact(1e307)
            )
            return
        off = abs(exact(claimed) - truth)
        self.true(f"{name}: {float(claimed)!r} is not near {judge.shown(truth)}", bool(off <= room))


class Facts:
    """The data in rationals, taken apart as each kind of certificate needs them."""

    def __init__(self, given: Nasty, rows: np.ndarray | None = None, codes: Any = None) -> None:
        dense = given.dense if rows is None else given.dense[rows]
        self.rows = [vector(row) for row in dense]
        self.codes = (given.codes if rows is None else given.codes[rows]).tolist()
        if codes is not None:
            self.codes = list(codes)

    def divided(self, exponents: Any) -> Facts:
        """Return the columns divided by powers of two."""
        other = object.__new__(Facts)
        factors = [fmpq(2) ** -int(e) for e in exponents]
        other.rows = [[v * f for v, f in zip(row, factors, strict=True)] for row in self.rows]
        other.codes = self.codes
        return other


def costs_of(costs: Any) -> list[Any]:
    return [None if math.isinf(c) else exact(c) for c in np.asarray(costs, dtype=float)]


def bounds(book: Book, proof: Any, name: str = "") -> None:
    """Compare the relative gap with that of the two bounds, and the bounds with each other."""
    if not (math.isfinite(proof.primal) and math.isfinite(proof.dual)):
        book.true(
            f"{name}gap: no gap between {proof.dual} and {proof.primal}", math.isinf(proof.gap)
        )
        return
    primal, dual = exact(proof.primal), exact(proof.dual)
    book.true(f"{name}dual {proof.dual} above primal {proof.primal}", bool(dual <= primal))
    if primal:
        book.at_least(f"{name}gap", proof.gap, lambda: max(fmpq(0), (primal - dual) / primal))


# ---- the certificates, by their kind


def duality_gap(book: Book, proof: Any, facts: Facts, name: str = "") -> None:
    rows, signs = facts.rows, [1 if y == proof.positive else -1 for y in facts.codes]
    costs, w = costs_of(proof.costs), vector(proof.weights[1:])
    b = exact(proof.weights[0]) if proof.intercept else fmpq(0)
    alpha, penalty = vector(proof.multipliers), exact(proof.bias_penalty)
    ridge = int(proof.ridge)

    @judge.kept
    def primal() -> Any:
        return judge.machine(rows, signs, costs, proof.loss, w, b, penalty, ridge)

    def dual() -> Any:
        bias = penalty if proof.intercept else None
        if not ridge:
            return judge.box_dual(rows, signs, costs, proof.loss, alpha, w, bias)
        return judge.machine_dual(rows, signs, costs, proof.loss, alpha, bias)

    book.at_least(f"{name}primal", proof.primal, primal)
    book.at_most(f"{name}dual", proof.dual, lambda: at_least_zero(dual()))
    book.at_most(f"{name}dual beside the objective", proof.dual, primal)
    zero = [fmpq(0)] * len(w)
    if ridge and None not in costs:
        none = lambda: judge.machine(rows, signs, costs, proof.loss, zero, fmpq(0), penalty)  # noqa: E731
        book.at_most(f"{name}dual beside w = 0", proof.dual, none)
    bounds(book, proof, name)


def at_least_zero(value: Any) -> Any:
    """Return what is proved by a dual value: no objective is below 0."""
    if isinstance(value, str):
        return value
    if isinstance(value, arb):
        return value.max(arb(0))
    return max(value, fmpq(0))


def multiclass_gap(book: Book, proof: Any, facts: Facts) -> None:
    rows, codes, costs = facts.rows, facts.codes, vector(proof.costs)
    W, penalty = [vector(w[1:]) for w in proof.weights], exact(proof.bias_penalty)
    b = [exact(w[0]) if proof.intercept else fmpq(0) for w in proof.weights]
    named = list(
        zip(proof.rows.tolist(), proof.rivals.tolist(), vector(proof.multipliers), strict=True)
    )
    primal = judge.crammer_singer(rows, codes, costs, W, b, penalty)
    bias = penalty if proof.intercept else None
    dual = judge.crammer_singer_dual(rows, codes, costs, named, len(W), bias)
    book.at_least("primal", proof.primal, lambda: primal)
    book.at_most("dual", proof.dual, lambda: at_least_zero(dual))
    book.at_most("dual beside the objective", proof.dual, lambda: primal)
    bounds(book, proof)


def softmax_gap(book: Book, proof: Any, facts: Facts) -> None:
    rows, codes, costs = facts.rows, facts.codes, vector(proof.costs)
    W, penalty = [vector(w[1:]) for w in proof.weights], exact(proof.bias_penalty)
    b = [exact(w[0]) if proof.intercept else fmpq(0) for w in proof.weights]
    bias = penalty if proof.intercept else None
    ridge = int(proof.ridge)

    @judge.kept
    def primal() -> Any:
        return judge.multinomial(rows, codes, costs, W, b, penalty, ridge)

    told = rows, codes, costs, W, b, bias, ridge
    book.at_least("primal", proof.primal, primal)
    book.at_most("dual beside the objective", proof.dual, primal)
    # The dual point is softmax as some computer rounds it, mended in one of many ways: where the
    # exact softmax does not show that the bound is true, the least objective decides.
    if Claim("dual", "<=", proof.dual, lambda: dual_of_softmax(*told)).verdict():
        book.at_most("dual", proof.dual, lambda: least_found(*told))
    bounds(book, proof)


def values_of(kernel: Any, facts: Facts) -> Any:
    """Return all kernel values; the Python function is `honest_machines.product`."""
    if kernel.name == "callable":
        return kernels.gram("linear", 1.0, 1, 0.0, [row[:1] for row in facts.rows])
    return kernels.gram(kernel.name, kernel.gamma, kernel.degree, kernel.coef0, facts.rows)


def kernel_gap(book: Book, proof: Any, facts: Facts, name: str = "") -> None:
    codes, kernel = facts.codes, proof.kernel
    rest = proof.negative < 0
    signs = [1 if y == proof.positive else -1 if rest or y == proof.negative else 0 for y in codes]
    costs, alpha, b = costs_of(proof.costs), vector(proof.multipliers), exact(proof.bias)

    @judge.kept
    def K() -> Any:
        return values_of(kernel, facts)

    @judge.kept
    def primal() -> Any:
        return kernels.objective(K(), signs, costs, alpha, b)

    book.at_least(f"{name}primal", proof.primal, primal)
    book.at_least(
        f"{name}violation", proof.violation, lambda: kernels.out_of_order(K(), signs, costs, alpha)
    )
    if proof.is_convex:
        book.at_most(
            f"{name}dual", proof.dual, lambda: at_least_zero(kernels.dual(K(), signs, costs, alpha))
        )
        if kernel.is_positive:
            book.at_most(f"{name}dual beside the objective", proof.dual, primal)
        bounds(book, proof, name)


def kernel_multiclass_gap(book: Book, proof: Any, facts: Facts) -> None:
    kernel, codes, costs = proof.kernel, facts.codes, vector(proof.costs)
    if not proof.is_convex:
        return
    named = list(
        zip(proof.rows.tolist(), proof.rivals.tolist(), vector(proof.multipliers), strict=True)
    )
    biases = vector(proof.biases)

    @judge.kept
    def K() -> Any:
        return values_of(kernel, facts)

    book.at_least("primal", proof.primal, lambda: kernels.direct(K(), codes, costs, named, biases))
    book.at_most(
        "dual",
        proof.dual,
        lambda: at_least_zero(kernels.direct_dual(K(), codes, costs, named, len(biases))),
    )
    bounds(book, proof)


def least_squares(
    book: Book, proof: Any, facts: Facts, T: Any, weights: Any, tied: bool = True
) -> None:
    used = [i for i, s in enumerate(weights) if s > 0.0]
    rows, s = [facts.rows[i] for i in used], [exact(weights[i]) for i in used]
    T = [vector(T[i]) for i in used]
    W, b = [vector(w[1:]) for w in proof.weights], [exact(w[0]) for w in proof.weights]
    if not proof.intercept:
        b = [fmpq(0)] * len(b)
    ridge = exact(proof.ridge)
    found = squares.squared_error(rows, T, s, W, b, ridge)
    least = squares.least_error(rows, T, s, ridge, proof.intercept)
    book.at_least("objective", proof.objective, lambda: found)
    book.at_most("least", proof.least, lambda: least)
    if tied and found:
        book.at_least("gap", proof.gap, lambda: (found - least) / found)
    centred = proof.intercept and proof.dense
    if math.isfinite(proof.perturbation):
        # The mean that columns are moved by is rounded: a millionth of room.
        book.at_least(
            "perturbation",
            proof.perturbation * (1.0 + 1e-6),
            lambda: squares.perturbation(rows, T, s, W, b, ridge, proof.intercept, centred),
        )


def fisher(book: Book, proof: Any, facts: Facts, weights: Any) -> None:
    used = [i for i, s in enumerate(weights) if s > 0.0]
    rows, s = [facts.rows[i] for i in used], [exact(weights[i]) for i in used]
    present = sorted({facts.codes[i] for i in used})  # a class may have lost all its weight
    codes = [present.index(facts.codes[i]) for i in used]
    w = vector(proof.weights)
    book.at_most("ratio", proof.ratio, lambda: squares.ratio(rows, codes, s, w))
    book.at_least("bound", proof.bound, lambda: squares.largest_ratio(rows, codes, s))


def fisher_directions(book: Book, proof: Any, facts: Facts, weights: Any) -> None:
    used = [i for i, s in enumerate(weights) if s > 0.0]
    rows, s = [facts.rows[i] for i in used], [exact(weights[i]) for i in used]
    between, within = squares.scatters(rows, [facts.codes[i] for i in used], s)
    for k, (low, high) in enumerate(zip(proof.lower, proof.upper, strict=True)):
        if low > 0.0:  # no ratio is below zero
            above, at = squares.ratios_above(between, within, exact(low))
            book.true(f"lower[{k}] {low}: {above + at} ratios are as large", above + at > k)
        if math.isfinite(high):
            above, _ = squares.ratios_above(between, within, exact(high))
            book.true(f"upper[{k}] {high}: {above} ratios are above", above <= k)


def separation(book: Book, proof: Any, facts: Facts, n_classes: int) -> None:
    z, w = signed_rows(facts, n_classes, proof.intercept), flat(proof)
    products = [halfspaces.dot(row, w) for row in z]
    book.true(f"holds={proof.holds}", proof.holds == all(p > 0 for p in products))
    share = len(z) // len(facts.rows)
    if proof.worst_row is not None:
        own = products[proof.worst_row * share : (proof.worst_row + 1) * share]
        told = fmpq(proof.worst_margin.numerator, proof.worst_margin.denominator)
        book.true(f"worst_margin={judge.shown(told)}", told == min(own))
    if proof.holds:
        book.at_most(
            "margin", proof.margin, lambda: arb(min(products)) / arb(halfspaces.dot(w, w)).sqrt()
        )


def signed_rows(facts: Facts, n_classes: int, intercept: bool) -> Any:
    if n_classes > 2:
        return halfspaces.kesler(facts.rows, facts.codes, n_classes, intercept)
    signs = [1 if y == 1 else -1 for y in facts.codes]
    return halfspaces.signed(facts.rows, signs, intercept)


def flat(proof: Any) -> list[fmpq]:
    """Return the weights, one class after another; a bias that counts for nothing as 0."""
    kept = 0 if proof.intercept else 1
    return [exact(v) if j >= kept else fmpq(0) for row in proof.weights for j, v in enumerate(row)]


def margin_bounds(book: Book, proof: Any, facts: Facts, n_classes: int) -> None:
    separation(book, proof.separation, facts, n_classes)
    z = signed_rows(facts, n_classes, proof.separation.intercept)
    w = flat(proof.separation)
    book.true(f"lower {proof.lower} above upper {proof.upper}", proof.lower <= proof.upper)
    if any(w):
        least = min(halfspaces.dot(row, w) for row in z)
        book.at_most("lower", proof.lower, lambda: arb(least) / arb(halfspaces.dot(w, w)).sqrt())
    mass = vector(proof.multipliers)
    total = [
        sum((m * z[r][j] for r, m in zip(proof.rows, mass, strict=True)), fmpq(0))
        for j in range(len(w))
    ]
    book.at_least(
        "upper",
        proof.upper,
        lambda: arb(halfspaces.dot(total, total)).sqrt() / arb(sum(mass, fmpq(0))),
    )


def fewest_errors(book: Book, proof: Any, facts: Facts, weights: Any) -> None:
    z = signed_rows(facts, 2, True)
    w = [fmpq(v) for v in proof.integers] if proof.integers else vector(proof.weights)
    masses = [exact(v) for v in weights]
    unit = fmpq(proof.unit.numerator, proof.unit.denominator)
    wrong = sum(
        (m for m, row in zip(masses, z, strict=True) if halfspaces.dot(row, w) <= 0), fmpq(0)
    )
    book.true(f"errors={proof.errors} x {proof.unit}", proof.errors * unit == wrong)
    book.true(
        f"lower={proof.lower} x {proof.unit}",
        halfspaces.fewest_at_least(z, masses, proof.lower * unit),
    )


def partition(book: Book, proof: Any, facts: Facts) -> None:
    z = signed_rows(facts, 2, proof.intercept)
    kind = {"separation": "separable", "quasi": "quasi-separable", "overlap": "overlapping"}
    book.true(f"kind {proof.kind}", kind[proof.kind] == halfspaces.verdict(z)[0])
