"""The path over C on partitions: against folds made by hand."""

from __future__ import annotations

import numpy as np
import pytest

import separatrix as sx
from separatrix.core.partitioned import local_rows
from separatrix.problem.blocks import folds_of_rows
from separatrix.selection.partitioned_path import fit_path_on_rows


def handle_of(folder, X, y, parts=3):
    folder.mkdir()
    for number, own in enumerate(np.array_split(np.arange(len(y)), parts)):
        np.savez(folder / f"{number}.npz", X=X[own], y=y[own])
    return sx.open_partitions(folder)


@pytest.mark.parametrize("classes", [2, 3])
def test_errors_of_folds_are_those_of_machines_fitted_by_hand(tmp_path, classes):
    rng = np.random.default_rng(classes)
    X = rng.standard_normal((80, 4))
    y = np.argmax(X @ rng.standard_normal((4, classes)) + rng.standard_normal((80, classes)), 1)
    rows = local_rows(handle_of(tmp_path / "data", X, y))
    machine = fit_path_on_rows(sx.LinearSVMCV([0.1, 1.0], cv=2, tol=1e-6), rows, "hinge")
    folds = folds_of_rows(0, len(y), 2, 0)
    assert set(folds) == {0, 1}
    for row, C in enumerate([0.1, 1.0]):
        for fold in range(2):
            held = folds == fold
            plain = sx.LinearSVM(C, tol=1e-6).fit(X[~held], y[~held])
            error = float((plain.predict(X[held]) != y[held]).mean())
            assert machine.path_.fold_errors[row, fold] == pytest.approx(error, abs=0.03)
    assert machine.C_ in (0.1, 1.0)
    assert machine.certificate_.check(X, y)


def test_a_fold_that_holds_all_rows_of_a_class_is_refused(tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 2))
    y = np.array(["many"] * 39 + ["one"])
    rows = local_rows(handle_of(tmp_path / "data", X, y))
    with pytest.raises(sx.DataError, match=r"no row of class 'one' to train on. Use fewer folds"):
        fit_path_on_rows(sx.LogisticRegressionCV([1.0], cv=3), rows, "logistic")


def test_the_neighbourhood_of_the_best_is_refined(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3))
    y = (X[:, 0] + rng.standard_normal(90) > 0).astype(int)
    rows = local_rows(handle_of(tmp_path / "data", X, y))
    machine = fit_path_on_rows(sx.LogisticRegressionCV(3, cv=2), rows, "logistic")
    assert len(machine.path_) > 3
    assert machine.gap_ <= 1e-4
    with pytest.raises(ValueError, match="number of folds"):
        fit_path_on_rows(sx.LogisticRegressionCV(3, cv=[1]), rows, "logistic")


def test_sparse_weights_are_refused_in_words(tmp_path):
    X = np.random.default_rng(0).standard_normal((40, 2))
    rows = local_rows(handle_of(tmp_path / "data", X, np.arange(40) % 2))
    model = sx.LogisticRegressionCV([1.0], cv=2, l1_ratios=[0.0, 1.0])
    with pytest.raises(ValueError, match="needs whole columns"):
        fit_path_on_rows(model, rows, "logistic")
    plain = fit_path_on_rows(model.set_params(l1_ratios=[0.0]), rows, "logistic")
    assert plain.certificate_.kind == "duality-gap"
