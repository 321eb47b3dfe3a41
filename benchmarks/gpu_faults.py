"""A device lost in the middle of a fit, for real: is it said in words, and is nothing half-trained?

    python -m benchmarks.gpu_faults          where the device is

While a machine that was fitted before is fitted again on large data, another thread lets a kernel
on the same device fail an assertion: from then on every call of this process to the device fails,
as it does when a device is lost. Each machine has a process of its own, since none of them can use
the device afterwards. Then the memory a process may take is cut to next to nothing.
"""

import argparse
import subprocess
import sys
import threading
import time
import warnings

import numpy as np

import separatrix as sx

MACHINES = {
    "logistic": lambda: sx.LogisticRegression(device="cuda", tol=1e-9),
    "hinge": lambda: sx.LinearSVM(device="cuda", tol=1e-9),
    "multinomial": lambda: sx.LogisticRegression(
        multi_class="multinomial", device="cuda", tol=1e-9
    ),
    "kernel": lambda: sx.KernelSVM(device="cuda", C=100.0, tol=1e-6),
}
ROWS, COLUMNS, KERNEL_ROWS = 1_500_000, 512, 60_000
LITTLE = 0.0005


def data():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(ROWS, COLUMNS)).astype(np.float32)
    return X, (X[:, :5].sum(axis=1) + 2.0 * draw.normal(size=len(X)) > 0.0).astype(int)


def spoil(after):
    import torch

    time.sleep(after)
    place = torch.full((1,), 10**9, device="cuda", dtype=torch.int64)
    torch.zeros(4, device="cuda")[place]


def lose(kind):
    """Fit, fit again while the device is lost, and say what became of the machine."""
    X, y = data()
    small, large = (X[:2000], y[:2000]), (X, y)
    machine = MACHINES[kind]().fit(*small)
    kept = dict(vars(machine))
    after = 2.0
    if kind == "kernel":
        large = X[:KERNEL_ROWS], y[:KERNEL_ROWS]
    else:
        for _ in range(2):  # the second is what the third will be
            begun = time.perf_counter()
            MACHINES[kind]().fit(*large)
            after = 0.5 * (time.perf_counter() - begun)
    thread = threading.Thread(target=spoil, args=(after,))
    thread.start()
    said = attempt(lambda: machine.fit(*large))
    thread.join()
    print_row(f"lost in mid-fit, {kind}", said, machine, kept, small)


def starve(kind):
    """Fit with no memory to speak of."""
    import torch

    X, y = data()
    small = X[:2000], y[:2000]
    machine = MACHINES[kind]().fit(*small)
    kept = dict(vars(machine))
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(LITTLE)
    said = attempt(lambda: machine.fit(X[:400_000], y[:400_000]))
    torch.cuda.set_per_process_memory_fraction(1.0)
    print_row(f"no memory, {kind}", said, machine, kept, small)


def attempt(fit):
    try:
        fit()
    except sx.DeviceError as error:
        return f"DeviceError: {error}"
    except Exception as error:
        return f"ANOTHER ERROR, {type(error).__name__}: {error}"
    return "fitted"


def print_row(what, said, machine, kept, small):
    now = vars(machine)
    same = set(now) == set(kept) and all(now[name] is kept[name] for name in kept)
    right = (machine.predict(small[0]) == small[1]).mean()
    state = "as it was" if same else "CHANGED"
    print(f"| {what} | {said} | {state}, right on {right:.1%} |", flush=True)
    sys.exit(0 if same and said.startswith("DeviceError") else 1)


def main():
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lose")
    parser.add_argument("--starve")
    options = parser.parse_args()
    if options.lose:
        lose(options.lose)
    if options.starve:
        starve(options.starve)
    import torch

    print(f"{torch.cuda.get_device_name()}; Python {sys.version.split()[0]}, torch "
          f"{torch.__version__}; {time.strftime('%Y-%m-%d')}\n")  # fmt: skip
    print("| what happens | what is said | the machine fitted before |\n|---|---|---|", flush=True)
    bad = 0
    for way, kinds in (("--lose", MACHINES), ("--starve", ("logistic", "multinomial"))):
        for kind in kinds:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.gpu_faults", way, kind],
                stderr=subprocess.DEVNULL,
                check=False,
            )
            bad += done.returncode != 0
    print(f"\n{bad} that went wrong")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
