"""One fit of each machine with a gap on nasty data, and what is compared afterwards."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from flint import arb, fmpq

import separatrix as sx
from fuzz.exact_certificates import Book, Facts
from fuzz.exact_judge import exact, vector
from fuzz.exact_judge import machine as objective
from fuzz.honest_claims import of_certificate, of_machine, of_verdict
from fuzz.nasty import Nasty, cost, nasty

__all__ = [
    "costs_follow",
    "drawn",
    "fitted",
    "kernel_cv",
    "kernel_settings",
    "kernel_svm",
    "lengths_follow",
    "linear_svm",
    "logistic",
    "machine",
    "machine_cv",
    "multinomial",
    "partitions",
    "pick",
    "proved_again",
    "sgd",
    "wrapped",
]

_SECONDS = 60.0
_CV_SECONDS = 10.0  # paths have no budget of passes
_PASSES = 300  # most fits end long before; a deadline would make the end depend on the clock
_HUGE = 100.0  # machines refuse entries beyond 1e100
_PROVED = ("optimal", "separated", "epsilon")


def pick(rng: Any, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def passes(rng: Any) -> int:
    """Draw a budget of passes: few, but for one fit in thirty."""
    return _PASSES if rng.random() < 29 / 30 else 30 * _PASSES


def drawn(rng: Any, *n_classes: int, weighted: bool = True) -> Nasty:
    return nasty(rng, pick(rng, *n_classes), weighted, 300.0 if rng.random() < 0.05 else _HUGE)


def fitted(model: Any, given: Nasty, *labels: Any) -> Any:
    """Fit, and leave out of `given` the classes that the model leaves out: those of weight 0."""
    y = labels[0] if labels else given.y
    if given.weights is None:
        return model.fit(given.X, y)
    model.fit(given.X, y, given.weights)
    if not labels and len(model.classes_) < given.n_classes:
        kept = np.isin(given.codes, given.codes[given.weights > 0.0])
        given.dense, given.weights = given.dense[kept], given.weights[kept]
        given.codes = np.unique(given.codes[kept], return_inverse=True)[1]
        given.y, given.n_classes = np.asarray(y)[kept], len(model.classes_)
        given.X = given.X[kept] if hasattr(given.X, "shape") else given.dense
    return model


def proved_again(book: Book, model: Any, given: Nasty, with_weights: bool = False) -> None:
    """A proof that holds is found again; one that does not goes with a status that says so."""
    proof, status = model.certificate_, str(model.status_)
    if proof is None:
        return
    if not proof.holds:
        book.true(f"status {status} without a proof", status not in _PROVED)
        return
    more = (given.weights,) if with_weights and given.weights is not None else ()
    book.true("check refuses the honest fit", proof.check(given.X, given.y, *more) is True)


def machine(rng: Any, book: Book, model: Any, given: Nasty) -> None:
    fitted(model, given)
    of_certificate(book, model.certificate_, given)
    of_machine(book, model, given, model.tol)
    proved_again(book, model, given)
    costs_follow(book, model, given)


def costs_follow(book: Book, model: Any, given: Nasty) -> None:
    """The costs that are proved are C times the weights of the rows, to a unit of rounding."""
    proof = model.certificate_
    C = getattr(model, "C_", model.C)
    if (
        hasattr(proof, "machines")
        or np.isinf(C)
        or getattr(model, "class_weight", None) is not None
    ):
        return
    weights = np.ones(len(given.codes)) if given.weights is None else given.weights
    for c, s in zip(proof.costs, weights, strict=True):
        book.near("cost", c, exact(C) * exact(s), exact(C) * exact(s) * fmpq(1, 2**52))


def linear_svm(rng: Any, book: Book) -> None:
    given = drawn(rng, 2, 2, 3, 4)
    loss = pick(rng, "hinge", "squared_hinge")
    solvers = {
        "hinge": ("interior_point", "dual_coordinate", "gram"),
        "squared_hinge": ("newton", "dual_coordinate", "gram"),
    }
    way = pick(rng, "ovr", "ovo", "direct") if given.n_classes > 2 else "ovr"
    model = sx.LinearSVM(
        cost(rng), loss="hinge" if way == "direct" else loss,
        fit_intercept=rng.random() < 0.8, intercept_penalty=pick(rng, 0.0, 0.0, 1.0, 1e-9, 1e9),
        solver="auto" if way == "direct" or rng.random() < 0.6 else pick(rng, *solvers[loss]),
        tol=pick(rng, 1e-4, 1e-4, 1e-9), class_weight=pick(rng, None, None, None, "balanced"),
        multi_class=way, n_jobs=1, max_seconds=_SECONDS, max_passes=passes(rng),
    )  # fmt: skip
    machine(rng, book, model, given)
    lengths_follow(book, model)
    if model.loss == "hinge" and given.n_classes == 2 and model.fit_intercept and way == "ovr":
        interval_follows(book, model, given)


def interval_follows(book: Book, model: Any, given: Nasty) -> None:
    """Every bias of intercept_interval_ is as good as the one taken, to rounding."""
    proof = model.certificate_
    if proof.bias_penalty or np.isinf(proof.costs).any():
        return
    facts, w = Facts(given), vector(proof.weights[1:])
    signs, costs = [1 if y == 1 else -1 for y in facts.codes], vector(proof.costs)
    ends = [b for b in model.intercept_interval_ if np.isfinite(b)]
    objectives = [
        objective(facts.rows, signs, costs, "hinge", w, exact(b), fmpq(0))
        for b in (*ends, model.intercept_[0])
    ]
    # What rounding of scores and slopes may cost.
    room = fmpq(0)
    for row, c in zip(facts.rows, costs, strict=True):
        size = sum((abs(a * b) for a, b in zip(row, w, strict=True)), start=fmpq(1))
        room += c * (size + max(abs(exact(b)) for b in (*ends, model.intercept_[0])))
    least = min(objectives)
    room = room * fmpq(1, 2**36) + least * fmpq(1, 10**4)
    for b, value in zip(ends, objectives, strict=False):
        book.true(f"intercept_interval_ ends at {b!r}, which is worse", value - least <= room)


def lengths_follow(book: Book, model: Any) -> None:
    """margin_ is 1 / |w| to rounding; n_support_ counts the rows named."""
    if model.multi_class == "direct" and len(model.classes_) > 2:
        return
    for told, w in zip(np.ravel(model.margin_), model.coef_, strict=True):
        square = sum((exact(v) ** 2 for v in w), start=fmpq(0))
        if square:
            away = 1 / arb(square).sqrt()
            off = abs(arb(exact(told)) - away) / away if np.isfinite(told) else arb(1)
            beyond = away > arb(1e308) and np.isinf(told)
            book.true(
                f"margin_ {told!r} is not 1 / |w| = {away.str(12)}", bool(off < 1e-12) or beyond
            )
    book.true("n_support_", int(model.n_support_.sum()) == len(model.support_))


def logistic(rng: Any, book: Book) -> None:
    given = drawn(rng, 2, 2, 3)
    way = pick(rng, "ovr", "ovo") if given.n_classes > 2 else "ovr"
    model = sx.LogisticRegression(
        cost(rng), fit_intercept=rng.random() < 0.8, multi_class=way,
        intercept_penalty=pick(rng, 0.0, 0.0, 1.0, 1e-9, 1e9), tol=pick(rng, 1e-4, 1e-4, 1e-9),
        solver=pick(rng, "auto", "auto", "newton", "gram"), n_jobs=1, max_seconds=_SECONDS,
        max_passes=passes(rng),
    )  # fmt: skip
    machine(rng, book, model, given)


def multinomial(rng: Any, book: Book) -> None:
    given = drawn(rng, 2, 3, 3, 4)
    model = sx.LogisticRegression(
        cost(rng, 0.0), multi_class="multinomial", fit_intercept=rng.random() < 0.8,
        intercept_penalty=pick(rng, 0.0, 0.0, 1.0, 1e-9, 1e9), tol=pick(rng, 1e-4, 1e-4, 1e-9),
        n_jobs=1, max_seconds=_SECONDS, max_passes=passes(rng),
    )  # fmt: skip
    machine(rng, book, model, given)


def product(A: Any, B: Any) -> np.ndarray:
    """The kernel of the first column alone, as a Python function."""
    first, second = (M[:, [0]].toarray() if hasattr(M, "toarray") else M[:, :1] for M in (A, B))
    return np.asarray(first, dtype=float) @ np.asarray(second, dtype=float).T


def kernel_settings(rng: Any, given: Nasty) -> tuple[Nasty, dict[str, Any]]:
    name = pick(rng, "rbf", "rbf", "linear", "poly", "sigmoid", "precomputed", product)
    if name == "precomputed":
        half = given.dense / max(float(abs(given.dense).max()), 1e-150)
        values = half @ half.T * 10.0 ** rng.uniform(-50, 50)
        values = np.tril(values) + np.tril(values, -1).T
        given = Nasty(
            values, given.y, given.weights, values, given.codes, given.n_classes, "values"
        )
    gamma = pick(rng, "scale", "auto", float(10.0 ** rng.uniform(-12, 12)), 1.0)
    degree, coef0 = int(rng.integers(1, 5)), float(pick(rng, 0.0, 1.0, 1e-6, -0.5, 1e6))
    return given, {"kernel": name, "gamma": gamma, "degree": degree, "coef0": coef0}


def kernel_svm(rng: Any, book: Book) -> None:
    given, settings = kernel_settings(rng, drawn(rng, 2, 2, 3))
    way = pick(rng, "ovo", "ovr", "direct")
    model = sx.KernelSVM(
        cost(rng, 0.0 if way == "direct" else 0.15), **settings, multi_class=way,
        tol=pick(rng, 1e-3, 1e-3, 1e-8), n_jobs=1, max_seconds=_SECONDS,
    )  # fmt: skip
    machine(rng, book, model, given)


def sgd(rng: Any, book: Book) -> None:
    given = drawn(rng, 2, 2, 3)
    model = sx.SGD(
        pick(rng, "hinge", "squared_hinge", "logistic", "perceptron"), C=cost(rng),
        scale=rng.random() < 0.7, average=rng.random() < 0.7, fit_intercept=rng.random() < 0.8,
    )  # fmt: skip
    fitted(model, given)
    if model.certificate_ is None:
        return
    of_certificate(book, model.certificate_, given)
    if model.gap_ is not None:
        of_machine(book, model, given, model.tol)
    proved_again(book, model, given)


def machine_cv(rng: Any, book: Book) -> None:
    given = drawn(rng, 2, 2, 3)
    settings: dict[str, Any] = {
        "Cs": [0.1, float(10.0 ** rng.uniform(-12, 12))],
        "cv": 2,
        "refine": False,
    }
    settings |= {"n_jobs": 1, "max_seconds": _CV_SECONDS, "fit_intercept": rng.random() < 0.8}
    if rng.random() < 0.5:
        model: Any = sx.LinearSVMCV(loss=pick(rng, "hinge", "squared_hinge"), **settings)
    else:
        model = sx.LogisticRegressionCV(**settings)
    fitted(model, given)
    of_certificate(book, model.certificate_, given)
    of_machine(book, model, given, model.tol)
    proved_again(book, model, given)


def kernel_cv(rng: Any, book: Book) -> None:
    given = drawn(rng, 2, 2, 3, weighted=False)
    model = sx.KernelSVMCV(
        Cs=[0.1, float(10.0 ** rng.uniform(-12, 12))], gammas=["scale", 1.0], cv=2, n_jobs=1,
        kernel=pick(rng, "rbf", "poly", "linear"), max_seconds=_CV_SECONDS,
    )  # fmt: skip
    fitted(model, given)
    of_certificate(book, model.certificate_, given)
    of_machine(book, model, given, model.tol)
    proved_again(book, model, given)


def wrapped(rng: Any, book: Book) -> None:
    given = drawn(rng, 3)
    one = pick(
        rng, sx.LinearSVM(cost(rng), n_jobs=1, max_passes=passes(rng)), sx.Kozinec(max_updates=500)
    )
    wrapper = pick(rng, sx.OneVsRest, sx.OneVsOne)(one, n_jobs=1)
    if isinstance(one, sx.Kozinec):
        given = Nasty(given.X, given.y, None, given.dense, given.codes, 3, given.layout)
    fitted(wrapper, given)
    if isinstance(wrapper, sx.OneVsRest):
        two = len(wrapper.estimators_) == 1  # one class is left out: the second is positive
        for k, inner in enumerate(wrapper.estimators_, start=int(two)):
            of_certificate(book, inner.certificate_, given, codes=(given.codes == k).astype(int))
    if all(proof.holds for proof in wrapper.certificates_):
        book.true("check refuses the honest fit", wrapper.check(given.X, given.y))


def partitions(rng: Any, book: Book) -> None:
    given = drawn(rng, 2, 2, 3, weighted=False)
    with tempfile.TemporaryDirectory() as folder:
        half = len(given.codes) // 2
        parts = [slice(0, half), slice(half, None)] if half else [slice(0, None)]
        for k, part in enumerate(parts):
            np.savez(Path(folder) / f"{k}.npz", X=given.dense[part], y=given.codes[part])
        rows = sx.open_partitions(folder)
        if rng.random() < 0.3 and given.n_classes == 2:
            found = sx.separability(rows)
            of_verdict(book, found, given, True)
            return
        model: Any = pick(
            rng,
            sx.LinearSVM(cost(rng), n_jobs=1, max_passes=passes(rng)),
            sx.LinearSVM(cost(rng), loss="squared_hinge", n_jobs=1, max_passes=passes(rng)),
            sx.LogisticRegression(cost(rng, 0.0), n_jobs=1, max_passes=passes(rng)),
        )
        model.fit(rows)
        of_certificate(book, model.certificate_, given)
        of_machine(book, model, given, model.tol)
        if model.certificate_.holds:
            book.true(
                "check of arrays refuses the honest fit", model.certificate_.check(given.X, given.y)
            )
            book.true("check of partitions refuses the honest fit", model.certificate_.check(rows))
