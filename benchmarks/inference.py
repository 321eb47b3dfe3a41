"""Inference beside statsmodels and firthmodels: CPU seconds, in one process, one thread each.

    python -m benchmarks.inference [--large]

Ours are shown twice: the numbers alone, and with every number enclosed. Peers that are not
installed (pip install statsmodels firthmodels) are left out. `--large` adds 100,000 x 50.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np

import separatrix as sx
from benchmarks._report import header
from separatrix.solvers.running.threads import one_thread

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


def row(name, ours, proved, peer, peer_name):
    beside = "" if peer is None else f"  {peer_name} {peer:9.4f}  ratio {ours / peer:6.2f}"
    enclosed = "" if proved is None else f"  enclosed {proved:9.4f}"
    print(f"{name:34s} ours {ours:9.4f}{enclosed}{beside}", flush=True)


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
    from separatrix.infer.starts import best_maximum

    def fit(X, y, method):
        design = given(X, y).design()
        return best_maximum(_Fit(design.X, design, None, Task(method)).like)[0]

    logit, firth = others.get("statsmodels"), others.get("firthmodels")
    for name, X, y in sets(large):
        repeats = 1 if len(y) > 10_000 else 5
        separated = name.startswith("endometrial")
        if not separated:
            ours, _ = cpu(lambda X=X, y=y: fit(X, y, "mle"), repeats)
            peer = None if logit is None else cpu(lambda X=X, y=y: logit(X, y), repeats)[0]
            row(f"{name}, mle fit", ours, None, peer, "statsmodels")
        ours, _ = cpu(lambda X=X, y=y: fit(X, y, "firth"), repeats)
        peer = None if firth is None else cpu(lambda X=X, y=y: firth().fit(X, y), repeats)[0]
        row(f"{name}, firth fit", ours, None, peer, "firthmodels")
        if len(y) > 10_000:
            continue

        def whole(X=X, y=y):
            model = firth().fit(X, y)
            model.lrt()
            return model.conf_int(method="pl")

        ours, _ = cpu(lambda X=X, y=y: sx.inference(X, y, "firth", prove=False), 3)
        proved, _ = cpu(lambda X=X, y=y: sx.inference(X, y, "firth"), 3)
        peer = None if firth is None else cpu(whole, 3)[0]
        row(f"{name}, firth tests and profiles", ours, proved, peer, "firthmodels")


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
        row(f"scan, {n:,} x {d}, {m} columns", ours, None, peer, "firthmodels")


def hard(others, count=100):
    """Count what each solves to 1e-6 of the best value known, and is wrong about in silence."""
    firth = others.get("firthmodels")
    ours = [0, 0, 0]
    theirs = [0, 0, 0]
    for seed in range(count):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(1, 4))
        n = int(rng.integers(d + 5, 40))
        X = rng.standard_cauchy(size=(n, d)) if seed % 3 == 0 else rng.normal(size=(n, d))
        y = (X @ rng.normal(size=d) + 0.2 * rng.normal(size=n) > 0).astype(int)
        if y.min() == y.max():
            y[0] = 1 - y[0]
        found = sx.inference(X, y, "firth")
        best = found.estimate
        value = _penalised(X, y, best)
        ours[0] += found.proof == "local"
        if firth is None:
            continue
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = firth().fit(X, y)
        own = _penalised(X, y, np.r_[model.intercept_, model.coef_])
        good = own > value - 1e-6
        theirs[0] += good
        theirs[1] += not good and bool(caught)
        theirs[2] += not good and not caught
        ours[2] += value < own - 1e-6
    print(f"{count} hard problems: ours {ours[0]} proved, {ours[2]} below a peer's value")
    if firth is not None:
        good, warned, silent = theirs
        print(f"  firthmodels {good} within 1e-6 of the best, {warned} not and warned", end=", ")
        print(f"{silent} not, in silence")


def _penalised(X, y, beta):
    D = np.c_[np.ones(len(y)), X]
    eta = D @ beta
    p = 1.0 / (1.0 + np.exp(-np.clip(eta, -700, 700)))
    sign, log_det = np.linalg.slogdet((D * (p * (1.0 - p))[:, None]).T @ D)
    plain = -np.logaddexp(0.0, np.where(y == 1, -eta, eta)).sum()
    return plain + 0.5 * log_det if sign > 0 else -np.inf


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--large", action="store_true")
    chosen = options.parse_args()
    header("Inference for logistic regression", ["numpy", "scipy"])
    others = peers()
    print("CPU seconds, median")
    fits(chosen.large, others)
    scans(others)
    hard(others)


if __name__ == "__main__":
    main()
