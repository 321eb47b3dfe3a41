"""Coverage of 95 % intervals and bias of estimates on simulated data: maximum likelihood and Firth.

    python -m benchmarks.coverage [--draws 600] [--draw docs/pictures/coverage.svg]

Two columns, one normal, one binary; log odds -0.5 + x + z. For each number of rows as many data
sets are drawn as `--draws` says. Coverage is that of both slopes; its binomial error is printed.
Bias of maximum likelihood is over the data sets whose estimates are finite.
"""

from __future__ import annotations

import argparse

import numpy as np

import separatrix as sx
from benchmarks._report import header

ROWS = (20, 30, 50, 100, 200)
TRUE = np.array([-0.5, 1.0, 1.0])
INTERVALS = ("maximum likelihood, profile", "Firth, profile", "Firth, Wald")


def drawn(n, seed):
    rng = np.random.default_rng([n, seed])
    while True:
        X = np.c_[rng.normal(size=n), rng.random(n) < 0.4]
        y = (rng.random(n) < 1.0 / (1.0 + np.exp(-TRUE[0] - X @ TRUE[1:]))).astype(int)
        if 0 < y.sum() < n and 0 < X[:, 1].sum() < n:
            return X, y


def simulated(n, draws):
    """Return coverages, biases of both methods, and the share of finite estimates."""
    covered, errors = np.zeros(3), ([], [])
    for seed in range(draws):
        X, y = drawn(n, seed)
        mle, firth = (sx.inference(X, y, method, prove=False) for method in ("mle", "firth"))
        for k, (found, low, high) in enumerate(
            (
                (mle, "lower", "upper"),
                (firth, "lower", "upper"),
                (firth, "wald_lower", "wald_upper"),
            )
        ):
            inside = (found.table[low] <= TRUE) & (found.table[high] >= TRUE)
            covered[k] += inside[1:].mean()
        if np.isfinite(mle.estimate).all():
            errors[0].append((mle.estimate - TRUE)[1:].mean())
        errors[1].append((firth.estimate - TRUE)[1:].mean())
    return covered / draws, [np.mean(each) for each in errors], len(errors[0]) / draws


def draw(path, draws, results):
    """Draw coverage and bias against the number of rows."""
    import matplotlib
    from matplotlib.figure import Figure

    from separatrix.plots._drawing import ACCENT, CLASS_COLOURS, FAINT, INK, RC

    colours = (INK, ACCENT, CLASS_COLOURS[0])
    with matplotlib.rc_context(RC | {"svg.hashsalt": "coverage"}):
        figure = Figure(figsize=(9.6, 3.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        error = 196.0 * np.sqrt(0.05 * 0.95 / draws)
        left.axhspan(95.0 - error, 95.0 + error, color=FAINT, alpha=0.35, linewidth=0)
        left.axhline(95.0, color=INK, linewidth=0.8)
        for k, name in enumerate(INTERVALS):
            shown = [100.0 * covered[k] for covered, _, _ in results]
            left.plot(ROWS, shown, "os^"[k] + "-", color=colours[k], label=name)
        left.set(xlabel="rows", ylabel="%", title="Coverage of 95 % intervals")
        for k, name in enumerate(("maximum likelihood, where finite", "Firth")):
            shown = [bias[k] for _, bias, _ in results]
            right.plot(ROWS, shown, "os"[k] + "-", color=colours[k], label=name)
        right.axhline(0.0, color=INK, linewidth=0.8)
        right.set(xlabel="rows", title="Bias of the slopes (both are 1)")
        for axes in (left, right):
            axes.set_xscale("log")
            axes.set_xticks(ROWS, [str(n) for n in ROWS])
            axes.minorticks_off()
            axes.legend(frameon=False)
        figure.savefig(path, metadata={"Date": None})


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--draws", type=int, default=600)
    options.add_argument("--draw")
    chosen = options.parse_args()
    header("Coverage of intervals, bias of estimates", ["numpy", "scipy"])
    error = 196.0 * np.sqrt(0.05 * 0.95 / chosen.draws)
    print(f"{chosen.draws} data sets for each number of rows; 95 % is within {error:.1f} points")
    print("rows   coverage: mle profile, Firth profile, Firth Wald   bias: mle, Firth   finite mle")
    results = []
    for n in ROWS:
        covered, bias, finite = simulated(n, chosen.draws)
        results.append((covered, bias, finite))
        shown = "  ".join(f"{100.0 * each:5.1f}" for each in covered)
        ends = f"{bias[0]:+.3f}  {bias[1]:+.3f}   {100.0 * finite:5.1f} %"
        print(f"{n:4d}   {shown}   {ends}", flush=True)
    if chosen.draw:
        draw(chosen.draw, chosen.draws, results)


if __name__ == "__main__":
    main()
