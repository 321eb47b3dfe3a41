"""Fit estimators on nasty data and compare every number they claim with the exact value.

    python -m fuzz.honest --fits 10000 [--seed N]

Scales from 1e-300 to 1e300, C from 1e-12 to 1e12, few rows, copied and constant columns, weights of
zero, hard margins. A certificate must be true of the exact objective (fractions, and 300 bits for
exp and log), and its own `check` must find it again. Prints counts; exits with 1 on a false number.
A fit that refuses its data in words is counted, and is no fault.
"""

import argparse
import sys
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np

import separatrix as sx
from fuzz import judges


def nasty(rng):
    n, d = int(rng.integers(4, 14)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X = np.rint(X * 3.0)
    if rng.random() < 0.2:
        X[:, -1] = X[:, 0]
    if rng.random() < 0.2:
        X[:, 0] = X[0, 0]
    reach = 300 if rng.random() < 0.2 else 9
    X = X * 10.0 ** rng.uniform(-reach, reach)
    if rng.random() < 0.3:
        X = X * 10.0 ** rng.uniform(-5, 5, size=d)
    if rng.random() < 0.2:
        X = X + 10.0 ** rng.uniform(0, 8) * abs(X).max()
    y = np.arange(n) % 2
    if rng.random() < 0.5:
        y = (X[:, 0] > np.median(X[:, 0])).astype(int)
        y[:2] = [0, 1]
    return np.clip(np.nan_to_num(X), -1e300, 1e300), y


def two_classes(rng, X, y):
    C = 10.0 ** rng.uniform(-12, 12)
    settings = {"fit_intercept": bool(rng.random() < 0.7), "max_seconds": 3.0}
    settings["intercept_penalty"] = float(rng.choice([0.0, 1.0]))
    loss = str(rng.choice(["hinge", "squared_hinge", "logistic"]))
    weights = rng.integers(0, 4, size=len(y)).astype(float) if rng.random() < 0.3 else None
    if weights is not None:
        weights[:2] = 1.0
    if loss == "logistic":
        machine = sx.LogisticRegression(C, **settings)
    else:
        C = np.inf if rng.random() < 0.1 else C
        machine = sx.LinearSVM(C, loss=loss, **settings)
    machine.fit(X, y, weights)
    proof = machine.certificate_
    exact = judges.linear(X, np.where(y == 1, 1.0, -1.0), proof.costs, loss, proof.weights,
                          proof.multipliers, proof.bias_penalty, proof.intercept)  # fmt: skip
    return proof, exact, proof.check(X, y)


def kernel_machine(rng, X, y):
    kernel = str(rng.choice(["linear", "rbf", "poly"]))
    machine = sx.KernelSVM(10.0 ** rng.uniform(-6, 6), kernel=kernel, max_seconds=3.0).fit(X, y)
    proof = machine.certificate_
    if not np.isfinite(proof.kernel.gamma):
        return proof, (None, None), False
    exact = judges.kernel(X, proof.kernel, np.where(y == 1, 1.0, -1.0), proof.costs,
                          proof.multipliers, proof.bias)  # fmt: skip
    return proof, exact, proof.check(X, y)


def direct(rng, X, y):
    y = np.arange(len(y)) % 3
    machine = sx.LinearSVM(10.0 ** rng.uniform(-6, 6), multi_class="direct", max_seconds=3.0)
    proof = machine.fit(X, y).certificate_
    named = proof.rows, proof.rivals, proof.multipliers
    exact = judges.multiclass(X, y, proof.costs, proof.weights, named, proof.bias_penalty,
                              proof.intercept)  # fmt: skip
    return proof, exact, proof.check(X, y)


def multinomial(rng, X, y):
    y = np.arange(len(y)) % 3
    machine = sx.LogisticRegression(
        10.0 ** rng.uniform(-6, 6), multi_class="multinomial", max_seconds=3.0
    )
    proof = machine.fit(X, y).certificate_
    exact = judges.softmax(X, y, proof.costs, proof.weights, proof.bias_penalty, proof.intercept)
    return proof, exact, proof.check(X, y)


class Both:
    def __init__(self, primal, dual):
        self.primal, self.dual = primal, dual


def squares(rng, X, y):
    s = 10.0 ** rng.uniform(-300, 300) * (0.1 + rng.random(len(y)))
    proof = sx.LeastSquares().fit(X, y, s).certificate_
    w = np.array(proof.weights)[0]
    exact = judges.least_squares(X, np.where(y == 1, 1.0, -1.0), s, w[1:], w[0])
    return Both(proof.objective, proof.least), exact, proof.check(X, y, s)


KINDS = {
    "two classes": two_classes,
    "kernel": kernel_machine,
    "direct": direct,
    "multinomial": multinomial,
    "least squares": squares,
}


def fault(kind, seed):
    """What is false about one honest fit, or how it went."""
    rng = np.random.default_rng(seed)
    X, y = nasty(rng)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            proof, (primal, dual), found = KINDS[kind](rng, X, y)
    except ValueError as refused:
        return "", f"refused: {type(refused).__name__}"
    if np.isfinite(proof.primal) and (primal is None or Fraction(float(proof.primal)) < primal):
        return f"primal {proof.primal!r}, exactly {primal and float(primal)!r}", "false"
    if np.isfinite(proof.dual) and dual is not None and Fraction(float(proof.dual)) > dual:
        return f"dual {proof.dual!r}, exactly {float(dual)!r}", "false"
    if np.isfinite([proof.primal, proof.dual]).all():
        if not found:
            return "its own check does not find it again", "false"
        return "", "proved"
    return "", "no finite bound"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=1_000)
    parser.add_argument("--kind", choices=sorted(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    kinds, false = [told.kind] if told.kind else list(KINDS), 0
    for kind in kinds:
        counts = Counter()
        for seed in range(told.seed, told.seed + max(1, told.fits // len(kinds))):
            words, how = fault(kind, seed)
            counts[how] += 1
            if words:
                false += 1
                print(f"FALSE {kind}, seed {seed}: {words}", flush=True)
        print(f"{kind}: {dict(counts)}", flush=True)
    sys.exit(1 if false else 0)


if __name__ == "__main__":
    main()
