"""Is it separable? With proof, beside HiGHS (scipy.optimize.linprog) without.

    python -m benchmarks.separability            every set, each in a process of its own
    python -m benchmarks.separability a9a heart  some sets

Seconds are medians of repeats in a warm process. "decide" is ``sx.separability``: verdict, proof
and the independent check of that proof. "check" is ``verdict.certificate.check(X, y)``, with the
data's SHA-256. "linprog" answers only whether all margins can be at least 1, in floats. Nothing
here is compiled; "first" is the first call of the process, imports included. "MB" is what deciding
added to the peak memory of the process. Real data come from ../shared/data.
"""

import argparse
import gzip
import json
import platform
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from scipy import sparse

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def libsvm(name):
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(SHARED / name))
    return sparse.csr_array(X), y == y.max()


def table(name, target):
    lines = (SHARED / name).read_text().splitlines()
    header = [word.strip('"') for word in lines[0].split(",")]
    at = header.index(target)
    cells = [[cell.strip('"') for cell in line.split(",")] for line in lines[1:]]
    X = np.array([[float(v) for j, v in enumerate(row) if j != at] for row in cells])
    return X, np.array([row[at] for row in cells])


def bag_of_words(texts, y):
    from sklearn.feature_extraction.text import CountVectorizer

    return sparse.csr_array(CountVectorizer().fit_transform(texts).astype(float)), np.array(y)


def polarity():
    texts, y = [], []
    for label in ("pos", "neg"):
        path = SHARED / "rt-polarity" / f"rt-polarity.{label}"
        lines = path.read_text(encoding="latin-1").strip().split("\n")
        texts += lines
        y += [label] * len(lines)
    return bag_of_words(texts, y)


def sentiment():
    texts, y = [], []
    for name in ("amazon_cells", "yelp", "imdb"):
        path = SHARED / "sentiment" / f"{name}_labelled.txt"
        for line in path.read_text(encoding="utf-8").split("\n"):
            if "\t" in line:
                text, label = line.rsplit("\t", 1)
                texts.append(text)
                y.append(label.strip())
    return bag_of_words(texts, y)


def fashion(label):
    folder = SHARED / "fashion-mnist"
    images = gzip.decompress((folder / "t10k-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((folder / "t10k-labels-idx1-ubyte.gz").read_bytes())
    X = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 784).astype(float)
    return X, np.frombuffer(labels, np.uint8, offset=8) == label


def digits(label):
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.data, data.target == label


def breast():
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    return data.data, data.target


def plane(rows, columns, flipped=0.0, flips=0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    y = X @ rng.normal(size=columns) > 0.1
    turned = rng.random(rows) < flipped
    turned[rng.choice(rows, flips, replace=False)] = True
    return X, y ^ turned


SETS = {
    "endometrial": lambda: table("endometrial.csv", "HG"),
    "heart": lambda: libsvm("heart_scale.libsvm"),
    "breast_cancer": breast,
    "digits_8": lambda: digits(8),
    "mushrooms": lambda: libsvm("mushrooms.libsvm"),
    "spambase": lambda: table("spambase.csv", "type"),
    "rt-polarity": polarity,
    "sentiment": sentiment,
    "a9a": lambda: libsvm("a9a.libsvm"),
    "200k_x_20_1%_flipped": lambda: plane(200_000, 20, flipped=0.01),
    "20k_x_50": lambda: plane(20_000, 50),
    "1M_x_10": lambda: plane(1_000_000, 10),
    "1M_x_10_10_flips": lambda: plane(1_000_000, 10, flips=10),
    "fashion_8": lambda: fashion(8),
    "fashion_0": lambda: fashion(0),
}
LONG_FOR_LINPROG = ("fashion_8", "fashion_0")


def linprog_seconds(X, y):
    from scipy.optimize import linprog

    signs = np.where(y == np.unique(y)[1], 1.0, -1.0)
    begin = time.perf_counter()
    if sparse.issparse(X):
        rows = sparse.hstack([sparse.csr_array(signs[:, None]), sparse.diags(signs) @ X]).tocsr()
    else:
        rows = signs[:, None] * np.column_stack([np.ones(len(X)), X])
    linprog(np.zeros(rows.shape[1]), A_ub=-rows, b_ub=-np.ones(len(signs)), bounds=(None, None))
    return time.perf_counter() - begin


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def one(name, with_linprog):
    """Measure one set and print the result as JSON."""
    begin = time.perf_counter()
    import separatrix as sx

    X, y = SETS[name]()
    load = time.perf_counter() - begin
    before = peak()
    begin = time.perf_counter()
    verdict = sx.separability(X, y)
    first = time.perf_counter() - begin
    memory = peak() - before
    repeats = 1 if first > 4 else 5
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        verdict = sx.separability(X, y)
        times.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    good = verdict.certificate is not None and verdict.certificate.check(X, y)
    check = time.perf_counter() - begin
    result = {
        "rows": X.shape[0],
        "columns": X.shape[1],
        "kind": verdict.kind,
        "off": int(X.shape[0] - len(verdict.boundary)),
        "witness": 0 if verdict.witness is None else len(verdict.witness.rows),
        "bits": 0 if verdict.witness is None else max(verdict.witness.multipliers).bit_length(),
        "load": load,
        "first": first,
        "decide": statistics.median(times),
        "check": check,
        "checked": good,
        "MB": memory,
        "linprog": linprog_seconds(X, y) if with_linprog else None,
    }
    print(json.dumps(result))


def header():
    import flint
    import scipy

    import separatrix as sx

    print(
        f"separatrix {sx.__version__}, numpy {np.__version__}, scipy {scipy.__version__} (HiGHS), "
        f"python-flint {flint.__version__}, Python {platform.python_version()}, "
        f"{platform.machine()} with {__import__('os').cpu_count()} cores"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--one")
    parser.add_argument("--no-linprog", action="store_true")
    chosen = parser.parse_args()
    if chosen.one:
        one(chosen.one, not chosen.no_linprog)
        return
    header()
    words = ("set", "size", "verdict", "decide s", "check s", "first s", "MB", "witness", "linprog")
    print(
        f"{words[0]:<22}{words[1]:>14} {words[2]:<24}", *(f"{w:>9}" for w in words[3:]), "  ratio"
    )
    undecided = 0
    for name in chosen.sets:
        command = [sys.executable, __file__, "--one", name]
        if chosen.no_linprog or name in LONG_FOR_LINPROG:
            command.append("--no-linprog")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name:<22} failed: {done.stderr.strip().splitlines()[-1]}")
            continue
        r = json.loads(done.stdout)
        undecided += r["kind"] == "undecided"
        kind = r["kind"] + (f", {r['off']} off" if r["kind"] == "quasi-separable" else "")
        ratio = f"{r['linprog'] / r['decide']:7.1f}" if r["linprog"] else "      -"
        slow = f"{r['linprog']:9.3f}" if r["linprog"] else "        -"
        print(
            f"{name:<22}{r['rows']:>8}x{r['columns']:<5} {kind:<24} {r['decide']:9.4f} "
            f"{r['check']:9.4f} {r['first']:9.3f} {r['MB']:9.0f} {r['witness']:>4}/{r['bits']:<5}"
            f"{slow} {ratio}{'' if r['checked'] else '  NOT PROVED'}",
            flush=True,
        )
    print(f"undecided: {undecided}")


if __name__ == "__main__":
    main()
