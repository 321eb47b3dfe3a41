"""`separatrix stream` beside Vowpal Wabbit: rows per second on one core, and progressive error.

    python -m benchmarks.stream [--only CASE ...] [--repeats 3] [--picture FILE]

Each run is a process of its own, bound to one core, that reads the same rows from a file: ours in
LIBSVM or text, VW's in its own format with the same numbers. Timed is the processor time of
reading, learning and writing the model, without the start of Python (stated apart): ours after a
first run over a few lines that loads the compiled loops. VW runs with its defaults (adaptive,
normalised and invariant steps) and the same loss; its error is its own progressive validation with
--binary, or --oaa for many classes.
"""

import argparse
import bz2
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import _text_sets as sets
from benchmarks._report import SHARED, header
from separatrix.data.readers.libsvm import write_libsvm

_OURS = """
import os, sys, time
begun = time.process_time()
os.sched_setaffinity(0, {int(sys.argv[1])})
import pathlib
from separatrix.cli.stream import Loss, stream
few, data, model, loss, kind, classes = sys.argv[2:8]
def go(data):
    stream(pathlib.Path(model), [data], kind=kind, classes=classes, loss=Loss(loss), fresh=True,
           as_json=True)
go(few)
loaded = time.process_time() - begun
cpu, wall = time.process_time(), time.perf_counter()
go(data)
print("TIMES", time.process_time() - cpu, time.perf_counter() - wall, loaded)
"""
_VW = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
import vowpalwabbit
cpu, wall = time.process_time(), time.perf_counter()
vowpalwabbit.Workspace(sys.argv[2]).finish()
print("TIMES", time.process_time() - cpu, time.perf_counter() - wall, 0.0)
"""


def times_of(said):
    found = re.search(r"TIMES (\S+) (\S+) (\S+)", said)
    return tuple(float(each) for each in found.groups())


def best(command, repeats):
    """Run a few times; return the least processor time, its wall time, the start, and the words."""
    runs = []
    for _ in range(repeats):
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        runs.append((*times_of(done.stdout), done.stdout + done.stderr))
    return min(runs)


def ours(core, few, data, model, loss, repeats, kind, classes):
    command = [sys.executable, "-c", _OURS, core, few, data, model, loss, kind, classes]
    cpu, wall, start, said = best(list(map(str, command)), repeats)
    last = [json.loads(line) for line in said.splitlines() if '"end"' in line][-1]
    return cpu, wall, start, last["error"]


def wabbit(core, data, model, loss, repeats, extra):
    options = f"-d {data} --loss_function {loss} --no_stdin -f {model} {extra}"
    cpu, wall, _, said = best([sys.executable, "-c", _VW, str(core), options], repeats)
    return cpu, wall, float(re.search(r"average loss = (\S+)", said).group(1))


# ---- the same rows in both formats


def write_vw(path, X, labels):
    with open(path, "w") as file:
        for i, label in enumerate(labels):
            part = slice(X.indptr[i], X.indptr[i + 1])
            pairs = zip((X.indices[part] + 1).tolist(), X.data[part].tolist(), strict=True)
            file.write(f"{label} | {' '.join(f'{j}:{value!r}' for j, value in pairs)}\n")


def numbers(folder, X, y):
    """Rows of numbers, six digits each, shuffled unless they come as a stream."""
    X = X.copy()
    X.data = np.array([float(f"{value:.6g}") for value in X.data])
    y = y.astype(int)
    write_libsvm(folder / "rows.libsvm", X, y)
    write_libsvm(folder / "few.libsvm", X[:2000], y[:2000])
    write_vw(folder / "rows.vw", X, y)
    return folder / "few.libsvm", folder / "rows.libsvm", ("libsvm", "-1,1"), "--binary"


def a9a(folder):
    import separatrix as sx

    table = sx.read(SHARED / "a9a.libsvm")
    return numbers(folder, table.X, table.y)


def a9a_long(folder):
    """a9a twenty times over, so that what is timed is the loop."""
    import scipy.sparse as sp

    import separatrix as sx

    table = sx.read(SHARED / "a9a.libsvm")
    return numbers(folder, sp.vstack([table.X] * 20).tocsr(), np.tile(table.y, 20))


def textlike(folder):
    return numbers(folder, *sets.textlike())


def texts(folder, pairs, extra, classes):
    """Raw texts: ours finds and hashes words; VW gets those words, and hashes them."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(pairs))
    names = {name: k + 1 for k, name in enumerate(classes)}
    word = re.compile(r"(?u)\b\w\w+\b")
    with open(folder / "rows.txt", "w") as mine, open(folder / "rows.vw", "w") as theirs:
        for i in order:
            label, text = pairs[i]
            mine.write(f"{label}\t{text}\n")
            number = names[label] if len(classes) > 2 else 2 * names[label] - 3
            theirs.write(f"{number} | {' '.join(word.findall(text.lower()))}\n")
    lines = (folder / "rows.txt").read_text().split("\n")
    (folder / "few.txt").write_text("\n".join(lines[:500]) + "\n")
    more = ("text", ",".join(classes))
    return folder / "few.txt", folder / "rows.txt", more, extra


def sentiment(folder):
    pairs = []
    for name in ("amazon_cells", "yelp", "imdb"):
        text = (SHARED / "sentiment" / f"{name}_labelled.txt").read_bytes().decode()
        for line in text.split("\n"):
            if "\t" in line:
                sentence, label = line.rsplit("\t", 1)
                pairs.append((label.strip(), sentence.replace("\t", " ").strip()))
    return texts(folder, pairs, "--binary", ["0", "1"])


def rt_polarity(folder):
    pairs = []
    for name in ("neg", "pos"):
        text = (SHARED / "rt-polarity" / f"rt-polarity.{name}").read_text("latin-1")
        pairs += [(name, line.strip()) for line in text.split("\n") if line.strip()]
    return texts(folder, pairs, "--binary", ["neg", "pos"])


def newsgroups(folder):
    pairs = []
    for part in ("train", "test"):
        name = SHARED / "newsgroups20" / f"20newsgroups-{part}.tab.bz2"
        with bz2.open(name, "rt") as file:
            lines = file.read().split("\n")[3:]
        pairs += [tuple(line.split("\t", 1)) for line in lines if "\t" in line]
    classes = sorted({label for label, _ in pairs})
    pairs = [(label, re.sub(r"\s+", " ", text)) for label, text in pairs]
    return texts(folder, pairs, f"--oaa {len(classes)}", classes)


CASES = {
    "a9a": a9a,
    "a9a x 20": a9a_long,
    "text-like": textlike,
    "sentiment": sentiment,
    "rt-polarity": rt_polarity,
    "newsgroups, 20 classes": newsgroups,
}


def picture(curves, path):
    """Draw the progressive errors as rows go by."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    from separatrix.plots._drawing import CLASS_COLOURS, RC

    plt.rcParams.update(RC)
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    dashes = ["-", "--", "-.", ":", (0, (5, 1, 1, 1)), (0, (1, 1))]
    for (name, curve), colour, dash in zip(curves.items(), CLASS_COLOURS, dashes, strict=False):
        rows, error = zip(*curve, strict=True)
        axes.plot(rows, [100 * each for each in error], linestyle=dash, label=name, color=colour)
    axes.set_xscale("log")
    axes.set_xlabel("rows learned")
    axes.set_ylabel("progressive error, %")
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, ncols=2)
    figure.savefig(path)


def curve_of(few, data, model, more, every):
    command = [sys.executable, "-m", "separatrix", "stream", "-m", str(model), str(data), "--fresh"]
    command += ["--json", "--every", str(every), "--kind", more[0], f"--classes={more[1]}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    return [(each["rows"], each["error"]) for each in told if each["event"] == "rows"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=list(CASES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--picture")
    chosen = parser.parse_args()
    header("Streams", ["numpy", "numba", "vowpalwabbit"])
    print(
        "| rows | loss | rows/s ours | rows/s VW | ratio | error ours | error VW |\n"
        "|---|---|---:|---:|---:|---:|---:|"
    )
    starts, curves = [], {}
    for name in chosen.only:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            few, data, more, extra = CASES[name](folder)
            n = data.read_bytes().count(b"\n")
            for loss in ("logistic", "hinge"):
                cpu, _, start, error = ours(
                    chosen.core, few, data, folder / "m.sx", loss, chosen.repeats, *more
                )
                taken, _, theirs = wabbit(
                    chosen.core, folder / "rows.vw", folder / "m.vw", loss, chosen.repeats, extra
                )
                starts.append(start)
                print(
                    f"| {name}, {n:,} | {loss} | {n / cpu:,.0f} | {n / taken:,.0f} "
                    f"| {taken / cpu:.2f}x | {100 * error:.2f} % | {100 * theirs:.2f} % |",
                    flush=True,
                )
            if chosen.picture and name != "a9a x 20":
                curves[name] = curve_of(few, data, folder / "m.sx", more, max(20, n // 300))
    print(f"\nStart of Python and of the compiled loops: {np.median(starts):.1f} s processor time")
    if chosen.picture:
        picture(curves, chosen.picture)


if __name__ == "__main__":
    main()
