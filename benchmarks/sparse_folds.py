"""The path of the lasso side by side: 100 values of C, and 100 values on each of five folds.

    min over w, b    |w|_1 + C sum_i log(1 + exp(-y_i (w.x_i + b))),     C from C_max to 100 C_max

Ours proves the gap of every model. A peer has no proof: it walks the path with ever smaller
tolerances, each value from where the last one ended, and the first walk counts whose every
objective is within the gap of our proved lower bound. Its folds are walked with that tolerance.
Peers do the five walks alone; ours also judges the held-out rows and fits the C chosen. celer has
no bias and is compared without one (`--no-bias`). CPU seconds, compile time left out.

    python -m benchmarks.sparse_folds [--no-bias] [--sets alon,a9a] [--tol 1e-4]
"""

import argparse
import warnings
from functools import partial
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import StratifiedKFold

import separatrix as sx
from benchmarks import _glmnet
from benchmarks._report import header
from benchmarks.sparse_path import SETS, objective, timed
from separatrix.core.sparse import largest_cost_of_zero

VALUES, SPAN, FOLDS = 100, 100.0, 5
TOLERANCES = tuple(10.0**-k for k in range(2, 10))
MOST_SECONDS = 60.0


def skglm(X, y, signs, Cs, bias, tol):
    model = import_module("skglm").SparseLogisticRegression(
        tol=tol, fit_intercept=bias, warm_start=True
    )
    found = []
    for C in Cs:
        model.alpha = 1.0 / (C * X.shape[0])
        model.fit(X, y)
        found.append((model.coef_[0].copy(), float(np.ravel(model.intercept_)[0]) if bias else 0.0))
    return found, None


def celer(X, y, signs, Cs, bias, tol):
    columns = sp.csc_matrix(X) if sp.issparse(X) else np.asfortranarray(X)
    W = import_module("celer").celer_path(
        columns, signs, pb="logreg", alphas=1.0 / np.asarray(Cs), tol=tol
    )[1]
    return [(w, 0.0) for w in W.T], None


def glmnet(X, y, signs, Cs, bias, tol):
    W, b, seconds = _glmnet.glmnet(X, signs, 1.0 / (np.asarray(Cs) * X.shape[0]), bias, tol * 1e-3)
    return list(zip(W, b.tolist(), strict=True)), seconds


def peers(bias):
    """Return those that are here and have this objective."""
    found = {"skglm": skglm} if find_spec("skglm") else {}
    if not bias and find_spec("celer"):
        found["celer"] = celer
    return found | ({"glmnet": glmnet} if _glmnet.is_here() else {})


def walked(peer, X, y, Cs, bias, tol):
    """Return the weights of every value, and the CPU seconds: those that R counted, if it did."""
    signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
    (found, own), seconds = timed(
        lambda: peer(X, y, signs, Cs, bias, tol), 1 if own_time(peer) else 3
    )
    return found, seconds if own is None else own


def own_time(peer):
    return peer is glmnet


def to_the_gap(peer, X, y, Cs, bias, tol, path):
    """Return the tolerance and the seconds of the first walk that is good enough, or the gap."""
    signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
    reached = np.inf
    for small in TOLERANCES:
        found, seconds = walked(peer, X, y, Cs, bias, small)
        if len(found) < len(Cs):
            continue  # glmnet ends a path that it takes for saturated
        values = [objective(X, signs, C, w, b) for C, (w, b) in zip(Cs, found, strict=True)]
        least = [proof.dual for proof in path.certificates_]
        off = max((a - b) / a for a, b in zip(values, least, strict=True))
        reached = min(reached, off)
        if off <= tol:
            return small, seconds
        if seconds > MOST_SECONDS:
            break
    return None, reached


def row_of(name, bias, tol, others):
    """Return the cells of one set: the path on all rows, and on the folds."""
    X, y = SETS[name]()
    signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
    start = largest_cost_of_zero(X, signs, np.ones(len(signs)), "logistic", 1.0, bias)
    Cs = start * np.geomspace(1.0, SPAN, VALUES)
    model = sx.LogisticRegressionPath(Cs, tol=tol, fit_intercept=bias)
    path, seconds = timed(partial(model.fit, X, y), 3)
    folds = list(StratifiedKFold(FOLDS).split(X, y))
    chooser = sx.LogisticRegressionCV(Cs, cv=folds, l1_ratios=[1.0], tol=tol, fit_intercept=bias)
    chosen, in_folds = timed(partial(chooser.fit, X, y), 2)
    worst = max(*path.path_["gap"], *chosen.path_["gap"])
    cells = [f"{seconds:.2f}, {in_folds:.2f} (gap {worst:.0e})"]
    for peer in others.values():
        small, other = to_the_gap(peer, X, y, Cs, bias, tol, path)
        if small is None:
            cells.append(f"not ({other:.0e})")
            continue
        parts = [walked(peer, X[train], y[train], Cs, bias, small)[1] for train, _ in folds]
        cells.append(f"{other:.2f}, {sum(parts):.2f}")
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default="alon,spambase,a9a,rt")
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--no-bias", action="store_true")
    options = parser.parse_args()
    bias = not options.no_bias
    named = ["numpy", "scikit-learn", "numba", *filter(find_spec, ("celer", "skglm"))]
    header("The path of the lasso: CPU seconds, 100 values, and 100 values on five folds", named)
    others = peers(bias)
    rng = np.random.default_rng(0)
    few, labels = rng.normal(size=(60, 8)), np.arange(60) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for X in (few, sp.csr_array(few)):  # to compile
            sx.LogisticRegressionCV(3, l1_ratios=[1.0], fit_intercept=bias).fit(X, labels)
            for peer in others.values():
                walked(peer, X, labels, [0.5, 1.0], bias, 1e-3)
    print(f"| set | ours | {' | '.join(others)} |")
    print("|---|---|" + "---|" * len(others))
    for name in options.sets.split(","):
        print(f"| {name} | {' | '.join(row_of(name, bias, options.tol, others))} |", flush=True)


if __name__ == "__main__":
    main()
