"""Does a study find the model that a good practitioner would find?

    python -m benchmarks.study_quality [--sets NAME ...] [--seeds 5] [--rows 5000] [--times]
        [--reference] [--keep results.jsonl] [--label study]

At most so many rows of a set are drawn, a seed each time, and split as the study splits them; the
usual pipelines are fitted by GridSearchCV on the same training rows. All are judged on the same
rows: those of the test, and up to 20,000 rows of the set that were not drawn, which tell more than
a test of 1,000. Printed are errors in per cent, the mean over seeds. `behind` is the mean
difference to the best usual pipeline of the set, in standard errors of the paired difference: above
1 the study lost. --times adds CPU seconds of the study and of GridSearchCV over the same features
and losses, in turn. Boosted trees and an RBF kernel, which are no linear models, stand beside it
for reference with --reference.

--keep adds every result to a file as soon as it is there, and takes from it what is there already:
a run can be interrupted, and done in parts. --label names this version of the study in that file,
so that another version is measured anew beside the same peers.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks._report import SHARED, header

CS = [0.001, 0.01, 0.1, 1.0, 10.0, 100.0]
MOST_LEFT = 20_000  # rows that were not drawn, to judge on


# ---- sets: a file for the study, and the same rows for its peers


def write_table(folder: Path, X: Any, y: Any) -> Path:
    path = folder / "set.csv"
    names = [*(f"x{j}" for j in range(X.shape[1])), "class"]
    lines = [
        ",".join(map(repr, row)) + f",c{label}" for row, label in zip(X.tolist(), y, strict=True)
    ]
    path.write_text(",".join(names) + "\n" + "\n".join(lines) + "\n")
    return path


def write_texts(folder: Path, texts: list[str], labels: list[str]) -> Path:
    path = folder / "set.tsv"
    rows = [f"{label}\t{' '.join(text.split())}" for text, label in zip(texts, labels, strict=True)]
    path.write_text("\n".join(rows) + "\n")
    return path


def of_sklearn(name: str) -> Callable[[], dict[str, Any]]:
    def load() -> dict[str, Any]:
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return {"X": X, "y": y}

    return load


def of_file(name: str, **options: Any) -> Callable[[], dict[str, Any]]:
    return lambda: {"file": SHARED / name, "options": options}


def sentences(name: str) -> dict[str, Any]:
    lines = (SHARED / "sentiment" / f"{name}_labelled.txt").read_text().split("\n")
    pairs = [line.rsplit("\t", 1) for line in lines if "\t" in line]
    return {"texts": [text for text, _ in pairs], "labels": [f"c{label}" for _, label in pairs]}


def polarity() -> dict[str, Any]:
    texts, labels = [], []
    for name in ("pos", "neg"):
        lines = (SHARED / "rt-polarity" / f"rt-polarity.{name}").read_text("latin-1").split("\n")
        texts += [line for line in lines if line]
        labels += [name] * (len(texts) - len(labels))
    return {"texts": texts, "labels": labels}


def newsgroups(*names: str) -> Callable[[], dict[str, Any]]:
    def load() -> dict[str, Any]:
        rows = []
        for part in ("train", "test"):
            path = SHARED / "newsgroups20" / f"20newsgroups-{part}.tab.bz2"
            with bz2.open(path, "rt") as file:
                rows += [
                    line.split("\t", 1) for line in file.read().split("\n")[3:] if "\t" in line
                ]
        rows = [row for row in rows if not names or row[0] in names]
        return {"texts": [text for _, text in rows], "labels": [label for label, _ in rows]}

    return load


SETS: dict[str, Callable[[], dict[str, Any]]] = {
    "breast cancer": of_sklearn("breast_cancer"),
    "wine": of_sklearn("wine"),
    "iris": of_sklearn("iris"),
    "digits": of_sklearn("digits"),
    "spambase": of_file("spambase.csv", target="type"),
    "adult": of_file("adult-train.csv", header=False, target=15),
    "census": of_file("census_income_train.csv.gz", target="income"),
    "heart": of_file("heart_scale.libsvm"),
    "a9a": of_file("a9a.libsvm"),
    "mushrooms": of_file("mushrooms.libsvm"),
    "colon": of_file("alon.csv.gz", target="class"),
    "fashion": of_file("fashion-mnist/t10k-images-idx3-ubyte.gz"),
    "haberman": of_file("zero_one/haberman.csv", header=False),
    "blood": of_file("zero_one/blood.csv", header=False),
    "sentences, shop": lambda: sentences("amazon_cells"),
    "sentences, food": lambda: sentences("yelp"),
    "sentences, film": lambda: sentences("imdb"),
    "polarity": polarity,
    "newsgroups, mac or pc": newsgroups("comp.sys.mac.hardware", "comp.sys.ibm.pc.hardware"),
    "newsgroups, religion": newsgroups("alt.atheism", "soc.religion.christian"),
}


# ---- the study and its peers


def table_of(loaded: dict[str, Any], folder: Path) -> Any:
    import separatrix as sx

    if "texts" in loaded:
        return sx.read(write_texts(folder, loaded["texts"], loaded["labels"]))
    if "file" in loaded:
        return sx.read(loaded["file"], **loaded["options"])
    return sx.read(write_table(folder, loaded["X"], loaded["y"]), target="class")


def some_rows(table: Any, most: int, seed: int) -> Any:
    """Return a table of at most so many of its rows."""
    from separatrix.data.raw_rows import some_rows as taken

    if table.X.shape[0] <= most:
        return table
    rows = np.sort(np.random.default_rng(seed).permutation(table.X.shape[0])[:most])
    return taken(table, rows)


class Drawn:
    """The rows of a set that a study gets, and rows that were left: it is judged on them too."""

    def __init__(self, whole: Any, most: int, seed: int) -> None:
        from separatrix.data.raw_rows import some_rows as taken
        from separatrix.selection.split import split

        order = np.random.default_rng(seed).permutation(whole.X.shape[0])
        own, left = np.sort(order[:most]), np.sort(order[most : most + MOST_LEFT])
        self.all = taken(whole, np.concatenate([own, left])) if len(left) else whole
        self.table = taken(self.all, np.arange(len(own))) if len(left) else whole
        parts = split(self.table.y, test=0.2, seed=seed)
        self.train, self.seed = parts.train, seed
        self.judged = np.concatenate([parts.test, np.arange(len(own), len(own) + len(left))])
        self.n_test = len(parts.test)

    def errors(self, predicted: np.ndarray) -> np.ndarray:
        """Return, for each row that is judged, whether this is not its class."""
        return np.asarray(predicted != self.all.y[self.judged])


def studied(drawn: Drawn, features: str = "auto") -> dict[str, Any]:
    """Return the error of a study on the rows that are judged, its seconds, and what it chose."""
    import separatrix as sx
    from separatrix.data.raw_rows import RawRows
    from separatrix.report.study import Settings, study

    begun = time.process_time()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        facts = study(drawn.table, folder, Settings(seed=drawn.seed, features=features))
        seconds = time.process_time() - begun
        model = sx.load(Path(folder) / "model.sx")
    (chosen,) = (each for each in facts.candidates if each.chosen)
    codes = np.unique(drawn.all.y, return_inverse=True)[1]
    learned = RawRows(drawn.all).learn(chosen.features, drawn.train, codes)
    wrong = drawn.errors(model.predict(learned.X[drawn.judged]))
    assert facts.test is not None, "the test was opened"
    assert np.isclose(wrong[: drawn.n_test].mean(), facts.test.rate), "it is the model of the study"
    return {
        "error": float(wrong.mean()),
        "seconds": seconds,
        "chosen": f"{chosen.features}, {chosen.loss}",
    }


def grid_seconds(drawn: Drawn, losses: bool = True) -> float:
    """Return the CPU seconds of GridSearchCV over the candidates that the study compares.

    Features come first, by the squared hinge (splines at three values of C); with `losses`, hinge
    and logistic loss are tried on those that won, at three values of C, as the study does on
    tables, and the lasso where columns are many. The study judges the candidates near the best on
    two further cuts of few rows; the grid does not.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
    from sklearn.preprocessing import (
        FunctionTransformer,
        QuantileTransformer,
        SplineTransformer,
        StandardScaler,
    )
    from sklearn.svm import LinearSVC

    token, bent = r"\w+|[^\w\s]", []
    table, train = drawn.table, drawn.train
    begun = time.process_time()
    if table.texts is not None:
        X = np.array(table.texts, dtype=object)
        words = {"sublinear_tf": True, "ngram_range": (1, 2), "token_pattern": token}
        pieces = {"sublinear_tf": True, "ngram_range": (2, 5), "analyzer": "char_wb", "min_df": 2}
        joined = FeatureUnion(
            [("words", TfidfVectorizer(**words)), ("pieces", TfidfVectorizer(**pieces))]
        )
        forms = [TfidfVectorizer(**words), joined, joined]
    else:
        X, dense = table.X, not sp.issparse(table.X)
        scaler = StandardScaler(with_mean=dense)
        forms = [scaler, FunctionTransformer(validate=False)]
        if X.shape[1] < X.shape[0]:
            whole = FunctionTransformer(lambda rows: rows if dense else rows.toarray())
            ranks = make_pipeline(whole, QuantileTransformer(n_quantiles=256))
            forms.append(make_union(scaler, ranks))
            if dense:
                splines = SplineTransformer(7, degree=1, knots="quantile", include_bias=False)
                bent.append(make_union(scaler, splines))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        searches = []
        for form, Cs in [(each, CS) for each in forms] + [(each, CS[2:5]) for each in bent]:
            search = GridSearchCV(make_pipeline(form, LinearSVC()), {"linearsvc__C": Cs}, cv=5)
            searches.append(search.fit(X[train], table.y[train]))
        best = max(searches, key=lambda search: search.best_score_)
        around = [c * best.best_params_["linearsvc__C"] for c in (0.1, 1.0, 10.0)]
        others = [LinearSVC(loss="hinge"), LogisticRegression(max_iter=1000)]
        for model in others if losses and table.texts is None else ():
            whole = make_pipeline(best.best_estimator_.steps[0][1], model)
            search = GridSearchCV(whole, {whole.steps[-1][0] + "__C": around}, cv=5)
            search.fit(X[train], table.y[train])
        if losses and table.texts is None and X.shape[1] > 0.2 * len(train):
            sparse = LogisticRegression(l1_ratio=1.0, solver="liblinear")
            whole = make_pipeline(scaler, sparse)
            search = GridSearchCV(whole, {"logisticregression__C": np.geomspace(0.01, 100, 14)})
            search.fit(X[train], table.y[train])
    return time.process_time() - begun


def peers(table: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield, by name, the usual pipelines and the rows of a table that they take."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler
    from sklearn.svm import LinearSVC

    if table.texts is not None:
        texts = np.array(table.texts, dtype=object)
        yield (
            "tf-idf 1-2, LinearSVC",
            make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LinearSVC()),
            texts,
        )
        return
    scaler = MaxAbsScaler() if sp.issparse(table.X) else StandardScaler()
    dual = table.X.shape[1] > table.X.shape[0]
    yield "scaled, LinearSVC", make_pipeline(scaler, LinearSVC(dual=dual)), table.X
    yield "scaled, logistic", make_pipeline(scaler, LogisticRegression(max_iter=1000)), table.X


def reference(table: Any) -> Iterator[tuple[str, Any, Any]]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    if table.texts is None:
        X = table.X.toarray() if sp.issparse(table.X) else table.X
        yield "boosted trees", HistGradientBoostingClassifier(random_state=0), X
        curve = make_pipeline(StandardScaler(), SVC())
        yield "RBF kernel", GridSearchCV(curve, {"svc__C": [0.3, 1.0, 10.0, 100.0]}, cv=3), X


def judged(model: Any, X: Any, drawn: Drawn, grid: bool) -> dict[str, Any]:
    from sklearn.model_selection import GridSearchCV

    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if grid:
            model = GridSearchCV(model, {model.steps[-1][0] + "__C": CS}, cv=5)
        model.fit(X[drawn.train], drawn.all.y[drawn.train])
        wrong = drawn.errors(model.predict(X[drawn.judged]))
    return {"error": float(wrong.mean()), "seconds": time.process_time() - begun}


class Kept:
    """Results by set, seed, number of rows and model, in a file of lines where there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[tuple[Any, ...], dict[str, Any]] = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                with contextlib.suppress(ValueError):  # a line that was cut off
                    one = json.loads(line)
                    self.known[tuple(one["key"])] = one

    def get(self, *key: Any, found: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Return the result under this key; find and keep it where it is not there."""
        if key not in self.known:
            self.known[key] = {"key": list(key), **found()}
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps(self.known[key]) + "\n")
        return self.known[key]


# ---- the table


def measured(
    name: str, seeds: int, rows: int, with_reference: bool, times: bool, kept: Kept, label: str
) -> dict[str, list[float]]:
    """Return the errors of every model on one set, a number a seed."""
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        whole = table_of(SETS[name](), Path(folder))
    for seed in range(seeds):
        drawn = Drawn(whole, rows, seed)

        def result(model: str, work: Callable[[], dict[str, Any]], seed: int = seed) -> Any:
            return kept.get(name, seed, rows, model, found=work)

        ours = result(label, partial(studied, drawn))
        found.setdefault("study", []).append(ours["error"])
        found.setdefault("seconds", []).append(ours["seconds"])
        said = f"{100 * ours['error']:.2f} %, {ours['chosen']}, {ours['seconds']:.1f} s"
        print(f"  {name}, seed {seed}: {said}", file=sys.stderr, flush=True)
        if times and seed == 0:
            both = result(f"{label}, grid", partial(in_turn, drawn))
            found |= {"own seconds": [both["study"]], "grid seconds": [both["grid"]]}
        others = [(*each, True) for each in peers(drawn.all)]
        others += [(*each, False) for each in reference(drawn.all)] if with_reference else []
        for peer, model, X, grid in others:
            one = result(peer, partial(judged, model, X, drawn, grid))
            found.setdefault(peer, []).append(one["error"])
    return found


def in_turn(drawn: Drawn) -> dict[str, float]:
    """Return CPU seconds of the study and of the grid: medians of three, in turn, after one each.

    The first of either loads modules and machine code.
    """
    spent = [(studied(drawn)["seconds"], grid_seconds(drawn)) for _ in range(4)]
    study, grid = np.median(spent[1:], axis=0).tolist()
    return {"study": study, "grid": grid}


def behind(study: list[float], peer: list[float]) -> float:
    """Return the mean difference in standard errors of the paired differences."""
    away = np.array(study) - np.array(peer)
    error = away.std(ddof=1) / np.sqrt(len(away)) if len(away) > 1 else 0.0
    return (
        float(away.mean() / error)
        if error > 0.0
        else float(np.sign(away.mean()) * np.inf)
        if away.mean()
        else 0.0
    )


def _times(errors: dict[str, list[float]]) -> str:
    if "grid seconds" not in errors:
        return ""
    study, grid = errors["own seconds"][0], errors["grid seconds"][0]
    return f"; {study:.2f} against {grid:.2f} of the grid ({grid / study:.1f}x)"


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    ask.add_argument("--seeds", type=int, default=5)
    ask.add_argument("--rows", type=int, default=5_000, help="the most rows of a set")
    ask.add_argument("--reference", action="store_true")
    ask.add_argument("--times", action="store_true")
    ask.add_argument("--keep", type=Path, help="a file of results, to resume from")
    ask.add_argument("--label", default="study", help="this version of the study in that file")
    given = ask.parse_args()
    header("A study beside the usual pipelines", ["numpy", "scikit-learn"])
    print("| set | study, % | best usual, % | which | behind, s.e. | CPU s |")
    print("|---|---:|---:|---|---:|---:|")
    ratios, lost, kept = [], [], Kept(given.keep)
    for name in given.sets:
        errors = measured(
            name, given.seeds, given.rows, given.reference, given.times, kept, given.label
        )
        usual = [peer for peer in errors if "LinearSVC" in peer or "logistic" in peer]
        best = min(usual, key=lambda peer: np.mean(errors[peer]))
        ours, theirs = float(np.mean(errors["study"])), float(np.mean(errors[best]))
        score = behind(errors["study"], errors[best])
        # Where all seeds but one are alike, it is 1, and rounded.
        lost += [name] if score > 1.0 + 1e-9 else []
        ratios.append((ours + 1e-3) / (theirs + 1e-3))
        others = "".join(
            f" {peer} {100 * np.mean(values):.2f}" for peer, values in errors.items()
            if peer in ("boosted trees", "RBF kernel")
        )  # fmt: skip
        print(
            f"| {name} | {100 * ours:.2f} | {100 * theirs:.2f} | {best}{others} | {score:.1f} "
            f"| {np.mean(errors['seconds']):.1f}{_times(errors)} |",
            flush=True,
        )
    mean = float(np.exp(np.mean(np.log(ratios))))
    print(f"\nGeometric mean of error ratios (each error plus 0.1 %): {mean:.3f}")
    print(f"Behind by more than one standard error on {len(lost)} of {len(given.sets)}: {lost}")
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
