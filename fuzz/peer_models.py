"""Mutated model files of LIBLINEAR and LIBSVM, given to their own loaders and to ours.

    python -m fuzz.peer_models --files 20000         needs `make .venv/.peers`

The same mutants (the byte mutator of ``fuzz.reading``, and exchanged numbers in the head) go to the
peer's `load_model` and one prediction, and to ``sx.exchange.read`` and one prediction, in a child
process with 1 GB of memory and 2 seconds a file, forked anew where a file ended it. Counted: read,
refused, and ended by a signal (a crash), killed for time (a hang). A loader that spoils the memory
of its process may so be found out by a later file; it is counted once.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

# LIBSVM predicts by OpenMP, whose threads do not survive a fork: one thread needs none.
os.environ["OMP_NUM_THREADS"] = "1"

import separatrix as sx
from fuzz.reading import mutate

SECONDS, MEMORY = 2, 1 << 30
NUMBERS = (b"0", b"-1", b"2147483647", b"99999999999", b"1e308", b"nan", b"", b"x", b"1000000")


def seeds(folder: Path) -> dict[str, bytes]:
    """Return small files of both peers, two and three classes."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), rng.integers(0, 3, size=30)
    path, found = folder / "seed.model", {}
    for name, kept in (("two", y < 2), ("three", y >= 0)):
        sx.exchange.write_liblinear(sx.LinearSVM().fit(X[kept], y[kept]), path)
        found[f"liblinear, {name}"] = path.read_bytes()
        sx.exchange.write_libsvm_model(sx.KernelSVM().fit(X[kept], y[kept]), path)
        found[f"libsvm, {name}"] = path.read_bytes()
    return found


def mutant(seed: bytes, draw: random.Random) -> bytes:
    if draw.random() < 0.5:
        return mutate(seed, draw, words=True)
    numbers = list(re.finditer(rb"(?<=[ :])[-+.0-9e]+", seed))
    spot = draw.choice(numbers)
    return seed[: spot.start()] + draw.choice(NUMBERS) + seed[spot.end() :]


def liblinear(path: str) -> bool:
    from liblinear import liblinear as library
    from liblinear import liblinearutil as peer

    model = peer.load_model(path)
    if model is None:
        return False
    row, _ = library.gen_feature_nodearray([1.0, 2.0, 3.0, 4.0], 4)
    library.liblinear.predict(model, row)
    return True


def libsvm(path: str) -> bool:
    from libsvm import svm as library
    from libsvm import svmutil as peer

    model = peer.svm_load_model(path)
    if model is None:
        return False
    row, _ = library.gen_svm_nodearray([1.0, 2.0, 3.0, 4.0])
    library.libsvm.svm_predict(model, row)
    return True


def ours(path: str) -> bool:
    try:
        whole = sx.exchange.read(path)
        whole.model.predict(np.ones((1, whole.model.n_features_in_)))
    except sx.ModelFileError:
        return False
    return True


PEERS: dict[str, Callable[[str], bool]] = {"liblinear": liblinear, "libsvm": libsvm}


class Worker:
    """A forked child that reads file after file, and is forked anew where one ends it.

    The file it reads lies at `path`; a byte asks, a byte answers. Time and memory are limited a
    file: an interval timer of processor time ends a child that takes too long.
    """

    def __init__(self, work: Callable[[str], bool], path: str) -> None:
        self._work, self._path, self._child = work, path, 0

    def _start(self) -> None:
        asked, self._ask = os.pipe()
        self._answer, answered = os.pipe()
        self._child = os.fork()
        if self._child:
            os.close(asked)
            os.close(answered)
            return
        try:
            os.close(self._ask)
            os.close(self._answer)
            resource.setrlimit(resource.RLIMIT_AS, (grown(MEMORY), grown(MEMORY)))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            while os.read(asked, 1):
                signal.setitimer(signal.ITIMER_PROF, SECONDS)
                os.write(answered, self._one())
                signal.setitimer(signal.ITIMER_PROF, 0)
        finally:
            os._exit(0)

    def _one(self) -> bytes:
        try:
            return b"0" if self._work(self._path) else b"1"
        except BaseException:
            return b"2"

    def read(self) -> str:
        """Let the child read the file; say how that ended."""
        if not self._child:
            self._start()
        os.write(self._ask, b"?")
        told = os.read(self._answer, 1)
        if told:
            return {b"0": "read", b"1": "refused", b"2": "another error"}[told]
        status = self._ended()
        if not os.WIFSIGNALED(status):
            return "another error"  # it ended itself
        number = os.WTERMSIG(status)
        return "hang" if number == signal.SIGPROF else f"crash ({signal.Signals(number).name})"

    def stop(self) -> None:
        """End the child: later ones hold its pipe too, so that closing ours would not."""
        if self._child:
            os.kill(self._child, signal.SIGKILL)
            self._ended()

    def _ended(self) -> int:
        os.close(self._ask)
        os.close(self._answer)
        _, status = os.waitpid(self._child, 0)
        self._child = 0
        return status


def grown(amount: int) -> int:
    """Return a limit of so much above what this process has mapped already."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE") + amount


def run(files: int, seed: int, peers: bool = True, say: Callable[..., None] = print) -> bool:
    """Return whether ours never crashed."""
    draw = random.Random(seed)
    outcomes: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "m.model"
        found = seeds(Path(place))
        for name, contents in found.items():  # import first, so that no child has to
            path.write_bytes(contents)
            assert ours(str(path))
            if peers:
                assert PEERS[name.split(",")[0]](str(path))
        workers = {"Separatrix": Worker(ours, str(path))}
        if peers:
            workers |= {kind: Worker(reader, str(path)) for kind, reader in PEERS.items()}
        for _ in range(files):
            name = draw.choice(list(found))
            path.write_bytes(mutant(found[name], draw))
            kind = name.split(",")[0]
            for who in ("Separatrix", *([kind] if peers else [])):
                words = outcomes.setdefault(f"{kind} files, {who}", Counter())
                words[workers[who].read()] += 1
        for worker in workers.values():
            worker.stop()
    for name in sorted(outcomes):
        say(f"{name}: {sum(outcomes[name].values()):,} files: {dict(outcomes[name])}")
    words = set().union(*(v for name, v in outcomes.items() if "Separatrix" in name))
    return words <= {"read", "refused"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    print(f"separatrix {sx.__version__}, {time.strftime('%Y-%m-%d')}, seed {told.seed}")
    from importlib.metadata import version

    for name in ("liblinear-official", "libsvm-official"):
        print(name, version(name))
    sys.exit(0 if run(told.files, told.seed) else 1)


if __name__ == "__main__":
    main()
