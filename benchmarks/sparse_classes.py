"""Sparse multinomial models beside glmnet in R: the same objective to the same gap.

    min over W, b    sqrt(K) sum_j |W_j| + C sum_i (log sum_k exp z_ik - z_iy)

at 10 and 100 times the largest C at which all weights are zero; W_j are the K weights of column j.
It is glmnet's objective with type.multinomial="grouped" and lambda = sqrt(K) / (C n). Ours stops at
a proved gap. glmnet has no proof: it is run with ever smaller thresholds, and the first run whose
objective is within the gap of our proved lower bound counts, alone. It walks a path of 20 values to
its lambda, as its authors advise. CPU seconds, compile time left out.

    python -m benchmarks.sparse_classes [--sets wine,digits] [--factors 10,100] [--tol 1e-4]
"""

import argparse
import gzip
import subprocess
import warnings
from functools import partial

import numpy as np
from sklearn.datasets import load_digits, load_wine

import separatrix as sx
from benchmarks import _glmnet, _text_sets
from benchmarks._report import SHARED, header
from benchmarks.sparse_path import timed
from separatrix.core.sparse import largest_cost_of_zero_classes

FACTORS = (10.0, 100.0)
THRESHOLDS = tuple(10.0**-k for k in (7, 9, 11, 13, 15))
MOST_SECONDS = 60.0


def wine():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def clothes():
    """Fashion-MNIST, its 10,000 test images, grey from 0 to 1."""
    folder = SHARED / "fashion-mnist"
    with gzip.open(folder / "t10k-images-idx3-ubyte.gz") as file:
        X = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 784) / 255.0
    with gzip.open(folder / "t10k-labels-idx1-ubyte.gz") as file:
        return X, np.frombuffer(file.read(), np.uint8, offset=8).astype(int)


SETS = {
    "wine": wine,
    "digits": partial(load_digits, return_X_y=True),
    "clothes": clothes,
    "newsgroups": _text_sets.newsgroups_classes,
}


def objective(X, codes, C, W, b):
    """Return the objective at W (K x d) and b."""
    scores = np.asarray(X @ W.T) + b
    top = scores.max(axis=1)
    losses = top + np.log(np.exp(scores - top[:, None]).sum(axis=1))
    losses -= scores[np.arange(len(codes)), codes]
    return np.sqrt(len(W)) * np.linalg.norm(W, axis=0).sum() + C * losses.sum()


def by_glmnet(X, codes, C, start, tol, least):
    """Return the CPU seconds to the gap, or the gap reached."""
    K, n = int(codes.max()) + 1, len(codes)
    lambdas = np.sqrt(K) / (np.geomspace(start, C, 20) * n)
    reached = np.inf
    for threshold in THRESHOLDS:
        try:
            W, b, seconds = _glmnet.glmnet_grouped(X, codes, lambdas, True, threshold)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return f"not in 300 s ({reached:.0e})"
        if len(W) < len(lambdas):
            continue  # it ends a path that it takes for saturated
        value = objective(X, codes, C, W[-1], b[-1])
        reached = min(reached, (value - least) / value)
        if reached <= tol:
            return f"{seconds:.2f}"
        if seconds > MOST_SECONDS:
            break
    return f"not ({reached:.0e})"


def rows_of(name, factors, tol, has_glmnet):
    """Yield the cells of one set, a row a value of C."""
    X, y = SETS[name]()
    codes = np.unique(y, return_inverse=True)[1]
    K = int(codes.max()) + 1
    start = largest_cost_of_zero_classes(X, codes, np.ones(len(codes)), K, 1.0, True)
    for factor in factors:
        C = factor * start
        fit = sx.LogisticRegression(C, l1_ratio=1.0, tol=tol).fit
        model, seconds = timed(partial(fit, X, codes), 3)
        proof, nonzero = model.certificate_, int(model.coef_.any(axis=0).sum())
        other = by_glmnet(X, codes, C, start, tol, proof.dual) if has_glmnet else "-"
        shape = f"{name}, {X.shape[0]:,} x {X.shape[1]:,}, {K} classes"
        what = f"{nonzero} | {len(proof.zeros)} | {model.n_passes_:.0f}"
        yield f"| {shape} | {factor:g} | {what} | {seconds:.2f} | {other} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--factors", default=",".join(map(str, FACTORS)))
    options = parser.parse_args()
    factors = [float(factor) for factor in options.factors.split(",")]
    header("Sparse multinomial models: CPU seconds to a gap", ["numpy", "scikit-learn", "numba"])
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for d in (8, 300):  # to compile both ways
            few = rng.normal(size=(400, d))
            sx.LogisticRegression(1.0, l1_ratio=1.0).fit(few, np.arange(400) % 3)
    has_glmnet = _glmnet.is_here()
    print("| set | C / C_max | not zero | proved zero | passes | ours | glmnet |")
    print("|---|---|---|---|---|---|---|")
    for name in options.sets.split(","):
        for row in rows_of(name, factors, options.tol, has_glmnet):
            print(row, flush=True)


if __name__ == "__main__":
    main()
