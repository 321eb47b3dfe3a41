"""The lasso among the candidates: tried where columns are many, chosen where few of them matter."""

import numpy as np
import pytest

import separatrix as sx
from separatrix.data.raw_rows import RawRows
from separatrix.data.table import Table
from separatrix.problem.sparse_penalty import LASSO
from separatrix.selection.candidates import Search, features_of_sparse
from separatrix.selection.compared import Candidate
from separatrix.selection.folds import folds_of

FEATURES = ("standard", "raw")


def wide(weights, n=60, d=120, seed=0, noise=0.3):
    """Return rows of many columns, and classes that these weights tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = np.zeros(d)
    w[: len(weights)] = weights
    scores = X @ w
    return X, (scores + noise * scores.std() * rng.normal(size=n) > 0.0).astype(int)


def search_of(X, y, **settings):
    table = Table(X, y, [f"x{j}" for j in range(X.shape[1])], np.unique(y), "csv", "t", "")
    return Search(RawRows(table), np.arange(len(y)), y, np.unique(y), **settings)


def ratios(search):
    return [each.candidate.l1_ratio for each in search.compared]


def test_it_is_chosen_where_few_columns_matter():
    search = search_of(*wide([3.0, -3.0, 3.0]))
    best = search.best(FEATURES)
    assert best.candidate == Candidate("standard", "logistic", LASSO)
    assert str(best.candidate) == "standard, logistic, lasso"
    assert 0 < best.n_nonzero < 60
    others = [each.error for each in search.compared if not each.candidate.l1_ratio]
    assert best.error < min(others) - 0.05


def test_it_is_not_chosen_where_all_columns_matter():
    rng = np.random.default_rng(1)
    search = search_of(*wide(rng.normal(size=120), n=80, seed=1))
    best = search.best(FEATURES)
    assert ratios(search).count(LASSO) == 1
    assert not best.candidate.l1_ratio
    assert best.n_nonzero is None


@pytest.mark.parametrize("reason", ["rows are more", "it is left out", "the loss is given"])
def test_it_is_not_tried_where(reason):
    X, y = wide([3.0, -3.0], n=700 if reason == "rows are more" else 60)
    search = search_of(X, y, folds=2, l1=0.0 if reason == "it is left out" else None)
    losses = ("logistic",) if reason == "the loss is given" else ("squared_hinge", "logistic")
    search.best(("standard",), losses)
    assert not any(ratios(search))


def test_a_ratio_that_is_given_is_that_of_all_candidates():
    search = search_of(*wide([3.0, -3.0], n=130, d=10), folds=2, l1=0.5)
    best = search.best(FEATURES, ("logistic",))
    assert ratios(search) == [0.5, 0.5]
    assert str(best.candidate).endswith("elastic net 0.5")


def test_columns_as_read_are_standardised_for_it():
    assert features_of_sparse("raw", FEATURES) == "standard"
    assert features_of_sparse("raw", ("raw",)) == "raw"
    assert features_of_sparse("products", (*FEATURES, "products")) == "products"


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_its_errors_are_those_of_models_of_each_fold(n_classes, loss):
    X, y = wide([3.0, -3.0, 3.0], n=66)
    if n_classes == 3:
        y = np.where(X[:, 0] > 0.4, 2, y)
    search = search_of(X, y, folds=3)
    found = search.compare(Candidate("standard", loss, LASSO), np.arange(len(y)))
    folds = folds_of(3, X, y, np.unique(y), seed=0)
    nonzero = []
    for fold, error in zip(folds, found.errors, strict=True):
        own, held = fold.train > 0.0, fold.validation > 0.0
        mean, scale = X[own].mean(axis=0), X[own].std(axis=0)
        given = {"l1_ratio": LASSO, "tol": 1e-6}
        if loss == "logistic":
            model = sx.LogisticRegression(found.C, **given)
        else:
            model = sx.LinearSVM(found.C, loss=loss, **given)
        model.fit((X[own] - mean) / scale, y[own])
        wrong = model.predict((X[held] - mean) / scale) != y[held]
        assert wrong.mean() == pytest.approx(error, abs=0.05)
        nonzero.append(np.count_nonzero(model.coef_.any(axis=0)))
    assert found.n_nonzero == pytest.approx(np.mean(nonzero), abs=3.0)
    assert found.scores.shape == (66, 1 if n_classes == 2 else 3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_first_C_leaves_all_weights_of_a_fold_zero(n_classes):
    X, y = wide([3.0, -3.0, 3.0])
    if n_classes == 3:
        y = np.where(X[:, 0] > 0.4, 2, y)
    found = search_of(X, y).compare(Candidate("standard", "logistic", LASSO), np.arange(len(y)))
    Cs = found.found.table["C"]
    nonzero = found.found.table["n_nonzero"]
    assert nonzero[0] <= 1.0 < nonzero[-1]
    assert Cs[-1] >= 99.0 * Cs[0]


def test_values_of_C_that_are_given_are_kept_to():
    X, y = wide([3.0, -3.0])
    for Cs, expected in (((0.5, 2.0), [0.5, 2.0]), (1, None)):
        search = search_of(X, y, folds=2, Cs=Cs)
        found = search.compare(Candidate("standard", "logistic", LASSO), np.arange(len(y)))
        tried = found.found.table["C"].tolist()
        assert tried == expected if expected else len(tried) == 1
