"""Generated problems by the hundred: the dual objective of KernelSVM beside SVC's at tol=1e-8.

    python -m benchmarks.kernel_checks [--count 500]

Prints, per kernel, how many agree to 1e-6 relative, how many of ours are proved to 1e-8, and what
became of the rest. A problem on which LIBSVM does not reach its tolerance in two million steps has
no value of its to compare with: it is told apart, and another problem takes its place.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from tests.problems import as_sparse, problem

import separatrix as sx
from benchmarks._report import header

SETTINGS = {
    "rbf": {"kernel": "rbf"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "linear": {"kernel": "linear"},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.05, "coef0": -0.2},
}
MOST_STEPS = 2_000_000
SKIPPED = ("one_row", "one_class", "extreme_columns")


def dual(machine, peer, X):
    share = np.zeros(len(X))
    share[peer.support_] = np.ravel(peer.dual_coef_)
    return abs(share).sum() - 0.5 * share @ machine.kernel_.block(X, X) @ share


def one(seed, settings, tally):
    case = problem(seed)
    if case.kind in SKIPPED or case.one_class:
        return False
    X = case.X / max(1.0, abs(case.X).max() / 3.0)
    C = 10.0 ** (seed % 5 - 2)
    data = as_sparse(X) if seed % 2 else X
    machine = sx.KernelSVM(C, tol=1e-8, **settings).fit(data, case.y_signs)
    peer = SVC(C=C, tol=1e-8, max_iter=MOST_STEPS, **settings).fit(X, case.y_signs)
    ours, theirs = dual(machine, machine, X), dual(machine, peer, X)
    off = (ours - theirs) / max(abs(ours), abs(theirs), 1e-12)
    if peer.n_iter_.max() >= MOST_STEPS and abs(off) > 1e-6:
        print(f"seed {seed} ({case.kind}), C={C:g}: SVC did not end; ours {ours!r}, {machine}; "
              f"SVC {theirs!r}", flush=True)  # fmt: skip
        return False
    tally["proved to 1e-8"] += machine.gap_ <= 1e-8
    tally["certificates confirmed"] += machine.certificate_.check(data, case.y_signs)
    tally["equal to 1e-6"] += abs(off) <= 1e-6
    tally["ours better"] += off > 1e-6
    tally["stationary only"] += machine.status_ == "stationary"
    if off < -1e-6:
        tally["ours worse"] += 1
        print(f"seed {seed} ({case.kind}), C={C:g}: ours {ours!r}, SVC {theirs!r}, {machine}")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    chosen = parser.parse_args()
    header("Kernel machines on generated problems", ["numpy", "scikit-learn"])
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, settings in SETTINGS.items():
        tally = dict.fromkeys(
            [
                "equal to 1e-6",
                "proved to 1e-8",
                "certificates confirmed",
                "ours better",
                "ours worse",
                "stationary only",
            ],
            0,
        )
        done, seed, begun = 0, 0, time.perf_counter()
        while done < chosen.count:
            done += one(seed, settings, tally)
            seed += 1
        listing = ", ".join(f"{words} {int(number)}" for words, number in tally.items())
        print(
            f"{name}: {done} problems, {listing}; {time.perf_counter() - begun:.0f} s", flush=True
        )


if __name__ == "__main__":
    main()
