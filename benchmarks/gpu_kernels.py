"""Kernel machines with their kernel values on a device: seconds to a proved gap.

    python -m benchmarks.gpu_kernels [--device cuda] [--rows 60000] [--data FILE [--labels FILE]]

RBF machines on 60,000 x 784 rows like digits (drawn here: ten classes of strokes on a 28 x 28 grid,
blurred, shifted and mixed with noise), classes below five against the rest, C = 1 and 10, gamma
"scale"; then the 45 machines of all pairs. Another data set by its path: an IDX file of images, or
any file that `sx.read` takes, with --labels where its labels are elsewhere. Every gap is proved;
seconds are on the wall, of the whole `fit`, and of its parts. The share is the time that the kernel
values of the steps (float32) and of the proof (float64) take at the rate of matrix products.
"""

import argparse
import contextlib
import time
import warnings

import numpy as np

import separatrix as sx
from benchmarks._report import header
from separatrix.core import kernel_machines as machines
from separatrix.solvers.kernels import chunking

SIDE = 28


def digit_like(n, seed=0):
    """Return n rows of 784 pixels in [0, 1] and their ten classes, some hard to tell apart."""
    draw = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE)), axis=-1).reshape(-1, 2)
    strokes = draw.uniform(5.0, 22.0, size=(10, 6, 2))  # six points of a polyline a class
    y = draw.integers(0, 10, size=n)
    X = np.empty((n, SIDE * SIDE), dtype=np.float32)
    for begin in range(0, n, 2000):
        part = slice(begin, min(begin + 2000, n))
        m = part.stop - part.start
        points = strokes[y[part]] + draw.normal(scale=2.0, size=(m, 6, 2))
        points += draw.normal(scale=1.2, size=(m, 1, 2))
        along = np.linspace(0.0, 5.0, 16)
        left = np.minimum(along.astype(int), 4)
        share = (along - left)[None, :, None]
        curve = (1 - share) * points[:, left] + share * points[:, left + 1]
        squares = ((grid[None, :, None, :] - curve[:, None, :, :]) ** 2).sum(axis=-1)
        ink = np.exp(-squares.min(axis=2) / draw.uniform(1.0, 3.0, size=(m, 1)))
        X[part] = np.clip(ink + draw.normal(scale=0.05, size=ink.shape), 0.0, 1.0)
    return X, y


def clusters(n, d=100, seed=0):
    """Return n rows in forty clusters of unit spread around normal centres, and their clusters."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(size=(40, d)).astype(np.float32)
    y = draw.integers(0, 40, size=n)
    return centres[y] + draw.normal(size=(n, d)).astype(np.float32), y


class Clock:
    """Seconds and calls of the parts of a fit, by wrapping what it calls."""

    def __init__(self):
        parts = ("validation", "kernel values", "pair steps", "choice of rows", "objectives")
        self.seconds = dict.fromkeys((*parts, "the rest", "proof"), 0.0)

    def wrap(self, name, work):
        def timed(*arguments, **settings):
            begun = time.perf_counter()
            try:
                return work(*arguments, **settings)
            finally:
                self.seconds[name] += time.perf_counter() - begun

        return timed

    @contextlib.contextmanager
    def running(self):
        def rows_at(*arguments, **settings):
            rows = kept[machines, "rows_at"](*arguments, **settings)
            rows.block = self.wrap("kernel values", rows.block)
            rows.add = self.wrap("kernel values", rows.add)
            return rows

        wrapped = {
            (sx.KernelSVM, "_pose"): "validation",
            (machines, "device_scores"): "proof",
            (machines, "kernel_scores"): "proof",
            (chunking, "array_steps"): "pair steps",
            (chunking, "pair_steps"): "pair steps",
            (chunking, "choose_rows"): "choice of rows",
            (chunking, "_measure"): "objectives",
        }
        kept = {(where, name): getattr(where, name) for where, name in wrapped}
        kept[machines, "rows_at"] = machines.rows_at
        machines.rows_at = rows_at
        for (where, name), part in wrapped.items():
            setattr(where, name, self.wrap(part, kept[where, name]))
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.total = time.perf_counter() - begun
            self.seconds["the rest"] = self.total - sum(self.seconds.values())
            for (where, name), work in kept.items():
                setattr(where, name, work)


def rates(device):
    """Return float32 and float64 operations a second of products like those of kernel values."""
    if device == "cpu":
        return None
    import torch

    found = []
    for kind in (torch.float32, torch.float64):
        right = torch.randn(60_000, 784, device=device, dtype=kind)
        left, seconds = right[:2048], []
        for _ in range(6):
            torch.cuda.synchronize()
            begun = time.perf_counter()
            left @ right.T
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - begun)
        found.append(2.0 * 2048 * 60_000 * 784 / min(seconds))
    return found


def report(name, machine, X, y, rate):
    clock = Clock()
    with clock.running(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        machine.fit(X, y)
    parts = ", ".join(f"{what} {spent:.2f}" for what, spent in clock.seconds.items())
    share = ""
    if rate:
        row = 2.0 * X.shape[0] * X.shape[1]
        needed = row * (machine.kernel_rows_ / rate[0] + len(machine.support_) / rate[1])
        share = f"{needed / clock.total:.0%}"
    print(
        f"| {name} | {clock.total:.2f} | {machine.gap_:.2e} | {machine.n_passes_:.0f} | "
        f"{int(np.sum(machine.n_iter_)):,} | {len(machine.support_):,} | {machine.status_} | "
        f"{parts} | {share} |",
        flush=True,
    )
    for warning in caught:
        print(f"  warned: {str(warning.message)[:200]}")


def device_words(device):
    try:
        import torch
    except ImportError:
        return "torch is not installed"
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return f"torch {torch.__version__}, {name}; asked: {device}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda", help="cuda, cpu, or torch-cpu (torch on CPU)")
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--data", help="a file of rows, instead of those drawn here")
    parser.add_argument("--labels", help="the labels of --data, where they are elsewhere")
    parser.add_argument("--clusters", action="store_true", help="rows of 100 columns in clusters")
    parser.add_argument("--Cs", default="1,10")
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--pairs", action="store_true", help="also the machines of all pairs")
    given = parser.parse_args()
    header("Kernel machines on a device", ["numpy", "scipy", "scikit-learn"])
    print(device_words(given.device), "\n")
    if given.data:
        table = sx.read(given.data, labels=given.labels)
        X, y = np.asarray(table.X, dtype=np.float32)[: given.rows], table.y[: given.rows]
        if X.max() > 16.0:
            X = X / np.float32(255.0)
    else:
        X, y = (clusters if given.clusters else digit_like)(given.rows)
    print(f"{X.shape[0]:,} x {X.shape[1]:,} {X.dtype}, {len(np.unique(y))} classes\n")
    device, rows = given.device, X
    if given.device == "torch-cpu":
        import torch

        device, rows = "cpu", torch.from_numpy(X)
    low = (y >= np.unique(y)[len(np.unique(y)) // 2]).astype(int)
    low = y % 2 if given.clusters else low
    warm = sx.KernelSVM(device=device)
    warm.fit(rows[:500], low[:500])  # compiled, loaded, and the device woken
    rate = None if given.device == "torch-cpu" else rates(device)
    if rate:
        print(f"{rate[0] / 1e12:.0f} TFLOP/s in float32, {rate[1] / 1e12:.0f} in float64\n")
    print("| machine | seconds | gap | chunks | pair steps | support | status | parts | share |")
    print("|---|---:|---:|---:|---:|---:|---|---|---:|")
    for C in map(float, given.Cs.split(",")):
        report(f"RBF, C = {C:g}", sx.KernelSVM(C, tol=given.tol, device=device), rows, low, rate)
    if given.pairs:
        machine = sx.KernelSVM(1.0, tol=given.tol, device=device)
        report("RBF, C = 1, all pairs", machine, rows, y, rate)


if __name__ == "__main__":
    main()
