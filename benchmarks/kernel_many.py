"""Many classes with a kernel: pairs, one against the rest, and all at once, beside SVC.

    python -m benchmarks.kernel_many [--gap 1e-3] [--costs 1 10]

RBF machines, gamma "scale", on digits and on the 10,000 images of Fashion-MNIST; the last fifth of
the rows is held out. Seconds on the wall of the whole fit, proof included, to a proved gap; the
loops are compiled before. What is fastest errs least only by accident: the table says both.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn import datasets
from sklearn.svm import SVC

import separatrix as sx
from benchmarks._report import SHARED, header

WAYS = ("ovo", "ovr", "direct")


def sets():
    yield "digits", *datasets.load_digits(return_X_y=True)
    images = sx.read(SHARED / "fashion-mnist" / "t10k-images-idx3-ubyte.gz")
    rows = images.X.toarray() if hasattr(images.X, "toarray") else np.asarray(images.X)
    yield "Fashion-MNIST", rows / 255.0, np.asarray(images.y)


def timed(machine, X, y):
    begun = time.perf_counter()
    machine.fit(X, y)
    return time.perf_counter() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gap", type=float, default=1e-3)
    parser.add_argument("--costs", type=float, nargs="*", default=[1.0, 10.0])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    header("Many classes with a kernel", ["numpy", "scikit-learn"])
    print("| set | C | machine | seconds | proved gap | support | error held out |")
    print("|---|---:|---|---:|---:|---:|---:|")
    for name, X, y in sets():
        cut = len(X) * 4 // 5
        train, test = (X[:cut], y[:cut]), (X[cut:], y[cut:])
        for way in WAYS:
            sx.KernelSVM(multi_class=way, tol=0.1).fit(*train)
        for C in options.costs:
            machines = {way: sx.KernelSVM(C, multi_class=way, tol=options.gap) for way in WAYS} | {
                "SVC": SVC(C=C, cache_size=1000)
            }
            for way, machine in machines.items():
                seconds = timed(machine, *train)
                gap = f"{machine.gap_:.1e}" if way != "SVC" else "-"
                error = (machine.predict(test[0]) != test[1]).mean()
                print(
                    f"| {name} | {C:g} | {way} | {seconds:.2f} | {gap} | "
                    f"{len(machine.support_):,} | {error:.2%} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
