"""Predicting files: rows per second of ``separatrix predict`` beside a scikit-learn pipeline.

    python -m benchmarks.predict

Both have the model in memory, start from the file and end with a CSV of class and scores. Texts:
20 newsgroups, tf-idf, the vectoriser and the machine in one scikit-learn Pipeline, read line by
line and predicted in blocks. LIBSVM: a9a repeated to a million rows, load_svmlight_file in blocks.
The weights are the same on both sides (sx.to_sklearn), and so are the predictions. Processor time
of the process counts (all threads), the best of the repeats; wall time beside it.
"""

import argparse
import bz2
import csv
import io
import itertools
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_svmlight_file

import separatrix as sx
from benchmarks._report import header
from separatrix.storage.model_file import ModelFile, read_model

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
BLOCK = 8 << 20


def text_files(folder: Path) -> tuple[Path, Path]:
    """Write the newsgroups as lines label<TAB>text: to learn from, and to predict."""
    made = []
    for part, repeats in (("train", 1), ("test", 4)):
        path = folder / f"{part}.txt"
        with bz2.open(SHARED / "newsgroups20" / f"20newsgroups-{part}.tab.bz2", "rt") as file:
            rows = list(csv.reader(file, delimiter="\t"))
        lines = [f"{row[0]}\t{' '.join(row[1].split())}" for row in rows[3:] if len(row) > 1]
        path.write_text("\n".join(lines * repeats) + "\n")
        made.append(path)
    return made[0], made[1]


def libsvm_files(folder: Path) -> tuple[Path, Path]:
    path = folder / "many.libsvm"
    contents = (SHARED / "a9a.t.libsvm").read_bytes()
    path.write_bytes(contents * 62)
    return SHARED / "a9a.libsvm", path


def blocks_of_lines(path: Path):
    with open(path, "rb") as file:
        while lines := file.readlines(BLOCK):
            yield lines


def sklearn_texts(pipeline, path: Path, out: Path) -> int:
    rows = 0
    with open(out, "w", newline="") as file:
        writer = csv.writer(file)
        for lines in blocks_of_lines(path):
            texts = [line.decode().split("\t", 1)[1] for line in lines]
            scores = pipeline.decision_function(texts)
            names = pipeline.classes_[scores.argmax(axis=1)]
            writer.writerows([name, *row] for name, row in zip(names, scores.tolist(), strict=True))
            rows += len(texts)
    return rows


def sklearn_libsvm(machine, path: Path, out: Path) -> int:
    rows = 0
    with open(out, "w", newline="") as file:
        writer = csv.writer(file)
        for lines in blocks_of_lines(path):
            X, _ = load_svmlight_file(
                io.BytesIO(b"".join(lines)), n_features=machine.n_features_in_
            )
            scores = machine.decision_function(X)
            names = machine.classes_[(scores > 0).astype(int)]
            writer.writerows(zip(names.tolist(), scores.tolist(), strict=True))
            rows += len(scores)
    return rows


def ours(whole: ModelFile, path: Path, out: Path) -> int:
    from separatrix._write_aside import write_whole
    from separatrix.cli.predict import _Run
    from separatrix.data.row_blocks import row_blocks

    run = _Run(whole, False, 0)
    write_whole(out, run.as_csv(row_blocks(path, whole.encoding)))
    return run.labelled


def timed(work, *arguments, repeats: int = 3):
    """Return rows, and the least processor and wall seconds."""
    best = (np.inf, np.inf)
    for _ in range(repeats):
        cpu, wall = time.process_time(), time.perf_counter()
        rows = work(*arguments)
        best = min(best, (time.process_time() - cpu, time.perf_counter() - wall))
    return rows, *best


def same(a: Path, b: Path, rows: int = 20000) -> bool:
    """Whether the first rows hold the same classes, and scores to 1e-9."""
    with open(a) as one, open(b) as two:
        next(one)
        pairs = zip(itertools.islice(one, rows), itertools.islice(two, rows), strict=True)
        for first, second in pairs:
            name, *scores = first.rstrip("\n").split(",")
            other, *others = second.rstrip("\r\n").split(",")
            if name != other or not np.allclose(
                [float(v) for v in scores], [float(v) for v in others], atol=1e-9
            ):
                return False
    return True


def memory_of(model: Path, path: Path) -> float:
    """Return the most memory, in MB, of the command by itself."""
    command = [sys.executable, "-m", "separatrix", "predict", "-m", str(model), str(path)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    told = parser.parse_args()
    header("predicting files", ["separatrix", "scikit-learn", "numpy", "scipy"])
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        cases = []
        train, test = text_files(folder)
        table = sx.read(train, kind="text", weighting="tfidf")
        machine = sx.LinearSVM(tol=1e-2).fit(table.X, table.y)
        sx.save(machine, folder / "text.sx", table=table)
        plain = sx.to_sklearn(machine, table.encoding)
        cases.append(("texts, tf-idf", folder / "text.sx", plain, sklearn_texts, test))
        train, test = libsvm_files(folder)
        table = sx.read(train)
        machine = sx.LinearSVM(tol=1e-2).fit(table.X, table.y)
        sx.save(machine, folder / "libsvm.sx", table=table)
        plain = sx.to_sklearn(machine)
        cases.append(("LIBSVM, a9a", folder / "libsvm.sx", plain, sklearn_libsvm, test))
        for name, model, plain, theirs, path in cases:
            mine, other = folder / "ours.csv", folder / "theirs.csv"
            whole = read_model(model)
            ours(whole, path, mine)  # compiled loops come from the cache after this
            rows, cpu, wall = timed(ours, whole, path, mine, repeats=told.repeats)
            _, peer_cpu, peer_wall = timed(theirs, plain, path, other, repeats=told.repeats)
            assert same(mine, other), name
            size = os.path.getsize(path) / 2**20
            print(
                f"{name}: {rows:,} rows, {size:.0f} MB. ours {rows / cpu:,.0f} rows/s "
                f"(wall {rows / wall:,.0f}), scikit-learn {rows / peer_cpu:,.0f} "
                f"(wall {rows / peer_wall:,.0f}): {peer_cpu / cpu:.1f} times in processor time, "
                f"{peer_wall / wall:.1f} in wall time; {memory_of(model, path):.0f} MB at most",
                flush=True,
            )


if __name__ == "__main__":
    main()
