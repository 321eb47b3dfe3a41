"""Fits of what no other kind has: paths, inference, lifts, pairs, labelings, tables of chances."""

from __future__ import annotations

import json
from itertools import product as tuples
from typing import Any

import numpy as np
from flint import fmpq
from tests import inference_problems

import separatrix as sx
from fuzz import exact_halfspaces as halfspaces
from fuzz import inference as at_300_bits
from fuzz.exact_certificates import Book, Facts, signed_rows
from fuzz.honest_claims import of_certificate
from fuzz.honest_machines import drawn, fitted, kernel_settings, machine, passes, pick, proved_again
from fuzz.nasty import Nasty, cost, nasty
from separatrix.checker import Refused, check
from separatrix.problem.canonical import as_checker_data, problem_from
from separatrix.problem.many_classes import REACH as _REACH
from separatrix.storage.certificate_files import prove_again

__all__ = ["MORE"]

_SECONDS = 10.0


def path(rng: Any, book: Book) -> None:
    """Sparse weights for several C: each has its own proof."""
    given = drawn(rng, 2, 2, 3)
    model = fitted(
        sx.LogisticRegressionPath(
            3, l1_ratio=pick(rng, 1.0, 1.0, 0.5), tol=pick(rng, 1e-3, 1e-6),
            fit_intercept=rng.random() < 0.8,
        ),
        given,
    )  # fmt: skip
    for k, proof in enumerate(model.certificates_):
        if not proof.holds:
            continue
        of_certificate(book, proof, given)
        book.true(f"check refuses the fit {k}", proof.check(given.X, given.y) is True)
        held = np.column_stack([np.ravel(model.intercepts_[k]), np.atleast_2d(model.coefs_[k])])
        stated = np.atleast_2d(proof.weights)
        book.true(f"coefs_[{k}] are not what is proved", np.array_equal(held, stated))


def inference(rng: Any, book: Book) -> None:
    """Every number at 300 bits, on problems that are drawn for it: also Firth's and a ridge."""
    number = int(rng.integers(10**9))
    for words in at_300_bits._wrong(number, _Counts()):
        book.true(f"problem {number}: {words}", words.startswith("no enclosure"))
    book.true("", True)


class _Counts(dict[str, int]):
    def __missing__(self, _: str) -> int:
        return 0


def inference_on_nasty_data(rng: Any, book: Book) -> None:
    """Values lie within their enclosures, and the library and the checker accept the proof."""
    given = nasty(rng, 2, False, 30.0, few=True)
    dense, codes = given.dense[:8, :2], np.append(given.codes[:6], [0, 1])
    dense = np.vstack([dense[:6], dense[-2:]])
    codes = codes[-len(dense) :]
    given = Nasty(dense, codes, None, dense, codes, 2, "float64")
    method = pick(rng, *inference_problems.METHODS)
    found = sx.inference(given.X, given.y, method)
    for name in inference_problems.NAMES:
        low, high = found.enclosures[name]
        value = np.asarray(found.table[name])
        inside = (low <= value) & (value <= high) | np.isnan(low)
        book.true(f"{name} outside its own enclosure", bool(inside.all()))
    proof = found.certificate
    if proof is None:
        return
    book.true("check refuses the honest fit", proof.check(given.X, given.y) is True)
    whole = json.loads(proof.to_json())
    data = as_checker_data(problem_from(given.dense, given.codes, proof.intercept))
    if rng.random() < 0.3:
        try:
            prove_again(whole, given.dense, given.y)
        except Refused as reason:
            book.true(f"as a file, it is refused: {reason}", False)
    if rng.random() < 0.1 and proof.intercept and list(map(str, np.unique(given.y))) == ["0", "1"]:
        try:
            check(whole, data)
        except Refused as reason:
            book.true(f"the checker refuses the honest fit: {reason}", False)


def lifted(rng: Any, book: Book) -> None:
    """A linear model of basis functions: what is proved is about the rows as they are lifted."""
    given = nasty(rng, pick(rng, 2, 2, 3), False, 20.0)
    lift = pick(
        rng, sx.lift.Polynomial(pick(rng, 1, 2, 3)), sx.lift.RadialBasis(random_state=0),
        sx.lift.Sigmoid(random_state=0), sx.lift.RandomFourier(5, random_state=0),
        sx.lift.Nystrom(5, random_state=0),
    )  # fmt: skip
    Z = lift.fit(given.X, given.y).transform(given.X)
    dense = np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=float)
    book.true("lifted rows are not finite", bool(np.isfinite(dense).all()))
    if dense.shape[1] > 12:
        dense = Z = dense[:, :12]
    above = Nasty(Z, given.y, None, dense, given.codes, given.n_classes, given.layout)
    loss = pick(rng, "hinge", "squared_hinge")
    machine(rng, book, sx.LinearSVM(cost(rng), loss=loss, n_jobs=1, max_passes=passes(rng),
                                    max_seconds=_SECONDS), above)  # fmt: skip


def pairs(rng: Any, book: Book) -> None:
    """One model a pair of classes; each is judged on the rows of its two classes."""
    given = drawn(rng, 3, 4, weighted=False)
    one = pick(
        rng, sx.LinearSVM(cost(rng, 0.0), n_jobs=1, max_passes=passes(rng)),
        sx.LogisticRegression(cost(rng, 0.0), n_jobs=1, max_passes=passes(rng)), sx.Fisher(),
        sx.Kozinec(max_updates=500), sx.KernelSVM(cost(rng, 0.0), gamma=1.0),
    )  # fmt: skip
    model = sx.OneVsOne(one, n_jobs=1).fit(given.X, given.y)
    sides = [(a, b) for a in range(given.n_classes) for b in range(a + 1, given.n_classes)]
    book.true("another number of models than pairs", len(model.estimators_) == len(sides))
    for (a, b), inner in zip(sides, model.estimators_, strict=True):
        rows = np.flatnonzero(np.isin(given.codes, (a, b)))
        codes = (given.codes[rows] == b).astype(int)
        part = Nasty(given.dense[rows], codes, None, given.dense[rows], codes, 2, given.layout)
        if inner.certificate_ is not None:
            of_certificate(book, inner.certificate_, part)
    if all(proof is not None and proof.holds for proof in model.certificates_):
        book.true("check refuses the honest fit", model.check(given.X, given.y))


def kernel_rules(rng: Any, book: Book) -> None:
    """Kernel rules by updates: rows on their own side, and bounds on the margin."""
    given, settings = kernel_settings(rng, drawn(rng, 2, weighted=False))
    made = pick(rng, sx.KernelPerceptron, sx.KernelKozinec)
    model = made(**settings, max_updates=2_000).fit(given.X, given.y)
    if model.certificate_ is not None:
        of_certificate(book, model.certificate_, given)
        proved_again(book, model, given)


def gaussian(rng: Any, book: Book) -> None:
    """Gaussian classes: means, covariances, offsets and the threshold are those of the data."""
    given = nasty(rng, pick(rng, 2, 3), True)
    kind = pick(rng, "shared", "full", "diagonal")
    shares = ["auto", "auto", "ledoit-wolf", 0.5, 1.0] + [(0.5, 0.5), "held-out"] * (kind == "full")
    model = fitted(sx.GaussianPlugIn(kind, shrinkage=pick(rng, *shares)), given)
    if model.certificate_ is not None:
        of_certificate(book, model.certificate_, given, given.weights)
        proved_again(book, model, given, with_weights=True)


def verdict_of_classes(rng: Any, book: Book) -> None:
    """Maximum likelihood of all classes at once, and whether it exists."""
    given = nasty(rng, pick(rng, 2, 3, 3), False, 100.0, few=True)
    model = sx.LogisticRegression(
        np.inf, multi_class=pick(rng, "multinomial", "multinomial", "ovr"), n_jobs=1,
        fit_intercept=rng.random() < 0.8, max_seconds=_SECONDS, max_passes=passes(rng),
    )  # fmt: skip
    model.fit(given.X, given.y)
    of_certificate(book, model.certificate_, given)
    proved_again(book, model, given)
    found = model.verdict_
    if not hasattr(found, "kind") or found.kind == "undecided":
        return
    if given.n_classes > 2 and type(found).__name__ != "ClassVerdict":
        return
    z = signed_rows(Facts(given), given.n_classes, model.fit_intercept)
    kind = halfspaces.verdict(z)[0]
    book.true(f"verdict_ {found.kind}, which is {kind}", found.kind == kind)
    book.true("check refuses the verdict", found.check(given.X, given.y))
    book.true("the reach that is stated", _REACH == 1000.0)


def labelings(rng: Any, book: Book) -> None:
    """Every labeling of a few points: as a simplex method on rationals decides it."""
    n, d = int(rng.integers(2, 6)), int(rng.integers(1, 3))
    points = rng.integers(-3, 4, size=(n, d)) * 1.0
    if rng.random() < 0.5:
        points = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-50, 50, size=d)
    intercept = bool(rng.random() < 0.7)
    found = sx.shatter(points, fit_intercept=intercept)
    given = Nasty(points, None, None, points, np.zeros(n, dtype=int), 2, "float64")
    possible = 0
    for labels, found_here in zip(tuples((0, 1), repeat=n), found.labelings, strict=True):
        z = signed_rows(Facts(given, codes=list(labels)), 2, intercept)
        kind = halfspaces.verdict(z)[0]
        possible += kind == "separable"
        same = found_here.labels == labels and found_here.possible == (kind == "separable")
        book.true(f"labeling {labels} is {kind}, and was found {found_here.kind}", same)
    book.true(f"{found.count} labelings, not {possible}", found.count == possible)
    book.true("check refuses the labelings", found.check())


def table(rng: Any, book: Book) -> None:
    """Strategies on a table of chances: none of all fixed decisions has a smaller risk."""
    n, K, D = (int(v) for v in rng.integers(2, 4, size=3))
    p, loss = rng.integers(0, 6, size=(n, K)).tolist(), rng.integers(0, 5, size=(D, K)).tolist()
    if not all(sum(row[k] for row in p) for k in range(K)):
        return
    found = sx.FiniteTable(p, loss)
    whole = fmpq(sum(map(sum, p)))
    masses = [fmpq(sum(row[k] for row in p)) for k in range(K)]
    risks = [
        [sum((fmpq(p[i][k] * loss[d][k]) for i, d in enumerate(q)), fmpq(0)) for k in range(K)]
        for q in tuples(range(D), repeat=n)
    ]
    for name, claim, worst in (
        ("Bayes", found.bayes(), min(sum(row, fmpq(0)) / whole for row in risks)),
        ("minimax", found.minimax(),
         min(max(v / m for v, m in zip(row, masses, strict=True)) for row in risks)),
    ):  # fmt: skip
        risk = fmpq(claim.risk.numerator, claim.risk.denominator)
        book.true(f"{name}: check refuses it", claim.check())
        # Decisions at random may be better for the worst class; none is for the mean.
        right = risk == worst if name == "Bayes" else risk <= worst
        book.true(f"{name}: risk {claim.risk}, where {worst} is attained", right)


MORE = {
    "LogisticRegressionPath": path,
    "inference": inference,
    "inference-nasty": inference_on_nasty_data,
    "lift": lifted,
    "OneVsOne": pairs,
    "KernelPerceptron": kernel_rules,
    "GaussianPlugIn": gaussian,
    "maximum-likelihood": verdict_of_classes,
    "shatter": labelings,
    "FiniteTable": table,
}
