"""What a fit on a cluster survives: workers and clients killed, files damaged, disks full.

    python -m benchmarks.distributed_faults [--kills 20] [--rows 200000]

A LocalCluster of two worker processes. Every fit must end with the objective of the undisturbed
one to 1e-9 relative and a certificate that holds; a hang is ended by a clock and counted.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

LIMIT = 180.0


def problem(rows: int, seed: int = 0, wide: bool = True):
    rng = np.random.default_rng(seed)
    d, k = (5_000, 20) if wide else (20, 20)
    indices = rng.integers(0, d, (rows, k))
    X = sp.csr_matrix(
        (rng.random(rows * k), indices.ravel(), np.arange(0, rows * k + 1, k)), (rows, d)
    )
    X.sum_duplicates()
    scores = X @ rng.standard_normal(d)
    y = (scores - np.median(scores) + rng.standard_normal(rows) * scores.std() > 0).astype(int)
    return X, y


def write(folder: Path, X, y, parts: int = 6) -> Path:
    folder.mkdir(parents=True)
    for number, own in enumerate(np.array_split(np.arange(len(y)), parts)):
        part = X[own]
        np.savez(folder / f"{number}.npz", data=part.data, indices=part.indices, indptr=part.indptr,
                 shape=part.shape, y=y[own])  # fmt: skip
    return folder


def machine_of(loss: str, client, **more):
    from separatrix import distributed

    if loss == "logistic":
        return distributed.LogisticRegression(client=client, tol=1e-6, **more)
    return distributed.LinearSVM(
        loss=loss, client=client, tol=1e-6 if "sq" in loss else 1e-3, **more
    )


def kill_workers(client, moments: list[float], done: threading.Event, killed: list[int]) -> None:
    begun = time.perf_counter()
    for moment in moments:
        if done.wait(max(0.0, moment - (time.perf_counter() - begun))):
            return
        # A nanny whose worker dies while it starts gives it up: kill those that are at work.
        while len(client.nthreads()) < 2 and not done.wait(0.05):
            pass
        workers = [w.process.pid for w in client.cluster.workers.values() if w.process is not None]
        alive = [pid for pid in workers if pid]
        if alive:
            os.kill(alive[len(killed) % len(alive)], signal.SIGKILL)
            killed.append(1)


def two_workers(client) -> None:
    """Wait for both workers; where a nanny gave its worker up, start another."""
    for _ in range(20):
        begun = time.perf_counter()
        while time.perf_counter() - begun < 15.0:
            if len(client.nthreads()) >= 2:
                return
            time.sleep(0.1)
        client.cluster.scale(len(client.cluster.worker_spec) + 1)
    raise RuntimeError("the cluster does not come back")


def one_fit(loss, client, folder, moments):
    done, killed, result = threading.Event(), [], {}
    killer = threading.Thread(target=kill_workers, args=(client, moments, done, killed))

    def work() -> None:
        result["machine"] = machine_of(loss, client).fit(folder)

    worker = threading.Thread(target=work, daemon=True)
    begun = time.perf_counter()
    killer.start()
    worker.start()
    worker.join(LIMIT)
    done.set()
    killer.join()
    return result.get("machine"), len(killed), time.perf_counter() - begun


def resumed_client(folder: Path, here: Path) -> tuple[float, float, int]:
    """Kill a whole client in the middle, start another on its checkpoint; return its objective."""
    path = here / "client.npz"
    script = [sys.executable, "-m", "benchmarks.distributed_faults"]
    script += ["--client", str(folder), str(here)]
    process = subprocess.Popen(script)
    begun = time.perf_counter()
    while not path.exists() and process.poll() is None and time.perf_counter() - begun < LIMIT:
        time.sleep(0.02)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = int(np.load(path)["updates"])
    subprocess.run(script, check=True, timeout=LIMIT)
    objective, gap = (here / "objective.txt").read_text().split()
    return float(objective), float(gap), kept


def as_client(folder: str, here: str) -> None:
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        machine = machine_of("hinge", client, checkpoint=f"{here}/client.npz").fit(folder)
        Path(here, "objective.txt").write_text(f"{machine.objective_!r} {machine.gap_!r}")


def full_disk(here: Path) -> str:
    """Write a checkpoint on a device that is full; the old one must stand."""
    from separatrix.solvers.linear.blocks import block_newton
    from separatrix.solvers.linear.blocks.block_newton import Point

    kept = block_newton.Checkpoint(here / "full.npz", "key")
    kept.save(Point(np.arange(3.0), 0.0, 7, pace=(0.3, np.inf)))
    real = block_newton.write_whole

    def no_space(path, contents):
        raise OSError(28, "No space left on device")

    block_newton.write_whole = no_space
    kept._written = -1e9
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kept.save(Point(np.zeros(3), 0.0, 8, pace=(0.3, np.inf)))
    block_newton.write_whole = real
    stands = kept.load()
    return (
        f"warned: {bool(caught)}, the old one stands: {stands is not None and stands.updates == 7}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--client", nargs=2)
    args = parser.parse_args()
    if args.client:
        as_client(*args.client)
        return
    from dask.distributed import Client, LocalCluster

    warnings.simplefilter("ignore")
    here = Path(tempfile.mkdtemp())
    X, y = problem(args.rows)
    folder = write(here / "data", X, y)
    print(f"{args.rows} rows x {X.shape[1]}, load {os.getloadavg()[0]:.1f}", flush=True)
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        rng = np.random.default_rng(1)
        plain, seconds = {}, {}
        for loss in ("hinge", "squared_hinge", "logistic"):
            machine_of(loss, client).fit(folder)  # compiled and converted
            begun = time.perf_counter()
            plain[loss] = machine_of(loss, client).fit(folder)
            seconds[loss] = time.perf_counter() - begun
            print(
                f"{loss}: {seconds[loss]:.1f} s undisturbed, {plain[loss].n_passes_:.0f} passes",
                flush=True,
            )
        worst, bad, total, slowest = 0.0, 0, 0, 0.0
        plans = [[rng.random()] for _ in range(args.kills)] + [sorted(rng.random(3) * 2.0)]
        for number, shares in enumerate(plans):
            loss = ("hinge", "squared_hinge", "logistic")[number % 3]
            two_workers(client)
            moments = [share * seconds[loss] for share in shares]
            machine, killed, took = one_fit(loss, client, folder, moments)
            total += killed
            slowest = max(slowest, took)
            if machine is None:
                bad += 1
                print(f"{loss}: no answer within {LIMIT:.0f} s", flush=True)
                continue
            off = abs(machine.objective_ / plain[loss].objective_ - 1.0)
            worst = max(worst, off)
            if off > 1e-9 or (number % 7 == 0 and not machine.certificate_.check(X, y)):
                bad += 1
        print(f"{total} workers killed in {len(plans)} fits (three in one): {bad} bad", flush=True)
        print(f"objective off by {worst:.1e} at the most, slowest {slowest:.1f} s", flush=True)
        objective, gap, kept = resumed_client(folder, here)
        off = abs(objective / plain["hinge"].objective_ - 1.0)
        print(
            f"client killed after update {kept}, resumed: objective off by {off:.1e}, gap {gap:.1e}"
        )
    print(f"disk full at a checkpoint: {full_disk(here)}")


if __name__ == "__main__":
    main()
