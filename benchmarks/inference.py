"""Inference beside statsmodels, firthmodels and R's brglm2: CPU seconds, one thread each.

    python -m benchmarks.inference [--large]

Fits are compared alone. Tests and profiles are shown twice, both with the decision whether the
classes are separated, which no peer makes: all numbers, and every number enclosed. Their runs take
turns with the peer's, and the least time counts.
Peers that are not installed (pip install statsmodels firthmodels; apt-get install r-cran-brglm2)
are left out. `--large` adds 100,000 x 50, its profiles once. Rows that take longer than a peer are
listed again.
`benchmarks.inference_hard` has problems on which peers fail.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import separatrix as sx
from benchmarks._report import header
from separatrix.checker import check
from separatrix.problem.canonical import as_checker_data, problem_from
from separatrix.solvers.running.drive import one_thread

ENDOMETRIAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "endometrial.csv"


def generated(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X, b = rng.normal(size=(n, d)), rng.normal(size=d + 1) / np.sqrt(d)
    return X, (rng.random(n) < 1.0 / (1.0 + np.exp(-b[0] - X @ b[1:]))).astype(int)


def cpu(function, repeats=3):
    """Return the median CPU seconds after one run that is not counted, and what came out."""
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, times = function(), []
        for _ in range(repeats):
            begun = time.process_time()
            found = function()
            times.append(time.process_time() - begun)
    return float(np.median(times)), found


def cpu_in_turns(functions, repeats):
    """Return the least CPU seconds of each function, which take turns; several have a first run."""
    least = [np.inf] * len(functions)
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(repeats + (repeats > 1)):
            for k, function in enumerate(functions):
                begun = time.process_time()
                function()
                if turn or repeats == 1:
                    least[k] = min(least[k], time.process_time() - begun)
    return least


def cpu_once(whole, data):
    """Return the CPU seconds of the stand-alone checker."""
    begun = time.process_time()
    check(whole, data)
    return time.process_time() - begun


LOST = []


def row(name, ours, peer, peer_name):
    beside = ""
    if peer is not None:
        beside = f"  {peer_name} {peer:9.4f}  ratio {ours / peer:6.2f}"
        if ours > peer:
            LOST.append(f"{name}: {ours / peer:.2f} times {peer_name}")
    print(f"{name:46s} ours {ours:9.4f}{beside}", flush=True)


R_SCRIPT = """
suppressMessages(library(brglm2))
options(digits = 12)
d <- read.csv(commandArgs(TRUE)[1]); times <- as.integer(commandArgs(TRUE)[2])
fit <- function() glm(y ~ ., binomial, d, method = "brglm_fit", type = "AS_mean",
                      control = list(epsilon = 1e-10, maxit = 1000))
found <- fit()
used <- function(f) sum(system.time(for (k in 1:times) f())[1:2]) / times
cat(used(fit), used(function() glm(y ~ ., binomial, d)), coef(found), "\\n")
"""


def brglm2(X, y, times):
    """Return CPU seconds of brglm2's fit and of glm, and brglm2's estimates; None without R."""
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        script, data = Path(folder, "fit.R"), Path(folder, "data.csv")
        script.write_text(R_SCRIPT)
        names = ",".join(f"x{j}" for j in range(X.shape[1]))
        np.savetxt(data, np.c_[X, y], "%.17g", ",", header=f"{names},y", comments="")
        command = ["Rscript", "--vanilla", script, data, str(times)]
        quiet = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, capture_output=True, text=True, env=quiet, check=False)
    if done.returncode:
        return None
    numbers = np.array(done.stdout.split(), dtype=float)
    return numbers[0], numbers[1], numbers[2:]


def peers():
    found = {}
    try:
        import statsmodels.api as sm

        def logit(X, y):
            return sm.Logit(y, np.c_[np.ones(len(y)), X]).fit(disp=0)

        found["statsmodels"] = logit
    except ImportError:
        print("statsmodels is not installed")
    try:
        from firthmodels import FirthLogisticRegression

        found["firthmodels"] = FirthLogisticRegression
    except ImportError:
        print("firthmodels is not installed")
    return found


def sets(large):
    if ENDOMETRIAL.exists():
        whole = np.array(list(csv.reader(ENDOMETRIAL.open()))[1:], dtype=float)
        yield "endometrial 79 x 3", whole[:, :3], whole[:, 3].astype(int)
    yield "1,000 x 10", *generated(1000, 10)
    if large:
        yield "100,000 x 50", *generated(100_000, 50)


def fits(large, others):
    from separatrix.infer.given import given
    from separatrix.infer.model import Task, _Fit
    from separatrix.infer.newton import best_maximum

    def fit(X, y, method):
        design = given(X, y).design()
        fitted = _Fit(design.X, design, None, Task(method))
        return fitted.coefficients(best_maximum(fitted.like)[0].point)

    logit, firth = others.get("statsmodels"), others.get("firthmodels")
    for name, X, y in sets(large):
        repeats = 1 if len(y) > 10_000 else 5
        in_r = brglm2(X, y, repeats) if len(y) <= 10_000 else None  # it takes minutes
        separated = name.startswith("endometrial")
        if not separated:
            ours, _ = cpu(lambda X=X, y=y: fit(X, y, "mle"), repeats)
            if logit is not None:
                peer = cpu(lambda X=X, y=y: logit(X, y), repeats)[0]
                row(f"{name}, mle fit", ours, peer, "statsmodels")
            row(f"{name}, mle fit", ours, in_r and in_r[1], "R's glm")
        ours, found = cpu(lambda X=X, y=y: fit(X, y, "firth"), repeats)
        if firth is not None:
            peer = cpu(lambda X=X, y=y: firth().fit(X, y), repeats)[0]
            row(f"{name}, firth fit", ours, peer, "firthmodels")
        if in_r is not None:
            row(f"{name}, firth fit", ours, in_r[0], "brglm2")
            off = abs(found - in_r[2]).max()
            print(f"    largest difference from brglm2's estimates {off:.1e}")
        profiles(name, X, y, firth, 7 if len(y) <= 10_000 else 1)


def profiles(name, X, y, firth, repeats):
    from separatrix.infer.given import given
    from separatrix.infer.profile import face_of

    def whole():
        model = firth().fit(X, y)
        model.lrt()
        return model.conf_int(method="pl")

    design = given(X, y).design()
    functions = [
        lambda: sx.inference(X, y, "firth", prove=False),
        lambda: sx.inference(X, y, "firth"),
        lambda: face_of(design.X, design.signs),
        *([whole] if firth is not None else []),
    ]
    ours, proved, decided, *rest = cpu_in_turns(functions, repeats)
    peer = rest[0] if rest else None
    row(f"{name}, firth tests and profiles", ours, peer, "firthmodels")
    row("    and every number enclosed", proved, peer, "firthmodels")
    print(f"    separation decided in exact arithmetic alone    {decided:9.4f}")
    if repeats == 1:
        return
    data = as_checker_data(problem_from(X, y, True))
    for method in ("mle", "firth", "ridge"):
        whole = json.loads(sx.inference(X, y, method).certificate.to_json())
        print(f"    certificate checked alone, {method:6s}          {cpu_once(whole, data):9.2f}")


def scans(others):
    firth = others.get("firthmodels")
    for n, d, m in ((500, 5, 200), (2000, 6, 50)):
        C, y = generated(n, d, 1)
        G = np.random.default_rng(2).integers(0, 3, (n, m)).astype(float)
        ours, _ = cpu(lambda C=C, G=G, y=y: sx.inference(C, y, "firth", each=G), 3)
        peer = None
        if firth is not None:

            def each(C=C, G=G, y=y, d=d):
                for g in G.T[:20]:
                    firth().fit(np.c_[C, g], y).lrt(features=[d])

            peer = cpu(each, 1)[0] * m / 20
        row(f"scan, {n:,} x {d}, {m} columns", ours, peer, "firthmodels")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--large", action="store_true")
    chosen = options.parse_args()
    header("Inference for logistic regression", ["numpy", "scipy"])
    others = peers()
    print("CPU seconds, median")
    fits(chosen.large, others)
    scans(others)
    print("Rows that take longer than a peer:" if LOST else "No row takes longer than a peer.")
    for line in LOST:
        print(f"  {line.strip()}")


if __name__ == "__main__":
    main()
