"""Fitting and proving, and whole studies, beside an earlier commit, in one run.

    python -m benchmarks.before_after REV [--only CASE ...] [--studies] [--rounds 3]

Both run this script in processes of their own, turn by turn, so that what else the computer does
falls on both. A figure is the median of the processor seconds of a fit with its proof; the first
fit of a process, which may compile, is left out. `--studies` times studies instead of fits.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._report import header

ROOT = Path(__file__).resolve().parents[1]
LONG = ("fashion", "census", "adult")  # studies of minutes before


def cases() -> dict[str, Callable[[], tuple[Any, Any, Any]]]:
    """Return, by name, what makes an estimator, rows and classes."""
    import separatrix as sx
    from benchmarks import _text_sets as text
    from benchmarks.kernels import synthetic
    from benchmarks.machines import a9a, raw_dense

    def of(model: Any, data: Callable[[], tuple[Any, Any]]) -> Callable[[], tuple[Any, Any, Any]]:
        return lambda: (model, *data())

    rng = np.random.default_rng(0)
    return {
        "a9a, hinge": of(sx.LinearSVM(), a9a),
        "a9a, squared hinge": of(sx.LinearSVM(loss="squared_hinge"), a9a),
        "a9a, logistic": of(sx.LogisticRegression(), a9a),
        "20 newsgroups, hinge": of(sx.LinearSVM(), text.newsgroups_classes),
        "20 newsgroups, softmax": of(
            sx.LogisticRegression(multi_class="multinomial"), text.newsgroups_classes
        ),
        "500,000 x 54, hinge": of(sx.LinearSVM(), raw_dense),
        "500,000 x 54, squared hinge": of(sx.LinearSVM(loss="squared_hinge"), raw_dense),
        "500,000 x 54, logistic": of(sx.LogisticRegression(), raw_dense),
        "RBF, 10,000 x 50": of(sx.KernelSVM(C=10.0), lambda: synthetic(10_000)),
        "least squares, 200,000 x 40": of(
            sx.LeastSquares(), lambda: (rng.normal(size=(200_000, 40)), rng.integers(0, 2, 200_000))
        ),
    }


class Studied:
    """A whole study of a table, with its report."""

    def fit(self, table: Any, _: Any) -> None:
        from separatrix.report.study import Settings, study

        with tempfile.TemporaryDirectory() as folder:
            study(table, folder, Settings(seed=0))


def studies() -> dict[str, Callable[[], tuple[Any, Any, Any]]]:
    """Return, by the name of a set, what makes a study and its table."""
    from benchmarks.study_quality import SETS, table_of

    def of(name: str) -> Callable[[], tuple[Any, Any, Any]]:
        def make() -> tuple[Any, Any, Any]:
            with tempfile.TemporaryDirectory() as folder:
                return Studied(), table_of(SETS[name](), Path(folder)), None

        return make

    return {name: of(name) for name in SETS if name not in LONG}


def child(name: str, fits: int) -> None:
    model, X, y = {**cases(), **studies()}[name]()
    taken = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(fits + 1):
            begun = time.process_time()
            model.fit(X, y)
            taken.append(time.process_time() - begun)
    print(json.dumps({"seconds": taken[1:], "gap": float(getattr(model, "gap_", np.nan))}))


def run_child(source: Path, name: str, fits: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.before_after", "--child", name, "--fits", str(fits)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(source)}, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("revision", nargs="?", default="HEAD~1")
    ask.add_argument("--only", nargs="+")
    ask.add_argument("--studies", action="store_true")
    ask.add_argument("--rounds", type=int, default=3)
    ask.add_argument("--fits", type=int, default=3)
    ask.add_argument("--child")
    given = ask.parse_args()
    if given.child:
        child(given.child, given.fits)
        return 0
    names = given.only or list(studies() if given.studies else cases())
    header(f"Fitting and proving, before ({given.revision}) and after", ["numpy", "scipy", "numba"])
    print("| case | before, s | after, s | ratio |\n|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place) / "tree"
        subprocess.run(
            ["git", "worktree", "add", "--detach", "-q", str(tree), given.revision], check=True
        )
        try:
            for name in names:
                taken: tuple[list[float], list[float]] = ([], [])
                for _ in range(given.rounds):
                    for side, source in enumerate((tree / "src", ROOT / "src")):
                        taken[side].extend(run_child(source, name, given.fits)["seconds"])
                before, after = map(statistics.median, taken)
                print(f"| {name} | {before:.3f} | {after:.3f} | {after / before:.2f} |", flush=True)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
