"""What the adversary presents about means and scatters: Gaussians, directions, weights not below 0.

A point holds the data and what a model of them holds; either is moved. Claims are made without
slack.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from fuzz.adversary_gaps import Presented, Squares, fingerprint, names, shown_as
from fuzz.adversary_points import Point, data, numbers, scale
from separatrix.certificates.fisher import prove_fisher_directions
from separatrix.certificates.gaussian_estimates import GaussianEstimates, prove_gaussian_estimates
from separatrix.certificates.nonnegative_squares import check_nonnegative_squares
from separatrix.problem.signed import as_matrix
from separatrix.solvers.closed_forms.gaussian import estimate_gaussians

__all__ = ["SCATTER"]

_TRIES = 50
_HELD = ("means", "spreads", "log_roots", "variances")


def weighted_data(rng: Any, n_classes: int) -> Point:
    """Draw rows of at least two a class where there is room, and their weights."""
    point = data(rng, n_classes)
    codes = point["codes"]
    if rng.random() < 0.5:  # as most data are
        point["X"] = rng.normal(size=point["X"].shape) + codes[:, None]
        point["X"] = point["X"] * 10.0 ** rng.uniform(-6, 6, size=point["X"].shape[1])
        if rng.random() < 0.3:
            point["X"] = point["X"] + 10.0 ** rng.uniform(0, 8)
    s = np.ones(len(codes))
    if rng.random() < 0.5:
        s = 10.0 ** rng.uniform(-150, 150) * (0.1 + rng.random(len(codes)))
    return point | {"s": s}


class Gaussian:
    """The parameters of Gaussian classes: one covariance for all, or one a class."""

    forged = ("means", "covariances", "offsets", "threshold")

    def __init__(self, *covariances: str) -> None:
        self.covariances = covariances

    def start(self, rng: Any) -> Point:
        for _ in range(_TRIES):
            K = 2 if rng.random() < 0.7 else 3
            p = weighted_data(rng, K)
            kind = str(rng.choice(self.covariances))
            share: Any = rng.choice([0.0, 0.5, 1.0, float(rng.random())])
            if kind == "full" and rng.random() < 0.5:
                share = (float(share), float(rng.choice([0.0, 0.5, 1.0])))
            X = shown_as(p, K).X
            try:
                held = estimate_gaussians(as_matrix(X), p["codes"], p["s"], K, kind, share)
            except (ValueError, ArithmeticError, np.linalg.LinAlgError):
                continue
            if held.shares is None:
                continue
            loss = np.array([[0.0, 1.0], [1.0, 0.0]]) * (scale(rng) if rng.random() < 0.5 else 1.0)
            priors = np.bincount(p["codes"], p["s"]) / p["s"].sum()
            with np.errstate(all="ignore"):
                off = (loss[1, 0] - loss[0, 0]) / (loss[0, 1] - loss[1, 1])
                limit = float(np.log(off * priors[0] / priors[1]))
            p |= {"held": held, "classes": K, "loss": loss, "priors": priors}
            p["limit"] = limit if math.isfinite(limit) else 0.0
            p |= parts_of(held)
            if (
                p.get("whiteners", np.zeros(0)).size and rng.random() < 0.4
            ):  # one number of them off, by little or much
                at = tuple(int(rng.integers(size)) for size in p["whiteners"].shape)
                with np.errstate(all="ignore"):
                    off = 10.0 ** rng.uniform(-15, 0) * abs(p["whiteners"]).max()
                p["whiteners"][at] += off if at[1] <= at[2] else 0.0
            return p
        raise ValueError("no Gaussians were found")

    def claim(self, p: Point) -> Presented:
        K, s = p["classes"], abs(p["s"])
        given, held = shown_as(p, K), held_by(p)
        X = as_matrix(given.X)
        nan = math.nan
        claim = GaussianEstimates(
            gaussians=held, priors=p["priors"], loss=p["loss"],
            limit=float(p["limit"]) if K == 2 else None, means=nan, covariances=nan, offsets=nan,
            threshold=nan, n_rows=X.shape[0], n_features=X.shape[1], classes=names(K),
            data_sha256=fingerprint(X, p["codes"], K, True),
        )  # fmt: skip
        proof = prove_gaussian_estimates(claim, X, p["codes"], s, wider=1.0)
        if proof is None:
            raise ValueError("the scatter is not formed")
        return Presented(proof, replace(given, weights=s), (p["codes"], s))


def parts_of(held: Any) -> Point:
    """Return the arrays of a model, each under its name."""
    if held.linear is not None:
        return {"W": held.linear[0].copy(), "b": held.linear[1].copy()}
    parts = {name: np.array(getattr(held, name), dtype=float) for name in _HELD
             if getattr(held, name) is not None}  # fmt: skip
    return parts | ({"whiteners": np.array(held.whiteners)} if held.whiteners else {})


def held_by(p: Point) -> Any:
    """Return the model with the arrays of the point."""
    if "W" in p:
        return replace(p["held"], linear=(p["W"], p["b"]))
    parts: dict[str, Any] = {name: p[name] for name in _HELD if name in p}
    if "whiteners" in p:
        parts["whiteners"] = tuple(p["whiteners"])
    return replace(p["held"], **parts)


class Directions:
    """Fisher's directions of several classes."""

    forged = ("moved",)

    def start(self, rng: Any) -> Point:
        K = 3
        p = weighted_data(rng, K)
        with np.errstate(all="ignore"):
            directions, weights = directions_of(p["X"], p["codes"], p["s"], K)
        return p | {"directions": directions, "weights": weights, "classes": K}

    def claim(self, p: Point) -> Presented:
        K, s = p["classes"], abs(p["s"])
        given = shown_as(p, K)
        settings = (p["codes"], s, p["directions"], p["weights"], names(K))
        proof = prove_fisher_directions(as_matrix(given.X), *settings)
        if proof is None:
            raise ValueError("the scatter is not formed")
        return Presented(proof, replace(given, weights=s), (p["codes"], s))

    def altered(self, shown: Presented, rng: Any) -> Any:
        """Return the claim with a bound altered by a little or by much."""
        proof, name = shown.proof, str(rng.choice(["lower", "upper", "moved", "order"]))
        if name == "moved":
            return replace(proof, moved=proof.moved * float(rng.choice([0.5, 0.9, 0.1, 0.0])))
        if name == "order":
            return replace(proof, directions=proof.directions[:, ::-1])
        ends = list(getattr(proof, name))
        k = int(rng.integers(len(ends)))
        away = 10.0 ** rng.uniform(-15, 0)
        ends[k] *= 1.0 + away if name == "lower" else 1.0 - away
        return replace(proof, **{name: tuple(ends)})


def directions_of(
    X: np.ndarray, codes: np.ndarray, s: np.ndarray, K: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return about the best directions, and the weights of every class; any will do."""
    d, exponents = X.shape[1], np.frexp(abs(X).max(axis=0))[1]
    near, s = np.ldexp(X, -exponents), s / s.max()
    means = np.array([s[codes == k] @ near[codes == k] / s[codes == k].sum() for k in range(K)])
    away = means - s @ near / s.sum()
    rest = near - means[codes]
    C = (rest * s[:, None]).T @ rest / s.sum() + 1e-300 * np.eye(d)
    try:
        W = np.linalg.solve(C, away.T).T
    except np.linalg.LinAlgError:
        W = away
    values = np.linalg.svd(np.nan_to_num(W))[2][: min(d, K - 1)]
    clip = lambda v: np.clip(np.nan_to_num(v), -1e300, 1e300)  # noqa: E731
    return clip(np.ldexp(values, -exponents).T), clip(np.ldexp(W, -exponents))


class NonNegative(Squares):
    """Least squares whose weights are not below 0."""

    def start(self, rng: Any) -> Point:
        p = super().start(rng)
        p["weights"] = np.append(p["weights"][:1], abs(p["weights"][1:]))
        if rng.random() < 0.5:
            p["weights"][1:][rng.random(len(p["weights"]) - 1) < 0.5] = 0.0
        if rng.random() < 0.3:
            p["t"] = p["X"] @ abs(numbers(rng, p["X"].shape[1]))
        return p

    def claim(self, p: Point) -> Presented:
        given, s = shown_as(p, 2), abs(p["s"])
        proof = check_nonnegative_squares(
            given.X, p["t"], p["weights"][None, 1:], p["weights"][:1], sample_weight=s,
            ridge=abs(p["ridge"]), fit_intercept=p["intercept"], task="regression",
        )  # fmt: skip
        return Presented(proof, given, (p["t"], s))


SCATTER: dict[str, Any] = {
    "gaussian-shared": Gaussian("shared"),
    "gaussian-each": Gaussian("full", "diagonal"),
    "fisher-directions": Directions(),
    "nonnegative-squares": NonNegative(),
}
