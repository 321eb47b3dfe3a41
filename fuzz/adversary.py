"""Search for claims that are false and accepted; exact rationals and balls are the judge.

    python -m fuzz.adversary --candidates 100000 [--kind KIND] [--seed N]

Each candidate is a point of a small problem: data, costs and scales over hundreds of powers of ten,
dense or sparse (unsorted, with explicit zeros, int64 indices), float32 or float64. Its claim is
computed by the library without slack. It is false if the exact objective is above the bound from
above, or what the dual point proves is below the bound from below. The claim is then forged to
what exact arithmetic just refutes, and must not be accepted. The search climbs towards points whose
bounds leave the least room. Prints counts by kind; exits with 1 on a false claim.
"""

import argparse
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from fuzz import judges
from separatrix.certificates.canonical import data_of, sha256
from separatrix.certificates.duality_gap import DualityGap
from separatrix.certificates.kernel_gap import KernelGap
from separatrix.certificates.kernel_scores import KernelRowsInProof, kernel_scores
from separatrix.certificates.least_squares import check_least_squares
from separatrix.certificates.multiclass_gap import MulticlassGap
from separatrix.certificates.softmax_gap import SoftmaxGap
from separatrix.problem.kernels import Kernel
from separatrix.problem.signed import as_matrix

RESTART = 40  # steps of one climb


def scale(rng, reach=150):
    return 10.0 ** rng.uniform(-reach, reach) if rng.random() < 0.3 else 10.0 ** rng.uniform(-6, 6)


def numbers(rng, shape):
    values = rng.normal(size=shape)
    if rng.random() < 0.5:
        values = np.rint(values * 4.0)
    if rng.random() < 0.3:
        values = np.ldexp(values, rng.integers(-30, 30, size=shape))
    return values * scale(rng)


def layout(rng, X):
    """The same numbers in another form."""
    way = rng.integers(4)
    if way == 0:
        return X
    if way == 1:
        return np.asfortranarray(X)
    sparse = sp.csr_array(X)
    if way == 2 and sparse.nnz:
        order = np.concatenate([
            sparse.indptr[i] + rng.permutation(np.diff(sparse.indptr)[i]) for i in range(len(X))
        ]).astype(int)  # fmt: skip
        sparse = sp.csr_array(
            (sparse.data[order], sparse.indices[order].astype(np.int64), sparse.indptr), X.shape
        )
    return sparse


def labels(rng, n, K):
    codes = rng.integers(0, K, size=n)
    codes[:K] = np.arange(K)
    return codes


class TwoClasses:
    """A machine of two classes: `loss` is hinge, squared_hinge or logistic."""

    def __init__(self, loss):
        self.loss = loss

    def start(self, rng):
        n, d = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        X = numbers(rng, (n, d))
        if rng.random() < 0.2 and abs(X).max() < 1e38:
            X = X.astype(np.float32).astype(float)
        costs = np.full(n, scale(rng, 300) if rng.random() < 0.8 else rng.uniform(1e307, 1.7e308))
        if self.loss != "logistic" and rng.random() < 0.1:
            costs = np.full(n, np.inf)
        elif rng.random() < 0.3:
            costs = costs * rng.random(n)
        size = np.where(np.isfinite(costs), costs, scale(rng))
        codes = labels(rng, n, 2)
        weights = np.append(numbers(rng, 1), numbers(rng, d) / max(abs(X).max(), 1e-300))
        if rng.random() < 0.7:
            weights[0], scores = 0.0, X @ weights[1:]
            nearest = abs(scores).min()
            if np.isfinite(nearest) and nearest > 0.0 and len(set(scores > 0.0)) == 2:
                # All rows on their own side, the nearest at a margin of 1 but for rounding; or
                # where the logistic loss vanishes.
                codes = (scores > 0.0).astype(int)
                weights *= (rng.uniform(600, 800) if self.loss == "logistic" else 1.0) / nearest
        return {
            "X": X, "codes": codes, "costs": costs, "weights": weights,
            "alpha": size * rng.random(n), "intercept": bool(rng.random() < 0.5),
            "bias_penalty": float(rng.choice([0.0, scale(rng, 100)])),
        }  # fmt: skip

    def claim(self, p, rng):
        signs = np.where(p["codes"] == 1, 1.0, -1.0)
        alpha = p["alpha"]
        if p["intercept"] and p["bias_penalty"] == 0.0:
            # A row of each sign with the same multiplier: balanced without rounding.
            alpha = np.zeros(len(signs))
            pair = [int(np.flatnonzero(signs == s)[0]) for s in (-1.0, 1.0)]
            alpha[pair] = min(p["alpha"][pair].min(), p["costs"][pair].min())
        X = as_matrix(layout(rng, p["X"]))
        proof = DualityGap.proved(
            X, signs, costs=p["costs"], loss=self.loss, weights=p["weights"], multipliers=alpha,
            intercept=p["intercept"], bias_penalty=p["bias_penalty"], slack=0.0,
            data_sha256=sha256(data_of(X, p["codes"], 2, p["intercept"])),
        )  # fmt: skip
        exact = judges.linear(p["X"], signs, p["costs"], self.loss, p["weights"], alpha,
                              p["bias_penalty"], p["intercept"])  # fmt: skip
        return proof, exact, lambda claim: claim.check(X, p["codes"])


class KernelMachine:
    """A kernel machine of two classes: linear, polynomial or radial."""

    def start(self, rng):
        n, d = int(rng.integers(2, 6)), int(rng.integers(1, 3))
        name = str(rng.choice(["linear", "poly", "rbf"]))
        return {
            "X": numbers(rng, (n, d)), "codes": labels(rng, n, 2), "kernel": name,
            "gamma": scale(rng, 100), "coef0": float(rng.normal()), "degree": int(rng.integers(4)),
            "costs": np.full(n, scale(rng, 200)), "alpha": scale(rng, 100) * rng.random(n),
            "bias": float(rng.normal()),
        }  # fmt: skip

    def claim(self, p, rng):
        signs = np.where(p["codes"] == 1, 1.0, -1.0)
        kernel = Kernel(p["kernel"], p["gamma"], p["degree"] + 1, abs(p["coef0"]))
        alpha = np.zeros(len(signs))
        pair = [int(np.flatnonzero(signs == s)[0]) for s in (-1.0, 1.0)]
        alpha[pair] = min(p["alpha"][pair].min(), p["costs"][pair].min())
        X = as_matrix(layout(rng, p["X"]))
        proof = KernelGap.proved(
            kernel_scores(KernelRowsInProof(kernel, X), (signs * alpha)[:, None]), signs,
            kernel=kernel, costs=p["costs"], multipliers=alpha, bias=p["bias"],
            n_features=X.shape[1], slack=0.0, data_sha256=sha256(data_of(X, p["codes"], 2, True)),
        )  # fmt: skip
        exact = judges.kernel(p["X"], kernel, signs, p["costs"], alpha, p["bias"])
        return proof, exact, lambda claim: claim.check(X, p["codes"])


class ManyClasses:
    """Crammer-Singer, or softmax."""

    def __init__(self, is_softmax):
        self.is_softmax = is_softmax

    def start(self, rng):
        K, d = int(rng.integers(2, 4)), int(rng.integers(1, 3))
        n = K + int(rng.integers(3))
        X = numbers(rng, (n, d))
        free = self.is_softmax and rng.random() < 0.5
        return {
            "X": X, "codes": labels(rng, n, K), "costs": np.full(n, scale(rng, 250)),
            "weights": numbers(rng, (K, d + 1)) / max(abs(X).max(), 1e-300),
            "alpha": rng.random(n), "intercept": bool(rng.random() < 0.5),
            "bias_penalty": 0.0 if free else scale(rng, 100),
        }  # fmt: skip

    def claim(self, p, rng):
        X, codes, K = as_matrix(layout(rng, p["X"])), p["codes"], len(p["weights"])
        name = sha256(data_of(X, codes, K, p["intercept"]))
        settings = {"X": X, "sides": codes, "costs": p["costs"], "weights": p["weights"],
                    "intercept": p["intercept"], "bias_penalty": p["bias_penalty"],
                    "slack": 0.0, "data_sha256": name,
                    "classes": tuple(map(str, range(K)))}  # fmt: skip
        told = p["weights"], p["bias_penalty"], p["intercept"]
        if self.is_softmax:
            proof = SoftmaxGap.proved(**settings)
            exact = judges.softmax(p["X"], codes, p["costs"], *told)
        else:
            named = np.arange(len(codes)), (codes + 1) % K, p["alpha"] * p["costs"]
            proof = MulticlassGap.proved(
                **settings, rows=named[0], rivals=named[1], multipliers=named[2]
            )
            weights, *rest = told
            exact = judges.multiclass(p["X"], codes, p["costs"], weights, named, *rest)
        return proof, exact, lambda claim: claim.check(X, codes)


class Squares:
    """Least squares at any weights."""

    def start(self, rng):
        n, d = int(rng.integers(2, 7)), int(rng.integers(1, 3))
        X = numbers(rng, (n, d))
        if rng.random() < 0.5:
            X = 1.0 + 10.0 ** rng.uniform(-12, -3) * rng.normal(size=(n, d))
        return {
            "X": X, "t": numbers(rng, n),
            "s": 10.0 ** rng.uniform(-306, 300) * (0.1 + rng.random(n)),
            "weights": numbers(rng, d + 1) / max(abs(X).max(), 1e-300),
        }  # fmt: skip

    def claim(self, p, rng):
        X = layout(rng, p["X"])
        found = check_least_squares(
            X, p["t"], p["weights"][None, 1:], p["weights"][:1], sample_weight=p["s"],
            task="regression",
        )  # fmt: skip
        proof = Both(found.objective, found.least)
        told = p["X"], p["t"], p["s"], p["weights"][1:], p["weights"][0]
        return proof, judges.least_squares(*told), None


class Both:
    def __init__(self, primal, dual):
        self.primal, self.dual = primal, dual


KINDS = {
    "hinge": TwoClasses("hinge"),
    "squared-hinge": TwoClasses("squared_hinge"),
    "logistic": TwoClasses("logistic"),
    "kernel": KernelMachine(),
    "multiclass": ManyClasses(is_softmax=False),
    "softmax": ManyClasses(is_softmax=True),
    "least-squares": Squares(),
}


def moved(point, rng):
    """A point nearby: one number of it changed a little, or much."""
    other = dict(point)
    name = str(rng.choice([k for k, v in point.items() if not isinstance(v, (bool, str, int))]))
    if name == "codes":
        return other
    values = np.array(other[name], dtype=float)
    at = tuple(rng.integers(size) for size in values.shape)
    factor = rng.choice([1.0 + 2.0**-52, 1.0 - 2.0**-53, 2.0, 0.5, 1.0 + 1e-3 * rng.normal(), 10.0])
    finite = np.isfinite(values[at]) and abs(values[at]) < 1e290
    values[at] = values[at] * factor if finite else values[at]
    other[name] = float(values) if values.ndim == 0 else values
    return other


def finite(point):
    """The point without overflow, but for costs of a hard margin."""
    return {
        name: np.clip(np.nan_to_num(value), -1e300, 1e300)
        if isinstance(value, np.ndarray) and value.dtype == float and name != "costs"
        else value
        for name, value in point.items()
    }


def room(bound, exact):
    """How far a bound is from what it bounds, as a share: what the search makes small."""
    if exact is None or not np.isfinite(bound) or exact == 0:
        return 1.0
    return float(min(abs(Fraction(float(bound)) - exact) / abs(exact), 1))


def judged(kind, point, rng):
    """What is false about a claim, in words or nothing, and how much room its bounds leave."""
    with np.errstate(all="ignore"):
        proof, exact, check = KINDS[kind].claim(point, rng)
    primal, dual = exact
    if primal is not None and np.isfinite(proof.primal) and Fraction(float(proof.primal)) < primal:
        return f"primal {proof.primal!r} below {float(primal)!r}", 0.0
    if dual is None and np.isfinite(proof.dual) and proof.dual > 0.0:
        return f"dual {proof.dual!r} of a point that is not feasible", 0.0
    if dual is not None and np.isfinite(proof.dual) and Fraction(float(proof.dual)) > dual:
        return f"dual {proof.dual!r} above {float(dual)!r}", 0.0
    left = min(room(proof.primal, primal), room(proof.dual, dual))
    if check is not None and primal is not None and np.isfinite([proof.primal, proof.dual]).all():
        forged = float(primal) if primal < 2**1000 else np.inf
        while np.isfinite(forged) and Fraction(forged) >= primal:
            forged = np.nextafter(forged, -np.inf)
        if np.isfinite(forged) and check(replace(proof, primal=float(forged))):
            return f"accepted: primal {forged!r} below {float(primal)!r}", 0.0
    return "", left


def climb(kind, candidates, seed):
    """Try so many candidates of a kind; return how many false claims there were."""
    rng, false = np.random.default_rng(seed), 0
    point, best, steps = None, 1.0, 0
    for _ in range(candidates):
        if point is None or steps >= RESTART:
            with np.errstate(all="ignore"):
                tried, best, steps = KINDS[kind].start(rng), 2.0, 0
        else:
            tried = moved(point, rng)
        words, left = judged(kind, finite(tried), rng)
        steps += 1
        if words:
            false += 1
            print(f"FALSE {kind}: {words}\n  {tried}", flush=True)
        elif left <= best:
            point, best = tried, left
    return false


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=int, default=10_000)
    parser.add_argument("--kind", choices=sorted(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    kinds, total = [told.kind] if told.kind else list(KINDS), 0
    for kind in kinds:
        count = max(1, told.candidates // len(kinds))
        false = climb(kind, count, told.seed)
        total += false
        print(f"{kind}: {count} candidates, {false} false claims", flush=True)
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()
