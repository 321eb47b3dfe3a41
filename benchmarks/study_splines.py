"""When should a study try splines? Regret on generated tables.

    python -m benchmarks.study_splines [--families NAME ...] [--seeds 3] [--keep FOLDER]

As `benchmarks.study_rules`, with the same fits: every rule chooses from them, and is charged the
test error of its choice. In some families the truth is linear, in the others it is a sum of steps,
valleys, saturating and linear functions of single columns. Printed is the geometric mean of
(error + 0.1 %) over that of the first rule, of both kinds of families, with the standard error over
tables and the worst ratio; then the mean errors of every family.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._report import header
from benchmarks.study_rules import ADDITIVE, JUDGED, LINEAR, Fits, charged, chosen, fitted, oracle

# Splines are tried on no wide table, nor where all columns hold 0 and 1.
TRIED = [*(each for each in LINEAR if not each.startswith("wide") and each != "binary"), *ADDITIVE]
RULES: dict[str, dict[str, Any]] = {
    "no splines (the study before)": {},
    "always, the lasso of standardised columns": {"splines": 0.0, "lasso_of_splines": False},
    "always, the lasso of splines": {"splines": 0.0},
    "rows at least the columns added (the study now)": {"splines": 1.0},
    "rows at least three times the columns added": {"splines": 3.0},
    "rows at least five times the columns added": {"splines": 5.0},
    "the study, no ranks": {"splines": 1.0, "ranks": False},
    "no splines, no ranks": {"ranks": False},
}


def compare(tables: dict[tuple[str, int], Fits]) -> None:
    errors = {
        rule: np.array([charged(f, *chosen(f, near=1.0, **how)) for f in tables.values()])
        for rule, how in RULES.items()
    }
    errors["best in hindsight"] = np.array([oracle(fits) for fits in tables.values()])
    families = np.array([name for name, _ in tables])
    sums = np.isin(families, ADDITIVE)
    before = errors[next(iter(errors))] + 1e-3
    print("| rule | linear | s.e. | worst | additive | s.e. | worst |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for rule, found in errors.items():
        logs, cells = np.log((found + 1e-3) / before), []
        for own in (logs[~sums], logs[sums]):
            spread = own.std(ddof=1) / np.sqrt(len(own))
            cells += [f"{np.exp(own.mean()):.3f}", f"{spread:.3f}", f"{np.exp(own.max()):.2f}"]
        print(f"| {rule} | {' | '.join(cells)} |")
    print("\n| family | tables | before | now | ratio | best in hindsight |")
    print("|---|---:|---:|---:|---:|---:|")
    now = errors["rows at least the columns added (the study now)"]
    for family in dict.fromkeys(families):
        own = families == family
        ratio = np.exp(np.log((now[own] + 1e-3) / before[own]).mean())
        shown = [
            100 * each[own].mean() for each in (before - 1e-3, now, errors["best in hindsight"])
        ]
        cells = [f"{shown[0]:.1f}", f"{shown[1]:.1f}", f"{ratio:.2f}", f"{shown[2]:.1f}"]
        print(f"| {family} | {own.sum()} | {' | '.join(cells)} |")


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--families", nargs="+", choices=TRIED, default=TRIED)
    ask.add_argument("--seeds", type=int, default=3)
    ask.add_argument("--keep", type=Path, help="a folder of fits, to resume from")
    given = ask.parse_args()
    warnings.simplefilter("ignore")
    tables = fitted(given.families, given.seeds, given.keep, of_splines=True)
    header("When to try splines, on generated tables", ["numpy"])
    print(f"{len(tables)} tables, {JUDGED} test rows each.\n")
    compare(tables)
    return 0


if __name__ == "__main__":
    main()
