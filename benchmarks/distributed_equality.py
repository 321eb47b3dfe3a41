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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import separatrix as sx
from benchmarks._report import SHARED
from benchmarks._text_sets import newsgroups_two_classes
from benchmarks.kernels import fashion


def from_file(name: str) -> Callable[[], tuple[Any, np.ndarray]]:
    def read() -> tuple[Any, np.ndarray]:
        table = sx.read(SHARED / name)
        return table.X, np.unique(np.asarray(table.y), return_inverse=True)[1]

    return read


def newsgroups() -> tuple[Any, np.ndarray]:
    """Two classes: computers and the sciences against the others."""
    X, signs = newsgroups_two_classes()
    return X, (signs > 0).astype(int)


SETS = {
    "heart_scale": from_file("heart_scale.libsvm"),
    "endometrial": from_file("endometrial.csv"),
    "alon": from_file("alon.csv.gz"),
    "spambase": from_file("spambase.csv"),
    "mushrooms": from_file("mushrooms.libsvm"),
    "a9a": from_file("a9a.libsvm"),
    "adult": from_file("adult-train.csv"),
    "census": from_file("census_income_train.csv.gz"),
    "rt-polarity": from_file("rt-polarity"),
    "sentiment": from_file("sentiment"),
    "newsgroups": newsgroups,
    "fashion": fashion,
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

    X, y = SETS[name]()
    folder, good = write(here / name, X, y), True
    for loss, machine in pairs(tol):
        local = type(machine)(**machine.get_params()).fit(X, y)
        begun = time.perf_counter()
        if client is None:
            there = machine.fit(sx.open_partitions(folder))
        else:
            kind = getattr(distributed, type(machine).__name__)
            there = kind(client=client, **machine.get_params()).fit(str(folder))
        took = time.perf_counter() - begun
        off = float(np.max(abs(np.asarray(there.objective_) / local.objective_ - 1.0)))
        holds = there.certificate_.check(X, y)
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
