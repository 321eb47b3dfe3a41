"""What the adversary presents by two bounds: points, and the claims the library makes of them.

Each kind draws a point and calls the library with it; nothing is judged here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from fuzz.adversary_points import (
    Point,
    balanced,
    cancelling,
    costs_of_rows,
    data,
    in_proportion,
    near_one,
    numbers,
    of_penalty,
    opposite,
    scale,
)
from fuzz.nasty import Nasty, laid_out
from separatrix.certificates.duality_gap import DualityGap, ScaledGap
from separatrix.certificates.fisher import check_fisher
from separatrix.certificates.kernel_gap import (
    KernelGap,
    KernelMulticlassGap,
    least_eigenvalue,
    shares_of,
)
from separatrix.certificates.kernel_scores import KernelRowsInProof, kernel_scores
from separatrix.certificates.least_squares import check_least_squares
from separatrix.certificates.multiclass_gap import MulticlassGap
from separatrix.certificates.separation import check_margin_bounds
from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.problem.canonical import data_of, problem_from
from separatrix.problem.equilibrate import divided_columns
from separatrix.problem.fingerprint import fingerprint as of_problem
from separatrix.problem.kernels import Kernel
from separatrix.problem.signed import as_matrix

__all__ = ["GAPS", "Presented", "shown_as"]


class Presented(NamedTuple):
    """A claim, the data it is about, and what `check` takes after the rows."""

    proof: Any
    given: Nasty
    beside: tuple[Any, ...]


def shown_as(point: Point, n_classes: int) -> Nasty:
    """Return the data of a point in their dtype and layout."""
    values, codes = point["X"], point["codes"]
    if point.get("kernel") == "precomputed":
        values = np.tril(values) + np.tril(values, -1).T
    X, dense, name = laid_out(np.random.default_rng(point["layout"]), values)
    if point.get("plain"):  # numbers that other layouts would round away
        X, dense, name = values, values, "float64"
    if point.get("kernel") == "precomputed":
        X = dense
    return Nasty(X, codes, None, dense, codes, n_classes, name)


def fingerprint(X: Any, codes: np.ndarray, n_classes: int, intercept: bool) -> str:
    return of_problem(data_of(X, codes, n_classes, intercept))


def names(n_classes: int) -> tuple[str, ...]:
    return tuple(map(str, range(n_classes)))


class TwoClasses:
    """A linear model of two classes: `loss` is hinge, squared_hinge or logistic."""

    forged = ("primal", "dual")

    def __init__(self, loss: str, scaled: bool = False) -> None:
        self.loss, self.scaled = loss, scaled

    def start(self, rng: Any) -> Point:
        point = data(rng)
        X, codes = point["X"], point["codes"]
        n, d = X.shape
        costs = costs_of_rows(rng, n)
        weights = np.append(numbers(rng, 1), numbers(rng, d) / max(abs(X).max(), 1e-300))
        far = self.loss == "logistic" and rng.random() < 0.4
        if far or rng.random() < 0.6:
            # The nearest row at a margin of 1 but for rounding, or where exp(-margin) vanishes.
            margin = rng.uniform(*((740.0, 760.0) if rng.random() < 0.5 else (600.0, 800.0)))
            sides = near_one(rng, X, weights, margin if far else 1.0)
            codes = codes if sides is None else sides
        elif rng.random() < 0.5:
            cancelling(rng, X, weights)
        signs = np.where(codes == 1, 1.0, -1.0)
        free, with_bias = rng.random() < 0.5, bool(rng.random() < 0.6)
        alpha = balanced(rng, signs, costs)
        if not (free and with_bias) or rng.random() < 0.05:
            alpha = np.where(np.isfinite(costs), costs, scale(rng)) * rng.random(n)
        if rng.random() < 0.1:
            alpha = np.where(rng.random(n) < 0.5, np.where(np.isfinite(costs), costs, 1.0), alpha)
        if rng.random() < 0.3:
            alpha = alpha * 2.0 ** -rng.integers(1, 60)
        if rng.random() < 0.5:
            in_proportion(point, weights, signs * alpha)
        penalty = 0.0 if free else scale(rng, 100)
        if not free and rng.random() < 0.6:
            penalty = of_penalty(rng, float(signs @ alpha), float(alpha.sum()))
        ridge = 0.0 if self.loss == "logistic" and rng.random() < (0.6 if far else 0.3) else 1.0
        if not (ridge or far) and rng.random() < 0.7:
            point["codes"] = codes
            alpha = opposite(rng, point, np.where(np.isfinite(costs), costs, 1.0) * 0.5)
            codes = point["codes"]
        if rng.random() < 0.1:  # costs whose multiples overflow, where the objective does not
            costs, weights, penalty, with_bias = np.zeros(n), np.zeros(d + 1), 0.0, False
            costs[: min(n, 2)] = rng.uniform(2e307, 8e307)
            alpha = costs * rng.uniform(0.1, 1.0)
            point["X"] = X * 2.0**-600 / max(abs(X).max(), 1e-300)
        return point | {
            "codes": codes, "costs": costs, "weights": weights, "alpha": alpha,
            "intercept": with_bias, "bias_penalty": penalty, "ridge": ridge,
            "exponents": rng.integers(-40, 40, size=d),
        }  # fmt: skip

    def claim(self, p: Point) -> Presented:
        given = shown_as(p, 2)
        signs, X = np.where(p["codes"] == 1, 1.0, -1.0), as_matrix(given.X)
        if self.scaled:
            X = _divided(X, p["exponents"])
        proof: Any = DualityGap.proved(
            X, signs, costs=p["costs"], loss=self.loss, weights=p["weights"],
            multipliers=p["alpha"], intercept=p["intercept"], bias_penalty=abs(p["bias_penalty"]),
            ridge=float(p["ridge"] != 0.0), slack=0.0,
            data_sha256=fingerprint(X, p["codes"], 2, p["intercept"]),
        )  # fmt: skip
        return Presented(ScaledGap(p["exponents"], proof) if self.scaled else proof, given, ())


def _divided(X: Any, exponents: np.ndarray) -> Any:
    """Return the columns divided by powers of two; refuse where that rounds, as `check` does."""
    divided = divided_columns(X, exponents)
    if abs(divided_columns(divided, -exponents) - X).max() > 0.0:
        raise ValueError("a quotient is rounded")
    return divided


def a_kernel(rng: Any) -> Point:
    name = ("linear", "poly", "rbf", "rbf", "sigmoid", "precomputed")[int(rng.integers(6))]
    coef0 = float(rng.choice([0.0, 1.0, 1e-6, -0.5, 1e6]))
    gamma = scale(rng, 100) if rng.random() < 0.5 else 1.0
    return {"kernel": name, "gamma": gamma, "degree": int(rng.integers(1, 5)), "coef0": coef0}


def kernel_data(rng: Any, n_classes: int) -> Point:
    """Draw rows that kernel values do not all overflow for, or the values themselves."""
    point = data(rng, n_classes) | a_kernel(rng)
    if rng.random() < 0.7:
        point["X"] = point["X"] / max(abs(point["X"]).max(), 1e-150) * 2.0 ** rng.integers(-3, 4)
    if point["kernel"] == "precomputed":
        half = point["X"] / max(abs(point["X"]).max(), 1e-150)
        values = half @ half.T * 10.0 ** rng.uniform(-50, 50)
        point["X"] = np.tril(values) + np.tril(values, -1).T
    return point


def kernel_of_point(p: Point) -> Kernel:
    gamma = min(max(abs(p["gamma"]), 1e-300), 1e300)
    return Kernel(p["kernel"], gamma, p["degree"], p["coef0"])


class KernelOfTwo:
    """A kernel model of two classes."""

    forged = ("primal", "dual", "violation")

    def start(self, rng: Any) -> Point:
        point = kernel_data(rng, 2)
        signs = np.where(point["codes"] == 1, 1.0, -1.0)
        costs = costs_of_rows(rng, len(signs))
        alpha = balanced(rng, signs, costs)
        if rng.random() < 0.1:
            alpha = alpha * (1.0 + 2.0**-52)
        point |= {"costs": costs, "alpha": alpha, "bias": float(rng.normal())}
        return self.of_two_rows(rng, point) if rng.random() < 0.3 else point

    def of_two_rows(self, rng: Any, p: Point) -> Point:
        """Return the point with dual variables of one row a class: both margins above zero.

        Some costs are infinite, and rows that stand in the way cost nothing.
        """
        i, j = (int(rng.choice(np.flatnonzero(p["codes"] == k))) for k in (0, 1))
        alpha, costs, X = np.zeros(len(p["codes"])), p["costs"].copy(), p["X"]
        if p["kernel"] == "precomputed":
            X = np.eye(len(X))
        with np.errstate(all="ignore"):
            is_given = p["kernel"] == "precomputed"
            K = np.eye(2) if is_given else kernel_of_point(p).block(X[[i, j]], X[[i, j]])
            apart = K[0, 0] - 2.0 * K[0, 1] + K[1, 1]
            alpha[[i, j]] = 2.0 / apart * float(rng.choice([1.0, 1.0, 0.5, 4.0, 1e-3]))
            bias = -0.5 * alpha[i] * float(K[1, 1] - K[0, 0])
        if not (np.isfinite([bias, *alpha]).all() and 0.0 < alpha[i] < 1e200):
            return p
        costs[:] = 0.0 if rng.random() < 0.5 else 10.0 ** rng.uniform(-12, 0) * alpha[i]
        costs[i] = costs[j] = alpha[i] * float(rng.choice([1.0, 10.0, 2.0**60]))
        way = int(rng.integers(4))
        if way < 3:  # one of the two, or both
            costs[[i, j][: way + 1] if way else [i]] = np.inf
        if way == 0:
            costs[j] = alpha[i] * 10.0 ** rng.uniform(0, 3)
        return p | {"X": X, "alpha": alpha, "costs": costs, "bias": bias}

    def claim(self, p: Point) -> Presented:
        given = shown_as(p, 2)
        signs, X, kernel = (
            np.where(p["codes"] == 1, 1.0, -1.0),
            as_matrix(given.X),
            kernel_of_point(p),
        )
        rows = KernelRowsInProof(kernel, X)
        proof = KernelGap.proved(
            kernel_scores(rows, (signs * p["alpha"])[:, None]), signs, kernel=kernel,
            costs=p["costs"], multipliers=p["alpha"], bias=p["bias"], n_features=X.shape[1],
            smallest=least_eigenvalue(rows, np.flatnonzero(p["alpha"])), slack=0.0,
            data_sha256=fingerprint(X, p["codes"], 2, True),
        )  # fmt: skip
        return Presented(proof, given, ())


class KernelOfMany:
    """The kernel model of all classes at once."""

    forged = ("primal", "dual")

    def start(self, rng: Any) -> Point:
        K = int(rng.integers(2, 4))
        point = kernel_data(rng, K)
        codes = point["codes"]
        costs = costs_of_rows(rng, len(codes), mixed=False)
        costs = np.where(np.isfinite(costs), costs, 1.0)
        return point | {
            "costs": costs, "alpha": _in_circles(rng, codes, K, costs), "biases": rng.normal(size=K)
        }  # fmt: skip

    def claim(self, p: Point) -> Presented:
        K, codes = len(p["biases"]), p["codes"]
        given, kernel = shown_as(p, K), kernel_of_point(p)
        X = as_matrix(given.X)
        rows, rivals = np.arange(len(codes)), (codes + 1) % K
        shares, values = shares_of(codes, rows, rivals, p["alpha"], K), KernelRowsInProof(kernel, X)
        proof = KernelMulticlassGap.proved(
            kernel_scores(values, shares), codes, kernel=kernel, costs=p["costs"], rows=rows,
            rivals=rivals, multipliers=p["alpha"], biases=p["biases"], n_features=X.shape[1],
            smallest=least_eigenvalue(values, np.flatnonzero(shares.any(axis=1))), slack=0.0,
            classes=names(K), data_sha256=fingerprint(X, codes, K, True),
        )  # fmt: skip
        return Presented(proof, given, ())


def _in_circles(rng: Any, codes: np.ndarray, K: int, costs: np.ndarray) -> np.ndarray:
    """Return multipliers of every row for the next class: the same sum in every class."""
    alpha = np.zeros(len(codes))
    first = [int(np.flatnonzero(codes == k)[0]) for k in range(K)]
    alpha[first] = costs[first].min() * rng.choice([1.0, 0.5, rng.random()])
    return alpha


class ManyClasses:
    """Crammer-Singer, or softmax."""

    def __init__(self, is_softmax: bool) -> None:
        self.is_softmax = is_softmax
        self.forged = ("primal", "dual beside the objective") + (() if is_softmax else ("dual",))

    def start(self, rng: Any) -> Point:
        K = int(rng.integers(2, 4))
        point = data(rng, K)
        X, codes = point["X"], point["codes"]
        costs = costs_of_rows(rng, len(codes), mixed=False)
        costs = np.where(np.isfinite(costs), costs, 1.0)
        free = rng.random() < 0.5
        circles = free or rng.random() < 0.3
        alpha = _in_circles(rng, codes, K, costs) if circles else costs * rng.random(len(codes))
        penalty = 0.0 if free else scale(rng, 100)
        weights = numbers(rng, (K, X.shape[1] + 1)) / max(abs(X).max(), 1e-300)
        if rng.random() < 0.4:
            in_proportion(point, weights[0], alpha)
        if not free and rng.random() < 0.6:
            tilts = np.bincount(codes, alpha, K) - np.bincount((codes + 1) % K, alpha, K)
            with np.errstate(all="ignore"):
                penalty = of_penalty(rng, float(np.sqrt(tilts @ tilts)), float(alpha.sum()))
        return point | {
            "costs": costs, "alpha": alpha, "intercept": bool(rng.random() < 0.6),
            "weights": weights, "bias_penalty": penalty,
            "ridge": 0.0 if self.is_softmax and rng.random() < 0.3 else 1.0,
        }  # fmt: skip

    def claim(self, p: Point) -> Presented:
        K, codes = len(p["weights"]), p["codes"]
        given = shown_as(p, K)
        X = as_matrix(given.X)
        settings = {
            "X": X, "sides": codes, "costs": p["costs"], "weights": p["weights"], "slack": 0.0,
            "classes": names(K),
            "intercept": p["intercept"], "bias_penalty": abs(p["bias_penalty"]),
            "data_sha256": fingerprint(X, codes, K, p["intercept"]),
        }  # fmt: skip
        if self.is_softmax:
            ridge = float(p["ridge"] != 0.0)
            return Presented(SoftmaxGap.proved(**settings, ridge=ridge), given, ())
        named = {"rows": np.arange(len(codes)), "rivals": (codes + 1) % K}
        proof = MulticlassGap.proved(**settings, **named, multipliers=p["alpha"])
        return Presented(proof, given, ())


class Squares:
    """Least squares, at the best weights or any."""

    forged = ("objective", "least", "gap")

    def start(self, rng: Any) -> Point:
        point = data(rng, 2)
        X = point["X"]
        n, d = X.shape
        if rng.random() < 0.4:
            X = point["X"] = 1.0 + 10.0 ** rng.uniform(-12, -3) * rng.normal(size=(n, d))
        s = 10.0 ** rng.uniform(-306, 300) * (0.1 + rng.random(n))
        t, with_bias = numbers(rng, n), bool(rng.random() < 0.8)
        weights = numbers(rng, d + 1) / max(abs(X).max(), 1e-300)
        if rng.random() < 0.7:
            weights = _best(X, t, with_bias)
        if rng.random() < 0.15:
            weights = np.zeros(d + 1)
        if rng.random() < 0.2:  # squares of a column, or of all, near the least number
            j = slice(None) if rng.random() < 0.5 else int(rng.integers(d))
            s = s / s.max() * 10.0 ** rng.uniform(-306, -100)
            size = abs(X[:, j]).max() * np.sqrt(s.max())
            if size > 0.0:
                X[:, j] *= 10.0 ** rng.uniform(-168, -155) / size
                X[:] = np.clip(np.nan_to_num(X), -1e100, 1e100)
            t = numbers(rng, n) if rng.random() < 0.5 else t
            point |= {"layout": 0, "plain": True}
        return point | {
            "t": t, "s": s if rng.random() < 0.7 else np.ones(n), "weights": weights,
            "ridge": 0.0 if rng.random() < 0.6 else scale(rng, 30), "intercept": with_bias,
        }  # fmt: skip

    def claim(self, p: Point) -> Presented:
        given, s = shown_as(p, 2), abs(p["s"])
        proof = check_least_squares(
            given.X, p["t"], p["weights"][None, 1:], p["weights"][:1], sample_weight=s,
            ridge=abs(p["ridge"]), fit_intercept=p["intercept"], task="regression",
        )  # fmt: skip
        return Presented(proof, given, (p["t"], s))


def _best(X: np.ndarray, t: np.ndarray, with_bias: bool) -> np.ndarray:
    """Return the weights of least squares as NumPy finds them."""
    A = np.column_stack([np.full(len(t), float(with_bias)), X])
    with np.errstate(all="ignore"):
        largest = abs(A).max(axis=0)
        sizes = np.where(largest > 0.0, largest, 1.0)
        try:
            return np.asarray(np.linalg.lstsq(A / sizes, t, rcond=None)[0] / sizes)
        except np.linalg.LinAlgError:
            return np.zeros(A.shape[1])


class Direction:
    """Fisher's direction, or any other."""

    forged = ("ratio", "bound")

    def start(self, rng: Any) -> Point:
        point = data(rng, 2)
        n, d = point["X"].shape
        s = 10.0 ** rng.uniform(-150, 150) * (0.1 + rng.random(n))
        weights = numbers(rng, d) / max(abs(point["X"]).max(), 1e-300)
        if rng.random() < 0.7:
            weights = _best(point["X"], point["codes"].astype(float), True)[1:]
        return point | {"s": s if rng.random() < 0.5 else np.ones(n), "weights": weights}

    def claim(self, p: Point) -> Presented:
        given, s = shown_as(p, 2), abs(p["s"])
        proof = check_fisher(given.X, p["codes"], p["weights"], s)
        return Presented(proof, replace(given, weights=s), (p["codes"], s))


class Margins:
    """Weights and a point of the hull: bounds on the largest margin, and separation itself."""

    forged = ("lower", "upper")

    def start(self, rng: Any) -> Point:
        K = int(rng.integers(2, 4))
        point = data(rng, K, 300.0)
        X, codes = point["X"], point["codes"]
        d, blocks = X.shape[1], 1 if K == 2 else K
        weights = numbers(rng, (blocks, d + 1)) / max(abs(X).max(), 1e-300)
        if K == 2 and rng.random() < 0.6:
            sides = near_one(rng, X, weights[0], 10.0 ** rng.uniform(-20, 20))
            codes = codes if sides is None else sides
        alpha = rng.random(len(codes) * (K - 1)) * scale(rng)
        alpha[rng.random(len(alpha)) < 0.3] = 0.0
        alpha[0] = 1.0
        return point | {
            "codes": codes, "weights": weights, "alpha": alpha, "classes": K,
            "intercept": bool(rng.random() < 0.7),
        }  # fmt: skip

    def claim(self, p: Point) -> Presented:
        given = shown_as(p, p["classes"])
        problem = problem_from(as_matrix(given.X), p["codes"], p["intercept"])
        proof = check_margin_bounds(problem, p["weights"].ravel(), abs(p["alpha"]))
        return Presented(proof, given, ())


GAPS: dict[str, Any] = {
    "hinge": TwoClasses("hinge"),
    "squared-hinge": TwoClasses("squared_hinge"),
    "logistic": TwoClasses("logistic"),
    "scaled": TwoClasses("hinge", scaled=True),
    "multiclass": ManyClasses(is_softmax=False),
    "softmax": ManyClasses(is_softmax=True),
    "kernel": KernelOfTwo(),
    "kernel-multiclass": KernelOfMany(),
    "least-squares": Squares(),
    "fisher": Direction(),
    "margin-bounds": Margins(),
}
