"""Would a study gain by sparse weights? Test errors of sparse and of dense weights side by side.

Tables with more columns than rows, and texts. The dense model is that of a study: the squared hinge
with a ridge, C chosen by five folds. Sparse are the lasso and the elastic net (half and half) of
the logistic loss, C chosen by the same folds among 30 values. `chosen` takes of dense and lasso the
one of less error on the folds, as a study would. Means over seeds, in per cent, with the standard
error of the difference from the dense model.

    python -m benchmarks.sparse_candidates [--seeds 10] [--sets sparse,alon]
"""

import argparse
import warnings
from functools import partial

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import separatrix as sx
from benchmarks import _text_sets
from benchmarks._report import SHARED, header

ROWS, COLUMNS, JUDGED = 80, 400, 2000
VALUES = 30


def drawn(kind, seed):
    """Return training and test rows of a family: what matters, and how columns are related."""
    rng = np.random.default_rng(seed)
    n = ROWS + JUDGED
    X = rng.normal(size=(n, COLUMNS))
    if kind == "neighbours":
        for j in range(1, COLUMNS):
            X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    elif kind == "factors":
        hidden = rng.normal(size=(n, 10))
        X = hidden @ rng.normal(size=(10, COLUMNS)) + 2.0 * X
    w = np.zeros(COLUMNS)
    if kind == "dense":
        w = rng.normal(size=COLUMNS) / np.sqrt(COLUMNS)
    elif kind != "factors":
        w[rng.choice(COLUMNS, 5, replace=False)] = rng.choice([-1.0, 1.0], 5)
    scores = hidden[:, :3].sum(axis=1) if kind == "factors" else X @ w
    y = (scores + 0.5 * scores.std() * rng.normal(size=n) > 0.0).astype(int)
    return X[:ROWS], X[ROWS:], y[:ROWS], y[ROWS:]


def alon(seed):
    table = sx.read(SHARED / "alon.csv.gz")
    X = np.log(np.asarray(table.X.toarray() if hasattr(table.X, "toarray") else table.X))
    return train_test_split(X, table.y, test_size=1 / 3, stratify=table.y, random_state=seed)


def texts(made, rows, seed):
    X, y = made()
    return train_test_split(X, y, train_size=rows, stratify=y, random_state=seed)


SETS = {
    **{kind: partial(drawn, kind) for kind in ("sparse", "neighbours", "dense", "factors")},
    "alon": alon,
    "rt": partial(texts, _text_sets.rt_polarity, 1000),
    "newsgroups": partial(texts, _text_sets.newsgroups_two_classes, 1000),
}


def errors_of(split):
    """Return test errors of dense, lasso, elastic net and of the better one on the folds."""
    X, test, y, judged = split
    if isinstance(X, np.ndarray):
        scaling = StandardScaler().fit(X)
        X, test = scaling.transform(X), scaling.transform(test)
    size = X.multiply(X).sum() if hasattr(X, "multiply") else (X * X).sum()
    Cs = np.geomspace(0.01, 100.0, 9) * len(y) / size
    models = [
        sx.LinearSVMCV(Cs, loss="squared_hinge", tol=1e-3),
        sx.LogisticRegressionCV(VALUES, l1_ratios=[1.0], tol=1e-3),
        sx.LogisticRegressionCV(VALUES, l1_ratios=[0.5], tol=1e-3),
    ]
    found, by_folds = [], []
    for model in models:
        model.fit(X, y)
        found.append(float((model.predict(test) != judged).mean()))
        by_folds.append(float(model.path_["validation_error"].min()))
    return [*found, found[int(by_folds[1] < by_folds[0])]]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    header("Sparse weights as candidates of a study: test errors, %", ["numpy", "scikit-learn"])
    print(
        "| set | dense | lasso | elastic net | chosen | chosen - dense |\n|---|---|---|---|---|---|"
    )
    warnings.simplefilter("ignore")
    for name in options.sets.split(","):
        rows = np.array([errors_of(SETS[name](seed)) for seed in range(options.seeds)]) * 100.0
        shown = " | ".join(f"{value:.1f}" for value in rows.mean(axis=0))
        gain = rows[:, 3] - rows[:, 0]
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else 0.0
        print(f"| {name} | {shown} | {gain.mean():+.1f} +- {error:.1f} |", flush=True)


if __name__ == "__main__":
    main()
