"""A file five times the memory that is given: trained within it, under a limit of the kernel.

    python -m benchmarks.out_of_core [--memory 200MB] [--times 5] [--loss hinge]

A child process imports everything, fits a small file so that all loops are compiled, and then has
its address space limited (RLIMIT_AS) to what it has plus the memory given: an allocation beyond
that fails. In it the file is converted and the machine fitted and proved. Printed: sizes, seconds,
passes, the gap proved, and how far the resident set grew (ru_maxrss, mapped pages included).
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp


def write(path: Path, size: int, d: int = 20_000, k: int = 30) -> int:
    """Write LIBSVM text of about so many bytes; return the number of rows."""
    from separatrix.data.readers.libsvm import libsvm_text

    rng, rows = np.random.default_rng(0), 0
    w = rng.standard_normal(d)
    with open(path, "wb") as file:
        while file.tell() < size:
            n = 20_000
            indices = np.sort(rng.integers(0, d, (n, k)), axis=1)
            X = sp.csr_matrix(
                (rng.random(n * k).round(4), indices.ravel(), np.arange(0, n * k + 1, k)), (n, d)
            )
            X.sum_duplicates()
            y = np.where(X @ w + 2.0 * rng.standard_normal(n) > 0, 1, -1)
            text = libsvm_text(X, y, False, None)
            file.writelines([text] if isinstance(text, bytes) else text)
            rows += n
    return rows


def address_space() -> int:
    """Return the bytes of address space in use."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def child(folder: str, memory: int, loss: str, tol: float) -> None:
    import separatrix as sx

    def machine():
        if loss == "logistic":
            return sx.LogisticRegression(tol=tol, C=0.1)
        return sx.LinearSVM(loss=loss, tol=tol, C=0.1)

    small = Path(tempfile.mkdtemp())
    write(small / "small.libsvm", 100_000)
    handle = sx.open_partitions(small, memory=memory)
    machine().fit(handle).certificate_.check(handle)
    before, resident = address_space(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    resource.setrlimit(resource.RLIMIT_AS, (before + memory, before + memory))
    begun = time.perf_counter()
    handle = sx.open_partitions(folder, memory=memory)
    converted = time.perf_counter() - begun
    begun, work = time.perf_counter(), time.process_time()
    fitted = machine().fit(handle)
    took, work = time.perf_counter() - begun, time.process_time() - work
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident) * 1024
    print(f"{handle.n_rows} rows, {len(handle.stored)} blocks of {handle.size / 1e6:.0f} MB in all")
    print(f"converted in {converted:.1f} s, fitted in {took:.1f} s ({work:.1f} s of a processor)")
    print(f"{fitted.status_}, {fitted.n_passes_:.0f} passes, gap {fitted.gap_:.1e}, proved")
    print(f"resident set grew by {grown / 1e6:.0f} MB; limit {memory / 1e6:.0f} MB (RLIMIT_AS)")
    print(f"proved again from the blocks: {fitted.certificate_.check(handle)}")


def main() -> None:
    from separatrix.data.partitions import bytes_of

    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", default="200MB")
    parser.add_argument("--times", type=float, default=5.0)
    parser.add_argument("--loss", default="hinge")
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--child", nargs=1)
    args = parser.parse_args()
    memory = bytes_of(args.memory)
    if args.child:
        child(args.child[0], memory, args.loss, args.tol)
        return
    with tempfile.TemporaryDirectory() as here:
        folder = Path(here) / "data"
        folder.mkdir()
        rows = write(folder / "all.libsvm", int(args.times * memory))
        size = (folder / "all.libsvm").stat().st_size
        print(
            f"{rows} rows, {size / 1e6:.0f} MB of text, load {os.getloadavg()[0]:.1f}", flush=True
        )
        environment = {**os.environ, "MALLOC_ARENA_MAX": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [
            sys.executable,
            "-m",
            "benchmarks.out_of_core",
            "--memory",
            args.memory,
            "--loss",
            args.loss,
        ]
        command += ["--tol", str(args.tol), "--child", str(folder)]
        subprocess.run(command, check=True, env=environment)


if __name__ == "__main__":
    main()
