"""Rare classes: a study by the measure that matters, beside class weights and the plain study.

    python -m benchmarks.study_thresholds [--sets NAME ...] [--seeds 5] [--rows 3000]
    python -m benchmarks.study_thresholds --promise 400

The rarer class is the positive one. All are judged on the same test rows by balanced accuracy and
F1: the study by the error; `--balanced`, which weighs classes; `--scoring balanced` and
`--scoring f1`, which move the threshold; and scikit-learn's logistic regression on standardised
columns, with balanced class weights and C by GridSearchCV on the same measure.

`--promise` repeats the bound on false alarms: Gaussian classes, whose false alarm rate is known at
every threshold. It counts how often the rate exceeds the level, for the threshold from rows set
apart and, beside it, for the quantile of pooled scores of folds, which promises nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._report import SHARED, header
from benchmarks.study_quality import some_rows, write_table

MEASURES = ("balanced", "f1")


# ---- sets


def credit(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return skewed amounts, counts and shares; 22 % default, and little tells them."""
    n = 6_000
    worry = rng.normal(size=n)
    amount = np.exp(1.2 * rng.normal(size=(n, 4)) + 0.3 * worry[:, None] + 8.0)
    late = rng.poisson(np.exp(0.8 * worry - 0.7)[:, None], size=(n, 3))
    share = np.clip(rng.beta(2, 3, size=(n, 2)) + 0.12 * worry[:, None], 0, 1)
    logit = 1.3 * worry + 0.4 * (late[:, 0] > 1) - 1.75
    y = (rng.random(n) < 1.0 / (1.0 + np.exp(-logit))).astype(int)
    return np.column_stack([amount, late, share]), y


def few(share: float, shift: float) -> Callable[[np.random.Generator], Any]:
    """Return Gaussian classes, of which one is rare."""

    def make(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        y = (rng.random(6_000) < share).astype(int)
        return rng.normal(size=(6_000, 8)) + shift * y[:, None] * np.linspace(1, 0, 8), y

    return make


def heavy(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return columns with heavy tails and 8 % of one class, spread twice as wide."""
    y = (rng.random(6_000) < 0.08).astype(int)
    X = rng.standard_t(2, size=(6_000, 6)) * (1.0 + y[:, None])
    return X + 1.2 * y[:, None], y


MADE = {"credit-like": credit, "few, near": few(0.1, 0.8), "few, far": few(0.03, 1.5),
        "heavy tails": heavy}  # fmt: skip
FILES = {
    "adult": ("adult-train.csv", {"header": False, "target": 15}),
    "census": ("census_income_train.csv.gz", {"target": "income"}),
    "blood": ("zero_one/blood.csv", {"header": False}),
    "haberman": ("zero_one/haberman.csv", {"header": False}),
}


def table_of(name: str) -> Any:
    import separatrix as sx

    if name in FILES:
        file, options = FILES[name]
        return sx.read(SHARED / file, **options)
    with tempfile.TemporaryDirectory() as folder:
        X, y = MADE[name](np.random.default_rng(0))
        return sx.read(write_table(Path(folder), X, y), target="class")


# ---- models


def by_study(table: Any, rare: str, seed: int, **settings: Any) -> tuple[float, float]:
    """Return balanced accuracy and F1 of a study on its test rows."""
    from separatrix.report.study import Settings, study

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = Settings(seed=seed, features="auto", positive=rare, **settings)
        facts = study(table, folder, given)
    assert facts.test is not None, "the test was opened"
    assert facts.data is not None, "and the data read"
    names = [part.name for part in facts.data.classes]
    (a, b), (c, d) = facts.test.confusion
    if names.index(rare) == 0:
        a, b, c, d = d, c, b, a
    return 0.5 * (a / (a + b) + d / (c + d)), 2 * d / max(1, 2 * d + b + c)


def by_weights(table: Any, rare: str, seed: int, measure: str) -> float:
    """Return the measure of scikit-learn's class weights on the same test rows."""
    from sklearn import metrics
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    from separatrix._sparse import is_sparse
    from separatrix.report.study_proof import labels_of
    from separatrix.selection.split import split

    y = labels_of(table.y, rare) == rare
    parts = split(labels_of(table.y, rare), test=0.2, seed=seed)
    scaler = MaxAbsScaler() if is_sparse(table.X) else StandardScaler()
    model = make_pipeline(scaler, LogisticRegression(class_weight="balanced", max_iter=2000))
    names = {"balanced": "balanced_accuracy", "f1": "f1"}
    grid = {"logisticregression__C": [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = GridSearchCV(model, grid, cv=5, scoring=names[measure])
        found.fit(table.X[parts.train], y[parts.train])
    predicted = found.predict(table.X[parts.test])
    judge = {"balanced": metrics.balanced_accuracy_score, "f1": metrics.f1_score}[measure]
    return float(judge(y[parts.test], predicted))


def measured(name: str, seeds: int, rows: int) -> dict[str, np.ndarray]:
    """Return by model the mean balanced accuracy and F1."""
    whole = table_of(name)
    found: dict[str, list[Any]] = {}
    for seed in range(seeds):
        table = some_rows(whole, rows, seed)
        labels, counts = np.unique(table.y, return_counts=True)
        rare = str(labels[int(counts.argmin())])
        found.setdefault("share", []).append((counts.min() / counts.sum(),) * 2)
        found.setdefault("error", []).append(by_study(table, rare, seed))
        found.setdefault("balanced", []).append(by_study(table, rare, seed, balanced=True))
        chosen = {each: by_study(table, rare, seed, scoring=each) for each in MEASURES}
        found.setdefault("scoring", []).append((chosen["balanced"][0], chosen["f1"][1]))
        theirs = tuple(by_weights(table, rare, seed, each) for each in MEASURES)
        found.setdefault("weights", []).append(theirs)
        print(f"  {name}, seed {seed}", file=sys.stderr, flush=True)
    return {model: np.mean(values, axis=0) for model, values in found.items()}


# ---- the promise


def promise(repeats: int, level: float) -> None:
    """Count how often the false alarm rate exceeds the level."""
    from scipy.stats import norm

    from separatrix.core.machine import LogisticRegression
    from separatrix.core.thresholds import bounded_threshold, rows_needed

    draw, exceeded = np.random.default_rng(0), {"rows set apart": 0, "pooled folds": 0}
    missed: dict[str, list[float]] = {name: [] for name in exceeded}
    n = 4 * rows_needed(level)
    shift = np.array([1.5, 1.0, 0.5, 0.0, 0.0])

    def rates(model: Any, threshold: float) -> tuple[float, float]:
        w, b = model.coef_[0], model.intercept_[0]
        size = np.linalg.norm(w)
        return (
            float(norm.sf((threshold - b) / size)),
            float(norm.cdf((threshold - b - w @ shift) / size)),
        )

    for _ in range(repeats):
        y = (draw.random(n) < 0.25).astype(int)
        X = draw.normal(size=(n, 5)) + y[:, None] * shift
        apart = np.arange(n) < n // 2
        model = LogisticRegression(0.1).fit(X[~apart], y[~apart])
        found = bounded_threshold(model.decision_function(X[apart]), y[apart], 1, level, 0.95)
        assert found is not None, "the rows are enough"
        fold = np.arange(n) % 5
        scores = np.zeros(n)
        for k in range(5):
            part = LogisticRegression(0.1).fit(X[fold != k], y[fold != k])
            scores[fold == k] = part.decision_function(X[fold == k])
        pooled = float(np.quantile(scores[y == 0], 1.0 - level, method="higher"))
        both = rates(model, found), rates(LogisticRegression(0.1).fit(X, y), pooled)
        for name, (alarms, misses) in zip(exceeded, both, strict=True):
            exceeded[name] += alarms > level
            missed[name].append(misses)
    print(f"At most {level:g} false alarms with 95 % confidence, {n} rows, {repeats} repeats:")
    for name, count in exceeded.items():
        share = 100 * np.mean(missed[name])
        print(f"  {name}: exceeded in {100 * count / repeats:.1f} %, {share:.1f} % missed")


def main() -> int:
    every = [*FILES, *MADE]
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--sets", nargs="+", choices=every, default=every)
    ask.add_argument("--seeds", type=int, default=5)
    ask.add_argument("--rows", type=int, default=3_000, help="the most rows of a set")
    ask.add_argument("--promise", type=int, default=0, metavar="REPEATS")
    given = ask.parse_args()
    header("A study of rare classes", ["numpy", "scikit-learn"])
    if given.promise:
        for level in (0.05, 0.1):
            promise(given.promise, level)
        return 0
    models = ("error", "balanced", "scoring", "weights")
    heads = [f"{m}: {w}" for m in ("balanced", "F1") for w in models]
    print(f"| set | rare | {' | '.join(heads)} |")
    print("|---|---:|" + "---:|" * (2 * len(models)))
    total: list[np.ndarray] = []
    for name in given.sets:
        found = measured(name, given.seeds, given.rows)
        cells = np.array([found[model] for model in models])
        total.append(cells)
        figures = " | ".join(f"{100 * value:.1f}" for value in cells.T.ravel())
        print(f"| {name} | {100 * found['share'][0]:.1f} % | {figures} |", flush=True)
    figures = " | ".join(f"{100 * value:.1f}" for value in np.mean(total, axis=0).T.ravel())
    print(f"| mean | | {figures} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
