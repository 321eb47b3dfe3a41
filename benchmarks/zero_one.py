"""Fewest training errors: time to a proof, beside a plain big-M model in HiGHS.

    python -m benchmarks.zero_one                          times, side by side
    python -m benchmarks.zero_one --problems 2000          against brute force (d <= 3, n <= 14)
    python -m benchmarks.zero_one --forgeries 10000        forged certificates

Every answer of Separatrix is checked exactly, and that is part of its time. HiGHS works in floats
and its answer is taken as it is. Both get `--seconds` (60), and what is then known is printed.
Compiling is left out. Seconds are CPU seconds of the process.
"""

import argparse
import collections
import copy
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.datasets import load_breast_cancer, load_iris

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.error_forgeries import WAYS, accepted, small_problem
from tests.naive.zero_one import fewest_errors

import separatrix as sx
from benchmarks._report import SHARED, header


def big_m(X, signs, seconds):
    """min sum e  subject to  z_i.w + M_i e_i >= 1, |w_j| <= 100, e in {0, 1}."""
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    rows = np.column_stack([np.ones(len(X)), X]) * signs[:, None]
    count, width = rows.shape
    most = 1.0 + 100.0 * np.abs(rows).sum(axis=1)
    found = milp(
        np.concatenate([np.zeros(width), np.ones(count)]),
        constraints=LinearConstraint(sp.hstack([sp.csr_array(rows), sp.diags_array(most)]), lb=1.0),
        integrality=np.concatenate([np.zeros(width), np.ones(count)]),
        bounds=Bounds(
            np.concatenate([np.full(width, -100.0), np.zeros(count)]),
            np.concatenate([np.full(width, 100.0), np.ones(count)]),
        ),
        options={"time_limit": seconds},
    )
    bound = 0.0 if found.mip_dual_bound is None else found.mip_dual_bound
    cost = None if found.x is None else round(found.x[width:].sum())
    return cost, int(np.ceil(bound - 1e-6))


def gaussians(count, dimensions, shift, seed=0):
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(count) % 2, 1.0, -1.0)
    return rng.normal(size=(count, dimensions)) + shift * (signs[:, None] > 0), signs


def real():
    X, y = load_iris(return_X_y=True)
    names = ["setosa", "versicolor", "virginica"]
    for a, b in ((0, 1), (0, 2), (1, 2)):
        part = np.isin(y, (a, b))
        yield f"iris {names[a]}-{names[b]}", X[part], np.where(y[part] == b, 1.0, -1.0)
    part = y > 0
    yield "iris, petals only", X[part][:, 2:], np.where(y[part] == 2, 1.0, -1.0)
    yield "iris, sepals only", X[part][:, :2], np.where(y[part] == 2, 1.0, -1.0)
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast_cancer", X, np.where(y == 1, 1.0, -1.0)
    if (SHARED / "heart_scale.libsvm").exists():
        table = sx.read(SHARED / "heart_scale.libsvm")
        X = table.X.toarray() if sp.issparse(table.X) else np.asarray(table.X)
        yield "heart_scale", X, np.where(np.asarray(table.y) == np.unique(table.y)[1], 1.0, -1.0)


def drawn():
    for count, dimensions, shift in (
        (1000, 2, 2.0),
        (1000, 2, 1.2),
        (100, 3, 1.0),
        (60, 4, 1.0),
        (100, 5, 1.0),
        (200, 5, 1.2),
        (100, 8, 0.8),
    ):
        yield f"Gaussians {count} x {dimensions}", *gaussians(count, dimensions, shift)


def timed(call):
    begin, wall = time.process_time(), time.perf_counter()
    answer = call()
    return answer, time.process_time() - begin, time.perf_counter() - wall


def side_by_side(limit):
    header("Fewest training errors", ["scipy", "numba", "python-flint"])
    print(f"{'data':<28} {'rows x d':>10} | {'errors':>6} {'proved':>6} {'s':>7} | ", end="")
    print(f"{'errors':>6} {'bound':>5} {'s':>7} | ratio")
    for name, X, signs in [*real(), *drawn()]:
        mine, mine_s, _ = timed(lambda X=X, s=signs: sx.ZeroOne(max_seconds=limit).fit(X, s))
        (cost, bound), their_s, _ = timed(lambda X=X, s=signs: big_m(X, s, limit))
        shape = f"{X.shape[0]} x {X.shape[1]}"
        done = mine.errors_ == mine.lower_bound_
        more = "" if cost is not None and cost == bound else "more than "
        ratio = f"{more}{their_s / max(mine_s, 1e-3):.1f}x" if done else "-"
        print(
            f"{name:<28} {shape:>10} | {mine.errors_:>6} {mine.lower_bound_:>6} {mine_s:>7.2f} | "
            f"{cost if cost is not None else '-':>6} {bound:>5} {their_s:>7.2f} | {ratio}",
            flush=True,
        )


def compare(count):
    found, wrong = collections.Counter(), []
    for seed in range(count):
        X, signs, weights = small_problem(seed)
        least = fewest_errors(X, signs, weights)
        machine = sx.ZeroOne(max_seconds=10).fit(X, signs, weights)
        found[str(machine.status_)] += 1
        if not machine.lower_bound_ == machine.errors_ == least:
            wrong.append(seed)
    print(f"{count} problems against brute force: {dict(found)}; wrong: {len(wrong)} {wrong[:9]}")
    return not wrong


def forge(count):
    rng = np.random.default_rng(0)
    genuine, refused, taken = 0, collections.Counter(), []
    seed = done = 0
    while done < count:
        X, signs, weights = small_problem(seed, dimensions=1 + seed % 5)
        seed += 1
        machine = sx.ZeroOne(max_seconds=5).fit(X, signs, weights)
        whole = json.loads(machine.certificate_.to_json())
        if not accepted(whole, X, signs, weights):
            print(f"a genuine certificate was refused: {seed - 1}")
            return False
        genuine += 1
        for way in WAYS:
            forged = copy.deepcopy(whole)
            if done < count and way(forged, rng):
                done += 1
                if accepted(forged, X, signs, weights):
                    taken.append((seed - 1, way.__name__))
                refused[way.__name__] += 1
    print(
        f"{genuine} genuine certificates accepted; {count} forged, {len(taken)} taken {taken[:5]}"
    )
    print(dict(refused))
    return not taken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--problems", type=int, default=0)
    parser.add_argument("--forgeries", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    for dimensions in (2, 3, 4):  # compile
        sx.ZeroOne(max_seconds=5).fit(*gaussians(30, dimensions, 0.5))
    good = True
    if chosen.problems:
        good = compare(chosen.problems) and good
    if chosen.forgeries:
        good = forge(chosen.forgeries) and good
    if not (chosen.problems or chosen.forgeries):
        side_by_side(chosen.seconds)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
