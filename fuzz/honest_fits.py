"""One fit of every other estimator on nasty data, and the table of all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb, fmpq

import separatrix as sx
from fuzz import exact_halfspaces as halfspaces
from fuzz.exact_certificates import Book, Facts, least_squares, signed_rows
from fuzz.exact_judge import exact, vector
from fuzz.honest_claims import of_certificate, of_verdict
from fuzz.honest_machines import (
    fitted,
    kernel_cv,
    kernel_svm,
    linear_svm,
    logistic,
    machine_cv,
    multinomial,
    partitions,
    pick,
    proved_again,
    sgd,
    wrapped,
)
from fuzz.honest_more import MORE
from fuzz.honest_sparse import sparse_logistic, sparse_multinomial, sparse_svm
from fuzz.nasty import Nasty, nasty
from fuzz.scatter_claims import nonnegative_squares
from separatrix.core.novikoff import widest
from separatrix.problem.signed import SignedProblem

__all__ = ["FITS", "PLACES"]

_SECONDS = 10.0


def least_squares_fit(rng: Any, book: Book) -> None:
    given = nasty(rng, pick(rng, 2, 2, 3), True)
    ridge = pick(rng, 0.0, 0.0, 1.0, float(10.0 ** rng.uniform(-30, 30)), [1e-6, 1.0, 1e6])
    regression = rng.random() < 0.3
    model = sx.LeastSquares(
        ridge,
        fit_intercept=rng.random() < 0.8,
        task="regression" if regression else "classification",
        positive=bool(regression and rng.random() < 0.3),
    )
    y: Any = given.y
    if regression:
        y = rng.normal(size=len(given.codes)) * 10.0 ** rng.uniform(-100, 100)
    fitted(model, given, y)
    weights = np.ones(len(given.codes)) if given.weights is None else given.weights
    present = np.unique(given.codes[weights > 0.0])
    if regression:
        T = y[:, None]
    elif len(present) == 2:
        T = np.where(given.codes == present[-1], 1.0, -1.0)[:, None]
    else:
        T = (given.codes[:, None] == present[None, :]).astype(float)
    proof = model.certificate_
    if model.positive:
        nonnegative_squares(book, proof, Facts(given), T[:, 0], weights)
    else:
        least_squares(book, proof, Facts(given), T, weights)
    own = np.column_stack([np.ravel(model.intercept_), np.atleast_2d(model.coef_)])
    book.true("coef_ is not what is proved", np.array_equal(own, np.array(proof.weights)))
    book.true("ridge_ is not what is proved", proof.ridge == model.ridge_)
    if proof.holds:
        more = () if given.weights is None else (given.weights,)
        book.true("check refuses the honest fit", proof.check(given.X, y, *more))
    book.true(f"status {model.status_}", proof.holds == (str(model.status_) == "optimal"))


def fisher(rng: Any, book: Book) -> None:
    given = nasty(rng, pick(rng, 2, 2, 2, 3), True)
    model = sx.Fisher(pick(rng, "mean", "gaussian"), shrinkage=pick(rng, "auto", 0.0, 0.5))
    fitted(model, given)
    if model.certificate_ is None:
        return
    of_certificate(book, model.certificate_, given, given.weights)
    if len(model.classes_) == 2:
        stated = tuple(model.coef_[0]) == model.certificate_.weights
        book.true("coef_ is not what is proved", stated)
    proved_again(book, model, given, with_weights=True)


def kozinec(rng: Any, book: Book) -> None:
    given = nasty(rng)
    size = float(abs(given.dense).max()) or 1.0
    model = sx.Kozinec(
        pick(rng, None, None, 0.01 * size, 1e-3), order=pick(rng, "cyclic", "random", "worst"),
        max_updates=2_000, fit_intercept=rng.random() < 0.8,
    )  # fmt: skip
    model.fit(given.X, given.y)
    of_certificate(book, model.certificate_, given)
    proof = model.certificate_
    book.true("margin_bounds_", model.margin_bounds_ == (proof.lower, proof.upper))
    if str(model.status_) == "epsilon":
        book.true(
            "epsilon",
            exact(proof.upper) - exact(proof.lower) <= exact(model.epsilon) * (1 + fmpq(1, 2**50)),
        )
    proved_again(book, model, given)


def perceptron(rng: Any, book: Book) -> None:
    given = nasty(rng, pick(rng, 2, 2, 3))
    update = pick(rng, "single", "single", "batch", "minibatch")
    init = pick(rng, "zeros", "zeros", "random")
    model = sx.Perceptron(
        update=update,
        order=pick(rng, "cyclic", "random", "worst") if update == "single" else "cyclic",
        learning_rate=pick(rng, 1.0, 0.1, 1e-100), scale=rng.random() < 0.3, init=init,
        average=rng.random() < 0.2, max_updates=2_000, fit_intercept=rng.random() < 0.8,
    )  # fmt: skip
    model.fit(given.X, given.y)
    of_certificate(book, model.certificate_, given)
    proof, facts = model.certificate_, Facts(given)
    z = signed_rows(facts, given.n_classes, model.fit_intercept)
    w = [exact(v) for row in proof.weights for v in row]
    share = len(z) // len(facts.rows)
    wrong = sum(
        any(halfspaces.dot(row, w) <= 0 for row in z[i * share : (i + 1) * share])
        for i in range(len(facts.rows))
    )
    if model.errors_ is not None:
        book.true(f"errors_ {model.errors_}, not {wrong}", model.errors_ == wrong)
    if model.novikoff_ is not None:
        novikoff(book, model, facts, w)
    proved_again(book, model, given)


def novikoff(book: Book, model: Any, facts: Facts, w: list[Any]) -> None:
    stated, K = model.novikoff_, len(model.classes_)
    width = len(facts.rows[0]) + 1
    if model.scale:
        largest = [max(abs(row[j]) for row in facts.rows) for j in range(width - 1)]
        powers = [power_above(v) for v in largest]
        facts = facts.divided(powers)
        w = [
            v * fmpq(2) ** (0 if j % width == 0 else powers[j % width - 1]) for j, v in enumerate(w)
        ]
    z = signed_rows(facts, K, model.fit_intercept)
    radius = max(halfspaces.dot(row, row) for row in z)
    # A margin is there where some weights have it; those that the library looked for are one try.
    square = max(_square_margin(z, each) for each in (w, _looked_for(model, facts, w)))
    book.at_least("radius", stated.radius, lambda: arb(radius).sqrt())
    book.at_most("margin of Novikoff", stated.margin, lambda: arb(square).sqrt())
    book.true(
        f"mistakes {stated.mistakes} beyond {stated.bound}",
        stated.holds and stated.mistakes == model.n_iter_,
    )
    if model.init == "zeros":
        book.at_least("bound on mistakes", stated.bound, lambda: radius / square)


def _square_margin(z: list[Any], w: list[Any]) -> fmpq:
    """Return the square of the least margin over the length of w; 0 where w does not separate."""
    least, length = min(halfspaces.dot(row, w) for row in z), halfspaces.dot(w, w)
    return least * least / length if least > 0 else fmpq(0)


def _looked_for(model: Any, facts: Facts, w: list[Any]) -> list[Any]:
    """Return the weights of the largest margin that the library finds for two classes, or w."""
    if len(model.classes_) > 2:
        return w
    X = np.array([[int(v.p) / int(v.q) for v in row] for row in facts.rows])
    signs = np.where(np.array(facts.codes) == 1, 1.0, -1.0)
    start = np.array([int(v.p) / int(v.q) for v in w])
    found, _ = widest(SignedProblem(X, signs, model.fit_intercept), start)
    return vector(found)


def power_above(v: Any) -> int:
    """Return e with v / 2^e in [1/2, 1); 0 for 0."""
    if not v:
        return 0
    e = int(v.p).bit_length() - int(v.q).bit_length()
    while v >= fmpq(2) ** e:
        e += 1
    while v < fmpq(2) ** (e - 1):
        e -= 1
    return e


def zero_one(rng: Any, book: Book) -> None:
    given = nasty(rng, weighted=True, few=True)  # the judge tries all sets of rows
    if given.weights is not None:
        whole = rng.integers(0, 4, size=len(given.codes)) * float(pick(rng, 1.0, 0.5, 3.0))
        for k in (0, 1):
            whole[np.flatnonzero(given.codes == k)[0]] += 1.0
        given = Nasty(given.X, given.y, whole, given.dense, given.codes, 2, given.layout)
    model = sx.ZeroOne(max_seconds=_SECONDS)
    fitted(model, given)
    of_certificate(book, model.certificate_, given, given.weights)
    proof = model.certificate_
    for name, told, count in (
        ("errors_", model.errors_, proof.errors),
        ("lower_bound_", model.lower_bound_, proof.lower),
    ):
        book.true(
            f"{name} {told}",
            exact(told) == count * fmpq(proof.unit.numerator, proof.unit.denominator),
        )
    weights = np.ones(len(given.codes)) if given.weights is None else given.weights
    missed = exact(float(sum(weights[model.misclassified_])))
    book.true("misclassified_", missed == exact(model.errors_))
    if str(model.status_) == "optimal":
        wrong = model.predict(given.X) != np.asarray(given.y)
        book.true("predict makes other errors", float(weights[wrong].sum()) <= model.errors_)
    proved_again(book, model, given, with_weights=True)


def linear_program(rng: Any, book: Book) -> None:
    given = nasty(rng)
    model = sx.LinearProgramHalfspace(slack=rng.random() < 0.5, fit_intercept=rng.random() < 0.8)
    model.fit(given.X, given.y)
    if type(model.certificate_).__name__ == "Partition":
        proof = model.certificate_
        of_certificate(book, proof, given)
        book.true("check refuses the honest fit", proof.check(given.X, given.y))
    else:
        of_certificate(book, model.certificate_, given)
    if model.witness_ is not None:
        z = signed_rows(Facts(given), 2, model.fit_intercept)
        rows = [z[i] for i in model.witness_.rows]
        book.true("witness_", halfspaces.is_cancelled(rows, model.witness_.multipliers))
    violation_follows(book, model, given)


def violation_follows(book: Book, model: Any, given: Nasty) -> None:
    """objective_ is the mean violation by class and slack_ the rows', to rounding."""
    z = signed_rows(Facts(given), 2, model.fit_intercept)
    w = [
        exact(float(model.intercept_[0])) if model.fit_intercept else fmpq(0),
        *vector(model.coef_[0]),
    ]
    total = rounding = fmpq(0)
    for row, told, y in zip(z, model.slack_, given.codes, strict=True):
        size = sum((abs(a * b) for a, b in zip(row, w, strict=True)), start=fmpq(1))
        short = max(fmpq(0), 1 - halfspaces.dot(row, w))
        book.near("slack_", told, short, size * fmpq(1, 2**48))
        alike = int((given.codes == y).sum())
        total, rounding = total + short / alike, rounding + size * fmpq(1, 2**48) / alike
    if model.slack and str(model.status_) == "optimal":
        room = rounding + fmpq(1, 10**6) * max(total, fmpq(1))
        book.near("objective_", model.objective_, total, room)
        book.at_most("dual_objective_", model.dual_objective_ - 1e-6, lambda: total)


def verdict(rng: Any, book: Book) -> None:
    given = nasty(rng)
    intercept = bool(rng.random() < 0.8)
    found = sx.separability(given.X, given.y, intercept)
    of_verdict(book, found, given, intercept)
    if found.certificate is not None:
        of_certificate(book, found.certificate, given)
        book.true("check refuses the verdict", found.check(given.X, given.y))
        again = sx.Verdict.from_json(found.to_json())
        book.true("check refuses the verdict as JSON", again.check(given.X, given.y))


def delta_rule(rng: Any, book: Book) -> None:
    given = nasty(rng)
    model = sx.DeltaRule(
        thresholded=rng.random() < 0.5, update=pick(rng, "batch", "single"),
        max_updates=1_000, fit_intercept=rng.random() < 0.8,
    )  # fmt: skip
    model.fit(given.X, given.y)
    of_certificate(book, model.certificate_, given)
    proved_again(book, model, given)


FITS: dict[str, Callable[[Any, Book], None]] = {
    "LinearSVM": linear_svm,
    "LogisticRegression": logistic,
    "multinomial": multinomial,
    "sparse-logistic": sparse_logistic,
    "sparse-LinearSVM": sparse_svm,
    "sparse-multinomial": sparse_multinomial,
    "KernelSVM": kernel_svm,
    "LeastSquares": least_squares_fit,
    "Fisher": fisher,
    "Kozinec": kozinec,
    "Perceptron": perceptron,
    "ZeroOne": zero_one,
    "LinearProgramHalfspace": linear_program,
    "separability": verdict,
    "SGD": sgd,
    "DeltaRule": delta_rule,
    "LinearSVMCV": machine_cv,
    "KernelSVMCV": kernel_cv,
    "OneVsRest": wrapped,
    "partitions": partitions,
    **MORE,
}

# What a kind adds to the seed: those that came later stand last, so that old fits stay the same.
_LATER = set(MORE) - {"KernelPerceptron", "GaussianPlugIn"}
_IN_ORDER = [*sorted(set(FITS) - _LATER), *sorted(_LATER)]
PLACES = {kind: place for place, kind in enumerate(_IN_ORDER)}
