"""Every number that a fitted estimator or its certificate claims, set against the exact value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb

from fuzz import exact_halfspaces as halfspaces
from fuzz.exact_certificates import (
    Book,
    Facts,
    fewest_errors,
    fisher,
    kernel_gap,
    kernel_multiclass_gap,
    margin_bounds,
    multiclass_gap,
    partition,
    separation,
    signed_rows,
    softmax_gap,
)
from fuzz.exact_judge import exact, vector
from fuzz.kernel_claims import kernel_overlap, kernel_separation
from fuzz.nasty import Nasty
from fuzz.scatter_claims import directions, gaussian_estimates
from fuzz.sparse_claims import sparse_softmax_gap, two_gap

__all__ = ["of_certificate", "of_machine", "of_verdict"]


def of_certificate(
    book: Book, proof: Any, given: Nasty, weights: Any = None, codes: Any = None
) -> None:
    """Compare a certificate of any kind; `weights` are those of the rows, None for ones."""
    facts = Facts(given, codes=codes)
    kind, K = type(proof).__name__, len(set(facts.codes))
    s = np.ones(len(facts.rows)) if weights is None else weights
    if kind == "DualityGaps" or kind == "KernelGaps":
        for k, one in enumerate(proof.machines):
            (two_gap if kind == "DualityGaps" else kernel_gap)(book, one, facts, f"{k}: ")
        book.true("gap of all", proof.gap == max(one.gap for one in proof.machines))
    elif kind == "PairGaps":
        for (low, high), one in zip(proof.pairs, proof.machines, strict=True):
            rows = np.flatnonzero(np.isin(given.codes, (low, high)))
            part = Facts(given, rows, (given.codes[rows] == high).astype(int).tolist())
            two_gap(book, one, part, f"{low}-{high}: ")
    elif kind == "ScaledGap":
        for k, one in enumerate(proof.machines):
            two_gap(book, one, facts.divided(proof.exponents), f"{k}: ")
    elif kind in _PLAIN:
        _PLAIN[kind](book, proof, facts)
    elif kind in ("Separation", "MarginBounds"):
        (separation if kind == "Separation" else margin_bounds)(book, proof, facts, K)
    elif kind == "FewestErrors":
        fewest_errors(book, proof, facts, s)
    elif kind == "FisherDirection":
        fisher(book, proof, facts, s)
    elif kind == "FisherDirections":
        directions(book, proof, facts, s)
    elif kind == "GaussianEstimates":
        gaussian_estimates(book, proof, facts, s)
    elif kind == "Partition":
        partition(book, proof, facts)
    else:
        assert kind in ("LeastSquaresOptimality",), f"no judge for {kind}"


_PLAIN: dict[str, Callable[..., None]] = {
    "DualityGap": two_gap,
    "SparseGap": two_gap,
    "SparseSoftmaxGap": sparse_softmax_gap,
    "MulticlassGap": multiclass_gap,
    "SoftmaxGap": softmax_gap,
    "KernelGap": kernel_gap,
    "KernelMulticlassGap": kernel_multiclass_gap,
    "KernelSeparation": kernel_separation,
    "KernelOverlap": kernel_overlap,
}


def of_machine(book: Book, model: Any, given: Nasty, tol: float | None) -> None:
    """Compare what the estimator repeats of its certificate, and what it says beside it."""
    proof, status = model.certificate_, str(model.status_)
    machines = getattr(proof, "machines", (proof,))
    if hasattr(model, "gap_") and model.gap_ is not None:
        book.true(f"gap_ {model.gap_!r} is not {proof.gap!r}", same(model.gap_, proof.gap))
        primal, dual = np.ravel(model.objective_), np.ravel(model.dual_objective_)
        told = [(m.primal, m.dual) for m in machines]
        book.true(f"objective_ {primal} is not that proved", same(primal, [p for p, _ in told]))
        book.true(f"dual_objective_ {dual} is not that proved", same(dual, [d for _, d in told]))
        if status == "optimal" and tol is not None:
            book.true(f"optimal with a gap of {proof.gap}, asked {tol}", proof.gap <= tol)
    if hasattr(proof, "exponents"):
        return
    if hasattr(machines[0], "weights") and hasattr(model, "coef_") and hasattr(model, "gap_"):
        stated = np.array([np.atleast_2d(m.weights) for m in machines]).reshape(
            -1, given.dense.shape[1] + 1
        )
        if len(stated) == 2 == given.n_classes:  # told apart by the difference
            stated = stated[1:] - stated[:1]
        own = np.atleast_2d(model.coef_)
        book.true("coef_ is not what is proved", same(own, stated[:, 1:]))
        if machines[0].intercept:
            book.true(
                "intercept_ is not what is proved", same(np.ravel(model.intercept_), stated[:, 0])
            )


def same(a: Any, b: Any) -> bool:
    return np.array_equal(np.asarray(a, dtype=float), np.asarray(b, dtype=float), equal_nan=True)


def of_verdict(book: Book, verdict: Any, given: Nasty, intercept: bool) -> None:
    """Compare kind, boundary, witness, coefficients that run, and the hyperplane of a verdict."""
    facts = Facts(given)
    z = signed_rows(facts, 2, intercept)
    kind, tight = halfspaces.verdict(z)
    if verdict.kind == "undecided":
        return
    book.true(f"kind {verdict.kind}, which is {kind}", verdict.kind == kind)
    if kind == "quasi-separable":
        book.true(
            f"boundary {verdict.boundary.tolist()}, not {tight}", verdict.boundary.tolist() == tight
        )
    if kind != "separable":
        rows, multipliers = verdict.witness.rows, verdict.witness.multipliers
        book.true("witness", halfspaces.is_cancelled([z[i] for i in rows], multipliers))
        book.true("witness of too many rows", len(rows) <= len(z[0]) + 1)
    if kind == "separable" and type(verdict.certificate).__name__ == "Separation":
        w = [exact(verdict.intercept), *vector(verdict.weights)]
        book.true("weights do not separate", halfspaces.separates(z, w))
        if verdict.margin is not None:
            least, square = min(halfspaces.dot(row, w) for row in z), halfspaces.dot(w[1:], w[1:])
            away = arb(least) / arb(square).sqrt()
            book.at_most("margin", verdict.margin, lambda: away)
            book.at_least("largest margin", verdict.margin_bounds[1], lambda: away)
    if verdict.infinite is None:
        return
    if not intercept:
        book.true("an intercept that is not there runs", verdict.infinite[0] == 0.0)
        z, infinite = [row[1:] for row in z], verdict.infinite[1:].tolist()
    else:
        infinite = verdict.infinite.tolist()
    book.true(f"infinite {infinite}", halfspaces.infinite_is_possible(z, tight, infinite))
