"""Gap against time, how cost grows, and memory: the machines beside LinearSVC, drawn.

    python -m benchmarks.machine_curves [gap] [growth] [memory]

`gap` draws docs/pictures/gap_against_time.svg: our gap as the solver runs, and LinearSVC's true
distance from the optimum for each tolerance it was given. `growth` doubles rows, columns, nonzeros
and C four times each and draws docs/pictures/growth.svg. `memory` prints the peak beyond the input.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

import matplotlib
import numpy as np
import scipy.sparse as sp
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import separatrix as sx
from benchmarks import _machine_peers as peers
from benchmarks import _text_sets as text
from benchmarks._report import header
from benchmarks.machines import a9a, raw_dense
from separatrix.plots._drawing import ACCENT, CLASS_COLOURS, INK, RC
from separatrix.problem.losses import HINGE
from separatrix.problem.machine import MachineProblem
from separatrix.problem.signed import SignedProblem
from separatrix.solvers.linear.choose import choose
from separatrix.solvers.linear.model_run import MachineRun

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"


def our_curve(X, y, C, tol):
    """(seconds, gap) after every update of the solver, on LIBLINEAR's objective."""
    rows = SignedProblem(X, y)
    problem = MachineProblem(rows, np.full(X.shape[0], C), HINGE, 1.0)
    points = []
    for _ in range(2):  # the first run loads and compiles
        begun = time.perf_counter()
        run = MachineRun(problem, choose(problem), tol=tol)
        points = []
        while run.method.advance(run.state, 1) is None:
            points.append((time.perf_counter() - begun, run.state.gap))
        points.append((time.perf_counter() - begun, run.state.gap))
    return points


def draw_gaps():
    cases = [("a9a", a9a, 10.0), ("20 newsgroups", text.newsgroups_two_classes, 10.0)]
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(9.6, 3.8), layout="constrained")
        FigureCanvasAgg(figure)
        for axes, (name, make, C) in zip(figure.subplots(1, 2), cases, strict=True):
            X, y = make()
            ours = our_curve(X, y, C, 1e-6)
            best = sx.LinearSVM(C, tol=1e-8, intercept_penalty=1.0).fit(X, y).dual_objective_
            reach = peers.linear_svc(X, y, C, "hinge", 1e-6, best, repeats=1)
            axes.plot(*np.array(ours).T, color=ACCENT, label="ours: gap proved", linewidth=1.8)
            points = np.array(reach.points)
            axes.plot(
                *points.T, color=INK, marker="o", markersize=4, label="LinearSVC: true distance"
            )
            axes.axhline(1e-6, color=CLASS_COLOURS[1], linewidth=0.8, linestyle=":")
            axes.set(
                xscale="log", yscale="log", xlabel="seconds", title=f"{name}, hinge, C = {C:g}"
            )
            axes.set_ylim(3e-7, 2.0)
            print(name, "ours", f"{ours[-1][0]:.3f} s to {ours[-1][1]:.1e};", "LinearSVC", reach)
        figure.axes[0].set_ylabel("relative distance from the optimum")
        figure.axes[0].legend(frameon=False)
        figure.savefig(PICTURES / "gap_against_time.svg")


def seconds_of(machine, X, y):
    machine.fit(X, y)
    return min(peers.timed(lambda: machine.fit(X, y), 1)[0] for _ in range(3))


def grown():
    """For each thing doubled four times: (name, factors, seconds of hinge, of logistic)."""
    for name in ("rows", "columns", "nonzeros", "C"):
        factors, hinge, logistic = [1, 2, 4, 8, 16], [], []
        for k in factors:
            n, d = (
                (4_000 * k, 40) if name == "rows" else (8_000, 10 * k if name == "columns" else 40)
            )
            C = 0.1 * k if name == "C" else 1.0
            if name == "nonzeros":
                rng = np.random.default_rng(0)
                X = sp.random_array((8_000, 20_000), density=0.0005 * k, rng=rng, format="csr")
                y = np.where(X @ rng.normal(size=20_000) + 0.1 * rng.normal(size=8_000) > 0, 1, -1)
            else:
                X, y = raw_dense(n, d)
            hinge.append(seconds_of(sx.LinearSVM(C), X, y))
            logistic.append(seconds_of(sx.LogisticRegression(C), X, y))
        print(name, [f"{v:.3f}" for v in hinge], [f"{v:.3f}" for v in logistic], flush=True)
        yield name, factors, hinge, logistic


def draw_growth():
    print("\nSeconds as each is doubled four times: hinge, logistic")
    with matplotlib.rc_context(RC):
        figure = Figure(figsize=(11.0, 3.0), layout="constrained")
        FigureCanvasAgg(figure)
        for axes, (name, factors, hinge, logistic) in zip(
            figure.subplots(1, 4), grown(), strict=True
        ):
            axes.plot(factors, np.array(hinge) / hinge[0], color=ACCENT, marker="o", label="hinge")
            axes.plot(
                factors, np.array(logistic) / logistic[0], color=INK, marker="s", label="logistic"
            )
            axes.plot(
                factors, factors, color=CLASS_COLOURS[1], linestyle=":", label="in proportion"
            )
            axes.set(xscale="log", yscale="log", title=name, xlabel="times as many")
            axes.set_xticks(factors, [str(k) for k in factors])
            axes.minorticks_off()
        figure.axes[0].set_ylabel("times as long")
        figure.axes[0].legend(frameon=False)
        figure.savefig(PICTURES / "growth.svg")


MEMORY = """
import resource, sys
import numpy as np, separatrix as sx
from benchmarks import _text_sets as text
from benchmarks.machines import raw_dense
what, loss = sys.argv[1:]
warm, signs = raw_dense(300, 5)
def make():
    return sx.LogisticRegression() if loss == "logistic" else sx.LinearSVM(loss=loss)
make().fit(warm, signs)
sx.LinearSVM(solver="dual_coordinate", tol=1e-2).fit(warm, signs)
X, y = raw_dense() if what == "dense" else text.textlike()
size = X.nbytes if what == "dense" else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
open("/proc/self/clear_refs", "w").write("5")  # the peak is counted from here
make().fit(X, y)
peak = [line for line in open("/proc/self/status") if line.startswith("VmHWM")][0]
print(size, int(peak.split()[1]) * 1024 - before)
"""


def memory():
    print("\n| data | loss | input MB | peak beyond it MB | share |\n|---|---|---:|---:|---:|")
    for what in ("dense", "sparse"):
        for loss in ("hinge", "squared_hinge", "logistic"):
            done = subprocess.run(
                [sys.executable, "-c", MEMORY, what, loss],
                capture_output=True,
                text=True,
                check=True,
            )
            size, beyond = map(int, done.stdout.split())
            print(
                f"| {what} | {loss} | {size / 1e6:.0f} | {beyond / 1e6:.0f} "
                f"| {100 * beyond / size:.0f} % |",
                flush=True,
            )


def main():
    header("Machines: curves", ["numpy", "scipy", "numba", "scikit-learn"])
    chosen = sys.argv[1:] or ["gap", "growth", "memory"]
    for name, work in (("gap", draw_gaps), ("growth", draw_growth), ("memory", memory)):
        if name in chosen:
            work()
    print(
        f"\npeak of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:.0f} MB"
    )


if __name__ == "__main__":
    main()
