"""Least squares and Fisher beside the checker: by enclosures, and by a judge in rationals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat, fmpz_poly

from fuzz.exact_squares import largest_ratio, least_error, ratio, squared_error
from separatrix.certificates.fisher import FisherDirections, check_fisher
from separatrix.certificates.least_squares import SquaresBounds
from separatrix.checker.kinds import opened
from separatrix.problem.canonical import data_of, targets_of
from separatrix.problem.fingerprint import fingerprint

__all__ = ["SQUARES", "by_enclosures", "is_true"]

SQUARES = ("least-squares", "fisher", "fisher-directions")
_BITS = 400


def by_enclosures(whole: Any, X: Any, y: Any) -> bool:
    """Decide by enclosures what the checker decides by elimination in integers."""
    about, claim = opened(whole)
    classes, codes = np.unique(y, return_inverse=True)
    K, ones = len(classes), np.ones(len(X))
    if (
        about.sha256 != fingerprint(data_of(X, codes, K, True))
        or (about.rows, about.features) != X.shape
    ):
        return False
    if about.classes != [str(name) for name in classes]:
        return False
    W = np.array(claim.weights)
    if about.kind == "fisher":
        found = check_fisher(X, y, W)
        return K == 2 and found.ratio >= claim.ratio and found.bound <= claim.bound
    if about.kind == "fisher-directions":
        return FisherDirections(
            directions=np.array(claim.directions).T,
            weights=W,
            lower=tuple(claim.lower),
            upper=tuple(claim.upper),
            moved=claim.moved,
            data_sha256=about.sha256,
            n_rows=about.rows,
            n_features=about.features,
            classes=tuple(about.classes),
        ).check(X, y)
    T = targets_of(y, "classification")
    biased = about.intercept or not W[:, 0].any()
    if not biased or claim.ridge < 0.0 or W.shape != (T.shape[1], X.shape[1] + 1):
        return False
    objective, least, _, gap = SquaresBounds.prove(X, T, ones, W, claim.ridge, about.intercept)
    return objective <= claim.objective and least >= claim.least and gap <= claim.gap


def is_true(whole: Any, X: Any, y: Any) -> bool:
    """Judge a claim in rationals, by neither the checker's code nor the library's."""
    about, claim = opened(whole)
    rows = [[_exact(v) for v in row] for row in X.tolist()]
    classes, codes = np.unique(y, return_inverse=True)
    if about.kind == "least-squares":
        W = [[_exact(v) for v in w] for w in claim.weights]
        T = [[_exact(v) for v in t] for t in targets_of(y, "classification").tolist()]
        ones, ridge = [fmpq(1)] * len(rows), _exact(claim.ridge)
        found = squared_error(rows, T, ones, [w[1:] for w in W], [w[0] for w in W], ridge)
        least = least_error(rows, T, ones, ridge, about.intercept)
        return bool(
            found <= _exact(claim.objective)
            and least >= _exact(claim.least)
            and found - least <= _exact(claim.gap) * found
        )
    if about.kind == "fisher":
        w, ones = [_exact(v) for v in claim.weights], [fmpq(1)] * len(rows)
        sides = codes.tolist()
        own, most = ratio(rows, sides, ones, w), largest_ratio(rows, sides, ones)
        return bool(own >= _exact(claim.ratio) and most <= _exact(claim.bound))
    ratios = _ratios(rows, codes.tolist(), len(classes))
    return all(
        arb(_exact(low)) <= found and found <= arb(_exact(high))
        for low, found, high in zip(claim.lower, ratios, claim.upper, strict=False)
    )


def _exact(value: float) -> fmpq:
    return fmpq(*value.as_integer_ratio())


def _ratios(rows: Any, codes: list[int], K: int) -> list[Any]:
    """Return the ratios of scatters as balls, the largest first."""
    ctx.prec = _BITS
    d = len(rows[0])

    def mean(chosen: list[Any]) -> list[Any]:
        return [sum((row[j] for row in chosen), fmpq(0)) / len(chosen) for j in range(d)]

    whole, within, between = mean(rows), fmpq_mat(d, d), fmpq_mat(d, d)
    for k in range(K):
        own = [row for row, code in zip(rows, codes, strict=True) if code == k]
        centre = mean(own)
        for row in own:
            away = fmpq_mat(d, 1, [a - b for a, b in zip(row, centre, strict=True)])
            within += away * away.transpose()
        away = fmpq_mat(d, 1, [a - b for a, b in zip(centre, whole, strict=True)])
        between += away * away.transpose() * len(own)
    found = []
    for factor, times in (within.inv() * between).charpoly().factor()[1]:
        bottom = math.lcm(*(int(c.q) for c in factor.coeffs()))
        polynomial = fmpz_poly([int(c * bottom) for c in factor.coeffs()])
        found += [root.real for root, _ in polynomial.complex_roots()] * times
    return sorted(found, key=lambda ball: -float(ball.mid()))
