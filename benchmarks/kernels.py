"""Kernel machines beside scikit-learn's SVC and LIBSVM: seconds to a dual objective within 1e-3.

    python -m benchmarks.kernels [--only synthetic fashion a9a digits] [--quick]

Each side runs once a case, in one process, wall and CPU seconds printed. Ours uses every core, and
its time includes the float64 proof; the others use one. What SVC and LIBSVM reach is computed here
from their multipliers. Compile time is left out and stated.
"""

import argparse
import json
import resource
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.svm import SVC

import separatrix as sx
from benchmarks._report import SHARED, header

CACHE = 1000
WITH_LIBSVM = True
RESULTS = Path(__file__).with_name("out") / "kernels.json"
kept = []


def synthetic(n=20_000, d=50):
    """Two classes, each of four clusters of correlated columns, five in a hundred labels wrong."""
    from sklearn.datasets import make_classification

    return make_classification(
        n, d, n_informative=20, n_redundant=10, n_clusters_per_class=4, flip_y=0.05, random_state=0
    )


def fashion():
    """The classes below 5 against the rest."""
    table = sx.read(SHARED / "fashion-mnist" / "t10k-images-idx3-ubyte.gz")
    X = table.X.toarray() if sp.issparse(table.X) else np.asarray(table.X)
    labels = np.asarray(table.y, dtype=int)
    return X.astype(np.float64) / 255.0, (labels < 5).astype(int)


def a9a():
    table = sx.read(SHARED / "a9a.libsvm")
    return table.X, np.where(np.asarray(table.y) > 0, 1, -1)


def timed(work):
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def dual_of(kernel, X, support, share, rows=2000):
    """The dual objective of multipliers with signs, in float64."""
    part, total = X[support], 0.0
    for begin in range(0, len(support), rows):
        at = slice(begin, begin + rows)
        total += share[at] @ (kernel.block(part[at], part) @ share)
    return abs(share).sum() - 0.5 * total


def libsvm(X, y, C, kernel):
    """LIBSVM as its authors publish it, or None where it is not installed."""
    try:
        from libsvm.svm import svm_parameter, svm_problem
        from libsvm.svmutil import svm_train
    except ImportError:
        return None
    rows = sp.csr_matrix(X)
    kind = {"rbf": 2, "poly": 1, "linear": 0}[kernel.name]
    shape = f"-t {kind} -g {kernel.gamma!r} -d {kernel.degree} -r {kernel.coef0}"
    options = f"-s 0 {shape} -c {C} -m {CACHE} -q"
    problem = svm_problem(np.asarray(y, dtype=float), rows)
    parameter = svm_parameter(options)
    wall, cpu, model = timed(lambda: svm_train(problem, parameter))
    support = np.array(model.get_sv_indices()) - 1
    share = np.array(model.get_sv_coef())[:, 0]
    return wall, cpu, support, share


def compare(name, X, y, C, **settings):
    """Print one line: ours, SVC and LIBSVM."""
    wall, cpu, machine = timed(
        lambda: sx.KernelSVM(C, tol=1e-3, cache_size=CACHE, **settings).fit(X, y)
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    kernel = machine.kernel_
    assert machine.gap_ <= 1e-3, machine
    their_wall, their_cpu, theirs = timed(lambda: SVC(C=C, cache_size=CACHE, **settings).fit(X, y))
    share = theirs.dual_coef_
    share = share.toarray()[0] if sp.issparse(share) else share[0]
    reached = dual_of(kernel, X, theirs.support_, share)
    other = libsvm(X, y, C, kernel) if WITH_LIBSVM else None
    best = max(machine.dual_objective_, reached)
    listing = "-"
    if other is not None:
        by_libsvm = dual_of(kernel, X, other[2], other[3])
        listing = f"{other[0]:.1f} ({other[1]:.1f}) at {by_libsvm / best - 1:+.0e}"
    print(
        f"| {name} | {C:g} | {wall:.2f} ({cpu:.2f}) at {machine.dual_objective_ / best - 1:+.0e}, "
        f"gap {machine.gap_:.0e} | {their_wall:.1f} ({their_cpu:.1f}) at {reached / best - 1:+.0e} "
        f"| {their_wall / wall:.1f}x ({their_cpu / cpu:.1f}x) | {listing} "
        f"| {'-' if other is None else f'{other[0] / wall:.1f}x ({other[1] / cpu:.1f}x)'} "
        f"| {len(machine.support_)} | {peak:.0f} |",
        flush=True,
    )
    kept.append(
        {
            "case": name,
            "C": C,
            "wall": wall,
            "cpu": cpu,
            "svc": their_wall,
            "svc_cpu": their_cpu,
            "peak": peak,
        }
    )


def case_synthetic(quick):
    X, y = synthetic(5_000 if quick else 20_000)
    for C in (1.0, 10.0):
        compare(f"synthetic {len(X)} x 50, rbf", X, y, C)


def case_fashion(quick):
    X, y = fashion()
    X, y = (X[:2500], y[:2500]) if quick else (X, y)
    for C in (1.0, 10.0):
        compare(f"Fashion {len(X)} x 784, rbf", X, y, C)
    compare(f"Fashion {len(X)} x 784, cubic", X, y, 1.0, kernel="poly", coef0=1.0)


def case_a9a(quick):
    X, y = a9a()
    X, y = (X[:6000], y[:6000]) if quick else (X, y)
    compare(f"a9a {X.shape[0]} x 123 sparse, rbf", X, y, 1.0)


def case_digits(quick):
    """Ten classes, one against one: 45 machines; the best of five runs."""
    X, y = load_digits(return_X_y=True)
    ours = min(timed(lambda: sx.KernelSVM(cache_size=CACHE).fit(X, y))[:2] for _ in range(5))
    theirs = min(timed(lambda: SVC(cache_size=CACHE).fit(X, y))[:2] for _ in range(5))
    print(
        f"\ndigits, one against one: ours {ours[0]:.3f} s ({ours[1]:.3f} CPU), SVC {theirs[0]:.3f} "
        f"({theirs[1]:.3f} CPU): {theirs[0] / ours[0]:.2g}x ({theirs[1] / ours[1]:.2g}x)"
    )
    kept.append(
        {
            "case": "digits",
            "wall": ours[0],
            "cpu": ours[1],
            "svc": theirs[0],
            "svc_cpu": theirs[1],
        }
    )


CASES = {
    "synthetic": case_synthetic,
    "fashion": case_fashion,
    "a9a": case_a9a,
    "digits": case_digits,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--quick", action="store_true", help="fewer rows")
    parser.add_argument("--no-libsvm", action="store_true", help="beside scikit-learn's SVC only")
    chosen = parser.parse_args()
    global WITH_LIBSVM
    WITH_LIBSVM = not chosen.no_libsvm
    header("Kernel machines", ["numpy", "numba", "scikit-learn"])
    begun = time.perf_counter()
    X, y = synthetic(2500)
    for rows in (X, sp.csr_array(X), X[:500]):
        for kernel in ("rbf", "poly"):
            sx.KernelSVM(kernel=kernel, tol=0.1).fit(rows, y[: rows.shape[0]])
    print(f"First fits, compiled or loaded: {time.perf_counter() - begun:.1f} s, left out below.\n")
    print("Wall seconds (CPU seconds in brackets), the dual's distance from the best seen.\n")
    print("| case | C | ours | SVC | ratio | LIBSVM | ratio | support | peak MB |")
    print("|---|---:|---|---|---|---|---|---:|---:|")
    for name in chosen.only:
        CASES[name](chosen.quick)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
