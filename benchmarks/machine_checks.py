"""Two thousand generated machines against Clarabel, and a thousand fits on every shared data set.

    python -m benchmarks.machine_checks [--problems 2000] [--runs 1000]

The first counts objectives that differ from the reference by more than 1e-9 and 1e-7 of it; where
they do, ours is proved and the reference's own status is looked at. The second counts how fits
end: `optimal`, or a budget that was set.
"""

import argparse
import collections
import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from tests.naive import machine as naive
from tests.problems import problem

import separatrix as sx
from benchmarks._report import SHARED, header

KINDS = [
    "comfortable_margin", "separable_integers", "overlapping_gaussians", "integer_grid",
    "duplicate_rows", "opposite_duplicates", "collinear", "constant_columns",
    "fewer_rows_than_columns", "zero_rows", "zero_columns", "copied_columns", "mostly_zero",
]  # fmt: skip


def made(loss, **settings):
    if loss == "logistic":
        return sx.LogisticRegression(**settings)
    return sx.LinearSVM(loss=loss, **settings)


def check_problems(count):
    found = collections.Counter()
    worst = 0.0
    for seed in range(count):
        case = problem(seed, KINDS[seed % len(KINDS)])
        rng = np.random.default_rng(seed)
        scales = 10.0 ** rng.uniform(-8, 8, size=case.X.shape[1]) if seed % 5 == 4 else 1.0
        C = 10.0 ** rng.integers(-6, 7)
        weights = rng.integers(0, 4, size=len(case.X)).astype(float)
        for sign in (-1.0, 1.0):
            weights[np.flatnonzero(case.y_signs == sign)[:1]] = 1.0
        loss = ("hinge", "squared_hinge", "logistic")[seed % 3]
        X = case.X * scales
        machine = made(loss, C=C, tol=1e-9).fit(
            sp.csr_array(X) if seed % 2 else X, case.y_signs, weights
        )
        found[f"status {machine.status_}"] += 1
        least = naive.optimum(X, case.y_signs, C * weights, loss)
        off = abs(machine.objective_ - least) / max(least, 1e-12)
        ours_is_lower = machine.objective_ < least
        if off <= 1e-9:
            found["equal to 1e-9"] += 1
        elif off <= 1e-7:
            found["equal to 1e-7"] += 1
        elif ours_is_lower and machine.gap_ <= 1e-8:
            found["ours lower, and proved"] += 1
        elif machine.gap_ <= 1e-8:
            found["reference lower than a proved bound (it is not feasible)"] += 1
        else:
            found["apart"] += 1
            worst = max(worst, off)
    print(f"\n{count} generated problems, C 1e-6 to 1e6, scales to 1e-8 and 1e8, weights 0 to 3:")
    for what, times in sorted(found.items()):
        print(f"  {what}: {times}")
    print(f"  largest difference where neither is proved: {worst:.1e}")


def data_sets():
    for name in ("a9a.libsvm", "mushrooms.libsvm", "heart_scale.libsvm", "spambase.csv"):
        table = sx.read(SHARED / name)
        yield name, table.X, table.y
    for name, target in (("endometrial.csv", "HG"), ("alon.csv.gz", "class")):
        table = sx.read(SHARED / name, target=target)
        yield name, table.X, table.y
    for load in (load_iris, load_wine, load_breast_cancer, load_digits):
        yield load.__name__, *load(return_X_y=True)
    polarity = SHARED / "rt-polarity"
    table = sx.read(
        [polarity / "rt-polarity.neg", polarity / "rt-polarity.pos"], encoding="latin-1"
    )
    yield "rt-polarity", table.X, table.y


def check_runs(count):
    sets = list(data_sets())
    found, slow = collections.Counter(), []
    for number in range(count):
        rng = np.random.default_rng(number)
        name, X, y = sets[number % len(sets)]
        rows = rng.permutation(X.shape[0])[: int(rng.choice([200, 1000, 5000]))]
        if len(np.unique(y[rows])) < 2:
            continue
        loss = ("hinge", "squared_hinge", "logistic")[int(rng.integers(3))]
        C = 10.0 ** rng.integers(-4, 5)
        tol = 10.0 ** -rng.integers(2, 8)
        begun = time.perf_counter()
        machine = made(loss, C=C, tol=tol).fit(X[rows], y[rows])
        spent = time.perf_counter() - begun
        found[str(machine.status_)] += 1
        if str(machine.status_) != "optimal":
            print(f"  {name} {loss} C={C:g} tol={tol:g} rows={len(rows)}: {machine.status_}, gap "
                  f"{machine.gap_:.1e}, {machine.solver_}", flush=True)  # fmt: skip
        slow.append((spent, name, loss, C))
    print(f"\n{sum(found.values())} fits on the shared sets: {dict(found)}; slowest {max(slow)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=1000)
    chosen = parser.parse_args()
    header("Machines: checks", ["numpy", "scipy", "clarabel", "scikit-learn"])
    warnings.simplefilter("ignore")
    check_problems(chosen.problems)
    check_runs(chosen.runs)


if __name__ == "__main__":
    main()
