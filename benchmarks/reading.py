"""Reading, side by side with scikit-learn, pandas and polars at equal results.

    python -m benchmarks.reading                       rates, and a million numbers against float()
    python -m benchmarks.reading --numbers 10000000    the ten million

Each rate is the median of five repeats, files warm in memory, compile time stated apart. Results
are compared before anything is printed: a ratio at unequal results would mean nothing.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import random
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import sklearn
from pyarrow import csv as arrow_csv
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import CountVectorizer

import separatrix as sx
from benchmarks._report import SHARED
from separatrix.data.encodings.words import TextEncoding, fit_text
from separatrix.data.readers.class_files import read_classes
from separatrix.data.readers.delimited import parse_delimited
from separatrix.data.readers.libsvm import parse_libsvm, write_libsvm
from separatrix.data.sources.streams import Source, open_source

REPEATS = 5


def timed(
    action: Callable[[], Any], repeats: int = REPEATS, clock: Callable[[], float] | None = None
) -> tuple[float, Any]:
    """Return the median time and the last result."""
    clock, times = clock or time.perf_counter, []
    for _ in range(repeats):
        started = clock()
        result = action()
        times.append(clock() - started)
    return median(times), result


def report(title: str, megabytes: float, ours: float, peers: dict[str, float]) -> None:
    rates = [f"separatrix {megabytes / ours:6.1f} MB/s"]
    rates += [
        f"{name} {megabytes / each:6.1f} ({each / ours:.1f}x)" for name, each in peers.items()
    ]
    print(f"{title:34} {megabytes:6.1f} MB  " + "   ".join(rates), flush=True)


def libsvm(folder: Path) -> None:
    draw = np.random.default_rng(0)
    X = sparse.random(60_000, 1000, density=0.02, random_state=0, format="csr")
    X.data = draw.normal(size=X.nnz)
    floats = folder / "floats.libsvm"
    write_libsvm(floats, X, draw.choice([-1, 1], X.shape[0]))
    files = {"LIBSVM, 17-digit floats": floats}
    if SHARED.is_dir():
        (folder / "a9a.libsvm").write_bytes((SHARED / "a9a.libsvm").read_bytes() * 10)
        files["LIBSVM, a9a ten times"] = folder / "a9a.libsvm"
    for title, path in files.items():
        started = time.perf_counter()
        sx.read(path)
        first = time.perf_counter() - started
        ours, table = timed(lambda path=path: sx.read(path))
        peer, (Z, y) = timed(lambda path=path: load_svmlight_file(str(path)), 3)
        assert (table.X != Z).nnz == 0
        assert (table.y == y).all()
        report(title, path.stat().st_size / 1e6, ours, {"scikit-learn": peer})
        print(f"{'':34} (first call, with compiling or loading: {first:.1f} s)")


def numeric_csv(folder: Path) -> None:
    draw = np.random.default_rng(1)
    path = folder / "floats.csv"
    frame = pd.DataFrame(draw.normal(size=(100_000, 20)), columns=[f"f{i}" for i in range(20)])
    frame["y"] = draw.choice([0, 1], len(frame))
    frame.to_csv(path, index=False)
    peers: dict[str, Callable[[], Any]] = {
        "pandas": lambda: pd.read_csv(path).to_numpy(),
        "polars": lambda: pl.read_csv(path).to_numpy(),
        "pyarrow": lambda: np.column_stack([each.to_numpy() for each in arrow_csv.read_csv(path)]),
    }
    for title, clock in (("the clock", time.perf_counter), ("CPU time", time.process_time)):
        ours, table = timed(lambda: sx.read(path, target="y"), clock=clock)
        rates = {}
        for name, read in peers.items():
            rates[name], peer = timed(read, clock=clock)
            assert np.array_equal(table.X, peer[:, :-1])
        report(f"CSV, floats, by {title}", path.stat().st_size / 1e6, ours, rates)


def mixed_csv() -> None:
    """Read and one-hot encode adult, where peers need a call for each step."""
    path = SHARED / "adult-train.csv"

    def by_pandas() -> Any:
        frame = pd.read_csv(path, header=None, skipinitialspace=True, keep_default_na=False)
        dummies = pd.get_dummies(frame.iloc[:, :-1], dtype=float)
        return sparse.csr_matrix(dummies.to_numpy(dtype=float))

    ours, table = timed(lambda: sx.read(path))
    pandas, Z = timed(by_pandas, 3)
    expected = sorted(np.asarray(table.X.sum(axis=0)).ravel().tolist())
    assert sorted(np.asarray(Z.sum(axis=0)).ravel().tolist()) == expected
    report("CSV, adult, one-hot encoded", path.stat().st_size / 1e6, ours, {"pandas": pandas})


def texts() -> None:
    news = parse_delimited(open_source(SHARED / "newsgroups20/20newsgroups-train.tab.bz2"))
    documents = {
        "words, polarity": read_classes(SHARED / "rt-polarity").texts,
        "words, 20 newsgroups": news.columns[1].load().to_pylist(),
    }
    for title, each in documents.items():
        for ngrams in ((1, 1), (1, 2)):
            encoding = TextEncoding(ngrams=ngrams)
            ours, (learned, X) = timed(
                lambda each=each, encoding=encoding: fit_text(each, encoding), 3
            )
            peer = CountVectorizer(ngram_range=ngrams)
            theirs, Z = timed(lambda each=each, peer=peer: peer.fit_transform(each), 3)
            assert (X != Z).nnz == 0
            assert learned.feature_names == list(peer.get_feature_names_out())
            size = sum(len(text.encode()) for text in each) / 1e6
            report(f"{title}, n-grams {ngrams}", size, ours, {"CountVectorizer": theirs})


def random_token(draw: random.Random) -> str:
    choice = draw.random()
    value = struct.unpack("d", draw.randbytes(8))[0]
    if not math.isfinite(value) or choice < 0.2:
        value = draw.gauss(0.0, 1.0)
    if choice < 0.5:
        return repr(value)
    if choice < 0.6:
        return f"{value:.{draw.randrange(16, 24)}e}"
    if choice < 0.7:  # subnormal
        value = struct.unpack("d", struct.pack("Q", draw.getrandbits(52) >> draw.randrange(50)))[0]
        return f"{value:.{draw.randrange(1, 22)}e}"
    if choice < 0.8:
        return f"{draw.getrandbits(66)}e{draw.randrange(-330, 280)}"
    return f"{draw.gauss(0.0, 1e3):.{draw.randrange(12)}f}"


def numbers(count: int) -> None:
    """Read random numbers as LIBSVM values and compare every bit with ``float()``."""
    draw = random.Random(0)
    different = 0
    seconds, octets = 0.0, 0
    for start in range(0, count, 500_000):
        tokens = [random_token(draw) for _ in range(min(500_000, count - start))]
        lines = [
            "1 " + " ".join(f"{at}:{token}" for at, token in enumerate(tokens[row : row + 50], 1))
            for row in range(0, len(tokens), 50)
        ]
        data = "\n".join(lines).encode()
        begun = time.perf_counter()
        found = parse_libsvm(Source("numbers", data, "", "", "")).X.data
        seconds += time.perf_counter() - begun
        octets += len(data)
        expected = np.array([float(token) for token in tokens])
        different += int((found.view(np.int64) != expected.view(np.int64)).sum())
    print(
        f"{count:,} random numbers (subnormals, 17 to 24 digits among them): "
        f"{different} differ from float(); {octets / seconds / 1e6:.0f} MB/s"
    )
    assert different == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--numbers", type=int, default=1_000_000)
    told = parser.parse_args()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"separatrix {sx.__version__}, scikit-learn {sklearn.__version__}, "
        f"pandas {pd.__version__}, polars {pl.__version__}"
    )
    with tempfile.TemporaryDirectory() as folder:
        libsvm(Path(folder))
        numeric_csv(Path(folder))
    if SHARED.is_dir():
        mixed_csv()
        texts()
    else:
        print("the shared data are not there: adult and the texts are left out")
    numbers(told.numbers)


if __name__ == "__main__":
    main()
