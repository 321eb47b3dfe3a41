"""Mutated model files of LIBLINEAR and LIBSVM, given to their own loaders and to ours.

    python -m fuzz.peer_models --files 20000         needs `make .venv/.peers`

The same mutants (the byte mutator of ``fuzz.reading``, and exchanged numbers in the head) go to the
peer's `load_model` and one prediction, and to ``sx.exchange.read`` and one prediction: each file in
a child process with 1 GB of memory and 2 seconds. Counted: read, refused, and ended by a signal
(a crash), killed for time (a hang).
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


def in_a_child(work: Callable[[str], bool], path: str) -> str:
    """Run in a forked child; say how it ended."""
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (grown(MEMORY), grown(MEMORY)))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), 1)
                os.dup2(nowhere.fileno(), 2)
            os._exit(0 if work(path) else 1)
        except BaseException:
            os._exit(2)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return "hang" if number == signal.SIGXCPU else f"crash ({signal.Signals(number).name})"
    return {0: "read", 1: "refused", 2: "another error"}[os.WEXITSTATUS(status)]


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
        for _ in range(files):
            name = draw.choice(list(found))
            path.write_bytes(mutant(found[name], draw))
            kind = name.split(",")[0]
            readers = {"Separatrix": ours}
            if peers:
                readers[kind] = PEERS[kind]
            for who, reader in readers.items():
                words = outcomes.setdefault(f"{kind} files, {who}", Counter())
                words[in_a_child(reader, str(path))] += 1
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
