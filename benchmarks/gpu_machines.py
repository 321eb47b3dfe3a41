"""The machines on a device: seconds to a certified gap, on rows with the spectrum of embeddings.

    python -m benchmarks.gpu_machines [--rows N] [--columns D] [--device cuda] [--C C ...]
                                      [--losses squared_hinge logistic hinge] [--tol 1e-4]
                                      [--classes K] [--noise 1]

Rows are made on the device: their covariance has eigenvalues that fall over five orders of
magnitude, as those of real embeddings do, in directions that are no axes. The first fit of each
kind warms the device up; the median of the repeats is printed, the proof included. Beside it stand
passes over the rows, and the fraction of the device's own matrix rate and bandwidth, measured
first, that the fit as a whole comes to.
"""

import argparse
import statistics
import sys
import time

import numpy as np
import torch

import separatrix as sx

ORDERS = 5.0


def embedding_like(n, d, classes, device, seed=0, noise=1.0):
    """Rows with a falling spectrum, made on the device, and labels of a noisy linear rule."""
    draw = torch.Generator(device=device).manual_seed(seed)
    kind = {"device": device, "dtype": torch.float32, "generator": draw}
    directions, _ = torch.linalg.qr(torch.randn(d, d, **kind))
    falling = torch.logspace(0.0, -ORDERS / 2.0, d, device=device)
    mixing = falling[:, None] * directions
    rules = torch.randn(d, max(1, classes if classes > 2 else 1), **kind)
    centre = 0.1 * torch.randn(d, **kind)
    X = torch.empty(n, d, device=device)
    y = torch.empty(n, dtype=torch.int64, device=device)
    step = max(1, (1 << 26) // d)
    for start in range(0, n, step):
        stop = min(start + step, n)
        X[start:stop] = torch.randn(stop - start, d, **kind) @ mixing
        scores = X[start:stop] @ rules
        scores += noise * scores.std() * torch.randn(scores.shape, **kind)
        y[start:stop] = (scores[:, 0] > 0.0).long() if classes <= 2 else scores.argmax(dim=1)
        X[start:stop] += centre
    return X, y


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def timed(work, device, repeats):
    """Return the median of the seconds, and what the last call returned."""
    seconds = []
    for _ in range(repeats):
        wait(device)
        begun = time.perf_counter()
        found = work()
        wait(device)
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds), found


def measured_rates(device):
    """Return products a second in float32 and float64, and bytes read a second."""
    size = 4096 if device.type == "cuda" else 1024
    rates = []
    for kind in (torch.float32, torch.float64):
        square = torch.randn(size, size, device=device, dtype=kind)
        seconds, _ = timed(lambda square=square: square @ square, device, 5)
        rates.append(2.0 * size**3 / seconds)
    long = torch.randn((1 << 28) if device.type == "cuda" else (1 << 24), device=device)
    seconds, _ = timed(long.sum, device, 5)
    return (*rates, long.numel() * 4 / seconds)


def made(loss, C, tol, device):
    where = "cpu" if device.type == "cpu" else str(device)  # a tensor is met where it is
    if loss == "logistic":
        return sx.LogisticRegression(C, tol=tol, device=where)
    return sx.LinearSVM(C, loss=loss, tol=tol, device=where)


def report(loss, C, X, y, options, rates):
    n, d = X.shape
    machine = made(loss, C, options.tol, X.device)
    if X.is_cuda:
        torch.cuda.reset_peak_memory_stats()
    machine.fit(X, y)
    seconds, _ = timed(lambda: machine.fit(X, y), X.device, options.repeats)
    iterations, passes = (float(np.max(many)) for many in (machine.n_iter_, machine.n_passes_))
    products = 2.0 * n * d * d * iterations / seconds
    bytes_read = 4.0 * n * d * passes / seconds
    peak = torch.cuda.max_memory_allocated() / 2**30 if X.is_cuda else float("nan")
    print(
        f"| {loss} | {C:g} | {seconds:.3f} | {machine.gap_:.1e} | {iterations:.0f} "
        f"| {passes:.0f} | {products / rates[0]:.0%} | {bytes_read / rates[2]:.0%} "
        f"| {peak:.1f} |",
        flush=True,
    )
    assert machine.gap_ <= options.tol, (loss, C, machine.status_)


def main():
    options = arguments()
    device = torch.device(options.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "processor"
    print(
        f"{time.strftime('%Y-%m-%d')}, {name}, Python {sys.version.split()[0]}, "
        f"torch {torch.__version__}, NumPy {np.__version__}\n"
    )
    rates = measured_rates(device)
    print(
        f"Measured: {rates[0] / 1e12:.3g} TFLOP/s in float32, {rates[1] / 1e12:.3g} in float64, "
        f"{rates[2] / 1e9:.0f} GB/s read.\n"
    )
    X, y = embedding_like(
        options.rows, options.columns, options.classes, device, noise=options.noise
    )
    print(
        f"{options.rows:,} x {options.columns} float32, {options.classes} classes, eigenvalues "
        f"over {ORDERS:g} orders of magnitude; to a certified relative gap of {options.tol:g}:\n"
    )
    heads = "loss | C | seconds | gap | iterations | passes | of float32 rate | of bandwidth | GiB"
    print(f"| {heads} |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for loss in options.losses:
        for C in options.C:
            report(loss, C, X, y, options, rates)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=128)
    parser.add_argument("--classes", type=int, default=2)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--C", type=float, nargs="+", default=[1.0])
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--repeats", type=int, default=3)
    losses = ["squared_hinge", "logistic", "hinge"]
    parser.add_argument("--losses", nargs="+", default=losses, choices=losses)
    parser.add_argument("--noise", type=float, default=1.0, help="of the labels, against the rule")
    return parser.parse_args()


if __name__ == "__main__":
    main()
