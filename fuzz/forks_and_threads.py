"""Forks after a fit, and eight threads fitting at once: no abort, and the same bits every time.

    python -m fuzz.forks_and_threads --times 1000

Machines are fitted, then the process forks: the child fits and predicts again, and must give the
same bits and end by itself within a minute. Then eight threads fit different machines at once,
again and again, and every result must equal, bit for bit, that of a fit alone.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp

import separatrix as sx

THREADS = 8
ROWS = 24  # small: what is tested is that many go at once, not how long they take
LONGEST = 60


def models() -> list[Callable[[], Any]]:
    """Return one machine for each thread: every solver has its turn."""
    return [
        sx.LinearSVM,
        lambda: sx.LinearSVM(loss="squared_hinge"),
        sx.LogisticRegression,
        lambda: sx.LinearSVM(solver="dual_coordinate", random_state=0),
        sx.KernelSVM,
        lambda: sx.Perceptron(max_updates=300),
        lambda: sx.LinearSVM(multi_class="direct"),
        sx.Fisher,
    ]


def data() -> tuple[Any, Any, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 4))
    return X, sp.csr_array(np.where(abs(X) > 0.8, X, 0.0)), np.arange(ROWS) % 3


def bits(make: Callable[[], Any]) -> str:
    """Return a digest of everything a fit decides: weights, or shares, and scores."""
    X, sparse, y = data()
    digest = hashlib.sha256()
    for rows in (X, sparse):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = make().fit(rows, y)
        found = model.dual_coef_ if hasattr(model, "kernel_") else model.coef_
        for array in (found, model.intercept_, model.decision_function(rows)):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def fork_once(make: Callable[[], Any], wanted: str) -> None:
    """Fit in a forked child; anything but the same bits and a quiet end is an error."""
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST)
        try:
            os._exit(0 if bits(make) == wanted else 1)
        except BaseException:
            os._exit(2)
    status = os.waitpid(child, 0)[1]
    if status:
        raise AssertionError(f"a forked child ended with {status}")


def run(forks: int, rounds: int, say: Any = print) -> None:
    made = models()
    wanted = [bits(make) for make in made]
    assert wanted == [bits(make) for make in made]
    for number in range(forks):
        fork_once(made[number % len(made)], wanted[number % len(made)])
        if number % 250 == 249:
            say(f"{number + 1:,} forks, {time.process_time():.0f} s", flush=True)
    say(f"{forks:,} forks after a fit: no abort, identical bits", flush=True)
    warnings.simplefilter("ignore")
    with ThreadPoolExecutor(THREADS) as pool:
        for number in range(rounds):
            found = list(pool.map(bits, made))
            assert found == wanted, f"round {number}: other bits"
            if number % 250 == 249:
                say(f"{number + 1:,} rounds, {time.process_time():.0f} s", flush=True)
            if number % 10 == 0:
                fork_once(made[number % len(made)], wanted[number % len(made)])
    say(f"{rounds:,} rounds of {THREADS} threads at once: no abort, identical bits", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--times", type=int, default=1000)
    told = parser.parse_args()
    print(f"separatrix {sx.__version__}, {time.strftime('%Y-%m-%d')}, Python {sys.version[:7]}")
    run(told.times, told.times)


if __name__ == "__main__":
    main()
