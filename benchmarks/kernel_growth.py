"""How kernel machines grow with the rows: exact, and lifted by random features, drawn.

    python -m benchmarks.kernel_growth [--most 100000]

The same data at 1,000 to 100,000 rows, an RBF kernel with C = 1: `KernelSVM` to a gap of 1e-3, SVC
as far as 20,000 rows, and `LinearSVM` behind `lift.RandomFourier` and `lift.Nystrom` with 500
columns each. Seconds on the wall and errors on 10,000 more rows; docs/pictures/kernel_growth.svg.
"""

import argparse
import time
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import separatrix as sx
from benchmarks._report import header
from benchmarks.kernels import synthetic
from separatrix.plots._drawing import ACCENT, CLASS_COLOURS, INK, RC

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "kernel_growth.svg"
SIZES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
TEST, COLUMNS, SVC_MOST = 10_000, 500, 20_000


def methods(gamma):
    """Return each method with how it is drawn and how many rows it is given at most."""
    fourier = sx.lift.RandomFourier(COLUMNS, gamma=gamma, random_state=0)
    nystrom = sx.lift.Nystrom(COLUMNS, gamma=gamma, random_state=0)
    linear = {"loss": "squared_hinge", "tol": 1e-3}
    return {
        "KernelSVM": (sx.KernelSVM(gamma=gamma, tol=1e-3), ACCENT, "o", np.inf),
        "SVC": (SVC(gamma=gamma, cache_size=1000), INK, "s", SVC_MOST),
        "RandomFourier": (
            make_pipeline(fourier, sx.LinearSVM(**linear)),
            CLASS_COLOURS[0],
            "^",
            np.inf,
        ),
        "Nystrom": (make_pipeline(nystrom, sx.LinearSVM(**linear)), CLASS_COLOURS[1], "v", np.inf),
    }


def measured(most):
    """Return (rows, seconds, error) of every method."""
    X, y = synthetic(max(SIZES) + TEST)
    gamma = 1.0 / (X.shape[1] * float(X.var()))
    test_X, test_y = X[-TEST:], y[-TEST:]
    print("| rows | method | seconds | error |\n|---:|---|---:|---:|")
    found = {}
    for name, (machine, *_, last) in methods(gamma).items():
        machine.fit(X[:500], y[:500])  # compiled or loaded
        for n in (size for size in SIZES if size <= min(most, last)):
            begun = time.perf_counter()
            machine.fit(X[:n], y[:n])
            spent = time.perf_counter() - begun
            error = float((machine.predict(test_X) != test_y).mean())
            found.setdefault(name, []).append((n, spent, error))
            print(f"| {n:,} | {name} | {spent:.2f} | {100 * error:.1f} % |", flush=True)
    return found, methods(gamma)


def draw(found, styles):
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(9.6, 3.8), layout="constrained")
        FigureCanvasAgg(figure)
        seconds, errors = figure.subplots(1, 2)
        for name, points in found.items():
            _, colour, marker, _ = styles[name]
            n, spent, error = np.array(points).T
            style = {"color": colour, "marker": marker, "markersize": 5, "label": name}
            seconds.plot(n, spent, **style)
            errors.plot(n, 100.0 * error, **style)
        seconds.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds", title="Fitting")
        errors.set(xscale="log", xlabel="rows", ylabel="%", title="Errors on new rows")
        errors.set_ylim(bottom=0.0)
        seconds.legend(frameon=False)
        figure.savefig(PICTURE)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=max(SIZES))
    header("Kernel machines: growth", ["numpy", "numba", "scikit-learn"])
    draw(*measured(parser.parse_args().most))


if __name__ == "__main__":
    main()
