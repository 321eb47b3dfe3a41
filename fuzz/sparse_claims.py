"""What certificates of sparse weights claim, set against the exact value.

A column is proved zero at the points of the claim itself, with their exact gap, or else at an
optimum of 30 digits that nothing of the library went into. One certificate in eight of a small
problem is set beside that optimum in any case.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import ctx, fmpq

from fuzz import exact_judge as judge
from fuzz.exact_certificates import Book, Facts, at_least_zero, bounds, duality_gap
from fuzz.exact_judge import Claim, ball, exact, vector
from fuzz.exact_sparse import Dual, Posed, class_dual, objective, reaches, softmax_point, two_dual
from fuzz.exact_sparse_optimum import Optimum

__all__ = ["posed_of", "sparse_gap", "sparse_softmax_gap", "two_gap"]

_ONE_IN = 8
_SMALL = 400  # rows times weights


def posed_of(proof: Any, facts: Facts) -> Posed:
    """Return the problem that a certificate speaks of."""
    numbers = list(proof.groups) or list(range(proof.n_features))
    groups = [[j for j, g in enumerate(numbers) if g == k] for k in sorted(set(numbers))]
    penalties = exact(proof.l1), exact(proof.ridge), groups, bool(proof.intercept)
    costs = vector(proof.costs)
    if proof.weights.ndim == 1:
        signs = [1 if y == proof.positive else -1 for y in facts.codes]
        return Posed(facts.rows, signs, costs, proof.loss, *penalties)
    return Posed(facts.rows, facts.codes, costs, "softmax", *penalties, len(proof.weights))


def sparse_gap(book: Book, proof: Any, facts: Facts, name: str = "") -> None:
    posed, W, b = posed_of(proof, facts), [vector(proof.weights[1:])], [exact(proof.weights[0])]
    b = b if posed.intercept else [fmpq(0)]
    share = fmpq(0) if np.isnan(proof.share) else exact(proof.share)
    known = bool(np.isfinite(proof.multipliers).all())
    book.true(f"{name}no multipliers, and a lower bound", known or np.isneginf(proof.dual))
    alpha = [share * exact(a) if known else fmpq(0) for a in proof.multipliers]

    @judge.kept
    def primal() -> Any:
        return objective(posed, W, b)

    def point() -> Dual | None:
        return two_dual(posed, alpha)

    def dual() -> Any:
        found = point()
        return fmpq(0) if found is None else at_least_zero(found.value)

    book.at_least(f"{name}primal", proof.primal, primal)
    book.at_most(f"{name}dual", proof.dual, dual)
    book.at_most(f"{name}dual beside the objective", proof.dual, primal)
    bounds(book, proof, name)
    _zeros(book, proof, posed, primal, point, name)


def two_gap(book: Book, proof: Any, facts: Facts, name: str = "") -> None:
    """Compare the certificate of two classes, whichever of both kinds it is."""
    (sparse_gap if hasattr(proof, "zeros") else duality_gap)(book, proof, facts, name)


def sparse_softmax_gap(book: Book, proof: Any, facts: Facts) -> None:
    posed, W = posed_of(proof, facts), [vector(w[1:]) for w in proof.weights]
    b = [exact(w[0]) if posed.intercept else fmpq(0) for w in proof.weights]

    @judge.kept
    def primal() -> Any:
        return objective(posed, W, b)

    def point() -> Dual | None:
        return class_dual(posed, softmax_point(posed, W, b, exact(proof.share)))

    def dual() -> Any:
        found = point()
        return fmpq(0) if found is None else at_least_zero(found.value)

    book.at_least("primal", proof.primal, primal)
    book.at_most("dual beside the objective", proof.dual, primal)
    # The library's point is softmax as it rounds it: where the exact one does not show that the
    # bound is true, the least objective decides.
    if Claim("dual", "<=", proof.dual, dual).verdict():
        found = Optimum(posed).primal
        book.at_most("dual beside the optimum", proof.dual, lambda: found)
    bounds(book, proof)
    _zeros(book, proof, posed, primal, point, "")


def _zeros(book: Book, proof: Any, posed: Posed, primal: Any, point: Any, name: str) -> None:
    """Compare the columns that are proved zero, and now and then all with the optimum."""
    zeros, W = proof.zeros.tolist(), np.atleast_2d(proof.weights)[:, 1:]
    book.true(f"{name}a column that is zero has a weight", not W[:, zeros].any())

    def _reach(g: int) -> Any:
        found = point()
        if found is None:
            return judge.INFINITE
        gap = ball(primal()) - ball(found.value)
        size, far = reaches(posed, gap, found)[g]
        if ctx.prec < judge.MOST_BITS and gap.rad() > abs(gap.mid()):
            return size.union(size + far)  # open: with more digits the gap is smaller
        return size + far

    best = None
    bits = int(np.float64(proof.primal).view(np.int64))
    small = len(posed.rows) * W.size <= _SMALL and np.isfinite(proof.primal)
    if small and bits % _ONE_IN == 0:
        best = Optimum(posed)
        book.at_most(f"{name}dual beside the optimum", proof.dual, lambda: best.primal)
        if best.dual is not None:
            least = best.dual.value
            book.at_least(f"{name}primal beside the optimum", proof.primal, lambda: least)
    for g, group in enumerate(posed.groups):
        claimed = [j for j in zeros if j in group]
        if not claimed:
            continue
        reach = Claim(f"{name}zero {claimed[0]}", ">=", proof.l1, lambda g=g: _reach(g))
        if not reach.verdict():
            book.compared += 1
            book.claims[reach.name] = reach
            if best is None:
                continue
        best = best or Optimum(posed)
        found = best.zero(claimed[0])
        if found is False or (found is None and reach.name not in book.claims):
            said = "is not zero" if found is False else "is not shown to be zero"
            book.true(f"{name}column {claimed[0]} {said} in every optimum", False)
        book.compared += 1
