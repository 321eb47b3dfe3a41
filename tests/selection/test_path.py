"""The path over C against the obvious, against scikit-learn, and against itself."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer, load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold

import separatrix as sx
from separatrix._compiled import is_interpreted
from separatrix.selection.refinement import is_hopeless
from tests.amounts import cases
from tests.naive import path as naive
from tests.problems import problem

CS = (0.01, 0.1, 1.0, 10.0)
KINDS = (
    "overlapping_gaussians",
    "constant_columns",
    "duplicate_rows",
    "zero_rows",
    "copied_columns",
    "mostly_zero",
    "fewer_rows_than_columns",
    "opposite_duplicates",
)
LOSSES = ["hinge", "squared_hinge", "logistic"]


def chooser(loss="hinge", **settings):
    if loss == "logistic":
        return sx.LogisticRegressionCV(**settings)
    return sx.LinearSVMCV(loss=loss, **settings)


def single(loss, C, **settings):
    if loss == "logistic":
        return sx.LogisticRegression(C, tol=1e-9, **settings)
    return sx.LinearSVM(C, loss=loss, tol=1e-9, **settings)


def folded(y, k=3, seed=0):
    return list(StratifiedKFold(k, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def overlapping(n=60, d=4, seed=0, n_classes=2):
    n = min(n, 45) if is_interpreted() else n
    X, y = make_classification(n, d, n_informative=3, n_redundant=1, n_classes=n_classes,
                               flip_y=0.2, random_state=seed)  # fmt: skip
    return X, y


def columns(table, *, without=("seconds",)):
    return {name: table[name].tolist() for name in table.columns if name not in without}


# ---- against the obvious


@pytest.mark.parametrize("seed", cases(16))
def test_agrees_with_fitting_every_fold_and_c_from_scratch(seed):
    loss = LOSSES[seed % 3]
    case = problem(seed, KINDS[seed % len(KINDS)])
    rng = np.random.default_rng(seed)
    # Enough rows of both classes for three folds, whatever the kind.
    X = np.vstack([case.X, case.X[::-1] + rng.normal(size=case.X.shape), case.X])
    y = np.array(["no", "yes"])[
        (np.concatenate([case.y_signs, -case.y_signs, case.y_signs]) > 0) * 1
    ]
    if min((y == "no").sum(), (y == "yes").sum()) < 3:
        X, y = np.vstack([X, X, X]), np.concatenate([y, y, y])
    machine = chooser(loss, Cs=CS, cv=3, tol=1e-9, n_jobs=1).fit(X, y)
    validation, training = naive.path(lambda C: single(loss, C), X, y, folded(y), CS)
    found = machine.path_.fold_errors
    # A row on the boundary to the last digits may fall to either side.
    room = 1.5 / len(y) * 3
    assert_allclose(found, validation, atol=room)
    assert_allclose(machine.path_["training_error"], training.mean(axis=1), atol=room)
    assert np.mean(found != validation) < 0.2
    if np.array_equal(found, validation):
        assert naive.least_mean(validation, CS) == machine.C_
    assert (machine.path_["gap"] <= 1e-9).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_agrees_with_grid_search(loss, n_classes):
    X, y = overlapping(90, seed=4, n_classes=n_classes)
    pairs = folded(y)
    machine = chooser(loss, Cs=CS, cv=pairs).fit(X, y)
    grid = GridSearchCV(single(loss, 1.0), {"C": list(CS)}, cv=pairs).fit(X, y)
    assert_allclose(1.0 - machine.path_["validation_error"], grid.cv_results_["mean_test_score"])
    assert grid.best_params_["C"] == machine.C_
    assert_allclose(machine.coef_, grid.best_estimator_.coef_, rtol=1e-3, atol=1e-4)


def test_one_standard_error():
    X, y = load_breast_cancer(return_X_y=True)
    machine = chooser("squared_hinge", Cs=(0.1, 1.0), rule="one_standard_error").fit(X, y)
    assert naive.within_one_standard_error(machine.path_.fold_errors, (0.1, 1.0)) == machine.C_
    best = chooser("squared_hinge", Cs=(0.1, 1.0)).fit(X, y)
    assert naive.least_mean(best.path_.fold_errors, (0.1, 1.0)) == best.C_
    assert machine.C_ < best.C_
    assert "within one standard error" in machine.path_.reason


def test_table_holds_what_the_folds_say():
    X, y = overlapping()
    machine = chooser(Cs=[1.0], cv=folded(y)).fit(X, y)
    table, errors = machine.path_, machine.path_.fold_errors[0]
    alone = [single("hinge", 1.0).fit(X[train], y[train]) for train, _ in folded(y)]
    assert_allclose(table["validation_spread"], errors.std(ddof=1))
    assert_allclose(table["standard_error"], errors.std(ddof=1) / np.sqrt(3))
    assert_allclose(table["n_support"], np.mean([len(one.support_) for one in alone]))
    assert_allclose(table["margin"], np.mean([one.margin_ for one in alone]), rtol=1e-6)
    assert (table["n_folds"].tolist(), table["gap"][0] <= 1e-4) == ([3], True)


# ---- what is fitted in the end


@pytest.mark.parametrize("loss", LOSSES)
def test_the_last_fit_is_the_machine_of_the_c_chosen(loss):
    X, y = overlapping(n_classes=3, n=90)
    machine = chooser(loss, cv=3).fit(X, y)
    alone = single(loss, machine.C_).fit(X, y)
    assert_allclose(machine.coef_, alone.coef_, rtol=1e-3, atol=1e-4)
    assert machine.certificate_.check(X, y)
    assert machine.status_ == "optimal"
    assert machine.gap_ <= 1e-4
    assert machine.C == machine.C_ == machine.path_.C
    if loss != "logistic":
        assert np.array_equal(machine.support_, alone.support_)
    else:
        assert_allclose(machine.predict_proba(X), alone.predict_proba(X), atol=1e-4)


# ---- weights


def test_weights_are_copies():
    X, y = overlapping(40)
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, size=40)
    groups = np.arange(40) % 4
    pairs = [(np.flatnonzero(groups != k), np.flatnonzero(groups == k)) for k in range(4)]
    weighted = chooser(Cs=CS, cv=pairs).fit(X, y, sample_weight=weights)
    copied = np.repeat(np.arange(40), weights)
    of = groups[copied]
    pairs = [(np.flatnonzero(of != k), np.flatnonzero(of == k)) for k in range(4)]
    copies = chooser(Cs=CS, cv=pairs).fit(X[copied], y[copied])
    assert_allclose(weighted.path_.fold_errors, copies.path_.fold_errors, atol=1e-12)
    assert_allclose(weighted.coef_, copies.coef_, rtol=1e-4)
    validation, _ = naive.path(
        lambda C: single("hinge", C), X, y,
        [(np.flatnonzero(groups != k), np.flatnonzero(groups == k)) for k in range(4)],
        CS, weights.astype(float),
    )  # fmt: skip
    assert_allclose(weighted.path_.fold_errors, validation, atol=1e-12)


def test_balanced_weights_are_those_of_each_fold():
    X, y = overlapping(80, seed=2)
    kept = (y == 0) | (np.arange(len(y)) % 4 == 0)
    X, y = X[kept], y[kept]
    machine = chooser(Cs=CS, cv=3, class_weight="balanced").fit(X, y)
    make = lambda C: single("hinge", C, class_weight="balanced")  # noqa: E731
    validation, _ = naive.path(make, X, y, folded(y), CS)
    assert_allclose(machine.path_.fold_errors, validation, atol=1e-12)


# ---- the same bits


def sparse_text(n=150, d=2500, seed=0):
    """Wide, sparse, more rows than the Gram form takes on: coordinate descent's kind of data."""
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.004, rng=rng, format="csr")
    y = np.where(X @ rng.normal(size=d) + 0.05 * rng.normal(size=n) > 0.0, "good", "bad")
    return X, y


@pytest.mark.long
@pytest.mark.parametrize("solver", ["auto", "dual_coordinate"])
def test_the_number_of_threads_changes_no_bit(solver):
    n = 40 if is_interpreted() else 150
    X, y = sparse_text(n) if solver == "dual_coordinate" else overlapping(n, n_classes=3)
    one = chooser(cv=3, solver=solver, n_jobs=1, tol=1e-3).fit(X, y)
    two = chooser(cv=3, solver=solver, n_jobs=2, tol=1e-3).fit(X, y)
    assert columns(one.path_) == columns(two.path_)
    assert np.array_equal(one.coef_, two.coef_)
    assert one.C_ == two.C_


class Cupboard:
    """A store that forgets after so many cells, as a killed process does."""

    def __init__(self):
        self.cells, self.taken, self.limit = {}, 0, None

    def get(self, key):
        found = self.cells.get(key)
        if found is None:
            return None
        self.taken += 1
        return json.loads(found[0]), {name: array.copy() for name, array in found[1].items()}

    def put(self, key, facts, arrays):
        assert key not in self.cells, "a finished cell was computed again"
        if self.limit is not None and len(self.cells) >= self.limit:
            raise KeyboardInterrupt
        self.cells[key] = json.dumps(facts), {name: array.copy() for name, array in arrays.items()}


@pytest.mark.parametrize("limit", [0, 1, 4, 8, 13, 20] if not is_interpreted() else [8])
def test_a_fit_taken_up_again_equals_one_without_a_break(limit):
    X, y = overlapping(60, n_classes=3)
    whole = chooser(cv=3, loss="squared_hinge").fit(X, y)
    cupboard = Cupboard()
    cupboard.limit = limit
    with pytest.raises(KeyboardInterrupt):
        chooser(cv=3, loss="squared_hinge").fit(X, y, store=cupboard)
    assert len(cupboard.cells) == limit
    cupboard.limit = None
    again = chooser(cv=3, loss="squared_hinge").fit(X, y, store=cupboard)
    assert cupboard.taken == limit
    assert columns(again.path_) == columns(whole.path_)
    assert np.array_equal(again.coef_, whole.coef_)
    keys = set(cupboard.cells)
    assert all(float.fromhex(C) > 0.0 and fold in range(3) for C, fold in keys)
    third = chooser(cv=3, loss="squared_hinge").fit(X, y, store=cupboard)
    assert set(cupboard.cells) == keys
    assert third.path_["seconds"].tolist() == again.path_["seconds"].tolist()


# ---- where to look


def test_the_neighbourhood_of_the_best_is_refined():
    X, y = overlapping(80, seed=3)
    machine = chooser(cv=3).fit(X, y)
    Cs = machine.path_["C"]
    between = [C for C in Cs if abs(np.log10(C) - round(np.log10(C))) > 0.4]
    assert between
    assert all(abs(np.log10(C / machine.C_)) < 1.0 for C in between)
    plain = chooser(cv=3, refine=False).fit(X, y)
    assert set(plain.path_["C"]) < set(Cs)
    twice = chooser(cv=3, refine=2).fit(X, y)
    assert set(Cs) < set(twice.path_["C"])
    kept = np.isin(Cs, plain.path_["C"])
    assert np.array_equal(machine.path_.fold_errors[kept], plain.path_.fold_errors)


def test_values_given_are_taken_as_they_are():
    X, y = overlapping()
    machine = chooser(Cs=[5.0, 0.5, 5.0], cv=3).fit(X, y)
    assert machine.path_["C"].tolist() == [0.5, 5.0]
    assert len(chooser(Cs=3, cv=3, refine=False).fit(X, y).path_) == 3


@pytest.mark.long
@pytest.mark.parametrize("seed", cases(6))
def test_ends_left_out_never_change_the_choice(seed):
    # Few informative columns among many of noise: large C overfits at once.
    rng = np.random.default_rng(seed)
    n, d = (60, 30) if is_interpreted() else (150, 60)
    X = rng.normal(size=(n, d)) * np.where(np.arange(d) < 2, 3.0, 1.0) ** (1 + seed % 2)
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=n) > 0.0, 1, 0)
    machine = sx.LinearSVMCV(Cs=13, cv=5, refine=False).fit(X, y)
    every = sx.LinearSVMCV(Cs=np.geomspace(1e-2, 1e3, 13), cv=5).fit(X, y)
    assert_allclose(machine.C_, every.C_)
    kept = np.isin(every.path_["C"].round(9), machine.path_["C"].round(9))
    assert_allclose(every.path_.fold_errors[kept], machine.path_.fold_errors, atol=0.05)
    left = len(every.path_) - len(machine.path_)
    assert (left > 0) == any("Left out" in note for note in machine.path_.notes)


def test_an_end_is_left_out_where_it_is_hopeless():
    worse = np.array([[0.1, 0.11, 0.1], [0.3, 0.31, 0.3], [0.33, 0.3, 0.31]])
    assert is_hopeless(worse, 1000.0)
    assert not is_hopeless(worse, 20.0)
    assert not is_hopeless(worse[:2], 1000.0)
    assert not is_hopeless(worse[[1, 2, 0]], 1000.0)


# ---- scorers, groups, refusals


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss", "f1"])
def test_any_scorer(scoring):
    X, y = overlapping(90, seed=6)
    pairs = folded(y)
    machine = sx.LogisticRegressionCV(CS, cv=pairs, scoring=scoring).fit(X, y)
    grid = GridSearchCV(single("logistic", 1.0), {"C": list(CS)}, cv=pairs, scoring=scoring)
    grid.fit(X, y)
    assert_allclose(
        machine.path_["validation_score"], grid.cv_results_["mean_test_score"], rtol=1e-4
    )
    assert grid.best_params_["C"] == machine.C_
    assert "score" in machine.path_.reason


def test_groups_reach_the_splitter():
    X, y = overlapping(60)
    groups = np.arange(len(y)) // 6
    machine = chooser(Cs=CS, cv=GroupKFold(5)).fit(X, y, groups=groups)
    pairs = list(GroupKFold(5).split(X, y, groups))
    validation, _ = naive.path(lambda C: single("hinge", C), X, y, pairs, CS)
    assert_allclose(machine.path_.fold_errors, validation, atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"Cs": []}, "Cs must be"),
        ({"Cs": [0.0, 1.0]}, "Cs must be"),
        ({"Cs": [np.inf]}, "LinearSVM"),
        ({"Cs": "wide"}, "Cs must be"),
        ({"rule": "worst"}, "rule must be"),
        ({"cv": 40}, "folds need 40 rows"),
        ({"loss": "zero_one"}, "loss must be"),
        ({"scoring": "beauty"}, "scoring"),
        ({"refine": -1}, "refine must be"),
        ({"n_jobs": 0}, "n_jobs must not be 0"),
        ({"Cs": [1e308], "class_weight": {0: 1e10}}, "beyond the largest number"),
    ],
)
def test_refusals_say_what_to_do(settings, said):
    X, y = overlapping()
    with pytest.raises(ValueError, match=said):
        sx.LinearSVMCV(**settings).fit(X, y)


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_log_loss"])
@pytest.mark.filterwarnings("ignore:Only one class is present")
@pytest.mark.filterwarnings("ignore:y_pred contains classes not in y_true")
def test_a_score_that_needs_every_class_asks_for_fewer_folds(scoring):
    X, y = overlapping(40)
    low, high = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
    pairs = [(np.append(low[3:], high), low[:3])]
    with pytest.raises(ValueError, match=f"{scoring}.*every class.*Use fewer folds"):
        sx.LogisticRegressionCV([1.0], cv=pairs, scoring=scoring).fit(X, y)


# ---- ugly data


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("few", [1, 2, 3])
def test_a_class_with_fewer_rows_than_folds_is_warned_of_once(loss, few):
    X, y = overlapping(40, n_classes=3)
    kept = np.sort(np.append(np.flatnonzero(y < 2), np.flatnonzero(y == 2)[:few]))
    X, y = X[kept], y[kept]
    with pytest.warns(UserWarning, match=rf"these classes have rows: 2 \({few}\)") as caught:
        machine = chooser(loss, Cs=[0.1, 1.0], cv=5).fit(X, y)
    assert len(caught) == 1
    assert machine.path_["n_folds"].tolist() == [5.0, 5.0]
    assert machine.classes_.tolist() == [0, 1, 2]
    assert (machine.path_["gap"] <= machine.tol).all()
    assert machine.certificate_.check(X, y)


def test_one_row_a_class_in_a_fold_and_three_classes_of_text_labels():
    X = np.array([[0.0, 5.0], [0.2, 5.0], [3.0, 5.0], [3.1, 5.0], [9.0, 5.0], [9.5, 5.0]])
    y = np.array(["low", "low", "mid", "mid", "high", "high"])
    machine = chooser(cv=2, Cs=CS).fit(X, y)
    assert machine.classes_.tolist() == ["high", "low", "mid"]
    assert len(machine.coef_) == 3
    assert (machine.path_["n_folds"] == 2).all()


def test_sparse_and_dense_are_the_same_and_stay_as_they_were():
    X, y = overlapping(40, seed=8)
    X[np.abs(X) < 0.5] = 0.0
    sparse = sp.csr_array(X)
    before = sparse.copy()
    dense_machine, sparse_machine = (chooser(Cs=CS, cv=3).fit(data, y) for data in (X, sparse))
    assert_allclose(sparse_machine.path_.fold_errors, dense_machine.path_.fold_errors)
    assert (before != sparse).nnz == 0


def test_few_rows_and_many_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 90))
    y = (X[:, 0] > 0).astype(int)
    machine = chooser(Cs=CS, cv=3).fit(X, y)
    assert machine.solver_ == "gram"
    validation, _ = naive.path(lambda C: single("hinge", C), X, y, folded(y), CS)
    assert_allclose(machine.path_.fold_errors, validation, atol=1e-12)


def test_a_budget_ends_honestly():
    X, y = overlapping(60)
    with pytest.warns(ConvergenceWarning, match=r"larger gap|The gap reached"):
        machine = chooser(max_seconds=1e-6).fit(X, y)
    assert machine.path_["C"].tolist() == [1.0]
    assert all("for want of time" in note for note in machine.path_.notes)
    assert machine.path_.notes
    assert machine.certificate_.check(X, y)
    # A store that holds a part of the first C changes nothing of that.
    cupboard = Cupboard()
    cupboard.limit = 2
    with pytest.raises(KeyboardInterrupt):
        chooser().fit(X, y, store=cupboard)
    cupboard.limit = None
    with pytest.warns(ConvergenceWarning):
        again = chooser(max_seconds=1e-6).fit(X, y, store=cupboard)
    assert again.path_["C"].tolist() == [1.0]


# ---- manners


def test_table_for_the_eye_and_for_files(tmp_path):
    X, y = load_iris(return_X_y=True)
    machine = chooser(Cs=CS, cv=3).fit(X[50:], y[50:])
    table = machine.path_
    text, page = repr(table), table._repr_html_()
    assert text.count("\n") == 5 + len(table.notes)
    assert text.count("\n* ") == 2
    assert page.count("<tr") == 5
    assert page.count("font-weight:bold") == 1
    table.to_csv(tmp_path / "folder" / "path.csv")
    assert [file.name for file in (tmp_path / "folder").iterdir()] == ["path.csv"]
    lines = (tmp_path / "folder" / "path.csv").read_text().splitlines()
    assert lines[0].startswith("C,validation_error,validation_spread")
    assert len(lines) == 5
    facts = json.loads(table.to_json())
    assert [row["C"] for row in facts["rows"]] == list(CS)
    assert facts["C"] == machine.C_
    with pytest.raises(KeyError, match="it has C, validation_error"):
        table["beauty"]
    assert [row["C"] for row in table] == list(CS)
    assert machine.path_.reason in str(machine)


def test_progress_counts_to_the_end():
    X, y = overlapping()
    seen = []
    chooser(cv=3).fit(X, y, progress=lambda done, total, text: seen.append((done, total, text)))
    assert [done for done, _, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[-1][0] == seen[-1][1]
    assert all("fold" in text for _, _, text in seen)
