"""What limits the fits where a peer is ahead or was: the parts of each, and the machine's rates.

    python -m benchmarks.limits [--only WORD ...] [--large]

The machine first: bytes read in order, entries gathered in random order from a vector that fits
into the cache, floating-point operations of a matrix product, and bytes of SHA-256, each for one
core. Then every case: CPU seconds of a whole fit, of the fingerprint alone, of checking the
certificate again without the fingerprint, and the rest (validation and solver). The last column is
what the passes, products or hashes of this fit would take at the machine's rate, over its time. A
search over C counts the passes of all its fits, a stream two visits to each word and class.
`--large` adds a million rows. `benchmarks.all`, `.path` and `.stream` have the peers of the cases.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, make_classification

import separatrix as sx
from benchmarks import _text_sets as text
from benchmarks import distributed, machines, path, stream
from benchmarks._report import SHARED, header
from benchmarks.all import shown, spent
from benchmarks.closed_forms import tall
from separatrix._compiled import compiled
from separatrix.cli.stream import Loss
from separatrix.cli.stream import stream as learn
from separatrix.problem import fingerprint as fingerprints
from separatrix.problem.canonical import data_of
from separatrix.problem.fingerprint import fingerprint
from separatrix.selection import _cell
from separatrix.solvers.running.drive import one_thread

HEAD = "| case | ours | fingerprint | check | rest | passes | at the machine's rate |"


@dataclass(frozen=True)
class Rates:
    """What one core does in a second."""

    read: float  # bytes in order
    gathered: float  # entries of a sparse row, in random order of rows
    products: float  # floating-point operations
    hashed: float  # bytes


@dataclass(frozen=True)
class Case:
    """A model and its rows; `least` returns the seconds that the machine's rates allow.

    A case that is not one fit has no `parts`.
    """

    name: str
    model: Any
    X: Any
    y: np.ndarray
    least: Callable[[Any, Rates], float]
    has_parts: bool = True


@compiled
def gather(values: np.ndarray, places: np.ndarray, w: np.ndarray) -> float:
    """Return the sum of products of values and the weights at their places."""
    total = 0.0
    for k in range(len(values)):
        total += values[k] * w[places[k]]
    return total


def cpu(work: Callable[[], Any], repeats: int = 5) -> float:
    """Return the least CPU seconds of a few runs, after one that is not counted."""
    work()
    taken = []
    for _ in range(repeats):
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return min(taken)


def rates() -> Rates:
    """Measure what one core does in a second."""
    rng = np.random.default_rng(0)
    block, square = np.ones(25_000_000), rng.normal(size=(1200, 1200))
    places = rng.integers(0, 20_000, 10_000_000).astype(np.uint32)
    values, w = np.ones(len(places), dtype=np.float32), rng.normal(size=20_000)
    text_ = bytes(50_000_000)
    return Rates(
        block.nbytes / cpu(block.sum),
        len(places) / cpu(lambda: gather(values, places, w)),
        2.0 * 1200**3 / cpu(lambda: square @ square),
        len(text_) / cpu(lambda: hashlib.sha256(text_).digest()),
    )


# ---- what a fit needs at least


def by_passes(X: Any) -> Callable[[Any, Rates], float]:
    """Return the time of the passes that were made, by the rate that holds for these rows."""

    def least(model: Any, machine: Rates) -> float:
        passes = float(np.max(model.n_passes_))
        return passes * (X.nnz / machine.gathered if sp.issparse(X) else X.nbytes / machine.read)

    return least


class CountedHash:
    """SHA-256 that counts what it is given, in the place of `hashlib`."""

    bytes = 0

    def sha256(self, data: Any = b"") -> CountedHash:
        CountedHash.bytes += len(data)
        return self

    def update(self, data: Any) -> None:
        CountedHash.bytes += memoryview(data).nbytes

    def digest(self) -> bytes:
        return bytes(32)

    def hexdigest(self) -> str:
        return ""


def by_hash(X: Any, flops: float = 0.0) -> Callable[[Any, Rates], float]:
    """Return the time of the bytes that the fingerprint hashes, and of so many operations."""

    def least(model: Any, machine: Rates) -> float:
        CountedHash.bytes = 0
        with patch.object(fingerprints, "hashlib", CountedHash()):
            fingerprint(data_of(X, np.zeros(len(X), dtype=int), 1, True))
        return CountedHash.bytes / machine.hashed + flops / machine.products

    return least


def by_cells(X: Any, y: np.ndarray) -> Callable[[Any, Rates], float]:
    """Return the time of the passes of all fits of a search, each over the rows that it trains."""

    def least(model: Any, machine: Rates) -> float:
        visited, solve = [], _cell.solve_and_prove
        lengths = np.diff(X.indptr)

        def counted(method: Any, problem: Any, *more: Any) -> Any:
            found = solve(method, problem, *more)
            visited.append(found.passes * float(lengths[problem.costs > 0.0].sum()))
            return found

        with patch.object(_cell, "solve_and_prove", counted):
            model.fit(X, y)
        return sum(visited) / machine.gathered

    return least


def by_products(flops: float) -> Callable[[Any, Rates], float]:
    """Return the time of so many operations."""
    return lambda model, machine: flops / machine.products


# ---- the cases


def tiny() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=100) > 0.0).astype(int)
    cancer, sick = load_breast_cancer(return_X_y=True)
    cancer = (cancer - cancer.mean(axis=0)) / cancer.std(axis=0)
    for name, rows, labels in (("100 x 4", X, y), ("569 x 30", cancer, sick)):
        yield Case(f"{name}, hinge", sx.LinearSVM(), rows, labels, by_passes(rows))
        flops = 2.0 * len(rows) ** 2 * rows.shape[1]
        yield Case(f"{name}, rbf kernel", sx.KernelSVM(), rows, labels, by_products(flops))


def narrow() -> Iterator[Case]:
    X, y = machines.narrow_sparse()
    for C in (0.1, 1.0, 100.0):
        model = sx.LinearSVM(C, tol=1e-6, intercept_penalty=1.0)
        yield Case(f"sparse 50,000 x 300, hinge, C = {C:g}", model, X, y, by_passes(X))


def texts() -> Iterator[Case]:
    for name, read in (("rt-polarity words", lambda: text.rt_polarity(1)), ("a9a", machines.a9a)):
        X, y = read()
        model = sx.LinearSVM(0.1, tol=1e-6, intercept_penalty=1.0)
        yield Case(f"{name}, hinge, C = 0.1", model, X, y, by_passes(X))


def hard() -> Iterator[Case]:
    table = sx.read(SHARED / "alon.csv.gz", target="class")
    X = np.asarray(table.X)
    yield Case("alon 62 x 2,000, hard margin", sx.LinearSVM(np.inf), X, table.y, by_hash(X))


def kernels() -> Iterator[Case]:
    X, y = load_digits(return_X_y=True)
    flops = 2.0 * len(X) ** 2 * X.shape[1]
    yield Case("digits, 45 kernel SVMs", sx.KernelSVM(), X, y, by_products(flops))
    X, y = make_classification(7000, 256, n_informative=40, flip_y=0.02, random_state=0)
    flops = 2.0 * len(X) ** 2 * X.shape[1]
    for C in (1.0, 10.0):
        model = sx.KernelSVM(C=C, cache_size=1000)
        yield Case(f"7,000 x 256, rbf kernel, C = {C:g}", model, X, y, by_products(flops))


def closed_forms() -> Iterator[Case]:
    X, y = tall()
    least = by_hash(X, 2.0 * X.shape[0] * X.shape[1] ** 2)
    yield Case("least squares 200,000 x 50", sx.LeastSquares(1.0), X, y, least)


def searches() -> Iterator[Case]:
    sentences = path.sentiment()
    X, y = text.newsgroups_classes()
    some = np.random.default_rng(0).permutation(X.shape[0])[:6000]
    all_C = sx.LinearSVMCV(path.CS, cv=5, tol=path.TOL, n_jobs=1)
    own = sx.LinearSVMCV(loss="squared_hinge", n_jobs=1)
    classes = sx.LinearSVMCV((0.1, 1.0, 10.0), cv=3, tol=path.TOL, n_jobs=1)
    for name, model, (rows, labels) in (
        ("sentences, 6 C x 5 folds, hinge", all_C, sentences),
        ("sentences, own search, squared hinge", own, sentences),
        ("sparse 50,000 x 300, 6 C x 5 folds, hinge", all_C, machines.narrow_sparse()),
        ("newsgroups, 20 classes, 3 C x 3 folds, hinge", classes, (X[some], y[some])),
    ):
        yield Case(name, model, rows, labels, by_cells(rows, labels), has_parts=False)


class Stream:
    """A stream of texts, learned as the command learns it."""

    def __init__(self, data: Path, model: Path, kind: str, classes: str) -> None:
        self.data, self.model, self.kind, self.classes = data, model, kind, classes

    def fit(self, X: Any, y: Any) -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            learn(
                self.model, [str(self.data)], kind=self.kind, classes=self.classes,
                loss=Loss.LOGISTIC, fresh=True, as_json=True,
            )  # fmt: skip


def streams() -> Iterator[Case]:
    word = re.compile(r"(?u)\b\w\w+\b")
    for name, make in (
        ("rt-polarity, stream of text", stream.rt_polarity),
        ("newsgroups, 20 classes, stream of text", stream.newsgroups),
    ):
        with tempfile.TemporaryDirectory() as place:
            _, data, (kind, classes), _ = make(Path(place))
            lines = data.read_text().splitlines()
            models = classes.count(",") + 1
            entries = sum(len(word.findall(line)) for line in lines)
            visits = 2.0 * entries * (models if models > 2 else 1)
            model = Stream(data, Path(place) / "m.sx", kind, classes)
            rows = np.zeros((len(lines), 1))

            def least(_: Any, machine: Rates, visits: float = visits) -> float:
                return visits / machine.gathered

            yield Case(name, model, rows, rows[:, 0], least, has_parts=False)


def large() -> Iterator[Case]:
    X, y = distributed.rows_of(1_000_000)
    for loss, tol in (("squared_hinge", 1e-6), ("hinge", 1e-4)):
        model = sx.LinearSVM(loss=loss, tol=tol)
        to = f"{tol:.0e}".replace("e-0", "e-")
        name = f"1,000,000 x 50,000, {loss.replace('_', ' ')} to {to}"
        yield Case(name, model, X, y, by_passes(X))


CASES = {
    one.__name__: one
    for one in (tiny, narrow, texts, hard, kernels, closed_forms, searches, streams)
}


def line(case: Case, machine: Rates) -> str:
    """Measure a case."""
    X, y, model = case.X, case.y, case.model
    repeats = 15 if X.shape[0] < 1000 else 5
    whole = spent(lambda: model.fit(X, y), repeats)
    if not case.has_parts:
        return (
            f"| {case.name} | {shown(whole)} | | | | | {case.least(model, machine) / whole:.1%} |"
        )
    codes = np.unique(y, return_inverse=True)[1]
    name = spent(lambda: fingerprint(data_of(X, codes, int(codes.max()) + 1, True)), repeats)
    proof = getattr(model, "certificate_", None)
    checks = spent(lambda: proof.check(X, y), repeats) - name if proof is not None else np.nan
    rest = whole - name - checks if proof is not None else whole - name
    passes = getattr(model, "n_passes_", np.nan)
    share = case.least(model, machine) / whole
    cells = [shown(max(part, 0.0)) if part == part else "" for part in (whole, name, checks, rest)]
    count = "" if np.isnan(np.max(passes)) else f"{float(np.max(passes)):.0f}"
    return f"| {case.name} | {' | '.join(cells)} | {count} | {share:.0%} |"


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    ask.add_argument("--large", action="store_true")
    given = ask.parse_args()
    warnings.simplefilter("ignore")
    header("what limits a fit", ["scikit-learn", "scipy"])
    with one_thread():
        machine = rates()
        print(
            f"One core: {machine.read / 1e9:.1f} GB/s read, {machine.gathered / 1e6:.0f} million "
            f"entries/s gathered, {machine.products / 1e9:.0f} GFLOP/s, SHA-256 "
            f"{machine.hashed / 1e9:.2f} GB/s.\n"
        )
        print(f"{HEAD}\n|---|---:|---:|---:|---:|---:|---:|", flush=True)
        for make in [CASES[name] for name in given.only] + [large] * given.large:
            for case in make():
                print(line(case, machine), flush=True)


if __name__ == "__main__":
    main()
