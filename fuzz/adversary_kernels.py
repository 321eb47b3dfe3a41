"""What the adversary presents of kernel rules, and of several models under one certificate.

Functions of a kernel have a row at the boundary but for rounding; points of hulls are those of two
rows, of equal rows, or any. A list of models has one of them exchanged, left out or named anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fuzz.adversary_gaps import (
    KernelOfTwo,
    Presented,
    TwoClasses,
    fingerprint,
    kernel_data,
    kernel_of_point,
    names,
    shown_as,
)
from fuzz.adversary_points import Point, balanced, numbers, scale
from fuzz.exact_certificates import Book
from fuzz.honest_claims import of_certificate
from separatrix.certificates.duality_gap import DualityGap, DualityGaps, PairGaps
from separatrix.certificates.kernel_gap import KernelGap, KernelGaps, least_eigenvalue
from separatrix.certificates.kernel_scores import KernelRowsInProof, kernel_scores
from separatrix.certificates.kernel_separation import (
    KernelOverlap,
    KernelSeparation,
    prove_kernel_separation,
)
from separatrix.problem.canonical import signs_of
from separatrix.problem.signed import as_matrix

__all__ = ["KERNELS", "SEVERAL"]

_WAYS = ("", "exchange", "drop", "twice", "number", "gap")


def values(p: Point) -> np.ndarray:
    """Return about the kernel values of a point."""
    X = p["X"]
    if p["kernel"] == "precomputed":
        return np.tril(X) + np.tril(X, -1).T
    with np.errstate(all="ignore"):
        return np.asarray(kernel_of_point(p).block(X, X))


class Separating:
    """A function of a kernel: how many rows are right, and both bounds on the margin."""

    forged = ("right", "lower", "upper")

    def start(self, rng: Any) -> Point:
        point = kernel_data(rng, 2)
        signs = np.where(point["codes"] == 1, 1.0, -1.0)
        shares = abs(numbers(rng, len(signs)))
        shares[rng.random(len(signs)) < 0.4] = 0.0
        shares = shares * (signs if rng.random() < 0.8 else rng.choice([-1.0, 1.0], len(signs)))
        bias = float(numbers(rng, ()))
        with np.errstate(all="ignore"):
            scores = values(point) @ shares
            way = rng.random()
            if way < 0.4 and np.isfinite(scores).all():
                # One row at the boundary, but for rounding.
                bias = -float(scores[rng.integers(len(scores))])
            if way < 0.2 and np.isfinite(scores).all():
                sides = scores + bias > 0.0
                if len(set(sides.tolist())) == 2:
                    point["codes"] = sides.astype(int)
                    shares = abs(shares) * np.where(sides, 1.0, -1.0)
        return point | {"shares": shares, "bias": bias}

    def claim(self, p: Point) -> Presented:
        given, X = shown_as(p, 2), as_matrix(shown_as(p, 2).X)
        claim = KernelSeparation(
            kernel=kernel_of_point(p), shares=p["shares"], bias=p["bias"], n_rows=X.shape[0],
            n_features=X.shape[1], data_sha256=fingerprint(X, p["codes"], 2, True),
        )  # fmt: skip
        return Presented(prove_kernel_separation(claim, X, p["codes"], wider=0.0), given, ())


class Overlapping:
    """Two points of the hulls: no margin is above half their distance."""

    forged = ("margin",)

    def start(self, rng: Any) -> Point:
        point = kernel_data(rng, 2)
        n = len(point["codes"])
        if rng.random() < 0.3 and point["kernel"] != "precomputed":  # equal rows of both classes
            point["X"][rng.integers(n)] = point["X"][rng.integers(n)]
        signs = np.where(point["codes"] == 1, 1.0, -1.0)
        alpha = balanced(rng, signs, np.full(n, scale(rng)))
        if rng.random() < 0.4:  # one row of each
            alpha = np.zeros(n)
            for k in (0, 1):
                alpha[int(rng.choice(np.flatnonzero(point["codes"] == k)))] = 1.0
        if rng.random() < 0.1:
            alpha = alpha * (1.0 + rng.random(n) * 2.0**-40)
        return point | {"alpha": alpha}

    def claim(self, p: Point) -> Presented:
        given = shown_as(p, 2)
        X, alpha = as_matrix(given.X), abs(p["alpha"])
        used = np.flatnonzero(alpha)
        claim = KernelOverlap(
            kernel=kernel_of_point(p), rows=tuple(used.tolist()), n_rows=X.shape[0],
            multipliers=tuple(alpha[used].tolist()), n_features=X.shape[1],
            data_sha256=fingerprint(X, p["codes"], 2, True),
        )  # fmt: skip
        margin, length = claim._found(X, p["codes"], 1.0)
        return Presented(replace(claim, margin=margin, length=length), given, ())


class Several:
    """One certificate a model, of three classes: each against the rest, or pairs."""

    def __init__(self) -> None:
        self.two, self.kernel = TwoClasses("hinge"), KernelOfTwo()

    def start(self, rng: Any) -> Point:
        kind = str(rng.choice(["rest", "pairs", "kernel-rest", "kernel-pairs"]))
        while True:
            is_kernel = kind.startswith("kernel")
            p = (self.kernel if is_kernel else self.two).start(rng)
            n = len(p["codes"])
            if n >= 4:
                break
        codes = np.concatenate([np.arange(3), rng.integers(3, size=n - 3)])
        p["codes"] = codes
        p["costs"] = np.where(np.isfinite(p["costs"]) & (p["costs"] > 0.0), p["costs"], 1.0)
        p["costs"] = np.full(n, min(float(p["costs"][0]), 1e150))
        return self.moved(p | {"several": kind}, rng)

    def moved(self, p: Point, rng: Any) -> Point:
        """Return the point with another way to change its list."""
        return p | {"way": str(rng.choice(_WAYS)), "at": int(rng.integers(3))}

    def claim(self, p: Point) -> Presented:
        given = shown_as(p, 3)
        X, codes, kind = as_matrix(given.X), p["codes"], p["several"]
        pairs = [(0, 1), (0, 2), (1, 2)]
        if kind == "rest":
            found: Any = DualityGaps(tuple(self.linear(p, X, codes, k) for k in range(3)))
        elif kind == "pairs":
            parts = []
            for a, b in pairs:
                rows = np.flatnonzero((codes == a) | (codes == b))
                parts.append(self.linear(p, X[rows], (codes[rows] == b).astype(int), None, rows))
            found = PairGaps(tuple(parts), tuple(pairs))
        else:
            sides = [(k, -1) for k in range(3)] if "rest" in kind else [(b, a) for a, b in pairs]
            found = KernelGaps(tuple(self.by_kernel(p, X, codes, *side) for side in sides))
        return Presented(self.changed(found, p), given, ())

    def linear(self, p: Point, X: Any, codes: Any, k: Any, rows: Any = slice(None)) -> Any:
        signs = np.where(codes == (1 if k is None else k), 1.0, -1.0)
        costs, K = p["costs"][rows], 2 if k is None else 3
        weights = np.roll(p["weights"], 0 if k is None else k) * (1.0 if k is None else 1.0 + k)
        return DualityGap.proved(
            X, signs, costs=costs, loss="hinge", weights=np.clip(weights, -1e140, 1e140),
            multipliers=np.zeros(len(signs)), intercept=p["intercept"],
            bias_penalty=0.0, slack=0.0, positive=1 if k is None else k, classes=names(K),
            data_sha256=fingerprint(X, codes, K, p["intercept"]),
        )  # fmt: skip

    def by_kernel(self, p: Point, X: Any, codes: Any, positive: int, negative: int) -> Any:
        signs, kernel = signs_of(codes, positive, negative), kernel_of_point(p)
        costs = np.where(signs == 0.0, 0.0, p["costs"])
        alpha = np.zeros(len(signs))
        for side in (1.0, -1.0):
            alpha[int(np.flatnonzero(signs == side)[0])] = costs.max() / 2.0
        rows = KernelRowsInProof(kernel, X)
        return KernelGap.proved(
            kernel_scores(rows, (signs * alpha)[:, None]), signs, kernel=kernel, costs=costs,
            multipliers=alpha, bias=p["bias"], n_features=X.shape[1], slack=0.0, classes=names(3),
            smallest=least_eigenvalue(rows, np.flatnonzero(alpha)), positive=positive,
            negative=negative, data_sha256=fingerprint(X, codes, 3, True),
        )  # fmt: skip

    def changed(self, found: Any, p: Point) -> Any:
        """Return the list with one model exchanged, left out, twice there or named anew."""
        parts, way, i = list(found.machines), p["way"], p["at"]
        j = (i + 1) % len(parts)
        if way == "exchange":
            parts[i], parts[j] = parts[j], parts[i]
        elif way == "drop":
            del parts[i]
        elif way == "twice":
            parts[i] = parts[j]
        elif way == "number":
            parts[i] = replace(parts[i], positive=parts[j].positive)
        elif way == "gap":
            parts[i] = replace(parts[i], primal=parts[i].primal * (1.0 - 1e-9))
        return replace(found, machines=tuple(parts))

    def false_if_accepted(self, proof: Any, given: Any) -> str:
        """Return what is false of a list that was accepted."""
        book, kind = Book(), type(proof).__name__
        if kind == "PairGaps":
            book.true("these are not all pairs", list(proof.pairs) == [(0, 1), (0, 2), (1, 2)])
            book.true("there are other models than pairs", len(proof.machines) == 3)
        else:
            sides = [(m.positive, getattr(m, "negative", -1)) for m in proof.machines]
            every = ([(0, -1), (1, -1), (2, -1)], [(1, 0), (2, 0), (2, 1)])
            book.true(f"models {sides} are not one a class or a pair", sides in every)
        if not book.false:
            of_certificate(book, proof, given)
        if not all(getattr(m, "is_convex", True) for m in proof.machines):
            return ""  # then no bound on an objective is claimed
        return "; ".join(book.false)

    def room(self, proof: Any, given: Any) -> float:
        """Return nothing to climb by: every way is tried at random."""
        return 0.0


KERNELS: dict[str, Any] = {"kernel-separation": Separating(), "kernel-overlap": Overlapping()}
SEVERAL: dict[str, Any] = {"several": Several()}
