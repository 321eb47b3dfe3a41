"""The kernel of a study against one fit of `KernelSVM` a fold, C and gamma."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs, make_moons

import separatrix as sx
from separatrix.data.raw_rows import RawRows
from separatrix.data.table import Table
from separatrix.selection import kernel_candidate
from separatrix.selection.candidates import Search
from separatrix.selection.compared import Candidate, mean_square
from separatrix.selection.kernel_candidate import curve_gains
from separatrix.selection.scores import Measure


def search_of(X, y, **settings):
    names = [f"x{j}" for j in range(X.shape[1])]
    table = Table(X, y, names, np.unique(y), "csv", "t", "")
    return Search(RawRows(table), np.arange(len(y)), y, np.unique(y), **settings)


def rows(kind, seed=0):
    if kind == "two classes":
        X, y = make_moons(150, noise=0.3, random_state=seed)
        return X * [1.0, 50.0], y
    return make_blobs(120, 4, centers=3, cluster_std=5.0, random_state=seed)


@pytest.mark.parametrize("kind", ["two classes", "three classes"])
def test_errors_are_those_of_a_fit_for_each_fold(kind):
    X, y = rows(kind)
    search = search_of(X, y, folds=3)
    found = search.compare_kernel()
    folds = search._folds(np.arange(len(y)))
    inside = folds[0].train > 0.0
    Z = (X - X[inside].mean(axis=0)) / X[inside].std(axis=0)
    square = mean_square(Z, folds[0])
    means = {}
    for unit in kernel_candidate._GAMMAS:
        for C in kernel_candidate._CS:
            gamma, errors = float(f"{unit / square:.3g}"), []
            for fold in folds:
                own, held = fold.train > 0.0, fold.validation > 0.0
                Z = (X - X[own].mean(axis=0)) / X[own].std(axis=0)
                model = sx.KernelSVM(C, gamma=gamma, tol=1e-3).fit(Z[own], y[own])
                errors.append((model.predict(Z[held]) != y[held]).mean())
            means[gamma, C] = errors
    best = min(np.mean(errors) for errors in means.values())
    assert found.errors.mean() <= best + 1.1 / len(y)  # a row at the boundary may fall either way
    assert_allclose(found.errors, means[found.gamma, found.C], atol=3.1 / len(y))


def test_of_many_rows_some_train_and_all_are_judged(monkeypatch):
    monkeypatch.setattr(kernel_candidate, "_MOST_TRAINING", 40)
    X, y = rows("two classes")
    search = search_of(X, y)
    search.compare(Candidate("standard", "squared_hinge"), np.arange(len(y)))
    found = search.compare_kernel()
    assert found.n_trained == 40
    (said,) = curve_gains(search.compared, found)
    assert "trained on 40 rows of a fold" in said
    assert len(found.errors) == 5


def test_a_finished_fold_is_not_made_again(monkeypatch):
    X, y = rows("two classes")
    search = search_of(X, y, folds=3)
    first = search.compare_kernel()
    monkeypatch.setattr(kernel_candidate, "_Fold", None)
    again = search.compare_kernel()
    assert (again.C, again.gamma) == (first.C, first.gamma)
    assert_allclose(again.errors, first.errors)


def test_the_measure_chooses(monkeypatch):
    X, y = rows("two classes")
    few = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:15]])
    found = search_of(X[few], y[few], folds=3, measure=Measure("balanced")).compare_kernel()
    assert found.measure.scoring == "balanced"
    assert 0.0 <= found.losses.mean() <= 0.5


def test_no_time_means_no_kernel():
    X, y = rows("two classes")
    search = search_of(X, y, deadline=0.0)
    assert search.compare_kernel() is None
    assert search.kernel is None
