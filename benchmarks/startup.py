"""How soon a command is done: processor seconds on small data, where starting is most of the work.

    python -m benchmarks.startup

Every command runs in a process of its own, from the shell's point of view: Python, imports, the
command, the end of the process. The data are Anderson's irises as a CSV file of 150 rows (for
`separable`, `verify` and `path` the 100 rows of two species), written here; `study` studies the two
sets that come with it. User and system time of the process and its threads, the median of the
repeats, after one run that is not counted: machine code and byte code are on disk by then.

Beside them: other programs' smallest whole job on the same rows, where they are installed
(``make .venv/.peers`` brings the Python packages of LIBSVM and Vowpal Wabbit), and the import alone
of scikit-learn's support vector machines.
"""

import argparse
import csv
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from benchmarks._report import header
from separatrix.data.lectures import iris
from separatrix.data.table import Table, write_table

LIBSVM = "from libsvm.svmutil import *; y, x = svm_read_problem({!r}); svm_train(y, x, '-t 0 -q')"
Command = list[str]


def written(folder: Path) -> tuple[Path, Path]:
    """Write all irises, and those of two species that overlap."""
    table = iris()
    whole, two = folder / "iris.csv", folder / "two.csv"
    for path, kept in ((whole, table.y != ""), (two, table.y != "setosa")):
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow([*table.feature_names, "species"])
            rows = zip(table.X[kept].tolist(), table.y[kept].tolist(), strict=True)
            writer.writerows([*row, name] for row, name in rows)
    return whole, two


def ours(folder: Path, whole: Path, two: Path) -> Iterator[tuple[str, Command]]:
    """Yield what is shown of each command, and the command."""
    model, proved = folder / "iris.sx", folder / "two.sx"
    target = ["--target", "species"]
    separatrix = [str(Path(sys.executable).with_name("separatrix"))]
    for data, path in ((whole, model), (two, proved)):
        subprocess.run([*separatrix, "fit", str(data), *target, "-o", str(path), "-q"], check=True)
    for shown, words in (
        ("--help", ["--help"]),
        ("info iris.csv", ["info", whole, *target]),
        ("info model.sx", ["info", model]),
        ("predict -m model.sx iris.csv", ["predict", "-m", model, whole]),
        ("verify model.sx two.csv", ["verify", proved, two]),
        ("separable two.csv", ["separable", two, *target]),
        ("fit iris.csv", ["fit", whole, *target, "-o", folder / "again.sx"]),
        ("path two.csv", ["path", two, *target]),
        ("study", ["study", "-o", folder / "study"]),
    ):
        yield f"separatrix {shown}", [*separatrix, *map(str, words)]


def peers(folder: Path, table: Table) -> Iterator[tuple[str, Command | None]]:
    """Yield other programs; None in the place of a command that is not installed."""
    data, lines = folder / "iris.libsvm", folder / "iris.vw"
    names = table.classes.tolist()
    codes = [names.index(name) for name in table.y.tolist()]
    numbered = Table(table.X, table.classes.searchsorted(table.y), [], table.classes, "", "", "")
    write_table(numbered, data, "libsvm")
    rows = zip(codes, table.X.tolist(), strict=True)
    lines.write_text("".join(f"{k + 1} | {' '.join(f'{j}:{v}' for j, v in enumerate(row))}\n"
                             for k, row in rows))  # fmt: skip
    if shutil.which("svm-train"):
        yield "svm-train -t 0", ["svm-train", "-t", "0", "-q", str(data), str(folder / "svm")]
    elif find_spec("libsvm"):
        yield "LIBSVM in Python, -t 0", [sys.executable, "-c", LIBSVM.format(str(data))]
    else:
        yield "svm-train", None
    told = ["--oaa", "3", "-d", str(lines), "--quiet"]
    if shutil.which("vw"):
        yield "vw --oaa 3", ["vw", *told]
    elif find_spec("vowpalwabbit"):
        yield "python -m vowpalwabbit --oaa 3", [sys.executable, "-m", "vowpalwabbit", *told]
    else:
        yield "vw", None
    yield 'python -c "import sklearn.svm"', [sys.executable, "-c", "import sklearn.svm"]
    yield 'python -c "import numpy"', [sys.executable, "-c", "import numpy"]


def processor_seconds(command: Command, repeats: int) -> tuple[float, float, float]:
    """Return the median, the least and the most, after one run that is not counted."""
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    taken = []
    for _ in range(repeats + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(command, env=environment, capture_output=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if run.returncode:
            raise RuntimeError(f"{command} ended with {run.returncode}: {run.stderr.decode()}")
        taken.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(taken[1:]), min(taken[1:]), max(taken[1:])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=9)
    told = parser.parse_args()
    header(
        "starting: processor seconds of whole commands on small data",
        ["separatrix", "scikit-learn", "numpy", "scipy", "numba", "typer"],
    )
    print("| command | processor seconds | least to most |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        whole, two = written(folder)
        for shown, command in (*ours(folder, whole, two), *peers(folder, iris())):
            if command is None:
                print(f"| `{shown}` | not installed | |", flush=True)
                continue
            median, least, most = processor_seconds(command, told.repeats)
            print(f"| `{shown}` | {median:.2f} | {least:.2f} to {most:.2f} |", flush=True)


if __name__ == "__main__":
    main()
