"""Passes and updates per second of the perceptron and Kozinec, beside their peers.

    python -m benchmarks.perceptron [--quick]

A pass visits every row once, in the stored order, and updates the weights where a row is
misclassified: the same rule, the same rows and, in the same order, the same updates for all.
scikit-learn's time is the slope between a fit of few and of many passes, which leaves out its
checking of the input; ours is measured the same way. Compile time is stated apart.
"""

import argparse
import bz2
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Perceptron, SGDClassifier

from benchmarks._report import SHARED, bandwidth, header, seconds
from separatrix.problem.equilibrate import packed, packing_order
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.running.drive import solve
from separatrix.solvers.updates import kozinec, perceptron

warnings.simplefilter("ignore")


def a9a():
    X, y = load_svmlight_file(str(SHARED / "a9a.libsvm"))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return "a9a", X, np.sign(y)


def newsgroups():
    """The newsgroups about computers against the others, as tf-idf.

    Fifty texts stand a second time with the other label, so that no method is done after a few
    passes and all make the same ones.
    """
    with bz2.open(SHARED / "newsgroups20" / "20newsgroups-train.tab.bz2", "rt") as file:
        lines = file.read().split("\n")[3:]
    rows = [line.split("\t", 1) for line in lines if "\t" in line]
    X = sp.csr_array(TfidfVectorizer().fit_transform(text for _, text in rows))
    y = np.array([1.0 if label.startswith("comp") else -1.0 for label, _ in rows])
    X = sp.csr_array(sp.vstack([X, X[:50]]))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return "20 newsgroups tf-idf", X, np.concatenate([y, -y[:50]])


def dense():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 50))
    noise = rng.normal(size=len(X))
    return "dense 200k x 50", X, np.where(X @ rng.normal(size=50) + noise > 0, 1.0, -1.0)


def per_pass(fit, few, many, repeats=5):
    """Return seconds for one pass, from runs of few and of many passes."""
    return (seconds(lambda: fit(many), repeats) - seconds(lambda: fit(few), repeats)) / (many - few)


def numpy_pass(X, y, w):
    """The rule in plain NumPy: one row at a time."""
    values = X.toarray() if sp.issparse(X) else X
    updates = 0
    for x, sign in zip(values, y, strict=True):
        if sign * (w[0] + x @ w[1:]) <= 0.0:
            w[0] += sign
            w[1:] += sign * x
            updates += 1
    return updates


def bytes_read(X):
    if sp.issparse(X):
        return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return X.nbytes


def ours(X, y, method, few, many, **settings):
    """Return seconds a pass and updates a pass."""
    problem = SignedProblem(X, y)
    order = packing_order(problem)  # as the estimators do
    if order is not None:
        problem = packed(problem, order)
    state, _ = solve(method, problem, max_passes=many, **settings)
    state_few, _ = solve(method, problem, max_passes=few, **settings)
    passes = state.passes - state_few.passes
    if passes <= 0:  # it was done within a few passes: time the whole run
        taken = seconds(lambda: solve(method, problem, max_passes=many, **settings))
        return taken / state.passes, state.updates / state.passes
    taken = seconds(lambda: solve(method, problem, max_passes=many, **settings))
    taken -= seconds(lambda: solve(method, problem, max_passes=few, **settings))
    return taken / passes, (state.updates - state_few.updates) / passes


def compare(name, X, y, few, many, read_rate):
    kind = f"{X.shape[0]:,} x {X.shape[1]:,}"
    if sp.issparse(X):
        kind += f", {X.nnz:,} nonzeros"
    print(f"\n## {name} ({kind})\n")
    print("| method | passes/s | updates/s | against scikit-learn | share of memory bandwidth |")
    print("|---|---:|---:|---:|---:|")
    peers = {}
    for shuffle in (False, True):
        for peer in (Perceptron, SGDClassifier):
            options = {"loss": "perceptron", "eta0": 1.0, "learning_rate": "constant", "alpha": 0.0}
            options = options if peer is SGDClassifier else {}

            def fit(passes, peer=peer, options=options, shuffle=shuffle):
                peer(tol=None, max_iter=passes, shuffle=shuffle, **options).fit(X, y)

            taken = per_pass(fit, few, many)
            peers[peer.__name__, shuffle] = taken
            order = "shuffled" if shuffle else "in order"
            print(f"| scikit-learn {peer.__name__}, {order} | {1 / taken:,.0f} | | | |")
    for label, method, settings, peer in (
        ("ours: perceptron, in order", perceptron, {}, ("Perceptron", False)),
        ("ours: perceptron with pocket", perceptron, {"pocket": True}, ("Perceptron", False)),
        ("ours: averaged perceptron", perceptron, {"average": True}, ("Perceptron", False)),
        ("ours: perceptron, shuffled", perceptron, {"order": "random"}, ("Perceptron", True)),
        ("ours: Kozinec, in order", kozinec, {}, ("Perceptron", False)),
        ("ours: Kozinec, worst row", kozinec, {"order": "worst"}, ("Perceptron", False)),
    ):
        taken, updates = ours(X, y, method, few, many, **settings)
        share = bytes_read(X) / taken / read_rate
        print(
            f"| {label} | {1 / taken:,.0f} | {updates / taken:,.0f} | {peers[peer] / taken:.2f}x "
            f"| {100 * share:.0f} % |"
        )
    rows = min(X.shape[0], 2000)
    w = np.zeros(X.shape[1] + 1)
    begun = time.perf_counter()
    numpy_pass(X[:rows], y[:rows], w)
    taken = (time.perf_counter() - begun) * X.shape[0] / rows
    ratio = peers["Perceptron", False] / taken
    print(f"| a NumPy loop ({rows:,} rows, scaled) | {1 / taken:,.2f} | | {ratio:.4f}x | |")
    mlxtend_row(X, y, peers["Perceptron", False])


def mlxtend_row(X, y, peer):
    """mlxtend takes dense arrays and is timed on a few rows."""
    try:
        from mlxtend.classifier import Perceptron as Mlxtend
    except ImportError:
        print("| mlxtend | not installed | | | |")
        return
    rows = min(X.shape[0], 500)
    some = X[:rows].toarray() if sp.issparse(X) else X[:rows]
    labels = (y[:rows] > 0).astype(int)

    def fit(passes):
        Mlxtend(eta=1.0, epochs=passes, random_seed=0, print_progress=0).fit(some, labels)

    taken = per_pass(fit, 1, 3, repeats=3) * X.shape[0] / rows
    print(f"| mlxtend ({rows:,} rows, scaled) | {1 / taken:,.2f} | | {peer / taken:.4f}x | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer passes, for a first look")
    quick = parser.parse_args().quick
    header(
        "Perceptron and Kozinec: passes per second",
        ["separatrix", "scikit-learn", "numba", "numpy", "mlxtend"],
    )
    if not SHARED.is_dir():
        sys.exit(f"The real data are not at {SHARED}.")
    begun = time.perf_counter()
    tiny = SignedProblem(np.eye(2), np.array([1.0, -1.0]))
    solve(perceptron, tiny)
    print(f"First call (compiling, or loading from the cache): {time.perf_counter() - begun:.1f} s")
    read_rate = bandwidth()
    print(f"Memory bandwidth of one core: {read_rate / 1e9:.1f} GB/s")
    for make, few, many in ((a9a, 5, 105), (newsgroups, 2, 22), (dense, 2, 12)):
        name, X, y = make()
        compare(name, X, y, few, max(few + 2, many // 5) if quick else many, read_rate)


if __name__ == "__main__":
    main()
