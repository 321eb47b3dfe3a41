"""One million rows by fifty thousand columns, thirty entries a row: Dask, one process, peers.

    python -m benchmarks.distributed [--rows 1000000] [--spark PYTHON] [--only NAME ...]

Ours on a LocalCluster of two worker processes and in one process; scikit-learn's dual; and Spark
MLlib with two threads where an interpreter that has pyspark is given (it has to be one of its own:
`--spark /elsewhere/bin/python`). All are brought to C = 1 of this library's objective, b free. Each
line: seconds on the wall of the fit alone and of a processor (of the busiest worker and the client;
of Spark's two threads the half), which a loaded machine does not lengthen; the objective, how far
above the best found, and the gap where there is one. Loops are compiled before, loading is timed by
itself. Relative gaps: 1e-6 for the smooth losses, 1e-4 for the hinge.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

TOLS = {"squared_hinge": 1e-6, "logistic": 1e-6, "hinge": 1e-4}


def rows_of(n: int, d: int = 50_000, k: int = 30, seed: int = 0):
    """Rows as of text: columns by a power law, rows of length 1, noisy labels."""
    rng = np.random.default_rng(seed)
    popularity = np.cumsum(1.0 / np.arange(1, d + 1) ** 0.7)
    names = rng.permutation(d).astype(np.int32)
    places = np.searchsorted(popularity / popularity[-1], rng.random((n, k)))
    X = sp.csr_matrix(
        (rng.random(n * k) + 0.1, names[places.clip(0, d - 1)].ravel(), np.arange(0, n * k + 1, k)),
        shape=(n, d),
    )
    X.sum_duplicates()
    X.sort_indices()
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X.data /= np.repeat(lengths, np.diff(X.indptr))
    scores = X @ (rng.standard_normal(d) * (rng.random(d) < 0.3) * 3.0)
    noise = 0.7 * scores.std() * rng.standard_normal(n)
    return X, (scores - np.median(scores) + noise > 0).astype(int)


def objective(X, y, w, b, loss: str) -> float:
    margins = np.where(y == 1, 1.0, -1.0) * (X @ w + b)
    short = np.maximum(0.0, 1.0 - margins)
    lost = {"hinge": short, "squared_hinge": short**2, "logistic": np.logaddexp(0.0, -margins)}
    return 0.5 * float(w @ w) + float(lost[loss].sum())


def write(folder: Path, X, y, parts: int) -> Path:
    folder.mkdir()
    for number, own in enumerate(np.array_split(np.arange(len(y)), parts)):
        part = X[own[0] : own[-1] + 1]
        np.savez(folder / f"{number:02d}.npz", data=part.data, indices=part.indices,
                 indptr=part.indptr, shape=part.shape, y=y[own])  # fmt: skip
    return folder


def tell(name: str, loss: str, seconds: float, found: float, note: str) -> dict:
    print(f"{loss:14} {name:26} {seconds:7.1f} s  {found:.6f}  {note}", flush=True)
    return {"name": name, "loss": loss, "seconds": seconds, "objective": found}


def with_dask(folder: Path, X, y) -> list[dict]:
    from dask.distributed import Client, LocalCluster

    from separatrix.core.partitioned import fit_rows
    from separatrix.distributed.machines import placed

    lines = []
    with (
        LocalCluster(2, threads_per_worker=1, dashboard_address=None, memory_limit=0) as cluster,
        Client(cluster) as client,
    ):
        small = write(folder.parent / "small", X[:4000], y[:4000], 2)
        for loss in TOLS:
            fit_rows(machine_of(loss, 1e-3), placed(client, str(small)), loss)
        begun = time.perf_counter()
        rows = placed(client, str(folder), fingerprint=False)
        print(f"converted and placed in {time.perf_counter() - begun:.1f} s", flush=True)
        rounds = [round_time(rows) for _ in range(20)]
        print(f"an empty round costs {1e3 * float(np.median(rounds)):.0f} ms", flush=True)
        for loss, tol in TOLS.items():
            begun, before = (
                time.perf_counter(),
                (client.run(time.process_time), time.process_time()),
            )
            machine = fit_rows(machine_of(loss, tol), rows, loss)
            took, here = time.perf_counter() - begun, time.process_time() - before[1]
            after = client.run(time.process_time)
            busiest = max(after[name] - before[0][name] for name in after)
            note = f"gap {machine.gap_:.1e}, {machine.n_passes_:.0f} passes; busiest worker "
            note += f"{busiest:.1f} s of a processor, client {here:.1f} s"
            told = tell("separatrix, Dask, 2", loss, took, machine.objective_, note)
            lines.append({**told, "work": busiest + here})
        used = client.run(resident)
        print(f"memory of a worker at the end: {max(used.values()) / 1e6:.0f} MB", flush=True)
    return lines


def round_time(rows) -> float:
    from separatrix.distributed.engine import shape_of

    begun = time.perf_counter()
    rows.engine.reduce(shape_of)
    return time.perf_counter() - begun


def resident() -> int:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def machine_of(loss: str, tol: float):
    import separatrix as sx

    if loss == "logistic":
        return sx.LogisticRegression(tol=tol)
    return sx.LinearSVM(loss=loss, tol=tol)


def in_one_process(X, y) -> list[dict]:
    lines = []
    for loss, tol in TOLS.items():
        machine_of(loss, tol).fit(X[:4000], y[:4000])
        begun, work = time.perf_counter(), time.process_time()
        machine = machine_of(loss, tol).fit(X, y)
        took, work = time.perf_counter() - begun, time.process_time() - work
        note = f"gap {machine.gap_:.1e}, {work:.1f} s of a processor, {machine.solver_}"
        told = tell("separatrix, one process", loss, took, machine.objective_, note)
        lines.append({**told, "work": work})
    return lines


def with_sklearn(X, y) -> list[dict]:
    from sklearn.svm import LinearSVC

    lines = []
    for loss in ("squared_hinge", "hinge"):
        begun, work = time.perf_counter(), time.process_time()
        machine = LinearSVC(loss=loss, dual=True, max_iter=200).fit(X, y)
        took, work = time.perf_counter() - begun, time.process_time() - work
        found = objective(X, y, machine.coef_[0], machine.intercept_[0], loss)
        note = f"{work:.1f} s of a processor, {machine.n_iter_} passes, its own stopping rule"
        lines.append({**tell("scikit-learn, dual", loss, took, found, note), "work": work})
    return lines


def with_spark(python: str, folder: Path, X, y) -> list[dict]:
    here = folder.parent
    with open(here / "spark.libsvm", "wb") as file:
        from sklearn.datasets import dump_svmlight_file

        dump_svmlight_file(X, y, file, zero_based=False)
    command = [python, __file__, "--as-spark", str(here), "--columns", str(X.shape[1])]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)
    except subprocess.TimeoutExpired:
        print("Spark was still at work after 900 s")
        return []
    if done.returncode:
        print(f"Spark is not here: {done.stderr.strip().splitlines()[-1:]}")
        return []
    lines = []
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            told = json.loads(line)
            w = np.load(here / f"spark-{told['loss']}.npy")
            found = objective(X, y, w[1:], w[0], told["loss"])
            told_of = told["loss"], told["seconds"], found, told["note"]
            lines.append({**tell("Spark MLlib, 2 threads", *told_of), "work": told["work"]})
    return lines


def work_of_java() -> float:
    """Return the seconds of processors that Java has used on this machine."""
    total, ticks = 0.0, os.sysconf("SC_CLK_TCK")
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, fields = path.read_text().rsplit(")", 1)
            if "(java" in name:
                total += sum(map(int, fields.split()[11:13])) / ticks
        except OSError:
            continue
    return total


def as_spark(here: Path, columns: int) -> None:
    """Run in an interpreter that has pyspark; it needs numpy and nothing of this library."""
    from pyspark.ml.classification import LinearSVC, LogisticRegression
    from pyspark.sql import SparkSession

    begun = time.perf_counter()
    spark = (
        SparkSession.builder.master("local[2]").config("spark.driver.memory", "6g").getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    started = time.perf_counter() - begun
    begun = time.perf_counter()
    rows = (
        spark.read.format("libsvm").option("numFeatures", columns).load(str(here / "spark.libsvm"))
    )
    rows = rows.repartition(2).cache()
    n = rows.count()
    loaded = time.perf_counter() - begun
    note = f"start {started:.1f} s, loading {loaded:.1f} s"
    settings = {"regParam": 1.0 / n, "standardization": False}
    for loss, machine in (
        ("logistic", LogisticRegression(maxIter=100, tol=1e-6, **settings)),
        ("hinge", LinearSVC(maxIter=100, tol=1e-6, **settings)),
    ):
        begun, before = time.perf_counter(), work_of_java()
        model = machine.fit(rows)
        took, work = time.perf_counter() - begun, work_of_java() - before
        w = np.concatenate([[model.intercept], model.coefficients.toArray()])
        np.save(here / f"spark-{loss}.npy", w)
        # Two threads at work: on an idle machine half of this would pass on the wall.
        more = f"{note}, {work:.1f} s of processors"
        told = {"loss": loss, "seconds": took, "work": work / 2, "note": more}
        print(json.dumps(told), flush=True)
    spark.stop()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--spark")
    parser.add_argument("--only", nargs="*", default=["dask", "one", "sklearn", "spark"])
    parser.add_argument("--as-spark")
    parser.add_argument("--columns", type=int, default=50_000)
    args = parser.parse_args()
    if args.as_spark:
        as_spark(Path(args.as_spark), args.columns)
        return
    warnings.simplefilter("ignore")
    X, y = rows_of(args.rows)
    print(f"{X.shape[0]} x {X.shape[1]}, {X.nnz} entries, {os.cpu_count()} cores, load "
          f"{os.getloadavg()[0]:.1f}", flush=True)  # fmt: skip
    lines: list[dict] = []
    with tempfile.TemporaryDirectory() as here:
        folder = write(Path(here) / "data", X, y, 8)
        if "dask" in args.only:
            lines += with_dask(folder, X, y)
        if "one" in args.only:
            lines += in_one_process(X, y)
        if "sklearn" in args.only:
            lines += with_sklearn(X, y)
        if "spark" in args.only:
            if args.spark is None:
                print("Spark: no interpreter with pyspark was given (--spark PYTHON)")
            else:
                lines += with_spark(args.spark, folder, X, y)
    print(f"load at the end {os.getloadavg()[0]:.1f}")
    for loss in TOLS:
        same = [line for line in lines if line["loss"] == loss]
        best = min((line["objective"] for line in same), default=1.0)
        mine = [line for line in same if "Dask" in line["name"]]
        for line in same:
            ratio = line["seconds"] / mine[0]["seconds"] if mine else float("nan")
            share = line["work"] / mine[0]["work"] if mine else float("nan")
            above = line["objective"] / best - 1.0
            print(
                f"{loss:14} {line['name']:26} {ratio:5.2f} x Dask on the wall, "
                f"{share:5.2f} x of a processor, {above:.1e} above the best"
            )


if __name__ == "__main__":
    main()
