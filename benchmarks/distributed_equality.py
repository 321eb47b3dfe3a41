"""The distributed objective beside the local one, on the shared data sets.

    python -m benchmarks.distributed_equality [--only NAME ...] [--local]

Every set is read, written as partitions, and fitted on a LocalCluster of two workers (or, with
--local, out of core in this process) and in memory, C = 1, to a proved gap of `tol`. The objectives
must agree to 1e-8 relative; both gaps are printed, so that a difference can be told from a fault.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import separatrix as sx
from benchmarks._report import SHARED

SETS = {
    "heart_scale": "heart_scale.libsvm",
    "endometrial": "endometrial.csv",
    "alon": "alon.csv.gz",
    "spambase": "spambase.csv",
    "mushrooms": "mushrooms.libsvm",
    "a9a": "a9a.libsvm",
    "adult": "adult-train.csv",
    "census": "census_income_train.csv.gz",
    "rt-polarity": "rt-polarity",
}


def write(folder: Path, X, y, parts: int = 4) -> Path:
    folder.mkdir()
    for number, own in enumerate(np.array_split(np.arange(len(y)), parts)):
        part = X[own]
        if sp.issparse(X):
            part = sp.csr_matrix(part)
            arrays = {"data": part.data, "indices": part.indices, "indptr": part.indptr}
            np.savez(folder / f"{number}.npz", shape=part.shape, y=y[own], **arrays)
        else:
            np.savez(folder / f"{number}.npz", X=part, y=y[own])
    return folder


def pairs(tol: float):
    yield "hinge", sx.LinearSVM(tol=tol)
    yield "squared_hinge", sx.LinearSVM(loss="squared_hinge", tol=tol)
    yield "logistic", sx.LogisticRegression(tol=tol)


def compare(name: str, client, here: Path, tol: float) -> bool:
    from separatrix import distributed

    table = sx.read(SHARED / SETS[name])
    y = np.unique(np.asarray(table.y), return_inverse=True)[1]
    folder, good = write(here / name, table.X, y), True
    for loss, machine in pairs(tol):
        local = type(machine)(**machine.get_params()).fit(table.X, y)
        begun = time.perf_counter()
        if client is None:
            there = machine.fit(sx.open_partitions(folder))
        else:
            kind = getattr(distributed, type(machine).__name__)
            there = kind(client=client, **machine.get_params()).fit(str(folder))
        took = time.perf_counter() - begun
        off = float(np.max(abs(np.asarray(there.objective_) / local.objective_ - 1.0)))
        holds = there.certificate_.check(table.X, y)
        good &= off <= 1e-8 and holds
        told = f"{name:12} {loss:14} off by {off:.1e}, gaps {local.gap_:.1e} {there.gap_:.1e}"
        told += f", proof {holds}, {there.n_passes_:.0f} passes, {took:.1f} s"
        print(told, flush=True)
    return good


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=list(SETS))
    parser.add_argument("--tol", type=float, default=5e-9)
    parser.add_argument("--local", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as here, contextlib.ExitStack() as stack:
        client = None
        if not args.local:
            from dask.distributed import Client, LocalCluster

            cluster = LocalCluster(2, threads_per_worker=1, dashboard_address=None)
            client = stack.enter_context(Client(stack.enter_context(cluster)))
        good = [name for name in args.only if compare(name, client, Path(here), args.tol)]
    print(f"equal to 1e-8 and proved: {len(good)} of {len(args.only)}: {', '.join(good)}")


if __name__ == "__main__":
    main()
