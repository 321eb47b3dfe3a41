"""What certificates about means and scatters claim, set against the exact value."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from flint import arb, fmpq

from fuzz import exact_squares as squares
from fuzz.exact_certificates import Book, Facts, fisher_directions
from fuzz.exact_judge import INFINITE, dot, exact, vector

__all__ = ["directions", "gaussian_estimates", "nonnegative_squares"]

Row = Sequence[fmpq]
_LEAST_VARIANCE = exact(1e-9)


class Classes:
    """Mass, mean and scatter of every class, in columns times powers of two."""

    def __init__(self, facts: Facts, weights: Any, factors: Row | None = None) -> None:
        used = [i for i, s in enumerate(weights) if s > 0.0]
        rows, s = [facts.rows[i] for i in used], [exact(weights[i]) for i in used]
        self.varying = [j for j in range(len(rows[0])) if any(r[j] != rows[0][j] for r in rows)]
        factors = factors or [fmpq(1)] * len(self.varying)
        rows = [[r[j] * f for j, f in zip(self.varying, factors, strict=True)] for r in rows]
        codes = [facts.codes[i] for i in used]
        self.masses, self.means, self.scatters = [], [], []
        for k in sorted(set(codes)):
            own = [i for i, y in enumerate(codes) if y == k]
            self._add([rows[i] for i in own], [s[i] for i in own])
        self.mass = sum(self.masses, fmpq(0))
        d = range(len(self.varying))
        self.mean = [
            sum((m * c[j] for m, c in zip(self.masses, self.means, strict=True)), fmpq(0))
            / self.mass
            for j in d
        ]
        self.within = [[sum((S[i][j] for S in self.scatters), fmpq(0)) for j in d] for i in d]

    def _add(self, rows: Sequence[Row], s: Row) -> None:
        mass, d = sum(s, fmpq(0)), range(len(rows[0]))
        mean = [sum((w * r[j] for r, w in zip(rows, s, strict=True)), fmpq(0)) / mass for j in d]
        off = [[v - m for v, m in zip(r, mean, strict=True)] for r in rows]
        self.masses.append(mass)
        self.means.append(mean)
        self.scatters.append(
            [[sum((w * r[i] * r[j] for r, w in zip(off, s, strict=True)), fmpq(0)) for j in d]
             for i in d]
        )  # fmt: skip


def largest(values: Any) -> Any:
    """Return the largest number; infinite if one is."""
    found: Any = arb(0)
    for v in values:
        if isinstance(v, str):
            return v
        found = found.max(v if isinstance(v, arb) else arb(v))
    return found


def moved(C: Sequence[Row], away: Sequence[Row], W: Sequence[Row]) -> Any:
    """Return the largest |C w_k - a_k| in standard deviations."""
    shares = []
    for w, a in zip(W, away, strict=True):
        for j, row in enumerate(C):
            r = dot(row, w) - a[j]
            if r:
                shares.append(arb(abs(r)) / arb(row[j]).sqrt() if row[j] else INFINITE)
    return largest(shares)


def gaussian_estimates(book: Book, proof: Any, facts: Facts, weights: Any) -> None:
    """Compare the errors of means, covariances, offsets and the threshold; NaN is no claim."""
    held = proof.gaussians
    found = _shared if held.linear is not None else _each
    truths = found(proof, facts, weights)
    for name, truth in zip(("means", "covariances", "offsets"), truths, strict=True):
        claimed = getattr(proof, name)
        if claimed == claimed:
            book.at_least(name, claimed, truth)
    if proof.limit is not None and proof.threshold == proof.threshold:
        loss = [vector(row) for row in proof.loss]
        p, q = loss[1][0] - loss[0][0], loss[0][1] - loss[1][1]
        priors, limit = vector(proof.priors), exact(proof.limit)
        sound = p > 0 and q > 0 and all(v > 0 for v in priors)

        def threshold() -> Any:
            if not sound:
                return INFINITE
            return abs((arb(p) / arb(q) * arb(priors[0]) / arb(priors[1])).log() - arb(limit))

        book.at_least("threshold", proof.threshold, threshold)


def _shared(proof: Any, facts: Facts, weights: Any) -> Any:
    found, (W, b) = Classes(facts, weights), proof.gaussians.linear
    a = exact(proof.gaussians.shares[0])
    C = [
        [(v if i == j else v * (1 - a)) / found.mass for j, v in enumerate(row)]
        for i, row in enumerate(found.within)
    ]
    kept = [[exact(w[j]) for j in found.varying] for w in W]
    lost = any(w[j] for w in W for j in range(len(w)) if j not in found.varying)
    away = [[v - m for v, m in zip(own, found.mean, strict=True)] for own in found.means]

    def offsets() -> Any:
        off = []
        for w, own, offset in zip(kept, found.means, vector(b), strict=True):
            middle = [(v + m) / 2 for v, m in zip(own, found.mean, strict=True)]
            off.append(abs(-arb(len(kept)).log() - arb(dot(middle, w)) - arb(offset)))
        return largest(off)

    return (
        lambda: INFINITE if lost else moved(C, away, kept),
        lambda: fmpq(0),
        lambda: INFINITE if lost else offsets(),
    )


def _each(proof: Any, facts: Facts, weights: Any) -> Any:
    held, none = proof.gaussians, (lambda: INFINITE,) * 3
    factors = [fmpq(2) ** -int(e) for e in held.exponents]
    if list(Classes(facts, weights).varying) != held.kept.tolist():
        return none
    spreads = vector(held.spreads)
    found = Classes(facts, weights, [f / s for f, s in zip(factors, spreads, strict=True)])
    means, wrong, logs = [], [], []
    pooled = [[v / found.mass for v in row] for row in found.within]
    for k, own in enumerate(found.means):
        means += [abs(v - t) for v, t in zip(own, vector(held.means[k]), strict=True)]
        C = [[v / found.masses[k] for v in row] for row in found.scatters[k]]
        if held.variances is not None:
            stated = vector(held.variances[k])
            true = [max(row[j], _LEAST_VARIANCE) for j, row in enumerate(C)]
            wrong += [abs(t / v - 1) for t, v in zip(stated, true, strict=True)]
            logs.append((stated, k, 1))
            continue
        part = exact(held.pooled[k]) if held.pooled else fmpq(0)
        if not 0 <= part <= 1:
            return none
        C = _shrunk(C, pooled, exact(held.shares[k]), part)
        V = [vector(row) for row in held.whiteners[k]]
        d = range(len(V))
        if any(V[i][j] for i in d for j in range(i)) or not all(V[j][j] > 0 for j in d):
            return none
        columns = [[V[i][j] for i in d] for j in d]
        for i in d:
            across = [dot(row, columns[i]) for row in C]
            wrong += [abs(dot(across, columns[j]) - (i == j)) for j in d]
        logs.append(([V[j][j] for j in d], k, -2))

    def offsets() -> Any:
        off = []
        for values, k, sign in logs:
            if not all(v > 0 for v in values):
                return INFINITE
            whole = sum((arb(v).log() for v in values), arb(0)) * sign / 2
            off.append(abs(whole - arb(exact(held.log_roots[k]))))
        return largest(off)

    return (lambda: largest(means), lambda: largest(wrong), offsets)


def _shrunk(C: Any, pooled: Any, share: fmpq, part: fmpq) -> Any:
    """Return (1 - a) C + a ((1 - p) D + p P), D the diagonal of C: 1 where that is hardly there."""
    d = range(len(C))
    if not share:
        return C
    D = [C[j][j] if C[j][j] > _LEAST_VARIANCE else fmpq(1) for j in d]
    return [
        [
            (1 - share) * C[i][j]
            + share * ((1 - part) * (D[j] if i == j else 0) + part * pooled[i][j])
            for j in d
        ]
        for i in d
    ]


def directions(book: Book, proof: Any, facts: Facts, weights: Any) -> None:
    """Compare the ratios of Fisher's directions, and how far means would have to move."""
    fisher_directions(book, proof, facts, weights)
    found = Classes(facts, weights)
    C = [[v / found.mass for v in row] for row in found.within]
    kept = [[exact(w[j]) for j in found.varying] for w in proof.weights]
    lost = any(w[j] for w in proof.weights for j in range(len(w)) if j not in found.varying)
    away = [[v - m for v, m in zip(own, found.mean, strict=True)] for own in found.means]
    if proof.moved == proof.moved:
        book.at_least("moved", proof.moved, lambda: INFINITE if lost else moved(C, away, kept))


def nonnegative_squares(book: Book, proof: Any, facts: Facts, t: Row, weights: Any) -> None:
    """Compare the squared error, and the least of weights that are not below zero."""
    used = [i for i, s in enumerate(weights) if s > 0.0]
    rows, s = [facts.rows[i] for i in used], [exact(weights[i]) for i in used]
    T = [[exact(t[i])] for i in used]
    w, ridge = vector(proof.weights[0][1:]), exact(proof.ridge)
    b = exact(proof.weights[0][0]) if proof.intercept else fmpq(0)
    book.true("weights below 0 are the best", all(v >= 0 for v in w) or proof.gap >= 1.0)
    found = squares.squared_error(rows, T, s, [w], [b], ridge)
    least = least_of_nonnegative(rows, T, s, ridge, proof.intercept)
    book.at_least("objective", proof.objective, lambda: found)
    book.at_most("least", proof.least, lambda: least)
    if found:
        book.at_least("gap", proof.gap, lambda: (found - least) / found)
    values = [row[0] for row in T]
    if proof.intercept and any(v != values[0] for v in values):
        mean = sum((a * v for a, v in zip(s, values, strict=True)), fmpq(0)) / sum(s, fmpq(0))
        values = [v - mean for v in values]
    size = sum((a * v * v for a, v in zip(s, values, strict=True)), fmpq(0))
    if size:
        book.at_least("perturbation", proof.perturbation, lambda: arb(found / size).sqrt())


def least_of_nonnegative(
    rows: Sequence[Row], T: Sequence[Row], s: Row, ridge: fmpq, intercept: bool
) -> fmpq:
    """Return the least squared error of weights not below 0: over all sets of columns.

    Some best weights have columns that are independent, so these sets are enough.
    """
    d, best = len(rows[0]), None
    t = [row[0] for row in T]
    for size in range(d + 1):
        for chosen in combinations(range(d), size):
            full = [[r[j] for j in chosen] + [fmpq(1)] * intercept for r in rows]
            m = range(len(full[0]))
            normal = [
                [sum((a * r[i] * r[j] for r, a in zip(full, s, strict=True)), fmpq(0)) for j in m]
                for i in m
            ]
            for j in range(size):
                normal[j][j] += ridge
            right = [
                sum((a * r[i] * v for r, a, v in zip(full, s, t, strict=True)), fmpq(0)) for i in m
            ]
            w = squares.solved(normal, right) if full[0] else []
            if w is None or any(v < 0 for v in w[:size]):
                continue
            error = sum((a * v * v for a, v in zip(s, t, strict=True)), fmpq(0)) - dot(right, w)
            best = error if best is None else min(best, error)
    assert best is not None, "the set of no columns is one of them"
    return best
