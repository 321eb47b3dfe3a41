"""The one table of figures of the README: measured, printed, and compared with what stands there.

    python -m benchmarks.all [--only WORD ...]     measure; 1 where a row of the README is off
    python -m benchmarks.all --write               measure, and write the table into the README

Every row is a whole fit, proof and fingerprint included, beside a peer at the same distance from
the optimum, or at its own settings (few rows, kernels, closed forms). Times are CPU seconds of the
process with one thread of linear algebra: the median of five, after one run that is not counted. A
run that takes longer than three seconds is made once. A row is off where our time differs from the
README's by more than 30 %.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import SVC, LinearSVC

import separatrix as sx
from benchmarks import _machine_peers as peers
from benchmarks import _text_sets as text
from benchmarks import machines, separability, startup
from benchmarks._report import SHARED, header
from benchmarks.closed_forms import tall
from benchmarks.kernels import synthetic
from separatrix.solvers.running.drive import one_thread

README = Path(__file__).resolve().parents[1] / "README.md"
BEGIN, END = "<!-- figures: python -m benchmarks.all --write -->", "<!-- end of figures -->"
HEAD = "| case | ours, proved | peer | ratio |\n|---|---:|---:|---:|"
LONG, OFF = 3.0, 0.3


@dataclass(frozen=True)
class Row:
    """A case, CPU seconds of ours, and what the peer needs: seconds, or a text that says more."""

    case: str
    ours: float
    peer: str
    theirs: float
    at_least: bool = False

    def __str__(self) -> str:
        sign = "> " * self.at_least
        ratio = f"{sign}{self.theirs / self.ours:.2g}x"
        seconds = f"{sign}{shown(self.theirs)}"
        return f"| {self.case} | {shown(self.ours)} | {self.peer} {seconds} | {ratio} |"


def shown(seconds: float) -> str:
    """Return seconds as the table has them.

    >>> shown(0.00317), shown(1.23)
    ('3.2 ms', '1.2 s')
    """
    return f"{1e3 * seconds:.2g} ms" if seconds < 0.0995 else f"{seconds:.2g} s"


def spent(work: Callable[[], Any], repeats: int = 5) -> float:
    """Return the median CPU seconds, after one run that is not counted."""
    work()
    taken: list[float] = []
    while len(taken) < repeats and not (taken and taken[-1] > LONG):
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return statistics.median(taken)


# ---- the rows


def tiny() -> Iterator[Row]:
    """One fit of few rows: at peers' own settings, which prove nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=100) > 0.0).astype(int)
    cancer, sick = load_breast_cancer(return_X_y=True)
    cancer = (cancer - cancer.mean(axis=0)) / cancer.std(axis=0)
    for name, rows, labels in (("100 x 4", X, y), ("569 x 30", cancer, sick)):

        def fit(model: Any, rows: Any = rows, labels: Any = labels) -> float:
            return spent(lambda: model.fit(rows, labels), 15)

        linear = LinearSVC(loss="hinge", max_iter=100_000, random_state=0)
        yield Row(f"{name}, hinge", fit(sx.LinearSVM()), "LinearSVC", fit(linear))
        yield Row(f"{name}, rbf kernel", fit(sx.KernelSVM()), "SVC", fit(SVC()))


def hinge() -> Iterator[Row]:
    """The hinge to 1e-6 on LIBLINEAR's own objective."""
    for name, read, costs in (
        ("sparse 50,000 x 300, 3 % positive", machines.narrow_sparse, (0.1, 1.0)),
        ("a9a", machines.a9a, (0.1, 1.0)),
        ("rt-polarity words", lambda: text.rt_polarity(1), (0.1, 1.0)),
    ):
        X, y = read()
        for C in costs:
            model = sx.LinearSVM(C, tol=1e-6, intercept_penalty=1.0)
            ours = spent(lambda model=model, X=X, y=y: model.fit(X, y))
            best = sx.LinearSVM(C, tol=1e-9, intercept_penalty=1.0).fit(X, y).dual_objective_
            peers.CLOCK = time.process_time
            reach = peers.linear_svc(X, y, C, "hinge", 1e-6, best, limit=10.0)
            theirs = reach.seconds or max(seconds for seconds, _ in reach.points)
            case = f"{name}, hinge to 1e-6, C = {C:g}"
            yield Row(case, ours, "LinearSVC", theirs, reach.seconds is None)


def hard() -> Iterator[Row]:
    """The hard margin on few wide rows."""
    table = sx.read(SHARED / "alon.csv.gz", target="class")
    ours = spent(lambda: sx.LinearSVM(np.inf).fit(table.X, table.y))
    theirs = spent(lambda: SVC(kernel="linear", C=1e10, tol=1e-10).fit(table.X, table.y))
    yield Row("alon 62 x 2,000, hard margin", ours, "SVC", theirs)


def kernels() -> Iterator[Row]:
    """Kernel machines at the default settings of both."""
    X, y = load_digits(return_X_y=True)
    ours = spent(lambda: sx.KernelSVM(cache_size=1000).fit(X, y))
    theirs = spent(lambda: SVC(cache_size=1000).fit(X, y))
    yield Row("digits, 45 kernel SVMs", ours, "SVC", theirs)
    X, y = synthetic(10_000)
    ours = spent(lambda: sx.KernelSVM(cache_size=1000).fit(X, y), 1)
    theirs = spent(lambda: SVC(cache_size=1000).fit(X, y), 1)
    yield Row("10,000 x 50, rbf kernel, C = 1", ours, "SVC", theirs)


def closed_forms() -> Iterator[Row]:
    """Least squares, proved."""
    X, y = tall()
    ours = spent(lambda: sx.LeastSquares(1.0).fit(X, y))
    theirs = spent(lambda: RidgeClassifier(1.0).fit(X, y))
    yield Row("least squares 200,000 x 50", ours, "RidgeClassifier", theirs)


def separable() -> Iterator[Row]:
    """Verdicts, proved in integers, beside HiGHS in floats."""
    X, y = separability.table("endometrial.csv", "HG")
    for name, rows, labels in (
        ("endometrial 79 x 3", X, y),
        ("mushrooms", *separability.libsvm("mushrooms.libsvm")),
    ):

        def infinite(rows: Any = rows, labels: Any = labels) -> Any:
            return sx.separability(rows, labels).infinite

        theirs = spent(lambda rows=rows, labels=labels: separability.linprog_seconds(rows, labels))
        yield Row(f"{name}, infinite coefficients", spent(infinite), "linprog, verdict", theirs)


def reading() -> Iterator[Row]:
    """A table of numbers."""
    draw = np.random.default_rng(1)
    frame = pd.DataFrame(draw.normal(size=(100_000, 20)), columns=[f"f{i}" for i in range(20)])
    frame["y"] = draw.choice([0, 1], len(frame))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "floats.csv"
        frame.to_csv(path, index=False)
        ours = spent(lambda: sx.read(path, target="y"))
        yield Row("CSV, 100,000 x 21 numbers", ours, "pandas", spent(lambda: pd.read_csv(path)))


def starting() -> Iterator[Row]:
    """A whole study of the two embedded sets, in a process of its own."""
    command = [str(Path(sys.executable).with_name("separatrix")), "study", "-o"]
    alone = [sys.executable, "-c", "import sklearn.svm"]
    with tempfile.TemporaryDirectory() as folder:
        ours, *_ = startup.processor_seconds([*command, f"{folder}/study"], 3)
    theirs, *_ = startup.processor_seconds(alone, 3)
    yield Row("`separatrix study`, whole", ours, "`import sklearn.svm`", theirs)


CASES = {
    one.__name__: one
    for one in (tiny, hinge, hard, kernels, closed_forms, separable, reading, starting)
}


# ---- the table, and what stands in the README


def commit() -> str:
    """Return the commit measured; with a plus where files have changed since."""
    asked = ["git", "-C", str(README.parent), "describe", "--always", "--dirty=+"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def kept(page: str) -> dict[str, float]:
    """Return our seconds of every case in the page's table.

    >>> kept(f"{BEGIN}\\n| a9a | 3.2 ms | SVC 1 s | 2x |\\n{END}")
    {'a9a': 0.0032}
    """
    found: dict[str, float] = {}
    if BEGIN in page:
        for line in page.split(BEGIN, 1)[1].split(END, 1)[0].splitlines():
            cells = [cell.strip() for cell in line.strip("| ").split("|")]
            number = re.fullmatch(r"([0-9.e+]+) (ms|s)", cells[1]) if len(cells) == 4 else None
            if number:
                found[cells[0]] = float(number[1]) * (1e-3 if number[2] == "ms" else 1.0)
    return found


def off(rows: list[Row], stated: dict[str, float]) -> list[str]:
    """Name the cases whose time is not the one stated."""
    return [
        f"{row.case}: {shown(row.ours)}, and the README says {shown(stated[row.case])}"
        for row in rows
        if row.case in stated and abs(row.ours - stated[row.case]) > OFF * stated[row.case]
    ]


def written(page: str, rows: list[Row], facts: str) -> str:
    """Return the page with another table between the marks."""
    before, rest = page.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    table = "\n".join(map(str, rows))
    return f"{before}{BEGIN}\n{facts}\n\n{HEAD}\n{table}\n{END}{after}"


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    ask.add_argument("--write", action="store_true")
    given = ask.parse_args()
    warnings.simplefilter("ignore")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        header("", ["scikit-learn", "scipy", "pandas"])
    machine, versions = [line for line in said.getvalue().splitlines() if ";" in line]
    facts = f"{machine.split(';')[0]}; {versions}; commit {commit()}; separatrix "
    facts += f"{version('separatrix')}. CPU seconds, medians:"
    print(f"{facts}\n\n{HEAD}", flush=True)
    rows: list[Row] = []
    with one_thread():  # a second thread of linear algebra spins, and its time would count
        for row in (row for name in given.only for row in CASES[name]()):
            rows.append(row)
            print(row, flush=True)
    page = README.read_text()
    if given.write:
        README.write_text(written(page, rows, facts))
        return 0
    wrong = off(rows, kept(page))
    print("\n".join(["", *wrong]) if wrong else "")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
