"""How long a fit would take on machines that are not here: a model of three measured numbers.

    python -m benchmarks.scaling_model [--rows 200000] [--pass NS] [--round MS] [--bandwidth MBS]

A fit is a number of passes over the rows. A pass on K workers takes

    seconds(pass) = entries / K * t_entry  +  t_round * (1 + levels)  +  bytes(w) * hops / bandwidth
                    work, shared out          tasks, a tree of them      w out and sums back

with levels = ceil(log8 K) and hops = 2 (K / 8 + levels): w goes to every worker by value from one
scheduler, sums come back up a tree of eight. t_entry and the number of passes are measured here in
one process, t_round and the bandwidth on a LocalCluster of two workers, where these are not given.
The bandwidth is that of processes of one machine: give that of your network (1250 MB/s: 10 Gb/s).

The simulation adds what the formula leaves out: workers differ (each pass waits for the slowest of
K, drawn with a spread of 5 %), and now and then one is lost (its block is read and the pass made
again).
"""

from __future__ import annotations

import argparse
import math
import os
import time

import numpy as np

LOSS_PER_HOUR = 0.01  # of a worker
READ = 1e9  # bytes a second


def measured_pass(rows: int) -> tuple[float, dict[str, int]]:
    """Return nanoseconds an entry of a pass, and the passes of each loss to its tolerance."""
    from benchmarks.distributed import TOLS, rows_of
    from separatrix.problem.blocks import Block, Posed
    from separatrix.problem.losses import CODES
    from separatrix.problem.signed import as_matrix
    from separatrix.solvers.linear.blocks.block_newton import Run
    from separatrix.solvers.linear.blocks.passes import LocalEngine

    X, y = rows_of(rows)
    passes, seconds, total = {}, 0.0, 0.0
    for loss, tol in TOLS.items():
        for begin in (rows - 2000, 0):  # the first to compile
            block = Block(as_matrix(X[begin:]), y[begin:])
            engine = LocalEngine([lambda block=block: block], [rows - begin], X.shape[1], X.nnz)
            begun = time.process_time()
            run = Run(engine, Posed(CODES[loss], 1, np.ones(2)), tol)
            run.go_on(tol)
        seconds, total = seconds + time.process_time() - begun, total + run.passes
        passes[loss] = math.ceil(run.passes)
    return 1e9 * seconds / total / X.nnz, passes


def measured_rounds() -> tuple[float, float]:
    """Return milliseconds of an empty round, and MB/s of w by value out and sums back."""
    import warnings

    from dask.distributed import Client, LocalCluster

    from separatrix.distributed.engine import DaskEngine
    from separatrix.problem.blocks import Block

    warnings.simplefilter("ignore")
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        block = Block(np.zeros((10, 2)), np.zeros(10, dtype=int))
        engine = DaskEngine(client, lambda: client.map(lambda _: block, range(2), pure=False), 2)

        def median(size: int) -> float:
            w, times = np.zeros(size), []
            for _ in range(15):
                begun = time.perf_counter()
                engine.reduce(send_back, w)
                times.append(time.perf_counter() - begun)
            return float(np.median(times))

        empty, large = median(1), median(1_000_000)
    return 1e3 * empty, 4 * 8.0 / max(large - empty, 1e-9)  # two out and two back, of 8 MB


def send_back(block, w):
    return (w,)


def seconds_of_pass(entries, width, workers, entry, round_time, bandwidth) -> tuple[float, ...]:
    levels = math.ceil(math.log(workers, 8)) if workers > 1 else 0
    work = entries / workers * entry * 1e-9
    tasks = round_time * 1e-3 * (1 + levels)
    wire = 8.0 * width * 2.0 * (workers / 8.0 + levels) / (bandwidth * 1e6)
    return work, tasks, wire


def talks_more(entries, width, workers, numbers) -> bool:
    work, tasks, wire = seconds_of_pass(entries, width, workers, *numbers)
    return tasks + wire > work


def simulated(entries, width, workers, numbers, passes: int, seed: int = 0) -> float:
    rng, total = np.random.default_rng(seed), 0.0
    work, tasks, wire = seconds_of_pass(entries, width, workers, *numbers)
    for _ in range(passes):
        slowest = work * float(np.exp(0.05 * rng.standard_normal(workers)).max())
        took = slowest + tasks + wire
        if rng.random() < workers * took * LOSS_PER_HOUR / 3600.0:
            took += 12.0 * entries / workers / READ + slowest + tasks
        total += took
    return total


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--pass", dest="entry", type=float, help="nanoseconds an entry")
    parser.add_argument("--round", dest="round_time", type=float, help="milliseconds")
    parser.add_argument("--bandwidth", type=float, help="MB/s")
    args = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    entry, passes = measured_pass(args.rows)
    entry = args.entry or entry
    round_time, bandwidth = measured_rounds()
    round_time, bandwidth = args.round_time or round_time, args.bandwidth or bandwidth
    numbers = entry, round_time, bandwidth
    print(f"{entry:.2f} ns an entry and pass, {round_time:.0f} ms a round, {bandwidth:.0f} MB/s")
    print(f"passes on {args.rows} rows: {passes}")
    for rows, width, in_a_row in ((1e6, 50_000, 30), (1e9, 50_000, 30), (1e9, 1_000_000, 30)):
        entries = rows * in_a_row
        for workers in (1, 2, 10, 100, 1000):
            parts = seconds_of_pass(entries, width, workers, *numbers)
            shape = entries, width, workers
            times = {loss: simulated(*shape, numbers, k) for loss, k in passes.items()}
            shown = ", ".join(f"{loss} {seconds:.0f} s" for loss, seconds in times.items())
            share = sum(parts[1:]) / sum(parts)
            memory = 12.0 * entries / workers / 1e9
            print(f"{rows:.0e} x {width}, {workers:4d} workers: {shown}; {100 * share:.0f} % is "
                  f"communication, {memory:.1f} GB a worker")  # fmt: skip
        crossing = next(k for k in range(1, 10**6) if talks_more(entries, width, k, numbers))
        print(f"{rows:.0e} x {width}: communication takes over at {crossing} workers")


if __name__ == "__main__":
    main()
