"""CPU seconds of the stand-alone checker a million entries, for every kind of certificate.

    python -m benchmarks.checker [--entries 1000000]

Entries are rows times columns of dense data, times the classes of models with one weight vector a
class, or pairs of rows and support vectors for kernels. Reading a CSV file of as many entries is
the last line. Each figure is of one run in one process, standard library alone.
"""

import argparse
import json
import sys
import tempfile
import time
import warnings
from argparse import Namespace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import separatrix as sx
from benchmarks._report import header
from separatrix.checker import check
from separatrix.checker.kinds import about
from separatrix.checker.reading import read_data
from separatrix.problem.canonical import as_checker_data, problem_from

COLUMNS = 20


def clouds(entries, classes=2, apart=0.5):
    rng = np.random.default_rng(0)
    y = rng.integers(classes, size=max(20, entries // COLUMNS))
    return rng.normal(size=(len(y), COLUMNS)) + apart * y[:, None], y


def of_model(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return json.loads(model.fit(X, y).certificate_.to_json())


def kinds(entries):
    """Yield the name, the certificate, the data and how many entries there are."""
    X, y = clouds(entries)
    apart = clouds(entries, apart=9.0)
    yield "separation", of_model(sx.Perceptron(), *apart), *apart, X.size
    yield "margin-bounds", of_model(sx.Kozinec(epsilon=0.5), *apart), *apart, X.size
    yield "overlap", json.loads(sx.separability(X, y).certificate.to_json()), X, y, X.size
    for loss in ("hinge", "squared_hinge"):
        yield f"duality-gap, {loss}", of_model(sx.LinearSVM(loss=loss), X, y), X, y, X.size
    yield "duality-gap, logistic", of_model(sx.LogisticRegression(), X, y), X, y, X.size
    wide = X * 10.0 ** np.random.default_rng(1).integers(-150, 150, size=X.shape)
    w = np.random.default_rng(2).normal(size=COLUMNS + 1)
    flat = {"weights": [[v.hex() for v in w.tolist()]]}
    yield "separation, scales 1e-150 to 1e150 (refused)", flat, wide, y, X.size
    K = 4
    X, y = clouds(entries // K, K)
    direct = sx.LinearSVM(multi_class="direct", max_seconds=20.0)
    yield "multiclass-gap", of_model(direct, X, y), X, y, K * X.size
    softmax = sx.LogisticRegression(multi_class="multinomial")
    yield "softmax-gap", of_model(softmax, X, y), X, y, K * X.size
    X, y = clouds(COLUMNS * max(40, int((entries / 2) ** 0.5)), apart=0.7)
    for name in ("linear", "poly", "rbf"):
        whole = of_model(sx.KernelSVM(kernel=name, gamma=0.02, degree=2, coef0=1.0), X, y)
        yield f"kernel-gap, {name}", whole, X, y, len(X) * len(whole["claim"]["rows"])
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, 2)), rng.integers(2, size=200)
    yield "errors, cells in the plane", of_model(sx.ZeroOne(), X, y), X, y, len(X) ** 2


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=1_000_000)
    told = parser.parse_args()
    header("The stand-alone checker", ["separatrix"])
    print(f"{'kind':46} {'entries':>11} {'CPU s':>8} {'s a million':>12}")
    for name, whole, X, y, entries in kinds(told.entries):
        data, kept = as_checker_data(problem_from(X, y, True)), whole
        if "format" not in whole:
            facts = {"rows": len(X), "features": X.shape[1], "intercept": True}
            facts |= {"classes": ["0", "1"], "sha256": data.fingerprint()}
            kept = {"format": "separatrix-certificate-1", "kind": "separation", "data": facts}
            kept["claim"] = whole
        began = time.process_time()
        try:
            check(kept, data)
        except ValueError as reason:
            if "refused" not in name:
                raise SystemExit(f"{name}: {reason}") from reason
        took = time.process_time() - began
        print(f"{name:46} {entries:>11,} {took:>8.2f} {1e6 * took / entries:>12.2f}", flush=True)
    X, y = clouds(told.entries)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.csv"
        np.savetxt(path, np.column_stack([X, y]), delimiter=",", fmt="%.17g", comments="",
                   header=",".join([*(f"x{j}" for j in range(COLUMNS)), "class"]))  # fmt: skip
        facts = Namespace(data=path, kind=None, target=None, drop=[], positive=None)
        whole = of_model(sx.LinearSVM(max_passes=1), X[:100], y[:100])
        began = time.process_time()
        read_data(facts, about(whole))
        took = time.process_time() - began
    print(f"{'reading a CSV file':46} {X.size:>11,} {took:>8.2f} {1e6 * took / X.size:>12.2f}")


if __name__ == "__main__":
    main()
