"""LinearSVM and LogisticRegression beside scikit-learn and LIBLINEAR, at the same distance from the
optimum.

    python -m benchmarks.machines [--only CASE ...] [--quick]

Peers are timed to the relative distance from our certified optimum that we prove (see
`_machine_peers`); their bias is penalised where ours is free, so the hinge is compared on
LIBLINEAR's own objective (`intercept_penalty=1`), and the time for the free bias stands beside it.
Our times include the proof and the fingerprint of the data. Compile time is left out (and printed).
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import separatrix as sx
from benchmarks import _machine_peers as peers
from benchmarks import _text_sets as text
from benchmarks._report import SHARED, header

RESULTS = Path("out/machines.json")
TEXTS = {
    "text-like": text.textlike,
    "newsgroups": text.newsgroups_two_classes,
    "rt words": lambda: text.rt_polarity(1),
    "rt bigrams": lambda: text.rt_polarity(2),
}
kept: dict[str, list] = {}


def raw_dense(n=500_000, d=54, seed=0):
    """Correlated columns, scales spread over e^8, offsets, labels with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1:] += 0.5 * X[:, :-1]
    scores = X @ rng.normal(size=d) + 2.0 * rng.normal(size=n)
    scales = np.exp(rng.uniform(-4.0, 4.0, size=d))
    return (X + rng.normal(size=d)) * scales, np.where(scores > 0.0, 1.0, -1.0)


def a9a():
    table = sx.read(SHARED / "a9a.libsvm")
    return table.X, np.where(table.y == table.classes[1], 1.0, -1.0)


def narrow_sparse(n=50_000, d=300, entries=12):
    """Sparse rows of few columns, three in a hundred positive."""
    rng = np.random.default_rng(0)
    places = np.repeat(np.arange(n), entries), rng.integers(0, d, n * entries)
    X = sp.csr_array((np.ones(n * entries), places), shape=(n, d))
    X.sum_duplicates()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    scores = X @ rng.normal(size=d) + 2.0 * rng.normal(size=n)
    return X, np.where(scores > np.quantile(scores, 0.97), 1.0, -1.0)


def ours(machine, X, y, repeats=3):
    """Seconds (median) and the fitted machine; one fit before, so that loops are compiled."""
    seconds, fitted = peers.timed(lambda: machine.fit(X, y), 1)
    if seconds < 5.0:
        seconds, fitted = peers.timed(lambda: machine.fit(X, y), repeats)
    assert fitted.status_ == "optimal", (machine, fitted.status_, fitted.gap_)
    return seconds, fitted


def keep(case, **facts):
    kept.setdefault(case, []).append(facts)


def geometric(values):
    return float(np.exp(np.mean(np.log(values))))


def case_raw(quick):
    X, y = raw_dense(50_000 if quick else 500_000)
    print(f"\n## Raw dense {X.shape[0]:,} x {X.shape[1]}, scales over e^8\n")
    seconds, fitted = ours(sx.LinearSVM(loss="squared_hinge"), X, y)
    taken, peer = peers.timed(lambda: LinearSVC(random_state=0).fit(X, y), 1)
    penalised = sx.LinearSVM(loss="squared_hinge", intercept_penalty=1.0, tol=1e-7)
    value = peers.objective(X, y, 1.0, "squared_hinge", peer.coef_, peer.intercept_, penalty=1.0)
    off = (value - penalised.fit(X, y).dual_objective_) / value
    scaled = StandardScaler().fit_transform(X)
    best = penalised.fit(scaled, y).dual_objective_
    same, _ = ours(sx.LinearSVM(loss="squared_hinge", intercept_penalty=1.0), scaled, y)
    reach = peers.linear_svc(scaled, y, 1.0, "squared_hinge", 1e-4, best, repeats=1, dual=False)
    print("| squared hinge | seconds | distance from the optimum | ratio |\n|---|---:|---:|---:|")
    print(f"| ours, raw columns | {seconds:.2f} | {fitted.gap_:.0e}, proved | |")
    print(
        f"| LinearSVC, defaults, raw columns | {taken:.1f} | {off:.0e} | {taken / seconds:.0f}x |"
    )
    print(f"| ours, scaled, LIBLINEAR's objective | {same:.2f} | 1e-4, proved | |")
    print(f"| LinearSVC(dual=False), scaled | {reach} | 1e-4 | {reach.ratio(same):.2g}x |")
    keep("raw squared hinge", ours=seconds, peer=taken, off=off, same=same, scaled=reach.seconds)

    seconds, fitted = ours(sx.LinearSVM(), X, y)
    scaler, _ = peers.timed(lambda: StandardScaler().fit_transform(X), 1)
    same, _ = ours(sx.LinearSVM(intercept_penalty=1.0), scaled, y)
    best = sx.LinearSVM(intercept_penalty=1.0, tol=1e-7).fit(scaled, y).dual_objective_
    reach = peers.linear_svc(scaled, y, 1.0, "hinge", 1e-4, best, limit=60.0, repeats=1)
    print("\n| hinge to 1e-4 | seconds | ratio |\n|---|---:|---:|")
    print(f"| ours, raw columns, free bias | {seconds:.2f} | {reach.ratio(seconds):.1f}x |")
    print(f"| ours, scaled, LIBLINEAR's objective | {same:.2f} | {reach.ratio(same):.1f}x |")
    print(f"| LinearSVC after StandardScaler ({scaler:.2f} s, not counted) | {reach} | |")
    keep("raw hinge", ours=seconds, same=same, peer=reach.seconds, points=reach.points)


def case_a9a(quick):
    X, y = a9a()
    print(f"\n## a9a, {X.shape[0]:,} x {X.shape[1]}, hinge to 1e-6\n")
    print("| C | ours, free bias | iterations | ours, LIBLINEAR's objective | LinearSVC | ratio |")
    print("|---:|---:|---:|---:|---:|---:|")
    for C in (0.01, 1.0, 1000.0) if quick else (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0):
        free, fitted = ours(sx.LinearSVM(C, tol=1e-6), X, y)
        same, _ = ours(sx.LinearSVM(C, tol=1e-6, intercept_penalty=1.0), X, y)
        best = sx.LinearSVM(C, tol=1e-9, intercept_penalty=1.0).fit(X, y).dual_objective_
        reach = peers.linear_svc(X, y, C, "hinge", 1e-6, best)
        print(
            f"| {C:g} | {free:.3f} | {fitted.n_iter_} | {same:.3f} | {reach} "
            f"| {reach.ratio(same):.2g}x |",
            flush=True,
        )
        keep("a9a", C=C, ours=free, same=same, peer=reach.seconds, points=reach.points)


def case_text(quick):
    print("\n## Wide sparse text, hinge\n")
    print(
        "| data | C | gap | ours, free bias | passes | ours, LIBLINEAR's objective | LinearSVC "
        "| LIBLINEAR | ratio |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    ratios: dict[tuple[bool, float], list[float]] = {}
    for name, make in list(TEXTS.items())[1:] if quick else TEXTS.items():
        X, y = make()
        for C in (0.1, 1.0, 10.0, 100.0):
            best = sx.LinearSVM(C, tol=1e-8, intercept_penalty=1.0).fit(X, y).dual_objective_
            for gap in (1e-3, 1e-6):
                free, fitted = ours(sx.LinearSVM(C, tol=gap), X, y)
                same, _ = ours(sx.LinearSVM(C, tol=gap, intercept_penalty=1.0), X, y)
                reach = peers.linear_svc(X, y, C, "hinge", gap, best)
                itself = peers.liblinear_itself(X, y, C, gap, best)
                fastest = min(
                    (r.ratio(same) for r in (reach, itself) if r is not None and r.seconds),
                    default=reach.ratio(same),
                )
                ratios.setdefault((C <= 1.0, gap), []).append(fastest)
                print(
                    f"| {name} | {C:g} | {gap:.0e} | {free:.3f} | {fitted.n_passes_:.0f} "
                    f"| {same:.3f} | {reach} | {itself or 'not installed'} | {fastest:.2g}x |",
                    flush=True,
                )
                keep("text", data=name, C=C, gap=gap, ours=free, same=same, peer=reach.seconds,
                     points=reach.points, passes=fitted.n_passes_)  # fmt: skip
    for (small, gap), values in sorted(ratios.items()):
        print(
            f"\ngeometric mean, C {'<= 1' if small else '>= 10'}, gap {gap:.0e}: "
            f"{geometric(values):.2g}x; least {min(values):.2g}x"
        )


def case_classes(quick):
    X, y = text.newsgroups_classes()
    print(f"\n## 20 newsgroups, one against the rest, {X.shape[0]:,} x {X.shape[1]:,}\n")
    print("| loss | gap | ours (2 threads) | LinearSVC | ratio |\n|---|---:|---:|---:|---:|")
    for loss in ("hinge",) if quick else ("hinge", "squared_hinge"):
        seconds, _ = ours(sx.LinearSVM(loss=loss, tol=1e-3, intercept_penalty=1.0), X, y)
        tight = sx.LinearSVM(loss=loss, tol=1e-7, intercept_penalty=1.0).fit(X, y)

        def distance(model, loss=loss, tight=tight):
            values = [
                peers.objective(X, np.where(y == k, 1.0, -1.0), 1.0, loss, w, b, 1.0)
                for k, w, b in zip(model.classes_, model.coef_, model.intercept_, strict=True)
            ]
            return max((np.array(values) - tight.dual_objective_) / values)

        reach = peers.climb(
            lambda tol, loss=loss: LinearSVC(
                loss=loss, tol=tol, dual=True, max_iter=10_000, random_state=0
            ).fit(X, y),
            distance,
            1e-3,
        )
        print(f"| {loss} | 1e-3 | {seconds:.2f} | {reach} | {reach.ratio(seconds):.2g}x |")
        keep("classes", loss=loss, ours=seconds, peer=reach.seconds)


def case_logistic(quick):
    print("\n## Logistic regression\n")
    print("| data | C | gap | ours, free bias | ours, penalised | best peer | ratio | all |")
    print("|---|---:|---:|---:|---:|---|---:|---|")
    sets = {"a9a": a9a, **dict(list(TEXTS.items())[1:])}
    if not quick:
        sets |= {"raw dense": raw_dense, "text-like": text.textlike}
    for name, make in sets.items():
        X, y = make()
        narrow = X.shape[1] < 2_000
        for C in (1.0,) if name == "raw dense" else (0.1, 1.0, 10.0, 100.0):
            free_best = sx.LogisticRegression(C, tol=1e-9).fit(X, y).dual_objective_
            same_best = sx.LogisticRegression(C, tol=1e-9, intercept_penalty=1.0)
            same_best = same_best.fit(X, y).dual_objective_
            for gap in (1e-4, 1e-6):
                free, _ = ours(sx.LogisticRegression(C, tol=gap), X, y)
                same, _ = ours(sx.LogisticRegression(C, tol=gap, intercept_penalty=1.0), X, y)
                found = peers.logistic_peers(X, y, C, gap, free_best, same_best, narrow, 1)
                ratios = {
                    solver: reach.ratio(same if solver == "liblinear" else free)
                    for solver, reach in found.items()
                    if reach.seconds is not None
                }
                best = min(ratios, key=ratios.get) if ratios else "none"
                listing = ", ".join(f"{solver} {reach}" for solver, reach in found.items())
                print(
                    f"| {name} | {C:g} | {gap:.0e} | {free:.3f} | {same:.3f} | {best} "
                    f"| {ratios.get(best, np.nan):.2g}x | {listing} |",
                    flush=True,
                )
                keep("logistic", data=name, C=C, gap=gap, ours=free, ratio=ratios.get(best))


def case_hard(quick):
    table = sx.read(SHARED / "alon.csv.gz", target="class")
    X, y = table.X, table.y
    print(f"\n## alon, {X.shape[0]} x {X.shape[1]}, hard margin\n")
    seconds, fitted = ours(sx.LinearSVM(np.inf, tol=1e-10), X, y, 5)
    default, _ = ours(sx.LinearSVM(np.inf), X, y, 5)
    taken, peer = peers.timed(lambda: SVC(kernel="linear", C=1e10, tol=1e-10).fit(X, y), 5)
    margin = 1.0 / np.linalg.norm(peer.coef_)
    print("| | seconds | margin |\n|---|---:|---:|")
    print(f"| ours, gap 1e-10 | {seconds:.4f} | {fitted.margin_:.12g} |")
    print(f"| ours, gap 1e-4 | {default:.4f} | |")
    print(f"| SVC(kernel='linear', C=1e10, tol=1e-10) | {taken:.4f} | {margin:.12g} |")
    print(
        f"\nratio {taken / seconds:.2g}x; margins differ by {abs(fitted.margin_ / margin - 1):.1e}"
    )
    keep("alon", ours=seconds, peer=taken)


CASES = {
    "raw": case_raw,
    "a9a": case_a9a,
    "text": case_text,
    "classes": case_classes,
    "logistic": case_logistic,
    "hard": case_hard,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    parser.add_argument("--quick", action="store_true", help="smaller data, fewer values of C")
    chosen = parser.parse_args()
    header("Machines", ["numpy", "scipy", "numba", "scikit-learn"])
    begun = time.perf_counter()
    X, y = raw_dense(300, 5)
    for machine in (
        sx.LinearSVM(),
        sx.LinearSVM(solver="dual_coordinate"),
        sx.LogisticRegression(),
    ):
        machine.fit(X, y)
    print(f"First fits, compiled or loaded: {time.perf_counter() - begun:.1f} s, left out below.")
    for name in chosen.only:
        CASES[name](chosen.quick)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
