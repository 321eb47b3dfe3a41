"""The same machines on the processor and on a device: objectives and predictions, set by set.

    python -m benchmarks.gpu_equality --save FILE            on the processor: fit, and keep
                                      [--sets adult,wine]
    python -m benchmarks.gpu_equality --compare FILE         where the device is: fit again, compare
                                      [--device cuda]

In two parts, since the machine with the GPU may have neither the data nor the compiled loops. The
sets are the dense ones of ../shared/data and scikit-learn's, whole, and two tables with words, made
dense (census without a kernel machine: 199,523 rows). Machines are fitted to a proved gap of 1e-7
(kernel machines 1e-6), so that objectives must agree to 1e-6; predictions must be the same but for
rows within 1e-3 of a tie, as a share of the median distance to one. Every certificate of the device
is checked again by the processor.
"""

import argparse
import json
import sys
import time
import warnings

import numpy as np
from sklearn import datasets

import separatrix as sx
from benchmarks._report import SHARED

NEAR_A_TIE = 1e-3
MOST_KERNEL_ROWS = 100_000
MACHINES = {
    "hinge": lambda **more: sx.LinearSVM(tol=1e-7, **more),
    "squared hinge": lambda **more: sx.LinearSVM(loss="squared_hinge", tol=1e-7, **more),
    "logistic": lambda **more: sx.LogisticRegression(tol=1e-7, **more),
    "multinomial": lambda **more: sx.LogisticRegression(
        multi_class="multinomial", tol=1e-7, **more
    ),
    "least squares": sx.LeastSquares,
    "Fisher": sx.Fisher,
    "rbf": lambda **more: sx.KernelSVM(tol=1e-6, **more),
}


def sets():
    """Yield a name, rows and labels."""
    yield "iris", *datasets.load_iris(return_X_y=True)
    yield "wine", *datasets.load_wine(return_X_y=True)
    yield "breast_cancer", *datasets.load_breast_cancer(return_X_y=True)
    yield "digits", *datasets.load_digits(return_X_y=True)
    for name, file in {
        "heart_scale": "heart_scale.libsvm",
        "endometrial": "endometrial.csv",
        "spambase": "spambase.csv",
        "alon": "alon.csv.gz",
        "adult": "adult-train.csv",
        "census": "census_income_train.csv.gz",
    }.items():
        table = sx.read(SHARED / file)
        X = table.X.toarray() if hasattr(table.X, "toarray") else np.asarray(table.X)
        y = np.unique(np.asarray(table.y), return_inverse=True)[1]
        yield name, X, y
    images = sx.read(SHARED / "fashion-mnist" / "t10k-images-idx3-ubyte.gz")
    rows = images.X.toarray() if hasattr(images.X, "toarray") else np.asarray(images.X)
    y = np.unique(np.asarray(images.y), return_inverse=True)[1]
    yield "Fashion-MNIST", rows / 255.0, y


def suits(name, y):
    if name == "rbf":
        return len(y) <= MOST_KERNEL_ROWS
    return name != "Fisher" or len(np.unique(y)) == 2


def objective_of(machine):
    value = getattr(machine, "objective_", None)
    return None if value is None else np.atleast_1d(value).astype(float).tolist()


def save(path, wanted):
    kept, told = {}, []
    for number, (name, X, y) in enumerate(sets()):
        if wanted and name not in wanted:
            continue
        kept[f"X{number}"], kept[f"y{number}"] = X, y
        for kind, make in MACHINES.items():
            if not suits(kind, y):
                continue
            begun = time.perf_counter()
            machine = make().fit(X, y)
            key = f"s{number}_{kind.replace(' ', '_')}"
            kept[key] = machine.decision_function(X).astype(np.float64)
            told.append([name, number, kind, key, objective_of(machine)])
            seconds = time.perf_counter() - begun
            print(f"{name}, {kind}: {objective_of(machine)}, {seconds:.1f} s", flush=True)
    np.savez_compressed(path, told=np.array(json.dumps(told)), **kept)


def far_from_ties(scores):
    if scores.ndim == 1:
        distances = abs(scores)
    else:
        top = np.sort(scores, axis=1)
        distances = top[:, -1] - top[:, -2]
    return distances > NEAR_A_TIE * np.median(distances)


def chosen(scores):
    return (scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)


def compare(path, device):
    with np.load(path) as kept:
        told = json.loads(str(kept["told"]))
        arrays = {name: kept[name] for name in kept.files if name != "told"}
    import torch

    named = torch.cuda.get_device_name() if device.startswith("cuda") else "the processor"
    print(f"{named}; Python {sys.version.split()[0]}, torch {torch.__version__}; "
          f"{time.strftime('%Y-%m-%d')}\n")  # fmt: skip
    print("| set | machine | objectives apart | other predictions off ties | proof | seconds |")
    print("|---|---|---:|---:|---|---:|")
    bad = 0
    for name, number, kind, key, objective in told:
        X, y, scores = arrays[f"X{number}"], arrays[f"y{number}"], arrays[key]
        begun = time.perf_counter()
        given = torch.tensor(X) if device == "torch-cpu" else X
        where = "cpu" if device == "torch-cpu" else device
        machine = MACHINES[kind](device=where).fit(given, y)
        seconds = time.perf_counter() - begun
        apart = 0.0
        if objective is not None:
            here = np.array(objective_of(machine))
            apart = float((abs(here - objective) / np.maximum(np.abs(objective), 1e-300)).max())
        clear = far_from_ties(scores)
        other = int((chosen(machine.decision_function(X)) != chosen(scores))[clear].sum())
        certificate = getattr(machine, "certificate_", None)  # wide rows: Fisher has none
        holds = True if certificate is None else certificate.check(X, y)
        bad += apart > 1e-6 or other > 0 or not holds
        proof = "holds" if holds else "REFUSED"
        print(f"| {name} | {kind} | {apart:.1e} | {other} of {int(clear.sum()):,} | {proof} | "
              f"{seconds:.2f} |", flush=True)  # fmt: skip
    print(f"\n{len(told)} machines, {bad} that differ")
    sys.exit(bad > 0)


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--save")
    parser.add_argument("--sets", help="names, divided by commas; all where not given")
    parser.add_argument("--compare")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    if options.save:
        save(options.save, options.sets.split(",") if options.sets else None)
    if options.compare:
        compare(options.compare, options.device)


if __name__ == "__main__":
    main()
