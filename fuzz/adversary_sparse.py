"""What the adversary presents of sparse weights: points, columns proved zero, and altered claims.

A point is near the optimum, as a fit finds it, or where all weights are zero and a column is at
the edge, or anywhere. Bounds are claimed without slack. Then one field of the claim is altered:
what is still accepted must be true.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

import separatrix as sx
from fuzz.adversary_gaps import Presented, fingerprint, names, shown_as
from fuzz.adversary_points import Point, balanced, costs_of_rows, data, numbers, scale
from fuzz.nasty import laid_out
from separatrix.certificates.sparse_gap import SparseGap
from separatrix.certificates.sparse_softmax_gap import SparseSoftmaxGap
from separatrix.problem.signed import as_matrix

__all__ = ["SPARSE"]

_RATIOS = (1.0, 1.0, 1.0, 0.5, 0.999999, 0.1)
_MOST = np.finfo(float).max  # infinite costs are refused by name
_TOLS = (1e-4, 1e-9, 1e-13)
_FACTORS = (1.0 + 2.0**-52, 1.0 - 2.0**-53, 2.0, 0.5, 0.0, -1.0, 1e3, 1e-3, 1.0 + 1e-6)


def drawn(rng: Any, n_classes: int) -> Point:
    """Draw rows whose numbers their layout keeps, costs, penalties and groups."""
    point = data(rng, n_classes)
    point["X"] = laid_out(np.random.default_rng(point["layout"]), point["X"])[1]
    X, codes = point["X"], point["codes"]
    n, d = X.shape
    costs = costs_of_rows(rng, n, mixed=False)
    if rng.random() < 0.7:
        costs = rng.integers(0, 4, size=n) + 0.0 if rng.random() < 0.3 else np.ones(n)
        costs[[int(np.flatnonzero(codes == k)[0]) for k in range(n_classes)]] = 1.0
    groups = np.unique(rng.integers(0, max(1, d - 1), size=d), return_inverse=True)[1]
    ratio = float(rng.choice(_RATIOS))
    return point | {
        "costs": costs, "l1": ratio, "ridge": 1.0 - ratio, "intercept": bool(rng.random() < 0.6),
        "groups": groups if rng.random() < 0.25 else np.zeros(0, dtype=np.int64),
    }  # fmt: skip


def pulls(p: Point, shares: np.ndarray) -> np.ndarray:
    """Return the sizes of sum_i a_ik x_ij over the classes, by column or by group."""
    squares = ((p["X"].T @ shares) ** 2).mean(axis=1)
    if len(p["groups"]):
        counts = np.bincount(p["groups"])
        squares = (np.bincount(p["groups"], squares) / counts)[p["groups"]]
    return np.asarray(np.sqrt(squares))


def fitted(rng: Any, p: Point, made: Any, settings: Any) -> Any:
    """Return the certificate of a fit, its cost near where the first weights are not zero."""
    groups = p["groups"] if len(p["groups"]) else None
    model = made(
        1.0, l1_ratio=p["l1"], groups=groups, fit_intercept=p["intercept"], n_jobs=1,
        tol=float(rng.choice(_TOLS)), max_passes=200, **settings,
    )  # fmt: skip
    try:
        return model.fit(p["X"], p["codes"], p["costs"]).certificate_
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        return None  # `fuzz.honest` tells of errors


def near_the_edge(rng: Any, p: Point, sizes: np.ndarray) -> None:
    """Scale the costs so that the size of a column at zero weights is about l, or so many times."""
    some = sizes[np.isfinite(sizes) & (sizes > 0.0)]
    if len(some):
        times = 10.0 ** rng.uniform(-0.1, 2.0) * p["l1"] / float(rng.choice(some))
        if 1e-200 < times < 1e200:
            p["costs"] = p["costs"] * times


def at_the_edge(rng: Any, p: Point, sizes: np.ndarray) -> None:
    """Put l at the size of a column, but for rounding or a little."""
    some = sizes[np.isfinite(sizes) & (sizes > 0.0)]
    if len(some):
        off = float(rng.choice([0.0, 2.0**-52, -(2.0**-53), 1e-12, 1e-9, 1e-5, 1e-2]))
        p["l1"] = float(rng.choice(some)) * (1.0 + off)
        p["ridge"] = 0.0 if rng.random() < 0.6 else scale(rng)


def scaled(rng: Any, p: Point, *also: str) -> Point:
    """Return the same problem in units of another size: all by a power of two, so exactly."""
    if rng.random() < 0.4:
        factor = 2.0 ** int(rng.integers(-900, 900))
        for name in ("costs", "l1", "ridge", *also):
            p[name] = p[name] * factor
    for name in ("l1", "ridge"):
        p[name] = float(np.clip(np.nan_to_num(p[name]), 0.0, 1e300))
    return p | {"costs": np.minimum(p["costs"], _MOST)}


def even(alpha: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Return multipliers on a grid, whose signed sum is 0."""
    top = float(alpha.max(initial=0.0))
    if not (np.isfinite(alpha).all() and top > 0.0 and (alpha >= 0.0).all()):
        return alpha
    shift = 50 - int(np.frexp(top)[1])
    units = np.floor(np.ldexp(alpha, shift))
    left, right = units[signs > 0.0].sum(), units[signs < 0.0].sum()
    heavier, excess = signs > 0.0 if left > right else signs < 0.0, abs(left - right)
    for i in np.argsort(-units * heavier):
        if heavier[i]:
            taken = min(units[i], excess)
            units[i], excess = units[i] - taken, excess - taken
    return np.asarray(np.ldexp(units, -shift))


class _Sparse:
    """What both kinds share: altered claims."""

    def altered(self, shown: Presented, rng: Any) -> Any:
        """Return the claim with one field altered."""
        proof = shown.proof
        named = ["zeros", "zeros", "zeros", "l1", "ridge", "share", "costs", "weights", "groups"]
        named += ["primal", "dual"] + (["multipliers", "positive"] * (proof.weights.ndim == 1))
        field = named[int(rng.integers(len(named)))]
        if field == "zeros":
            return self.more_zeros(shown, rng)
        value = getattr(proof, field)
        if field == "positive":
            return replace(proof, positive=1 - value)
        if field == "groups":
            other = [int(g) for g in rng.integers(0, 3, size=proof.n_features)]
            return replace(proof, groups=tuple(other if rng.random() < 0.8 else other[1:]))
        factor = float(rng.choice(_FACTORS))
        if isinstance(value, float):
            return replace(proof, **{field: value * factor})
        value = np.array(value)
        at: Any = ... if rng.random() < 0.2 else tuple(int(rng.integers(n)) for n in value.shape)
        value[at] *= factor
        return replace(proof, **{field: value})

    def more_zeros(self, shown: Presented, rng: Any) -> Any:
        """Return the claim with one more column, without its weight; or with another list."""
        proof, d = shown.proof, shown.given.dense.shape[1]
        zeros = set(proof.zeros.tolist())
        if rng.random() < 0.2:
            drawn = rng.integers(-1, d + 1, size=int(rng.integers(1, d + 2)))
            return replace(proof, zeros=drawn.astype(rng.choice([np.int64, np.int32, np.uint64])))
        rest = [j for j in range(d) if j not in zeros]
        if not rest:
            return proof
        j = int(rng.choice(rest))
        weights = proof.weights.copy()
        weights[..., 1 + j] = 0.0
        other = self.proved(replace(proof, weights=weights), shown)
        return replace(other, zeros=np.array(sorted({*zeros, j}), dtype=np.int64))

    def proved(self, proof: Any, shown: Presented) -> Any:
        """Return a claim of these points, with bounds but without zeros."""
        left = ("primal", "dual", "zeros", "margins", "violations", "n_rows", "share")
        points = {f.name: getattr(proof, f.name) for f in fields(proof) if f.name not in left}
        sides = shown.given.codes
        if proof.weights.ndim == 1:
            sides = np.where(sides == 1, 1.0, -1.0)
        else:
            points["share"] = proof.share
        X = as_matrix(shown.given.X)
        return type(proof).proved(X, sides, slack=0.0, find_zeros=False, **points)


class SparseTwo(_Sparse):
    """Two classes: `loss` is squared_hinge or logistic."""

    forged = ("primal", "dual")

    def __init__(self, loss: str) -> None:
        self.loss = loss

    def start(self, rng: Any) -> Point:
        p = drawn(rng, 2)
        X, codes, costs = p["X"], p["codes"], p["costs"]
        d = X.shape[1]
        signs, way = np.where(codes == 1, 1.0, -1.0), rng.random()
        p["weights"], p["alpha"] = np.zeros(d + 1), balanced(rng, signs, costs)
        with np.errstate(all="ignore"):
            if way < 0.6:
                near_the_edge(rng, p, pulls(p, (signs * p["costs"])[:, None] * 0.5))
                logistic = self.loss == "logistic"
                made: Any = sx.LogisticRegression if logistic else sx.LinearSVM
                proof = fitted(rng, p, made, {} if logistic else {"loss": self.loss})
                if proof is not None:
                    p |= {"weights": proof.weights.copy(), "alpha": proof.multipliers.copy()}
            elif way < 0.85:  # all weights zero, and the best bias or none
                mass = [costs[signs > 0.0].sum(), costs[signs < 0.0].sum()]
                share = np.where(signs > 0.0, mass[1], mass[0]) / sum(mass)
                if self.loss == "logistic":
                    p["weights"][0] = np.log(mass[0] / mass[1]) if p["intercept"] else 0.0
                    p["alpha"] = costs * (share if p["intercept"] else 0.5)
                else:
                    p["weights"][0] = (mass[0] - mass[1]) / sum(mass) * p["intercept"]
                    p["alpha"] = 2.0 * costs * (2.0 * share if p["intercept"] else 1.0)
                at_the_edge(rng, p, pulls(p, (signs * p["alpha"])[:, None]))
            else:
                p["weights"] = numbers(rng, d + 1) / max(abs(X).max(), 1e-300)
            return scaled(rng, p, "alpha")

    def claim(self, p: Point) -> Presented:
        given = shown_as(p, 2)
        signs, X = np.where(p["codes"] == 1, 1.0, -1.0), as_matrix(given.X)
        alpha = even(p["alpha"], signs) if p["intercept"] else p["alpha"]
        proof = SparseGap.proved(
            X, signs, costs=np.minimum(p["costs"], _MOST), loss=self.loss, weights=p["weights"],
            multipliers=alpha, intercept=p["intercept"], l1=abs(p["l1"]), ridge=abs(p["ridge"]),
            slack=0.0, groups=tuple(p["groups"].tolist()),
            data_sha256=fingerprint(X, p["codes"], 2, p["intercept"]),
        )  # fmt: skip
        return Presented(proof, given, ())


class SparseMany(_Sparse):
    """All classes at once."""

    forged = ("primal", "dual beside the objective")

    def start(self, rng: Any) -> Point:
        K = int(rng.integers(2, 4))
        p = drawn(rng, K)
        X, codes, costs = p["X"], p["codes"], p["costs"]
        d, way = X.shape[1], rng.random()
        p |= {"weights": np.zeros((K, d + 1)), "share": 1.0}
        masses = np.bincount(codes, costs, minlength=K)
        with np.errstate(all="ignore"):
            shares = masses / masses.sum() if p["intercept"] else np.full(K, 1.0 / K)
            sizes = pulls(p, costs[:, None] * (np.eye(K)[codes] - shares))
            if way < 0.6:
                near_the_edge(rng, p, sizes)
                proof = fitted(rng, p, sx.LogisticRegression, {"multi_class": "multinomial"})
                # A class whose rows all cost nothing has no weights in the fit.
                if proof is not None and proof.weights.shape == p["weights"].shape:
                    p |= {"weights": proof.weights.copy(), "share": float(proof.share)}
            elif way < 0.85:
                p["weights"][:, 0] = np.log(shares)
                at_the_edge(rng, p, sizes)
            else:
                p["weights"] = numbers(rng, (K, d + 1)) / max(abs(X).max(), 1e-300)
                p["share"] = float(rng.random())
            return scaled(rng, p)

    def claim(self, p: Point) -> Presented:
        K, codes = len(p["weights"]), p["codes"]
        given = shown_as(p, K)
        X = as_matrix(given.X)
        proof = SparseSoftmaxGap.proved(
            X, codes, costs=np.minimum(p["costs"], _MOST), weights=p["weights"],
            intercept=p["intercept"], l1=abs(p["l1"]), ridge=abs(p["ridge"]), slack=0.0,
            share=min(1.0, abs(p["share"])),
            groups=tuple(p["groups"].tolist()), classes=names(K),
            data_sha256=fingerprint(X, codes, K, p["intercept"]),
        )  # fmt: skip
        return Presented(proof, given, ())


SPARSE: dict[str, Any] = {
    "sparse-logistic": SparseTwo("logistic"),
    "sparse-hinge": SparseTwo("squared_hinge"),
    "sparse-softmax": SparseMany(),
}
