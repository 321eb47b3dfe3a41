"""KernelSVMCV against folds fitted one by one."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

import separatrix as sx
from separatrix._compiled import is_interpreted
from separatrix.solvers.kernels import chunking


@pytest.mark.skipif(is_interpreted(), reason="dozens of fits: too slow interpreted")
@pytest.mark.parametrize("way", ["two", "ovo", "ovr"])
def test_the_path_is_that_of_folds_fitted_one_by_one(way):
    if way == "two":
        X, y = make_moons(120, noise=0.3, random_state=0)
    else:
        X, y = load_iris(return_X_y=True)
        X = X[:, :2]
    way = "ovo" if way == "two" else way
    Cs, gammas, folds = [0.1, 10.0], [0.3, 3.0], StratifiedKFold(3)
    chosen = sx.KernelSVMCV(Cs, gammas=gammas, cv=folds, tol=1e-6, multi_class=way).fit(X, y)
    k = 0
    for gamma in gammas:
        for C in Cs:
            errors = []
            for train, test in folds.split(X, y):
                one = sx.KernelSVM(C, gamma=gamma, tol=1e-6, multi_class=way)
                errors.append((one.fit(X[train], y[train]).predict(X[test]) != y[test]).mean())
            assert (chosen.path_["gamma"][k], chosen.path_["C"][k]) == (gamma, C)
            assert_allclose(chosen.path_["mean_error"][k], np.mean(errors), atol=0.011)
            assert chosen.path_["gap"][k] <= 1e-6
            k += 1
    assert chosen.path_["mean_error"].min() == min(
        error
        for error, C, gamma in zip(
            chosen.path_["mean_error"], chosen.path_["C"], chosen.path_["gamma"], strict=True
        )
        if (C, gamma) == (chosen.C_, chosen.gamma_)
    )
    assert chosen.certificate_.check(X, y)
    alone = sx.KernelSVM(chosen.C_, gamma=chosen.gamma_, tol=1e-6, multi_class=way).fit(X, y)
    assert_allclose(chosen.objective_, alone.objective_)
    assert chosen.best_machine().get_params()["C"] == chosen.C_


def test_bad_grids_are_refused():
    X, y = make_moons(20, random_state=0)
    with pytest.raises(ValueError, match="at least one value"):
        sx.KernelSVMCV([]).fit(X, y)
    with pytest.raises(ValueError, match="every one of Cs must be a number above 0"):
        sx.KernelSVMCV([1.0, 0.0]).fit(X, y)
    with pytest.raises(ValueError, match="gamma must be"):
        sx.KernelSVMCV([1.0], gammas=[0.0], cv=2).fit(X, y)


@pytest.mark.parametrize("way", ["ovo", "ovr", "direct"])
def test_the_only_row_of_a_class_is_always_trained_on(way):
    X, y = make_moons(25, noise=0.1, random_state=0)
    X, y = np.vstack([X, [[9.0, 9.0]]]), np.append(y, 2)
    with pytest.warns(UserWarning, match="never validated") as caught:
        machine = sx.KernelSVMCV([1.0, 10.0], multi_class=way).fit(X, y)
    assert len(caught) == 1
    assert machine.predict([[9.0, 9.0]]).tolist() == [2]
    assert machine.certificate_.check(X, y)


def test_weight_zero_is_a_row_left_out():
    X, y = make_moons(40, noise=0.3, random_state=1)
    weights = (np.arange(40) % 4 > 0).astype(float)
    kept = weights > 0.0
    settings = {"Cs": [0.1, 1.0, 10.0], "gammas": [0.5, 2.0], "cv": 3}
    weighted = sx.KernelSVMCV(**settings).fit(X, y, weights)
    dropped = sx.KernelSVMCV(**settings).fit(X[kept], y[kept])
    assert_allclose(weighted.path_["mean_error"], dropped.path_["mean_error"])
    assert weighted.C_ == dropped.C_


def test_each_model_of_a_fold_looks_at_the_clock_after_few_steps(monkeypatch):
    asked, advance = [], chunking.advance

    def noted(state, budget):
        asked.append(budget)
        return advance(state, budget)

    monkeypatch.setattr(chunking, "advance", noted)
    X, y = make_moons(60, noise=0.3, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        sx.KernelSVMCV((1e3, 1e5), gammas=(0.5, 5.0), cv=2, max_seconds=1e-9).fit(X, y)
    of_folds = asked[:8]  # two values of C, two of gamma, two folds; then the fit on all the rows
    assert len(of_folds) == 8
    assert max(of_folds) <= 64


def test_max_seconds_is_for_the_folds_too():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    y = rng.integers(0, 3, 300)
    settings = {"Cs": (1e3, 1e5), "gammas": (0.5,), "cv": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        short = sx.KernelSVMCV(max_seconds=1e-9, **settings).fit(X, y)
    assert short.max_seconds == 1e-9
    assert short.path_["gap"].max() > 100 * short.tol
    assert (short.predict(X) == y).mean() > 0.3
