"""Does anything leak into a study? With shuffled labels nothing can be learned.

    python -m benchmarks.study_shuffled [--seeds 50] [--sets NAME ...] [--rows 400]

The labels of a set are shuffled, and a study is made of it, a seed each time. If no test row has
taught the model anything, the 95 % interval of the test error holds the error of a guess on about
95 % of the seeds, and the mean error is that of a guess within two standard errors. A guess that
names class k in a share q_k of the test rows, of which p_k are of class k, errs in 1 - sum p_k q_k
of them: q is taken from the predictions of the study itself, which differ between seeds. The
baseline names the commonest class always.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._report import header
from benchmarks.study_quality import SETS, some_rows, table_of

_CHOSEN = ("breast cancer", "adult", "sentences, shop")


def shuffled(table: Any, seed: int) -> Any:
    return replace(table, y=np.random.default_rng(seed).permutation(table.y))


def guess(confusion: np.ndarray) -> float:
    """Return the error of naming classes as often as the study did, at random."""
    true, named = (confusion.sum(axis=axis) / confusion.sum() for axis in (1, 0))
    return float(1.0 - named @ true)


def one(table: Any, seed: int) -> tuple[float, float, float, float, float]:
    """Return the test error of a study, the ends of its interval, a guess's and the baseline's."""
    from separatrix.report.study import Settings, study

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        facts = study(shuffled(table, seed), folder, Settings(seed=seed, verdict_seconds=1.0))
    assert facts.test is not None
    test = facts.test
    return test.rate, test.low, test.high, guess(np.array(test.confusion)), float(test.baseline)


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--seeds", type=int, default=50)
    ask.add_argument("--rows", type=int, default=400)
    ask.add_argument("--sets", nargs="+", choices=list(SETS), default=list(_CHOSEN))
    given = ask.parse_args()
    header("Studies of shuffled labels", ["numpy"])
    print("| set | holds a guess | holds the baseline | error, % | guess, % | baseline, % | s.e. |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    bad = 0
    for name in given.sets:
        with tempfile.TemporaryDirectory() as folder:
            whole = table_of(SETS[name](), Path(folder))
        table = some_rows(whole, given.rows, 0)
        found = np.array([one(table, seed) for seed in range(given.seeds)])
        rate, low, high, expected, baseline = found.T
        held, based = (int(((low <= x) & (x <= high)).sum()) for x in (expected, baseline))
        away = rate - expected
        error = float(away.std(ddof=1) / np.sqrt(len(away)))
        print(
            f"| {name} | {held} of {given.seeds} | {based} of {given.seeds} "
            f"| {100 * rate.mean():.1f} | {100 * expected.mean():.1f} "
            f"| {100 * baseline.mean():.1f} | {100 * error:.1f} |",
            flush=True,
        )
        bad += held < 0.88 * given.seeds or abs(away.mean()) > 2.0 * error
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
