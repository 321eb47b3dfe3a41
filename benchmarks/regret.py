"""How much time solver="auto" loses against the fastest solver of each problem.

    python -m benchmarks.regret [--problems 300] [--seed 0] [--tol 1e-6] [--loss hinge] [--shared]

Problems are drawn from families over rows, columns, density, rare classes, scales of columns, noise
and C. Each is fitted by `auto` and by every solver that suits it, to the same proved gap. Regret is
the time of `auto` over the least time, in CPU seconds of a whole fit with its proof, one thread;
times below 10 ms count as 10 ms. The solvers take turns, two to five, while all of that takes less
than four seconds, and the least time of each counts: a machine may be twice as slow in one second
as in the next, and the first fit may load machine code. A solver that does not get there within
its limit is left out. `--shared` adds the real sets, of two classes each, every loss, C = 0.1, 1
and 10.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

import separatrix as sx
from benchmarks._report import header
from benchmarks.distributed_equality import SETS, from_file

SOLVERS = {
    "hinge": ("interior_point", "dual_coordinate", "gram"),
    "squared_hinge": ("newton", "dual_coordinate", "gram"),
    "logistic": ("newton", "gram"),
}
LEAST_SECONDS, ENOUGH_SECONDS, TURNS = 0.01, 4.0, 5
SLOW, LONG_SECONDS = 3.0, 0.5
HEAD = """| problems | how many | median | nine tenths below | worst | geometric mean |
|---|---:|---:|---:|---:|---:|"""
Problem = tuple[Any, np.ndarray, float, str, str]


def drawn(rng: Any) -> tuple[Any, np.ndarray, float, str]:
    """Return rows, labels, C and what they are."""
    thin = rng.random() < 0.5
    n = int(10.0 ** rng.uniform(2.3, 4.7))
    d = int(10.0 ** rng.uniform(0.6, 4.5 if thin else 2.2))
    X: Any
    if thin:
        entries = int(np.clip(10.0 ** rng.uniform(0.4, 1.8), 1, d))
        n = max(60, min(n, 2_000_000 // entries))
        common = np.arange(1, d + 1) ** -rng.uniform(0.0, 1.2)
        columns = rng.choice(d, n * entries, p=common / common.sum())
        values = rng.lognormal(0.0, rng.choice([0.0, 1.0]), n * entries)
        X = sp.csr_array((values, (np.repeat(np.arange(n), entries), columns)), shape=(n, d))
        X.sum_duplicates()
        squares = X.multiply(X).sum(axis=0)
    else:
        n = max(60, min(n, 3_000_000 // d))
        X = rng.normal(size=(n, d)) + rng.normal(size=d)
        X *= 10.0 ** (rng.choice([0.0, 0.5, 2.0]) * rng.normal(size=d))
        squares = (X * X).sum(axis=0)
    used = rng.random(d) < 10.0 ** rng.uniform(-1.0, 0.0)
    weights = rng.normal(size=d) * used / np.sqrt(np.maximum(squares / n, 1e-300))
    scores = X @ weights
    scores = (scores - scores.mean()) / max(float(scores.std()), 1e-12)
    scores += 10.0 ** rng.uniform(-1.5, 0.5) * rng.normal(size=n)
    y = (scores > np.quantile(scores, 1.0 - 10.0 ** rng.uniform(-1.8, -0.3))).astype(int)
    y[:2] = 0, 1
    C = 10.0 ** rng.uniform(-3.0, 3.0) / float(squares.sum() / n)
    kind = f"sparse {n:,} x {d:,}, {X.nnz / n:.0f} a row" if thin else f"dense {n:,} x {d:,}"
    return X, y, C, f"{kind}, {y.mean():.1%} positive, C |x|^2 = {C * squares.sum() / n:.1g}"


def fitted(X: Any, y: np.ndarray, C: float, loss: str, solver: str, tol: float) -> Any:
    settings = {"C": C, "solver": solver, "tol": tol, "max_seconds": 10.0}
    if loss == "logistic":
        return sx.LogisticRegression(**settings).fit(X, y)
    return sx.LinearSVM(loss=loss, **settings).fit(X, y)


def timed(X: Any, y: np.ndarray, C: float, loss: str, tol: float) -> tuple[dict[str, float], str]:
    """Return the least CPU seconds of each solver, inf for no proof, and what ended `auto`.

    Of the others, one that took long, and three times as long as another, has no further turn.
    """
    solvers = ["auto", *(solver for solver in SOLVERS[loss] if suits(solver, X))]
    least, used, spent = dict.fromkeys(solvers, np.inf), "", 0.0
    for turn in range(TURNS):
        for solver in solvers:
            is_slow = least[solver] > max(LONG_SECONDS, SLOW * min(least.values()))
            if turn and is_slow and solver != "auto":
                continue
            begun = time.process_time()
            model = fitted(X, y, C, loss, solver, tol)
            taken = time.process_time() - begun
            spent += taken
            if model.gap_ <= 1.01 * tol:
                least[solver] = min(least[solver], taken)
            if solver == "auto":
                used = model.solver_
        if turn and spent > ENOUGH_SECONDS:
            break
    return least, used


def suits(solver: str, X: Any) -> bool:
    """Whether the solver can end within its limit at all."""
    if solver == "gram":
        return X.shape[0] <= 4_000
    by_products = solver == "newton" and sp.issparse(X)  # conjugate gradients, no d x d matrix
    return by_products or solver == "dual_coordinate" or X.shape[1] <= 2_000


def compile_first(losses: list[str]) -> None:
    rng = np.random.default_rng(0)
    thin = [
        sp.random(n, d, 0.03, format="csr", random_state=rng) for n, d in ((300, 900), (3_000, 40))
    ]
    dense = [rng.normal(size=(n, d)) for n, d in ((300, 4), (600, 50), (5_000, 10))]
    for X in (*dense, *map(sp.csr_array, thin)):
        y = (X[:, [0]].sum(axis=1) + 0.1 * rng.normal(size=X.shape[0]) > 0.0).astype(int)
        for loss in losses:
            for solver in ("auto", *SOLVERS[loss]):
                fitted(X, y, 1.0, loss, solver, 1e-4)


def generated(count: int, seed: int, losses: list[str]) -> Iterator[Problem]:
    """Yield problems drawn from all families."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        X, y, C, name = drawn(rng)
        yield X, y, C, name, str(rng.choice(losses))


def shared(losses: list[str]) -> Iterator[Problem]:
    """Yield the real sets; of several classes the largest is set against the others."""
    names = (f"zero_one/{name}.csv" for name in ("haberman", "caesarian", "cryotherapy", "blood"))
    sets = SETS | {name: from_file(name) for name in names}
    for name, read in sets.items():
        X, codes = read()
        counts = np.bincount(codes)
        y = codes if len(counts) == 2 else (codes == counts.argmax()).astype(int)
        for C in (0.1, 1.0, 10.0):
            for loss in losses:
                yield X, y, C, f"{name}, C = {C:g}", loss


def regret_of(problem: Problem, tol: float) -> tuple[float, str, str] | None:
    """Return the regret, the loss and what happened; None where nobody got there."""
    X, y, C, name, loss = problem
    times, used = timed(X, y, C, loss, tol)
    auto = times.pop("auto")
    best = min(times, key=lambda solver: times[solver], default="")
    if not best or not np.isfinite(min(auto, times[best])):
        return None
    least = max(min(auto, times[best]), LEAST_SECONDS)
    regret = max(auto, LEAST_SECONDS) / least if np.isfinite(auto) else np.inf
    return regret, loss, f"{used} {auto:.3f} s, {best} {times[best]:.3f} s: {name}, {loss}"


def show(title: str, found: list[tuple[float, str, str]], losses: list[str]) -> None:
    """Print the worst ten, and the distribution of each loss."""
    print(f"\n## {title}\n")
    for regret, _, text in sorted(found, reverse=True)[:10]:
        print(f"{regret:6.2f}  {text}")
    print(f"\n{HEAD}")
    for loss in (*losses, "all"):
        regrets = np.array([r for r, of, _ in found if loss in (of, "all")])
        if len(regrets):
            median, most, worst = np.quantile(regrets, [0.5, 0.9, 1.0], method="lower")
            mean = np.exp(np.log(regrets).mean())
            shown = " | ".join(f"{one:.2f}" for one in (median, most, worst, mean))
            name = f"{title}, {loss.replace('_', ' ')}"
            print(f"| {name} | {len(regrets)} | {shown} |", flush=True)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--problems", type=int, default=300)
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--tol", type=float, default=1e-6)
    ask.add_argument("--loss", nargs="+", choices=list(SOLVERS), default=list(SOLVERS))
    ask.add_argument("--shared", action="store_true")
    given = ask.parse_args()
    warnings.simplefilter("ignore")
    header("regret of solver='auto'", ["numpy", "scipy"])
    threadpool_limits(1)  # a second thread that waits for work counts as CPU time
    compile_first(given.loss)
    parts = {"generated": generated(given.problems, given.seed, given.loss)}
    if given.shared:
        parts["real sets"] = shared(given.loss)
    for title, problems in parts.items():
        outcomes = [regret_of(problem, given.tol) for problem in problems]
        show(title, [one for one in outcomes if one is not None], given.loss)


if __name__ == "__main__":
    main()
