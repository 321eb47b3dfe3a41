"""The path over C beside GridSearchCV and LIBLINEAR's own search.

    python -m benchmarks.path [--only CASE ...]

`GridSearchCV(LinearSVC(loss="hinge"))` over six values of C and five folds, with two processes,
against `LinearSVMCV` over the same values and folds, with two threads: seconds on the wall, and of
a processor (both with one worker). LinearSVC as it comes does not reach the optimum at large C: its
distance stands in the table, and beside it what it takes to come as near as we prove, on one fold
times five (at least so much, where it never came). Our times include every proof.

LIBLINEAR's search (`-C -s 2` and `-s 0`, which it has for these two losses only) doubles C from a
start of its own, in one thread; against it stand our search as it comes, the same in one thread,
and ours over its values.
"""

import argparse
import contextlib
import os
import re
import tempfile
import time
import warnings
from collections import Counter

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import LinearSVC

import separatrix as sx
from benchmarks import _machine_peers as peers
from benchmarks import _text_sets as text
from benchmarks._report import SHARED, header
from benchmarks.machines import a9a, narrow_sparse

CS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
TOL = 1e-4
os.environ["PYTHONWARNINGS"] = "ignore"  # of worker processes: LinearSVC did not converge


def sentiment(words=4500):
    """The lecture's 3000 sentences as a bag of their most frequent words."""
    dropped = {"the", "a", "an", "i", "he", "she", "they", "to", "of", "it", "from"}
    sentences, signs = [], []
    for name in ("amazon_cells", "yelp", "imdb"):
        lines = (SHARED / "sentiment" / f"{name}_labelled.txt").read_text("utf-8").split("\n")
        for line in lines:
            sentence, tab, label = line.rpartition("\t")
            if tab:
                letters = re.sub(r"[^\w\s]|\d|_", "", sentence).lower()
                sentences.append([word for word in letters.split() if word not in dropped])
                signs.append(1.0 if int(label) else -1.0)
    counts = Counter(word for sentence in sentences for word in sentence)
    place = {word: k for k, (word, _) in enumerate(counts.most_common(words))}
    pairs = [(i, place[w]) for i, s in enumerate(sentences) for w in s if w in place]
    rows, columns = np.array(pairs, dtype=np.int32).T
    X = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(sentences), len(place)))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    X.sum_duplicates()
    return X, np.array(signs)


def timed(work):
    """Seconds on the wall and of this process, and the result."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun, spent = time.perf_counter(), time.process_time()
        result = work()
        return time.perf_counter() - begun, time.process_time() - spent, result


def ours(X, y, repeats, **settings):
    """The fastest of some runs, with two threads, and the processor's seconds with one."""
    wall = min(
        timed(lambda: sx.LinearSVMCV(n_jobs=2, **settings).fit(X, y))[0] for _ in range(repeats)
    )
    runs = [timed(lambda: sx.LinearSVMCV(n_jobs=1, **settings).fit(X, y)) for _ in range(repeats)]
    return wall, min(run[1] for run in runs), runs[-1][2]


def against_grid_search(name, X, y, repeats, one_process=True, reach=True):
    print(f"\n## {name}, {X.shape[0]:,} x {X.shape[1]:,}: 6 C x 5 folds and the last fit, hinge\n")
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    settings = {"Cs": CS, "cv": folds, "tol": TOL}
    timed(lambda: sx.LinearSVMCV(n_jobs=2, **settings).fit(X, y))  # compiled or loaded
    wall, spent, machine = ours(X, y, repeats, **settings)

    def grid(jobs):
        return GridSearchCV(
            LinearSVC(loss="hinge", random_state=0), {"C": CS}, cv=folds, n_jobs=jobs
        )

    if repeats > 1:
        grid(2).fit(X, y)  # so that starting processes is not counted
    peer_wall = min(timed(lambda: grid(2).fit(X, y))[0] for _ in range(repeats))
    peer_spent = timed(lambda: grid(1).fit(X, y))[1] if one_process else np.nan
    print("| | wall, two workers | processor, one worker | gap |\n|---|---:|---:|---:|")
    print(f"| ours | {wall:.2f} | {spent:.2f} | {machine.path_['gap'].max():.0e} proved |")
    distances, needed = distances_of(X, y, folds[0][0], reach)
    print(f"| GridSearchCV | {peer_wall:.2f} | {peer_spent:.2f} | {max(distances):.0e} |")
    print(f"| ratio | {peer_wall / wall:.1f}x | {peer_spent / spent:.1f}x | |")
    if reach:
        print(f"| LinearSVC to {TOL:g} | | {5 * sum(needed):.1f} | {TOL:g} |")
        print(f"| ratio | | {5 * sum(needed) / spent:.1f}x | |")
    listed = ", ".join(f"{C:g}: {distance:.0e}" for C, distance in zip(CS, distances, strict=True))
    print(f"\nLinearSVC's distance from the optimum by C: {listed}.")
    print(f"Chosen: ours C = {machine.C_:g}.", flush=True)


def distances_of(X, y, train, reach):
    """How far LinearSVC as it comes stays from the optimum, and what it takes to come to TOL."""
    X, y = X[train], y[train]
    distances, needed = [], []
    for C in CS:
        best = sx.LinearSVM(C, tol=1e-6, intercept_penalty=1.0).fit(X, y).dual_objective_
        _, _, model = timed(lambda C=C: LinearSVC(C=C, loss="hinge", random_state=0).fit(X, y))
        value = peers.objective(X, y, C, "hinge", model.coef_, model.intercept_, 1.0)
        distances.append((value - best) / value)
        if reach:
            found = peers.linear_svc(X, y, C, "hinge", TOL, best, limit=30.0, repeats=1)
            needed.append(found.seconds or max(seconds for seconds, _ in found.points))
    return distances, needed


@contextlib.contextmanager
def printed():
    """What C code prints in this block."""
    lines = []
    with tempfile.TemporaryFile() as file:
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield lines
        finally:
            import ctypes

            ctypes.CDLL(None).fflush(None)
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            lines += file.read().decode().splitlines()


def against_liblinear(name, X, y):
    try:
        from liblinear.liblinearutil import problem, train
    except ImportError:
        print("\nLIBLINEAR is not installed: make .venv/.peers")
        return
    print(f"\n## {name}: LIBLINEAR's -C, 5 folds\n")
    print(
        "| loss | LIBLINEAR -C | its values | its C, error | ours, as it comes (2 threads) "
        "| one thread | one thread, its values |"
    )
    print("|---|---:|---:|---|---:|---:|---:|")
    data = problem(y, sp.csr_matrix(X), bias=1)
    for loss, code, chooser in (
        ("squared_hinge", 2, sx.LinearSVMCV),
        ("logistic", 0, sx.LogisticRegressionCV),
    ):
        with printed() as lines:
            spent, _, (C, *_, rate) = timed(
                lambda code=code: train(data, f"-C -s {code} -v 5 -B 1")
            )
        tried = sorted({float(m[1]) for line in lines if (m := re.match(r"log2c=\s*(\S+)", line))})
        more = {"loss": loss} if chooser is sx.LinearSVMCV else {}
        machine = chooser(**more)
        timed(lambda machine=machine: machine.fit(X, y))
        wall = min(timed(lambda machine=machine: machine.fit(X, y))[0] for _ in range(3))
        machine.n_jobs = 1
        default = min(timed(lambda machine=machine: machine.fit(X, y))[1] for _ in range(2))
        error = machine.path_["validation_error"].min()
        same = chooser(Cs=2.0 ** np.array(tried), n_jobs=1, **more)
        over = min(timed(lambda same=same: same.fit(X, y))[1] for _ in range(2))
        print(
            f"| {loss} | {spent:.2f} | {len(tried)} | {C:.3g}, {100 * (1 - rate):.2f} % "
            f"| {wall:.2f} ({spent / wall:.1f}x; {machine.C_:.3g}, {100 * error:.2f} %) "
            f"| {default:.2f} ({spent / default:.1f}x) "
            f"| {over:.2f} ({spent / over:.1f}x) |",
            flush=True,
        )


def many_classes(X, y, n_rows=6000, Cs=(0.1, 1.0, 10.0), n_folds=3):
    """Each class against the rest: processor seconds of one worker, on a part of the rows."""
    kept = np.random.default_rng(0).permutation(X.shape[0])[:n_rows]
    X, y = X[kept], y[kept]
    print(f"\n## {len(np.unique(y))} classes, {n_rows:,} x {X.shape[1]:,}: 3 C x 3 folds, hinge\n")
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y))
    search = sx.LinearSVMCV(Cs=Cs, cv=folds, tol=TOL, n_jobs=1)
    grid = GridSearchCV(LinearSVC(loss="hinge", random_state=0), {"C": Cs}, cv=folds)
    (_, spent, _), (_, peer, _) = (timed(lambda one=one: one.fit(X, y)) for one in (search, grid))
    print("| ours | gap, proved | GridSearchCV | ratio |\n|---:|---:|---:|---:|")
    print(
        f"| {spent:.1f} s | {search.path_['gap'].max():.0e} | {peer:.1f} s | {peer / spent:.1f}x |"
    )


CASES = {
    "sentiment": lambda: against_grid_search("Sentiment sentences", *sentiment(), 3),
    "newsgroups": lambda: against_grid_search(
        "20 newsgroups as two classes", *text.newsgroups_two_classes(), 1, False, False
    ),
    "classes": lambda: many_classes(*text.newsgroups_classes()),
    "a9a": lambda: against_grid_search("a9a", *a9a(), 1, False),
    "narrow": lambda: against_grid_search("sparse, 3 % positive", *narrow_sparse(), 1, True, False),
    "liblinear-sentiment": lambda: against_liblinear("Sentiment sentences", *sentiment()),
    "liblinear-newsgroups": lambda: against_liblinear(
        "20 newsgroups as two classes", *text.newsgroups_two_classes()
    ),
    "liblinear-a9a": lambda: against_liblinear("a9a", *a9a()),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    header("The path over C", ["numpy", "scipy", "numba", "scikit-learn"])
    for name in parser.parse_args().only:
        CASES[name]()


if __name__ == "__main__":
    main()
