"""Sparse logistic regression side by side: the same objective to the same proved gap.

    min over w, b    |w|_1 + C sum_i log(1 + exp(-y_i (w.x_i + b)))

at C = 10, 100 and 1000 times the largest C at which all weights are zero. Ours stops at a proved
gap. A peer has no proof: it is run with ever smaller tolerances, and the first run whose objective
is within the gap of our proved lower bound counts, alone. Peers that penalise their bias
(LIBLINEAR) or have none (celer) are compared without one (`--no-bias`). CPU seconds, compile time
left out.

    python -m benchmarks.sparse_path [--no-bias] [--sets alon,a9a] [--tol 1e-6]

`benchmarks.sparse_folds` has the whole path.

celer, skglm, LIBLINEAR and glmnet in R are not in the lock: those that are not there are left out.
glmnet walks a path of 20 values to its C, as its authors advise for a single one.
"""

import argparse
import time
import warnings
from functools import partial
from importlib import import_module
from importlib.util import find_spec

import numpy as np

import separatrix as sx
from benchmarks import _glmnet, _text_sets
from benchmarks._report import SHARED, header
from separatrix.core.sparse import largest_cost_of_zero

FACTORS = (10.0, 100.0, 1000.0)
TOLERANCES = tuple(10.0**-k for k in range(2, 13))
SHORT = 0.2
MOST_SECONDS = 20.0  # a peer that took so long for a tolerance is not given a smaller one


def alon():
    table = sx.read(SHARED / "alon.csv.gz")
    X = np.asarray(table.X.toarray() if hasattr(table.X, "toarray") else table.X)
    return (X - X.mean(axis=0)) / X.std(axis=0), table.y


def spambase():
    table = sx.read(SHARED / "spambase.csv", target="type")
    return table.X, table.y


def a9a():
    table = sx.read(SHARED / "a9a.libsvm")
    return table.X, table.y


def dense(n=100_000, d=100):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * np.exp(rng.normal(size=d))
    w = rng.normal(size=d) * (rng.random(d) < 0.3)
    return X, np.where(X @ w / np.e + 2.0 * rng.normal(size=n) > 0.0, 1, -1)


SETS = {
    "alon": alon,
    "spambase": spambase,
    "a9a": a9a,
    "newsgroups": _text_sets.newsgroups_two_classes,
    "rt": _text_sets.rt_polarity,
    "rt-bigrams": partial(_text_sets.rt_polarity, 2),
    "dense": dense,
}


def ours(X, y, C, bias, tol):
    model = sx.LogisticRegression(C, l1_ratio=1.0, fit_intercept=bias, tol=tol).fit(X, y)
    return model.coef_[0], float(model.intercept_[0])


def skglm(X, y, C, bias, tol):
    peer = import_module("skglm").SparseLogisticRegression
    n = X.shape[0]
    found = peer(alpha=1.0 / (C * n), tol=tol, fit_intercept=bias, max_iter=50).fit(X, y)
    return found.coef_[0], float(np.ravel(found.intercept_)[0]) if bias else 0.0


def celer(X, y, C, bias, tol):
    peer = import_module("celer").LogisticRegression
    found = peer(C=C, tol=tol, max_iter=50).fit(X, y)
    return found.coef_[0], 0.0


def saga(X, y, C, bias, tol):
    from sklearn.linear_model import LogisticRegression

    more = {"C": C, "l1_ratio": 1.0, "solver": "saga", "fit_intercept": bias, "max_iter": 300}
    found = LogisticRegression(tol=tol, **more).fit(X, y)
    return found.coef_[0], float(found.intercept_[0])


def newton_cd(X, y, C, bias, tol):
    from sklearn.linear_model import LogisticRegression

    more = {"C": C, "l1_ratio": 1.0, "solver": "newton-cd", "fit_intercept": bias}
    found = LogisticRegression(tol=tol, max_iter=1000, **more).fit(X, y)
    return found.coef_[0], float(np.ravel(found.intercept_)[0])


def has_newton_cd():
    X, y = np.array([[1.0], [2.0], [3.0]]), np.array([0, 1, 0])
    try:
        newton_cd(X, y, 1.0, True, 1e-3)
    except ValueError:
        return False
    return True


def glmnet(X, y, C, bias, tol):
    """Return the seconds that R counted, too."""
    signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
    start = largest_cost_of_zero(X, signs, np.ones(len(signs)), "logistic", 1.0, bias)
    values = np.geomspace(min(start, C), C, 20)
    W, b, seconds = _glmnet.glmnet(X, signs, 1.0 / (values * len(signs)), bias, tol * 1e-3)
    return W[-1], float(b[-1]), seconds


def liblinear_itself(X, y, C, bias, tol):
    util = import_module("liblinear.liblinearutil")
    signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
    model = util.train(signs, X, f"-s 6 -c {C!r} -e {tol!r} -B -1 -q")
    w = np.array(model.get_decfun(0)[0])
    return w if model.get_labels()[0] == 1 else -w, 0.0


def liblinear(X, y, C, bias, tol):
    from sklearn.linear_model import LogisticRegression

    more = {"C": C, "l1_ratio": 1.0, "solver": "liblinear", "fit_intercept": False}
    found = LogisticRegression(tol=tol, max_iter=1000, **more).fit(X, y)
    return found.coef_[0], 0.0


def peers(bias):
    """Return those that are here and have this objective."""
    found = {"skglm": skglm} if find_spec("skglm") else {}
    if not bias:
        found |= {"celer": celer} if find_spec("celer") else {}
        found |= {"LIBLINEAR": liblinear_itself} if find_spec("liblinear") else {}
        found["liblinear in scikit-learn"] = liblinear
    found |= {"newton-cd": newton_cd} if has_newton_cd() else {}
    found |= {"glmnet": glmnet} if _glmnet.is_here() else {}
    return found | {"saga": saga}


def objective(X, signs, C, w, b):
    return float(abs(w).sum() + C * np.logaddexp(0.0, -signs * (X @ w + b)).sum())


def timed(work, repeats=5):
    """Return what is found and the CPU seconds; the least of a few runs where they are short."""
    least = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(repeats):
            begun = time.process_time()
            found = work()
            least = min(least, time.process_time() - begun)
            if least > SHORT:
                break
    return found, least


def to_the_gap(peer, X, y, signs, C, bias, tol, least):
    """Return the seconds of the first tolerance that is good enough, or the gap reached."""
    reached = np.inf
    for small in TOLERANCES:
        repeats = 1 if peer is glmnet else 5
        (w, b, *own), seconds = timed(lambda small=small: peer(X, y, C, bias, small), repeats)
        seconds = own[0] if own else seconds
        value = objective(X, signs, C, w, b)
        reached = min(reached, (value - least) / value)
        if reached <= tol:
            return f"{seconds:.3f}"
        if seconds > MOST_SECONDS:
            break
    return f"not ({reached:.0e})"


def single(names, bias, tol, others):
    """Print the table of single values of C."""
    print(f"| set | C / C_max | nonzero | proved zero | passes | ours | {' | '.join(others)} |")
    print("|---|---|---|---|---|---|" + "---|" * len(others))
    for name in names:
        X, y = SETS[name]()
        signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
        start = largest_cost_of_zero(X, signs, np.ones(len(signs)), "logistic", 1.0, bias)
        for factor in FACTORS:
            C = start * factor
            settings = {"l1_ratio": 1.0, "fit_intercept": bias, "tol": tol}
            model, seconds = timed(partial(_fitted, C, X, y, settings))
            proof = model.certificate_
            shown = f"{seconds:.3f}" if proof.gap <= tol else f"not ({proof.gap:.0e})"
            cells = [
                to_the_gap(peer, X, y, signs, C, bias, tol, proof.dual) for peer in others.values()
            ]
            nonzero = len(model.names_of_nonzero_)
            work = f"{nonzero} | {len(proof.zeros)} | {model.n_passes_:.0f}"
            print(f"| {name} | {factor:g} | {work} | {shown} | {' | '.join(cells)} |", flush=True)


def _fitted(C, X, y, settings):
    return sx.LogisticRegression(C, max_seconds=60.0, **settings).fit(X, y)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--no-bias", action="store_true")
    parser.add_argument("--peers", default="", help="these peers alone, by their names")
    options = parser.parse_args()
    named = ["numpy", "scikit-learn", "numba", *filter(find_spec, ("celer", "skglm"))]
    header("Sparse logistic regression: CPU seconds to a proved gap", named)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 8)), np.arange(60) % 2  # to compile
    import scipy.sparse as sp

    others, some = peers(not options.no_bias), options.peers
    others = {k: v for k, v in others.items() if not some or k in some.split(",")}
    for rows in (X, sp.csr_array(X)):
        for work in (ours, *others.values()):
            timed(lambda work=work, rows=rows: work(rows, y, 1.0, not options.no_bias, 1e-3), 1)
    names = options.sets.split(",")
    single(names, not options.no_bias, options.tol, others)


if __name__ == "__main__":
    main()
