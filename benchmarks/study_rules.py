"""Which rule should choose among the candidates of a study? Regret on generated tables.

    python -m benchmarks.study_rules [--families NAME ...] [--weak] [--seeds 6] [--keep FOLDER]

Every candidate (features, loss, penalty) is fitted at every C on three repeats of five folds, and
once on all training rows, whose test error is counted on 4,000 new rows. Rules are then compared
on the same fits: each picks one candidate and C from what the folds said, and is charged the test
error of that pick. Printed is the geometric mean of (error + 0.1 %) over that of the first rule,
with the standard error over tables, the share of tables on which it is worse by more than 5 %, and
the worst ratio. "Half, half" are the means over tables of even and of odd seeds. --keep stores the
fits of each table, so that a run can be interrupted.

--weak compares the study with the usual pipeline (standardised columns, squared hinge, C by the
least error) on tables of weak signals and rarer classes, where there is little to choose from.

Rules for trying splines are compared by `benchmarks.study_splines`, on the further families where
the truth is a sum of functions of single columns.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import xlogy

from benchmarks._report import header

JUDGED, REPEATS, FOLDS = 4_000, 3, 5
GRID = np.geomspace(0.01, 100.0, 9)
RAW_GRID = np.geomspace(0.01, 1e4, 13)
MODELS = (("squared_hinge", 0.0), ("hinge", 0.0), ("logistic", 0.0))
SPARSE = (("logistic", 1.0), ("logistic", 0.5))
LEAD, LASSO_FROM = 0.25, 0.2


# ---- families


def gaussian(rng: Any, n: int, d: int, relevant: int, noise: float, kind: str = "plain") -> Any:
    """Return rows and classes: `relevant` columns matter, by signs of a linear score."""
    X = rng.normal(size=(n, d))
    if kind == "neighbours":
        for j in range(1, d):
            X[:, j] = 0.8 * X[:, j - 1] + 0.6 * X[:, j]
    if kind == "factors":
        hidden = rng.normal(size=(n, 5))
        X = hidden @ rng.normal(size=(5, d)) + 1.5 * X
    if kind == "heavy":
        X = rng.standard_t(2.5, size=(n, d))
    w = np.zeros(d)
    w[rng.permutation(d)[:relevant]] = rng.choice([-1.0, 1.0], relevant) * (
        0.3 + rng.random(relevant)
    )
    scores = hidden[:, :3].sum(axis=1) if kind == "factors" else X @ w
    y = scores + noise * scores.std() * rng.normal(size=n) > 0.0
    if kind == "skewed":
        X = np.exp(1.5 * X)
    if kind == "units":  # what varies much matters
        X = X * np.where(w != 0.0, 3.0, 1.0)
    if kind == "binary":
        X = (rng.uniform(-1.0, 1.5, size=d) < X).astype(float)
        scores = X @ w
        scores -= np.median(scores)
        y = scores + noise * scores.std() * rng.normal(size=n) > 0.0
    if kind == "flipped":
        y ^= rng.random(n) < 0.1
    return X, y.astype(int)


def classes(rng: Any, n: int, d: int, apart: float) -> Any:
    """Return three Gaussian classes of unequal spread."""
    y = rng.integers(0, 3, size=n)
    centres = apart * rng.normal(size=(3, d)) / np.sqrt(d)
    spread = rng.uniform(0.5, 1.5, size=(3, d))
    X = (centres[y] + spread[y] * rng.normal(size=(n, d)) / np.sqrt(d)) @ np.diag(
        10.0 ** rng.uniform(-1, 2, size=d)
    )
    return X, y


def additive(rng: Any, n: int, d: int, relevant: int, noise: float, kind: str) -> Any:
    """Return rows and two classes: the score is a sum of functions of single columns."""
    X = rng.normal(size=(n, d))
    shapes = list(SHAPES) if kind in ("mixed", "skewed") else [kind]
    scores = np.zeros(n)
    for j in rng.permutation(d)[:relevant].tolist():
        part = SHAPES[rng.choice(shapes)](X[:, j] - 0.7 * rng.normal())
        scores += rng.choice([-1.0, 1.0]) * (0.3 + rng.random()) * part / part.std()
    scores -= np.median(scores)
    y = scores + noise * scores.std() * rng.normal(size=n) > 0.0
    if kind == "skewed":
        X = np.exp(X)
    return X, y.astype(int)


def weak(rng: Any, n: int, d: int, relevant: int, noise: float, rare: float, kind: str = "") -> Any:
    """Return rows and two classes, one of them rarer: a linear score under much noise."""
    X = rng.normal(size=(n, d))
    w = np.zeros(d)
    w[rng.permutation(d)[:relevant]] = rng.choice([-1.0, 1.0], relevant) * (
        0.3 + rng.random(relevant)
    )
    scores = X @ w
    scores = scores + noise * scores.std() * rng.normal(size=n)
    X = np.exp(X) if kind == "skewed" else np.round(3.0 * X) if kind == "counts" else X
    return X, (scores > np.quantile(scores, 1.0 - rare)).astype(int)


SHAPES: dict[str, Any] = {
    "lines": lambda x: x,
    "steps": lambda x: (x > 0.0).astype(float),
    "valleys": lambda x: x * x,
    "saturating": lambda x: np.tanh(3.0 * x),
}

# name -> (training rows, what draws)
FAMILIES: dict[str, tuple[int, partial[Any]]] = {
    "few columns": (200, partial(gaussian, d=8, relevant=8, noise=0.6)),
    "small": (90, partial(gaussian, d=10, relevant=6, noise=0.5)),
    "easy": (350, partial(gaussian, d=30, relevant=20, noise=0.08, kind="neighbours")),
    "few of some": (250, partial(gaussian, d=60, relevant=4, noise=0.5)),
    "all of some": (250, partial(gaussian, d=60, relevant=60, noise=0.3)),
    "factors": (200, partial(gaussian, d=40, relevant=0, noise=0.4, kind="factors")),
    "heavy tails": (250, partial(gaussian, d=12, relevant=8, noise=0.4, kind="heavy")),
    "skewed": (250, partial(gaussian, d=10, relevant=8, noise=0.4, kind="skewed")),
    "units": (150, partial(gaussian, d=40, relevant=10, noise=0.3, kind="units")),
    "binary": (300, partial(gaussian, d=40, relevant=15, noise=0.3, kind="binary")),
    "flipped": (250, partial(gaussian, d=15, relevant=10, noise=0.2, kind="flipped")),
    "three classes": (140, partial(classes, d=13, apart=1.3)),
    "wide, few": (80, partial(gaussian, d=300, relevant=5, noise=0.4)),
    "wide, neighbours": (80, partial(gaussian, d=300, relevant=5, noise=0.4, kind="neighbours")),
    "wide, all": (80, partial(gaussian, d=300, relevant=300, noise=0.2)),
    "wide, factors": (60, partial(gaussian, d=300, relevant=0, noise=0.4, kind="factors")),
    "steps": (300, partial(additive, d=8, relevant=6, noise=0.3, kind="steps")),
    "valleys": (300, partial(additive, d=10, relevant=5, noise=0.3, kind="valleys")),
    "saturating": (300, partial(additive, d=8, relevant=8, noise=0.3, kind="saturating")),
    "sums": (400, partial(additive, d=15, relevant=8, noise=0.3, kind="mixed")),
    "sums, small": (120, partial(additive, d=10, relevant=5, noise=0.3, kind="mixed")),
    "sums, skewed": (300, partial(additive, d=12, relevant=6, noise=0.3, kind="skewed")),
    "sums, more rows": (900, partial(additive, d=20, relevant=10, noise=0.3, kind="mixed")),
    "weak 3": (245, partial(weak, d=3, relevant=2, noise=2.0, rare=0.27)),
    "weak skewed": (245, partial(weak, d=4, relevant=2, noise=1.5, rare=0.25, kind="skewed")),
    "weak counts": (400, partial(weak, d=5, relevant=3, noise=2.0, rare=0.3, kind="counts")),
    "weak 13": (216, partial(weak, d=13, relevant=8, noise=1.2, rare=0.45)),
    "weak 20": (500, partial(weak, d=20, relevant=6, noise=2.0, rare=0.35)),
}  # fmt: skip
ADDITIVE = [name for name, (_, made) in FAMILIES.items() if made.func is additive]
WEAK = [name for name, (_, made) in FAMILIES.items() if made.func is weak]
LINEAR = [name for name in FAMILIES if name not in ADDITIVE + WEAK]


def drawn(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    n, made = FAMILIES[name]
    number = list(FAMILIES).index(name)
    X, y = made(np.random.default_rng([number, seed]), n=n + JUDGED)
    return X[:n], y[:n], X[n:], y[n:]


# ---- fits


def fits_of(name: str, seed: int, of_splines: bool) -> dict[str, np.ndarray]:
    """Return for each candidate its values of C, held-out scores and test errors."""
    from separatrix.data.raw_rows import RawRows
    from separatrix.data.table import Table

    X, y, test, truth = drawn(name, seed)
    both = np.vstack([X, test])
    names = [f"x{j}" for j in range(X.shape[1])]
    raw = RawRows(Table(both, np.r_[y, truth], names, np.unique(y), "csv", "", ""))
    n = len(y)
    features = ["standard", "raw"] + (["ranks"] if X.shape[1] < n else [])
    features += ["splines"] if of_splines and X.shape[1] < n else []
    if np.isin(X, (0.0, 1.0)).all():
        features = ["standard"]
    found: dict[str, np.ndarray] = {"y": y}
    for each in features:
        learned = raw.learn(each, np.arange(n), np.r_[y, truth]).X
        found[f"{each}/width"] = np.array(learned.shape[1])
        sparse = SPARSE[: 1 if of_splines else 2] if each in ("standard", "splines") else ()
        for loss, ratio in MODELS + sparse:
            Cs = grid_of(each, learned[:n], y, loss, ratio)
            scores = [held_out(raw, y, each, loss, ratio, Cs, seed) for seed in range(REPEATS)]
            key = f"{each}/{loss}/{ratio:g}"
            found[f"{key}/scores"] = np.array(scores, dtype=np.float32)  # repeat, C, row, model
            found[f"{key}/test"] = np.array(
                [test_error(learned, n, y, truth, loss, ratio, C) for C in Cs]
            )
    return found


def grid_of(features: str, X: Any, y: Any, loss: str, ratio: float) -> np.ndarray:
    if ratio:
        from separatrix.core.sparse import largest_cost_of_zero
        from separatrix.selection.refinement import sparse_grid

        signs = [np.where(y == k, 1.0, -1.0) for k in ([1] if y.max() == 1 else range(3))]
        ones = np.ones(len(y))
        least = min(largest_cost_of_zero(X, each, ones, loss, ratio, True) for each in signs)
        return sparse_grid(14, 1.25 * least, X)[0]
    square = float(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean()) or 1.0
    return (RAW_GRID if features == "raw" else GRID) / square


def held_out(
    raw: Any, y: Any, features: str, loss: str, ratio: float, Cs: Any, seed: int
) -> np.ndarray:
    """Return the score of every row at every C, from the fold that held it out; inf: left out."""
    from separatrix.selection.candidates import Search
    from separatrix.selection.compared import Candidate, cells_of
    from separatrix.selection.compared import held_out as of_folds

    rows, candidate = np.arange(len(y)), Candidate(features, loss, ratio)
    search = Search(raw, rows, np.r_[y, raw.table.y[len(y) :]], np.unique(y), folds=FOLDS,
                    seed=seed, Cs=tuple(Cs))  # fmt: skip
    done = search.compare(candidate, rows)
    kept, folds = cells_of(search.store, candidate, len(rows)), search._folds(rows)
    known = set(done.found.table["C"].tolist())
    models = 1 if y.max() == 1 else 3
    nothing = np.full((len(y), models), np.inf)
    return np.array([of_folds(kept, float(C), folds) if float(C) in known else nothing for C in Cs])


def test_error(
    learned: Any, n: int, y: Any, truth: Any, loss: str, ratio: float, C: float
) -> float:
    from separatrix.core.machine import LinearSVM, LogisticRegression

    common = {"tol": 1e-3, "l1_ratio": ratio}
    if loss == "logistic":
        way = "ovr" if ratio or y.max() == 1 else "multinomial"
        model: Any = LogisticRegression(C, multi_class=way, **common)
    else:
        model = LinearSVM(C, loss=loss, **common)
    return float(np.mean(model.fit(learned[:n], y).predict(learned[n:]) != truth))


# ---- what the folds say


def folds_of_rows(y: np.ndarray, seed: int) -> np.ndarray:
    """Return the number of the fold that holds each row out."""
    from separatrix.selection.folds import folds_of

    found = np.zeros(len(y), dtype=int)
    for number, fold in enumerate(
        folds_of(FOLDS, np.zeros((len(y), 1)), y, np.unique(y), seed=seed)
    ):
        found[fold.validation > 0.0] = number
    return found


def losses_of(scores: np.ndarray, y: np.ndarray, measure: str, softmax: bool) -> np.ndarray:
    """Return the loss of every row at every C: its error, or one of calibrated probabilities."""
    from separatrix.core.linear_model import fitted_slopes
    from separatrix.selection.scores import probabilities

    found = []
    for each in scores.astype(float):
        if not np.isfinite(each).all():
            found.append(np.full(len(y), np.inf))
            continue
        called = (each[:, 0] > 0).astype(int) if each.shape[1] == 1 else each.argmax(axis=1)
        if measure == "error":
            found.append((called != y).astype(float))
            continue
        if softmax:
            p = probabilities(each, y, "softmax")
        else:
            slopes = fitted_slopes(each, y, np.ones(len(y)))
            p = slopes.probabilities(each[:, 0] if each.shape[1] == 1 else each)
        own = np.clip(p[np.arange(len(y)), y], 1e-12, 1.0)
        one = {
            "log loss": lambda own=own: -xlogy(1.0, own),
            "Brier": lambda p=p: ((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1),
        }[measure]()
        found.append(one)
    return np.array(found)


class Fits:
    """The fits of one table, and what their folds say by any measure."""

    def __init__(self, arrays: dict[str, np.ndarray], width: int) -> None:
        self.y, self.width = arrays["y"], width
        self.made = int(arrays.get("splines/width", width)) - width  # by splines
        self.names = [key[: -len("/test")] for key in arrays if key.endswith("/test")]
        self.test = {name: arrays[f"{name}/test"] for name in self.names}
        self._scores = {name: arrays[f"{name}/scores"] for name in self.names}
        self._folds = [folds_of_rows(self.y, repeat) for repeat in range(REPEATS)]
        self._known: dict[Any, np.ndarray] = {}

    def fold_of(self, repeat: int) -> np.ndarray:
        """Return the fold that holds each row out."""
        return self._folds[repeat]

    def folds(self, name: str, measure: str, repeats: int) -> np.ndarray:
        """Return the mean loss of every fold, a row a C."""
        key = name, measure, repeats
        if key not in self._known:
            parts = []
            softmax = name.split("/")[1:] == ["logistic", "0"] and self.y.max() > 1
            for repeat in range(repeats):
                each = losses_of(self._scores[name][repeat], self.y, measure, softmax)
                own = self._folds[repeat]
                parts += [each[:, own == f].mean(axis=1) for f in range(FOLDS)]
            self._known[key] = np.array(parts).T
        return self._known[key]


def standard_error(values: np.ndarray) -> float:
    """Return that of a mean over folds; repeats of folds are not independent of each other."""
    by_fold = values.reshape(-1, FOLDS)
    return float(by_fold.std(axis=1, ddof=1).mean() / np.sqrt(FOLDS))


def place_of(losses: np.ndarray, how: str) -> int:
    """Return the C that a rule takes on one path."""
    from separatrix.selection.compared import middle_of_best

    with np.errstate(invalid="ignore"):
        means = losses.mean(axis=1)
    whole = np.isfinite(means)
    first, last = int(np.argmax(whole)), len(whole) - int(np.argmax(whole[::-1]))
    means = means[first:last]
    if how == "smooth":
        around = np.pad(means, 1, mode="edge")
        means = np.convolve(around, [0.25, 0.5, 0.25], mode="valid")
        return first + int(np.argmin(means))
    if how == "one error":
        best = int(np.argmin(means))
        room = standard_error(losses[first + best])
        return first + int(np.argmax(means <= means[best] + room))
    return first + middle_of_best(losses[first:last])


Walk = tuple[str, int, np.ndarray]  # a candidate, the place of its C, its losses there


def path_of(fits: Fits, name: str, measure: str, repeats: int, at: str, step: int) -> Walk:
    """Walk the path of a candidate; the study refines its grid by one round."""
    losses = fits.folds(name, measure, repeats)
    some, near = visited(losses, name, at, step)
    place = int(near[place_of(losses[near], at)]) if len(near) else some[place_of(losses[some], at)]
    return name, int(place), losses[place]


def visited(losses: np.ndarray, name: str, at: str, step: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the values of C that are tried first, and those around their best."""
    sparse = not name.endswith("/0")
    some = np.arange(0, len(losses), 1 if sparse else step)
    if step == 1 or sparse:
        return some, some[:0]
    place = int(some[place_of(losses[some], at)])
    return some, np.arange(max(0, place - 1), min(len(losses), place + 2))


def by_log_loss(fits: Fits, forms: list[Walk], lead: float, step: int) -> tuple[str, int] | None:
    """Return candidate and C by the log loss: of features as walked for their errors, then on.

    None where no features are better than the frequencies of the classes by three standard errors.
    """
    judged = []
    for name, _, _ in forms:
        errors, losses = (fits.folds(name, measure, 1) for measure in ("error", "log loss"))
        tried = [k for k in np.union1d(*visited(errors, name, "middle", step)).tolist()
                 if np.isfinite(losses[k]).all()]  # fmt: skip
        place = min(tried, key=lambda k: float(losses[k].mean()))
        judged.append((name, place, losses[place]))
    least = min((losses for _, _, losses in judged), key=np.mean)
    if not standard_errors_seen(fits, least) > 3.0:
        return None
    best = best_of(judged, lead)
    form = best[0].split("/")[0]
    walked = partial(path_of, fits, measure="log loss", repeats=1, at="middle", step=step)
    rest = [walked(f"{form}/logistic/0")]
    own, width = the_lasso_of(fits, form)
    if width > LASSO_FROM * len(fits.y):
        rest.append(walked(f"{own}/logistic/1"))
    name, place, _ = best_of([best, *rest], lead)
    return name, place


def standard_errors_seen(fits: Fits, losses: np.ndarray) -> float:
    """Return by how many standard errors log losses are below those of the class frequencies."""
    own = -np.log(np.bincount(fits.y) / len(fits.y))[fits.y]
    plain = np.array([own[fits.fold_of(0) == f].mean() for f in range(FOLDS)])
    gain = plain - losses
    return float(gain.mean() / max(standard_error(gain), 1e-300))


def best_of(paths: list[Walk], lead: float) -> Walk:
    first = int(np.argmin([losses.mean() for _, _, losses in paths]))
    for one in paths[:first]:
        behind = one[2] - paths[first][2]
        if behind.mean() <= lead * standard_error(behind):
            return one
    return paths[first]


def judged_again(fits: Fits, paths: list[Walk], measure: str, near: float) -> list[Walk]:
    """Judge candidates near the best on all repeats, at their C."""
    best = min(paths, key=lambda path: path[2].mean())[2]
    return [
        (name, place, fits.folds(name, measure, REPEATS)[place])
        for name, place, losses in paths
        if (losses - best).mean() <= near * standard_error(losses - best)
    ]


def the_lasso_of(fits: Fits, form: str) -> tuple[str, int]:
    """Return the features of which the lasso is tried, and their number."""
    if form != "splines":
        return "standard", fits.width
    return form, (fits.width + fits.made) * int(fits.y.max() == 1)


def chosen(
    fits: Fits,
    measure: str = "error",
    repeats: int = 1,
    at: str = "middle",
    lead: float = LEAD,
    sparse: float = LASSO_FROM,
    net: bool = False,
    step: int = 2,
    near: float = 0.0,
    ranks: bool = True,
    splines: float = float("inf"),
    lasso_of_splines: bool = True,
    hard: float = float("inf"),
) -> tuple[str, int]:
    """Return candidate and C of a rule: features by squared hinge, then losses, then the lasso.

    The lasso is tried where columns are more than the share `sparse` of the rows. With `near`,
    candidates so many standard errors behind the best, and nearer ones, are judged again. Splines
    are tried where rows are at least `splines` times the columns that they add; where they win,
    the lasso is theirs, for two classes. Where all features have an error above the share `hard` of
    that of the commonest class, the log loss chooses from there on.
    """
    walked = partial(path_of, fits, measure=measure, repeats=repeats, at=at, step=step)
    features = list(dict.fromkeys(name.split("/")[0] for name in fits.names))
    left_out = () if ranks else ("ranks",)
    left_out += () if len(fits.y) >= splines * fits.made else ("splines",)
    features = [each for each in features if each not in left_out]
    forms = [walked(f"{each}/squared_hinge/0") for each in features]
    commonest = 1.0 - np.bincount(fits.y).max() / len(fits.y)
    if min(losses.mean() for _, _, losses in forms) > hard * commonest:
        found = by_log_loss(fits, forms, lead, step)
        if found is not None:
            return found
    form = best_of(forms, lead)[0].split("/")[0]
    rest = [walked(f"{form}/{loss}/0") for loss in ("hinge", "logistic")]
    own, width = the_lasso_of(fits, form if lasso_of_splines else "standard")
    if width > sparse * len(fits.y):
        rest += [walked(f"{own}/logistic/{ratio}") for ratio in (("1", "0.5") if net else ("1",))]
    if near:
        paths = judged_again(fits, [*forms, *rest], measure, near)
    else:
        paths = [each for each in forms if each[0].split("/")[0] == form] + rest
    name, place, _ = best_of(paths, lead)
    return name, place


NEVER = float("inf")
RULES: dict[str, dict[str, Any]] = {
    "one cut, no lasso": {"sparse": NEVER},
    "lasso, columns > rows": {"sparse": 1.0},
    "lasso, columns > rows / 5": {},
    "lasso always": {"sparse": 0.0},
    "elastic net too": {"net": True},
    "C within one error": {"at": "one error"},
    "finer C, smoothed": {"step": 1, "at": "smooth"},
    "two cuts": {"repeats": 2},
    "three cuts": {"repeats": 3},
    "three cuts near the best": {"near": 1.0},
    "and log loss where no error is halved (the study)": {"near": 1.0, "hard": 0.5},
    "three cuts within two errors": {"near": 2.0},
    "the study, smoothed": {"near": 1.0, "at": "smooth"},
    "the study, no lead": {"near": 1.0, "lead": 0.0},
    "the study, lead of one error": {"near": 1.0, "lead": 1.0},
    "the study, by log loss": {"near": 1.0, "measure": "log loss"},
    "the study, by Brier score": {"near": 1.0, "measure": "Brier"},
}
STUDY = {"near": 1.0, "splines": 1.0}
WEAK_RULES: dict[str, dict[str, Any]] = {
    "the usual pipeline": {"sparse": NEVER, "ranks": False, "step": 1, "lead": NEVER},
    "the study before": STUDY,
    "the study: log loss where no error is halved": {**STUDY, "hard": 0.5},
    "log loss where two thirds of the errors remain": {**STUDY, "hard": 2.0 / 3.0},
    "log loss where a third of the errors remain": {**STUDY, "hard": 1.0 / 3.0},
    "the study before, a lead counts from half a standard error on": {**STUDY, "lead": 0.5},
    "the study before, from one standard error on": {**STUDY, "lead": 1.0},
    "the study before, no splines": {"near": 1.0},
    "the study before, by log loss": {**STUDY, "measure": "log loss"},
    "the study before, by Brier score": {**STUDY, "measure": "Brier"},
    "the study before, smoothed": {**STUDY, "at": "smooth"},
}


def charged(fits: Fits, name: str, place: int) -> float:
    return float(fits.test[name][place])


def oracle(fits: Fits) -> float:
    return min(float(each.min()) for each in fits.test.values())


def compare(tables: dict[tuple[str, int], Fits], rules: dict[str, dict[str, Any]]) -> None:
    errors = {
        rule: np.array([charged(fits, *chosen(fits, **how)) for fits in tables.values()])
        for rule, how in rules.items()
    }
    errors["best in hindsight"] = np.array([oracle(fits) for fits in tables.values()])
    present = errors[next(iter(rules))] + 1e-3
    families = np.array([name for name, _ in tables])
    halves = np.array([seed % 2 for _, seed in tables])
    print("| rule | ratio | s.e. | half, half | worse by 5 % on | worst |")
    print("|---|---:|---:|---|---:|---:|")
    for rule, found in errors.items():
        logs = np.log((found + 1e-3) / present)
        each = [float(np.exp(logs[halves == half].mean())) for half in (0, 1)]
        print(
            f"| {rule} | {np.exp(logs.mean()):.3f} | {logs.std(ddof=1) / np.sqrt(len(logs)):.3f} "
            f"| {each[0]:.3f}, {each[1]:.3f} | {100 * np.mean(logs > np.log(1.05)):.0f} % "
            f"| {np.exp(logs.max()):.2f} |"
        )
    print("\nTest errors of the first rule in per cent, and ratios to it by family:\n")
    shown = list(errors)[1:]
    print("| family | first | " + " | ".join(shown) + " |\n|---|" + "---:|" * (1 + len(shown)))
    for family in dict.fromkeys(families):
        own = families == family
        ratios = [
            np.exp(np.log((errors[rule][own] + 1e-3) / present[own]).mean()) for rule in shown
        ]
        cells = " | ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"| {family} | {100 * present[own].mean() - 0.1:.1f} | {cells} |")


def fitted(families: Sequence[str], seeds: int, keep: Path | None, of_splines: bool) -> Any:
    """Return the fits of every table, those that were kept among them."""
    tables = {}
    for seed in range(seeds):
        for name in families:
            width = FAMILIES[name][1].keywords["d"]
            kept = keep and keep / f"{name.replace(' ', '_')}-{seed}.npz"
            if kept and kept.exists():
                with np.load(kept) as file:
                    tables[name, seed] = Fits({key: file[key] for key in file.files}, width)
                continue
            arrays = fits_of(name, seed, of_splines)
            if kept:
                kept.parent.mkdir(parents=True, exist_ok=True)
                np.savez_compressed(kept, **arrays)
            tables[name, seed] = Fits(arrays, width)
    return tables


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    ask.add_argument("--families", nargs="+", choices=LINEAR, default=LINEAR)
    ask.add_argument("--weak", action="store_true", help="the study beside the usual pipeline")
    ask.add_argument("--seeds", type=int, default=6)
    ask.add_argument("--keep", type=Path, help="a folder of fits, to resume from")
    given = ask.parse_args()
    warnings.simplefilter("ignore")
    names, rules = (WEAK, WEAK_RULES) if given.weak else (given.families, RULES)
    tables = fitted(names, given.seeds, given.keep, of_splines=given.weak)
    header("Rules of choice on generated tables", ["numpy"])
    print(f"{len(tables)} tables, {JUDGED} test rows each.\n")
    compare(tables, rules)
    return 0


if __name__ == "__main__":
    main()
