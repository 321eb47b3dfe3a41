"""What shrinking could save a kernel machine at best: counted, not timed.

    python -m benchmarks.kernel_shrinking [--rows 20000]

Shrinking leaves rows at a bound out of the updates of f, and computes their f anew at the end. A
clairvoyant shrinker leaves a row out from the moment no later chunk takes it: no real one saves
more. What it saves (kernel values computed, products added) is set beside what f costs anew: a
kernel value for every row left out and every support vector.
"""

import argparse

import numpy as np

from benchmarks._report import header
from benchmarks.kernels import synthetic
from separatrix.problem.kernels import Kernel
from separatrix.problem.machine import KernelMachine
from separatrix.solvers.kernels import chunking
from separatrix.solvers.kernels.kernel_rows import kernel_rows

CACHE = 1000 << 20


def counted(X, signs, C):
    """Run to a gap of 1e-3; return for every chunk its rows, and what was computed and added."""
    n = len(X)
    rows = kernel_rows(Kernel("rbf", gamma=1.0 / (X.shape[1] * X.var())), X, CACHE, None)
    state = chunking.start(
        KernelMachine(signs, np.full(n, C), np.arange(n)), kernel_rows=rows, tol=0.9e-3
    )
    chunks, computed = [], rows.computed
    while chunking.advance(state, 0) is None:
        taken, before = state.chunk.rows, state.alpha[state.chunk.rows].copy()
        rounds = state.rounds
        while state.rounds == rounds and state.status is None:
            chunking.advance(state, 1)
        moved = int((state.alpha[taken] != before).sum())
        chunks.append((taken, rows.computed - computed, moved * n))
        computed = rows.computed
    return state.alpha, chunks


def best_case(alpha, chunks, C):
    """Return what was computed and added, what of both could be saved, and what f costs anew."""
    n = len(alpha)
    last = np.full(n, -1)
    for number, (taken, _, _) in enumerate(chunks):
        last[taken] = number
    at_bound = (alpha == 0.0) | (alpha == C)
    saved = np.zeros(2)
    for number, (_, values, products) in enumerate(chunks):
        saved += np.array([values, products]) * np.mean((last < number) & at_bound)
    total = np.sum([part[1:] for part in chunks], axis=0)
    return total, saved, float(at_bound.sum()) * float((alpha > 0.0).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000)
    header("Kernel shrinking, at best", ["numpy", "scikit-learn"])
    X, y = synthetic(parser.parse_args().rows)
    signs = np.where(y == 1, 1.0, -1.0)
    for C in (1.0, 10.0):
        alpha, chunks = counted(np.ascontiguousarray(X), signs, C)
        total, saved, anew = best_case(alpha, chunks, C)
        print(
            f"C={C:g}: {len(chunks)} chunks; kernel values {total[0] / 1e6:.0f} M, of which "
            f"{saved[0] / 1e6:.0f} M could be saved, but f anew takes {anew / 1e6:.0f} M; products "
            f"added {total[1] / 1e6:.0f} M, of which {saved[1] / 1e6:.0f} M could be saved"
        )


if __name__ == "__main__":
    main()
